"""Output of `hypertwin validate`: a list of rows."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Likelihood(TypedDict, total=False):
    """Percentage of replications that agree on an outcome, for a figure that is one of several outcomes."""

    likelihood_pct: float


Row = TypedDict(
    "Row",
    {
        "study": str,
        "case": str,
        "metric": str,
        "published": float,
        "twin": float,
        "unit": str,
        "error": float,
        "error_pct": float,
        "kind": str,
        "tolerance": float,
        "tolerance_pct": float,
        "pass": bool | None,
        "promised": bool,
        "range": bool,
        "low": float | None,
        "high": float | None,
        "settled": bool | None,
        "area": str,
        "follows": str,
        "likelihood_pct": NotRequired[float],
        "published_text": str,
        "tolerance_text": str,
        "reason": str,
        "note": str,
        "class": str,
        "expected_class": str,
        "class_right": bool | None,
        "words": str,
        "against": str,
        "parameters": dict[str, str],
    },
)
"""A published figure with the twin's. See `hypertwin.studies.judge.validate`.

`published`, `twin`, `error` and `tolerance` are in `unit`. `kind` is `predicted`, `calibrated` or `data-sheet`. `pass`
is None if physics cannot give the figure. `range` is true if the source published a bound or a range, with sides `low`
and `high`. Then `published` is the side nearer to the twin's figure, and the error inside the range is 0. `promised` is
true if the last accepted evidence had the figure within tolerance, without an accepted loss. If `pass` is not true
then, the figure is a regression. `reason` explains a missed or unjudged figure, if the study knows the reason.
`settled` is true if the runs behind the figure had settled, None if unknown. `area` is the subject of the figure;
`follows` is the row that it follows from, if any. `class` is the limit of the case on the twin, and the direction of
the figure relative to the case `against`. `expected_class` is the class that the source gives in its `words`.
`class_right` is true if the twin agrees, or None if the source names no class or the figure is not judged. `parameters`
are the free parameters of the source: paths into the scenario, and the figure that set each.
"""
