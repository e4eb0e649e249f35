"""Points of a storage benchmark, with loads and results from fio's JSON and from summaries of HCIBench.

fio's JSON has the options and figures of each job. fio counts a flush separately from the write before it. An
application waits for both, so the write time here includes the flush. HCIBench encodes the load in the name of a test
case (`fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1511829572`): virtual disks of a VM, block, reads and random
positions in per cent, outstanding I/Os per disk.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hypertwin.ingest import outside
from hypertwin.ingest.benchmarks import fio, fio_output, hcibench
from hypertwin.ingest.benchmarks.fio_output import Direction, Job
from hypertwin.ingest.text_log import Rows

MOST_POINTS = 1_000
MOST_FILES = 2_000
"""Maximum number of files to check in a folder."""
FAR_POINTS = 2.0
"""Maximum difference of the actual and the requested percentage of reads, in percentage points, that counts as chance.
"""
RAMP_NOTE = "the ramp (ramp_time) is not in fio's figures"
_TOKEN = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(vmdk|ws|rdpct|randompct|randpct|threads|k|m)?\Z")


@dataclass(frozen=True)
class IoPoint:
    """Load of a storage benchmark with its results."""

    name: str
    file: Path
    workload: Mapping[str, Any]
    """Load as keys of a workload in a scenario. Without `disks`, `outstanding` covers all disks of a VM."""
    figures: Mapping[str, float]
    """Figures of all VMs together, by flat key of a report of VMs (`iops`, `read_latency_ms_mean`) and in its units."""
    vms: int = 1
    """Number of VMs with the same concurrent load."""
    disks: int | None = None
    """Number of virtual disks per VM, if known. `outstanding` is then per disk."""


def recognises(path: Path) -> bool:
    """True if a file or folder can have such points."""
    if outside.is_folder(path):
        return True
    head = outside.head(path)
    return fio_output.recognises(head) or hcibench.recognises(head) or path.name.endswith(hcibench.RESULT)


def files(path: Path) -> Iterator[Path]:
    """Yield the input files of a path: the file itself, the summaries in a folder, or otherwise its fio reports."""
    if not outside.is_folder(path):
        yield path
        return
    summaries = list(hcibench.summaries(path))
    yield from summaries or (file for file in _json_files(path) if fio_output.recognises(outside.head(file)))


def read(paths: Sequence[Path]) -> tuple[list[IoPoint], list[str]]:
    """Return the points in files and folders, and notes on ignored parts. Raises SourceError."""
    points: list[IoPoint] = []
    notes: list[str] = []
    for path in paths:
        found = list(itertools.islice(files(path), MOST_FILES))
        if not found:
            allowed = "JSON of fio (--output-format=json) or summaries of HCIBench (CASE-res.txt)"
            outside.refuse(path, "", "a folder without results", allowed, "name the folder they are in", "source-lacks")
        for file in found:
            rows = Rows(file, ("benchmark",))
            head = outside.head(file)
            points += _of_fio(rows) if fio_output.recognises(head) else _of_hcibench(rows)
            notes += rows.notes
            if len(points) > MOST_POINTS:
                allowed = f"at most {MOST_POINTS}"
                outside.refuse(file, "", "more points", allowed, "average those that are alike", "source-too-large")
    if not points:
        value, hint = "no job that did I/O", "is the run complete?"
        outside.refuse(paths[0], "", value, "at least one job with IOPS", hint, "source-lacks")
    return points, list(dict.fromkeys(notes))


def _json_files(folder: Path) -> Iterable[Path]:
    try:
        entries = sorted(itertools.islice(folder.iterdir(), MOST_FILES))
    except OSError as error:
        reason = error.strerror or str(error)
        outside.refuse(folder, "", reason, "a readable folder", "check its permissions", "unreadable-file")
    return [entry for entry in entries if entry.name.removesuffix(".gz").endswith(".json") and entry.is_file()]


# ---- fio


def _of_fio(rows: Rows) -> Iterator[IoPoint]:
    jobs = list(itertools.islice(fio_output.json_jobs(rows.path, rows), fio_output.MOST_JOBS + 1))
    if not jobs:
        hint = "run fio with --output-format=json; its text and terse output lack the queue depth"
        outside.refuse(rows.path, "", "no whole report in JSON", "JSON of fio", hint, "source-lacks")
    previous: Job | None = None
    for job in jobs:
        if previous is not None and _ran_together(previous, job):
            hint = "one job at a time: put `stonewall` into each, or run them one by one"
            _refuse(rows, job, f"{previous.name} and {job.name} at the same time", "one job in a group", hint)
        previous = job
        if any(part.iops > 0 for part in job.directions.values()):
            yield _point(rows, job)
        else:
            rows.note(f"job {outside.name(job.name)} did no I/O")


def _ran_together(one: Job, other: Job) -> bool:
    return one.group == other.group and one.time == other.time and one.name != other.name


def _point(rows: Rows, job: Job) -> IoPoint:
    options = dict(job.options)
    if not options:
        hint = "run it with fio 3, which writes `job options`"
        _refuse(rows, job, "figures without the job's options", "JSON of fio 2.20 or later", hint)
    if "%" in options.get("size", ("", ""))[1]:
        del options["size"]
        rows.note("size is a share of the disk: the working set is left as it is in the scenario")
    if "ramp_time" in options:
        rows.note(RAMP_NOTE)
    workload = fio.of_options(rows.path, options)
    workers = workload["arrivals"]["io"]["workers"]
    if job.clones not in (1, workers):
        _refuse(rows, job, f"{job.clones} jobs of this name", f"numjobs, {workers}", "give each job its own name")
    if job.clones == 1 and job.together is not None and job.together > workers and "ramp_time" not in options:
        hint = "without group_reporting, and with `stonewall` in each job"
        _refuse(rows, job, f"figures of {job.together} jobs as one", f"those of numjobs, {workers}", hint)
    del workload["cpu"]
    figures, read_pct = _figures(rows, job)
    if read_pct is not None and abs(read_pct - workload["read_pct"]) > FAR_POINTS:
        rows.note(f"job {outside.name(job.name)} did {read_pct:.4g} % reads, not {workload['read_pct']:.4g}")
        workload["read_pct"] = read_pct
    return IoPoint(outside.name(job.name), rows.path, workload, figures)


def _figures(rows: Rows, job: Job) -> tuple[dict[str, float], float | None]:
    """Return figures by key, and the percentage of reads if the report separates reads and writes."""
    busy = {name: part for name, part in job.directions.items() if part.iops > 0}
    if job.flush_ms is not None and "write" in busy:
        rows.note("a write that is flushed takes as long as both; of that fio has no percentiles")
        write = busy["write"]
        mean_ms = None if write.mean_ms is None else write.mean_ms + job.flush_ms
        busy["write"] = Direction(write.iops, write.bytes_per_s, mean_ms)
    figures = {"iops": sum(part.iops for part in busy.values())}
    for name, part in busy.items():
        begin = f"{name}_latency_ms" if len(busy) > 1 else "io_latency_ms"
        if part.mean_ms is not None:
            figures[f"{begin}_mean"] = part.mean_ms
        if 99 in part.percentiles_ms:
            figures[f"{begin}_p99"] = part.percentiles_ms[99]
        else:
            rows.note("no 99th percentiles: they are not compared")
    if "mixed" in busy:
        return figures, None
    return figures, round(100 * busy["read"].iops / figures["iops"], 4) if "read" in busy else 0.0


def _refuse(rows: Rows, job: Job, value: str, allowed: str, hint: str) -> NoReturn:
    outside.refuse(rows.path, outside.name(job.name), value, allowed, hint)


# ---- HCIBench


def _of_hcibench(rows: Rows) -> Iterator[IoPoint]:
    case, summary = hcibench.summary(rows)
    if not summary.jobs:
        rows.note(f"{case}: no results in the summary")
        return
    if len(summary.jobs) > 1:
        allowed, hint = "one job on one datastore", "run them one by one"
        outside.refuse(rows.path, "JOB_NAME", f"{len(summary.jobs)} at the same time", allowed, hint)
    disks, workload = _case(rows.path, case)
    ((names, found),) = summary.jobs.items()
    vms = summary.vms.get(names)
    if vms is None or not 1 <= vms <= hcibench.MOST_FILES:
        hint = "use the complete summary"
        outside.refuse(rows.path, "VMs", "missing" if vms is None else str(vms), "how many VMs took part", hint)
    rows.note("the working set (ws) is a share of the disks, whose size a summary does not have: left as it is")
    yield IoPoint(case, rows.path, workload, _of_summary(rows, found, workload["read_pct"]), vms, disks)


def _of_summary(rows: Rows, found: Mapping[str, float], read_pct: float) -> dict[str, float]:
    if found.get("iops", 0) <= 0:
        outside.refuse(rows.path, "IOPS", "missing or 0", "more than 0", "is the run complete?", "source-lacks")
    figures = {"iops": found["iops"]}
    directions = [name for name, share in (("read", read_pct), ("write", 100 - read_pct)) if share > 0]
    for name in directions:
        begin = f"{name}_latency_ms" if len(directions) > 1 else "io_latency_ms"
        for theirs, ours in ((f"{name}_latency_ms", f"{begin}_mean"), (f"{name}_latency_ms_p95", f"{begin}_p95")):
            if found.get(theirs, 0) > 0:
                figures[ours] = found[theirs]
    if len(figures) == 1:
        figures |= {"io_latency_ms_mean": found["latency_ms"]} if found.get("latency_ms", 0) > 0 else {}
    return figures


def _case(path: Path, case: str) -> tuple[int, dict[str, Any]]:
    """Return the number of virtual disks of a VM, and the load, from the name of a test case."""
    told: dict[str, float] = {}
    for word in case.split("-"):
        found = _TOKEN.match(word)
        if found and found[2] in ("k", "m"):
            told["block"] = float(found[1]) * (2**10 if found[2] == "k" else 2**20)
        elif found and found[2]:
            told[found[2].replace("randpct", "randompct")] = float(found[1])
    limits = {"vmdk": 60, "threads": 4096, "rdpct": 100, "randompct": 100, "block": 2**26}
    for key, most in limits.items():
        least = 0 if key.endswith("pct") else 1
        if not least <= told.get(key, -1) <= most:
            allowed = "a name such as fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1511829572"
            hint = "name the load so, or put its figures into a CSV file"
            outside.refuse(path, "", f"{case}, which does not say {key}", allowed, hint)
    return int(told["vmdk"]), {
        "arrivals": {"io": {"outstanding": int(told["threads"])}},
        "block": f"{int(told['block'])} B",
        "read_pct": told["rdpct"],
        "random_pct": told["randompct"],
    }
