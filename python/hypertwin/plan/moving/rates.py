"""Published figures of tools that move VMs off ESXi, and the rates that follow from them.

Three figures of one host set the rates of the tool for OpenShift, and nothing else does:

| parameter | from |
|---|---|
| rate of one VM | a single disk without any other migration |
| overhead of a VM | time of one VM, less its data at that rate |
| read limit of an ESXi host | data of ten VMs, in their time less the overhead |

Figures of more VMs and of several hosts are predictions. A tool without published rates gets those of the tool for
OpenShift as its assumption, and an interval over all published rates.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from hypertwin import naming
from hypertwin.errors import Argument, fail
from hypertwin.files import yaml_file

FILE = Path(__file__).resolve().parents[2] / "library" / "moving" / "rates.yaml"

MIB, GIB = 2.0**20, 2.0**30
TB, GB = 1e12, 1e9

Mode = Literal["cold", "warm"]
"""A cold move copies a VM that is off. A warm move copies a running VM, then its last changes while it is off."""
Flow = Literal["vm", "disk"]
"""Unit that is copied at a time and takes a slot: a VM with its disks in turn, or a disk."""
Role = Literal["rate", "labs", "range", "predicted", "context"]

MODES: tuple[Mode, ...] = ("cold", "warm")

REFERENCE = "mtv"
"""Tool whose rates are assumed for tools without published rates."""


@dataclass(frozen=True)
class Estimate:
    """Figure with its interval."""

    low: float
    value: float
    high: float

    def __add__(self, other: Estimate) -> Estimate:
        """Return the sum, as if both were at the same end of their intervals."""
        return Estimate(self.low + other.low, self.value + other.value, self.high + other.high)


ZERO = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Figure:
    """Published measurement of a migration."""

    id: str
    tool: str
    mode: Mode
    path: str
    """Path of the data: from `esxi`, from `vcenter`, or `either`."""
    hosts: int
    """Number of ESXi hosts."""
    vms: int
    disks: int
    """Disks of a VM."""
    used_gib: float | None
    """Data of a VM in GiB, if published."""
    provisioned_gib: float | None
    seconds: float | None
    """Duration of the migration of all VMs."""
    mib_per_s: float | None
    """Rate that the source names, or None."""
    datastores: int | None
    role: Role
    note: str
    source: str

    @property
    def bytes_per_s(self) -> float:
        """Rate of the source, or else the data over the duration."""
        if self.mib_per_s is not None:
            return self.mib_per_s * MIB
        if self.used_gib is None or self.seconds is None:
            raise ValueError(f"{self.id}: neither a rate nor a volume is published")
        return self.vms * self.used_gib * GIB / self.seconds


@dataclass(frozen=True)
class Rate:
    """Rate in bytes per second, or an overhead in seconds, with its interval."""

    low: float
    value: float
    high: float
    figures: tuple[str, ...]
    """Figures that set it."""
    assumed: bool = False
    """True if nothing is published for the tool, so that the rate is that of another tool."""

    def slower(self, best: float, middle: float, worst: float) -> Rate:
        """Return the rate divided by these factors."""
        return Rate(self.low / worst, self.value / middle, self.high / best, self.figures, self.assumed)


@dataclass(frozen=True)
class Rates:
    """Rates of a tool in a mode."""

    vm: Rate
    """Bytes per second of a VM or disk that is copied alone."""
    host: Rate
    """Bytes per second that one ESXi host can read for all its VMs."""
    overhead: Rate
    """Seconds that each VM takes beside its copy, for start and conversion."""

    @property
    def assumed(self) -> bool:
        """True if the rate of a VM is not published for the tool."""
        return self.vm.assumed


@dataclass(frozen=True)
class Tool:
    """Tool that moves VMs, with its rates and documented limits."""

    id: str
    name: str
    targets: tuple[str, ...]
    rates: Mapping[Mode, Rates]
    """Rates in each mode that the tool has."""
    flow: Mapping[Mode, Flow]
    slots_per_host: int
    """VMs or disks of one ESXi host that are copied at a time."""
    slots_per_host_highest: int
    """The highest number that the documentation names."""
    slots: int | None
    """VMs that the tool takes at a time, over all hosts."""
    slots_reason: str
    cutover_at_once: bool
    """True if the tool itself powers off all VMs of a plan at its cutover, without slots."""
    warm_disks: int | None
    """Disks in parallel up to which warm moves keep their rate."""
    large_disk_bytes: float
    """Data of a disk from which nothing else should move beside its VM."""
    snapshots: int | None
    """Maximum number of snapshots of a VM in a warm move."""
    interval_s: float
    """Seconds between the snapshots of a warm move."""
    churn_bytes: float
    """Changes between two snapshots from which the documentation advises shorter intervals."""
    sources: tuple[str, ...]

    @property
    def modes(self) -> tuple[Mode, ...]:
        """Modes of the tool."""
        return tuple(self.rates)

    def total_slots(self, mode: Mode) -> int | None:
        """Return how many VMs or disks are copied at a time over all hosts, or None without such a limit."""
        return self.warm_disks if mode == "warm" and self.slots is None else self.slots


@dataclass(frozen=True)
class Assumption:
    """Figure that no tool publishes."""

    low: float
    value: float
    high: float
    reason: str

    @property
    def estimate(self) -> Estimate:
        """Figure with its interval."""
        return Estimate(self.low, self.value, self.high)


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = yaml_file.parse(FILE.read_text(encoding="utf-8"), FILE.name).root.data()
    return data


@cache
def _by_id() -> Mapping[str, Figure]:
    return {each["id"]: _figure(each) for each in _data()["figures"]}


def _figure(entry: Mapping[str, Any]) -> Figure:
    optional = ("used_gib", "provisioned_gib", "seconds", "mib_per_s", "datastores")
    kept = {key: value for key, value in entry.items() if key != "from"}
    return Figure(**{**dict.fromkeys(optional), "note": "", **kept, "path": entry["from"]})


def figures() -> tuple[Figure, ...]:
    """Return all published figures, in the order of the file."""
    return tuple(_by_id().values())


def figure(name: str) -> Figure:
    """Return a published figure. Raises KeyError for an unknown id."""
    return _by_id()[name]


def source(name: str) -> str:
    """Return where a source is published, with the commit that was read."""
    entry = _data()["sources"][name]
    return f"{entry['at']}, commit {entry['commit'][:8]}" if entry["commit"] else entry["at"]


def assumption(name: str) -> Assumption:
    """Return a figure that no tool publishes."""
    entry = _data()["assumptions"][name]
    value = float(entry["value"])
    return Assumption(float(entry.get("low", value)), value, float(entry.get("high", value)), entry["reason"].strip())


@dataclass(frozen=True)
class PlannerRule:
    """Rule of another planner: all provisioned data over one stream."""

    bytes_per_s: float
    text: str
    source: str

    def seconds(self, provisioned_bytes: float) -> float:
        """Return the time by the rule, which counts 1,024 MB to a GB and decimal bits."""
        return provisioned_bytes / GIB * 1024 * 1e6 / self.bytes_per_s


@cache
def planner_rule() -> PlannerRule:
    """Return the rule of Red Hat's migration planner."""
    entry = _data()["planner_rule"]
    return PlannerRule(entry["mbit_per_s"] * 1e6 / 8, entry["text"], source(entry["source"]))


