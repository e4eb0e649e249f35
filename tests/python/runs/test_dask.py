"""The cluster engine, with a scheduler and workers on threads of this process."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import closing

import pytest
from distributed import Client, LocalCluster
from tests.conftest import TINY
from tests.python.runs.local_cluster import WAIT_S, eventually, new_cluster

from hypertwin import _core, scenario
from hypertwin.errors import CODES, RunError, ScenarioError, UnreachableError
from hypertwin.runs import dask, simulation
from hypertwin.runs.dask import ClusterError, Dask
from hypertwin.runs.task import Outcome, Task, perform


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with new_cluster(0) as cluster:
        yield cluster


@pytest.fixture
def engine(cluster: LocalCluster) -> Iterator[Dask]:
    """An engine that has two workers."""
    scale(cluster, 2)
    with closing(Dask(cluster.scheduler_address.replace("tcp", "dask"))) as engine:
        yield engine


def scale(cluster: LocalCluster, workers: int) -> None:
    with Client(cluster, set_as_default=False) as client:
        cluster.scale(workers)
        if workers:
            client.wait_for_workers(workers, timeout=WAIT_S)
        eventually(lambda: len(client.nthreads()) == workers)


def text(**changes: object) -> str:
    """The tiny scenario as JSON."""
    return scenario.loads(TINY, {"run.duration": "2 s", **changes}).json


def tasks(count: int) -> list[Task]:
    """Replications of two scenarios."""
    texts = [text(), text(**{"vms.db.vcpus": 1})]
    return [Task(texts[seed % 2], (0,), seed, 2.0) for seed in range(count)]


def test_the_same_bytes_as_here(engine):
    given = tasks(40)
    outcomes = sorted(engine.run(iter(given)), key=lambda outcome: outcome.task)
    assert outcomes == [perform(position, task) for position, task in enumerate(given)]
    assert all(outcome.results for outcome in outcomes)
    assert not list(engine.run([]))


def test_a_run_that_fails_is_an_outcome(engine):
    overload = {"workloads.oltp.arrivals": {"open": {"rate": "1000000 /s"}}}
    fails = Task(scenario.loads(TINY, overload).json, (0,), 1, 8.0)
    outcomes = {outcome.task: outcome for outcome in engine.run([*tasks(2), fails, *tasks(2)])}
    assert outcomes[2] == perform(2, fails)
    assert "transactions in progress" in outcomes[2].failure
    assert [bool(outcomes[number].results) for number in range(5)] == [True, True, False, True, True]


@pytest.mark.parametrize(
    ("cpu_s", "piece", "under_way"),
    [
        (0.125, 8, 4),  # a piece waits beside the one that each worker runs
        (8.0, 1, 2),  # a long piece waits here, for whoever is free first
    ],
)
def test_pieces_take_a_second_of_cpu_and_few_are_under_way(engine, monkeypatch, cpu_s, piece, under_way):
    clock = threading.local()

    def perform(number: int, _task: Task) -> Outcome:
        clock.s = getattr(clock, "s", 0.0) + cpu_s
        return Outcome(number, (b"",))

    sent: list[int] = []
    real = dask._order
    monkeypatch.setattr(dask, "perform", perform)
    monkeypatch.setattr(dask, "thread_time", lambda: getattr(clock, "s", 0.0))
    monkeypatch.setattr(dask, "_order", lambda some: sent.append(len(some)) or real(some))
    asked = most = 0

    def counted() -> Iterator[Task]:
        nonlocal asked
        for task in tasks(2) * 150:
            asked += 1
            yield task

    for done, _ in enumerate(engine.run(counted())):
        most = max(most, asked - done)
    assert sent[:2] == [1, 1] and set(sent[4:-1]) == {piece}
    assert most <= under_way * piece + 1, "what is under way, and the task after it"


def test_a_scenario_is_sent_once_a_piece():
    given = tasks(6)
    texts, listed = json.loads(zlib.decompress(dask._order(given)))
    assert texts == [given[0].scenario, given[1].scenario]
    assert listed == [[seed % 2, [0], seed] for seed in range(6)]


def test_islands_of_a_replication_run_apart(engine):
    whole = scenario.loads(TINY, {"hosts.esx1.count": 2, "vms.db.host": "esx1-1", "vms.web.host": "esx1-2"}).json
    islands = _core.Islands(whole)
    assert len(islands.keys()) == 2
    apart = sorted(engine.run([Task(whole, (island,), 7, 8.0) for island in (0, 1)]), key=lambda outcome: outcome.task)
    parts = [_core.Replication.from_bytes(result) for outcome in apart for result in outcome.results]
    assert islands.merge(parts).to_bytes() == _core.run(whole, 7).to_bytes()


def test_what_ends_a_piece_is_found_and_runs_alone_at_last(engine, monkeypatch):
    seen: list[tuple[int, int]] = []
    running: set[int] = set()
    real = dask.serve

    def serve(build: str, order: bytes) -> object:
        seeds = [seed for _, _, seed in json.loads(zlib.decompress(order))[1]]
        running.add(threading.get_ident())
        try:
            if 5 in seeds:
                seen.append((len(seeds), len(running)))
                raise MemoryError
            until = time.monotonic() + 0.2 * (1 + seeds[0] % 2)
            while len(seen) == 2 and time.monotonic() < until:  # its last try could begin beside this piece
                time.sleep(0.01)
            return real(build, order)
        finally:
            running.remove(threading.get_ident())

    monkeypatch.setattr(dask, "serve", serve)
    engine.pace.add(1.0, 16.0)  # a piece is 8 tasks
    given = tasks(40)
    *others, last = engine.run(given)
    assert [size for size, _ in seen] == [8, 1, 1] and seen[-1] == (1, 1)
    assert sorted(others, key=lambda outcome: outcome.task) == [
        perform(position, task) for position, task in enumerate(given) if position != 5
    ]
    assert (last.task, last.results, last.is_defect) == (5, None, True)
    assert last.failure.startswith("3 workers were lost, or out of memory, while they ran it (tcp://127.0.0.1:")


def test_the_point_replication_and_seed_that_end_workers_are_named(engine, monkeypatch):
    real = dask.serve

    def serve(build: str, order: bytes) -> object:
        texts, listed = json.loads(zlib.decompress(order))
        vcpus = [json.loads(text)["vms"]["db"]["vcpus"] for text in texts]
        if any(vcpus[text] == 1 and seed == _core.replication_seed(7, 1) for text, _, seed in listed):
            raise MemoryError
        return real(build, order)

    monkeypatch.setattr(dask, "serve", serve)
    named = (
        r"^the run of tiny with vms.db.vcpus=1 failed \(replication 1, seed 7\): 3 workers were lost, or out of memory"
    )
    with pytest.raises(RunError, match=named):
        simulation.simulate(scenario.loads(TINY), sweep={"vms.db.vcpus": [2, 1]}, cache="off", on=engine.address)


def test_a_new_worker_gets_work_and_having_none_is_said(cluster, engine, monkeypatch, caplog):
    scale(cluster, 0)
    monkeypatch.setattr(dask, "LOOK_S", 0.05)
    monkeypatch.setattr(dask, "thread_time", lambda: 0.0)  # each piece is a task
    ran: set[str] = set()
    real = dask.serve
    monkeypatch.setattr(dask, "serve", lambda *order: ran.add(dask.get_worker().address) or real(*order))

    def until_two_ran() -> Iterator[Task]:
        task, late = tasks(1)[0], False
        while len(ran) < 2:
            if ran and not late:
                late = True
                cluster.scale(2)
            yield task
        yield task

    joining = threading.Timer(0.3, cluster.scale, [1])
    joining.start()
    with caplog.at_level(logging.WARNING, "hypertwin"):
        assert all(outcome.results for outcome in engine.run(until_two_ran()))
    joining.join()
    said = [record.getMessage() for record in caplog.records if record.name.startswith("hypertwin")]
    assert said == [f"{engine.address} has no workers: waiting 300 s for one"]


def test_a_cluster_that_stays_without_workers_fails(cluster, engine, monkeypatch):
    scale(cluster, 0)
    monkeypatch.setattr(dask, "WORKERS_S", 0.2)
    monkeypatch.setattr(dask, "LOOK_S", 0.05)
    with pytest.raises(ClusterError, match=r"^dask://127.0.0.1:\d+ has had no workers for 0.2 s\n  help: "):
        list(engine.run(tasks(1)))


def test_an_interrupt_leaves_nothing_on_the_cluster(cluster, engine, monkeypatch):
    performed: list[object] = []
    real = dask.perform

    def interrupted(_pieces: object) -> Iterator[object]:
        eventually(lambda: len(performed) > 10)
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(dask, "perform", lambda *task: performed.append(task) or real(*task))
    monkeypatch.setattr(dask._Pieces, "_wait", interrupted)
    engine.pace.add(1.0, 20_000.0)  # a piece is 10,000 tasks
    with pytest.raises(KeyboardInterrupt):
        list(engine.run(40_000 * tasks(1)))
    with Client(cluster, set_as_default=False) as client:
        eventually(lambda: not any(client.run(lambda dask_worker: list(dask_worker.active_threads)).values()))
    assert not cluster.scheduler.tasks
    assert len(performed) < 10_000


def test_closing_the_iterator_cancels_what_is_under_way(cluster, engine):
    outcomes = engine.run(1_000 * tasks(1))
    assert next(outcomes).results
    assert cluster.scheduler.tasks
    outcomes.close()
    eventually(lambda: not cluster.scheduler.tasks)


def test_a_worker_that_lacks_hypertwin_is_named(engine, monkeypatch):
    monkeypatch.setattr(dask, "__name__", "hypertwin.runs.elsewhere")
    with pytest.raises(ClusterError) as caught:
        list(engine.run(tasks(3)))
    said = str(caught.value)
    assert "the worker tcp://127.0.0.1:" in said and "No module named 'hypertwin.runs.elsewhere'" in said
    assert said.endswith(f"it needs the same hypertwin as here, {_core.build()}")


def test_a_worker_of_another_build_is_named(engine, monkeypatch):
    assert dask.serve("0.0.1+0000", b"") == (_core.build(), 0.0, [])
    monkeypatch.setattr(dask, "serve", lambda *_: ("0.0.1+0000", 0.0, []))
    mine = rf"the worker tcp://127.0.0.1:\d+ has hypertwin 0.0.1\+0000, and here is {_core.build().replace('+', '.')}\n"
    with pytest.raises(ClusterError, match=mine):
        list(engine.run(tasks(3)))


def test_a_scheduler_that_goes_is_an_error(monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_S", 3)  # so long it is looked for
    with new_cluster(1) as cluster, closing(Dask(cluster.scheduler_address.replace("tcp", "dask"))) as engine:
        outcomes = engine.run(10_000 * tasks(1))
        assert next(outcomes).results
        cluster.close()
        with pytest.raises(ClusterError, match=r"^the scheduler at dask://.* is gone"):
            list(outcomes)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_S", 0.2)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"dask://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=f"^{address}: no Dask scheduler answers there"):
            list(Dask(address).run(tasks(1)))
    with pytest.raises(UnreachableError, match="TLS"):
        list(Dask("dask+tls://127.0.0.1:1").run(tasks(1)))


@pytest.mark.parametrize(
    ("address", "known"),
    [
        ("dask://[::1]:8786", "tcp://[::1]:8786"),
        ("dask+tls://head.example:8786/", "tls://head.example:8786"),
        ("dask://host", None),
        ("dask://:8786", None),
        ("dask://host:port", None),
        ("dask://host:99999", None),
        ("dask://me@host:8786", None),
        ("dask://host:8786/path", None),
        ("dask://host:8786?x", None),
        ("tcp://host:8786", None),
        ("host:8786", None),
        ("ray://host:8786", None),
        ("", None),
    ],
)
def test_addresses(address, known):
    if known:
        assert dask.contact(address) == known
        return
    with pytest.raises(ScenarioError) as caught:
        Dask(address)
    assert caught.value.code == "bad-address" and "--on" in str(caught.value)
    assert CODES["bad-address"].exit_code == 2
