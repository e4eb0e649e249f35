"""Search for the number of VMs of one group that meet service-level objectives, over simulated counts, with a curve.

The search doubles the count until it misses an objective, then bisects. It assumes that figures get worse with the
count. It then simulates counts spread evenly around the answer. A count that contradicts the assumption lowers the
answer and is reported. The answer is the largest simulated count that meets the objectives, if all smaller simulated
counts meet them too.

All counts use the same seeds, and random streams belong to named VMs. Two counts therefore differ by their VMs and not
by chance (common random numbers; Law, "Simulation Modeling and Analysis", section 11.2). If the 95 % interval of a
count contains a limit, it gets up to RATIO times the replications.

A count that exceeds the memory limit of a host or the capacity of a pool is not simulated. It counts as missing the
objectives, and so bounds the search and the curve.

Figures have an interval with the twin's own error (`hypertwin.model_error`). The search also finds the largest counts
that meet the objectives at the worse ends, and at the better ends of these intervals.

The next count is a function of the verdicts so far, so the tried counts do not depend on the number of jobs. No count
is simulated twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, TypeVar

from hypertwin import _core, naming
from hypertwin.arguments import Option, asks
from hypertwin.documents import plan as documents
from hypertwin.documents.failover import Failover
from hypertwin.errors import Argument, RunError, ScenarioError, fail
from hypertwin.extras import installed
from hypertwin.judgement.limits import limiting
from hypertwin.metrics.ready import summed
from hypertwin.metrics.words import some, tried, tried_range
from hypertwin.model_error.carried import Carrier
from hypertwin.plan import failover, memory, objective
from hypertwin.plan.capacity import packing
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.memory import HostMemory
from hypertwin.plan.objective import Objective
from hypertwin.results.answers import Answer
from hypertwin.runs import simulation
from hypertwin.runs.options import Runs
from hypertwin.runs.runner import running
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Given, Scenario, load, space
from hypertwin.scenario.overrides import by_path, together

if TYPE_CHECKING:
    from hypertwin.records.plan import DensityFields
else:  # attributes for type checkers only
    DensityFields = object

GIB = 2**30

LEAST_REPLICATIONS = 3
"""Minimum number of replications, because a single run gives no confidence interval."""

RATIO = 4
"""Maximum ratio of the replications of an undecided count to the requested replications."""

CURVE_POINTS = 8
"""Minimum number of counts of the curve, spread evenly."""

FAILOVER = "room after a host failure"
"""Name of the missing resource for a count that does not tolerate a failure."""

MOST_OVERCOMMIT = 100
"""Maximum ratio of configured to physical memory."""


class Verdict(Protocol):
    """Result of one count, with the properties that the search needs."""

    @property
    def meets(self) -> bool:
        """True if the objectives are met."""

    @property
    def sure(self) -> bool:
        """True if the objectives are met with confidence."""

    @property
    def at_worst(self) -> bool:
        """True if the objectives are also met at the worse end of the twin's own error."""

    @property
    def at_best(self) -> bool:
        """True if the objectives are met at the better end of the twin's own error."""


V = TypeVar("V", bound=Verdict)


@dataclass(frozen=True)
class Figure:
    """Metric of a count, over its replications."""

    mean: float | None
    """Mean over the replications, or None if a replication has no measurement."""
    ci95: float | None
    """Half-width of the 95 % confidence interval of the mean, by Student's t."""

    @staticmethod
    def of(values: Sequence[float | None]) -> Figure:
        """Return the figure for one value per replication."""
        measured = [value for value in values if value is not None]
        if not measured or len(measured) < len(values):
            return Figure(None, None)
        return Figure(math.fsum(measured) / len(measured), _core.half_width_95(measured))

    def ends(self) -> tuple[float, float] | None:
        """Return both ends of the interval, or None without an interval."""
        return None if self.mean is None or self.ci95 is None else (self.mean - self.ci95, self.mean + self.ci95)


