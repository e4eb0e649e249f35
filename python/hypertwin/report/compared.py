"""Two results of one kind: what was set differently, what changed, the largest first, what only one of both has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from hypertwin.documents.compare import Change, Comparison, Side
from hypertwin.report import view as v
from hypertwin.report.words import count, half_width, some

MAX_DRAWN, MAX_NAMED = 15, 4
"""Changes that the chart draws, and that the answer names."""


def summary(found: Comparison) -> str:
    """How much changed, in one sentence."""
    changes = found["changes"]
    total = len(changes) + found["same"]
    sure = sum(change["beyond"] is True for change in changes)
    judged = sum(change["beyond"] is not None for change in changes)
    if not changes:
        return f"All {total} figures are the same."
    if judged and not sure:
        runs = "replications" if found["kind"] in ("simulation", "density") else "runs"
        none = f"none of the {judged} with intervals by more than those"
        return f"No difference beyond what {runs} differ by: {len(changes)} of {total} figures differ, {none}."
    beyond = f"; {sure} of the {judged} with intervals by more than those" if judged else ""
    return f"{len(changes)} of {total} figures differ{beyond}."


def side(found: Side) -> str:
    """Whose result it is, in words."""
    return ", ".join([found["file"], *_made(found)])


def _made(found: Side) -> list[str]:
    return [each for each in (f"hypertwin {found['version']}" if found["version"] else "", found["date"]) if each]


def notes(found: Comparison) -> list[str]:
    """What a reader must know of the figures."""
    said = [f"{letter}: {side(each)}" for letter, each in (("A", found["a"]), ("B", found["b"]))]
    if any(change["beyond"] is not None for change in found["changes"]):
        said.append("Beyond: the 95 % confidence intervals of both do not overlap.")
    said.append("Largest first: beyond their intervals, then without intervals, then within; relative to the larger.")
    if found["kind"] == "simulation":
        said.append("Of single VMs only the figures that tell most are compared; of their groups all.")
    return said


def view(found: Comparison) -> v.View:
    """What there is to show of a comparison."""
    changes, missing = found["changes"], found["missing"]
    sure = [each for each in changes if each["beyond"]]
    judged = [each for each in changes if each["beyond"] is not None]
    sides = [
        v.card(
            letter,
            each["file"].rpartition("/")[2],
            ", ".join(filter(None, (*_made(each), f"hypertwin {each['command']}" if each["command"] else ""))),
        )
        for letter, each in (("A", found["a"]), ("B", found["b"]))
    ]
    is_percent = any(each["change_pct"] is not None for each in changes)
    return {
        "title": f"Two results of {found['kind']} compared",
        "answer": {
            "tone": "warn" if sure or found["verdicts"] else "note" if changes else "good",
            "text": summary(found),
            "more": [_told(each) for each in (sure if judged else changes)[:MAX_NAMED]],
        },
        "promises": [],
        "confidence": _confidence(found, judged, sure),
        "cards": [
            *sides,
            v.card("Changed", f"{len(changes):,}", f"of {count(len(changes) + found['same'], 'figure')}"),
            v.card(
                "Beyond their intervals",
                f"{len(sure):,}",
                f"of {len(judged)} with intervals",
                "warn" if sure else "plain",
            ),
            v.card("Only in one of both", f"{len(missing):,}", tone="warn" if missing else "plain"),
        ],
        "sections": [
            *_settings(found),
            *v.section("verdicts", "Verdicts that changed", _plain("verdicts", "Changed verdicts", found["verdicts"])),
            *v.section(
                "changes", "Changes", v.charts([_chart(changes)] if is_percent else [], wide=True), _table(changes)
            ),
            *v.section("missing", "Only in one of both", _plain("missing", "Only in one of both", missing)),
        ],
        "assumptions": notes(found),
    }


def _confidence(found: Comparison, judged: Sequence[Change], sure: Sequence[Change]) -> list[v.Badge]:
    set_differently = some([each["what"] for each in found["settings"]], 6) or "lines of the scenario"
    differ = v.badge(f"Set differently: {set_differently}.", "note")
    said = [differ if found["settings"] or found["scenario_diff"] else v.badge("Nothing was set differently.", "good")]
    for which in ("a", "b"):
        only = [_where(each) for each in found["missing"] if each["only_in"] == which]
        if only:
            said.append(v.badge(f"Only in {which.upper()}: {some(only, 8)}.", "warn"))
    if judged:
        have = f"{count(len(judged), 'changed figure')} {'has' if len(judged) == 1 else 'have'} intervals on both sides"
        said.append(v.badge(f"{have}; {len(sure)} changed by more than those."))
    else:
        text = "No changed figure has intervals on both sides: whether a change is more than chance is unknown."
        said.append(v.badge(text, "note"))
    return said


def _where(each: Mapping[str, Any]) -> str:
    at = f"({each['at']})" if each["at"] else ""
    return " ".join(filter(None, (f"{each['of']} {each['name']}".strip(), each["figure"], at)))


def _size(each: Change) -> str:
    return "from 0" if each["change_pct"] is None else f"{each['change_pct']:+,.3g}%"


def _told(each: Change) -> str:
    a, b = half_width(each["a"], each["a_ci95"]), half_width(each["b"], each["b_ci95"])
    unit = f" {each['unit']}" if each["unit"] not in ("", "ratio") else ""
    return f"{_where(each)}: {a} → {b}{unit} ({_size(each)})"


def _chart(changes: Sequence[Change]) -> v.BarChart:
    shown = [each for each in changes if each["change_pct"] is not None][:MAX_DRAWN]
    series: list[v.Series] = [
        {
            "name": name,
            "values": [each["change_pct"] if (each["change"] > 0) is more else None for each in shown],
            "colour": colour,
        }
        for colour, (name, more) in enumerate((("more in B", True), ("less in B", False)))
        if any((each["change"] > 0) is more for each in shown)
    ]
    return {
        "type": "bars",
        "id": "largest",
        "title": "Largest changes",
        "text": "From A to B, in per cent of A.",
        "alternative": f"{v.listed([f'{_where(each)} {_size(each)}' for each in shown[:3]])}.",
        "categories": [_where(each) for each in shown],
        "value": v.axis("change", "%"),
        "series": series,
        "stacked": True,
        "horizontal": True,
    }


def _table(changes: Sequence[Change]) -> Sequence[v.Block]:
    names = (("at", "point"), ("of", "of"), ("name", "name"), ("figure", "figure"), ("unit", "unit"))
    columns = [v.words(key, name) for key, name in names if any(cast(Any, each)[key] for each in changes)]
    columns += [
        v.badges("beyond", "beyond", text="Whether the 95 % confidence intervals of both do not overlap."),
        v.figures("a", "A"),
        v.figures("b", "B"),
        v.figures("change", "change", "%"),
    ]
    beyond = {True: v.badge("yes", "warn"), False: v.badge("no"), None: v.badge("no interval")}
    rows: list[v.Row] = [
        {
            **{key: cast(Any, each)[key] for key, _ in names},
            "beyond": beyond[each["beyond"]],
            "a": v.figure(each["a"], half_width=each["a_ci95"]),
            "b": v.figure(each["b"], half_width=each["b_ci95"]),
            "change": v.figure(each["change_pct"], text=_size(each)),
        }
        for each in changes
    ]
    filters = [key for key in ("of", "figure") if any(column["key"] == key for column in columns)]
    caption = "Changed figures, the largest change first"
    return v.table("changes", caption, columns, rows, filters=[*filters, "beyond"])


def _settings(found: Comparison) -> list[v.Section]:
    columns = [v.words("what", "setting"), v.words("a", "A"), v.words("b", "B")]
    usual = "as in the scenario"
    rows: list[v.Row] = [
        {"what": each["what"], "a": each["a"] or usual, "b": each["b"] or usual} for each in found["settings"]
    ]
    diff: list[v.Source] = [{"type": "text", "name": "scenario.diff", "text": found["scenario_diff"] or ""}]
    return v.section(
        "settings",
        "Set differently",
        v.table("settings", "Set differently", columns, rows),
        v.group("The scenario", diff if found["scenario_diff"] else [], closed=True),
    )


def _plain(name: str, caption: str, records: Sequence[Any]) -> Sequence[v.Block]:
    """A table of words, without columns that no record fills."""
    heads = {"only_in": "only in", "at": "point", "of": "of", "name": "name", "figure": "figure", "a": "A", "b": "B"}
    columns = [v.words(key, head) for key, head in heads.items() if any(each.get(key) for each in records)]
    rows = [{**each, "only_in": each.get("only_in", "").upper()} for each in records]
    return v.table(name, caption, columns, rows)
