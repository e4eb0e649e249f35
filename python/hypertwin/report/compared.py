"""Two results of one kind, for a terminal: what was set differently, what changed, what only one of both has."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.documents.compare import Change, Comparison, Missing, Side
from hypertwin.errors import printable
from hypertwin.report.page import Listing, Page
from hypertwin.report.table import Cells, Fitted
from hypertwin.report.words import some

MOST_CHANGES = 40
"""Changes that a terminal shows; the JSON document and the page have all."""

MOST_LISTED = 500
"""Changes that a page shows where scripts are off."""

STYLES = {True: "bold", False: "dim", None: ""}
HEADS = ("point", "of", "figure", "A", "B", "unit", "change", "beyond")
WORDS = 3
"""How many of these are of words."""
BEYOND = {True: "yes", False: "no", None: ""}


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
    parts = [found["file"], f"hypertwin {found['version']}" if found["version"] else "", found["date"] or ""]
    return ", ".join(filter(None, parts))


def notes(found: Comparison) -> list[str]:
    """What a reader must know of the figures."""
    said = []
    if any(change["beyond"] is not None for change in found["changes"]):
        said.append("Beyond: the 95 % confidence intervals of both do not overlap.")
    said.append("Largest first: beyond their intervals, then without intervals, then within; relative to the larger.")
    if found["kind"] == "simulation":
        said.append("Of single VMs only the figures that tell most are compared; of their groups all.")
    return said


def missing(found: Comparison, which: str) -> list[str]:
    """What only one side has, in words."""
    return [_thing(each) for each in found["missing"] if each["only_in"] == which]


def _thing(each: Missing) -> str:
    return " ".join(filter(None, (each["of"], each["name"], each["figure"], f"({each['at']})" if each["at"] else "")))


def page(found: Comparison) -> Page:
    """The page: what was set differently, charts of the largest changes, and a table of all."""
    return Page(
        kind="comparison",
        title=f"Two results of {found['kind']} compared",
        document=found,
        beside={"summary": summary(found)},
        notes=notes(found),
        tables=[Listing(summary(found), HEADS, [_cells(change) for change in found["changes"][:MOST_LISTED]])],
    )


def table(found: Comparison) -> RenderableType:
    """What `hypertwin compare --format json` prints, for a terminal."""
    parts: list[RenderableType] = [Text(printable(f"{letter}: {side(each)}")) for letter, each in _sides(found)]
    if found["settings"]:
        parts += [Text("\nSet differently", "bold"), *_settings(found)]
    else:
        parts.append(Text("Nothing was set differently."))
    for each in found["verdicts"]:
        where = " ".join(filter(None, (each["of"], each["name"], each["figure"], each["at"])))
        parts.append(Text(printable(f"{where}: {each['a']} in A, {each['b']} in B"), "yellow"))
    for which in ("a", "b"):
        only = missing(found, which)
        if only:
            parts.append(Text(printable(f"Only in {which.upper()}: {some(only, 8)}"), "yellow"))
    if found["changes"]:
        parts.append(_changes(found["changes"][:MOST_CHANGES]))
    left = len(found["changes"]) - MOST_CHANGES
    if left > 0:
        parts.append(Text(f"{left} smaller changes: --format json and --report have them all.", "dim"))
    return Group(*parts, Text(summary(found), "bold"), *(Text(note, "dim") for note in notes(found)))


def _sides(found: Comparison) -> tuple[tuple[str, Side], tuple[str, Side]]:
    return ("A", found["a"]), ("B", found["b"])


def _settings(found: Comparison) -> list[Text]:
    said = [(each["what"], each["a"], each["b"]) for each in found["settings"]]
    return [
        Text(printable(f"  {what}: {a or 'as in the scenario'} → {b or 'as in the scenario'}")) for what, a, b in said
    ]


def _changes(changes: list[Change]) -> RenderableType:
    left_out = [place for place, key in enumerate(("at", "of")) if not any(change[key] for change in changes)]  # type: ignore[literal-required]
    heads, *rows = (
        [printable(cell) for place, cell in enumerate(row) if place not in left_out]
        for row in (HEADS, *map(_cells, changes))
    )
    words = WORDS - len(left_out)
    return Fitted(
        "",
        Cells(heads, rows, swept=0, words=words),
        style=lambda row, _head, _text: STYLES[changes[row]["beyond"]],
        prose=heads[:words],
    )


def _cells(change: Change) -> list[str]:
    return [
        change["at"],
        f"{change['of']} {change['name']}".strip(),
        change["figure"],
        _value(change["a"], change["a_ci95"]),
        _value(change["b"], change["b_ci95"]),
        change["unit"],
        "from 0" if change["change_pct"] is None else f"{change['change_pct']:+,.3g} %",
        BEYOND[change["beyond"]],
    ]


def _value(value: float, ci95: float | None) -> str:
    return f"{value:,.4g}" + (f" ±{ci95:,.2g}" if ci95 is not None else "")
