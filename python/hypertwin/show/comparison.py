"""View of published figures next to figures of the twin, from `hypertwin validate`. Missed figures come first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any, Literal, TypeVar

from hypertwin.documents.validation import Row
from hypertwin.metrics.words import count, number, some
from hypertwin.show import view as v

K = TypeVar("K")

SMALL = 1e-3
"""Absolute value below which figures are written with an exponent, because rounding would remove their digits."""


@dataclass(frozen=True)
class Study:
    """Publication with its name in rows."""

    name: str
    title: str
    source: str


FEW, MANY = 3, 8
"""Minimum number of figures of a unit for its own axes, and minimum figures of a metric for a chart by case."""

MAX_DRAWN, MAX_TOLD, MAX_OPEN = 40, 6, 6
"""Maximum number of rows of an interval chart, missed figures in the answer, and studies that are open at first."""

WIDE = 20
"""Ratio of the largest to the smallest figure from which axes are logarithmic."""

BANDS = (10, 25)
"""Widths of bands around the diagonal of all figures, in per cent."""

WITHIN_PCT = (10, 15, 25)
"""Error limits for counts of predictions, in per cent."""

MOST_FREE = 4
"""Minimum number of rows of a source per free parameter."""

LARGEST = 2
"""Number of studies with the most predictions, without which a second headline is given."""

GROUPS: Mapping[str, str] = {
    "predicted": "Predictions",
    "one-sided": "Predicted on one side only: at least, or at most",
    "follows": "What follows from other rows",
    "calibrated": "Calibrated: the figure set a parameter",
    "data-sheet": "Restated from data sheets",
}
"""Kinds of rows, with the titles of their tables. Headlines count only the first."""


def group(row: Row) -> str:
    """Return the key of GROUPS that a row belongs to."""
    if row["kind"] != "predicted":
        return row["kind"]
    if row["follows"]:
        return "follows"
    return "one-sided" if row["range"] and None in (row["low"], row["high"]) else "predicted"


def counts(row: Row) -> bool:
    """True if a prediction can count as correct. Without a judgement or a settled run it counts as missed."""
    return row["pass"] is not None and row["settled"] is not False


@dataclass(frozen=True)
class Sum:
    """Counts over the figures of one source, or of another group."""

    name: str
    figures: int
    predictions: int
    """Number of figures that the fields below count: two-sided, not calibrated and not derived from others."""
    within_10: int
    within_15: int
    within_25: int
    class_right: int
    class_named: int
    """Number of predictions for which the source names a class."""
    one_sided: int
    follows: int
    calibrated: int
    data_sheets: int
    not_judged: int
    unsettled: int
    parameters: int

    @staticmethod
    def of(name: str, rows: Sequence[Row]) -> Sum:
        """Return the sums of some rows. Free parameters count once per source."""
        predictions = [row for row in rows if group(row) == "predicted"]
        right = [row for row in predictions if counts(row)]
        close = [sum(abs(row["error_pct"]) <= most for row in right) for most in WITHIN_PCT]
        groups = [group(row) for row in rows]
        return Sum(
            name,
            figures=len(rows),
            predictions=len(predictions),
            within_10=close[0],
            within_15=close[1],
            within_25=close[2],
            class_right=sum(row["class_right"] is True for row in right),
            class_named=sum(bool(row["expected_class"]) for row in predictions),
            one_sided=groups.count("one-sided"),
            follows=groups.count("follows"),
            calibrated=groups.count("calibrated"),
            data_sheets=groups.count("data-sheet"),
            not_judged=sum(row["pass"] is None for row in rows),
            unsettled=sum(row["settled"] is False for row in rows),
            parameters=sum({row["study"]: len(row["parameters"]) for row in rows}.values()),
        )

    @property
    def over(self) -> bool:
        """True if its free parameters exceed a quarter of its figures."""
        return MOST_FREE * self.parameters > self.figures


def sums(rows: Sequence[Row]) -> list[Sum]:
    """Return the sums of each source, in order, and of all of them."""
    return [*(Sum.of(name, own) for name, own in _grouped(rows, lambda row: row["study"]).items()), Sum.of("all", rows)]


def headline(rows: Sequence[Row]) -> list[Sum]:
    """Return the counts of predictions in total, by area, and without the largest studies."""
    sizes = {name: Sum.of(name, own).predictions for name, own in _grouped(rows, lambda row: row["study"]).items()}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:LARGEST]
    areas = [Sum.of(name, own) for name, own in sorted(_grouped(rows, lambda row: row["area"]).items()) if name]
    rest = [row for row in rows if row["study"] not in largest]
    return [
        Sum.of("all", rows),
        *(area for area in areas if area.predictions),
        *([Sum.of(f"without {' and '.join(largest)}", rest)] if rest else []),
    ]


def grouped(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Return the rows of each non-empty group of GROUPS, with its title."""
    found = [(title, [row for row in rows if group(row) == key]) for key, title in GROUPS.items()]
    return [(title, own) for title, own in found if own]


