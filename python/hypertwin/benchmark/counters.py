"""Counters of Linux between two snapshots, as percentages and rates.

Sources: proc(5) for /proc/stat and /proc/diskstats, the kernel's documentation for pressure (psi.rst) and for control
groups (cgroup-v2.rst, sched-bwc.rst).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hypertwin.benchmark import scripts
from hypertwin.ingest.outside import number
from hypertwin.lab.system import cpu_ticks

Snapshot = Mapping[str, Sequence[str]]
"""Lines of a snapshot, by its parts."""
PRESSURES = ("cpu", "io", "memory")

_DISK = re.compile(r"(?:sd[a-z]+|vd[a-z]+|xvd[a-z]+|hd[a-z]+|nvme[0-9]+n[0-9]+|mmcblk[0-9]+|dm-[0-9]+|md[0-9]+)")
_TOTAL = re.compile(r"some .*total=([0-9]{1,18})")


@dataclass(frozen=True)
class Group:
    """Control group of a VM."""

    run_cpus: float
    """Mean number of busy CPUs."""
    throttled_pct: float | None
    """Share of periods in which the quota was used up, or None without a quota."""


@dataclass(frozen=True)
class Counters:
    """Use of a target or host during a measurement."""

    elapsed_s: float
    cpus: int
    busy_pct: float
    """Time of all CPUs that was not idle or stolen."""
    steal_pct: float
    iowait_pct: float
    load_1min: float
    pressure: Mapping[str, float] = field(default_factory=dict)
    """Share of time in which some task waited for a resource."""
    disk_util_pct: float | None = None
    """Share of time in which the busiest disk had I/O outstanding."""
    disk_iops: float = 0.0
    disk: str = ""
    free_space: float | None = None
    groups: Mapping[str, Group] = field(default_factory=dict)

    def figure(self, key: str) -> float | None:
        """Return a figure that guards watch."""
        if key.endswith("_pressure_pct"):
            return self.pressure.get(key.removesuffix("_pressure_pct"))
        found: float | None = getattr(self, key)
        return found


def between(before: str, after: str) -> Counters | None:
    """Return the counters between two snapshots, or None if one is incomplete."""
    first, last = scripts.snapshot_of(before), scripts.snapshot_of(after)
    try:
        elapsed = float(last["time"][0]) - float(first["time"][0])
        ticks = [cpu_ticks(each["stat"][0]) for each in (first, last)]
        cpus = int(last["cpus"][0])
        load = float(last["load"][0].split()[0])
        waits = [int(each["stat"][0].split()[5]) for each in (first, last)]
    except (LookupError, ValueError):
        return None
    spent = {key: ticks[1][key] - ticks[0][key] for key in ticks[0]}
    total = sum(spent.values())
    if not (elapsed > 0 and total > 0 and math.isfinite(elapsed)):
        return None
    name, util, iops = _busiest(first.get("disks", []), last.get("disks", []), elapsed)
    return Counters(
        elapsed_s=elapsed,
        cpus=cpus,
        busy_pct=100 * spent["busy"] / total,
        steal_pct=100 * spent["steal"] / total,
        iowait_pct=100 * max(0, waits[1] - waits[0]) / total,
        load_1min=load,
        pressure=dict(_pressures(first, last, elapsed)),
        disk_util_pct=util,
        disk_iops=iops,
        disk=name,
        free_space=_space(last.get("space", [])),
        groups=dict(_groups(first, last, elapsed)),
    )


def _pressures(first: Snapshot, last: Snapshot, elapsed: float) -> Iterator[tuple[str, float]]:
    for name in PRESSURES:
        totals = [
            int(match[1])
            for each in (first, last)
            for line in each.get(f"pressure-{name}", ())
            if (match := _TOTAL.match(line[:500]))
        ]
        if len(totals) == 2:
            yield name, min(100.0, max(0.0, 100e-6 * (totals[1] - totals[0]) / elapsed))


def _busiest(first: Sequence[str], last: Sequence[str], elapsed: float) -> tuple[str, float | None, float]:
    """Return the disk with the longest busy time, its busy share, and its I/Os per second."""
    early, late = _disks(first), _disks(last)
    found: tuple[str, float | None, float] = ("", None, 0.0)
    for name, (busy, done) in late.items():
        if name in early:
            util = min(100.0, max(0.0, 0.1 * (busy - early[name][0]) / elapsed))
            if found[1] is None or util > found[1]:
                found = (name, util, (done - early[name][1]) / elapsed)
    return found


def _disks(lines: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Return milliseconds with I/O outstanding, and completed I/Os, of each disk."""
    found = {}
    for line in lines:
        words = line.split()
        if len(words) >= 14 and _DISK.fullmatch(words[2]) and all(word.isdigit() for word in words[3:14]):
            found[words[2]] = int(words[12]), int(words[3]) + int(words[7])
    return found


def _space(lines: Sequence[str]) -> float | None:
    words = lines[1].split() if len(lines) > 1 else []
    value = number(words[3]) if len(words) > 3 else None
    return None if value is None else 1024 * value


def _groups(first: Snapshot, last: Snapshot, elapsed: float) -> Iterator[tuple[str, Group]]:
    for part, lines in last.items():
        name = part.removeprefix("cgroup-")
        if name == part or part not in first:
            continue
        early, late = _group(first[part]), _group(lines)
        if "usage_s" not in early or "usage_s" not in late:
            continue
        periods = late.get("periods", 0.0) - early.get("periods", 0.0)
        throttled = late.get("throttled", 0.0) - early.get("throttled", 0.0)
        share = 100 * throttled / periods if periods > 0 else None
        yield name, Group((late["usage_s"] - early["usage_s"]) / elapsed, share)


def _group(lines: Sequence[str]) -> dict[str, float]:
    """Return CPU time in seconds, periods and throttled periods, of either version of control groups."""
    names = {"nr_periods": ("periods", 1.0), "nr_throttled": ("throttled", 1.0), "usage_usec": ("usage_s", 1e-6)}
    found: dict[str, float] = {}
    for line in lines:
        words = line.split()
        if len(words) == 1 and words[0].isdigit():  # cpuacct.usage
            found["usage_s"] = int(words[0]) * 1e-9
        elif len(words) == 2 and words[0] in names and words[1].isdigit():
            key, factor = names[words[0]]
            found[key] = int(words[1]) * factor
    return found
