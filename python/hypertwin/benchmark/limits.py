"""Limit of a step as the counters of guests and hosts show it, in the words of the twin's own limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from hypertwin.documents.benchmark import Run, View
from hypertwin.documents.simulation import LimitKind

FULL_PCT = 90.0
"""Use of CPUs from which they are the limit."""
THROTTLED_PCT = 10.0
"""Share of periods with a used-up quota from which the quota is the limit [each costs a large part of a period]."""
STOLEN_PCT = 10.0
"""Steal time of a guest from which the CPUs of its host are the limit."""
DISK_PCT = 95.0
"""Share of time with I/O outstanding from which a disk is the limit of a load of I/Os."""
UNSEEN = frozenset(("memory", "controller", "fabric", "devices", "storage-cpu", "network", "client", "latency"))
"""Limits of which CPUs and disks of guests and hosts show only that no CPU is full."""
KEPT_PCT = 97.0
"""Share of an asked rate from which the rate is met."""


def limit(runs: Sequence[Run], rate: float | None, *, io: bool) -> tuple[LimitKind, str]:
    """Return the limit of a step and the figures that show it, from the mean of its runs.

    `rate` is the asked work per second of all VMs together, or None for a closed loop. `io` is true for a load of I/Os.
    """
    guests, hosts = (_means(runs, kind) for kind in ("guest", "host"))
    done = _mean([run["figures"].get("throughput_per_s", run["figures"].get("iops")) for run in runs])
    full = next(_full(guests, hosts), None)
    if full is not None:
        return full
    if rate is not None and done is not None and 100 * done >= KEPT_PCT * rate:
        return "nothing", f"{100 * done / rate:.0f}% of the asked rate was done"
    for each in (*guests, *hosts) if io else ():
        if (each["disk_util_pct"] or 0) >= DISK_PCT:
            share = f"{each['disk_util_pct']:.0f}% of the time"
            return "devices", f"the busiest disk of {each['name']} had I/O outstanding {share}"
    busiest = max((each["busy_pct"] for each in (*guests, *hosts) if each["busy_pct"] is not None), default=None)
    known = "nothing is known to be full" if busiest is None else f"no CPU was more than {busiest:.0f}% busy"
    return "latency", known


def agrees(predicted: LimitKind, measured: LimitKind, *, paced: bool) -> bool | None:
    """Return whether a predicted limit is the measured one, or None if counters cannot tell both apart.

    A closed loop of I/Os always has one outstanding, on a full disk as on one that only takes its time.
    """
    if predicted == measured:
        return True
    unseen = predicted in UNSEEN or (predicted == "nothing" and not paced)
    return None if measured in ("latency", "devices") and unseen else False


def _full(guests: Sequence[View], hosts: Sequence[View]) -> Iterator[tuple[LimitKind, str]]:
    """Yield the CPUs that are full, those that explain most first. As for the twin, they count before a met rate."""
    for each in guests:
        if (each["throttled_pct"] or 0) >= THROTTLED_PCT:
            yield "cpu-limit", f"{each['name']} used up its CPU quota in {each['throttled_pct']:.0f}% of periods"
    for each in hosts:
        if (each["busy_pct"] or 0) >= FULL_PCT:
            yield "host-cpu", f"the CPUs of {each['name']} were {each['busy_pct']:.0f}% busy"
    for each in guests:
        if (each["steal_pct"] or 0) >= STOLEN_PCT:
            yield "host-cpu", f"{each['name']} waited {each['steal_pct']:.0f}% of the time for its host (steal)"
    for each in guests:
        if (each["busy_pct"] or 0) >= FULL_PCT:
            yield "guest-cpu", f"the CPUs of {each['name']} were {each['busy_pct']:.0f}% busy"


def _means(runs: Sequence[Run], kind: str) -> list[View]:
    """Return the mean view of each guest or host, the busiest first."""
    names = dict.fromkeys(each["name"] for run in runs for each in run["views"] if each["kind"] == kind)
    found: list[View] = []
    for name in names:
        own: list[Any] = [
            each for run in runs for each in run["views"] if each["name"] == name and each["kind"] == kind
        ]
        figures = {key: _mean([each[key] for each in own]) for key in own[0] if key not in ("name", "kind")}
        found.append(cast("View", {**own[0], **figures}))
    return sorted(found, key=lambda each: -(each["busy_pct"] or 0))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
