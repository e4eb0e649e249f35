"""View of a comparison of two results: changes in words, different settings, changed figures, and missing items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from hypertwin.documents.compare import Change, Comparison, Side
from hypertwin.metrics.catalogue import CATALOGUE, MORE_IS_BETTER, MORE_IS_WORSE
from hypertwin.metrics.words import RESOLVED_PCT, count, half_width, number, some
from hypertwin.show import view as v

MAX_DRAWN, MAX_NAMED = 15, 4
"""Maximum number of changes in the chart, and in the answer."""

WORTH_PCT = 1.0
"""Change in per cent above which a figure without an interval is mentioned."""

FELT: Mapping[str, tuple[str, str, str]] = {
    "throughput_per_s": ("does {} more work", "does {} less work", "/s"),
    "response_ms.mean": ("responds {} slower", "responds {} faster", "ms"),
    "response_ms.p99": ("has a {} longer p99", "has a {} shorter p99", "ms"),
    "io_latency_ms.mean": ("waits {} longer for I/O", "waits {} less for I/O", "ms"),
    "iops": ("does {} more I/O", "does {} less I/O", "IOPS"),
    "ready_pct": ("is ready longer", "is ready less", "%"),
}
"""Group figures that users notice, in this order, with the words for more and for less, and the unit."""

ORDER = ("group", "cluster", "host", "pool", "VM")
"""Kinds of entities in the order of their rows. Others come last."""


def summary(found: Comparison) -> str:
    """Return the changes that users notice in words, or the number of changed figures if there are no such changes."""
    changes = found["changes"]
    total = len(changes) + found["same"]
    judged = [change for change in changes if change["beyond"] is not None]
    if not changes:
        return f"All {total} figures are the same."
    if judged and not any(change["beyond"] for change in judged):
        return f"No difference beyond chance: {len(changes)} of {total} figures differ, all within their intervals."
    felt = list(_felt(changes))
    if felt:
        return f"In B {'; '.join(felt[:3])}{f'; {len(felt) - 3} more groups changed' if len(felt) > 3 else ''}."
    beyond = f", {sum(change['beyond'] is True for change in judged)} of them beyond chance" if judged else ""
    return f"{len(changes)} of {total} figures differ{beyond}."


def _matters(change: Change) -> bool:
    """True if a change exceeds chance, or if it has no interval and is not tiny."""
    if change["figure"] in ("ready_pct", "costop_pct") and abs(change["change"]) < RESOLVED_PCT:
        return False
    size = abs(change["change_pct"]) if change["change_pct"] is not None else WORTH_PCT
    return change["beyond"] is True or (change["beyond"] is None and size >= WORTH_PCT)


def _felt(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a clause for each group and point of a sweep with a change that users notice: its two largest."""
    of_groups: dict[tuple[str, str], dict[str, Change]] = {}
    for change in changes:
        if change["of"] == "group" and change["figure"] in FELT and _matters(change):
            of_groups.setdefault((change["name"], change["at"]), {})[change["figure"]] = change
    for (name, at), found in of_groups.items():
        if "response_ms.mean" in found:
            found.pop("response_ms.p99", None)
        told = [_clause(found[figure]) for figure in FELT if figure in found][:2]
        yield f"{name}{f' ({at})' if at else ''} {' and '.join(told)}"


def _clause(change: Change) -> str:
    """Return the change of a figure as a clause: `responds 33.6% slower (6.77 → 8.94 ms)`."""
    more, less, unit = FELT[change["figure"]]
    pct = change["change_pct"]
    if "{}" not in more:
        return f"{more if change['change'] > 0 else less} ({v.arrow(change['a'], change['b'], unit)})"
    if pct is None:
        size = f"{number(change['b'])} {unit}"
    elif pct >= 100:
        size = f"{number(change['b'] / change['a'])} times"
    else:
        size = f"{number(abs(pct))}%"
    return f"{(more if change['change'] > 0 else less).format(size)} ({v.arrow(change['a'], change['b'], unit)})"


def effect(change: Change) -> v.Badge | None:
    """Return a badge for a change to the worse or better, or None if unknown."""
    key, up = _key(change), change["change"] > 0
    if key not in MORE_IS_WORSE | MORE_IS_BETTER:
        return None
    return v.badge("worse", "bad") if up == (key in MORE_IS_WORSE) else v.badge("better", "good")


def _key(change: Mapping[str, Any]) -> str:
    """Return the key of a figure in the catalogue."""
    return str(change["figure"]).replace(".", "_")


def called(change: Mapping[str, Any]) -> str:
    """Return the name of a figure in tables, or its key if the catalogue does not contain the figure."""
    scope, key = change["of"].lower(), _key(change)
    named = (each.name for each in CATALOGUE if each.key == key and (scope in each.scopes or scope == "node"))
    name = next(named, None)
    return change["figure"] if name is None else f"{name[0].lower()}{name[1:]}" if name[1:2].islower() else name


def side(found: Side) -> str:
    """Return the origin of a result, in words."""
    return ", ".join([found["file"], *_made(found)])


def _made(found: Side) -> list[str]:
    return [each for each in (f"hypertwin {found['version']}" if found["version"] else "", found["date"]) if each]


def notes(found: Comparison) -> list[str]:
    """Return the sides, and the order of the figures."""
    said = [f"{letter}: {side(each)}" for letter, each in (("A", found["a"]), ("B", found["b"]))]
    if any(change["beyond"] is not None for change in found["changes"]):
        said.append("Beyond chance: the 95% confidence intervals of A and B do not overlap.")
    said.append("Order: beyond chance, without intervals, within intervals. In each group the largest change first.")
    if found["kind"] == "simulation":
        said.append("VMs: only the main figures are compared. Groups: all figures.")
    return said


