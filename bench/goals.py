"""What plans of the clusters of `clusters.py` are to reach, as data, and what a plan misses."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Goal(NamedTuple):
    """What plans of one memory fill are to reach."""

    cpu_s: Mapping[int, float]
    """CPU seconds at most, by the most hosts for which they are meant."""
    proven: bool = False
    """Whether a plan, or that there is none, is to be proven."""
    gap_pct: float | None = None
    gap: float | None = None
    """A gap of `gap_pct` at most, or of so many moves or hosts."""
    unknown_pct: float | None = None
    """Cases in which neither a plan nor the proof that there is none may be lacking, of all."""


GOALS = {
    70: Goal({16: 2, 34: 4, 64: 8, 128: 30}, proven=True),
    90: Goal({16: 5, 34: 10, 64: 20, 128: 60}, gap_pct=10, gap=1),
    95: Goal({16: 5, 34: 10, 64: 20, 128: 60}, unknown_pct=5),
}
"""By the memory in use, in per cent of what may be."""
PEAK_MB = {64: 500, 128: 1_000}
"""Peak memory at most, by the most hosts for which it is meant."""
COUNTED = ("moves", "hosts", "evacuate")
"""What is asked for where value and bound are whole numbers."""
DECIDED = ("optimal", "infeasible")
"""Statuses that prove something."""
UNKNOWN = ("unknown", "late")


def by_hosts(limits: Mapping[int, float], hosts: int) -> float:
    """The limit for so many hosts: that of the next larger size."""
    return limits[min((most for most in limits if most >= hosts), default=max(limits))]


def limit_s(fill: int, hosts: int) -> int:
    """After which wall time a plan is given up: no goal is in reach then, even on a busy computer."""
    return int(3 * by_hosts(GOALS[fill].cpu_s, hosts)) + 30


def late(fill: int, hosts: int, asked: str) -> Mapping[str, Any]:
    """What stands for a plan that was given up."""
    seconds = limit_s(fill, hosts)
    nothing = dict.fromkeys(("value", "bound", "gap_pct", "peak_pct", "moves"))
    run = {"fill": fill, "hosts": hosts, "asked": asked, "status": "late", **nothing}
    times = {"seconds": seconds, "cpu_s": seconds, "events": 1, "events_per_s": 1 / seconds}
    return MappingProxyType({**run, **times, "peak_rss_mib": 0})


def peak_mb(run: Mapping[str, Any]) -> float:
    """Peak memory of a run."""
    return float(run["peak_rss_mib"]) * 2**20 / 1e6


def missed(run: Mapping[str, Any]) -> tuple[str, ...]:
    """The goals that a run of ours missed."""
    goal = GOALS[run["fill"]]
    found = []
    if run["status"] == "late" or run["cpu_s"] > by_hosts(goal.cpu_s, run["hosts"]):
        found.append("CPU")
    if peak_mb(run) > by_hosts(PEAK_MB, run["hosts"]):
        found.append("memory")
    if goal.proven and run["status"] not in DECIDED:
        found.append("proven")
    if goal.gap_pct is not None and not _near(run, goal):
        found.append("gap")
    if goal.unknown_pct is not None and run["status"] in UNKNOWN:
        found.append("unknown")
    return tuple(found)


def _near(run: Mapping[str, Any], goal: Goal) -> bool:
    if run["status"] == "infeasible":
        return True
    if run["value"] is None or run["bound"] is None or goal.gap_pct is None:
        return False
    counted = run["asked"] in COUNTED and goal.gap is not None and run["value"] - run["bound"] <= goal.gap
    return bool(counted or run["gap_pct"] <= goal.gap_pct)


def told(fill: int, hosts: int) -> tuple[str, str, str]:
    """The goals in words: CPU, memory, and of the plan itself."""
    goal = GOALS[fill]
    plan = "proven" if goal.proven else ""
    if goal.gap_pct is not None:
        plan = f"gap {goal.gap_pct:g} % or {goal.gap:g}"
    if goal.unknown_pct is not None:
        plan = f"unknown {goal.unknown_pct:g} %"
    return f"{by_hosts(goal.cpu_s, hosts):g} s", f"{by_hosts(PEAK_MB, hosts):,.0f} MB", plan


def summary(fill: int, runs: list[Mapping[str, Any]]) -> str:
    """How many cases of a fill reach the goals."""
    lacks = [missed(run) for run in runs]
    kinds = dict.fromkeys(["CPU", "memory", *(each for lack in lacks for each in lack)])
    parts = [f"{each} missed in {sum(each in lack for lack in lacks)}" for each in kinds]
    text = f"{fill} %: {sum(not lack for lack in lacks)} of {len(runs)} cases reach all goals; {', '.join(parts)}"
    most = GOALS[fill].unknown_pct
    if most is None:
        return text
    share = 100 * sum(run["status"] in UNKNOWN for run in runs) / len(runs)
    return f"{text}; unknown {share:.1f} %, at most {most:g} %{'' if share <= most else ' MISSED'}"
