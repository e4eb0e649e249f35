"""Output of `hypertwin validate`: a list of rows."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Likelihood(TypedDict, total=False):
    """How many of the replications agree on an outcome; only for a figure that is one of several outcomes."""

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
"""A published figure with the twin's; see `hypertwin.studies.judge.validate`.

`published`, `twin`, `error` and `tolerance` are in `unit`; `kind` is `predicted`, `calibrated` or `data-sheet`;
`pass` is None where physics cannot give the figure. `range` is true where a bound or a range was published, whose
sides are `low` and `high`: then `published` is the side nearer to the twin's figure, and the error is 0 inside.
`promised` is true if the figure was within tolerance in the last accepted evidence without an accepted
loss: where `pass` is not true then, it is a regression. `reason` says why a figure is missed or not judged, where the
study knows. `settled` says whether the runs behind the figure had settled, None where they do not say; `area` what it
is about; `follows` is the row that it follows from, if any. `class` is what the twin shows to limit the case, and
which way the figure goes against the case `against`; `expected_class` is what the source says in its `words`,
`class_right` whether the twin shows that, None where the source says nothing or the figure is not judged.
`parameters` are the free ones of the source: paths into the scenario, and by which figure each was set.
"""