SUM_HEADS = (
    *("source", "figures", "predictions", "within 10 %", "15 %", "25 %", "class right", "one-sided", "following"),
    *("calibrated", "data sheet", "not judged", "not settled", "free parameters"),
)
"""Heads of a table of sums."""

HEADLINE_HEADS = ("predictions", "number", "within 10 %", "15 %", "25 %", "class right")
"""Heads of the table of prediction results."""


def sum_cells(each: Sum) -> list[str]:
    """Return the sums of a source as text. Free parameters above a quarter of its figures are marked."""
    found = {field.name: str(getattr(each, field.name)) for field in fields(each)}
    found["class_right"] += f" of {found.pop('class_named')}"
    if each.over and each.name != "all":
        found["parameters"] += " (over a quarter)"
    return list(found.values())


def headline_cells(each: Sum) -> list[str]:
    """Return the counts of the predictions of a group as text."""
    within = (each.within_10, each.within_15, each.within_25)
    return [
        each.name,
        f"{each.predictions}",
        *(_part(count, each.predictions) for count in within),
        _part(each.class_right, each.class_named),
    ]


def _part(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)" if of else "0"


def class_text(row: Row) -> str:
    """Return the limit of a case in the twin, and the limit in the source if the two differ."""
    return f"{row['class']}, not {row['expected_class']}" if row["class_right"] is False else row["class"]


def verdict(row: Row) -> tuple[str, str]:
    """Return the word and colour for a row. A row that left its tolerance has regressed."""
    if row["promised"] and row["pass"] is not True:
        return "REGRESSED", "bold red"
    if row["pass"] is None:
        return "n/a", "dim"
    unsettled = "not settled", "yellow"
    return unsettled if row["settled"] is False else ("pass", "green") if row["pass"] else ("miss", "yellow")


def explanation(row: Row) -> str:
    """Return the reason of the study for a missed or unjudged figure, or a note that the study gives no reason."""
    figure = f"{row['case']} {row['metric']}"
    found = f"{twin_text(row)} where {row['published_text']} is published"
    word, reason = verdict(row)[0], row["reason"]
    if word == "REGRESSED":
        return f"REGRESSED: {figure}: {found}; it was within its tolerance" + (f": {reason}" if reason else "")
    if row["pass"] is None:
        return f"n/a: {figure}: {reason}"
    if row["pass"]:
        return f"pass: {figure}: {found}, though the study expects a miss: {reason}"
    return f"miss: {figure}: {reason or f'{found}; the study gives no reason'}"


