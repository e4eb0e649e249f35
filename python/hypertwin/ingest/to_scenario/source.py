"""Facts of the source system for a move: `source` of VMs and clusters, and `guest_os`, within limits of a scenario."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from hypertwin.files.yaml_writing import Quoted
from hypertwin.ingest import outside, secrets
from hypertwin.ingest.to_scenario.measured import MOST_BYTES
from hypertwin.ingest.to_scenario.yaml_text import memory_size
from hypertwin.language import schema_node
from hypertwin.members import SourceCluster, SourceDisk, SourceNetwork, SourcePartition, SourceVm

MAX_GUEST_OS = 200
"""Maximum characters of `guest_os`."""
_PATH = "vms.vm.source"


def of_vm(source: SourceVm | None) -> dict[str, Any]:
    """Return the facts of a VM, or an empty dict without any. Facts that a scenario does not allow are left out."""
    if source is None:
        return {}
    return _entry(source, _PATH)


def of_cluster(source: SourceCluster) -> dict[str, Any]:
    """Return the known facts of a cluster, or an empty dict without any."""
    return _entry(source, "clusters.cluster.source")


def guest_os(text: str | None) -> dict[str, Any]:
    """Return `guest_os`, or an empty dict if it is unknown."""
    name = outside.name(text or "")[:MAX_GUEST_OS].rstrip()
    return {"guest_os": Quoted(name)} if name else {}


def _entry(of: SourceVm | SourceCluster | SourceDisk | SourceNetwork | SourcePartition, path: str) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for each in fields(of):
        value = getattr(of, each.name)
        if value is None:
            continue
        name = each.name.removesuffix("_bytes")
        node = _node(f"{path}.{name}")
        written = _size(value) if name != each.name else _value(value, node, f"{path}.{name}")
        if written is not None:
            entry[name] = written
    return entry


@cache
def _node(path: str) -> Mapping[str, Any]:
    return schema_node(path) or {}


def _value(value: Any, node: Mapping[str, Any], path: str) -> Any:
    """Return a value as a scenario has it, or None if a scenario does not allow it."""
    if isinstance(value, tuple):
        return tuple(_items(value[: node["maxItems"]], node, path))
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if node["minimum"] <= value <= node["maximum"] else None
    if "enum" in node:
        return value if value in node["enum"] else None
    text = outside.name(value)
    allowed = node.get("minLength", 0) <= len(text) <= node["maxLength"]
    return Quoted(text) if allowed and not secrets.looks_secret(text) else None


def _items(values: Iterable[Any], node: Mapping[str, Any], path: str) -> Iterable[Any]:
    for value in values:
        item = _value(value, node["items"], path) if isinstance(value, str) else _entry(value, f"{path}.0")
        if item is not None:
            yield item


def _size(size: float) -> str | None:
    return memory_size(int(size)) if math.isfinite(size) and 0 <= size <= MOST_BYTES else None
