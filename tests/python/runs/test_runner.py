"""The runner: islands as tasks, what runs share, and what becomes of failures. Each VM group here is an island."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable

import pytest

import hypertwin
from hypertwin import _core
from hypertwin.errors import RunError
from hypertwin.runs import runner, task
from hypertwin.runs import simulation as run
from hypertwin.runs.runner import Run, Runner, running
from hypertwin.runs.task import Outcome, perform
from hypertwin.runs.threads import Threads

WORKLOAD = "arrivals: {closed: {population: 2, think: {mean: 100 ms}}}, cpu: {mean: 4 ms}"


class Islands:
    """Islands of VM groups; the result of any island is the same real replication."""

    ran: Counter[tuple[str, int]]
    """How often each island, by group and its load, was run with a seed."""
    failing: Callable[[str], bool]
    result: _core.Replication

    def __init__(self, scenario: str) -> None:
        self.groups = json.loads(scenario)["vms"]
        self.names = list(self.groups)

    def keys(self) -> list[bytes]:
        return [hashlib.sha256(json.dumps([name, self.groups[name]]).encode()).digest() for name in self.names]

    def weights(self) -> list[int]:
        return [self.groups[name]["vcpus"] for name in self.names]

    def run(self, islands: list[int], seed: int, meter: _core.Meter | None = None) -> list[_core.Replication]:
        for island in islands:
            what = f"{self.names[island]} at {self.groups[self.names[island]]['load']:g}"
            self.ran[what, seed] += 1
            if self.failing(what):
                raise _core.RunFailed(f"{what} is too much")
        return [self.result for _ in islands]

    def merge(self, parts: list[_core.Replication]) -> _core.Replication:
        assert len(parts) == len(self.names)
        return parts[0]


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A scenario of six groups of rising numbers of vCPUs, which are light."""
    lines = [f"  {name}: {{vcpus: {number}, memory: 1 GiB, workload: w}}" for number, name in enumerate("abcdef", 1)]
    path = tmp_path / "groups.yaml"
    path.write_text(
        "name: groups\nrun: {duration: 9 s, warmup: 1 s, seed: 7, replications: 1}\n"
        "hosts: {h: {sockets: 1, cores_per_socket: 8, clock: 2 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}}\n"
        f"workloads: {{w: {{{WORKLOAD}}}}}\nvms:\n" + "\n".join(lines) + "\n"
    )
    Islands.result = _core.run(hypertwin.load(path).json, 1)
    Islands.ran, Islands.failing = Counter(), staticmethod(lambda _what: False)
    monkeypatch.setattr(_core, "Islands", Islands)
    for cache in (runner.cut, task.islands_of):
        cache.cache_clear()
    yield path
    for cache in (runner.cut, task.islands_of):
        cache.cache_clear()


class Recording:
    """An engine that keeps the tasks it gets, and asks for all of them before it runs the first."""

    workers = None

    def __init__(self) -> None:
        self.tasks: list[task.Task] = []

    def run(self, tasks, _meter=None):
        self.tasks += (new := list(tasks))
        for number, each in enumerate(new):
            yield perform(number, each)


def results_of(engine, runs, cache=None):
    done: list[int] = []
    failed: dict[int, str] = {}

    def fail(number: int, why: str, *, is_defect: bool) -> None:
        assert number not in failed
        failed[number] = why

    Runner(engine, cache).run(runs, lambda number, _: done.append(number), fail)
    assert len(done) == len(set(done))
    assert not failed.keys() & set(done)
    return done, failed


def test_heavy_islands_are_tasks_of_their_own_and_light_ones_share_one(groups, monkeypatch):
    monkeypatch.setattr(runner, "GRAIN", 50.0)  # vCPUs times ten seconds
    engine = Recording()
    assert results_of(engine, [Run(hypertwin.load(groups), 3)]) == ([0], {})
    assert [(each.islands, each.weight, each.seed) for each in engine.tasks] == [
        ((5,), 60.0, 3),
        ((4,), 50.0, 3),
        ((3, 2), 70.0, 3),
        ((1, 0), 30.0, 3),
    ]


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_what_points_share_is_run_once(groups, tmp_path, jobs):
    run.simulate(groups, sweep={"vms.a.load": [1, 2, 3]}, replications=2, jobs=jobs, cache=tmp_path / "kept")
    assert set(Islands.ran.values()) == {1}
    assert len(Islands.ran) == 2 * (3 + 5)


