"""Run of a scenario: every sweep point, every replication.

Results do not depend on the engine (`hypertwin.runs`). Results are collected in the order of the points.
Replication
k of a point always gets the seed that the core derives from (seed, k).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, overload

from hypertwin import _core
from hypertwin.arguments import Option, asks
from hypertwin.documents.simulation import Found
from hypertwin.errors import RunError
from hypertwin.metrics.packed import Packed, Reports
from hypertwin.model_error.carried import carriers
from hypertwin.results.simulation import Result
from hypertwin.runs import effort
from hypertwin.runs.options import AS_WRITTEN, Runs
from hypertwin.runs.runner import Run, Runner, running
from hypertwin.runs.settle import Search, is_open
from hypertwin.scenario import Given, Scenario, load, space
from hypertwin.scenario.overrides import by_path, sweeps_by_path, together

Progress = Callable[[int, int], None]
"""Function called with the finished and the total number of runs or steps, from the calling thread."""
LabelledProgress = Callable[[str, int, int], None]
"""Function with the arguments of `Progress`, preceded by a label."""


@dataclass(frozen=True)
class Point:
    """Scenario to run, with the values that distinguish the point from the others."""

    changes: Mapping[str, Any]
    scenario: Scenario


KEPT = 8 << 20
"""Maximum characters of scenarios to keep, from the first point on. Other scenarios are created on each access.
"""


class Points(Sequence[Point]):
    """Sequence of points created on access, so that 10,000 scenarios need not be in memory together."""

    def __init__(self, count: int, make: Callable[[int], Point]) -> None:
        """Check all points. `make` is called once for every position during this check, and raises all problems."""
        self._count, self._make = count, make
        self._kept: list[Point] = []
        letters = 0
        for index in range(count):
            point = make(index)
            letters += len(point.scenario.json)
            if letters <= KEPT:
                self._kept.append(point)
            self._last = index, point  # who asks for one often asks for it again

    def __len__(self) -> int:
        """Return the number of points."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        """Return a point, or several."""
        if isinstance(index, slice):
            return [self[each] for each in range(self._count)[index]]
        place = range(self._count)[index]
        if place < len(self._kept):
            return self._kept[place]
        if place != self._last[0]:
            self._last = place, self._make(place)
        return self._last[1]


@dataclass(frozen=True, kw_only=True)
class Asked(Runs):
    """Options of a simulation."""

    sweep: Annotated[
        Mapping[str, Sequence[Any]] | Sequence[str] | None,
        Option(
            "Simulate each value (1,2,4), or each of a range (1..4); several sweeps give their product.", "PATH=A,B,C"
        ),
    ] = None
    until_full: Annotated[bool, Option("Fill caches and buffers before measuring.")] = False
    most_events: float | None = effort.BUDGET
    """Maximum number of events, as estimated by `hypertwin.runs.effort`, or None for no limit."""
    progress: Progress | None = None
    """Function called with the finished and the total number of runs."""


@asks(Asked)
def simulate(scenario: Given, asked: Asked) -> Result:
    """Simulate a scenario, or every point of a sweep over it, as esxtop, vCenter and the guests would show it.

    `scenario` is a file, YAML text, a mapping or a loaded scenario (`load`). `sweep` maps paths in the scenario
    (`vms.db.vcpus`) to lists of values. Several paths give the product of their values, and the last path varies
    fastest. `overrides` sets paths to one value each. `set` of each point contains both. Both can also be texts, as on
    the command line: `vms.db.vcpus=12,24`. Pilot runs find `auto` times for each point (`hypertwin.runs.settle`).

    Raises ScenarioError for a scenario with errors and TooLongError for more than `most_events` (both before anything
    runs), and RunError if a run fails.
    """
    fixed = by_path(asked.overrides)
    points = points_of(scenario, sweeps_by_path(asked.sweep, fixed), fixed, asked.settings)
    effort.check([points[place].scenario for place in effort.few(len(points))], len(points), asked.most_events)
    with running(**asked.where):
        return run_points(points, until_full=asked.until_full, progress=asked.progress)


def points_of(
    scenario: Given,
    sweep: Mapping[str, Sequence[Any]],
    fixed: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Sequence[Point]:
    """Return every point of a sweep. Each point's `set` contains `fixed`, but not `settings` (duration, replications).

    Raises ScenarioError for any problem.
    """
    swept = product(sweep)
    # every point sets the same paths, so the first one, read and checked, is the base of the others
    base = load(scenario, together({**fixed, **swept[0]}, settings), swept=sweep)

    def point(index: int) -> Point:
        values = swept[index]
        return Point(
            {**fixed, **values}, load(base, together({**fixed, **values}, settings), swept=sweep) if index else base
        )

    return Points(len(swept), point)


def product(sweep: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values of a sweep. The last path varies fastest.

    Without a sweep, there is one empty combination.
    """
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def run_points(points: Sequence[Point], *, until_full: bool = False, progress: Progress | None = None) -> Result:
    """Run all replications of all points and return their reports in the order of the points.

    `auto` times are found by pilots. `until_full` is that of `simulate`.
    """
    reports: dict[int, Packed] = {}
    file = points[0].scenario.path
    errors = carriers((point.scenario.data for point in points), "" if file is None else file.as_posix())
    with running() as runner:
        run = settled(points, until_full=until_full, progress=progress)
        missing: Sequence[int] = range(len(points))
        while missing:
            _report(run, missing, reports, runner, progress)
            missing = run.unsettled({index: reports[index].text for index in missing})
            run.find(progress)
    first = run.points[0].scenario
    return Result(
        version=_core.version(),
        scenario=first.name,
        seed=int(first.run["seed"]),
        reports=Reports(
            [point.changes for point in points],
            [reports[index] for index in range(len(points))],
            [space.spaces(point.scenario) for point in points],
            run.found,
            errors,
        ),
        first_scenario=first,
    )


