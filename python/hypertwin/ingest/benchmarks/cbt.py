"""CBT, the Ceph Benchmarking Tool: its archive of results, with the JSON of fio of each client and volume.

CBT writes the settings of a test as `results/00000000/id-HASH/benchmark_config.yaml`. Beside it, or in folders below,
is the output of each fio process as `json_output.VOLUME.CLIENT` (only JSON) and `output.VOLUME.CLIENT` (everything).
All processes of a folder ran at the same time. The files of a process that failed have no report of fio. Form:
https://github.com/ceph/cbt (benchmark/benchmark.py, benchmark/librbdfio.py). Each process becomes
`benchmark/TEST/vm/CLIENT`. Benchmarks without fio, such as radosbench, are left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside
from hypertwin.ingest.benchmarks import fio_output
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

CONFIG = "benchmark_config.yaml"
MAX_FILES = 20_000
"""Maximum number of files and folders to check in an archive."""
MAX_DEPTH = 8
NO_REPORT = "has no report of fio"
MAX_CONFIG_BYTES = 2**20
_OUTPUT = re.compile(r"(?:json_)?output\.([0-9]{1,6})(?:\.([A-Za-z0-9_.:-]{1,255}?))?(?:\.gz)?")
_BENCHMARK = re.compile(r"^\s{1,20}benchmark: ['\"]?([A-Za-z0-9_-]{1,64})", re.MULTILINE)


@dataclass(frozen=True)
class Test:
    """Processes of fio that ran at the same time."""

    name: str
    folder: Path
    clients: dict[str, list[Path]]
    """Reports of each client, one for each volume."""
    failed: list[Path]
    """Output of each process without a report."""


def files(folder: Path) -> Iterator[Path]:
    """Yield the reports in an archive, or nothing for another folder."""
    for test in tests(folder):
        for reports in test.clients.values():
            yield from reports


def read(path: Path) -> Reading:
    """Return the reports of each client in an archive."""
    rows = Rows(path, ("benchmark",))
    return Reading(path.name, "cbt", _frames(path, rows), rows.gaps, rows.notes)


def _frames(path: Path, rows: Rows) -> Iterator[pl.DataFrame]:
    for test in tests(path, rows):
        for client, reports in test.clients.items():
            for number, report in enumerate(reports):
                name = client if len(reports) == 1 else f"{client} {number}"
                rows.path, rows.root = report, ("benchmark", test.name, "vm", name)
                for job in itertools.islice(fio_output.json_jobs(report, rows), fio_output.MOST_JOBS):
                    fio_output.write(rows, job)
                if rows.full():
                    yield rows.take()
    rows.path = path
    yield from rows.rest()


def tests(folder: Path, rows: Rows | None = None) -> list[Test]:
    """Return the tests in an archive, or an empty list for another folder. Notes go to `rows`."""
    found: dict[Path, dict[tuple[str, int], list[Path]]] = {}
    configs: list[Path] = []
    for entry in itertools.islice(_walk(folder, 0), MAX_FILES):
        if entry.name == CONFIG:
            configs.append(entry)
        elif name := _OUTPUT.fullmatch(entry.name):
            own = found.setdefault(entry.parent, {}).setdefault((name[2] or "client", int(name[1])), [])
            own.append(entry)  # json_output comes before output
    answer = []
    for place, outputs in sorted(found.items()):
        config = next((each for each in configs if place.is_relative_to(each.parent)), None)
        if config is None:
            continue
        clients: dict[str, list[Path]] = {}
        failed = []
        for (client, _), own in sorted(outputs.items()):
            report = next((path for path in own if fio_output.recognises(outside.head(path))), None)
            if report is None:
                failed.append(own[-1])
            else:
                clients.setdefault(client, []).append(report)
        title = outside.name(" ".join(place.relative_to(config.parent.parent).parts))
        notes = [f"{title}: {path.name} {NO_REPORT}" for path in failed]
        if clients:
            answer.append(Test(title, place, clients, failed))
        else:
            notes = [f"{title}: no JSON of fio (benchmark {_benchmark(config)})"]
        if rows is not None:
            for note in notes:
                rows.note(note)
    return answer


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files of a folder and of those below, sorted, without links."""
    for entry in outside.entries(folder, MAX_FILES):
        if entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _walk(entry, depth + 1) if depth < MAX_DEPTH else ()
        elif entry.is_file():
            yield entry


def _benchmark(config: Path) -> str:
    text = outside.read_bytes(config, MAX_CONFIG_BYTES).decode("utf-8", "replace")
    found = _BENCHMARK.search(text)
    return found[1] if found else "unknown"
