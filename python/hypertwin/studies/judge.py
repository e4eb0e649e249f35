"""Runs the cases of studies and judges every published figure against the twin's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypertwin.documents import validation as documents
from hypertwin.execution.runner import running
from hypertwin.run import Point, Progress, run_points
from hypertwin.scenario import load
from hypertwin.studies.expression import evaluate, likelihood
from hypertwin.studies.published import Row
from hypertwin.studies.study import Study


def validate(
    studies: Sequence[Study],
    *,
    jobs: int | None = None,
    store: str | Path | None = None,
    on: str | None = None,
    progress: Progress | None = None,
) -> list[documents.Row]:
    """Run every case of the studies and judge every figure: one dictionary per row, in the form of the JSON contract.

    All cases of all studies run side by side, and then each question; `jobs`, `store` and `on` are those of
    `hypertwin.simulate`. `error` is in the figure's unit and `error_pct`
    relative to the published one; of a row that accepts a range (`<= 1.10`), `range` is true, `published` is the bound
    and both are 0 inside it. `pass` is None where physics cannot give the figure; `promised` is false there and where
    the study knows that the twin misses it, and `reason` says why. `likelihood_pct` is there where the twin's figure is
    one of the outcomes of its replications: how many of them agree on it.
    """
    asked = [(study, case) for study in studies for case in study.cases if case in study.questions]
    cases = [(study, case) for study in studies for case in study.cases if case not in study.questions]
    points = [Point(study.cases[case], load(study.scenario_of(case), study.cases[case])) for study, case in cases]
    with running(jobs=jobs, store=store, on=on):
        result = run_points(points, progress=progress) if points else None
        answers = {(study.name, case): study.questions[case].answer(progress) for study, case in asked}
    reports: dict[tuple[str, str], Mapping[str, Any]] = {
        (study.name, case): report for (study, case), report in zip(cases, result.points if result else (), strict=True)
    }
    reports |= answers
    return [
        judge(study.name, row, {case: reports[study.name, case] for case in study.cases})
        for study in studies
        for row in study.rows
    ]


def holds(rows: Sequence[documents.Row]) -> bool:
    """Whether every promised figure is within tolerance."""
    return all(row["pass"] for row in rows if row["promised"])


def judge(study: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> documents.Row:
    """Compare one published figure with the twin's."""
    twin = evaluate(row, reports)
    bound = row.sign != "±"
    published = row.tolerance if bound else float(row.published)
    tolerance = 0.0 if bound else (abs(published) * row.tolerance / 100 if row.relative else row.tolerance)
    error = twin - published
    if (row.sign == "<=" and error <= 0) or (row.sign == ">=" and error >= 0):
        error = 0.0
    relative = abs(published) or 1.0
    passed = abs(error) <= tolerance + 1e-9 * relative
    likelihood_pct = likelihood(row, reports)
    outcome: documents.Likelihood = {} if likelihood_pct is None else {"likelihood_pct": likelihood_pct}
    return {
        "study": study,
        "case": row.case,
        "metric": row.metric,
        "published": published,
        "twin": twin,
        "unit": row.unit,
        "error": error,
        "error_pct": error / relative * 100,
        "kind": row.kind,
        "tolerance": tolerance,
        "tolerance_pct": tolerance / relative * 100,
        "pass": None if row.unreachable else passed,
        "promised": not (row.unreachable or row.missed),
        "range": bound,
        **outcome,
        "published_text": (row.published if bound else f"{published:,.10g} {row.unit}")
        + (" (derived)" if row.origin == "derived" else ""),
        "tolerance_text": _tolerance_text(row),
        "reason": row.unreachable or row.missed,
        "note": row.unreachable or row.note,
    }


def _tolerance_text(row: Row) -> str:
    if row.sign != "±":
        return f"{'≤' if row.sign == '<=' else '≥'} {row.tolerance:g}"
    return f"± {row.tolerance:g} {'%' if row.relative else 'points' if row.unit == '%' else row.unit}"
