"""Comparison of the measured runs with the prediction, by figure and by limit, and the score of the campaign.

The promise of a figure depends on its kind. A throughput is right within 15% or twice the spread of repeats, whichever
is larger. A mean latency is right within 20% or that spread. Neither has a verdict if repeats differ by more than 25%:
twice that would make nearly every prediction right. A percentile is right within a factor of 1.5. CPU percentages have
no promise.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hypertwin.benchmark import limits
from hypertwin.benchmark.load.generator import FIGURES
from hypertwin.benchmark.plan import Plan
from hypertwin.benchmark.prediction import TITLES, UNITS
from hypertwin.benchmark.step import Step
from hypertwin.documents import benchmark as documents
from hypertwin.ingest.outside import number
from hypertwin.metrics.catalogue import catalogue_key
from hypertwin.model_error.kinds import kind_of

LEAST_PCT: Mapping[str, float] = {"throughput": 15.0, "latency": 20.0}
"""Error within which a figure is right whatever its spread, by kind."""
TAIL_FACTOR = 1.5
SPREADS = 2.0
"""Number of spreads of repeats within which a figure is right."""
MAX_SPREAD_PCT = 25.0
"""Spread of repeats above which a figure has no verdict."""
NO_VERDICT = "none, repeats differ"
"""Promise of a figure whose repeats differ too much."""
AMOUNTS = ("threads", "depth", "disks", "jobs", "rate")
"""Keys of steps for the amount of load. Other keys are for its kind."""
KNEE = 0.5
"""Share of the expected gain in throughput below which a step is beyond the knee."""


def step(
    plan: Plan,
    of: Step,
    runs: Sequence[documents.Run],
    predicted: documents.PredictedStep | None,
    *,
    calibration: bool,
) -> documents.Step:
    """Return a step with its runs, compared with its prediction."""
    keys = [key for key in FIGURES if runs and all(key in run["figures"] for run in runs)]
    shown = {} if predicted is None else predicted["figures"]
    asked = _asked(of.vms, of.values, {} if predicted is None else predicted["set"])
    kind, evidence = limits.limit(runs, asked, io=plan.load.percentile.startswith("io_"))
    said = None if predicted is None else predicted["limit"]
    return {
        "name": of.name,
        "title": of.title,
        "vms": of.vms,
        "values": dict(of.values),
        "set": {} if predicted is None else predicted["set"],
        "calibration": calibration,
        "runs": list(runs),
        "figures": [compared(key, [run["figures"][key] for run in runs], shown.get(key)) for key in keys],
        "limit": {
            "measured": kind,
            "evidence": evidence,
            "predicted": None if said is None else said["kind"],
            "predicted_text": "" if said is None else said["text"],
            "right": limits.agrees(said["kind"], kind, paced=asked is not None)
            if said is not None and any(run["views"] for run in runs)
            else None,
        },
    }


def _asked(vms: int, values: Mapping[str, Any], settings: Mapping[str, Any]) -> float | None:
    """Return the asked work per second of all VMs together, or None for a closed loop.

    The scenario has the rate of a whole VM, but a step of fio has that of one job and direction.
    """
    rate = next((value for path, value in settings.items() if path.endswith(".rate")), values.get("rate"))
    found = number(str(rate).partition(" ")[0])
    return None if found is None else found * vms


def compared(key: str, values: Sequence[float], predicted: documents.PredictedFigure | None) -> documents.Compared:
    """Return a measured figure beside the predicted one."""
    mean = statistics.fmean(values)
    spread = 100 * (max(values) - min(values)) / mean if len(values) > 1 and mean > 0 else None
    twin = None if predicted is None else predicted["value"]
    promise, within = _promise(key, mean, twin, spread)
    ends = None if predicted is None else (predicted["low"], predicted["high"])
    inside = None
    if ends is not None and ends[0] is not None and ends[1] is not None:
        inside = ends[0] <= mean <= ends[1]
    return {
        "metric": key,
        "kind": kind_of(key),
        "title": TITLES.get(catalogue_key(key), key),
        "unit": UNITS.get(catalogue_key(key), ""),
        "measured": mean,
        "least": min(values),
        "most": max(values),
        "spread_pct": spread,
        "predicted": twin,
        "ci95": None if predicted is None else predicted["ci95"],
        "low": None if ends is None else ends[0],
        "high": None if ends is None else ends[1],
        "error_pct": 100 * (twin - mean) / mean if twin is not None and mean > 0 else None,
        "promise": promise,
        "within": within,
        "in_interval": inside,
    }


def _promise(key: str, measured: float, twin: float | None, spread: float | None) -> tuple[str, bool | None]:
    kind = kind_of(key)
    if kind == "tail":
        right = (
            None if twin is None or measured <= 0 or twin <= 0 else max(twin / measured, measured / twin) <= TAIL_FACTOR
        )
        return f"a factor of {TAIL_FACTOR:g}", right
    if kind is None or kind not in LEAST_PCT:
        return "", None
    allowed = allowed_pct(kind, spread)
    if allowed is None:
        return NO_VERDICT, None
    right = None if twin is None or measured <= 0 else 100 * abs(twin - measured) / measured <= allowed
    return f"±{allowed:.0f}%", right


def allowed_pct(kind: str, spread: float | None) -> float | None:
    """Return the error within which a throughput or mean is right, or None if its repeats differ too much."""
    if spread is not None and spread > MAX_SPREAD_PCT:
        return None
    return max(LEAST_PCT[kind], SPREADS * (spread or 0.0))


def scores(steps: Sequence[documents.Step]) -> list[documents.Score]:
    """Return the number of right figures by kind, and of right limits, over steps that prove something."""
    judged = [each for each in steps if not each["calibration"] and each["runs"]]
    found: list[documents.Score] = []
    titles = {"throughput": "throughput", "latency": "mean latency", "tail": "percentiles"}
    for kind, title in titles.items():
        own = [
            figure
            for each in judged
            for figure in each["figures"]
            if figure["kind"] == kind and figure["within"] is not None
        ]
        errors = [figure["error_pct"] for figure in own if figure["error_pct"] is not None]
        if own:
            found.append(
                {
                    "figure": title,
                    "right": sum(figure["within"] is True for figure in own),
                    "of": len(own),
                    "median_error_pct": statistics.median(map(abs, errors)) if errors else None,
                    "bias_pct": statistics.median(errors) if errors else None,
                }
            )
    known = [each for each in judged if each["limit"]["right"] is not None]
    if known:
        right = sum(each["limit"]["right"] is True for each in known)
        found.append({"figure": "limit", "right": right, "of": len(known), "median_error_pct": None, "bias_pct": None})
    return found


class Load(NamedTuple):
    """Load of a step, and what was done of it."""

    title: str
    kind: object
    """Kind of load. Only steps of one kind are compared."""
    amount: float
    """Number of requests under way, or the asked rate."""
    throughput: float
    is_met: bool | None = None
    """True if the asked rate is met, or None without a rate."""


def knee(steps: Sequence[Load]) -> str | None:
    """Return the title of the first step beyond the knee, in the order of loads, or None.

    A paced step is beyond the knee if its rate is not met. Others are if throughput grows too little with the load.
    """
    last: dict[object, Load] = {}
    for step in sorted(steps, key=lambda each: each.amount):
        if step.is_met is False:
            return step.title
        if step.is_met:
            continue
        before = last.get(step.kind)
        last[step.kind] = step
        if before is not None and step.amount > before.amount > 0 and before.throughput > 0:
            gain, expected = step.throughput / before.throughput - 1, step.amount / before.amount - 1
            if gain < KNEE * expected:
                return step.title
    return None


def loads(steps: Sequence[documents.Step], of: str, factors: Sequence[str]) -> list[Load]:
    """Return the load of each step for `knee`. `of` is `measured` or `predicted`.

    `factors` are keys of steps whose product is the number of requests under way in a VM. Steps are of one kind if they
    only differ in the amount of load. A predicted rate is met if it can be, by its interval: open loads vary by chance.
    """
    found: list[Load] = []
    for each in steps:
        values, vms = each["values"], each["vms"]
        asked = _asked(vms, values, each["set"]) if "rate" in values else None
        amount = math.prod([float(vms), *(float(values[key]) for key in factors if key in values)])
        kind = tuple(sorted((key, value) for key, value in values.items() if key not in AMOUNTS))
        figure = next((figure for figure in each["figures"] if figure["kind"] == "throughput"), None)
        done = None if figure is None else figure[of]  # type: ignore[literal-required]
        if figure is None or done is None:
            continue
        most = done + (figure["ci95"] or 0 if of == "predicted" else 0)
        is_met = None if asked is None else 100 * most >= limits.KEPT_PCT * asked
        found.append(Load(each["title"], kind, asked or amount, float(done), is_met))
    return found


def missing(plan: Plan, done: Mapping[str, int]) -> list[str]:
    """Return the runs that have not been measured, by step."""
    return [
        f"{each.title}: {plan.repeats - done.get(each.name, 0)} of {plan.repeats} repeats"
        for each in plan.steps
        if done.get(each.name, 0) < plan.repeats
    ]
