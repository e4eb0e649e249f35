"""Run the cases of studies, and compare every published figure with the twin's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hypertwin.documents import validation as documents
from hypertwin.runs.runner import running
from hypertwin.runs.simulation import Point, Progress, run_points
from hypertwin.scenario import Scenario, load
from hypertwin.studies import classes, record
from hypertwin.studies.classes import Class
from hypertwin.studies.expression import evaluate, likelihood, terms
from hypertwin.studies.published import Row
from hypertwin.studies.study import Study


def validate(
    studies: Sequence[Study],
    *,
    jobs: int | None = None,
    cache: str | Path | None = None,
    on: str | None = None,
    progress: Progress | None = None,
) -> list[documents.Row]:
    """Run every case of the studies and judge every figure: one dictionary per row, in the form of the JSON contract.

    All cases of all studies run concurrently, then each question. `jobs`, `cache` and `on` are those of
    `hypertwin.simulate`. `error` is in the figure's unit, and `error_pct` relative to the published figure. For a bound
    or range (`<= 1.10`), `range` is true, `published` is the side nearer to the twin's figure, and both errors are 0
    inside. `pass` is None if physics cannot give the figure. `promised` is true if the figure was within tolerance in
    the record of the studies (`record`). A miss is then a regression. `likelihood_pct` is present if the twin's figure
    is an outcome of its replications: the share that agrees on it. `class` is the limit of the case and the direction
    of the figure on the twin. `class_right` is true if the source agrees, or None if the source gives no class, or the
    figure is not judged.
    """
    asked = [(study, case) for study in studies for case in study.cases if case in study.questions]
    cases = [(study, case) for study in studies for case in study.cases if case not in study.questions]
    points = [Point(study.cases[case], load(study.scenario_of(case), study.cases[case])) for study, case in cases]
    with running(jobs=jobs, cache=cache, on=on):
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
    held = {study.name: record.held(study.folder.resolve().parent) for study in studies}
    return [
        judge(
            study,
            row,
            {case: ran[study.name, case] for case in study.cases},
            promised=(study.name, row.case, row.metric) in held[study.name],
        )
        for study in studies
        for row in study.rows
    ]


@dataclass(frozen=True)
class Answer:
    """Result of a case: the report and scenario of its run, or the answer to a question."""

    report: Mapping[str, Any]
    scenario: Scenario | None = None
    question: str = ""

    def limit(self, path: str) -> str:
        """Limit of the case. `path` is that of a figure in the report."""
        if self.scenario is not None:
            return classes.limit_of_run(self.report, self.scenario, path)
        return classes.limit_of_density(self.report) if self.question == "density" else "nothing"


def holds(rows: Sequence[documents.Row]) -> bool:
    """True if no figure has regressed."""
    return all(row["pass"] for row in rows if row["promised"])


def settled(report: Mapping[str, Any]) -> bool | None:
    """True if a run had settled. A run that is not known to be steady had not.

    None if no steady state is claimed: for events that the scenario itself causes, and for answers without a
    simulation.
    """
    verdict = report.get("verdict")
    if verdict is None or (verdict["reason"] or {}).get("by_design"):
        return None
    return bool(verdict["steady"] == "steady")


def judge(study: Study, row: Row, answers: Mapping[str, Answer], *, promised: bool = False) -> documents.Row:
    """Compare one published figure with the twin's."""
    reports = {case: answer.report for case, answer in answers.items()}
    twin = evaluate(row, reports)
    published = row.accept.side(twin) if row.accept.is_bound else float(row.published)
    error = 0.0 if row.accept.has(twin) else twin - published
    tolerance = row.accept.above(published)
    relative = abs(published) or 1.0
    ran = [settled(reports[case]) for case, _ in terms(row)]
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
        "kind": study.kind_of(row),
        "tolerance": tolerance,
        "tolerance_pct": tolerance / relative * 100,
        "pass": None if row.unreachable else row.accept.fits(twin, published),
        "promised": promised,
        "range": row.accept.is_bound,
        "low": row.accept.low,
        "high": row.accept.high,
        "settled": False if False in ran else None if None in ran else True,
        "area": study.area_of(row),
        "follows": row.follows,
        **outcome,
        "published_text": (row.published if row.accept.is_bound else f"{published:,.10g} {row.unit}")
        + (" (derived)" if row.origin == "derived" else ""),
        "tolerance_text": row.accept.text(row.unit),
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
    """Return the limit of the case of a row in the twin, and the direction of its figure if there is a comparison."""
    own = next((path for case, path in terms(row) if case == row.case), "")
    limit = answers[row.case].limit(own)
    if not (row.against or row.is_ratio):
        return Class(limit)
    reports = {case: answer.report for case, answer in answers.items()}
    other = evaluate(replace(row, case=row.against), reports) if row.against else 1.0
    return Class(limit, classes.direction(twin, other))
