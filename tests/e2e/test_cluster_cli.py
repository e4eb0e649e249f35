"""`--on`: commands whose simulations run on a cluster."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from distributed import LocalCluster
from tests.python.runs.local_cluster import WAIT_S, eventually, new_cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with new_cluster(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def on(cluster: LocalCluster) -> str:
    return cluster.scheduler_address.replace("tcp", "dask")


@pytest.mark.parametrize(
    "line",
    [
        "simulate {tiny} --sweep vms.db.vcpus=1,2 --warmup auto --format json",
        "density {tiny} --vm web --slo guest_cpu_pct<90 --max 3 --format json",
    ],
)
def test_the_same_bytes_as_on_this_machine(cli, tiny, on, line):
    here, there = (cli(*line.format(tiny=tiny).split(), "--cache", "off", *more) for more in ((), ("--on", on)))
    assert (there.returncode, there.stdout, there.stderr) == (0, here.stdout, "")
    assert here.stdout.startswith("{")


def test_results_from_a_cluster_are_kept_here(cli, tiny, tmp_path, on):
    given = ("simulate", tiny, "--cache", tmp_path / "kept", "--format", "json")
    first = cli(*given, "--on", on)
    nowhere = cli(*given, "--on", "dask://127.0.0.1:1")
    assert (nowhere.returncode, nowhere.stdout) == (0, first.stdout)


def test_an_interrupt_takes_back_what_the_cluster_has(tiny, cluster, on):
    command = [sys.executable, "-c", "from hypertwin.cli.main import main; main()", "simulate", str(tiny)]
    command += ["--replications", "1000", "--duration", "20", "--cache", "off", "--on", on]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: len(cluster.scheduler.tasks) > 2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
    assert (process.returncode, out, err) == (130, "", "error: interrupted\n")
    eventually(lambda: not cluster.scheduler.tasks)


def test_a_failed_run_is_named_as_on_this_machine(cli, tmp_path, tiny, on):
    scenario = tiny.read_text().replace("closed: {population: 8, think: {mean: 40 ms}}", "open: {rate: 1000000 /s}")
    (tmp_path / "over.yaml").write_text(scenario)
    here, there = (
        cli("simulate", "over.yaml", "--replications", 1, "--cache", "off", *more) for more in ((), ("--on", on))
    )
    assert (there.returncode, there.stdout, there.stderr) == (1, "", here.stderr)
    assert here.stderr.startswith("error: the run of tiny failed (replication ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--on", "head:8786"), "error: --on: head:8786 [bad-address]\n  allowed: dask://HOST:PORT, or dask+tls://"),
        (("--on", "dask://head:8786", "--jobs", "4"), "error: --jobs: 4 [usage]\n  allowed: nothing beside --on\n"),
    ],
)
def test_what_cannot_be_meant_is_refused(cli, tiny, options, said):
    ended = cli("simulate", tiny, *options, exits=2)
    assert ended.stderr.startswith(said)
