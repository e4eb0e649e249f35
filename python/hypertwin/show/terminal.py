"""Representation of a view in a terminal: the answer, its tables, and important notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeGuard

from rich.console import Group, RenderableType
from rich.text import Text

from hypertwin.errors import printable
from hypertwin.show.table import Cells, Fitted
from hypertwin.show.view import Badge, Block, Section, Table, Tabled, View, blocks_of, head, shown, tone_of

MAX_ROWS = 40
"""Maximum number of rows of a table."""

MAX_LINES, MAX_TABLES, MAX_BRIEF_ROWS, MAX_NOTES = 3, 2, 12, 3
"""Maximum numbers of further lines of the answer, tables, table rows and notes in a brief view."""

LONG = 40
"""Number of characters from which words are a sentence, which wraps before any column is dropped."""

ANSWERS = {"good": "bold", "bad": "bold red", "warn": "bold yellow", "note": "bold", "plain": "bold"}
"""Style of an answer by its tone."""

STYLES = {"bad": "red", "warn": "yellow"}
"""Style of a cell or line by its tone."""


def brief(view: View, *, more: Collection[str] = ()) -> RenderableType:
    """Return the answer, one or two tables without secondary columns, and the notes that change a decision.

    The last line names `more` options, which show the rest.
    """
    parts: list[RenderableType] = list(_answer(view, MAX_LINES))
    tables = {each["table"]["id"]: each["table"] for each in blocks_of(view) if _is_table(each)}
    for name in view.get("brief", list(tables))[:MAX_TABLES]:
        if name in tables:
            parts += _table(tables[name], MAX_BRIEF_ROWS, secondary=False)
    notes = list(dict.fromkeys((*warnings(view), *view.get("notes", ()))))[:MAX_NOTES]
    has_more = bool(more) and bool(view["sections"] or view["assumptions"])
    lines = [*notes, f"More: {'  '.join(more)}"] if has_more else notes
    return Group(*parts, *(Text(printable(line), "dim") for line in lines))


def warnings(view: View) -> list[str]:
    """Return the reasons for a lower confidence of figures."""
    return [each["text"] for each in view["confidence"] if each["tone"] in ("warn", "bad")]


def _is_table(block: Block) -> TypeGuard[Tabled]:
    return block["type"] == "table" and not block.get("detail")


def _answer(view: View, most: int | None = None) -> Iterator[Text]:
    answer = view["answer"]
    if answer["text"]:
        yield Text(printable(answer["text"]), ANSWERS[answer["tone"]])
    for line in list(answer.get("more", ()))[:most]:
        yield Text(printable(line), STYLES.get(answer["tone"], ""))


def rendered(view: View, only: Collection[str] = ()) -> RenderableType:
    """Return a view, or some of its sections by their `id`."""
    parts: list[RenderableType] = []
    if not only:
        parts = list(_answer(view))
    for section in view["sections"]:
        if section["id"] in only if only else not section.get("detail"):
            if "badge" in section or section["blocks"][0]["type"] == "list":
                parts.append(_heading(section["heading"], section.get("badge")))
            parts += _blocks(section["blocks"], asked=bool(only))
    notes = _texts(view, only)
    if not only:
        confidence = (each["text"] for each in view["confidence"])
        lines = (view["answer"]["text"], *view["answer"].get("more", ()), *view.get("notes", ()))
        # a short line that is part of another says nothing new
        more = (each for each in (*confidence, *view["assumptions"]) if not any(each in line for line in lines))
        notes = [*view.get("notes", ()), *more]
    return Group(*parts, *(Text(printable(note), "dim") for note in dict.fromkeys(notes)))


def _texts(view: View, only: Collection[str]) -> list[str]:
    shown: list[Section] = [each for each in view["sections"] if each["id"] in only]
    return [each["text"] for each in shown if each.get("text")]


def _blocks(blocks: Iterable[Block], *, asked: bool) -> Iterator[RenderableType]:
    for block in blocks:
        if block["type"] == "table":
            if asked or not block.get("detail"):
                yield from _table(block["table"])
        elif block["type"] == "prose":
            style = STYLES.get(block.get("tone", "plain"), "")
            yield from (Text(printable(each), style) for each in block["paragraphs"])
        elif block["type"] == "list":
            for each in block["items"]:
                yield Text(printable(each["text"]), STYLES.get(each.get("tone", "plain"), ""))
        elif block["type"] == "text":
            yield from (Text(printable(f"\n{block['name']}"), "bold"), Text(printable(block["text"])))
        elif block["type"] == "group" and (asked or not block.get("detail")):
            yield _heading(block["heading"], block.get("badge"), "▸ " if block.get("closed") else "")
            if not block.get("closed"):
                yield from _blocks(block["blocks"], asked=asked)


def _heading(text: str, badge: Badge | None, sign: str = "") -> Text:
    word = (f"{printable(badge['text'])} ", ANSWERS[badge["tone"]]) if badge else ""
    return Text.assemble(sign, word, (printable(text), "" if sign else "bold"))


def _table(table: Table, most: int = MAX_ROWS, *, secondary: bool = True) -> Iterator[RenderableType]:
    rows = table["rows"][:most]
    columns = [each for each in table["columns"] if any(shown(row.get(each["key"])) for row in rows)]
    if not secondary:
        columns = [each for each in columns if not each.get("secondary")]
    swept = columns[:1] if columns and columns[0]["kind"] == "number" else []
    columns = swept + sorted(columns[len(swept) :], key=lambda each: each["kind"] == "number")
    texts = [[printable(shown(row.get(each["key"]))) for each in columns] for row in rows]
    heads = [printable(head(each)) for each in columns]
    wordy = len(swept) + sum(each["kind"] != "number" for each in columns)
    prose = [
        name
        for place, name in enumerate(heads[:wordy])
        if not columns[place].get("secondary") and any(len(row[place]) > LONG for row in texts)
    ]
    order = [name for name, each in reversed(list(zip(heads, columns, strict=True))) if each.get("secondary")]
    keys = dict(zip(heads, (each["key"] for each in columns), strict=True))

    def style(row: int, name: str, _text: str) -> str:
        return STYLES.get(tone_of(rows[row].get(keys[name])), "")

    yield Fitted(printable(table["caption"]), Cells(heads, texts, len(swept), wordy - len(swept)), order, style, prose)
    left = len(table["rows"]) - len(rows)
    notes = list(table.get("notes", ())) if secondary else []
    if left > 0:
        notes.append(f"{left:,} more rows: --{'format xlsx' if secondary else 'explain'}.")
    yield from (Text(printable(note), "dim") for note in notes)