@cache
def labs_differ() -> float:
    """Return the factor between the rates of the same test, ten VMs of one host, in two laboratories."""
    (other,) = (each for each in figures() if each.role == "labs")
    alike = figure(_data()["tools"][REFERENCE][other.mode]["host"])
    return max(other.bytes_per_s, alike.bytes_per_s) / min(other.bytes_per_s, alike.bytes_per_s)


@cache
def _tools() -> Mapping[str, Tool]:
    return {name: _tool(name, entry) for name, entry in _data()["tools"].items()}


def tools() -> tuple[Tool, ...]:
    """Return all tools, in the order of the file."""
    return tuple(_tools().values())


def tool(name: str) -> Tool:
    """Return a tool. Raises ScenarioError for an unknown name."""
    if name not in _tools():
        known = list(_tools())
        fail("one-of", "", name, ", ".join(known), naming.hint(name, known, ""), Argument("tool", name))
    return _tools()[name]


def tools_for(target: str) -> tuple[Tool, ...]:
    """Return the tools that move VMs to a target, the best known first."""
    return tuple(each for each in tools() if target in each.targets)


def _tool(name: str, entry: Mapping[str, Any]) -> Tool:
    per_host = entry["slots_per_host"]
    return Tool(
        id=name,
        name=entry["name"],
        targets=tuple(entry["targets"]),
        rates={mode: _rates(entry, mode) for mode in MODES if mode in entry},
        flow=entry["flow"],
        slots_per_host=per_host,
        slots_per_host_highest=entry.get("slots_per_host_highest", per_host),
        slots=entry.get("slots"),
        slots_reason=entry["slots_reason"].strip(),
        cutover_at_once=entry.get("cutover_at_once", False),
        warm_disks=entry.get("warm_disks"),
        large_disk_bytes=_limit(entry, "large_disk_tb") * TB,
        snapshots=entry.get("snapshots"),
        interval_s=_limit(entry, "interval_s"),
        churn_bytes=_limit(entry, "churn_gb") * GB,
        sources=tuple(source(each) for each in entry["sources"]),
    )


