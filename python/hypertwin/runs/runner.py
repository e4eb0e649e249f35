"""Replications of scenarios: cached results are reused, and the rest runs on an engine in pieces.

A scenario splits into partitions: groups of hosts that share nothing in a run. Each partition of each replication is
looked up in the cache, otherwise simulated and stored at once. So a killed command resumes where it stopped. The result
never depends on who ran a partition, when, or whether it was cached.

`running` sets the runner once, around a block of code. The functions between a command and its runs therefore do not
pass it on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Protocol

from hypertwin import _core
from hypertwin.errors import fail
from hypertwin.extras import needs
from hypertwin.runs.cache import Cache, place
from hypertwin.runs.task import Engine, Outcome, Task, explain, islands_of
from hypertwin.runs.threads import Threads
from hypertwin.scenario import Scenario

GRAIN = 2_000.0
"""Minimum weight of a task if its replication has enough partitions, equal to some hundredths of a second of CPU."""


class Run(NamedTuple):
    """Replication to be simulated."""

    scenario: Scenario
    seed: int
    """Seed of the random streams of the replication."""


MOST_JOBS = 1024
"""Maximum number of threads."""

Done = Callable[[int, _core.Replication], None]
"""Function called with the position of a run and its result."""


class Failed(Protocol):
    """Function called with the position of a failed run."""

    def __call__(self, number: int, why: str, *, is_defect: bool) -> None:
        """Report a failed run. If several partitions fail, the number of threads does not affect the reported one."""


class Runner:
    """Runner of replications on one engine, with an optional cache."""

    def __init__(self, engine: Engine, cache: Cache | None = None) -> None:
        """Set engine and cache. Without a cache, all runs are simulated and no result is stored."""
        self.engine, self.cache = engine, cache
        self._pass: _Pass | None = None

    def run(self, runs: Iterable[Run], done: Done, failed: Failed, tick: Callable[[], None] | None = None) -> None:
        """Call `done` or `failed` for each run, from this thread and in no fixed order.

        The iterator of runs is read only as fast as the engine can start them, which limits memory. `tick` is called
        now and then while no run ends, after an update of `under_way`.
        """
        numbered: Iterable[tuple[int, Run]] = enumerate(runs)
        while numbered:
            self._pass = _Pass(self, done, failed, tick)
            numbered = self._pass.run(numbered)

    @property
    def under_way(self) -> float:
        """Number of runs simulated so far among runs in progress, as a fraction of each."""
        return self._pass.simulated if self._pass else 0.0

    def kept_report(self, scenario: Scenario) -> str | None:
        """Return the stored report of all replications of a scenario, as JSON. Its replications need no lookup then."""
        kept = self.cache.get(_report_key(scenario)) if self.cache else None
        return None if kept is None else kept.decode()

    def keep_report(self, scenario: Scenario, report: str) -> None:
        """Store the report of a scenario."""
        if self.cache:
            self.cache.put(_report_key(scenario), report.encode())


def _report_key(scenario: Scenario) -> bytes:
    """Return the cache key of a report, from the build and the scenario with its seed and replications."""
    return hashlib.sha256(f"report {_core.build()} {scenario.json}".encode()).digest()


class Cut(NamedTuple):
    """Scenario with its partitions."""

    islands: _core.Islands
    keys: Sequence[bytes]
    weights: Sequence[float]


@lru_cache(maxsize=4)
def cut(scenario: Scenario) -> Cut:
    """Return the partitions of a scenario. Consecutive runs often use the same one."""
    islands, settings = islands_of(scenario.json), scenario.run
    seconds = _core.duration_s(settings["warmup"]) + _core.duration_s(settings["duration"])
    return Cut(islands, islands.keys(), [vcpus * seconds for vcpus in islands.weights()])


@dataclass
class _Begun:
    """Run in progress."""

    number: int
    run: Run
    cut: Cut
    results: dict[int, _core.Replication] = field(default_factory=dict)
    """Results of the partitions of the run so far."""
    own_tasks: int = 0
    """Number of tasks in progress that were made for this run."""
    shares: bool = False
    """True if tasks of other runs simulate some of its partitions."""
    failures: dict[int, tuple[str, bool]] = field(default_factory=dict)
    """Failed tasks of the run, each with the reason, and true for a defect."""

    def key(self, island: int) -> bytes:
        """Return the cache key of the result of a partition of this run."""
        return hashlib.sha256(self.cut.keys[island] + self.run.seed.to_bytes(8)).digest()

    @property
    def is_whole(self) -> bool:
        return len(self.results) == len(self.cut.keys)

    def merged(self) -> _core.Replication:
        return self.cut.islands.merge([self.results[island] for island in range(len(self.cut.keys))])


class _Pass:
    """Set of runs that continue until each is done, has failed, or needs another pass.

    Runs with a common partition simulate the partition once. An example is a sweep that changes one host. A failed task
    does not tell which of its partitions failed. Other runs that waited for one of these partitions run again in
    another pass.
    """

    def __init__(self, runner: Runner, done: Done, failed: Failed, tick: Callable[[], None] | None) -> None:
        self.engine, self.cache, self.done, self.failed = runner.engine, runner.cache, done, failed
        self.tick, self.meter = tick, _core.Meter()
        self.ended = 0
        """Number of partitions with collected results."""
        self.islands = 1
        """Number of partitions of a run."""
        self.under_way: dict[int, tuple[_Begun, Task]] = {}
        """Tasks by position, each with its run."""
        self.awaited: dict[bytes, list[tuple[_Begun, int]]] = {}
        """Runs that need each partition in progress, with the number of the partition in the run, by key."""
        self.again: dict[int, Run] = {}

    def run(self, numbered: Iterable[tuple[int, Run]]) -> list[tuple[int, Run]]:
        """Return the runs that must be run again."""
        with closing(self.engine.run(self._tasks(numbered), self.meter)) as outcomes:
            for outcome in outcomes:
                if outcome is not None:
                    self._take(outcome)
                elif self.tick:
                    self.tick()
        return list(self.again.items())

    @property
    def simulated(self) -> float:
        """Number of simulated runs among runs in progress. See `Runner.under_way`."""
        return max(self.meter.islands() - self.ended, 0.0) / self.islands

    def _take(self, outcome: Outcome) -> None:
        begun, task = self.under_way.pop(outcome.task)
        begun.own_tasks -= 1
        self.ended += len(task.islands)
        if outcome.results is None:
            begun.failures[outcome.task] = (outcome.failure or "no reason was given", outcome.is_defect)
            self._give_up(begun, task)
        else:
            self._deliver(begun, task, outcome.results)
        if begun.failures and not begun.own_tasks:
            self._fail(begun)

    def _tasks(self, numbered: Iterable[tuple[int, Run]]) -> Iterator[Task]:
        position = 0
        for number, run in numbered:
            try:
                begun = _Begun(number, run, cut(run.scenario))
            except BaseException as error:
                why, is_defect = explain(error)
                self.failed(number, why, is_defect=is_defect)
                continue
            self.islands = len(begun.cut.keys)
            tasks = list(_pieces(begun, self._missing(begun)))
            begun.own_tasks = len(tasks)
            self.under_way.update(enumerate(((begun, task) for task in tasks), position))
            position += len(tasks)
            if begun.is_whole:
                self.done(number, begun.merged())
            yield from tasks

    def _missing(self, begun: _Begun) -> Iterator[int]:
        """Yield the partitions that are neither cached nor in a task in progress."""
        for island in range(len(begun.cut.keys)):
            key = begun.key(island)
            if key in self.awaited:
                begun.shares = True
            elif (kept := self._kept(key)) is not None:
                begun.results[island] = kept
                continue
            else:
                yield island
            self.awaited.setdefault(key, []).append((begun, island))

    def _kept(self, key: bytes) -> _core.Replication | None:
        result = self.cache.get(key) if self.cache else None
        try:
            return None if result is None else _core.Replication.from_bytes(result)
        except ValueError:  # it is simulated, and kept, again
            return None

    def _deliver(self, begun: _Begun, task: Task, results: Sequence[bytes]) -> None:
        for island, result in zip(task.islands, results, strict=True):
            key, replication = begun.key(island), _core.Replication.from_bytes(result)
            if self.cache:
                self.cache.put(key, result)
            for waiting, number in self.awaited.pop(key):
                waiting.results[number] = replication
                if waiting.is_whole:
                    self.done(waiting.number, waiting.merged())

    def _give_up(self, begun: _Begun, task: Task) -> None:
        for island in task.islands:
            for waiting, _ in self.awaited.pop(begun.key(island)):
                if waiting is not begun:
                    self.again[waiting.number] = waiting.run

    def _fail(self, begun: _Begun) -> None:
        if begun.shares:  # which failure is seen first is chance where islands are in tasks of other runs
            self.again[begun.number] = begun.run
        else:
            why, is_defect = begun.failures[min(begun.failures)]
            self.failed(begun.number, why, is_defect=is_defect)


def _pieces(begun: _Begun, missing: Iterable[int]) -> Iterator[Task]:
    """Yield the tasks for the partitions of a run. Heavy partitions come first, and light partitions are combined."""
    piece: list[int] = []
    weight = 0.0
    weights = begun.cut.weights
    order = sorted(missing, key=lambda island: -weights[island])
    for count, island in enumerate(order, 1):
        piece.append(island)
        weight += weights[island]
        if weight >= GRAIN or count == len(order):
            yield Task(begun.run.scenario.json, tuple(piece), begun.run.seed, weight)
            piece, weight = [], 0.0


_RUNNER: ContextVar[Runner | None] = ContextVar("who runs simulations", default=None)


@contextmanager
def running(*, jobs: int | None = None, cache: str | Path | None = None, on: str | None = None) -> Iterator[Runner]:
    """Set the runner for simulations in the block. Missing values are inherited from the enclosing block.

    `jobs` is the number of threads (default: the cores available to this process). `on` is a cluster of computers to
    use instead (`dask://HOST:PORT`). `cache` is the folder for results, or `off` (default: see `cache.place`).
    """
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        fail("out-of-range", "jobs", jobs, f"1 to {MOST_JOBS}", "leave it out for all cores")
    around = _RUNNER.get()
    with _engine(jobs, on, around) as engine, _cache(cache, around) as kept:
        token = _RUNNER.set(runner := Runner(engine, kept))
        try:
            yield runner
        finally:
            _RUNNER.reset(token)


@contextmanager
def _cache(named: str | Path | None, around: Runner | None) -> Iterator[Cache | None]:
    folder = place(named)
    if around and named is None:
        yield around.cache
    elif folder is None:
        yield None
    else:
        with closing(Cache(folder)) as cache:
            yield cache


def under_way() -> float:
    """Return the number of runs simulated so far among runs in progress, as a fraction of each, or 0 if unknown."""
    runner = _RUNNER.get()
    return 0.0 if runner is None else runner.under_way


def workers() -> int | None:
    """Return the current number of workers of the runner, or None without a cluster."""
    runner = _RUNNER.get()
    return None if runner is None else runner.engine.workers


@contextmanager
def _engine(jobs: int | None, on: str | None, around: Runner | None) -> Iterator[Engine]:
    if around and on is None and (jobs is None or around.engine.workers is not None):
        yield around.engine
        return
    if on is None:
        yield Threads(jobs)
        return
    if jobs is not None:
        fail("usage", "jobs", jobs, "nothing beside `on`", "the workers set their own threads")
    needs("dask", "--on")
    from hypertwin.runs.dask import Dask

    with closing(Dask(on)) as engine:
        yield engine
