"""Points of a storage benchmark, with loads and results from fio's JSON, and from HCIBench, Vdbench and CBT.

fio's JSON has the options and figures of each job. fio counts a flush separately from the write before it. An
application waits for both, so the write time here includes the flush. HCIBench encodes the load in the name of a test
case (`fio-8vmdk-100ws-4k-70rdpct-100randompct-4threads-1511829572`): virtual disks of a VM, block, reads and random
positions in per cent, outstanding I/Os per disk. Vdbench's flat file has the load of each run. Its `threads` are those
of each disk (SD), and the queue depth shows the number of disks. A test of CBT has the JSON of fio of each client and
volume.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from hypertwin.ingest import outside
from hypertwin.ingest.benchmarks import cbt, fio, fio_output, hcibench, vdbench
from hypertwin.ingest.benchmarks.fio_output import Direction, Job
from hypertwin.ingest.text_log import Rows

MOST_POINTS = 1_000
MOST_FILES = 2_000
"""Maximum number of files to check in a folder."""
FAR_POINTS = 2.0
"""Difference of the actual and the requested percentage of reads, in percentage points, that always counts as chance.
"""
FAR_SIGMAS = 5.0
"""Larger differences count as chance up to this many standard deviations: fio draws the direction of each I/O."""
QUEUE_TOLERANCE = 0.02
"""Share of the threads by which a measured queue can exceed them [an estimate: figures have one decimal]."""
MAX_OUTSTANDING = 4096
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
    time: datetime | None = None
    """End of the run, or None if the result lacks it."""


def recognises(path: Path) -> bool:
    """True if a file or folder can have such points."""
    if outside.is_folder(path):
        return True
    head = outside.head(path)
    readers = (fio_output, vdbench, hcibench)
    return any(each.recognises(head) for each in readers) or path.name.endswith(hcibench.RESULT)


def files(path: Path) -> Iterator[Path]:
    """Yield the input files of a path: the file itself, or the results in a folder.

    Without results of HCIBench, Vdbench or CBT, these are its fio reports.
    """
    if not outside.is_folder(path):
        yield path
        return
    for results in (hcibench.summaries(path), vdbench.files(path), cbt.files(path)):
        if found := list(itertools.islice(results, MOST_FILES)):
            yield from found
            return
    yield from (file for file in _json_files(path) if fio_output.recognises(outside.head(file)))


def read(paths: Sequence[Path]) -> tuple[list[IoPoint], list[str]]:
    """Return the points in files and folders, and notes on ignored parts. Raises SourceError."""
    points: list[IoPoint] = []
    notes: list[str] = []
    for path in paths:
        found = list(itertools.islice(files(path), MOST_FILES))
        if not found:
            allowed = "JSON of fio (--output-format=json), or results of HCIBench, Vdbench or CBT"
            outside.Source(path).lacks("a folder without results", allowed, "name the folder they are in")
        archived = cbt.tests(path) if outside.is_folder(path) else []
        for file in [] if archived else found:
            rows = Rows(file, ("benchmark", "vdbench"))
            points += _of_file(rows)
            notes += rows.notes
        for test in archived:
            rows = Rows(test.folder, ("benchmark",))
            points.append(_of_cbt(rows, test))
            notes += rows.notes
        if len(points) > MOST_POINTS:
            outside.Source(path).too_large("more points", f"at most {MOST_POINTS}", "average those that are alike")
    if not points:
        outside.Source(paths[0]).lacks("no job that did I/O", "at least one job with IOPS", "is the run complete?")
    return points, list(dict.fromkeys(notes))


def _json_files(folder: Path) -> Iterable[Path]:
    entries = outside.entries(folder, MOST_FILES)
    return [entry for entry in entries if entry.name.removesuffix(".gz").endswith(".json") and entry.is_file()]


def _of_file(rows: Rows) -> Iterable[IoPoint]:
    head = outside.head(rows.path)
    if fio_output.recognises(head):
        return list(_of_fio(rows))
    return list(_of_vdbench(rows) if vdbench.recognises(head) else _of_hcibench(rows))


# ---- fio


def _of_fio(rows: Rows) -> Iterator[IoPoint]:
    jobs = list(itertools.islice(fio_output.json_jobs(rows.path, rows), fio_output.MOST_JOBS + 1))
    if not jobs:
        hint = "run fio with --output-format=json; its text and terse output lack the queue depth"
        outside.Source(rows.path).lacks("no whole report in JSON", "JSON of fio", hint)
    previous: Job | None = None
    for job in jobs:
        if previous is not None and _ran_together(previous, job):
            hint = "one job at a time: put `stonewall` into each, or run them one by one"
            _refuse(rows, job, f"{previous.name} and {job.name} at the same time", "one job in a group", hint)
        previous = job
        if job.error:
            _refuse(rows, job, f"a job that ended with error {job.error}", "a job without an error", "run it again")
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
    if read_pct is not None and abs(read_pct - workload["read_pct"]) > _chance(workload["read_pct"], job, figures):
        rows.note(f"job {outside.name(job.name)} did {read_pct:.4g} % reads, not {workload['read_pct']:.4g}")
        workload["read_pct"] = read_pct
    return IoPoint(outside.name(job.name), rows.path, workload, figures, time=job.time)


def _chance(read_pct: float, job: Job, figures: Mapping[str, float]) -> float:
    """Return the percentage points by which the reads of a job can differ from the requested ones by chance."""
    ios = figures["iops"] * (job.runtime_s or 0)
    return max(FAR_POINTS, FAR_SIGMAS * math.sqrt(read_pct * (100 - read_pct) / ios) if ios else 0.0)


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
    outside.Source(rows.path).at(outside.name(job.name)).refuse(value, allowed, hint)


# ---- HCIBench


def _of_hcibench(rows: Rows) -> Iterator[IoPoint]:
    case, summary = hcibench.summary(rows)
    if not summary.jobs:
        rows.note(f"{case}: no results in the summary")
        return
    if len(summary.jobs) > 1:
        allowed, hint = "one job on one datastore", "run them one by one"
        outside.Source(rows.path).at("JOB_NAME").refuse(f"{len(summary.jobs)} at the same time", allowed, hint)
    disks, workload = _case(rows.path, case)
    ((names, found),) = summary.jobs.items()
    vms = summary.vms.get(names)
    if vms is None or not 1 <= vms <= hcibench.MOST_FILES:
        outside.Source(rows.path).at("VMs").refuse(
            "missing" if vms is None else str(vms), "how many VMs took part", "use the complete summary"
        )
    rows.note("the working set (ws) is a share of the disks, whose size a summary does not have: left as it is")
    yield IoPoint(case, rows.path, workload, _of_summary(rows, found, workload["read_pct"]), vms, disks)


def _of_summary(rows: Rows, found: Mapping[str, float], read_pct: float) -> dict[str, float]:
    if found.get("iops", 0) <= 0:
        outside.Source(rows.path).at("IOPS").lacks("missing or 0", "more than 0", "is the run complete?")
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
            outside.Source(path).refuse(f"{case}, which does not say {key}", allowed, hint)
    return int(told["vmdk"]), {
        "arrivals": {"io": {"outstanding": int(told["threads"])}},
        "block": f"{int(told['block'])} B",
        "read_pct": told["rdpct"],
        "random_pct": told["randompct"],
    }


# ---- Vdbench


def _of_vdbench(rows: Rows) -> Iterator[IoPoint]:
    for run in vdbench.runs(rows):
        name = outside.name(run.name)
        load = dict(run.load)
        load.setdefault("xfersize", load.get("bytes/io", 0))
        load.setdefault("rdpct", round(load.get("read%", -1)))  # rdpct is whole, the measured share has chance in it
        if "seekpct" not in load:
            rows.note("seekpct is not in the file: its default of 100 is assumed (random)")
            load["seekpct"] = 100.0
        for key, least, most in (
            ("threads", 1, 4096),
            ("xfersize", 512, 2**26),
            ("rdpct", 0, 100),
            ("seekpct", 0, 100),
        ):
            if not least <= load.get(key, -1) <= most:
                said = f"{key} {load[key]:g}" if key in load else f"no {key}"
                hint = "read flatfile.html, which has the load of each run"
                outside.Source(rows.path).at(name).refuse(said, f"{key} from {least} to {most}", hint)
        yield IoPoint(name, rows.path, _vdbench_load(rows, load, run.figures), _of_run(run.figures, load["rdpct"]))


def _vdbench_load(rows: Rows, load: Mapping[str, float], found: Mapping[str, float]) -> dict[str, Any]:
    """Return the load as keys of a workload. More I/Os queued than threads belong to further disks."""
    threads = int(load["threads"])
    queued = load.get("queue_depth", found["iops"] * found.get("latency_ms", 0) / 1000)
    disks = max(1, math.ceil(queued / threads - QUEUE_TOLERANCE))
    if disks > 1:
        rows.note(f"a queue of {queued:.4g} I/Os with {threads} threads of each disk (SD) means {disks} disks")
    outstanding = threads * disks
    if outstanding > MAX_OUTSTANDING:
        outside.Source(rows.path).at("queue_depth").too_large(
            f"{queued:.4g}", f"at most {MAX_OUTSTANDING}", "check the file"
        )
    io: dict[str, Any] = {"outstanding": outstanding}
    rate = load.get("reqrate")
    if rate is not None and 0 < rate < vdbench.UNLIMITED:
        io["rate"] = f"{rate:g} /s"
    return {
        "arrivals": {"io": io},
        "block": f"{int(load['xfersize'])} B",
        "read_pct": load["rdpct"],
        "random_pct": load["seekpct"],
    }


def _of_run(found: Mapping[str, float], read_pct: float) -> dict[str, float]:
    figures = {"iops": found["iops"]}
    if found.get("latency_ms", 0) > 0 and read_pct in (0, 100):
        figures["io_latency_ms_mean"] = found["latency_ms"]
    elif all(found.get(f"{name}_latency_ms", 0) > 0 for name in ("read", "write")):
        figures |= {f"{name}_latency_ms_mean": found[f"{name}_latency_ms"] for name in ("read", "write")}
    elif found.get("latency_ms", 0) > 0:
        figures["io_latency_ms_mean"] = found["latency_ms"]
    return figures


# ---- CBT


def _of_cbt(rows: Rows, test: cbt.Test) -> IoPoint:
    """Return the processes of a test as one point. Percentiles of several processes cannot be combined."""
    if test.failed:
        hint = "run the test again, or import only the other tests"
        value = f"{test.failed[0].name} {cbt.NO_REPORT}"
        outside.Source(test.folder).refuse(value, "a report of each process", hint)
    volumes = {len(reports) for reports in test.clients.values()}
    if len(volumes) > 1:
        hint = "copy the archive again, with the reports of all volumes"
        value = f"{min(volumes)} to {max(volumes)} reports of a client"
        outside.Source(test.folder).refuse(value, "the same number of each client", hint)
    points: list[IoPoint] = []
    for report in itertools.chain.from_iterable(test.clients.values()):
        rows.path = report
        own = list(_of_fio(rows))
        if len(own) != 1:
            outside.Source(report).refuse(f"{len(own)} jobs with I/Os", "one job of fio", "run them one by one")
        points += own
    first = points[0]
    unlike = next((each for each in points if each.workload != first.workload), None)
    if unlike is not None:
        hint = "import each load by itself"
        outside.Source(unlike.file).refuse("another load", f"the load of {first.file.name} at the same time", hint)
    disks = volumes.pop()
    workload = dict(first.workload)
    io = dict(workload["arrivals"]["io"])
    if "rate" in io:
        io["rate"] = f"{int(io['rate'].split()[0]) * disks} /s"  # CBT limits each process
    workload["arrivals"] = {"io": io}
    total = sum(point.figures["iops"] for point in points)
    figures = {"iops": total}
    for key in first.figures:
        if key.endswith("_mean") and all(key in point.figures for point in points):
            figures[key] = sum(point.figures["iops"] * point.figures[key] for point in points) / total
        elif key != "iops" and len(points) == 1:
            figures[key] = first.figures[key]
    rows.path = test.folder
    return IoPoint(test.name, test.folder, workload, figures, len(test.clients), disks, first.time)