def test_what_runs_under_way_share_is_run_once_without_a_store(groups):
    points = [Run(hypertwin.load(groups, {"vms.a.load": load}), 3) for load in (1, 2, 3)]
    assert results_of(Recording(), points) == ([0, 1, 2], {})
    assert set(Islands.ran.values()) == {1}


def test_only_the_island_that_changed_is_run_again(groups, tmp_path):
    run.simulate(groups, cache=tmp_path / "kept")
    Islands.ran.clear()
    run.simulate(groups, overrides={"vms.c.load": 3}, cache=tmp_path / "kept")
    assert [what for what, _ in Islands.ran] == ["c at 3"]


@pytest.mark.parametrize("jobs", [1, 2, 7])
@pytest.mark.parametrize("grain", [0.0, 50.0, 2_000.0])
def test_of_several_islands_that_fail_the_same_is_named(groups, tmp_path, monkeypatch, jobs, grain):
    monkeypatch.setattr(runner, "GRAIN", grain)
    Islands.failing = staticmethod(lambda what: what in ("b at 1", "d at 1", "a at 2"))
    scenarios = [hypertwin.load(groups, {"vms.a.load": load}) for load in (1, 2, 3)]
    sound = hypertwin.load(groups, {"vms.a.load": 2, "vms.b.load": 3, "vms.d.load": 3})
    shares = hypertwin.load(groups, {"vms.b.load": 3, "vms.d.load": 3})  # c, e and f with all the others
    runs = [Run(each, 5) for each in (*scenarios, sound, shares)]
    for cache in (None, runner.Cache(tmp_path / "kept")):
        done, failed = results_of(Threads(jobs), runs, cache)
        expected = dict.fromkeys((0, 1, 2), "d at 1 is too much") | {3: "a at 2 is too much"}
        assert (done, failed) == ([4], expected)
        if cache:
            cache.close()


def test_runs_begin_as_they_are_needed(groups):
    begun = []

    def runs():
        for seed in range(40):
            begun.append(seed)
            yield Run(hypertwin.load(groups), seed)

    ahead = []
    Runner(Threads(2)).run(runs(), lambda *_: ahead.append(len(begun) - len(ahead)), pytest.fail)
    assert len(ahead) == 40
    assert max(ahead) <= 5  # as many as run, as many that wait, and one that is being made


def test_a_run_that_cannot_be_cut_has_failed(groups, monkeypatch):
    def refuse(_scenario: str) -> None:
        raise _core.RunFailed("no placement")

    monkeypatch.setattr(_core, "Islands", refuse)
    with pytest.raises(RunError, match=r"groups failed \(replication 0, seed 7\): no placement"):
        run.simulate(groups)


def test_a_block_within_another_takes_what_it_does_not_name_from_it(tmp_path):
    with running(jobs=3, cache=tmp_path) as outer:
        with running() as inner:
            assert (inner.engine, inner.cache) == (outer.engine, outer.cache)
        with running(jobs=2) as inner:
            assert (inner.engine.jobs, inner.cache) == (2, outer.cache)
        with running(cache="off") as inner:
            assert (inner.engine, inner.cache) == (outer.engine, None)
        assert outer.cache.get(b"k" * 32) is None  # still open
    with running() as other:
        assert other.engine is not outer.engine


def test_an_interrupt_while_runs_are_under_way_ends_all(groups):
    def interrupt(done: int, _total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.simulate(groups, replications=500, jobs=2, progress=interrupt)
    assert len({seed for _, seed in Islands.ran}) < 20


def test_tasks_that_have_not_begun_are_given_up(groups):
    gate = threading.Event()
    Islands.failing = staticmethod(lambda what: what.startswith("b") and not gate.wait(60))
    text = hypertwin.load(groups).json
    outcomes = Threads(2).run(task.Task(text, (min(number, 1),), 1, 1.0) for number in range(9))
    assert next(outcomes).task == 0
    outcomes.close()
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("hypertwin"):
            thread.join()
    assert sum(Islands.ran.values()) < 4  # which the engine asked for


def test_a_result_of_a_task_has_no_failure(groups):
    whole = task.Task(hypertwin.load(groups).json, (0, 1), 1, 1.0)
    assert perform(4, whole) == Outcome(4, (Islands.result.to_bytes(),) * 2)
    Islands.failing = staticmethod(lambda _what: True)
    assert perform(5, whole) == Outcome(5, None, "a at 1 is too much")
