"""Limits of clusters from options of `hypertwin capacity` and from a file of limits by cluster.

A file has one key, `clusters`. Each cluster's name has the limits that differ from the options:

    clusters:
      prod: {failures: 2, cpu: 70%, memory: 85%, vcpu_ratio: 4, demand: peak, vm: 8x32GiB, speed: 1.3}
      dev: {license_min_cores: 16}
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hypertwin import _core, language, naming
from hypertwin.errors import Mistake, ScenarioError, fail, short
from hypertwin.files import yaml_file

Kind = Literal["mean", "p95", "peak"]

MOST_FAILURES = 64
MOST_VM_VCPUS = language.limits().vcpus_per_vm

_PERCENT = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*%\s*")
_VM = re.compile(r"\s*([0-9]{1,4})\s*x\s*([0-9.]{1,12}\s*[kMGTP]i?B)\s*(?:x\s*([0-9.]{1,12}\s*[MGT]Hz)\s*)?")


@dataclass(frozen=True)
class AskedVm:
    """VM size for the count of VMs remaining."""

    vcpus: int
    memory_bytes: int
    mhz: float | None
    """CPU demand in MHz, or None for the mean demand per vCPU of existing VMs."""


@dataclass(frozen=True)
class Limits:
    """Limits of a cluster."""

    failures: int = 1
    """Number of host failures to tolerate."""
    cpu: float = 0.8
    """Usable fraction of the CPU capacity (cores x clock)."""
    memory: float = 0.9
    """Usable fraction of the memory of the hosts."""
    vcpu_ratio: float | None = None
    """Maximum number of vCPUs per core, or None for no limit."""
    demand: Kind = "p95"
    """Statistic of the CPU demand: mean, 95th percentile or peak."""
    vm: AskedVm | None = None
    """VM size to count, or None for the mean of existing VMs."""
    license_min_cores: int = 16
    """Minimum number of cores to license per processor."""
    speed: float = 1.0
    """Ratio of the speed of a core to the speed of the core where the demand was measured."""


def percent(value: object) -> float:
    """Return a percentage such as `80%` as a fraction. Raises ValueError, which lists allowed values."""
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    part = float(found[1]) / 100 if found else 0.0
    if not 0 < part <= 10:
        raise ValueError("a percentage above 0 and up to 1000%, such as 80%")
    return part


def vm(value: object) -> AskedVm:
    """Return the VM size in `4x16GiB` or `4x16GiBx900MHz`. Raises ValueError, which lists allowed values."""
    found = _VM.fullmatch(value) if isinstance(value, str) else None
    try:
        if found is None:
            raise ValueError
        asked = AskedVm(
            int(found[1]), _core.size_bytes(found[2]), _core.frequency_hz(found[3]) / 1e6 if found[3] else None
        )
    except ValueError:
        raise ValueError("vCPUs x memory, with CPU demand if known: 4x16GiB, 4x16GiBx900MHz") from None
    if not (1 <= asked.vcpus <= MOST_VM_VCPUS and language.limits().least_memory_bytes <= asked.memory_bytes):
        raise ValueError(f"1 to {MOST_VM_VCPUS} vCPUs and at least 1 MiB, such as 4x16GiB")
    return asked


def _whole(low: int, high: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"an integer, {low} to {high:,}")
        return value

    return read


def _number(low: float, high: float) -> Callable[[object], float]:
    def read(value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ValueError(f"a number, {low:g} to {high:g}")
        return float(value)

    return read


def _kind(value: object) -> str:
    if value not in ("mean", "p95", "peak"):
        raise ValueError("mean, p95 or peak")
    return str(value)


READ: Mapping[str, Callable[[object], Any]] = {
    "failures": _whole(0, MOST_FAILURES),
    "cpu": percent,
    "memory": percent,
    "vcpu_ratio": _number(0.1, 1000),
    "demand": _kind,
    "vm": vm,
    "license_min_cores": _whole(0, 1024),
    "speed": _number(0.1, 10),
}
"""Parser of each limit, by name."""

OF_ALL = ("failures", "cpu", "memory", "vcpu_ratio", "demand")
"""Names of the limits that are options of both capacity and plans."""


def of_options(asked: object, names: Iterable[str] = OF_ALL) -> Limits:
    """Return the limits from these fields of an options object. A field that is None leaves the default.

    Raises ScenarioError, whose paths name options.
    """
    return _changed(Limits(), [(name, getattr(asked, name)) for name in names], "", "")


def cluster_named(name: str, known: Mapping[str, str | None]) -> str:
    """Return the key of a cluster from a key or label in any case. `known` has labels by key.

    Raises ScenarioError with the path `cluster`.
    """
    found = language.called(name, known)
    if len(found) > 1:
        hint = "several clusters have this name: use a key"
        fail("unknown-reference", "cluster", name, f"one of the keys {', '.join(found)}", hint)
    if not found:
        fail("unknown-reference", "cluster", name, _listed(known), "name a cluster of the scenario")
    return found[0]


def _listed(known: Mapping[str, str | None]) -> str:
    """Return clusters as text: `Production-Cluster (Production Cluster), edge`."""
    return ", ".join(f"{key} ({label})" if label else key for key, label in known.items())


def of_file(path: str | Path, base: Limits, known: Mapping[str, str | None]) -> dict[str, Limits]:
    """Return the limits of each cluster. Limits in the file override `base`. `known` has labels by key.

    Raises ScenarioError with every problem.
    """
    file = str(path)
    document = yaml_file.parse(yaml_file.read_text(Path(path)), file)
    data = document.root.data()
    mistakes = list(document.mistakes)
    found: dict[str, Limits] = {}
    for name, where, entry in _entries(data, known, mistakes):
        try:
            found[name] = _changed(base, entry.items(), f"{where}.", file)
        except ScenarioError as error:
            mistakes.extend(error.mistakes)
    if mistakes:
        located = (each if each.line else replace(each, line=document.root.line_at(each.path)) for each in mistakes)
        raise ScenarioError.of(replace(each, file=file) for each in located)
    return {key: found.get(key, base) for key in known}


def _entries(
    data: Any, known: Mapping[str, str | None], mistakes: list[Mistake]
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the entries of clusters by key, with their paths. An invalid entry adds a problem."""
    form = "a mapping of limits, such as {failures: 2, cpu: 70%}"
    if not isinstance(data, dict) or "clusters" not in data:
        mistakes.append(
            Mistake("missing-key", "clusters", "(missing)", "limits by name of cluster", f"clusters: NAME: {form}")
        )
        return
    for key in data:
        if key != "clusters":
            hint = "limits of all clusters are options of the command"
            mistakes.append(Mistake("unknown-key", str(key), "a key", "clusters", hint))
    if not isinstance(data["clusters"], dict):
        mistakes.append(
            Mistake("wrong-type", "clusters", short(str(data["clusters"])), "limits by name of cluster", form)
        )
        return
    taken: set[str] = set()
    for name, entry in data["clusters"].items():
        path = f"clusters.{name}"
        meant = language.called(str(name), known)
        if len(meant) != 1:
            hint = naming.hint(str(name), known, "remove it")
            if meant:
                hint = f"several clusters have this name: use one of {', '.join(meant)}"
            mistakes.append(Mistake("unknown-reference", path, "a cluster", _listed(known), hint))
        elif meant[0] in taken:
            hint = f"cluster {meant[0]} has limits above already"
            mistakes.append(Mistake("duplicate-name", path, "a cluster", "each cluster once", hint))
        elif not isinstance(entry, dict):
            mistakes.append(Mistake("wrong-type", path, short(str(entry)), form, "see docs/guides/capacity.md"))
        else:
            taken.add(meant[0])
            yield meant[0], path, entry


