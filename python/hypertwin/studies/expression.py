"""Location of the twin's figure for a published one: paths into the reports of a study's cases, their sums and ratios.

For moves of a run, a path names a VM or `all`, and a figure of `moves`: `moves.all.seconds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hypertwin.studies import moves
from hypertwin.studies.published import Row, StudyError

SMALLEST_PCT = 0.1
"""Minimum denominator of a ratio of percentages, because a ratio to almost nothing is meaningless."""


def evaluate(row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the twin's figure for a row, from the reports of the study's cases."""
    numerator, _, denominator = row.twin.partition(" / ")
    value = _sum(numerator, row, reports)
    if not denominator:
        return value
    of = _sum(denominator, row, reports)
    if denominator.endswith("_pct"):
        of = max(of, SMALLEST_PCT)
    if not of:
        raise StudyError(f"{row.case} {row.metric}: {denominator!r} is 0 in the twin, and a ratio to it has no value")
    return value / of


def likelihood(row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Return the percentage of replications that agree on the twin's outcome, or None without outcomes."""
    steps = (step for case, path in terms(row) for step in _along(case, path, row, reports))
    return next(
        (step["likelihood_pct"] for step in steps if isinstance(step, Mapping) and "likelihood_pct" in step), None
    )


def _nearest(outcomes: Sequence[Mapping[str, float]], row: Row) -> Mapping[str, float]:
    published = float(row.published)
    return min(outcomes, key=lambda outcome: abs(outcome["throughput_units_per_s"] - published))


OUTCOMES: Mapping[str, Callable[[Sequence[Mapping[str, float]], Row], Mapping[str, float]]] = {
    "likely": lambda outcomes, _: outcomes[0],
    "nearest": _nearest,
}
"""Continuation of a path from a list of outcomes: the most likely one, or the one nearest to the published figure."""


def terms(row: Row) -> list[tuple[str, str]]:
    """Return the (case, path) pairs of a row's `twin`."""
    return [_term(text, row) for side in row.twin.split(" / ") for text in side.split(" + ")]


def _sum(expression: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> float:
    total = 0.0
    for text in expression.split(" + "):
        case, path = _term(text, row)
        *_, value = _along(case, path, row, reports)
        if not isinstance(value, int | float):
            raise StudyError(f"{row.case} {row.metric}: {path!r} is {value!r}, not a number")
        total += value
    return total


def _along(case: str, path: str, row: Row, reports: Mapping[str, Mapping[str, Any]]) -> Iterator[Any]:
    """Yield values along the steps of a path into the report of a case, the final value last."""
    value: Any = reports[case]
    if about := moves.about(value, path):
        value = {"moves": {path.split(".")[1]: moves.figures(about, value)}}
    for key in path.split("."):
        if isinstance(value, list) and value and key in OUTCOMES:
            value = OUTCOMES[key](value, row)
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            raise StudyError(f"{row.case} {row.metric}: the twin reports no {path!r} in case {case!r}")
        yield value


def _term(text: str, row: Row) -> tuple[str, str]:
    case, separator, path = text.partition(":")
    return (case.strip(), path.strip()) if separator else (row.case, text.strip())
