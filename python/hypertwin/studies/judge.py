"""Runs the cases of studies and judges every published figure against the twin's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypertwin.documents import validation as documents
from hypertwin.execution.runner import running
from hypertwin.run import Point, Progress, run_points
from hypertwin.scenario import Scenario, load
from hypertwin.studies import classes
from hypertwin.studies.classes import Class
from hypertwin.studies.expression import evaluate, likelihood, terms
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
    one of the outcomes of its replications: how many of them agree on it. `class` is what the twin shows to limit the
    case and which way the figure goes, and `class_right` whether that is what the source says: None where it says
    nothing, or the figure is not judged.
    """
    asked = [(study, case) for study in studies for case in study.cases if case in study.questions]
    cases = [(study, case) for study in studies for case in study.cases if case not in study.questions]
    points = [Point(study.cases[case], load(study.scenario_of(case), study.cases[case])) for study, case in cases]
    with running(jobs=jobs, store=store, on=on):
        result = run_points(points, progress=progress) if points else None
        answers = {
            (study.name, case): Answer(study.questions[case].answer(progress), question=study.questions[case].name)
            for study, case in asked
        }
    ran = {
        (study.name, case): Answer(report, point.scenario)
        for (study, case), point, report in zip(cases, points, result.reports if result else (), strict=True)
    }
    ran |= answers
    return [
        judge(study, row, {case: ran[study.name, case] for case in study.cases})
        for study in studies
        for row in study.rows
    ]


@dataclass(frozen=True)
class Answer:
    """What a case gave: the report of its run and the scenario that ran, or the answer to a question."""

    report: Mapping[str, Any]
    scenario: Scenario | None = None
    question: str = ""

    def limit(self, path: str) -> str:
        """What limits the case; `path` is that of a figure in the report."""
        if self.scenario is not None:
            return classes.limit_of_run(self.report, self.scenario, path)
        return classes.limit_of_density(self.report) if self.question == "density" else "nothing"


def holds(rows: Sequence[documents.Row]) -> bool:
    """Whether every promised figure is within tolerance."""
    return all(row["pass"] for row in rows if row["promised"])


def judge(study: Study, row: Row, answers: Mapping[str, Answer]) -> documents.Row:
    """Compare one published figure with the twin's."""
    reports = {case: answer.report for case, answer in answers.items()}
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
    shown = _class(row, answers, twin)
    outcome: documents.Likelihood = {} if likelihood_pct is None else {"likelihood_pct": likelihood_pct}
    return {
        "study": study.name,
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
        "class": str(shown),
        "expected_class": str(row.expected),
        "class_right": row.expected.fits(shown) if row.expected and not row.unreachable else None,
        "words": row.words,
        "against": row.against,
        "parameters": dict(study.parameters),
    }


def _class(row: Row, answers: Mapping[str, Answer], twin: float) -> Class:
    """What the twin shows to limit a row's case, and which way its figure goes where there is something to compare."""
    own = next((path for case, path in terms(row) if case == row.case), "")
    limit = answers[row.case].limit(own)
    if not (row.against or row.is_ratio):
        return Class(limit)
    reports = {case: answer.report for case, answer in answers.items()}
    other = evaluate(replace(row, case=row.against), reports) if row.against else 1.0
    return Class(limit, classes.direction(twin, other))


def _tolerance_text(row: Row) -> str:
    if row.sign != "±":
        return f"{'≤' if row.sign == '<=' else '≥'} {row.tolerance:g}"
    return f"± {row.tolerance:g} {'%' if row.relative else 'points' if row.unit == '%' else row.unit}"
