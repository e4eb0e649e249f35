"""HCIBench: the summary of a test case (`CASE-res.txt`), or a folder of results with fio's reports of each VM.

The summary of a test is `benchmark/CASE`, followed by datastore and job if there are several. In a folder, each VM's
own report is `benchmark/CASE/vm/NAME`. Layout and meaning follow the programs that write them,
https://github.com/vmware-labs/hci-benchmark-appliance (parseFioResult.rb, parseVdbResult.rb, rvc-util.rb): IOPS and
throughput are sums over VMs, latencies and percentiles are means over VMs. Vdbench's percentile is mean + 1.645
standard deviations. This module ignores vdbench's reports of each VM and the table of hosts' usage, whose form is not
public.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from hypertwin.ingest import outside, text_log
from hypertwin.ingest.benchmarks import fio_output
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.telemetry import Reading
from hypertwin.ingest.text_log import Rows

MOST_BYTES = 2**22
"""Maximum length of a summary in bytes. A job takes a few kilobytes."""
MOST_FILES = 20_000
RESULT = "-res.txt"
LABELS = {
    "IOPS": ("iops", 1),
    "THROUGHPUT": ("bytes_per_s", 2**20),
    "LATENCY": ("latency_ms", 1),
    "R_LATENCY": ("read_latency_ms", 1),
    "W_LATENCY": ("write_latency_ms", 1),
    "95%tile_LAT": ("latency_ms_p95", 1),
    "95%tile_R_LAT": ("read_latency_ms_p95", 1),
    "95%tile_W_LAT": ("write_latency_ms_p95", 1),
}
"""Labels of the figures of a job. One MB has 2^20 bytes."""
FILES_HEADING = "Check the following results files that finished testing early:"
"""Line after which a summary lists the reports of VMs that it leaves out."""
USAGES = {"CPU USAGE": (), "vSAN PCPU USAGE": ("process", "vSAN")}
USAGE = {"cpu.usage": "usage_pct", "cpu.utilization": "utilization_pct"}
_PAIR = re.compile(r"([\w%][\w% ]{0,40}?)\s{0,40}[=:]\s{1,40}(\S.{0,500})")
_PERCENT = re.compile(r"([0-9.]{1,20})%;?\s{0,9}")
_CASE_EPOCH = re.compile(r"-[0-9]{10}\Z")


def recognises(head: bytes) -> bool:
    """True if the file is a summary of HCIBench."""
    return (
        b"THROUGHPUT" in head and b"%tile_" in head and re.search(rb"^IOPS\s{0,40}= ", head, re.MULTILINE) is not None
    )


def files(folder: Path) -> Iterator[Path]:
    """Yield the summaries in a folder or for a test case folder, and the reports of their VMs."""
    for summary in summaries(folder):
        yield summary
        yield from _reports(summary)


def read(path: Path) -> Reading:
    """Return the summaries and, in a folder, the reports of each VM."""
    rows = Rows(path, ("benchmark",))
    return Reading(path.name, "hcibench", _frames(path, rows), rows.gaps, rows.notes)


def summaries(path: Path) -> list[Path]:
    """Return the summaries in a folder, or the summary next to the folder of a test case."""
    found = [entry for entry in outside.entries(path, MOST_FILES) if entry.name.endswith(RESULT)]
    beside = path.parent / f"{path.resolve().name}{RESULT}"
    return found or [beside] * beside.is_file()


def _case(summary: Path) -> str:
    return summary.name.removesuffix(".gz").removesuffix(RESULT)


def _reports(summary: Path) -> list[Path]:
    """Return the reports of a test case, in the folder of its name next to its summary."""
    found = itertools.islice((summary.parent / _case(summary)).glob("*.json"), MOST_FILES)
    return sorted(entry for entry in found if entry.is_file())


def _frames(path: Path, rows: Rows) -> Iterator[pl.DataFrame]:
    for summary in summaries(path) if path.is_dir() else [path]:
        rows.path = summary
        case = _summary(rows)
        for report in _reports(summary) if path.is_dir() else ():
            rows.path = report
            _report(rows, case, report)
            if rows.full():
                yield rows.take()
    rows.path = path
    rows.note("latencies are means over the VMs of a test, percentiles too")
    rows.lacking({"latency_ms_p95": ("95%tile_LAT", "95th percentile"), "usage_pct": ("CPU USAGE", "CPU of the hosts")})
    yield from rows.rest()


def summary(rows: Rows) -> tuple[str, Summary]:
    """Return the name of the test case and the content of its summary, which is the file of `rows`."""
    case = _case(rows.path)
    text = outside.read_bytes(rows.path, MOST_BYTES).decode("utf-8", "replace")
    found = Summary(rows, case)
    early: list[str] = []
    is_list = False
    for line in text.splitlines():
        pair = _PAIR.match(line.strip()) if len(line) < 1000 else None
        if pair:
            found.pair(pair[1], pair[2])
        elif line.strip() == FILES_HEADING:
            is_list = True
        elif is_list and line.strip():
            early.append(line.strip().rpartition("/")[2])
        elif "finished testing early" in line or " out of " in line:
            rows.note(f"{case}: {outside.name(line)}")
    if early:
        rows.note(f"{case}: VMs that finished testing early are not in it: {outside.name(', '.join(early))}")
    return case, found


def _summary(rows: Rows) -> str:
    """Read the text of one test case, and return its name."""
    case, found = summary(rows)
    several = len(found.jobs) > 1
    for names, figures in found.jobs.items():
        rows.root = ("benchmark", " ".join((case, *filter(None, names))) if several else case)
        for metric, value in figures.items():
            rows.add(None, metric, value)
    if not found.jobs:
        rows.note(f"{case}: no results in the summary")
    elif _CASE_EPOCH.search(case):
        rows.note("a test's name ends with its start, in seconds since 1970; the summary does not say when it ended")
    return case


class Summary:
    """Pairs of label and value in a summary."""

    def __init__(self, rows: Rows, case: str) -> None:
        """Start a summary of a test case. Notes and the usage of hosts go to `rows`."""
        self.rows = rows
        self.case = case
        self.names = ("", "")
        """Names of datastore and job."""
        self.jobs: dict[tuple[str, str], dict[str, float]] = {}
        """Figures of jobs, by datastore and name."""
        self.vms: dict[tuple[str, str], int] = {}
        """Number of VMs that the figures cover."""

    def pair(self, label: str, value: str) -> None:
        """Add a label and its value."""
        if label == "Datastore":
            self.names = (value, "")
        elif label in ("JOB_NAME", "Run Def"):
            self.names = (self.names[0], value)
        elif label in LABELS:
            self._figure(label, outside.number(value.split(maxsplit=1)[0]))
        elif label == "VMs":
            self.vms[self.names] = int(outside.number(value) or 0)
        elif label in USAGES:
            self._usage(label, value)

    def _figure(self, label: str, number: float | None) -> None:
        metric, factor = LABELS[label]
        if number is None:
            self.rows.unreadable += 1
            return
        self.jobs.setdefault(self.names, {})[metric] = number * factor
        if label == "95%tile_LAT":
            self.rows.note("vdbench's 95th percentiles are estimates: mean + 1.645 standard deviations")

    def _usage(self, label: str, value: str) -> None:
        percent = _PERCENT.fullmatch(value)
        number = outside.number(percent[1]) if percent else None
        self.rows.root = ("benchmark", self.case)
        if number is None:
            self.rows.gaps.append(Gap(f"{label} of several clusters", "CPU of the hosts"))
        else:
            self.rows.add(None, "usage_pct", number, *USAGES[label])


def _report(rows: Rows, case: str, path: Path) -> None:
    """Read a JSON file of a test case: fio's reports of a VM, or the usage of the cluster's hosts."""
    head = outside.head(path)
    if fio_output.recognises(head):
        rows.root = ("benchmark", case, "vm", path.stem)
        jobs = list(itertools.islice(fio_output.json_jobs(path, rows), fio_output.MOST_JOBS))
        for job in jobs:
            if len(jobs) > 1:
                rows.root = ("benchmark", f"{case} {job.name}", "vm", path.stem)
            fio_output.write(rows, job)
        return
    try:
        clusters = json.loads(head) if len(head) < outside.HEAD_BYTES else None
    except (ValueError, RecursionError):
        clusters = None
    values = list(clusters.values()) if isinstance(clusters, dict) else []
    if len(values) == 1 and isinstance(values[0], dict):
        rows.root = ("benchmark", case)
        for name, metric in USAGE.items():
            cell = values[0].get(name)
            number = outside.number(cell.rstrip("%")) if isinstance(cell, str) else text_log.json_number(cell)
            if number is not None:
                rows.add(None, metric, number)
