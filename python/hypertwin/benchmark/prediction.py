"""Prediction of all steps of a campaign by the twin, with both intervals, and the limit of each step."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from hypertwin import _core, naming
from hypertwin.benchmark import folder as folders
from hypertwin.benchmark.load.generator import FIGURES
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.step import Step
from hypertwin.calibration import parameters
from hypertwin.documents.benchmark import PredictedFigure, PredictedStep, Prediction
from hypertwin.errors import ScenarioError, fail
from hypertwin.extras import needs
from hypertwin.metrics.catalogue import CATALOGUE, catalogue_key
from hypertwin.metrics.frame import flatten
from hypertwin.runs.simulation import Point, run_points
from hypertwin.scenario import Scenario, load

_OF_GROUPS = [metric for metric in CATALOGUE if "group" in metric.scopes]
UNITS = {metric.key: metric.unit for metric in _OF_GROUPS}
TITLES = {metric.key: metric.name for metric in _OF_GROUPS}


def check(plan: Plan, scenario: Scenario, file: str | None = None) -> None:
    """Raise ScenarioError if a step cannot be simulated, or a parameter not fitted, with the scenario.

    `file` is the name of the plan in messages, or None for a plan that no user has written.
    """
    groups = list(scenario.data["vms"])
    if plan.group not in groups:
        listed = ", ".join(groups[:12])
        hint = naming.hint(plan.group, groups, "name a group of VMs")
        fail("unknown-reference", "group", plan.group, listed, hint, file or "")
    for step in plan.steps:
        load(scenario, plan.load.settings(step, scenario, plan.group))
    if plan.calibrate is not None:
        needs("calibrate", "the calibration step")
        try:
            parameters.parse(plan.calibrate.free, scenario)
        except ScenarioError as error:
            if file is None:
                raise
            raise ScenarioError.of(
                replace(each, path="calibrate.free", value=each.value, file=file) for each in error.mistakes
            ) from None


def predict(
    plan: Plan,
    scenario: Scenario,
    measured_before: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """Return the prediction of every step. Raises ScenarioError, RunError."""
    settings = [plan.load.settings(step, scenario, plan.group) for step in plan.steps]
    points = [Point(each, load(scenario, each)) for each in settings]
    result = run_points(points, progress=progress).to_dict()
    steps: list[PredictedStep] = []
    for step, point, report in zip(plan.steps, points, result["points"], strict=True):
        limit = report["judgement"]["limits"][plan.group]
        steps.append(
            {
                "name": step.name,
                "title": step.title,
                "set": dict(point.changes),
                "figures": _figures(plan, step, point.scenario, report),
                "limit": {"kind": limit["kind"], "text": limit["text"]},
                "steady": report["verdict"]["steady"],
            }
        )
    return {
        "version": _core.version(),
        "name": plan.name,
        "group": plan.group,
        "time": folders.now(),
        "plan_sha256": hashlib.sha256(plan.text.encode()).hexdigest(),
        "scenario_sha256": hashlib.sha256(scenario.json.encode()).hexdigest(),
        "calibrated_on": scenario.data.get("calibrated_on"),
        "measured_before": list(measured_before),
        "steps": steps,
    }


def _figures(plan: Plan, step: Step, scenario: Scenario, report: Any) -> dict[str, PredictedFigure]:
    """Return the figures of the group, as the load generator measures them."""
    flat = flatten(report["groups"][plan.group])
    errors = (report.get("model_error") or {}).get("groups", {}).get(plan.group, {})
    known = {key: flat[key] for key in FIGURES if _is_number(flat.get(key))}
    seen = plan.load.seen(known, step, scenario, plan.group)
    found: dict[str, PredictedFigure] = {}
    for key, value in known.items():
        ends, more = errors.get(key) or {}, seen[key] - value
        found[key] = {
            "value": float(seen[key]),
            "unit": UNITS.get(catalogue_key(key), ""),
            "ci95": _half(flat, key),
            "low": ends["low"] + more if ends else None,
            "high": ends["high"] + more if ends else None,
        }
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _half(flat: dict[str, Any], key: str) -> float | None:
    own = flat.get(f"{key}_ci95")
    if own is None and key.endswith("_mean"):
        own = flat.get(f"{key.removesuffix('_mean')}_ci95")
    return float(own) if isinstance(own, int | float) else None
