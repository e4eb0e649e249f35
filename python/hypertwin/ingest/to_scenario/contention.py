"""Slowdown of work bursts by contention for a host's cores, to find the load that makes a host as busy as measured.

Bursts arrive and leave as in a birth-death process. With k bursts in progress, the host does the work of min(k, cores)
cores. Each burst that shares a core adds `smt_yield` - 1 of a core. Without hyper-threading and with open arrivals,
this is M/M/c. Schedulers use cores less efficiently than one queue for all of them, and more efficiently than one queue
per half or NUMA node. The mean of both matches the twin (tests/python/ingest/test_measured_hosts.py).
"""

from __future__ import annotations

from functools import cache

MOST_WORK = 0.995
"""Share of a host's capacity up to which there is a solution."""
NOT_MORE = 1.02
"""Share of the capacity up to which a host counts as fully used, but not overloaded."""
_STEPS = 40


@cache
def in_progress(work: float, cores: int, smt_yield: float) -> float:
    """Return the mean number of bursts in progress for `work` in cores. On Linux it is their CPU time."""
    whole = _open(work, cores, smt_yield)
    return whole if cores < 2 else (whole + 2 * _open(work / 2, cores // 2, smt_yield)) / 2


def work_of(busy: float, cores: int, smt_yield: float) -> float:
    """Return the work, in cores, that keeps `busy` logical CPUs busy: the inverse of `in_progress`."""
    low, high = 0.0, min(busy, MOST_WORK * smt_yield * cores)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if in_progress(middle, cores, smt_yield) < busy:
            low = middle
        else:
            high = middle
    return high


@cache
def closed_stretch(work: float, cores: int, smt_yield: float, processes: int, nodes: int) -> float:
    """Return the duration of a burst relative to a burst alone.

    `processes` alternately compute and think, and do `work` in total.

    VMs can stay on one of `nodes`. 1 if they demand more than the host has, because they then stay as measured.
    """
    whole = _closed(work, cores, smt_yield, processes)
    return whole if nodes == 1 else (whole + _closed(work / nodes, cores // nodes, smt_yield, processes // nodes)) / 2


def _rate(busy: int, cores: int, smt_yield: float) -> float:
    """Work of a host, in cores, with `busy` bursts in progress."""
    return busy if busy <= cores else min(cores + (smt_yield - 1) * (busy - cores), smt_yield * cores)


def _open(work: float, cores: int, smt_yield: float) -> float:
    work = min(work, MOST_WORK * smt_yield * cores)
    weight = total = 1.0
    weighted, busy = 0.0, 0
    while busy < work or weight > 1e-9 * total:
        busy += 1
        weight *= work / _rate(busy, cores, smt_yield)
        total += weight
        weighted += busy * weight
        if total > 1e200:
            weight, total, weighted = weight / total, 1.0, weighted / total
    return weighted / total


def _closed(work: float, cores: int, smt_yield: float, processes: int) -> float:
    most = _rate(processes, cores, smt_yield) if processes else 0
    if not 0 < work <= NOT_MORE * most:
        return 1.0
    work = min(work, MOST_WORK * most)
    low, high = 1e-6, 1e9  # mean time to think, in bursts
    for _ in range(2 * _STEPS):
        middle = (low * high) ** 0.5
        if _throughput(middle, cores, smt_yield, processes) > work:
            low = middle
        else:
            high = middle
    return max(processes / work - low, 1.0)


def _throughput(think: float, cores: int, smt_yield: float, processes: int) -> float:
    weight = total = 1.0
    done = 0.0
    for busy in range(1, processes + 1):
        rate = _rate(busy, cores, smt_yield)
        weight *= (processes - busy + 1) / think / rate
        total += weight
        done += rate * weight
        if total > 1e200:
            weight, total, done = weight / total, 1.0, done / total
    return done / total