def view(found: Comparison) -> v.View:
    """Return the view of a comparison."""
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
            "more": _more(found, sure),
        },
        "promises": [],
        "confidence": _confidence(found, judged, sure),
        "cards": [
            *sides,
            v.card("Changed", f"{len(changes):,}", f"of {count(len(changes) + found['same'], 'figure')}"),
            v.card(
                "Beyond chance",
                f"{len(sure):,}",
                f"of {len(judged)} with intervals",
                "warn" if sure else "plain",
            ),
            v.card("Only in A or B", f"{len(missing):,}", tone="warn" if missing else "plain"),
        ],
        "sections": [
            *_settings(found),
            *v.section("verdicts", "Verdicts that changed", _plain("verdicts", "Changed verdicts", found["verdicts"])),
            *v.section(
                "changes",
                "Changes",
                v.charts([_chart(changes)] if is_percent else [], wide=True),
                _table("main", "Main changes", _main(changes)),
                _table("changes", "All changes", changes),
            ),
            *v.section("missing", "Only in A or B", _plain("missing", "Only in A or B", missing)),
        ],
        "notes": [f"{len(changes):,} of {len(changes) + found['same']:,} figures differ, {len(sure)} beyond chance."]
        if sure
        else [],
        "brief": ["settings", "main"],
        "assumptions": notes(found),
    }


def _more(found: Comparison, sure: Sequence[Change]) -> list[str]:
    """Return sentences about changed hosts and verdicts."""
    moved = [each for each in found["changes"] if each["of"] == "host" and each["figure"] == "usage_pct"]
    hosts = [f"{each['name']} {v.arrow(each['a'], each['b'], '%')}" for each in moved if _matters(each)]
    verdicts = [f"{_where(each)}: {each['a']} → {each['b']}" for each in found["verdicts"]]
    said = [f"Host usage: {some(hosts, 4)}."] if hosts else []
    said += [f"Verdicts: {some(verdicts, 3)}."] if verdicts else []
    if not any(_felt(found["changes"])):
        said += [_told(each) for each in sure[:MAX_NAMED]]
    return said


def _main(changes: Sequence[Change]) -> list[Change]:
    """Return the changes of groups and hosts that exceed chance, groups first."""
    kept = [each for each in changes if each["of"] in ORDER and each["of"] != "VM" and _matters(each)]
    if any(each["beyond"] is False for each in changes) and not any(each["beyond"] for each in changes):
        return []
    first = list(FELT)
    return sorted(
        kept,
        key=lambda each: (
            ORDER.index(each["of"]),
            each["beyond"] is not True,
            first.index(each["figure"]) if each["figure"] in first else len(first),
        ),
    )


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
        said.append(v.badge(f"{have}. {len(sure)} changed beyond chance."))
    else:
        text = "No changed figure has intervals on both sides: changes might be chance (--replications 3)."
        said.append(v.badge(text, "note"))
    return said


def _where(each: Mapping[str, Any]) -> str:
    at = f"({each['at']})" if each["at"] else ""
    return " ".join(filter(None, (f"{each['of']} {each['name']}".strip(), called(each), at)))


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
        "text": "From A to B, in percent of A.",
        "alternative": f"{v.listed([f'{_where(each)} {_size(each)}' for each in shown[:3]])}.",
        "categories": [_where(each) for each in shown],
        "value": v.axis("change", "%"),
        "series": series,
        "stacked": True,
        "horizontal": True,
    }


def _table(name: str, caption: str, changes: Sequence[Change]) -> Sequence[v.Block]:
    names = (("at", "point"), ("of", "of"), ("name", "name"), ("figure", "figure"), ("unit", "unit"))
    columns = [v.words(key, head) for key, head in names if any(cast(Any, each)[key] for each in changes)]
    columns += [
        v.badges("effect", "effect", text="Worse or better for users, where that can be said."),
        v.badges(
            "beyond", "beyond chance", text="The 95% confidence intervals of A and B do not overlap.", secondary=True
        ),
        v.figures("a", "A"),
        v.figures("b", "B"),
        v.figures("change", "change", "%"),
    ]
    beyond = {True: v.badge("yes", "warn"), False: v.badge("no"), None: v.badge("no interval")}
    rows: list[v.Row] = [
        {
            **{key: cast(Any, each)[key] for key, _ in names},
            "figure": called(each),
            "effect": effect(each),
            "beyond": beyond[each["beyond"]],
            "a": v.figure(each["a"], half_width=each["a_ci95"]),
            "b": v.figure(each["b"], half_width=each["b_ci95"]),
            "change": v.figure(each["change_pct"], text=_size(each)),
        }
        for each in changes
    ]
    filters = [key for key in ("of", "figure") if any(column["key"] == key for column in columns)]
    return v.table(name, caption, columns, rows, filters=[*filters, "beyond"] if name == "changes" else [])


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
    """Return a table of words, without empty columns."""
    heads = {"only_in": "only in", "at": "point", "of": "of", "name": "name", "figure": "figure", "a": "A", "b": "B"}
    columns = [v.words(key, head) for key, head in heads.items() if any(each.get(key) for each in records)]
    rows = [{**each, "only_in": each.get("only_in", "").upper()} for each in records]
    return v.table(name, caption, columns, rows)
