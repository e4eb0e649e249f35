"""Figures of simulated parts of states. A part is a host with its VMs, or a whole cluster whose hosts share storage.

Each part is simulated once for all states, plans and commands. If the user does not set the replications, a part gets
short ones first. They suffice if together they are steady and decide each objective with confidence: no interval has
its limit inside. Other parts get full runs.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.judgement.limits import limiting
from hypertwin.metrics.frame import MISSING, value_at
from hypertwin.model_error import evidence
from hypertwin.model_error.carried import Carrier
from hypertwin.plan.objective import Objective
from hypertwin.runs import simulation
from hypertwin.runs.runner import Runner, running
from hypertwin.runs.settle import Search, is_open
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario

FULL_REPLICATIONS = 3
"""Minimum number of replications of full runs, because intervals need several replications."""
SHORT_REPLICATIONS = 3
"""Number of short replications of a part before any full run."""
IDLE_PCT = 1.0
"""Maximum run and ready time in per cent of a VM that counts as idle if it has no figure. Idle VMs are not judged."""

ALONE = ("hosts", "vms", "groups")
"""Sections of a report whose figures belong to a host or a VM."""

Values = Mapping[int, Mapping[str, float | None]]
"""Values of each host or VM in one replication, by position of the objective."""


@dataclass(frozen=True)
class Runs:
    """Figures of the replications of a part."""

    values: Sequence[Values]
    steady: str
    """Verdict on the steadiness of all replications together."""
    limits: dict[str, str]
    """Limit of each VM with an exhausted resource, and of each host with such a VM."""
    ends: Sequence[Mapping[str, tuple[float, float]]]
    """Worse and better end of each figure with the twin's own error, by position of the objective and name."""


