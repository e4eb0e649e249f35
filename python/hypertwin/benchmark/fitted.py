"""Calibration within a campaign: from the calibration step before the prediction, and from all steps afterwards."""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.step import Step
from hypertwin.calibration.calibrate import Calibration, calibrate
from hypertwin.documents import benchmark as documents
from hypertwin.files.yaml_writing import to_yaml
from hypertwin.metrics.metric_path import dotted
from hypertwin.runs.simulation import LabelledProgress
from hypertwin.scenario import Scenario

LEAST_ERROR = 0.01
"""Least relative error of a measured mean [an assumption: repeats in one session share their surroundings]."""


def measurements(plan: Plan, scenario: Scenario, runs: Sequence[tuple[Step, Sequence[documents.Run]]]) -> str:
    """Return the runs as a file of measured points: a row for each step, with errors from its repeats."""
    rows: list[dict[str, Any]] = []
    for step, own in runs:
        if not own:
            continue
        settings = plan.load.settings(step, scenario, plan.group)
        row: dict[str, Any] = {"name": step.title, **{path: _cell(value) for path, value in settings.items()}}
        for key in (plan.calibrate.figures if plan.calibrate else ()) or plan.load.fitted:
            values = [run["figures"][key] for run in own if key in run["figures"]]
            if len(values) == len(own) and statistics.fmean(values) > 0:
                path = f"groups.{plan.group}.{dotted(key)}"
                row[path] = f"{statistics.fmean(values):.9g}"
                row[f"{path}.error"] = f"{_error(values):.9g}"
        rows.append(row)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def fit(
    plan: Plan, scenario: Scenario, file: Path, progress: LabelledProgress | None = None, **options: Any
) -> Calibration:
    """Return the fit of the plan's free parameters to a file of measured points. Raises ScenarioError, RunError."""
    assert plan.calibrate is not None
    return calibrate(scenario, measured=file, free=plan.calibrate.free, progress=progress, **options)


def proposals(found: Calibration, used: Scenario) -> list[documents.Proposal]:
    """Return each fitted parameter beside the value that the prediction used."""
    answer: list[documents.Proposal] = []
    for each in found.fitted:
        path, unit = each.parameter.path, each.parameter.unit
        ends = each.interval
        answer.append(
            {
                "path": path,
                "used": each.parameter.text(each.parameter.start),
                "fitted": each.parameter.text(each.value),
                "interval": f"{ends[0]:.4g} to {ends[1]:.4g} {unit}".strip() if ends else "unbounded",
                "differs": ends is not None and not ends[0] <= each.parameter.start <= ends[1],
                "identified": each.identified,
            }
        )
    return answer


def _error(values: Sequence[float]) -> float:
    """Return the standard error of a mean of repeats."""
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return max(spread, LEAST_ERROR * mean)


def _cell(value: object) -> object:
    """Return the value of a setting as a cell."""
    return to_yaml(value).strip() if isinstance(value, list | dict) else value
