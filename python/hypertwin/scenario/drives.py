"""Drives for scenarios (`device: P4610`), with figures of public data sheets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from hypertwin import _core, language, naming
from hypertwin.arguments import checked
from hypertwin.documents.devices import Device
from hypertwin.errors import Mistake, ScenarioError

GB, MB, MS, US = 1e9, 1e6, 1e-3, 1e-6


@checked
def devices(*names: str, kind: str | None = None) -> list[Device]:
    """Return the drives of the table. By default all drives are returned, otherwise those of a kind or with the given
    names.

    `kind` is for example `nvme`. Named drives are returned in the given order.

    Raises ScenarioError for unknown names and kinds.

    >>> hypertwin.devices("P4800X")[0]["read_latency_us"]  # doctest: +SKIP
    10.0
    """
    found = _table()
    mistakes = [
        *(
            _unknown("names", name, list(found), _core.misspelt_drive(name), "all names: hypertwin devices")
            for name in names
            if name not in found
        ),
        *(
            _unknown("kind", kind, kinds(), naming.nearest(kind.lower(), kinds()), "choose one of these")
            for _ in (kind,)
            if kind and kind not in kinds()
        ),
    ]
    if mistakes:
        raise ScenarioError.of(mistakes)
    shown = [found[name] for name in names or found]
    return [device for device in shown if kind in (None, device["kind"])]


def kinds() -> list[str]:
    """Return the kinds of disks that scenarios know, hard disks first."""
    node = language.schema_node("devices.NAME.kind")
    assert node is not None
    return [str(kind) for kind in node["enum"]]


@cache
def _table() -> Mapping[str, Device]:
    order = kinds()
    said = json.loads(_core.drives())
    names = sorted(said, key=lambda name: (order.index(said[name]["kind"]), name))
    return {name: _device(name, said[name]) for name in names}


def _device(name: str, said: Mapping[str, Any]) -> Device:
    cache, stalls = said.get("write_cache", {}), said.get("stalls", {})

    def amount(of: Mapping[str, Any], key: str, read: Callable[[str], float], unit: float = 1.0) -> float | None:
        return round(read(of[key]) / unit, 6) if key in of else None

    return Device(
        name=name,
        kind=said["kind"],
        capacity_gb=amount(said, "capacity", _core.size_bytes, GB),
        random_read_iops=amount(said, "random_read", _core.rate_per_s),
        random_write_iops=amount(said, "random_write", _core.rate_per_s),
        sequential_read_mb_per_s=amount(said, "sequential_read", _core.bandwidth_bytes_per_s, MB),
        sequential_write_mb_per_s=amount(said, "sequential_write", _core.bandwidth_bytes_per_s, MB),
        read_latency_us=amount(said, "read_latency", _core.duration_s, US),
        write_latency_us=amount(said, "write_latency", _core.duration_s, US),
        depth=said.get("depth"),
        power_loss_protection=said.get("power_loss_protection"),
        flush_us=amount(said, "flush", _core.duration_s, US),
        over_provisioning_pct=said.get("over_provisioning_pct"),
        write_cache_gb=amount(cache, "size", _core.size_bytes, GB),
        write_cache_mb_per_s=amount(cache, "write", _core.bandwidth_bytes_per_s, MB),
        stall_written_gb=amount(stalls, "written", _core.size_bytes, GB),
        stall_ms=amount(stalls, "length", _core.duration_s, MS),
        rpm=said.get("rpm"),
        seek_read_ms=amount(said, "seek_read", _core.duration_s, MS),
        seek_write_ms=amount(said, "seek_write", _core.duration_s, MS),
        dwpd=said.get("dwpd"),
        source=said.get("source"),
    )


def _unknown(path: str, name: str, known: Sequence[str], near: str | None, other: str) -> Mistake:
    hint = f"did you mean {near}?" if near else other
    return Mistake("unknown-value", path, name, ", ".join(known), hint)