def verdicts(rows: Sequence[Row]) -> str:
    """Return the number of figures within tolerance, errors of predictions, and number of regressions, in words."""
    everything = Sum.of("all", rows)
    within, missed = (sum(row["pass"] is value for row in rows) for value in (True, False))
    notes = [
        f"{missed} missed" if missed else "",
        f"{everything.not_judged} not judged" if everything.not_judged else "",
    ]
    close = ", ".join(f"{getattr(everything, f'within_{most}')} within {most} %" for most in WITHIN_PCT)
    classed = f"; class right in {everything.class_right} of {everything.class_named}" if everything.class_named else ""
    lost = sum(row["promised"] and row["pass"] is not True for row in rows)
    return (
        ", ".join([f"{within} of {len(rows)} figures within tolerance", *filter(None, notes)])
        + f". Of {everything.predictions} predictions: {close}{classed}"
        + f". {lost or 'No'} regression{'' if lost == 1 else 's'}"
    )


def twin_text(row: Row) -> str:
    """Return the twin's figure of a validation row, to four significant digits, with its unit and likelihood."""
    value, unit = row["twin"], row["unit"]
    digits = 0 if float(value).is_integer() else 2 if abs(value) < 10 else 1 if abs(value) < 1000 else 0
    likelihood_pct = row.get("likelihood_pct", 100.0)
    return (
        (f"{value:.4g}" if 0 < abs(value) < SMALL else number(value, digits))
        + (f" {unit}" if unit != "ratio" else "")
        + (f" ({likelihood_pct:.0f} % of runs)" if likelihood_pct < 100 else "")
    )


VERDICTS: Mapping[str, v.Badge] = {
    "pass": v.badge("within tolerance", "good"),
    "REGRESSED": v.badge("regressed", "bad"),
    "miss": v.badge("known miss", "warn"),
    "not settled": v.badge("not settled", "warn"),
    "n/a": v.badge("not judged", "note"),
}
"""Badges by the word of `verdict`."""

COLOURS = (2, 1, 3, 3, 0)
"""Colours of verdicts in a chart, matching their tones."""


def view(rows: Sequence[Row], studies: Sequence[Study] = ()) -> v.View:
    """Return the view of rows. `studies` have the titles of their sources."""
    known = {study.name: study for study in studies}
    named = [known.get(name) or Study(name, name, name) for name in dict.fromkeys(row["study"] for row in rows)]
    missed = _worst_first([row for row in rows if row["pass"] is False])
    within, failed = sum(row["pass"] is True for row in rows), sum(map(_regressed, rows))
    unjudged = sum(row["pass"] is None for row in rows)
    predicted = [row for row in rows if row["kind"] == "predicted" and row["pass"] is not None]
    classed = [row for row in rows if row["expected_class"]]
    more = [_missed(row) for row in missed[:MAX_TOLD]]
    if len(missed) > MAX_TOLD:
        more.append(f"{len(missed) - MAX_TOLD} more are outside; the table has them all.")
    middle = f"{number(median(abs(row['error_pct'] or 0) for row in predicted))}%" if predicted else "none"
    reason = "each with its reason"
    cards = [
        v.card("Within tolerance", str(within), tone="good"),
        v.card("Regressions", str(failed), tone="bad" if failed else "plain"),
        v.card("Known misses", str(len(missed) - failed), reason, "warn" if len(missed) > failed else "plain"),
        v.card("Not judged", str(unjudged), reason if unjudged else ""),
        v.card("Median error", middle, "of the predicted figures"),
    ]
    if classed:
        right = f"{sum(row['class_right'] is True for row in classed)} of {len(classed)}"
        cards.insert(4, v.card("Class right", right, "what limits, and which way figures go"))
    return {
        "title": named[0].title if len(named) == 1 else "Published measurements against the twin",
        "answer": {
            "tone": "bad" if failed else "warn" if missed or not within else "good",
            "text": f"{verdicts(rows)}.",
            "more": more,
        },
        "promises": [_promise(each, [row for row in rows if row["study"] == each.name]) for each in named],
        "confidence": _confidence(rows, predicted),
        "cards": cards,
        "sections": sections(rows, named),
        "assumptions": [
            "Calibrated figures set a parameter of the twin. Predicted ones set none.",
            "Not judged: the model cannot give the figure. Known miss: the study says why the twin misses it.",
        ],
    }