def _report(
    run: Settled, missing: Sequence[int], reports: dict[int, Packed], runner: Runner, progress: Progress | None
) -> None:
    """Run all replications of some points, given by position, and add their reports to the others."""
    points = run.points
    replications: dict[int, range] = {}
    finished: dict[int, dict[int, _core.Replication]] = {}
    before = 0
    for index in missing:
        report = runner.kept_report(points[index].scenario)
        if report is None:
            replications[index] = range(int(points[index].scenario.run["replications"]))
        else:
            before += int(points[index].scenario.run["replications"]) if progress else 0
            reports[index] = Packed(report, len(points))

    def done(index: int, k: int, replication: _core.Replication) -> None:
        found = finished.setdefault(index, {})
        found[k] = replication
        if len(found) == len(replications[index]):
            report = _core.aggregate([found[k] for k in replications[index]])
            runner.keep_report(points[index].scenario, report)
            reports[index] = Packed(report, len(points))
            del finished[index]

    def count(done: int, total: int) -> None:
        if progress:
            progress(before + done, before + total)

    tasks = [(index, k) for index, ks in replications.items() for k in ks]
    run_replications(points, tasks, done, known=run.pilots, progress=count)


def samples(
    scenario: Given,
    runs: Runs = AS_WRITTEN,
    *,
    most_events: float | None = effort.BUDGET,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Simulate a scenario once and yield the samples of its hosts, one per `run.sample_interval`.

    The run is the first replication of `simulate`. A sample has the form of `Sample` in
    `crates/engine/src/measure/samples.rs`. `progress` counts samples instead of runs. Raises the same errors as
    `simulate`.
    """
    points = points_of(scenario, {}, by_path(runs.overrides), runs.settings)
    effort.check([points[0].scenario], 1, most_events)
    return _samples(settled(points).points[0].scenario, progress)


def _samples(scenario: Scenario, progress: Progress | None) -> Iterator[dict[str, Any]]:
    settings = scenario.run
    interval_s, duration_s = (_core.duration_s(settings[key]) for key in ("sample_interval", "duration"))
    total = max(int(duration_s / interval_s), 1)
    try:
        run = _core.SampledRun(scenario.json, _core.replication_seed(int(settings["seed"]), 0))
        for count, text in enumerate(run, 1):
            if progress:
                progress(count, total)
            yield json.loads(text)
    except _core.RunFailed as error:
        raise RunError(f"the run of {scenario.name} failed (seed {settings['seed']}): {error}") from error


MOST_KEPT = 64
"""Maximum number of points whose last pilots stay in memory. The last pilots of other points can be in the cache."""


class Settled:
    """Sequence of points with the times found for `auto` (see `hypertwin.runs.settle`)."""

    def __init__(self, points: Sequence[Point], *, until_full: bool = False) -> None:
        """Prepare the search for times, before any pilot. `until_full` is that of `simulate`."""
        self._given = points
        self._searches = {
            index: Search(point.scenario, until_full=until_full)
            for index, point in enumerate(points)
            if until_full or is_open(point.scenario)
        }
        self._given_up: set[int] = set()
        self.pilots: dict[tuple[int, int], _core.Replication] = {}
        """Replications from the search for times, by position and number of the replication."""

    @property
    def points(self) -> Sequence[Point]:
        """Points with the times found."""
        return Points(len(self._given), self._timed) if self._searches else self._given

    @property
    def found(self) -> list[Found | None]:
        """Notes on the times found for each point."""
        return [self._searches[index].found if index in self._searches else None for index in range(len(self._given))]

    def find(self, progress: Progress | None = None, failed: Callable[[int, RunError], None] | None = None) -> None:
        """Run pilots until all times are found. A point with a failed pilot gets the times of that pilot.

        The arguments are those of `run_replications`.
        """
        while pending := [
            index for index, search in self._searches.items() if not search.over and index not in self._given_up
        ]:
            self._run(pending, progress, failed)

    def _run(
        self, pending: Sequence[int], progress: Progress | None, failed: Callable[[int, RunError], None] | None
    ) -> None:
        """Run a pilot of some points."""

        def done(place: int, _k: int, pilot: _core.Replication) -> None:
            search = self._searches[pending[place]]
            tried = search.times
            search.take(json.loads(_core.aggregate([pilot])), _core.transient_s(pilot))
            if search.over and search.times == tried and len(self._given) <= MOST_KEPT:
                self.pilots[pending[place], 0] = pilot

        def give_up(place: int, error: RunError) -> None:
            self._given_up.add(pending[place])
            if failed is None:
                raise error
            failed(pending[place], error)

        trials = Points(len(pending), lambda place: self._timed(pending[place]))
        run_replications(trials, [(place, 0) for place in range(len(pending))], done, progress=progress, failed=give_up)

    def _timed(self, index: int) -> Point:
        point, search = self._given[index], self._searches.get(index)
        return point if search is None else Point(point.changes, load(point.scenario, search.settings))

    def unsettled(self, reports: Mapping[int, str]) -> list[int]:
        """Return the points with a report whose replications together are not steady although the pilot was.

        Their search continues.
        """
        found = [index for index in reports if index in self._searches and index not in self._given_up]
        again = [index for index in found if self._searches[index].reconsider(json.loads(reports[index]))]
        for index in again:
            self.pilots.pop((index, 0), None)
        return again


def settled(
    points: Sequence[Point],
    *,
    until_full: bool = False,
    progress: Progress | None = None,
    failed: Callable[[int, RunError], None] | None = None,
) -> Settled:
    """Return the points with times found for `auto`.

    `until_full` is that of `simulate`. The other arguments are those of `run_replications`.
    """
    found = Settled(points, until_full=until_full)
    found.find(progress, failed)
    return found


def run_replications(
    points: Sequence[Point],
    tasks: Sequence[tuple[int, int]],
    done: Callable[[int, int, _core.Replication], None],
    *,
    known: Mapping[tuple[int, int], _core.Replication] = MappingProxyType({}),
    progress: Progress | None = None,
    failed: Callable[[int, RunError], None] | None = None,
) -> None:
    """Run tasks except the `known` ones. A task is a position in `points` and a replication number of that point.

    `done` is called with position, number and result of each run, from the calling thread and in no fixed order. The
    RunError of a failed run ends all runs. If `failed` is given, it is called with the position and the error instead,
    unless a defect of the program is the cause.
    """
    finished, total = 0, len(tasks)
    for task in tasks:
        if task in known:
            done(*task, known[task])
            finished += 1
    tasks = [task for task in tasks if task not in known]

    def runs() -> Iterator[Run]:
        for index, ks in itertools.groupby(tasks, lambda task: task[0]):
            scenario = points[index].scenario
            seed = int(scenario.run["seed"])
            for _, k in ks:
                yield Run(scenario, _core.replication_seed(seed, k))

    def count() -> None:
        nonlocal finished
        finished += 1
        if progress:
            progress(finished, total)

    def succeed(number: int, replication: _core.Replication) -> None:
        done(*tasks[number], replication)
        count()

    def fail(number: int, why: str, *, is_defect: bool) -> None:
        index, k = tasks[number]
        error = _error(points[index], k, why)
        if failed is None or is_defect:
            raise error
        failed(index, error)
        count()

    if progress:
        progress(finished, total)
    with running() as runner:
        runner.run(runs(), succeed, fail, (lambda: progress(finished, total)) if progress else None)


def _error(point: Point, k: int, why: str) -> RunError:
    where = ", ".join(f"{path}={value}" for path, value in point.changes.items())
    return RunError(
        f"the run of {point.scenario.name}{f' with {where}' if where else ''} failed (replication {k}, seed "
        f"{point.scenario.data['run']['seed']}): {why}"
    )