def _told(key: str, text: str) -> tuple[str, str]:
    """Return the code of a problem, and the text that was probably intended."""
    try:
        number = float(text)
    except ValueError:
        number = None
    if key == "vm":
        return "bad-quantity", f"add the unit: {text}GiB" if re.fullmatch(r"\d+x\d+", text) else "write 4x16GiB"
    if key == "demand":
        return "bad-quantity", "write p95"
    if READ[key] is percent:
        shown = number if number is None or number > 1 else 100 * number
        return "bad-quantity", "write 80%" if not shown or not 0 < shown <= 1000 else f"write {shown:g}%"
    return ("bad-quantity", "write a number") if number is None else ("out-of-range", "choose a value in that range")


def _changed(base: Limits, given: Any, prefix: str, file: str) -> Limits:
    """Return the limits with the given changes. Raises ScenarioError with every problem."""
    changes: dict[str, Any] = {}
    mistakes = []
    for key, value in given:
        path = f"{prefix}{key}"
        if key not in READ:
            hint = naming.hint(key, READ, "remove it")
            mistakes.append(Mistake("unknown-key", path, short(str(value)), ", ".join(READ), hint, file))
        elif value is not None or prefix:
            try:
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError("a finite number")
                changes[key] = READ[key](value)
            except ValueError as error:
                text = f"{value:g}" if isinstance(value, float) else str(value)
                code, hint = _told(key, text)
                mistakes.append(Mistake(code, path, short(text), str(error), hint, file))
    if mistakes:
        raise ScenarioError.of(mistakes)
    return replace(base, **changes)
