"""Run a scenario: every sweep point, every replication.

Who runs them (`hypertwin.execution`) never shows: results are collected in the order of the points, and replication k
of a point always gets the seed that the core derives from (seed, k).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from hypertwin import _core, effort, space
from hypertwin.arguments import checked
from hypertwin.documents.space import Space
from hypertwin.errors import RunError
from hypertwin.execution.runner import Run, running
from hypertwin.reports import Packed, Reports
from hypertwin.result import Result
from hypertwin.scenario import Given, Scenario, Setting, by_path, load, sweeps_by_path, together

Progress = Callable[[int, int], None]
"""Called with (runs or steps finished, those in all), from the calling thread."""
LabelledProgress = Callable[[str, int, int], None]
"""As `Progress`, with what is under way in front."""

AUTO = "auto"
"""A warm-up that is found for each point: the transient that MSER-5 finds in a pilot run."""


@dataclass(frozen=True)
class Point:
    """One scenario to run, and the values that tell it from the others."""

    changes: Mapping[str, Any]
    scenario: Scenario


KEPT = 8 << 20
"""Letters of scenarios that stay made, those of the first points; the others are made again for each use."""


class Points(Sequence[Point]):
    """Points that are made when they are asked for: 10,000 scenarios need not be in memory together."""

    def __init__(self, count: int, make: Callable[[int], Point]) -> None:
        """`make` gets a position. It is called for all of them at once, and raises what is wrong with any."""
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
        """How many points there are."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Point]: ...
    def __getitem__(self, index: int | slice) -> Point | Sequence[Point]:
        """A point, or some."""
        if isinstance(index, slice):
            return [self[each] for each in range(self._count)[index]]
        place = range(self._count)[index]
        if place < len(self._kept):
            return self._kept[place]
        if place != self._last[0]:
            self._last = place, self._make(place)
        return self._last[1]


@checked
def simulate(
    scenario: Given,
    *,
    sweep: Mapping[str, Sequence[Any]] | Sequence[str] | None = None,
    overrides: Mapping[str, Any] | Sequence[str] | None = None,
    seed: int | None = None,
    replications: int | None = None,
    duration: float | str | None = None,
    warmup: float | str | None = None,
    jobs: int | None = None,
    store: str | Path | None = None,
    on: str | None = None,
    most_events: float | None = effort.BUDGET,
    progress: Progress | None = None,
) -> Result:
    """Simulate a scenario, or every point of a sweep over it: what esxtop, vCenter and the guests would show.

    `scenario` is a file, YAML text, a mapping or a loaded scenario (`load`). `sweep` maps paths into it
    (`vms.db.vcpus`) to lists of values; several paths give their product, the last one varying fastest. `overrides`
    sets paths to one value each and is recorded in every point's `set` too. Both may be texts instead, as on the
    command line: `vms.db.vcpus=12,24`. `seed`, `replications`, `duration` and
    `warmup` (seconds, or text with a unit) replace the scenario's own; a `warmup` of `auto` is found for each point by
    the MSER-5 rule in a pilot run. Where runs take place never changes the result: `jobs` is the number of threads
    (default: the cores this process may use), `on` a cluster of machines in their place (`dask://HOST:PORT`), and
    `store` the folder where results are kept for the next time, or `off` (default: the folder that `hypertwin store
    path` prints). `most_events` is how much work it may be, as `hypertwin.effort` reckons it; None for no limit.
    `progress` gets runs finished and runs in all.

    Raises ScenarioError for a scenario with mistakes and TooLongError for more than `most_events` (both before anything
    runs), and RunError when a run fails.
    """
    changed = run_settings(seed=seed, replications=replications, duration=duration, warmup=warmup)
    fixed = by_path(overrides)
    points = points_of(scenario, sweeps_by_path(sweep, fixed), fixed, changed)
    effort.check([points[place].scenario for place in effort.few(len(points))], len(points), most_events)
    with running(jobs=jobs, store=store, on=on):
        if warmup == AUTO:
            points = with_found_warmup(points, progress)
        return run_points(points, progress=progress)


def run_settings(
    *,
    seed: int | None = None,
    replications: int | None = None,
    duration: float | str | None = None,
    warmup: float | str | None = None,
) -> dict[str, Any]:
    """What `simulate` takes beside the scenario, as values by path; without a warm-up for one that is to be found."""
    settings = {
        "run.seed": seed,
        "run.replications": replications,
        "run.duration": _seconds(duration),
        "run.warmup": "0 s" if warmup == AUTO else _seconds(warmup),
    }
    return {Setting(path): value for path, value in settings.items() if value is not None}


