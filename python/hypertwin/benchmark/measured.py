"""Figures of a run of all VMs together, from the figures of each, and the views of guests and hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hypertwin.benchmark.checks import STEAL_PCT
from hypertwin.benchmark.counters import Counters
from hypertwin.benchmark.load import Figures
from hypertwin.benchmark.load.generator import percentiles
from hypertwin.documents.benchmark import View
from hypertwin.metrics.catalogue import CATALOGUE
from hypertwin.model_error.kinds import kind_of

SUMS = frozenset(metric.key for metric in CATALOGUE if metric.summed and "group" in metric.scopes)
"""Figures of which a group has the sum. Of others it has a mean."""
MAX_SKEW_MS = 250.0
"""Difference between first and last start from which a run counts as disturbed."""


def together(vms: Mapping[str, Figures]) -> dict[str, float]:
    """Return the figures of all VMs together, for keys that all have: sums, or means.

    Means of times are weighted by work. Percentiles come from the histograms of all; without them, they are such means.
    """
    each = list(vms.values())
    keys = [key for key in each[0].values if all(key in other.values for other in each)] if each else []
    work = [figures.values.get("throughput_per_s", figures.values.get("iops", 1.0)) for figures in each]
    total = sum(work)
    found: dict[str, float] = {}
    for key in keys:
        values = [figures.values[key] for figures in each]
        if key in SUMS:
            found[key] = sum(values)
        elif kind_of(key) == "usage":
            found[key] = sum(values) / len(values)
        elif total > 0:
            found[key] = sum(value * weight for value, weight in zip(values, work, strict=True)) / total
    merged: Counter[float] = Counter()
    for figures in each:
        if figures.histogram is None:
            return found
        merged.update(figures.histogram)
    return {**found, **percentiles(merged)}


def guest_figures(
    name: str, counters: Counters | None, host: Counters | None, vcpus: int, *, shares_kernel: bool
) -> dict[str, float]:
    """Return CPU figures of a VM: its run time by its control group on the host, and what it sees itself.

    A container shares the kernel, so it sees the counters of the whole host. These are not its own.
    """
    group = None if host is None else host.groups.get(name)
    found: dict[str, float] = {}
    if group is not None:
        found["run_pct"] = 100 * group.run_cpus / vcpus
    if counters is not None and not shares_kernel:
        found["guest_cpu_pct"] = counters.busy_pct
        if counters.steal_pct > 0:
            found["ready_pct"] = counters.steal_pct
    return found


def view(name: str, counters: Counters | None, *, host: bool, throttled_pct: float | None = None) -> View:
    """Return the use of a target or host during a run."""
    return {
        "name": name,
        "kind": "host" if host else "guest",
        "busy_pct": None if counters is None else counters.busy_pct,
        "steal_pct": None if counters is None else counters.steal_pct,
        "throttled_pct": throttled_pct,
        "cpu_pressure_pct": None if counters is None else counters.pressure.get("cpu"),
        "io_pressure_pct": None if counters is None else counters.pressure.get("io"),
        "disk_util_pct": None if counters is None else counters.disk_util_pct,
        "load_1min": None if counters is None else counters.load_1min,
    }


def disturbed(views: Sequence[View], skew_ms: float | None) -> list[str]:
    """Return the reasons why a run counts as disturbed."""
    found = []
    if skew_ms is not None and skew_ms > MAX_SKEW_MS:
        found.append(f"the VMs started within {skew_ms:.0f} ms of each other")
    stolen = [each for each in views if each["kind"] == "host" and (each["steal_pct"] or 0) > STEAL_PCT]
    return found + [
        f"{each['name']} lost {each['steal_pct']:.0f}% of its CPU time to other VMs of its own host" for each in stolen
    ]