@dataclass(frozen=True)
class Point:
    """Results of one count."""

    count: int
    objectives: tuple[Objective, ...]
    values: Mapping[str, tuple[float | None, ...]]
    """Values of each objective's metric in every replication, or an empty dict for a count without a report."""
    report: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Report over all replications without VMs and timeline. It is empty for a count that could not be simulated."""
    group: str = ""
    memory: HostMemory | None = None
    """Memory of the host that lacks memory, otherwise of the most used host, in the clusters of the group."""
    reason: str = ""
    """Reason why the count was not simulated: not enough memory, a VM that does not fit, or an overloaded run."""
    lacks: str = ""
    """Exhausted resource, such as `memory of esx-1` or `room of ceph`, if no simulation is needed."""
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Worse and better end of each objective's mean with the twin's own error, by the text of the objective.

    Without an entry, the mean has no model error.
    """

    def figure(self, each: Objective) -> Figure:
        """Return an objective's metric."""
        return Figure.of(self.values.get(each.name, ()))

    def holds(self, each: Objective) -> bool:
        """True if the mean meets an objective."""
        mean = self.figure(each).mean
        return mean is not None and each.meets(mean)

    def surely_holds(self, each: Objective) -> bool:
        """True if the whole interval meets an objective."""
        ends = self.figure(each).ends()
        return ends is not None and all(map(each.meets, ends))

    @property
    def meets(self) -> bool:
        """True if the means meet all objectives. Runs that are not steady meet none."""
        return all(map(self.holds, self.objectives)) and not self.unsettled

    @property
    def at_worst(self) -> bool:
        """True if the means, and their worse ends with the twin's own error, meet all objectives."""
        return self.meets and self._meets_at(0)

    @property
    def at_best(self) -> bool:
        """True if the better ends of the means with the twin's own error meet all objectives."""
        return self._meets_at(1)

    def _meets_at(self, end: int) -> bool:
        means = {each.text: self.figure(each).mean for each in self.objectives}
        return not self.unsettled and all(
            (mean := means[each.text]) is not None and each.meets(self.ends.get(each.text, (mean, mean))[end])
            for each in self.objectives
        )

    @property
    def unsettled(self) -> str:
        """Sentence with the reason why the runs are not steady, except by design. It is empty for steady or unknown
        runs.
        unknown.
        """
        verdict = self.report.get("verdict")
        if not verdict or verdict["steady"] != "not-steady" or verdict["reason"]["by_design"]:
            return ""
        return str(verdict["reason"]["text"])

    @property
    def steady(self) -> bool:
        """True if the runs reached a steady state. Only then do intervals over replications give the confidence of a
        mean."""
        return bool(self.report.get("steady"))

    @property
    def within(self) -> bool:
        """True if the 95 % intervals meet all objectives."""
        return all(map(self.surely_holds, self.objectives))

    @property
    def sure(self) -> bool:
        """True if intervals meet all objectives and the runs are steady."""
        return self.within and self.steady

    @property
    def decided(self) -> bool:
        """True if more replications cannot change the result, because all intervals meet their objectives or one
        misses.
        """
        return self.within or any(
            (ends := self.figure(each).ends()) is None or not any(map(each.meets, ends)) for each in self.objectives
        )

    def _metric(self, each: Objective) -> documents.Figure:
        figure = self.figure(each)
        found: documents.Figure = {"mean": figure.mean, "ci95": figure.ci95}
        if each.text in self.ends:
            found["low"], found["high"] = sorted(self.ends[each.text])
        return found

    def to_dict(self) -> documents.DensityPoint:
        """Return the JSON form. A count without a simulation has a `reason` and no figures."""
        group = self.report.get("groups", {}).get(self.group, {})
        usage = _fullest(self.report, self.group, "usage_pct")
        return {
            "count": self.count,
            "meets": self.meets,
            "sure": self.sure,
            "at_worst": self.at_worst,
            "metrics": {each.name: self._metric(each) for each in self.objectives},
            "throughput_per_s": group.get("throughput_per_s"),
            "ready_pct": group.get("ready_pct"),
            "ready_sum_pct": summed(group, "ready_pct"),
            "host_usage_pct": usage[1] if usage else None,
            "host_memory_pct": self.memory.pct if self.memory else None,
            "bottleneck": self.report.get("bottleneck"),
            "limit": self.report["judgement"]["limits"].get(self.group) if self.report else None,
            "replications": self.report.get("replications", 0),
            "duration_s": self.report.get("duration_s"),
            "steady": self.report.get("steady"),
            "unsettled": self.unsettled or None,
            "reason": self.reason or None,
            "lacks": self.lacks or None,
        }


