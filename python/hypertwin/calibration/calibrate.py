"""Fit of a scenario's parameters to measured points, with the confidence of the result.

Each row of the measured points is a scenario with its own seed. Every parameter set uses the same seeds (common random
numbers). `least_squares` does the fitting, without any knowledge of scenarios.

The seeds differ between points. Derivatives lose most of their noise, and a figure that is high by chance at one
point is not high at all points. The residuals therefore show this error.
"""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NoReturn, overload

from hypertwin import _core
from hypertwin.arguments import Option, asks
from hypertwin.calibration import measurements, parameters
from hypertwin.calibration.measurements import Cell, Row
from hypertwin.calibration.parameters import Parameter
from hypertwin.documents import calibration as documents
from hypertwin.errors import Argument, Mistake, RunError, ScenarioError, fail
from hypertwin.extras import needs
from hypertwin.files import reading
from hypertwin.ingest import outside
from hypertwin.metrics.words import some
from hypertwin.model_error import carried as model_error
from hypertwin.model_error import evidence, kinds, own
from hypertwin.model_error.interval import interval
from hypertwin.model_error.kinds import Area, Kind
from hypertwin.model_error.own import Own
from hypertwin.results.answers import Answer
from hypertwin.runs import simulation
from hypertwin.runs.options import Runs
from hypertwin.runs.runner import running
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Given, Scenario, load
from hypertwin.scenario.overrides import by_path, together

if TYPE_CHECKING:  # numpy and scipy take a second to import, which only a fit is worth
    from hypertwin.calibration.least_squares import Array, Data, Direction, Fit
    from hypertwin.records.calibration import CalibrationFields
else:
    CalibrationFields = object

EVALUATIONS = 200
"""Default maximum of parameter sets to try."""

LEAST_REPLICATIONS = 3
"""Minimum number of replications, from which the twin's own noise is estimated."""

SMALL_PART = 0.1
"""Fraction of the largest value in a column. Errors are relative to the value, but at least to this fraction."""

SMALL_PERCENTAGE = 10.0
"""Errors of percentages are relative to at least this many points."""

LIKE = 0.15
"""Tolerance of a combination's exponents to count as a product, ratio or sum."""

SHOWN_CHANGE = 0.1
"""Relative change that illustrates a combination."""

SYSTEMATIC_ROWS, SYSTEMATIC_PCT = 4, 3.0
"""Minimum number of values of a metric, and minimum mean error, for a report of errors with the same sign."""

MAX_TEXT = 10_000
"""Maximum characters of `calibrated_on` in a scenario."""

_SEED_BITS = (1 << 53) - 1
"""Maximum seed, so that every JSON reader keeps seeds exactly."""

_BENCHMARK = re.compile(rb'\A\x1f\x8b|"fio version"|^fio-[0-9]|^IOPS\s{0,40}= |^Datastore\s{0,40}[=:]', re.MULTILINE)
"""First bytes of a benchmark result, which a CSV file does not have. Gzip files also match."""

_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*\Z")


@dataclass(frozen=True)
class Fitted:
    """Parameter after the fit."""

    parameter: Parameter
    value: float
    interval: tuple[float, float] | None
    """95 % confidence interval in the parameter's unit, or None if the data do not bound it."""
    identified: bool
    """True if the data can separate the parameter from the others."""
    at_bound: bool
    kept: bool = False
    """True if the data do not determine the parameter, and it keeps its start value."""
    from_scenario: bool = True
    """True if the start value is that of the scenario, without overrides and bounds."""

    @property
    def written(self) -> bool:
        """True if the scenario itself does not have the value, so that a calibration file has to set it."""
        return not (self.kept and self.from_scenario)

    def to_dict(self) -> documents.Parameter:
        """Return the JSON form."""
        each = self.parameter
        return {
            "path": each.path,
            "unit": each.unit,
            "start": each.start,
            "value": self.value,
            "text": each.text(self.value),
            "interval": list(self.interval) if self.interval else None,
            "identified": self.identified,
            "low": each.low,
            "high": each.high,
            "at_bound": self.at_bound,
            "kept": self.kept,
            "written": self.written,
        }