def sections(rows: Sequence[Row], studies: Sequence[Study]) -> list[v.Section]:
    """Return published figures next to figures of the twin, for this page and for the page of a study's simulation."""
    several = len(studies) > 1
    outside = [row for row in rows if row["pass"] is False]
    kinds = ["study"] if several else []
    made = v.section("outside", "Outside the tolerance", _table("outside", outside, several, kinds), detail=True)
    made += _together(rows) if several else []
    for each in studies:
        made += _study(each, [row for row in rows if row["study"] == each.name], len(studies))
    figures = _table("figures", rows, several, [*kinds, "verdict", "kind"])
    return [*made, *v.section("figures", "All figures, the furthest off first", figures)]


def beside(rows: Sequence[Row], study: Study | None) -> dict[str, Any]:
    """Return the content of the page of a study's simulation from these rows, with the promised figures."""
    promised = [row for row in rows if row["promised"]]
    kept, within = (sum(row["pass"] is not False for row in promised), sum(row["pass"] is True for row in rows))
    promise: v.Promise = {
        "text": "Every promised figure of the publication is within its tolerance",
        "met": kept == len(promised),
        "note": f"{kept} of {len(promised)}; of all figures {within} of {len(rows)}",
    }
    return (
        {"judged": sections(rows, [study] if study else []), "promises": [promise] if promised else []} if rows else {}
    )


def _regressed(row: Row) -> bool:
    return verdict(row)[0] == "REGRESSED"


def _badge(row: Row) -> v.Badge:
    return VERDICTS[verdict(row)[0]]


def _worst_first(rows: Sequence[Row]) -> list[Row]:
    """Return rows sorted by error in tolerances, with regressions first and unjudged rows last."""

    def distance(row: Row) -> float:
        if row["pass"] is None:
            return -1.0
        if _regressed(row):
            return 1e9 + abs(row["error_pct"] or 0)
        return abs(row["error"]) / row["tolerance"] if row["tolerance"] > 0 else 0.0 if row["pass"] else math.inf

    return sorted(rows, key=distance, reverse=True)


def _off(row: Row) -> str:
    return "" if row["error_pct"] is None else f"{row['error_pct']:+.3g}%, "


def _told(row: Row) -> str:
    """Return a figure as a sentence, for a chart's tooltip."""
    published = f"{row['case']}, {row['metric']}: {row['published_text']} published"
    return f"{published}, {twin_text(row)} twin ({_off(row)}{row['kind']}, {_badge(row)['text']})"


def _missed(row: Row) -> str:
    """Return a missed figure in a sentence, with its reason."""
    reason = f": {row['reason']}" if row["reason"] else ""
    published = f"{row['case']}, {row['metric']}: {row['published_text']} published"
    return f"{published}, {twin_text(row)} in the twin ({_off(row)}tolerance {row['tolerance_text']}){reason}"


def _errors(rows: Sequence[Row]) -> str:
    judged = [
        row for row in rows if row["kind"] == "predicted" and row["pass"] is not None and row["error_pct"] is not None
    ]
    if not judged:
        return ""
    worst = max(judged, key=lambda row: abs(row["error_pct"]))
    largest = (
        f", largest {number(abs(worst['error_pct']))}% ({worst['case']}, {worst['metric']})" if worst["error"] else ""
    )
    middle = number(median(abs(row["error_pct"]) for row in judged))
    return f"{count(len(judged), 'predicted figure')}: median error {middle}%{largest}."


def _confidence(rows: Sequence[Row], predicted: Sequence[Row]) -> list[v.Badge]:
    judged = sum(row["pass"] is not None for row in rows)
    unlikely = sum(row.get("likelihood_pct", 100.0) < 100 for row in rows)
    said = f"{len(predicted)} of {judged} judged figures are predictions: no parameter was set by them."
    found = [v.badge(_errors(rows)), v.badge(said, "plain" if predicted else "warn")]
    if unlikely:
        found.append(v.badge(f"{count(unlikely, 'figure')} of the twin: only some of the runs end there.", "note"))
    return [each for each in found if each["text"]]


