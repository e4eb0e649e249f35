"""One timed batch of simulations or measurements, printed as the JSON line that every benchmark program prints.

- `sweep`: all points of a sweep over a small host, six seconds each, on `--jobs` threads; with `--kept N` a store has
  the first N points.
- `tasks`: runs of ten milliseconds, which cost next to nothing themselves: what is left is the cost of a task. `--via
  core` (a bare loop over the core), `threads`, or `dask`, a scheduler and as many worker processes on this machine.
- `hit`: one replication of many hosts, simulated; with `--kept 1` from the store.
- `esxtop`: a batch file of esxtop becomes the table that `diagnose` reads.

The clock starts when store, cluster or file stand, and stops when the result does.
"""

# ruff: noqa: T201  printing is what this program does

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypertwin
from hypertwin import _core
from hypertwin.runs.runner import Run, running

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]
from line import peak_rss_mib  # noqa: E402
from telemetry import READ, measured, write  # noqa: E402
from twin import VMS_PER_HOST  # noqa: E402

SMALL = HERE.parent / "scenarios" / "small-esxi.yaml"
WEB_LOADS = 25
"""Values of the second path of the sweep; the first one has as many as there are points for."""
GOLDEN = 0.618034


def sweep_of(points: int) -> dict[str, list[float]]:
    """About so many points of two paths, in multiples of the second one's values.

    The first path jumps to and fro, so that the last points cost no more than the first.
    """
    loads = [round(0.2 + 1.6 * (GOLDEN * number % 1), 4) for number in range(max(1, points // WEB_LOADS))]
    return {"vms.db.load": loads, "vms.web.load": [round(0.1 * number, 1) for number in range(1, WEB_LOADS + 1)]}


def digest(document: Any) -> str:
    """A hash of a result."""
    return hashlib.sha256(json.dumps(document).encode()).hexdigest()


def timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What it gives, how many seconds it takes, and how many of this process's CPU."""
    start, cpu = time.perf_counter(), time.process_time()
    given = work()
    return given, {"seconds": time.perf_counter() - start, "cpu_s": time.process_time() - cpu}


def sweep(given: argparse.Namespace, store: str) -> dict[str, Any]:
    """Simulate all points, those that are kept once before."""

    def simulate(points: int) -> hypertwin.Result:
        return hypertwin.simulate(
            SMALL, sweep=sweep_of(points), replications=1, duration=5.0, warmup=1.0, jobs=given.jobs, cache=store
        )

    if given.kept:
        simulate(given.kept)
    result, took = timed(lambda: simulate(given.items))
    return {"items": len(result.points), **took, "report_sha256": digest(result.to_dict())}


def hit(given: argparse.Namespace, store: str) -> dict[str, Any]:
    """Simulate a cluster once, or take it from the store."""
    changes = {"hosts.esx.count": given.items, "vms.app.count": VMS_PER_HOST * given.items}

    def simulate() -> hypertwin.Result:
        path = HERE / "scale.yaml"
        return hypertwin.simulate(
            path, overrides=changes, replications=1, duration=10.0, warmup=1.0, jobs=given.jobs, cache=store
        )

    if given.kept:
        simulate()
    result, took = timed(simulate)
    return {"items": given.items, **took, "report_sha256": digest(result.to_dict())}


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a Dask scheduler with so many worker processes of one thread each."""
    from distributed import LocalCluster

    options = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options) as started:
        yield started.scheduler_address.replace("tcp", "dask", 1)


def tasks(given: argparse.Namespace) -> dict[str, Any]:
    """Run tiny simulations, each a task of its own."""
    scenario = hypertwin.load(SMALL, {"run.warmup": "0 s", "run.duration": "10 ms", "run.sample_interval": "10 ms"})
    found: dict[int, _core.Replication] = {}

    def failed(number: int, why: str, *, is_defect: bool) -> None:
        raise RuntimeError(f"run {number} failed{' by a defect' if is_defect else ''}: {why}")

    def through(**where: Any) -> dict[str, float]:
        with running(cache="off", **where) as runner:
            runner.run((Run(scenario, seed) for seed in range(2)), lambda *_: None, failed)  # connected, imported
            runs = [Run(scenario, seed) for seed in range(given.items)]
            return timed(lambda: runner.run(runs, found.__setitem__, failed))[1]

    if given.via == "core":
        islands = _core.Islands(scenario.json)
        every = list(range(len(islands.keys())))
        results, took = timed(lambda: [islands.merge(islands.run(every, seed)) for seed in range(given.items)])
        found.update(enumerate(results))
    elif given.via == "dask":
        with cluster(given.jobs) as address:
            took = through(on=address)
    else:
        took = through(jobs=given.jobs)
    report = _core.aggregate([found[number] for number in range(given.items)])
    return {"items": given.items, **took, "report_sha256": digest(report)}


def esxtop(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Write a batch file of so many MB and time its way into Parquet; its process has the memory."""
    source = folder / "esx1.csv"
    samples = write(source, given.columns, 1e6 * given.items)
    read = measured(READ, source, folder / "table.parquet")
    return {"items": given.items, "columns": given.columns, "samples": samples, **read}


def main() -> None:
    """Run one batch and print its line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("case", choices=["sweep", "tasks", "hit", "esxtop"])
    parser.add_argument("--items", type=int, required=True, help="points, tasks, hosts, or MB")
    parser.add_argument("--jobs", type=int, default=1, help="threads, or workers of a cluster")
    parser.add_argument("--kept", type=int, help="points, or replications, that the store has; default: no store")
    parser.add_argument("--via", choices=["core", "threads", "dask"], default="threads")
    parser.add_argument("--columns", type=int, default=17_000, help="of esxtop")
    parser.add_argument("--seed", type=int, default=1, help="taken and not used: the batch is the same each time")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = "off" if given.kept is None else folder
        if given.case == "esxtop":
            line = esxtop(given, Path(folder))
        elif given.case == "tasks":
            line = tasks(given)
        else:
            line = {"sweep": sweep, "hit": hit}[given.case](given, store)
    line = {"case": given.case, "tool": "hypertwin", "version": _core.version(), "threads": given.jobs, **line}
    line |= {"events": line["items"], "events_per_s": line["items"] / line["seconds"]}
    print(json.dumps({"peak_rss_mib": round(peak_rss_mib(), 1), **line}))


if __name__ == "__main__":
    main()