@dataclass(frozen=True)
class Compared:
    """One measured value next to the twin's."""

    row: Row
    cell: Cell
    base: float
    """Reference value of errors: the measured value, or a minimum for small values."""
    before: float | None
    """Twin's value with the start parameters, or None for a held-out row."""
    twin: float
    twin_error: float | None
    """Standard error of the twin's mean over replications."""
    left_out: float | None
    """Prediction of a fit to the other rows, or None if they do not determine the parameters."""
    held_out: bool
    area: Area | None = None
    """Area of the twin on which the figure depends, or None if not simulated."""

    @property
    def model_error(self) -> tuple[Area, Kind, float] | None:
        """Error of the twin on the scale of `hypertwin.model_error`, or None without one.

        A fitted value counts as the fit to the other rows predicts it. Without such a prediction it counts as fitted: a
        fit of one point proves the bias at that point.
        """
        key = self.cell.metric.key
        kind = kinds.kind_of(key, self.area or "")
        twin = self.twin if self.held_out or self.left_out is None else self.left_out
        error = kinds.error(self.cell.value, twin, share=kinds.is_share(key))
        return None if self.area is None or kind is None or error is None else (self.area, kind, error)

    @overload
    def error_pct(self, value: float) -> float: ...
    @overload
    def error_pct(self, value: float | None) -> float | None: ...
    def error_pct(self, value: float | None) -> float | None:
        """Return the error of a prediction, in per cent of the base."""
        return None if value is None else 100 * (value - self.cell.value) / self.base

    def to_dict(self) -> documents.Value:
        """Return the JSON form."""
        return {
            "row": self.row.number,
            "name": self.row.name,
            "set": dict(self.row.settings),
            "metric": self.cell.metric.text,
            "unit": self.cell.metric.metric.unit,
            "measured": self.cell.value,
            "measured_error": self.cell.error,
            "twin": self.twin,
            "twin_error": self.twin_error,
            "error": self.twin - self.cell.value,
            "error_pct": self.error_pct(self.twin),
            "before": self.before,
            "before_error_pct": self.error_pct(self.before),
            "left_out": self.left_out,
            "left_out_error_pct": self.error_pct(self.left_out),
            "held_out": self.held_out,
        }