def _promise(study: Study, rows: Sequence[Row]) -> v.Promise:
    promised, failed = sum(row["promised"] for row in rows), sum(map(_regressed, rows))
    missed, unjudged = (sum(row["pass"] is value for row in rows) for value in (False, None))
    note = f"{promised - failed} of {promised}" if promised else "nothing is recorded"
    note += f", {missed - failed} known misses" if missed > failed else ""
    note += f", {unjudged} not judged" if unjudged else ""
    met = not failed if promised else None
    return {"text": f"{study.title}: no figure leaves its tolerance", "met": met, "note": note}


def _table(name: str, rows: Sequence[Row], several: bool, filters: Sequence[str]) -> Sequence[v.Block]:
    right: Mapping[bool | None, v.Tone] = {True: "good", False: "bad", None: "plain"}
    of_class = "What limits the case, and which way the figure goes, as the twin shows it."
    of_kind = "Calibrated: the figure set a parameter."
    kinds = {"one-sided": "one side", "follows": "follows"}
    cells: list[v.Cells] = [
        [
            (v.badges("verdict", "verdict"), _badge(row)),
            *([(v.words("study", "study"), row["study"])] if several else []),
            (v.words("case", "case"), row["case"]),
            (v.words("metric", "figure"), row["metric"]),
            (v.badges("class", "class", text=of_class), v.badge(class_text(row), right[row["class_right"]])),
            (v.words("tolerance", "tolerance", secondary=True), row["tolerance_text"]),
            (v.words("kind", "kind", text=of_kind, secondary=True), kinds.get(group(row), row["kind"])),
            (v.words("reason", "reason", text="Why it is missed, or not judged."), row["reason"]),
            (v.words("note", "note", secondary=True), (f"“{row['words']}” " if row["words"] else "") + row["note"]),
            (v.figures("published", "published"), v.figure(row["published"], text=row["published_text"])),
            (v.figures("twin", "twin"), v.figure(row["twin"], text=twin_text(row))),
            (v.figures("error", "error", "%"), row["error_pct"]),
        ]
        for row in _worst_first(rows)
    ]
    caption = "All figures, the furthest off first" if name == "figures" else "Outside the tolerance"
    return v.listing(name, caption, cells, filters=filters)


def _metric(row: Row) -> str:
    """Return the metric without the number of the outcome, for repeated runs with several outcomes."""
    return row["metric"].partition(", outcome ")[0]