def points_of(
    scenario: Given,
    sweep: Mapping[str, Sequence[Any]],
    fixed: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> Sequence[Point]:
    """Every point of a sweep. `fixed` is recorded in each point's `set`, `settings` (how long, how often) is not.

    Raises ScenarioError for a mistake in any.
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
    """Every combination of a sweep's values, the last path varying fastest; no sweep gives one empty combination."""
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def run_points(points: Sequence[Point], *, progress: Progress | None = None) -> Result:
    """Run all replications of all points and return their reports in the order of the points."""
    changes: list[Mapping[str, Any]] = []
    spaces: list[Mapping[str, Space]] = []
    reports: dict[int, Packed] = {}
    replications: dict[int, range] = {}
    finished: dict[int, dict[int, _core.Replication]] = {}
    before = 0
    with running() as runner:
        for index, point in enumerate(points):
            changes.append(point.changes)
            spaces.append(space.spaces(point.scenario))
            report = runner.kept_report(point.scenario)
            if report is None:
                replications[index] = range(int(point.scenario.run["replications"]))
            else:
                before += int(point.scenario.run["replications"]) if progress else 0
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
        run_replications(points, tasks, done, progress=count)
    first = points[0].scenario
    return Result(
        version=_core.version(),
        scenario=first.name,
        seed=int(first.run["seed"]),
        reports=Reports(changes, [reports[index] for index in range(len(points))], spaces),
        first_scenario=first,
    )


def samples(
    scenario: Given,
    *,
    overrides: Mapping[str, Any] | Sequence[str] | None = None,
    seed: int | None = None,
    duration: float | str | None = None,
    warmup: float | str | None = None,
    most_events: float | None = effort.BUDGET,
    progress: Progress | None = None,
) -> Iterator[dict[str, Any]]:
    """Simulate a scenario once and yield all that its hosts show of each `run.sample_interval`, one after another.

    It is the first replication of `simulate`. A sample has the form of `Sample` in
    `crates/engine/src/measure/samples.rs`. `progress` gets samples instead of runs. Raises as `simulate`.
    """
    changed = run_settings(seed=seed, duration=duration, warmup=warmup)
    points = points_of(scenario, {}, by_path(overrides), changed)
    effort.check([points[0].scenario], 1, most_events)
    if warmup == AUTO:
        points = with_found_warmup(points, None)
    return _samples(points[0].scenario, progress)


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


def with_found_warmup(points: Sequence[Point], progress: Progress | None) -> Sequence[Point]:
    """The points with the warm-up that a pilot run of each asks for; half the duration where it does not settle."""
    found: dict[int, float | None] = {}

    def done(index: int, _k: int, pilot: _core.Replication) -> None:
        found[index] = _core.transient_s(pilot)

    run_replications(points, [(index, 0) for index in range(len(points))], done, progress=progress)

    def warmed(index: int) -> Point:
        point, transient = points[index], found[index]
        if transient is None:
            transient = _core.duration_s(point.scenario.run["duration"]) / 2
        return Point(point.changes, load(point.scenario, {"run.warmup": f"{transient} s"}))

    return Points(len(points), warmed)


def run_replications(
    points: Sequence[Point],
    tasks: Sequence[tuple[int, int]],
    done: Callable[[int, int, _core.Replication], None],
    *,
    progress: Progress | None = None,
    failed: Callable[[int, RunError], None] | None = None,
) -> None:
    """Run the tasks, each a position in `points` and the number of a replication of that point.

    `done` gets position, number and result of each run, from the calling thread and in no fixed order. A run that fails
    ends everything with its RunError; where `failed` is given, that gets the position and the error instead, unless it
    is a defect of the program.
    """
    finished = 0

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
            progress(finished, len(tasks))

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
        progress(0, len(tasks))
    with running() as runner:
        runner.run(runs(), succeed, fail)


def _error(point: Point, k: int, why: str) -> RunError:
    where = ", ".join(f"{path}={value}" for path, value in point.changes.items())
    return RunError(
        f"the run of {point.scenario.name}{f' with {where}' if where else ''} failed (replication {k}, seed "
        f"{point.scenario.data['run']['seed']}): {why}"
    )


def _seconds(value: float | str | None) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value} s"