@dataclass(frozen=True, repr=False)
class Calibration(Answer[documents.Calibration], CalibrationFields):
    """Fitted parameters of a scenario, their match with the measurements, and inseparable parameters."""

    VIEWS: ClassVar[str] = "CALIBRATION"

    version: str
    scenario: str
    seed: int
    duration_s: float
    replications: int
    file: str
    fitted: tuple[Fitted, ...]
    compared: tuple[Compared, ...]
    """Every measured value, in the order of the file."""
    fit: Fit
    errors_known: bool
    changes: Mapping[str, Any]
    """Changes for all rows, except the fitted parameters."""
    previous: str | None
    """Data of an earlier calibration, as named in the scenario."""
    runs: int
    read_notes: tuple[str, ...] = ()
    """Notes on ignored measurements."""

    @property
    def settings(self) -> dict[str, Any]:
        """The fitted values by path, with units, as overrides of the scenario.

        Parameters that keep the scenario's value are not among them.
        """
        return {each.parameter.path: each.parameter.setting(each.value) for each in self.fitted if each.written}

    @property
    def overrides(self) -> dict[str, Any]:
        """`settings`, plus the statement about the calibration for reports."""
        return {**self.settings, "calibrated_on": self.calibrated_on}

    @property
    def calibrated_on(self) -> str:
        """Data of the calibration, in words."""
        rows = {each.row.number for each in self.compared if not each.held_out}
        metrics = dict.fromkeys(each.cell.metric.text for each in self.compared)
        texts = [f"{each.parameter.path} = {each.parameter.text(each.value)}" for each in self.fitted if not each.kept]
        values = ", ".join(texts) or "no parameter determined"
        previous = own.without(self.previous or "")
        kept = f"; other parameters: {previous}" if previous else ""
        plural = "" if len(rows) == 1 else "s"
        errors = own.text(self.model_errors)
        errors = f"; {errors}" if errors else ""
        text = f"{len(rows)} row{plural} of {Path(self.file).name} ({', '.join(metrics)}): {values}{kept}"
        return f"{text[: MAX_TEXT - len(errors)]}{errors}"

    @property
    def model_errors(self) -> Own:
        """Errors of the twin by area and kind, with those of an earlier calibration for other areas and kinds."""
        found: dict[tuple[Area, Kind], list[float]] = {}
        for each in self.compared:
            if error := each.model_error:
                found.setdefault(error[:2], []).append(error[2])
        return {**own.parse(self.previous), **found}

    def narrowed(self) -> list[documents.Narrowed]:
        """Return the intervals of the twin's own error that the measured points change."""
        rows = evidence.recorded()
        found: list[documents.Narrowed] = []
        for (area, kind), errors in self.model_errors.items():
            before, after = interval(rows, area, kind), interval(rows, area, kind, errors)
            if before and after:
                found.append(
                    {
                        "area": area,
                        "kind": kind,
                        "points": len(errors),
                        "before": before.text,
                        "after": after.text,
                    }
                )
        return found

    @property
    def inseparable(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Groups of parameters that the data cannot separate, each with an explanatory sentence."""
        found = []
        for each in self.fit.undetermined:
            there = [replace(one, value=float(value)) for one, value in zip(self.fitted, each.values, strict=True)]
            paths = tuple(self.fitted[index].parameter.path for index in each.direction.members)
            found.append((paths, describe(each.direction, there, each.kept)))
        return tuple(found)

    @property
    def notes(self) -> list[str]:
        """Notes on the figures, in sentences."""
        return [*self.read_notes, *self._notes()]

    def _notes(self) -> Iterator[str]:
        for _, text in self.inseparable:
            yield text
        for first, second, correlation in self.fit.correlations:
            names = (self.fitted[index].parameter.path for index in (first, second))
            yield (
                f"{' and '.join(names)} are hard to separate: their estimates are correlated by {correlation:.3f}, "
                "which widens the intervals."
            )
        for each in self.fitted:
            if each.at_bound and each.identified:
                yield (
                    f"{each.parameter.path} is at its bound, {each.parameter.text(each.value)}: the best value might "
                    "be beyond it, and no interval is valid there."
                )
        if not self.fit.converged:
            yield "The search ended before it settled: raise --evaluations."
        if self.fit.errors_explain is False:
            yield (
                f"The twin is {self.fit.error_scale:.1f} times as far from the measured values as their errors allow. "
                "Either the errors are larger, or the model lacks an effect. The intervals assume larger errors."
            )
        yield from self._systematic()
        if changed := [
            f"{each['area']} {each['kind']} from {each['before']} to {each['after']}" for each in self.narrowed()
        ]:
            yield (
                f"The measured points change the 80% intervals of the twin's own error: {', '.join(changed)}. Runs"
                " with these parameters use them."
            )
        if self.fit.degrees_of_freedom <= 0 and not self.errors_known:
            yield (
                "No intervals: as many parameters as measured values leave the errors unknown. Measure more, or give "
                "errors (METRIC.error, --error)."
            )
        if self.fit.degrees_of_freedom > 0 and all(
            each.left_out is None for each in self.compared if not each.held_out
        ):
            yield "No leave-one-out errors: without one row the others do not determine the parameters."

    def _systematic(self) -> Iterator[str]:
        """Yield the metrics that the twin overestimates in every row, or underestimates in every row.

        No free parameter explains such errors.
        """
        for text in dict.fromkeys(each.cell.metric.text for each in self.compared):
            used = [each for each in self.compared if each.cell.metric.text == text and not each.held_out]
            errors = [each.error_pct(each.twin) for each in used]
            mean = statistics.fmean(errors) if errors else 0.0
            if (
                len(errors) >= SYSTEMATIC_ROWS
                and abs(mean) > max(SYSTEMATIC_PCT, 2 * statistics.stdev(errors))
                and (max(errors) < 0 or min(errors) > 0)
            ):
                side = "above" if mean > 0 else "below"
                yield (
                    f"The twin's {text} is {side} the measurement in all {len(errors)} values, by "
                    f"{abs(mean):.0f} % on average: a parameter that was not freed is wrong, and no interval covers "
                    "that."
                )

    def metrics(self) -> list[documents.MetricErrors]:
        """Return the mean absolute error of each metric in per cent.

        There are four errors: before the fit, fitted, with the row of the value left out, and held out.
        """
        found: list[documents.MetricErrors] = []
        for text in dict.fromkeys(each.cell.metric.text for each in self.compared):
            same = [each for each in self.compared if each.cell.metric.text == text]
            used = [each for each in same if not each.held_out]
            found.append(
                {
                    "metric": text,
                    "unit": same[0].cell.metric.metric.unit,
                    "values": len(used),
                    "before_pct": _mean_size(each.error_pct(each.before) for each in used),
                    "fitted_pct": _mean_size(each.error_pct(each.twin) for each in used),
                    "left_out_pct": _mean_size(each.error_pct(each.left_out) for each in used),
                    "held_out_pct": _mean_size(each.error_pct(each.twin) for each in same if each.held_out),
                }
            )
        return found

    def to_dict(self) -> documents.Calibration:
        """Return the JSON form: {"version", "scenario", "parameters", "metrics", "points", "calibrated_on", ...}."""
        return {
            "version": self.version,
            "scenario": self.scenario,
            "seed": self.seed,
            "duration_s": self.duration_s,
            "replications": self.replications,
            "measurements": self.file,
            "calibrated_on": self.calibrated_on,
            "parameters": [each.to_dict() for each in self.fitted],
            "inseparable": [{"parameters": list(paths), "text": text} for paths, text in self.inseparable],
            "correlated": [
                {
                    "parameters": [self.fitted[index].parameter.path for index in (first, second)],
                    "correlation": correlation,
                }
                for first, second, correlation in self.fit.correlations
            ],
            "metrics": self.metrics(),
            "points": [each.to_dict() for each in self.compared],
            "model_error": self.narrowed(),
            "errors_known": self.errors_known,
            "errors_explain": self.fit.errors_explain,
            "residual_scale": self.fit.error_scale,
            "degrees_of_freedom": self.fit.degrees_of_freedom,
            "converged": self.fit.converged,
            "evaluations": self.fit.evaluations,
            "runs": self.runs,
            "notes": self.notes,
            "set": dict(self.changes),
        }


@dataclass(frozen=True, kw_only=True)
class Asked(Runs):
    """Options of a calibration."""

    measured: str | Path | Sequence[str | Path] = field(kw_only=False)
    """A CSV file of settings and metrics, or results of fio, HCIBench, Vdbench or CBT: files and folders."""
    free: Annotated[
        str | Sequence[str],
        Option("Fit this parameter, with optional bounds; one --free can list several.", "PATH[=LOW..HIGH]"),
    ]
    vm: Annotated[str | None, Option("VMs that ran the benchmark (default: those with `io`).", "NAME")] = None
    tails: Annotated[bool, Option("Also fit measured percentiles, not only means.")] = False
    holdout: Annotated[
        str | None, Option("Rows to predict instead of fitting: a share (20%) or numbers (3,7).", "ROWS")
    ] = None
    error: Annotated[str | None, Option("Standard deviation of measured values without METRIC.error.", "P%")] = None
    evaluations: Annotated[int, Option("Maximum parameter sets to try.", "N", most=100_000)] = EVALUATIONS
    progress: LabelledProgress | None = None
    """Function called with a label, the number of steps done, and the number of all steps."""


@asks(Asked)
def calibrate(scenario: Given, asked: Asked) -> Calibration:
    """Fit the parameters `free` of a scenario to the points in `measured`.

    `free` lists paths, with optional bounds (`workloads.web.cpu.mean=5ms..20ms`). `hypertwin.calibration.measurements`
    explains the columns of a CSV file. Percentiles of benchmarks are fitted only with `tails`. The seed determines the
    random rows of a share in `holdout`. Without an `error`, in the file or here, the residuals determine its size.

    Raises ScenarioError for problems in the scenario, the file or the arguments, and RunError when a run needed by the
    search fails.
    """
    needs("calibrate", "a calibration")
    import numpy as np

    from hypertwin.calibration import least_squares

    fixed = by_path(asked.overrides)
    base = load(scenario, together(fixed, asked.settings))
    free_parameters = parameters.parse([asked.free] if isinstance(asked.free, str) else asked.free, base)
    read = _read(asked.measured, base, asked.vm, asked.tails)
    used, held = _divided(read.rows, asked.holdout, int(base.data["run"]["seed"]), read.file)
    relative = None if asked.error is None else _share(asked.error, "error", "2%")
    _check(base, free_parameters, read, asked.replications, used, asked.evaluations)
    if asked.replications is None and int(base.data["run"]["replications"]) < LEAST_REPLICATIONS:
        base = load(base, {"run.replications": LEAST_REPLICATIONS})

    bases = _bases([cell for row in read.rows for cell in row.cells])
    cells = [cell for row in used for cell in row.cells]
    data = _data(used, bases, relative)
    low, high = (np.array([getattr(each, end) for each in free_parameters]) for end in ("low", "high"))
    start = np.array([each.start for each in free_parameters])
    with running(**asked.where):
        twin = _Twin(base, used, free_parameters, asked.progress)
        try:
            box = least_squares.Box(low, high)
            fit = least_squares.determined(twin, start, box, data, most_evaluations=asked.evaluations)
        except least_squares.NoValueError:
            twin.explain()
        fitted = _fitted(free_parameters, fit, _given(scenario) if fixed else base)
        held_twin = _Twin(base, held, free_parameters, asked.progress)
        held_out = dict(_held_out(held_twin, held, fitted)) if held else {}

    places = {id(cell): index for index, cell in enumerate(cells)}
    predicted: dict[int, tuple[float, float | None]] = {
        id(cell): (float(fit.predicted[index]), _finite(fit.noise[index])) for index, cell in enumerate(cells)
    }
    predicted.update(held_out)
    compared = [
        Compared(
            row=row,
            cell=cell,
            base=bases[id(cell)],
            before=float(fit.at_start[places[id(cell)]]) if id(cell) in places else None,
            twin=predicted[id(cell)][0],
            twin_error=predicted[id(cell)][1],
            left_out=_finite(fit.left_out[places[id(cell)]]) if id(cell) in places else None,
            held_out=id(cell) not in places,
            area=(twin.areas | (held_twin.areas if held else {})).get((row.number, cell.metric.text)),
        )
        for row in read.rows
        for cell in row.cells
    ]
    return Calibration(
        version=_core.version(),
        scenario=base.name,
        seed=int(base.data["run"]["seed"]),
        duration_s=twin.duration_s,
        replications=int(base.data["run"]["replications"]),
        file=read.file,
        fitted=fitted,
        compared=tuple(compared),
        fit=fit,
        errors_known=data.known,
        changes=fixed,
        previous=base.data.get("calibrated_on"),
        runs=twin.runs,
        read_notes=(*read.notes, *twin.unsettled()),
    )


def _read(
    measured: str | Path | Sequence[str | Path], base: Scenario, vm: str | None, tails: bool
) -> measurements.Measurements:
    """Return the measured points of a CSV file, or of results of benchmarks."""
    files = [Path(each) for each in ([measured] if isinstance(measured, str | Path) else measured)]
    tables = [file for file in files if _is_table(file)]
    if not tables:
        needs("telemetry", "reading results of benchmarks")
        from hypertwin.calibration import io_points

        return io_points.read(files, base, vm, tails)
    if len(files) > 1:
        allowed = "JSON of fio, or results of HCIBench, Vdbench or CBT"
        hint = "give one CSV file, or results of benchmarks: fio with --output-format=json"
        fail("unknown-source", "", "neither, beside other files", allowed, hint, str(tables[0]))
    for given, argument in ((vm, "vm"), (tails, "tails")):
        if given:
            hint = "omit it: a CSV file names its columns"
            fail(
                "unlike-benchmark",
                "",
                str(files[0]),
                "results of fio, HCIBench, Vdbench or CBT",
                hint,
                Argument(argument),
            )
    return measurements.read(files[0], base)


def _is_table(path: Path) -> bool:
    """True if the file is not a benchmark result, and so can only be a CSV file."""
    if outside.is_folder(path):
        return False
    try:
        with reading.opened(path) as file:
            return _BENCHMARK.search(file.read(outside.HEAD_BYTES)) is None
    except (OSError, ValueError):  # its reader says what is wrong
        return True


def describe(direction: Direction, fitted: Sequence[Fitted], kept: int | None = None) -> str:
    """Return a sentence on parameters that the data cannot separate, and the combination that matters.

    `kept` is the parameter that keeps its start value, if there is one.
    """
    members = [fitted[index] for index in direction.members]
    names = [each.parameter.path for each in members]
    if len(members) == 1:
        return (
            f"The data do not determine {names[0]}: near the fitted values a change of it does not change the "
            f"measured figures. {_outcome(members, fitted, kept)} Set it from a data sheet, or measure "
            "where it matters."
        )
    moves = [
        _move(each, float(direction.change[index])) for index, each in zip(direction.members, members, strict=True)
    ]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"The data cannot separate {listed}: only {_combination(direction, members)} matters. For example "
        f"{' with '.join(moves)} changes no measured figure. {_outcome(members, fitted, kept)} Set one of them "
        "from a data sheet, or measure a figure that depends on one alone."
    )


def _outcome(members: Sequence[Fitted], fitted: Sequence[Fitted], kept: int | None) -> str:
    """Return what became of parameters that the data cannot separate."""
    if kept is None:
        if len(members) > 1:
            return "Start values fit the data worse, so all have fitted values. Their intervals are unbounded."
        return "Its start value fits the data worse, so it has a fitted value. Its interval is unbounded."
    each = fitted[kept].parameter
    if len(members) == 1:
        return f"It keeps its start value, {each.text(each.start)}, and its interval is unbounded."
    return f"{each.path} keeps its start value, {each.text(each.start)}, and other intervals hold with this value only."


def _combination(direction: Direction, members: Sequence[Fitted]) -> str:
    changes = [float(direction.change[index]) for index in direction.members]
    if len(members) != 2 or any(each.parameter.low <= 0 for each in members):
        return "a combination of them"
    absolute = [change * each.value for change, each in zip(changes, members, strict=True)]
    largest = max(map(abs, absolute))
    kinds = [
        ("product", abs(changes[0] + changes[1]) < LIKE),
        ("ratio", abs(changes[0] - changes[1]) < LIKE),
        (
            "sum",
            members[0].parameter.unit == members[1].parameter.unit and abs(absolute[0] + absolute[1]) < LIKE * largest,
        ),
    ]
    named = [f"their {name}" for name, fits in kinds if fits]
    return " or ".join(named) or "a combination of them"


def _move(fitted: Fitted, change: float) -> str:
    each = fitted.parameter
    if each.low > 0:
        return f"{each.path} {100 * math.expm1(SHOWN_CHANGE * change):+.1f} %"
    return f"{each.path} {SHOWN_CHANGE * change * (each.high - each.low):+.3g} {each.unit}".rstrip()


class _Twin:
    """Fitted function, from parameter values to the value of every cell in every replication."""

    def __init__(
        self,
        base: Scenario,
        rows: Sequence[Row],
        free: Sequence[Parameter],
        progress: LabelledProgress | None,
    ) -> None:
        self.rows, self.free, self.progress = rows, free, progress
        self.replications = int(base.data["run"]["replications"])
        self.evaluations = self.runs = 0
        self.failure: Exception | None = None
        """Reason why the function had no value in the last call."""
        self.areas: dict[tuple[int, str], Area] = {}
        """Area of each metric in each row, in the last run."""
        self.unsteady: dict[int, str] = {}
        """Rows with an unsteady run in the last call, and the reason."""
        seed = int(base.data["run"]["seed"])
        scenarios = [self._of_row(base, row, seed) for row in rows]
        # times are those of the start, so that the function is of the parameters alone
        points = [simulation.Point(row.settings, scenario) for row, scenario in zip(rows, scenarios, strict=True)]
        self.scenarios = [point.scenario for point in simulation.settled(points, progress=self._progress()).points]

    @property
    def duration_s(self) -> float:
        """The longest measured time of a row."""
        return max((_core.duration_s(each.run["duration"]) for each in self.scenarios), default=0.0)

    def _of_row(self, base: Scenario, row: Row, seed: int) -> Scenario:
        # rows share no random numbers: a value that is high by chance in one should not be high in all
        own = {"run.seed": _core.replication_seed(seed, row.number) & _SEED_BITS}
        try:
            return load(base, {**row.settings, **own})
        except ScenarioError as error:
            raise measurements.at(error, row.location) from None

    def __call__(self, places: Sequence[Array]) -> list[Array | None]:
        """See `least_squares.Function`."""
        points: list[simulation.Point] = []
        starts: list[int | None] = []
        for values in places:
            try:
                changed = self._points(values)
            except ScenarioError as error:
                self.failure = error
                starts.append(None)
            else:
                starts.append(len(points))
                points.extend(changed)
        carriers = model_error.carriers(point.scenario.data for point in points)
        measured: dict[tuple[int, int], list[float | None]] = {}
        failed: set[int] = set()
        self.unsteady = {}

        def done(index: int, k: int, replication: _core.Replication) -> None:
            text = _core.aggregate([replication])
            report, errors = json.loads(text), carriers[index].at(text)
            row = self.rows[index % len(self.rows)]
            measured[index, k] = [cell.metric.read(report) for cell in row.cells]
            for metric in (cell.metric for cell in row.cells):
                area = errors.area(report, metric.section, metric.entity, metric.key)
                self.areas[row.number, metric.text] = area
            if report["verdict"]["steady"] == "not-steady" and not report["verdict"]["reason"]["by_design"]:
                self.unsteady[row.number] = report["verdict"]["reason"]["text"]

        def overloaded(index: int, error: RunError) -> None:
            self.failure = error
            failed.add(index)

        tasks = [(index, k) for index in range(len(points)) for k in range(self.replications)]
        self.evaluations += len(places)
        self.runs += len(tasks)
        if tasks:
            simulation.run_replications(points, tasks, done, progress=self._progress(), failed=overloaded)
        return [None if start is None else self._values(start, measured, failed) for start in starts]

    def _points(self, values: Array) -> list[simulation.Point]:
        changes = {each.path: each.setting(float(value)) for each, value in zip(self.free, values, strict=True)}
        return [
            simulation.Point({**row.settings, **changes}, load(scenario, changes))
            for row, scenario in zip(self.rows, self.scenarios, strict=True)
        ]

    def _values(
        self, start: int, measured: Mapping[tuple[int, int], Sequence[float | None]], failed: set[int]
    ) -> Array | None:
        import numpy as np

        indices = range(start, start + len(self.rows))
        if failed.intersection(indices):
            return None
        replications = []
        for k in range(self.replications):
            values: list[float] = []
            for row, index in zip(self.rows, indices, strict=True):
                for cell, value in zip(row.cells, measured[index, k], strict=True):
                    if value is None:
                        self.failure = _unmeasured(row, cell)
                        return None
                    values.append(value)
            replications.append(values)
        return np.array(replications)

    def unsettled(self) -> Iterator[str]:
        """Yield the rows that were fitted to unsteady runs, as a sentence."""
        if self.unsteady:
            row, why = min(self.unsteady.items())
            rows = some([str(row) for row in sorted(self.unsteady)])
            yield (
                f"The twin is not steady in row{'s' if len(self.unsteady) > 1 else ''} {rows} ({why}, in row {row}): "
                "its figures depend on the length of the run. Set the duration of the measurement."
            )

    def explain(self) -> NoReturn:
        """Raise the error that left the function without a value."""
        raise self.failure or RuntimeError("no value, and no reason for it")

    def _progress(self) -> simulation.Progress | None:
        tell = self.progress
        if tell is None:
            return None
        label = f"{self.evaluations} sets of parameters"
        return lambda done, total: tell(label, done, total)


def _unmeasured(row: Row, cell: Cell) -> ScenarioError:
    hint = "simulate longer (`duration`), or leave the cell empty"
    allowed = "a figure that every run of this point has"
    value = f"the twin has no {cell.metric.text} in row {row.number}"
    return ScenarioError.of([Mistake("not-measurable", "", value, allowed, hint, row.location)])


def _check(
    base: Scenario,
    free: Sequence[Parameter],
    read: measurements.Measurements,
    replications: int | None,
    used: Sequence[Row],
    evaluations: int,
) -> None:
    """Reject unsuitable inputs before any simulation."""
    if replications is not None and replications < 2:
        hint = "one run shows no variance; omit it for the scenario's own number, or 3"
        fail("out-of-range", "replications", replications, "2 or more", hint)
    least = 2 + 2 * len(free)
    if evaluations < least:
        hint = f"a search takes about {10 * (1 + 2 * len(free))}"
        fail("out-of-range", "evaluations", evaluations, f"{least} or more for these parameters", hint)
    for each in free:
        for row in read.rows:
            if each.path in row.settings:
                hint = "free something else, or remove the column"
                fail("duplicate-key", "", each.path, "a path that is either set or fitted", hint, row.location)
        for end in (each.low, each.high):
            try:
                load(base, {each.path: each.setting(end)})
            except ScenarioError as error:
                raise measurements.at(
                    error, Argument("free", f"{each.path}={each.text(each.low)}..{each.text(each.high)}")
                ) from None
    values = sum(len(row.cells) for row in used)
    if values < len(free):
        hint = "measure more points or metrics, or free fewer parameters"
        fail(
            "too-few-values", "", f"{values} for {len(free)} parameters", "at least one per parameter", hint, read.file
        )


def _divided(rows: Sequence[Row], holdout: str | None, seed: int, file: str) -> tuple[list[Row], list[Row]]:
    """Return rows to fit and rows to hold out. Rows without values are in neither.

    A row to fit with some predicted values is in both, each time with its own values.
    """
    used, held = _chosen([row for row in rows if row.cells], holdout, seed, file)
    for row in used:
        if predicted := tuple(cell for cell in row.cells if cell.held):
            held.append(replace(row, cells=predicted))
    used = [replace(row, cells=tuple(cell for cell in row.cells if not cell.held)) for row in used]
    return [row for row in used if row.cells], held


def _chosen(full: Sequence[Row], holdout: str | None, seed: int, file: str) -> tuple[list[Row], list[Row]]:
    if holdout is None:
        return list(full), []
    text = holdout.strip().removeprefix("rows").strip()
    if text.endswith("%"):
        share = _share(text, "holdout", "20%")
        count = round(share * len(full))
        if not 0 < count < len(full):
            allowed = f"a share that leaves out 1 to {len(full) - 1} of {len(full)} rows"
            fail("out-of-range", "holdout", holdout, allowed, "for example 20%, or numbers of rows: 3,7")
        drawn = set(random.Random(seed).sample(range(len(full)), count))
        return [row for index, row in enumerate(full) if index not in drawn], [full[index] for index in sorted(drawn)]
    parts = [part.strip() for part in text.split(",")]
    numbers = {int(part) for part in parts if part.isdecimal()}
    if not all(part.isdecimal() for part in parts):
        fail("bad-override", "holdout", holdout, "a share or numbers of rows", "for example 20%, or 3,7")
    known = {row.number for row in full}
    if numbers - known:
        allowed = f"rows of {file} with values: {', '.join(map(str, sorted(known)[:20]))}"
        fail("out-of-range", "holdout", min(numbers - known), allowed, "rows count from 1, below the names")
    if numbers == known:
        fail("out-of-range", "holdout", holdout, "fewer than all rows", "leave some to fit")
    return [row for row in full if row.number not in numbers], [row for row in full if row.number in numbers]


def _share(text: str, argument: str, example: str) -> float:
    found = _PERCENT.match(text)
    if found is None or not 0 < float(found[1]) <= 100:
        fail(
            "bad-quantity", argument, text or "nothing", "a percentage above 0 %, up to 100 %", f"for example {example}"
        )
    return float(found[1]) / 100


def _bases(cells: Sequence[Cell]) -> dict[int, float]:
    """Return reference value of each cell's error."""
    largest: dict[str, float] = {}
    for cell in cells:
        largest[cell.metric.text] = max(largest.get(cell.metric.text, 0.0), abs(cell.value))
    return {
        id(cell): max(
            abs(cell.value),
            SMALL_PART * largest[cell.metric.text],
            SMALL_PERCENTAGE if cell.metric.metric.unit == "%" else 0.0,
        )
        or 1.0
        for cell in cells
    }


def _data(rows: Sequence[Row], bases: Mapping[int, float], relative: float | None) -> Data:
    import numpy as np

    from hypertwin.calibration.least_squares import Data

    cells = [(row, cell) for row in rows for cell in row.cells]
    given = [cell.error is not None for _, cell in cells]
    if any(given) and not all(given) and relative is None:
        row, cell = next(pair for pair, known in zip(cells, given, strict=True) if not known)
        allowed = "an error for every measured value, or for none"
        hint = "fill the cell, or set the error of all others: --error 2%"
        where = f"{row.location}: column {cell.metric.text}{measurements.ERROR}"
        fail("missing-key", "", "(missing)", allowed, hint, where)
    factor = relative or 1.0
    return Data(
        measured=np.array([cell.value for _, cell in cells]),
        error=np.array([cell.error if cell.error is not None else factor * bases[id(cell)] for _, cell in cells]),
        known=all(given) or relative is not None,
        rows=np.array([row.number for row, _ in cells], dtype=np.int64),
    )


def _given(scenario: Given) -> Scenario | None:
    """Return the scenario without overrides, or None if it is not valid without them."""
    try:
        return load(scenario)
    except ScenarioError:
        return None


def _fitted(free: Sequence[Parameter], fit: Fit, given: Scenario | None) -> tuple[Fitted, ...]:
    lost = fit.kept.union(*(each.members for each in fit.free_directions))
    return tuple(
        Fitted(
            parameter=parameter,
            value=float(fit.values[index]),
            interval=None if fit.at_bound[index] else fit.intervals[index],
            identified=index not in lost,
            at_bound=fit.at_bound[index],
            kept=index in fit.kept,
            from_scenario=given is not None and parameters.is_from(given, parameter),
        )
        for index, parameter in enumerate(free)
    )


def _held_out(
    twin: _Twin, rows: Sequence[Row], fitted: Sequence[Fitted]
) -> Iterator[tuple[int, tuple[float, float | None]]]:
    """Yield the twin's values of held-out rows, by the identity of their cells."""
    import numpy as np

    (values,) = twin([np.array([each.value for each in fitted])])
    if values is None:
        twin.explain()
    cells = [cell for row in rows for cell in row.cells]
    for index, cell in enumerate(cells):
        column = values[:, index]
        yield id(cell), (float(column.mean()), float(column.std(ddof=1) / math.sqrt(len(column))))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _mean_size(errors: Iterator[float | None]) -> float | None:
    known = [abs(each) for each in errors if each is not None]
    return statistics.fmean(known) if known else None