@dataclass(frozen=True, repr=False)
class Density(Answer[documents.Density], DensityFields):
    """Number of VMs of a group that a cluster supports, and the curve around that number."""

    VIEWS: ClassVar[str] = "DENSITY"

    version: str
    scenario: str
    seed: int
    duration_s: float
    vm: str
    objectives: tuple[Objective, ...]
    minimum: int
    maximum: int
    points: tuple[Point, ...]
    """All counts tried, in ascending order."""
    changes: Mapping[str, Any]
    """Values of changed paths, except the count."""
    calibration: str | None = None
    """Name of the data source of the calibrated parameters."""
    memory_overcommit: float = 1.0
    """Maximum ratio of configured to physical memory of a host."""
    failures: int = 0
    """Number of host failures that every count must tolerate."""
    unjudged: str = ""
    """Reason why failures were not checked."""
    failover: Mapping[str, Failover] = field(default_factory=dict)
    """Verdict on host failures of each cluster with VMs of the group, at the answer."""

    @property
    def count(self) -> int:
        """Largest count that meets the objectives, or 0 if the smallest count misses them. See `at_maximum`."""
        return largest({point.count: point.meets for point in self.points})

    @property
    def sure_count(self) -> int:
        """Largest count with a steady state whose 95 % intervals meet the objectives, as do all smaller counts.

        It is 0 if the smallest count is not such a count. The same holds for `low_count` and `high_count`.
        """
        within = largest({point.count: point.within for point in self.points})
        return max((point.count for point in self.points if point.sure and point.count <= within), default=0)

    @property
    def low_count(self) -> int:
        """Largest count that meets the objectives at the worse ends of the twin's own error."""
        return largest({point.count: point.at_worst for point in self.points})

    @property
    def high_count(self) -> int:
        """Largest count that meets the objectives at the better ends of the twin's own error."""
        return largest({point.count: point.at_best for point in self.points})

    @property
    def at_maximum(self) -> bool:
        """True if the largest allowed count meets the objectives, so that the true answer may be larger."""
        return self.count == self.maximum

    @property
    def exceptions(self) -> tuple[int, ...]:
        """Counts above the answer that meet the objectives although a smaller count misses them."""
        return tuple(point.count for point in self.points if point.meets and point.count > self.count)

    @property
    def first_missed(self) -> Point | None:
        """Smallest count that misses an objective."""
        return next((point for point in self.points if not point.meets), None)

    @property
    def limiting(self) -> Objective | None:
        """Objective that the first count above the answer misses most, or None if that count was not simulated.

        If no count misses an objective, this is the objective nearest to its limit.
        """
        point = self.first_missed or (self.points[-1] if self.points else None)
        if point is None or not point.report:
            return None
        missed = [each for each in self.objectives if not point.holds(each)] or list(self.objectives)
        return max(missed, key=lambda each: _excess(each, point.figure(each).mean))

    @property
    def limited_by(self) -> str:
        """Name of the exhausted resource at the first count that misses an objective, or an empty string if none
        misses.
        """
        point = self.first_missed
        if point is None:
            return ""
        return point.lacks or point.reason or exhausted(point.report, self.vm)

    def step(self) -> dict[str, Figure]:
        """Return the effect of one more VM on each metric, as the paired difference over replications."""
        by_count = {point.count: point for point in self.points}
        here, there = by_count.get(self.count), by_count.get(self.count + 1)
        if here is None or there is None or not there.report:
            return {}
        return {
            each.name: Figure.of(
                [
                    None if less is None or more is None else more - less
                    # only those that both have: a count that was hard to decide has more replications
                    for less, more in zip(here.values[each.name], there.values[each.name], strict=False)
                ]
            )
            for each in self.objectives
        }

    @property
    def text(self) -> str:
        """Answer in one sentence."""
        if self.at_maximum:
            more = f"--max {self.maximum} still {self._met(1)}; raise it."
            return f"At least {_vms(self.count, self.vm)}: {more}{self._range}{self._pressure}"
        missed = self.first_missed
        lacks = missed.reason if missed and missed.lacks else ""
        if missed and missed.unsettled:
            lacks = f"its runs are not steady, {missed.unsettled}"
        if not self.count:
            objectives = [each.text for each in self.objectives if missed is None or not missed.holds(each)]
            missing = lacks or f"--min {self.minimum} misses {' and '.join(objectives)}"
            return f"Not even {_vms(self.minimum, self.vm)}: {missing}.{self._range}"
        why = f": {lacks}" if lacks else ""
        met = f"{_vms(self.count, self.vm)} {self._met(self.count)}"
        return f"{met}, {self.count + 1} do not{why}{self._confidence}.{self._range}{self._pressure}"

    def _met(self, subjects: int) -> str:
        """Return the predicate for a number of subjects: `meets A and B and survives a host failure`."""
        ending = "s" if subjects == 1 else ""
        met = f"meet{ending} {' and '.join(each.text for each in self.objectives)}"
        if not self.failures or self.unjudged:
            return met
        failures = "a host failure" if self.failures == 1 else f"{self.failures} host failures"
        return f"{met} and survive{ending} {failures}"

    def _headline(self) -> str:
        return self.text

    @property
    def _range(self) -> str:
        """Sentence about the counts at both ends of the twin's own error, if they differ from the answer."""
        if self.low_count == self.high_count == self.count:
            return ""
        ends = tried_range(self.low_count, self.high_count, self.minimum, self.maximum)
        return f" With the twin's own error: {ends}."

    @property
    def _pressure(self) -> str:
        """Sentence about the overcommitted host at the answer."""
        host = self._answer.memory if self._answer else None
        if host is None or not host.size < host.configured <= self.memory_overcommit * host.size:
            return ""
        return f" At {self.count}, memory of {host.host} is exceeded ({host.text}): memory pressure is not simulated."

    @property
    def _confidence(self) -> str:
        """Sentence about the confidence of the answer, if the answer is not certain."""
        if self.sure_count == self.count:
            return ""
        if self._answer is not None and not self._answer.steady:
            sure = (
                f"with 95 % confidence at least {self.sure_count}" if self.sure_count else "none of it with confidence"
            )
            return f"; {sure}, because the runs with {self.count} might not be steady"
        return f"; with 95 % confidence between {tried(self.sure_count, self.minimum)} and {self.count}"

    @property
    def _lacks(self) -> str:
        return self.first_missed.lacks if self.first_missed else ""

    @property
    def _answer(self) -> Point | None:
        return next((point for point in self.points if point.count == self.count), None)

    @property
    def notes(self) -> list[str]:
        """Notes on the answer, in sentences."""
        return list(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.at_maximum and self.sure_count < self.count:
            sure = _vms(self.sure_count, self.vm) if self.sure_count else "no count"
            yield f"Met with 95 % confidence: {sure}."
        missed, limiting = self.first_missed, self.limiting
        if missed is not None and limiting is not None:
            mean = _written(missed.figure(limiting), limiting.unit)
            yield f"At {missed.count}, {limiting.name} is {mean}. Bottleneck: {self.limited_by}."
        elif missed is not None and missed.reason and not missed.lacks:
            yield f"At {missed.count}: {missed.reason}"
        if self.unjudged:
            yield self.unjudged
        if self.exceptions and missed is not None:
            listed = ", ".join(map(str, self.exceptions))
            yield (
                f"The curve is not monotone, or chance decides: {missed.count} misses the objectives, but {listed} "
                "meets them. The answer is the lower count."
            )
        answer = self._answer
        if self.memory_overcommit > 1:
            yield (
                f"Configured memory can be up to {self.memory_overcommit:g} times the host's memory. Page sharing,"
                " ballooning and swapping above 1 are not simulated."
            )
        if (
            answer is not None
            and answer.memory
            and answer.memory.configured > self.memory_overcommit * answer.memory.size
        ):
            yield (
                f"Memory of {answer.memory.host} is already exceeded without VMs of {self.vm} ({answer.memory.text}):"
                " not counted."
            )
        if answer is not None and not answer.steady:
            yield (
                f"At {self.count} the runs did not reach a steady state: run longer (--duration), or remove changes"
                " over time (load_steps, failures)."
            )

    def to_dict(self) -> documents.Density:
        """Return the JSON form {"version", "scenario", "vm", "slo", "answer", "points", "set", ...}."""
        return {
            "version": self.version,
            "scenario": self.scenario,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "calibration": self.calibration,
            "vm": self.vm,
            "slo": [
                {"text": each.text, "metric": each.name, "sign": each.sign, "limit": each.limit, "unit": each.unit}
                for each in self.objectives
            ],
            "min": self.minimum,
            "max": self.maximum,
            "memory_overcommit": self.memory_overcommit,
            "failures": self.failures,
            "failover": dict(self.failover),
            "answer": {
                "count": self.count,
                "sure_count": self.sure_count,
                "low_count": self.low_count,
                "high_count": self.high_count,
                "at_max": self.at_maximum,
                "limiting": self.limiting.name if self.limiting else self._lacks or None,
                "limited_by": self.limited_by or None,
                "one_more": {name: {"mean": each.mean, "ci95": each.ci95} for name, each in self.step().items()},
                "monotone": not self.exceptions,
                "exceptions": list(self.exceptions),
                "text": self.text,
                "notes": self.notes,
            },
            "points": [point.to_dict() for point in self.points],
            "set": dict(self.changes),
        }


@dataclass(frozen=True, kw_only=True)
class Asked(Runs):
    """Options of a density search."""

    vm: Annotated[str, Option("VM group to search.", "GROUP", offered="groups")]
    slo: Annotated[
        str | Sequence[str],
        Option("Objective, e.g. 'response_ms.p99<200'; repeatable.", "METRIC<NUMBER"),
    ]
    maximum: Annotated[int, Option("Largest count to try.", "N", flag="--max", least=1, most=100_000)] = 200
    minimum: Annotated[int, Option("Smallest count to try.", "N", flag="--min", least=1, most=100_000)] = 1
    memory_overcommit: Annotated[
        float,
        Option(
            "Maximum ratio of configured to physical memory of a host; memory pressure above 1 is not simulated.",
            "RATIO",
        ),
    ] = 1.0
    failures: Annotated[
        int | None,
        Option("Host failures to tolerate (default: 1 if the cluster has several hosts).", "N", least=0),
    ] = None
    progress: LabelledProgress | None = None
    """Function called with a label, the number of completed steps, and the number of all steps."""


@asks(Asked)
def density(scenario: Given, asked: Asked) -> Density:
    """Return the largest count of VMs of the group `vm`, from `minimum` to `maximum`, that meets all objectives `slo`.

    An objective is text such as `response_ms.p99<200` or `hosts.*.usage_pct<=80%`. See `hypertwin.plan.objective`. A
    count also misses the objectives in these cases:

    - Its VMs do not fit, or its run is overloaded.
    - It configures a host with more than `memory_overcommit` times its memory (VMs and `hypervisor_memory`).
    - It stores more in a pool than its capacity (`hypertwin.scenario.space`).
    - A VM cannot restart when `failures` hosts fail, by the demand and the limits of `hypertwin capacity`.

    Raises ScenarioError for invalid scenarios or arguments, and RunError when a run fails otherwise.
    """
    vm, minimum, maximum, memory_overcommit = asked.vm, asked.minimum, asked.maximum, asked.memory_overcommit
    fixed = by_path(asked.overrides)
    path = f"vms.{vm}.count"
    if path in fixed:
        hint = "leave it out: the count is what is searched; `minimum` and `maximum` bound it"
        fail("bad-override", "", fixed[path], "other paths", hint, Argument("overrides", path))
    if not 1 <= minimum <= maximum:
        hint = "choose `minimum` <= `maximum`"
        fail("out-of-range", "minimum", minimum, f"1 to {maximum}, the value of `maximum`", hint)
    if asked.replications is not None and asked.replications < 2:
        hint = "one run says nothing about chance; leave it out for the scenario's own number, or 3"
        fail("out-of-range", "replications", asked.replications, "2 or more", hint)
    if not 1 <= memory_overcommit <= MOST_OVERCOMMIT:
        hint = "1, the default, gives every VM its memory; 1.5 half as much again as hosts have"
        fail("out-of-range", "memory_overcommit", f"{memory_overcommit:g}", f"1 to {MOST_OVERCOMMIT}", hint)
    base = load(scenario, together(fixed, asked.settings))
    groups = base.data["vms"]
    if vm not in groups:
        listed = f": {some(list(groups), 12)}" if groups else ""
        hint = naming.hint(vm, groups, "choose one of these" if groups else "the scenario has no VMs")
        fail("unknown-reference", "vm", vm, f"a VM group of the scenario{listed}", hint)
    objectives = objective.parse(asked.slo, base, vm)
    without = load(base, {path: 0})  # a mistake without any VM of the group is one with every count
    replications = int(base.data["run"]["replications"])
    clusters = _clusters_of(base, vm)
    hosts = min((sum(host.cluster == name for host in base.inventory.hosts) for name in clusters), default=0)
    many = (1 if hosts > 1 else 0) if asked.failures is None else asked.failures
    if not 0 <= many <= max(0, hosts - 1):
        fail("out-of-range", "failures", many, f"0 to {max(0, hosts - 1)}: the cluster has {hosts} hosts", "give fewer")
    survival = Survival.of(without, clusters, many, memory_overcommit)
    measure = Measure(
        base,
        vm,
        objectives,
        without=memory.of_hosts(without),
        memory_overcommit=memory_overcommit,
        survival=survival,
        replications=max(replications, LEAST_REPLICATIONS if asked.replications is None else 0),
        progress=asked.progress,
    )
    with running(**asked.where):
        points = search(measure, minimum, maximum)
    measured = next((point.report for point in points.values() if point.report), {})
    return Density(
        version=_core.version(),
        scenario=base.name,
        seed=int(base.data["run"]["seed"]),
        duration_s=measured.get("duration_s", 0.0),
        vm=vm,
        objectives=objectives,
        minimum=minimum,
        maximum=maximum,
        points=tuple(points[count] for count in sorted(points)),
        changes=fixed,
        calibration=measured.get("calibration"),
        memory_overcommit=memory_overcommit,
        failures=many,
        unjudged=survival.unjudged,
        failover=_judged(survival, base, path, points),
    )


def _judged(survival: Survival, base: Scenario, path: str, points: Mapping[int, Point]) -> dict[str, Failover]:
    """Return the verdict at the largest count that meets the objectives, else at the smallest count, if that fits."""
    count = largest({count: point.meets for count, point in points.items()}) or min(points)
    try:
        return survival.judged(load(base, {path: count}))
    except ScenarioError:
        return {}


def search(measure: Callable[[Sequence[int]], Iterable[tuple[int, V]]], least: int, most: int) -> dict[int, V]:
    """Return results by count.

    The results are enough to find the largest counts that meet the objectives and that surely meet them. They also give
    the largest counts at both ends of the twin's own error, and the curve.

    `measure` never gets a count twice, and returns each count with its verdict.
    """
    points: dict[int, V] = {}

    def settle(meets: Callable[[V], bool]) -> None:
        while (count := next_count({count: meets(found) for count, found in points.items()}, least, most)) is not None:
            points.update(measure([count]))

    while True:
        settle(lambda found: found.meets)
        settle(lambda found: found.sure)
        settle(lambda found: found.at_worst)
        settle(lambda found: found.at_best)
        missing = curve(points, largest({count: found.meets for count, found in points.items()}), least, most)
        if not missing:
            return points
        points.update(measure(missing))


def next_count(meets: Mapping[int, bool], least: int, most: int) -> int | None:
    """Return the next count to try, from the results so far, or None if the largest count that meets is known."""
    if not meets:
        return least
    missed = min((count for count, met in meets.items() if not met), default=None)
    met = largest(meets)
    if missed is None:
        return None if met >= most else min(most, 2 * met)
    return None if missed in (least, met + 1) else (met + missed) // 2


def largest(meets: Mapping[int, bool]) -> int:
    """Return the largest count that meets, as do all smaller tried counts, or 0 if there is none."""
    found = 0
    for count in sorted(meets):
        if not meets[count]:
            break
        found = count
    return found


def curve(known: Iterable[int], answer: int, least: int, most: int) -> list[int]:
    """Return counts that are evenly spread from the least to twice the answer, without those near a tried count."""
    top = min(most, max(2 * answer, least + CURVE_POINTS - 1))
    spacing = max(1.0, (top - least) / (CURVE_POINTS - 1))
    wanted = dict.fromkeys(min(top, round(least + place * spacing)) for place in range(CURVE_POINTS))
    counts = list(known)
    return [count for count in wanted if all(abs(count - other) > spacing / 2 for other in counts)]


def _clusters_of(scenario: Scenario, vm: str) -> list[str]:
    """Return the clusters with VMs of a group, or all clusters if the group has no VM."""
    found = dict.fromkeys(each.cluster for each in scenario.inventory.vms if each.group == vm)
    return list(found or dict.fromkeys(host.cluster for host in scenario.inventory.hosts))


@dataclass(frozen=True)
class Survival:
    """Check whether counts tolerate host failures."""

    clusters: Sequence[str]
    limits: Limits
    unjudged: str
    """Reason why counts are not checked, or an empty string if they are checked."""

    @staticmethod
    def of(without: Scenario, clusters: Sequence[str], failures: int, memory_overcommit: float) -> Survival:
        """Build the check for counts in clusters. `without` has no VM of the group."""
        limits = Limits(failures=failures)
        limits = replace(limits, memory=limits.memory * memory_overcommit)
        if failures and not installed("plan"):
            return Survival((), limits, "Host failures were not checked: that needs the extra `plan`.")
        found = Survival(clusters if failures else (), limits, "")
        lost = found.lost(without)
        return replace(found, unjudged=f"Host failures do not count: {lost}.") if lost else found

    def judged(self, scenario: Scenario) -> dict[str, Failover]:
        """Return the verdict on each cluster."""
        found = {
            name: failover.judged(scenario, scenario.inventory.cluster[name], self.limits) for name in self.clusters
        }
        return {name: verdict for name, verdict in found.items() if verdict is not None}

    def lost(self, scenario: Scenario) -> str:
        """Return the failures that are not tolerated for lack of headroom, as a sentence without a full stop.

        The text is empty if all failures are tolerated.
        """
        if self.unjudged:
            return ""
        for judged in self.judged(scenario).values():
            for each in judged["failures"].values():
                short = [reason["text"] for reason in each["reasons"] if reason["code"] in ("no-host", "no-power-on")]
                if short:
                    fail = "fail" if len(each["failed"]) > 1 else "fails"
                    return f"if {some(each['failed'])} {fail}, {short[0]}"
        return ""


@dataclass
class Measure:
    """Simulation of counts of a VM group, each once, with as many replications as a decision needs."""

    base: Scenario
    vm: str
    objectives: tuple[Objective, ...]
    without: Mapping[str, HostMemory]
    """Configured memory of hosts without this group."""
    memory_overcommit: float
    survival: Survival
    replications: int
    progress: LabelledProgress | None = None

    def __call__(self, counts: Sequence[int]) -> Iterator[tuple[int, Point]]:
        """Yield each count with its results. Raises RunError if a run fails for another reason than overload."""
        fitting: list[simulation.Point] = []
        for count in counts:
            path = f"vms.{self.vm}.count"
            try:
                scenario = load(self.base, {path: count})
            except ScenarioError as error:
                mistakes = "; ".join(f"{each.path}: {each.value}, allowed: {each.allowed}" for each in error.mistakes)
                yield count, self._refused(count, f"the VMs do not fit ({mistakes})")
                continue
            hosts = memory.of_hosts(scenario)
            lacking = memory.exceeded(hosts, self.without, self.vm, self.memory_overcommit)
            if lacking:
                yield count, self._without_memory(count, scenario, lacking)
            elif too_full := self._too_full(scenario):
                yield count, self._without_room(count, scenario, too_full)
            elif lost := self.survival.lost(scenario):
                yield count, replace(self._refused(count, lost), lacks=FAILOVER)
            else:
                fitting.append(simulation.Point({path: count}, scenario))
        words = ", ".join(str(point.changes[f"vms.{self.vm}.count"]) for point in fitting) + f" VMs of {self.vm}"

        def progress(done: int, total: int) -> None:
            if self.progress:
                self.progress(words, done, total)

        yield from self._decide(fitting, progress)

    def _decide(self, points: Sequence[simulation.Point], progress: simulation.Progress) -> Iterator[tuple[int, Point]]:
        """Run all points. Undecided points get twice the replications each time."""
        runs: list[dict[int, _core.Replication]] = [{} for _ in points]
        values: list[dict[int, list[float | None]]] = [{} for _ in points]
        overloaded: dict[int, str] = {}

        def done(index: int, k: int, replication: _core.Replication) -> None:
            runs[index][k] = replication
            report = json.loads(_core.aggregate([replication]))
            values[index][k] = [each.read(report) for each in self.objectives]

        def failed(index: int, error: RunError) -> None:
            overloaded[index] = str(error)

        settled = simulation.settled(points, progress=progress, failed=failed)
        points, known = settled.points, settled.pilots
        first, last, undecided = 0, self.replications, list(range(len(points)))
        while undecided:
            tasks = [(index, k) for index in undecided if index not in overloaded for k in range(first, last)]
            simulation.run_replications(points, tasks, done, known=known, progress=progress, failed=failed)
            still = []
            for index in undecided:
                count = int(points[index].changes[f"vms.{self.vm}.count"])
                if index in overloaded:
                    yield count, self._refused(count, overloaded[index])
                    continue
                point = self._point(count, points[index].scenario, runs[index], values[index])
                if point.decided or 2 * last > RATIO * self.replications:
                    yield count, point
                    runs[index].clear()
                else:
                    still.append(index)
            first, last, undecided = last, 2 * last, still

    def _point(
        self,
        count: int,
        scenario: Scenario,
        runs: Mapping[int, _core.Replication],
        values: Mapping[int, Sequence[float | None]],
    ) -> Point:
        numbers = sorted(runs)
        text = _core.aggregate([runs[k] for k in numbers])
        report = json.loads(text)
        errors = Carrier.of(scenario.data).at(text)
        means = {
            each: Figure.of([values[k][place] for k in numbers]).mean for place, each in enumerate(self.objectives)
        }
        return Point(
            count=count,
            objectives=self.objectives,
            values={each.name: tuple(values[k][place] for k in numbers) for place, each in enumerate(self.objectives)},
            ends={each.text: each.ends(errors, report, mean) for each, mean in means.items() if mean is not None},
            report={key: value for key, value in report.items() if key not in ("vms", "timeline")},
            group=self.vm,
            memory=memory.fullest(memory.of_hosts(scenario), self.vm),
        )

    def _without_memory(self, count: int, scenario: Scenario, lacking: HostMemory) -> Point:
        """Return a count that exceeds the memory of a host."""
        before, most = self.without[lacking.host], self.memory_overcommit
        beyond = "exceeded" if most == 1 else f"configured more than {most:g} times"
        if before.configured > most * before.size:
            reason = f"memory of {lacking.host} is {beyond} without them ({before.text})"
        else:
            reason = f"memory of {lacking.host} would be {beyond} ({lacking.text})"
        inventory = scenario.inventory
        own = [vm for vm in inventory.vms if vm.group == self.vm]
        if len(inventory.hosts) > 1 and all(vm.host_is_given and vm.host == lacking.host for vm in own):
            reason += ", and they are bound to it"
        return replace(self._refused(count, reason), memory=lacking, lacks=f"memory of {lacking.host}")

    def _too_full(self, scenario: Scenario) -> str:
        """Return the pool that VMs of the group overfill most, or an empty string if none.

        Each VM stores as much as in the given scenario, whose `stored` covers its existing VMs. A pool that is full
        without this group does not count if the group stores nothing in it.
        """
        stored = space.stored_by_vm(scenario, self.base)
        used = {pool for vm in scenario.inventory.vms if vm.group == self.vm for pool in stored.get(vm.name, {})}
        over = {name: room.fullness for name, room in space.rooms(scenario, self.base).items() if name in used}
        fullest = max(over, key=lambda name: over[name], default="")
        return fullest if fullest and over[fullest] > 1 + packing.SLACK else ""

    def _without_room(self, count: int, scenario: Scenario, pool: str) -> Point:
        """Return a count whose VMs exceed the capacity of a pool."""
        rooms = space.rooms(scenario, self.base)
        without = space.rooms(load(self.base, {f"vms.{self.vm}.count": 0}), self.base)[pool]
        full = rooms[pool] if without.fullness <= 1 + packing.SLACK else without
        text = f"{full.stored / GIB:,.0f} GiB of {full.usable / GIB:,.0f} GiB"
        reason = f"room of {pool} would be exceeded ({text})"
        if full is without:
            reason = f"room of {pool} is exceeded without them ({text})"
        point = replace(self._refused(count, reason), lacks=f"room of {pool}")
        return replace(point, memory=memory.fullest(memory.of_hosts(scenario), self.vm))

    def _refused(self, count: int, reason: str) -> Point:
        return Point(count=count, objectives=self.objectives, values={}, group=self.vm, reason=reason)


def exhausted(report: Mapping[str, Any], group: str) -> str:
    """Return the limit of a group in a report as a sentence, or the busiest part without one."""
    if full := limiting(report, group):
        return full
    station, busy = report.get("bottleneck"), _fullest(report, group, "usage_pct")
    busiest = [f"{station['station']} at {station['utilization_pct']:.0f} %"] if station else []
    busiest += [f"CPU of {busy[0]} at {busy[1]:.0f} %"] if busy else []
    return f"nothing is saturated; busiest: {', '.join(busiest)}"


def _fullest(report: Mapping[str, Any], group: str, key: str) -> tuple[str, float] | None:
    """Return the name and figure of the host with the highest `key`, in the clusters with VMs of `group`."""
    if not report:
        return None
    clusters = report["groups"][group]["clusters"]
    found = [(name, float(host[key])) for name, host in report["hosts"].items() if host["cluster"] in clusters]
    return max(found, key=lambda each: each[1], default=None)


def _excess(each: Objective, value: float | None) -> float:
    """Return the excess of a value over its limit, relative to the limit, or infinite if not measured."""
    if value is None:
        return math.inf
    return (value - each.limit) * (1 if each.upper else -1) / (abs(each.limit) or 1.0)


def _written(figure: Figure, unit: str) -> str:
    if figure.mean is None:
        return "not measured"
    half = f" ±{figure.ci95:.3g}" if figure.ci95 is not None else ""
    return f"{figure.mean:.4g}{half}{f' {unit}' if unit else ''}"


def _vms(count: int, group: str) -> str:
    return f"{count} VM{'' if count == 1 else 's'} of {group}"
