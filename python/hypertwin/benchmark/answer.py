"""Entry points: predict, check, run, resume, import and report a campaign."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from hypertwin import _core
from hypertwin import scenario as scenarios
from hypertwin.arguments import asks, checked
from hypertwin.benchmark import campaign, checks, exports, fitted, judged, prediction
from hypertwin.benchmark import folder as folders
from hypertwin.benchmark import plan as plans
from hypertwin.benchmark.campaign import Campaign
from hypertwin.benchmark.folder import CALIBRATION, Folder
from hypertwin.benchmark.load.imported import Imported
from hypertwin.benchmark.options import Execute, Import, Predict
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.shell import Shells
from hypertwin.calibration import file as calibration_file
from hypertwin.documents import benchmark as documents
from hypertwin.errors import HypertwinError, ScenarioError, fail
from hypertwin.extras import installed, needs
from hypertwin.metrics.words import count
from hypertwin.results.answers import Document
from hypertwin.runs.runner import running
from hypertwin.runs.simulation import LabelledProgress, Progress
from hypertwin.scenario import Scenario
from hypertwin.scenario.overrides import by_path, together

if TYPE_CHECKING:
    from hypertwin.records.benchmark import BenchmarkFields, CheckFields
else:  # attributes for type checkers only
    BenchmarkFields = CheckFields = object

MAX_NOTES = 12
"""Maximum number of notes on the output of runs in an answer."""


@dataclass(frozen=True, repr=False)
class Benchmark(Document[documents.Benchmark], BenchmarkFields):
    """Campaign with its prediction, its runs, and the comparison."""

    VIEWS: ClassVar[str] = "BENCHMARK"


@dataclass(frozen=True, repr=False)
class Ready(Document[documents.Check], CheckFields):
    """Checks of the targets of a campaign."""

    VIEWS: ClassVar[str] = "BENCHMARK_CHECK"


@asks(Predict)
def predict_benchmark(plan: str | Path, options: Predict) -> Benchmark:
    """Make the folder of a campaign, and predict each step before anything is measured.

    A plan with a calibration step is predicted by `run_benchmark`, between that step and the others, unless
    `calibration` is given. Raises ScenarioError, RunError.
    """
    needs("telemetry", "a benchmark")
    asked = plans.read(plan)
    _check_runnable(asked, plan)
    scenario = scenarios.load(asked.scenario, together(by_path(options.overrides), options.settings))
    found = {} if options.calibration is None else calibration_file.read(options.calibration)
    scenario = scenario.with_overrides(found) if found else scenario
    prediction.check(asked, scenario, str(plan))
    folder = Folder.create(Path(options.out), asked, scenario, Path(plan).parent)
    if asked.calibrate is None or found:
        with running(**options.where):
            _predict(folder, asked, scenario, [], options.progress)
    return Benchmark(_document(folder, asked))


@checked
def check_benchmark(plan: str | Path) -> Ready:
    """Check the targets of a plan, or of the folder of a campaign: programs, space, clocks, and other load."""
    needs("telemetry", "a benchmark")
    path = Path(plan)
    asked = Folder.open(path).plan() if path.is_dir() else plans.read(path)
    _check_runnable(asked, plan)
    base = Path(str(Folder(path).state["base"])) if path.is_dir() else path.parent
    with Shells(base).opened() as shells:
        found = checks.check(asked, shells)
    return Ready(_checked(asked, found))


@asks(Execute)
def run_benchmark(folder: str | Path, options: Execute) -> Benchmark:
    """Run a campaign, or go on with it: check, make data, calibrate, predict, measure, compare, remove.

    Runs that are complete are not repeated. Raises TargetError or CampaignError if it cannot go on.
    """
    needs("telemetry", "a benchmark")
    place = Folder.open(Path(folder))
    plan = place.plan()
    _check_runnable(plan, folder)
    base = Path(str(place.state["base"]))
    with place.locked(), running(**options.where), Shells(base).opened() as shells:
        work = Campaign(place, plan, shells, options.progress)
        if options.clean:
            work.remove()
            return Benchmark(_document(place, plan))
        failed: HypertwinError | None = None
        if place.predicted() is None or (options.until is None and work.pending()):
            work.check(install=options.install)
            place.change(check=_checked(plan, work.checked) if work.checked else None)
            _measured(work, place, plan, options)
        if not options.keep and options.until is None:
            try:
                work.remove()
            except HypertwinError as error:
                failed = error  # what was measured is written first
        document = _document(place, plan, propose=True)
    _write(place, document, plan)
    if failed is not None:
        raise failed
    return Benchmark(document)


@asks(Import)
def import_benchmark(scenario: scenarios.Given, options: Import) -> Benchmark:
    """Predict and judge a campaign that ran elsewhere, from the output of its load generators.

    Each of the results is a file, or a folder with one file of each VM. The prediction is younger than the runs, so it
    proves nothing. With `free`, the first step sets parameters, and only the other steps count. Raises ScenarioError.
    """
    needs("telemetry", "a benchmark")
    from hypertwin.benchmark import imported

    free = [options.free] if isinstance(options.free, str) else list(options.free)
    if free:
        needs("calibrate", "fitting parameters")
    given = scenarios.load(scenario, together(by_path(options.overrides), options.settings))
    results = [options.results] if isinstance(options.results, str | Path) else list(options.results)
    with tempfile.TemporaryDirectory() as kept_by_none, running(**options.where):
        folder = Path(kept_by_none if options.out is None else options.out)
        place, plan = imported.make(folder, given, results, options.group, options.vms, free)
        if plan.calibrate is not None:
            _calibrate(place, plan, options.progress)
        _predict(place, plan, place.scenario(), [step.name for step in plan.steps], options.progress)
        document = _document(place, plan, propose=True)
        _write(place, document, plan)
    return Benchmark(document)


@checked
def report_benchmark(folder: str | Path) -> Benchmark:
    """Return the comparison of what a campaign has measured so far with its prediction."""
    needs("telemetry", "a benchmark")
    place = Folder.open(Path(folder))
    return Benchmark(_document(place, place.plan(), propose=True))


def _check_runnable(plan: Plan, source: str | Path) -> None:
    """Raise ScenarioError for an imported campaign, which has nothing to run."""
    if isinstance(plan.load, Imported):
        hint = "`hypertwin benchmark report FOLDER` compares its runs"
        fail("imported-campaign", "load.kind", plan.load.kind, "a load that can run", hint, str(source))


def _measured(work: Campaign, place: Folder, plan: Plan, options: Execute) -> None:
    """Measure the calibration step, predict, and measure all other runs."""
    try:
        work.prepare()
        if place.predicted() is None:
            before = () if plan.calibrate is None else plan.calibrate.steps
            first = [(repeat, step) for repeat, step in work.pending() if step in before]
            work.measure(first)
            if plan.calibrate is not None:
                _calibrate(place, plan, options.progress)
            _predict(place, plan, place.scenario(), [step.name for step in before], options.progress)
        if options.until is None:
            work.measure(work.pending())
    except BaseException:
        work.stop()
        raise


def _calibrate(place: Folder, plan: Plan, progress: LabelledProgress | None) -> None:
    """Fit the free parameters to the calibration step."""
    assert plan.calibrate is not None
    scenario = scenarios.load(place.path / folders.SCENARIO)
    runs = [(step, place.runs(step, plan.repeats)) for step in plan.calibrate.steps]
    place.write("calibration.csv", fitted.measurements(plan, scenario, runs))
    found = fitted.fit(plan, scenario, place.path / "calibration.csv", progress)
    place.write(CALIBRATION, calibration_file.render(found.to_dict()))
    place.write_json(
        "calibration.json",
        {each.parameter.path: each.parameter.text(each.value) for each in found.fitted if not each.kept},
    )


def _predict(
    place: Folder, plan: Plan, scenario: Scenario, before: list[str], progress: LabelledProgress | None
) -> None:
    told: Progress | None = None if progress is None else partial(progress, "predicting")
    place.write_prediction(dict(prediction.predict(plan, scenario, before, told)))


def _document(place: Folder, plan: Plan, *, propose: bool = False) -> documents.Benchmark:
    """Return the whole answer."""
    predicted = place.predicted()
    before = [] if predicted is None else list(predicted["measured_before"])
    is_imported = isinstance(plan.load, Imported)
    if is_imported:  # all its steps were measured before, and only one can have set parameters
        before = [] if plan.calibrate is None else [step.name for step in plan.calibrate.steps]
    by_name = {} if predicted is None else {each["name"]: each for each in predicted["steps"]}
    runs = {step.name: place.runs(step, plan.repeats) for step in plan.steps}
    steps = [
        judged.step(plan, step, runs[step.name], by_name.get(step.name), calibration=step.name in before)
        for step in plan.steps
    ]
    later = [run["started"] for step in steps if not step["calibration"] for run in step["runs"] if run["started"]]
    first = min((run["started"] for each in runs.values() for run in each if run["started"]), default=None)
    at = None if predicted is None else str(predicted["time"])
    found: documents.Benchmark = {
        "version": _core.version(),
        "name": plan.name,
        "group": plan.group,
        "load": plan.load.title,
        "targets": [target.name for target in plan.targets],
        "predicted_at": at,
        "prediction_sha256": None if predicted is None else (place.path / folders.HASH).read_text("ascii").split()[0],
        "first_run": first,
        "blind": not is_imported and at is not None and all(at <= each for each in later),
        "calibrated_on": None if predicted is None else predicted["calibrated_on"],
        "steps": steps,
        "missing": [] if is_imported else judged.missing(plan, {name: len(each) for name, each in runs.items()}),
        "scores": judged.scores(steps),
        "knee_measured": judged.knee(judged.loads(steps, "measured", plan.load.factors)),
        "knee_predicted": judged.knee(judged.loads(steps, "predicted", plan.load.factors)),
        "proposals": [],
        "notes": [],
    }
    proposals, notes = _proposals(place, plan, runs) if propose and not found["missing"] else ([], [])
    found["proposals"] = proposals
    if predicted is not None and predicted["plan_sha256"] != hashlib.sha256(plan.text.encode()).hexdigest():
        notes = ["The plan was changed after the prediction, so both may have different loads.", *notes]
    found["notes"] = [*notes, *_notes(found)]
    return found


def _proposals(
    place: Folder, plan: Plan, runs: Mapping[str, Sequence[documents.Run]]
) -> tuple[list[documents.Proposal], list[str]]:
    """Return the parameters that fit all steps. The fit is kept in the folder."""
    if plan.calibrate is None or not installed("calibrate"):
        return [], []
    kept = place.json("proposals.json")
    scenario = place.scenario()
    text = fitted.measurements(plan, scenario, [(step, runs[step.name]) for step in plan.steps])
    key = hashlib.sha256((text + scenario.json + _core.build()).encode()).hexdigest()
    if isinstance(kept, dict) and kept.get("key") == key:
        return kept["proposals"], kept["notes"]
    place.write("measured.csv", text)
    try:
        found = fitted.fit(plan, scenario, place.path / "measured.csv")
    except ScenarioError as error:
        return [], [f"No parameters could be fitted to all steps: {error.mistakes[0].value}."]
    proposals = fitted.proposals(found, scenario)
    place.write_json("proposals.json", {"key": key, "proposals": proposals, "notes": list(found.notes)})
    return proposals, list(found.notes)


def _notes(found: documents.Benchmark) -> list[str]:
    notes = []
    if found["predicted_at"] is None:
        notes.append("Nothing is predicted yet. `hypertwin benchmark run` measures the calibration step first.")
    if found["missing"]:
        notes.append(f"Not measured: {'; '.join(found['missing'][:8])}.")
    steps = [step for step in found["steps"] if not step["calibration"]]
    noisy = sum(figure["promise"] == judged.NO_VERDICT for step in steps for figure in step["figures"])
    if noisy:
        limit = f"{judged.MAX_SPREAD_PCT:g}%"
        notes.append(f"No verdict, because repeats differ by more than {limit}: {count(noisy, 'figure')}.")
    disturbed = [
        f"{step['title']}, repeat {run['repeat']}: {'; '.join(run['disturbed'])}"
        for step in found["steps"]
        for run in step["runs"]
        if run["disturbed"]
    ]
    if disturbed:
        notes.append(f"Disturbed runs: {'. '.join(disturbed[:8])}.")
    return [*notes, *_of_runs(found["steps"])]


def _of_runs(steps: Sequence[documents.Step]) -> Iterator[str]:
    """Yield each note on the output of runs once, with the runs that have it."""
    by_note: dict[str, list[str]] = {}
    runs = [(f"{step['title']}, repeat {run['repeat']}", run) for step in steps for run in step["runs"]]
    for name, run in runs:
        for note in run["notes"]:
            by_note.setdefault(note, []).append(name)
    for note, names in list(by_note.items())[:MAX_NOTES]:
        more = f" and {count(len(names) - 1, 'more run')}" if len(names) > 1 else ""
        yield f"{'All runs' if len(names) == len(runs) else names[0] + more}: {note}."
    if len(by_note) > MAX_NOTES:
        yield f"{count(len(by_note) - MAX_NOTES, 'more note')} on runs: each run.json has its own."


def _checked(plan: Plan, found: checks.Checked) -> documents.Check:
    return {
        "version": _core.version(),
        "name": plan.name,
        "machines": [
            {
                "name": each.name,
                "hostname": each.hostname,
                "kernel": each.kernel,
                "cpus": each.cpus,
                "free_gib": None if each.free_bytes is None else each.free_bytes / 2**30,
                "busy_pct": each.busy_pct,
                "steal_pct": each.steal_pct,
                "offset_ms": 1000 * each.offset_s,
                "versions": dict(each.versions),
            }
            for each in found.facts.values()
        ],
        "findings": [
            {"severity": each.severity, "target": each.target, "text": each.text, "fix": each.fix}
            for each in found.findings
        ],
        "ok": not found.errors,
    }


def _write(place: Folder, document: documents.Benchmark, plan: Plan) -> None:
    """Write the results beside the raw output."""
    place.write_json(folders.RESULTS, document)
    frame = exports.table(document["steps"])
    if frame.height:
        frame.write_parquet(place.path / folders.TABLE)
    exports.study(place, place.scenario(), document, plan.load.title)


def dry_run(plan: str | Path) -> str:
    """Return every command that a campaign would run, with its shell text."""
    asked = plans.read(plan)
    _check_runnable(asked, plan)
    parts = [
        f"# {purpose}\n$ {words}\n{text}\n"
        for purpose, words, text in campaign.commands(asked, Shells(Path(plan).parent))
    ]
    return "\n".join(parts)