def _limit(entry: Mapping[str, Any], key: str) -> float:
    """Return a documented limit. A tool that documents none gets that of the reference."""
    return float(entry.get(key, _data()["tools"][REFERENCE][key]))


def _rates(entry: Mapping[str, Any], mode: Mode) -> Rates:
    """Return the rates of a tool. Rates that are not published are those of the reference, with a wide interval."""
    given = entry[mode]
    reference = _data()["tools"][REFERENCE]
    if "vm" in given:
        vm = _of_figures([figure(name) for name in given["vm"]])
    else:
        vm = _assumed(_of_figures([figure(name) for name in reference[mode]["vm"]]), one=True)
    vm = vm.slower(*entry["slower"]) if "slower" in entry else vm
    overhead = _overhead(assumed="overhead" not in given)
    if "host" in given:
        host = _host(figure(given["host"]), overhead)
    else:
        host = _assumed(_host(figure(reference[mode]["host"]), overhead), one=False)
    return Rates(vm, host, overhead)


def _of_figures(found: Sequence[Figure]) -> Rate:
    rates = [each.bytes_per_s for each in found]
    return Rate(min(rates), statistics.median(rates), max(rates), tuple(each.id for each in found))


def _overhead(*, assumed: bool) -> Rate:
    """Return the time of one VM less its data at the rate of one VM."""
    cold = _data()["tools"][REFERENCE]["cold"]
    alone = figure(cold["overhead"])
    (rate,) = (figure(name) for name in cold["vm"])
    seconds = (alone.seconds or 0.0) - (alone.used_gib or 0.0) * GIB / rate.bytes_per_s
    return Rate(seconds, seconds, seconds, (alone.id, rate.id), assumed)


def _host(found: Figure, overhead: Rate) -> Rate:
    """Return the read limit of a host: the rate of the source, or data over the duration less the overhead."""
    if found.mib_per_s is not None:
        rate = found.bytes_per_s
    else:
        rate = found.vms * (found.used_gib or 0.0) * GIB / ((found.seconds or 0.0) - overhead.value)
    return Rate(rate, rate, rate, (found.id,))


def _assumed(rate: Rate, *, one: bool) -> Rate:
    """Return the rate of another tool, with the interval of all published rates of one host."""
    used = [each for each in figures() if each.hosts == 1 and each.role in ("rate", "labs", "range")]
    alike = [each.bytes_per_s for each in used if (each.vms == 1) == one]
    return Rate(min(alike), rate.value, max(*alike, rate.value), rate.figures, assumed=True)
