"""Folder of a campaign that ran elsewhere, from the results of its load generators.

A result is a file, or a folder whose files are those of VMs that ran at the same time. A folder with further folders
has one result in each entry. Results with the same load are repeats of one step. The first result has the first step.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypertwin.benchmark import measured, prediction
from hypertwin.benchmark import plan as plans
from hypertwin.benchmark.folder import PLAN, SCENARIO, Folder
from hypertwin.benchmark.load import Figures
from hypertwin.benchmark.load.imported import Imported, plain, values_of
from hypertwin.benchmark.plan import MAX_REPEATS, MAX_STEPS, MAX_TARGETS, Plan
from hypertwin.benchmark.step import Step
from hypertwin.benchmark.target import LOCAL
from hypertwin.documents.benchmark import Run
from hypertwin.errors import Argument, fail
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.ingest import outside
from hypertwin.ingest.benchmarks import cbt, fio_output, hcibench, io_points, load_runs, sysbench, vdbench
from hypertwin.ingest.benchmarks.io_points import IoPoint
from hypertwin.ingest.benchmarks.load_run import LoadRun
from hypertwin.scenario import Scenario

MAX_DEPTH = 6
"""Maximum depth of folders in folders."""
MAX_ENTRIES = 10_000
MAX_COPIED = 64 * 2**20
"""Maximum length of a result that is copied into the folder of the campaign."""
FIGURES = ("throughput_per_s", "response_ms_mean", "response_ms_p95", "response_ms_p99")
ALL = "all"
"""Name of the raw output that covers all VMs of a run."""


@dataclass(frozen=True)
class Result:
    """Figures of one run of all VMs of a step."""

    tool: str
    step: Step
    figures: Mapping[str, float]
    files: Mapping[str, Path]
    """File or folder of each VM, or of all of them together."""
    vms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    started: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _One:
    """Run in a file."""

    tool: str
    file: Path
    values: Mapping[str, int | float | str]
    figures: Figures
    vms: int
    time: str = ""


def make(
    folder: Path, scenario: Scenario, results: Sequence[str | Path], group: str, vms: int | None, free: Sequence[str]
) -> tuple[Folder, Plan]:
    """Read the results, and make the folder of the campaign with its runs. Raises ScenarioError, OutputExistsError."""
    if group not in scenario.data["vms"]:
        listed = ", ".join(list(scenario.data["vms"])[:12])
        fail("unknown-reference", "vms", group, listed, "name a group of VMs", Argument("group"))
    if not results:
        fail("missing-key", "", "no results", "at least one file or folder", "name them", Argument("results"))
    read = list(itertools.chain.from_iterable(_results(Path(each), vms, 0) for each in results))
    by_load: dict[str, list[Result]] = {}
    for each in read:
        by_load.setdefault(each.step.title, []).append(each)
    steps = list(by_load.values())
    _check(read, steps, free)
    text = _plan(scenario, read, steps, group, free)
    plan = replace(plans.loads(text, str(folder / PLAN), folder), scenario=folder / SCENARIO)
    prediction.check(plan, scenario)
    made = Folder.create(folder, plan, scenario, folder)
    _write(made, steps)
    return made, plan


def _check(read: Sequence[Result], steps: Sequence[Sequence[Result]], free: Sequence[str]) -> None:
    first = read[0]
    other = next((each for each in read if each.tool != first.tool), None)
    if other is not None:
        path = next(iter(other.files.values()))
        hint = "import each generator by itself"
        outside.Source(path).refuse(f"results of {other.tool}", f"results of {first.tool}, as the first one", hint)
    if len(steps) > MAX_STEPS:
        fail("out-of-range", "", f"{len(steps)} steps", f"at most {MAX_STEPS}", "import fewer", Argument("results"))
    for own in steps:
        if len(own) > MAX_REPEATS:
            value = f"{len(own)} results of {own[0].step.title}"
            fail("out-of-range", "", value, f"at most {MAX_REPEATS}", "import fewer", Argument("results"))
    if free and len(steps) < 2:
        hint = "add results of another load, or leave out --free"
        fail("out-of-range", "", f"one step, {first.step.title}", "at least two steps", hint, Argument("free"))


def _plan(
    scenario: Scenario,
    read: Sequence[Result],
    steps: Sequence[Sequence[Result]],
    group: str,
    free: Sequence[str],
) -> str:
    """Return the plan as text."""
    entry: dict[str, Any] = {
        "name": scenario.data["name"],
        "description": f"{len(read)} results of {read[0].tool}, imported",
        "scenario": SCENARIO,
        "group": group,
        "targets": {f"vm{number}": LOCAL for number in range(1, max(each.step.vms for each in read) + 1)},
        "load": {"kind": Imported.kind, "tool": read[0].tool},
        "steps": [own[0].step.to_dict() for own in steps],
        "repeats": max(map(len, steps)),
    }
    if free:
        entry["calibrate"] = {"step": read[0].step.to_dict(), "free": list(free)}
    return to_yaml(entry)


def _write(folder: Folder, steps: Sequence[Sequence[Result]]) -> None:
    """Write the runs with their raw output."""
    copies: dict[Path, Path] = {}
    for own in steps:
        for repeat, result in enumerate(own):
            place = folder.clear(result.step, repeat)
            notes = [*result.notes, *(_copy(source, place / name, copies) for name, source in result.files.items())]
            run: Run = {
                "repeat": repeat + 1,
                "started": result.started,
                "skew_ms": None,
                "figures": dict(result.figures),
                "vms": {name: dict(values) for name, values in result.vms.items()},
                "views": [],
                "disturbed": [],
                "notes": [note for note in notes if note],
            }
            folder.keep(result.step, repeat, run)


def _copy(source: Path, place: Path, copies: dict[Path, Path]) -> str:
    """Copy a result into a folder, once. Returns a note if it is too large, otherwise an empty text."""
    files = [source] if source.is_file() else filter(_is_own, source.rglob("*"))
    notes = []
    for path in itertools.islice(files, MAX_ENTRIES):
        if path.stat().st_size > MAX_COPIED:
            notes.append(f"{path.name} is not copied: it is larger than {MAX_COPIED // 2**20} MiB")
            continue
        to = place / ("out" if path == source else path.relative_to(source))
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(copies[path], to)
        except (KeyError, OSError):
            shutil.copyfile(path, to)
            copies[path] = to
    return "; ".join(notes)


def _is_own(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


# ---- results


def _results(path: Path, vms: int | None, depth: int) -> Iterator[Result]:
    """Yield the results of a file or folder."""
    if not outside.is_folder(path):
        for one, step, shared in _shared(path, _runs(path), vms):
            each = {} if step.vms > 1 else {"vm1": shared.values}
            files = {ALL if step.vms > 1 else "vm1": path}
            yield Result(one.tool, step, shared.values, files, each, one.time, shared.notes)
        return
    if any(cbt.files(path)) or any(hcibench.summaries(path)) or any(vdbench.files(path)):
        for one, step, shared in _shared(path, _points(path), vms):
            yield Result(one.tool, step, shared.values, {ALL: one.file}, {}, one.time, shared.notes)
        return
    entries = _entries(path)
    if any(map(outside.is_folder, entries)):
        if depth >= MAX_DEPTH:
            allowed = f"folders in folders {MAX_DEPTH} deep"
            outside.Source(path).too_large("deeper folders", allowed, "name the folders of the runs")
        for entry in entries:
            yield from _results(entry, vms, depth + 1)
        return
    yield from _together(path, entries, vms)


def _entries(folder: Path) -> list[Path]:
    found = sorted(outside.entries(folder, MAX_ENTRIES), key=_natural)
    visible = [entry for entry in found if not entry.name.startswith(".")]
    if not visible:
        outside.Source(folder).lacks("an empty folder", "one file for each VM", "name the folder with the results")
    return visible


def _natural(path: Path) -> list[tuple[int, str]]:
    """Return a key that sorts `vm2` before `vm10`."""
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", path.name)
    return [(int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts]


def _shared(path: Path, runs: Iterable[_One], vms: int | None) -> Iterator[tuple[_One, Step, Figures]]:
    """Yield each run with its step: the load of each VM, if `vms` of them shared it."""
    for one in runs:
        if vms is not None and one.vms not in (1, vms):
            outside.Source(path).refuse(f"{one.vms} VMs in the result", f"{vms} VMs, as --vms says", "leave out --vms")
        share = 1 if vms is None or one.vms == vms else vms
        values = dict(one.values)
        for key in ("threads", "depth", "rate", "jobs"):
            if key in values and share > 1:
                each = float(values[key]) / share
                if key != "rate" and each != int(each):
                    hint = "give each VM a result of its own, in a folder"
                    outside.Source(path).at(key).refuse(values[key], f"a multiple of {share} VMs (--vms)", hint)
                values[key] = plain(each)
        yield one, Step(one.vms * share, values), one.figures


def _together(folder: Path, entries: Sequence[Path], vms: int | None) -> Iterator[Result]:
    """Yield the runs of VMs that ran at the same time, one file for each."""
    if vms is not None and vms != len(entries):
        outside.Source(folder).refuse(f"{len(entries)} files", f"{vms} files, as --vms says", "leave out --vms")
    if len(entries) > MAX_TARGETS:
        outside.Source(folder).refuse(
            f"{len(entries)} files", f"at most {MAX_TARGETS} VMs", "name a folder for each run"
        )
    runs = [list(_runs(entry)) for entry in entries]
    for entry, own in zip(entries, runs, strict=True):
        if len(own) != len(runs[0]):
            value = f"{len(own)} runs in {entry.name}"
            outside.Source(folder).refuse(value, f"{len(runs[0])}, as in {entries[0].name}", "keep those of all VMs")
    for each in zip(*runs, strict=True):
        first = each[0]
        for entry, one in zip(entries, each, strict=True):
            if (one.tool, dict(one.values), one.vms) != (first.tool, dict(first.values), 1):
                value = f"{one.tool} with {Step(one.vms, one.values).title} in {entry.name}"
                allowed = f"{first.tool} with {Step(1, first.values).title}, as in {entries[0].name}"
                outside.Source(folder).refuse(value, allowed, "name a folder for each run, with one file of each VM")
        names = [f"vm{number}" for number in range(1, len(each) + 1)]
        figures = {name: one.figures for name, one in zip(names, each, strict=True)}
        yield Result(
            first.tool,
            Step(len(each), first.values),
            measured.together(figures),
            dict(zip(names, entries, strict=True)),
            {name: own.values for name, own in figures.items()},
            max(one.time for one in each),
            tuple(dict.fromkeys(note for one in each for note in one.figures.notes)),
        )


def _runs(path: Path) -> Iterable[_One]:
    """Return the runs in a file. Raises SourceError."""
    generator = load_runs.generator(outside.head(path))
    if generator is not None:
        found, notes = load_runs.read(path, generator)
        histogram = sysbench.histogram(path) if generator == "sysbench" and len(found) == 1 else {}
        return [_of_run(path, generator, run, histogram, notes) for run in found]
    if not io_points.recognises(path):
        allowed = "sysbench, pgbench, HammerDB, JSON of fio, HCIBench, Vdbench or CBT"
        hint = "check that the file is complete and in English"
        outside.Source(path).refuse("a file that no reader recognises", allowed, hint, "unknown-source")
    return _points(path)


def _of_run(path: Path, generator: str, run: LoadRun, histogram: Mapping[float, int], notes: Sequence[str]) -> _One:
    if run.is_aborted:
        outside.Source(path).refuse("a run that was aborted", "a complete run", "run it again")
    if run.is_of_files:
        hint = "import results of fio (JSON) for I/Os"
        outside.Source(path).refuse(f"a test of files by {generator} (fileio)", "a test of transactions", hint)
    if run.unread:
        hint = "replace the decimal commas of the file with points"
        outside.Source(path).refuse(f"a decimal comma: {run.unread}", "numbers with a decimal point", hint)
    if run.threads == 0:
        outside.Source(path).refuse("0 threads", "a run with at least one thread", "is this a run that failed?")
    figures = {key: run.figures[key] for key in FIGURES if run.figures.get(key, 0) > 0}
    if "throughput_per_s" not in figures:
        hint = "is the run complete, and a test of transactions?"
        outside.Source(path).lacks("no throughput", "transactions per second above 0", hint)
    if run.threads is None:
        hint = "keep the whole output, from its first line"
        outside.Source(path).lacks("no number of threads", "the load of the run", hint)
    if run.is_paced and run.rate is None:
        hint = f"{generator} does not print the rate: a plan with `kind: command` can state it"
        outside.Source(path).refuse("a run with a limit of its rate", "a run without a rate", hint)
    values: dict[str, int | float | str] = {"threads": run.threads}
    if run.rate is not None:
        values["rate"] = plain(run.rate)
    return _One(generator, path, values, Figures(figures, histogram or None, tuple(notes)), 1)


def _points(path: Path) -> Iterable[_One]:
    points, notes = io_points.read([path])
    tool = _tool(path)
    return [_of_point(tool, point, notes) for point in points]


def _of_point(tool: str, point: IoPoint, notes: Sequence[str]) -> _One:
    time = "" if point.time is None else point.time.isoformat(timespec="milliseconds")
    figures = Figures(dict(point.figures), notes=tuple(notes))
    return _One(tool, point.file, values_of(point), figures, point.vms, time)


def _tool(path: Path) -> str:
    """Return the name of the generator of a storage benchmark."""
    if outside.is_folder(path):
        return "CBT" if any(cbt.files(path)) else "HCIBench" if any(hcibench.summaries(path)) else "Vdbench"
    head = outside.head(path)
    return "fio" if fio_output.recognises(head) else "Vdbench" if vdbench.recognises(head) else "HCIBench"
