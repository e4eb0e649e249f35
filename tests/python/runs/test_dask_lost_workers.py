"""The cluster engine with workers that are processes, and are killed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from distributed import Client, LocalCluster, WorkerPlugin
from tests.conftest import TINY

from hypertwin import scenario
from hypertwin.runs import simulation
from hypertwin.runs.dask import Dask
from hypertwin.runs.task import Task, perform


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where a file `SEED` with a number N ends N workers that come upon this seed; `SEED.log` counts them."""
    return tmp_path_factory.mktemp("traps")


@pytest.fixture(scope="module")
def address(traps: Path) -> Iterator[str]:
    """A cluster of two processes, which are started again when they end."""

    class Trap(WorkerPlugin):
        def setup(self, worker: object) -> None:
            import os
            import time

            from hypertwin.runs import dask

            real = dask.perform

            def perform(number: int, task: Task) -> object:
                trap, log = traps / f"{task.seed}", traps / f"{task.seed}.log"
                if trap.exists() and (not log.exists() or log.stat().st_size < int(trap.read_text())):
                    with log.open("a") as file:
                        file.write("x")
                    time.sleep(1)  # whoever starts workers again takes no notice of one that ends while it starts
                    os._exit(1)
                return real(number, task)

            dask.perform = perform

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    with Client(cluster, set_as_default=False) as client:
        client.register_plugin(Trap())
    yield cluster.scheduler_address.replace("tcp", "dask")
    with suppress(TimeoutError):  # as when a worker is just being started again
        cluster.close(timeout=30)


def test_a_sweep_is_the_same_to_the_byte_when_a_worker_is_killed(tiny, traps, address):
    sweep = {"vms.db.vcpus": [1, 2], "vms.web.load": [0.2, 0.4, 0.6]}
    here = simulation.simulate(tiny, sweep=sweep, cache="off").to_dict()
    (traps / f"{simulation._core.replication_seed(7, 1)}").write_text("1")
    there = simulation.simulate(tiny, sweep=sweep, cache="off", on=address).to_dict()
    assert there == here
    assert (traps / f"{simulation._core.replication_seed(7, 1)}.log").read_text() == "x"


def test_a_task_that_ends_three_workers_fails_and_the_others_do_not(traps, address):
    tasks = [Task(scenario.loads(TINY).json, (0,), 1000 + number, 8.0) for number in range(9)]
    (traps / "1002").write_text("1000")
    with closing(Dask(address)) as engine:
        outcomes = list(engine.run(tasks))
    lost = outcomes.pop()
    assert sorted(outcomes, key=lambda outcome: outcome.task) == [
        perform(number, task) for number, task in enumerate(tasks) if number != 2
    ]
    assert (lost.task, lost.results, lost.is_defect) == (2, None, True)
    assert lost.failure.startswith("3 workers were lost, or out of memory, while they ran it (tcp://127.0.0.1:")
    assert (traps / "1002.log").read_text() == "xxx"