def _grouped(rows: Sequence[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Return the rows by a key, in order of appearance."""
    found: dict[K, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _study(study: Study, rows: Sequence[Row], of: int) -> list[v.Section]:
    within, failed, missed = (
        sum(row["pass"] is True for row in rows),
        sum(map(_regressed, rows)),
        sum(row["pass"] is False for row in rows),
    )
    name = v.slug(study.name)
    units = _grouped([row for row in rows if not row["range"]], lambda row: row["unit"])
    rare = [row for same in units.values() if len(same) < FEW for row in same]
    panels = [*((unit, same) for unit, same in units.items() if len(same) >= FEW), *([("", rare)] if rare else [])]
    cases = _grouped([row for row in rows if not row["range"]], lambda row: (_metric(row), row["unit"]))
    # what is met exactly, such as a count of nodes, needs no chart
    many = [
        each
        for each in cases.values()
        if len(each) > MANY and any(row["tolerance"] > 0 or row["pass"] is False for row in each)
    ]
    many_open = sum(row["pass"] is None for row in rows)
    unjudged = f", {many_open} not judged" if many_open else ""
    return v.section(
        name,
        study.title if of > 1 else "Published against twin",
        v.charts([_scatter(same, unit, f"scatter-{name}-{v.slug(unit or 'others')}") for unit, same in panels]),
        v.charts([_interval(each, name) for each in many], wide=True),
        v.items(f"Set by the source: {path}, by {by}" for path, by in (rows[0]["parameters"] if rows else {}).items()),
        text=" ".join([f"Source: {study.source}. {within} of {len(rows)} within tolerance{unjudged}.", _errors(rows)]),
        badge=v.badge(f"{failed} regressed", "bad")
        if failed
        else v.badge(f"{within} of {len(rows)}", "warn" if missed or not within else "good"),
        closed=of > MAX_OPEN,
    )


def _points(rows: Sequence[Row], colour: int, told: Callable[[Row], str]) -> list[v.MarkedPoint]:
    return [
        {
            "x": row["published"],
            "y": row["twin"],
            "colour": colour,
            "hollow": row["kind"] == "calibrated",
            "text": told(row),
        }
        for row in rows
    ]


def _scatter(rows: Sequence[Row], unit: str, name: str) -> v.ScatterChart:
    """Return the predicted against published."""
    metrics = list(dict.fromkeys(map(_metric, rows)))
    values = [value for row in rows for value in (row["published"], row["twin"])]
    scale: Literal["linear", "log"] = "log" if min(values) > 0 and max(values) / min(values) >= WIDE else "linear"
    shown = "" if unit == "ratio" else unit
    first = rows[0]
    diagonal: v.Diagonal = {}
    if all(math.isclose(row["tolerance_pct"], first["tolerance_pct"], abs_tol=1e-9) for row in rows):
        diagonal = {"within_pct": [first["tolerance_pct"]]}
    elif all(row["tolerance"] == first["tolerance"] for row in rows):
        diagonal = {"within": first["tolerance"]}
    within, outside = (sum(row["pass"] is value for row in rows) for value in (True, False))
    return {
        "type": "scatter",
        "id": name,
        "title": v.listed(metrics) if len(metrics) <= 3 else some(metrics, 3),
        "text": "Filled: predicted. Hollow: calibrated. On the diagonal the twin gives what was published.",
        "alternative": f"{count(len(rows), 'figure')}: {within} within tolerance, {outside} outside.",
        "x": v.axis("published", shown, scale=scale),
        "y": v.axis("twin", shown, scale=scale),
        "marks": [
            {
                "name": metric,
                "symbol": "circle",
                "points": _points([row for row in rows if _metric(row) == metric], colour, _told),
            }
            for colour, metric in enumerate(metrics)
        ],
        "diagonal": diagonal,
    }


def _interval(rows: Sequence[Row], prefix: str) -> v.RangeChart:
    """Return published figures with tolerance next to figures of the twin, one row per case, for a metric with many
    cases.
    """
    first, shown = rows[0], _worst_first(rows)[:MAX_DRAWN]
    name, worst = _metric(first), shown[0]
    rest = f" {len(rows) - MAX_DRAWN} closer ones are only in the table." if len(rows) > MAX_DRAWN else ""
    used = {verdict(row)[0] for row in shown}
    return {
        "type": "ranges",
        "id": f"cases-{prefix}-{v.slug(name)}-{v.slug(first['unit'])}",
        "title": f"{name} by case",
        "text": f"The furthest off comes first.{rest}",
        "alternative": f"Furthest off: {worst['case']}, {worst['published_text']} published, {twin_text(worst)} twin,"
        f" tolerance {worst['tolerance_text']}.",
        "value": v.axis(name, "" if first["unit"] == "ratio" else first["unit"]),
        "rows": [
            {
                "name": row["case"] + row["metric"][len(name) :],
                "low": row["published"] - row["tolerance"],
                "middle": row["published"],
                "high": row["published"] + row["tolerance"],
                "marks": [{"value": row["twin"], "tone": _badge(row)["tone"], "text": _told(row)}],
            }
            for row in shown
        ],
        "legend": {
            "range": "published, with tolerance",
            "marks": [
                v.badge(f"twin, {each['text']}", each["tone"]) for word, each in VERDICTS.items() if word in used
            ],
        },
    }


def _together(rows: Sequence[Row]) -> list[v.Section]:
    """Return a view of all sources together: figures against published figures, errors of each source, and results."""
    drawn = [row for row in rows if not row["range"] and min(row["published"], row["twin"]) >= SMALL]
    found = sums(rows)

    def told(row: Row) -> str:
        return f"{row['study']}, {_told(row)}" + (f": {row['reason']}" if row["reason"] else "")

    alternative = f"{found[-1].within_10} of {len(rows)} figures within 10 %, {found[-1].within_25} within 25 %."
    of_verdicts = [
        (each["text"], _points([row for row in drawn if _badge(row) is each], COLOURS[place], told))
        for place, each in enumerate(VERDICTS.values())
    ]
    scatter: v.ScatterChart = {
        "type": "scatter",
        "id": "scatter-all",
        "title": "Every figure, in its own unit",
        "text": "Around the diagonal, 10 and 25 %. Filled: predicted. Hollow: calibrated."
        f" {len(rows) - len(drawn)} bounds and figures near 0 are only in the table.",
        "alternative": alternative,
        "x": v.axis("published", scale="log"),
        "y": v.axis("twin", scale="log"),
        "marks": [{"name": name, "symbol": "circle", "points": points} for name, points in of_verdicts if points],
        "diagonal": {"within_pct": BANDS},
    }
    errors: v.RangeChart = {
        "type": "ranges",
        "id": "errors",
        "title": "Errors by source",
        "text": "Larger ones are drawn at 100 %.",
        "alternative": alternative,
        "value": v.axis("error", "%", begin=-100, end=100),
        "rows": [
            {
                "name": name,
                "low": -BANDS[0],
                "middle": 0,
                "high": BANDS[0],
                "marks": [
                    {
                        "value": max(-100.0, min(100.0, row["error_pct"] or 0.0)),
                        "tone": _badge(row)["tone"],
                        "text": told(row),
                    }
                    for row in own
                ],
            }
            for name, own in _grouped(rows, lambda row: row["study"]).items()
        ],
        "legend": {"range": "within 10 %", "marks": list(VERDICTS.values())},
    }
    within = [v.figures(f"within_{most}", f"within {most} %") for most in WITHIN_PCT]
    class_right = v.figures("class_right", "class right")
    by_area = [v.words("name", "predictions of"), v.figures("predictions", "number"), *within, class_right]
    by_source = [
        *(v.words("name", "source"), v.figures("figures", "figures"), v.figures("predictions", "predictions"), *within),
        *(class_right, v.figures("one_sided", "one-sided"), v.figures("follows", "following")),
        *(v.figures("calibrated", "calibrated"), v.figures("data_sheets", "data sheet")),
        *(v.figures("not_judged", "not judged"), v.figures("unsettled", "not settled")),
        v.figures("parameters", "free parameters", text="Set by the source's figures: at most one for four figures."),
    ]
    return v.section(
        "together",
        "All sources",
        v.charts([scatter, errors], wide=True),
        v.table("areas", "By area", by_area, [_sum_row(each, share=True) for each in headline(rows)]),
        v.table("sums", "By source", by_source, [_sum_row(each) for each in found]),
    )


def _sum_row(each: Sum, *, share: bool = False) -> v.Row:
    row: dict[str, Any] = asdict(each)
    row["class_right"] = v.figure(each.class_right, text=f"{each.class_right} of {each.class_named}")
    over = each.over and each.name != "all"
    row["parameters"] = v.figure(
        each.parameters, "warn" if over else "plain", text=f"{each.parameters}{' (over a quarter)' * over}"
    )
    if share:
        for most in WITHIN_PCT:
            many = row[f"within_{most}"]
            row[f"within_{most}"] = v.figure(many, text=_part(many, each.predictions))
    return row