@dataclass
class Simulated:
    """Simulation of parts. Each part is a scenario as JSON."""

    objectives: Sequence[Objective]
    groups: Mapping[str, str]
    """Group of each VM."""
    replications: int
    in_full: bool
    """True if no part gets fewer than `replications` full runs."""
    is_by_host: bool
    """True if each part is a single host, and each VM is a group by itself."""
    progress: LabelledProgress | None = None
    count: int = 0
    """Number of simulated parts, without parts from the cache."""
    _runs: dict[str, Runs] = field(default_factory=dict)

    def simulate(self, parts: Sequence[str], undecided: Collection[str] = ()) -> None:
        """Get the figures of unknown parts from the cache, or simulate them.

        Parts in `undecided` get short replications only, even if these decide nothing.
        """
        with running() as runner:
            unknown = [part for part in dict.fromkeys(parts) if part not in self._runs]
            missing = [part for part in unknown if not self._kept(runner, part)]
            if missing:
                self._run(missing, undecided)
            for part in missing:
                if part not in undecided or self._is_decided(part):
                    self._keep(runner, part)

    def steady(self, part: str) -> str:
        """Return the verdict on a part: steady, not-steady or not-known."""
        return self._runs[part].steady

    def limit(self, part: str, name: str) -> str | None:
        """Return the limit of a VM or host of a part, if a resource is exhausted."""
        return self._runs[part].limits.get(name)

    def figures(self, number: int, part: str) -> Iterator[tuple[str, tuple[float | None, float | None]]]:
        """Yield the mean and half-width of each host or VM of a part that an objective applies to."""
        runs = [values[number] for values in self._runs[part].values]
        for name in dict.fromkeys(name for values in runs for name in values):
            known = [value for values in runs if (value := values.get(name)) is not None]
            if len(known) < len(runs):
                yield name, (None, None)
            else:
                yield name, (math.fsum(known) / len(known), _core.half_width_95(known))

    def ends(self, number: int, part: str, name: str, mean: float) -> tuple[float, float]:
        """Return the worse and the better end of a figure of a part, with the twin's own error."""
        return self._runs[part].ends[number].get(name, (mean, mean))

    def is_sure(self, part: str) -> bool:
        """True if a part is steady and all its intervals meet the objectives."""
        return self.steady(part) == "steady" and all(
            surely(each, *figure)
            for number, each in enumerate(self.objectives)
            for _, figure in self.figures(number, part)
        )

    def _is_decided(self, part: str) -> bool:
        """True if a part is steady and no interval has its limit inside."""
        return self.steady(part) == "steady" and all(
            mean is not None and ci95 is not None and each.meets(mean - ci95) == each.meets(mean + ci95)
            for number, each in enumerate(self.objectives)
            for _, (mean, ci95) in self.figures(number, part)
        )

    def _run(self, parts: Sequence[str], undecided: Collection[str]) -> None:
        self.count += len(parts)
        made = [simulation.Point({}, Scenario.from_dict(json.loads(part))) for part in parts]
        left = range(len(parts)) if self.in_full else self._run_short(parts, made)
        left = [index for index in left if parts[index] not in undecided]
        points = [made[index] for index in left]
        settled = simulation.settled(points, progress=self._counted(len(points)))
        self._replicate(
            [parts[index] for index in left], settled.points, [self.replications] * len(points), settled.pilots
        )

    def _run_short(self, parts: Sequence[str], made: Sequence[simulation.Point]) -> list[int]:
        """Simulate parts with short replications. Return the positions of parts whose objectives are undecided."""
        open_ = [index for index, point in enumerate(made) if is_open(point.scenario)]
        searches = {index: Search(made[index].scenario) for index in open_}
        for index, search in searches.items():
            search.lengthen(made[index].scenario)
        points = [
            simulation.Point({}, scenarios.load(point.scenario, searches[index].settings))
            if index in searches
            else point
            for index, point in enumerate(made)
        ]
        most = [min(SHORT_REPLICATIONS, self.replications)] * len(parts)
        reports = self._replicate(parts, points, most, {})
        undecided = [
            index
            for index, part in enumerate(parts)
            if not self._is_decided(part) or (index in searches and not searches[index].suffices(reports[index]))
        ]
        return [index for index in undecided if index in searches or self.replications > SHORT_REPLICATIONS]

    def _replicate(
        self,
        parts: Sequence[str],
        points: Sequence[simulation.Point],
        counts: Sequence[int],
        known: Mapping[tuple[int, int], _core.Replication],
    ) -> dict[int, Mapping[str, Any]]:
        """Simulate replications of parts, keep their figures, and return the report of each part."""
        under_way = [_UnderWay(count) for count in counts]
        reports: dict[int, Mapping[str, Any]] = {}

        def done(index: int, k: int, replication: _core.Replication) -> None:
            one = under_way[index]
            one.made[k] = replication
            if len(one.made) < one.count:
                return
            together = [one.made[number] for number in sorted(one.made)]
            values = [self._read(json.loads(_core.aggregate([each], brief=self.is_by_host))) for each in together]
            text = _core.aggregate(together, brief=self.is_by_host)
            reports[index] = report = json.loads(text)
            ends = self._ends(parts[index], text, report)
            self._runs[parts[index]] = Runs(values, report["verdict"]["steady"], _limits(report), ends)
            one.made.clear()

        tasks = [(index, k) for index, count in enumerate(counts) for k in range(count)]
        simulation.run_replications(points, tasks, done, known=known, progress=self._counted(len(parts)))
        return reports

    def _ends(self, part: str, text: str, report: Mapping[str, Any]) -> list[dict[str, tuple[float, float]]]:
        errors = Carrier.of(json.loads(part)).at(text)
        found: list[dict[str, tuple[float, float]]] = []
        for number, figures in self._read(report).items():
            each = self.objectives[number]
            named = {name: value for name, value in figures.items() if value is not None}
            found.append({name: each.ends(errors, report, value, name) for name, value in named.items()})
        return found

    def _counted(self, parts: int) -> simulation.Progress:
        def count(done: int, total: int) -> None:
            if self.progress:
                self.progress(f"{parts} states of hosts", done, total)

        return count

    def _key(self, part: str) -> bytes:
        """Return the cache key of the figures of a part: from the build, the part and the objectives."""
        asked = [each.path.text if self.in_full else each.text for each in self.objectives]
        groups = self.groups if self._names_groups else {}
        key = ["figures", _core.build(), evidence.recorded_hash(), self.replications, self.in_full, asked, groups, part]
        return hashlib.sha256(json.dumps(key).encode()).digest()

    @cached_property
    def _names_groups(self) -> bool:
        return any(each.path.section == "groups" and each.path.entity != "*" for each in self.objectives)

    def _kept(self, runner: Runner, part: str) -> bool:
        data = runner.cache.get(self._key(part)) if runner.cache else None
        if data is None:
            return False
        kept = json.loads(data)
        values = [{int(number): of for number, of in values.items()} for values in kept["values"]]
        ends = [{name: (worse, better) for name, (worse, better) in of.items()} for of in kept["ends"]]
        self._runs[part] = Runs(values, kept["steady"], kept["limits"], ends)
        return True

    def _keep(self, runner: Runner, part: str) -> None:
        if runner.cache:
            runner.cache.put(self._key(part), json.dumps(vars(self._runs[part])).encode())

    def _read(self, report: Mapping[str, Any]) -> Values:
        """Return the figures of a replication that objectives need, by host or VM."""
        found: dict[int, dict[str, float | None]] = {}
        for number, each in enumerate(self.objectives):
            key, section = each.path.key, each.path.section
            if section not in ALONE:
                value = each.read(report)
                found[number] = {each.path.entity: value}
                continue
            records = report["hosts" if section == "hosts" else "vms"]
            read = (
                (name, record, value_at(record, key)) for name, record in records.items() if self._is_meant(each, name)
            )
            found[number] = {
                name: value if isinstance(value, int | float) else None
                for name, record, value in read
                if value is not MISSING and (value is not None or not _is_idle(record))
            }
        return found

    def _is_meant(self, each: Objective, name: str) -> bool:
        """True if an objective applies to a host or VM."""
        if each.path.section == "groups":
            name = self.groups.get(name, name)
        return fnmatchcase(name, each.path.entity)


@dataclass
class _UnderWay:
    """Replications of a part."""

    count: int
    made: dict[int, _core.Replication] = field(default_factory=dict)


def surely(each: Objective, mean: float | None, ci95: float | None) -> bool:
    """True if a whole interval meets an objective."""
    return mean is not None and ci95 is not None and each.meets(mean - ci95) and each.meets(mean + ci95)


def _limits(report: Mapping[str, Any]) -> dict[str, str]:
    """Limit of each VM with an exhausted resource, and of each host with such a VM.

    A brief report has no groups. Then each VM is a group by itself.
    """
    groups = report["groups"] or {name: {"hosts": [of["host"]]} for name, of in report["vms"].items()}
    full = {group: (of["hosts"], text) for group, of in groups.items() if (text := limiting(report, group))}
    return {name: text for group, (hosts, text) in full.items() for name in (group, *hosts)}


def _is_idle(record: Mapping[str, Any]) -> bool:
    """True for a VM that hardly runs."""
    return "run_pct" in record and float(record["run_pct"] or 0) + float(record.get("ready_pct") or 0) < IDLE_PCT
