"""Content of a result as data, without markup or colours, shown by terminal, workbook and page.

A module of `hypertwin.show` builds the view of each kind of result, and the components of the page draw any view.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from hypertwin.metrics.words import half_width as spread
from hypertwin.metrics.words import number

Tone = Literal["good", "bad", "warn", "note", "plain"]
"""Meaning of a fact. Components choose colours and marks for each tone."""


class Badge(TypedDict):
    """A coloured word."""

    tone: Tone
    text: str


class Figure(TypedDict):
    """A number with additional properties. Without `text`, the size of the number determines its digits."""

    value: float | None
    half_width: NotRequired[float | None]
    """Half-width of the 95 % confidence interval."""
    low: NotRequired[float]
    """Ends of the 80% interval with the twin's own error."""
    high: NotRequired[float]
    text: NotRequired[str]
    tone: NotRequired[Tone]


MEASURED, TWIN = 0, 1
"""Palette numbers of measured or published figures, and of figures of the twin. They are the same on all pages."""

Cell: TypeAlias = str | float | Figure | Badge | None
Row: TypeAlias = Mapping[str, Cell]


class Column(TypedDict):
    """A column of a table."""

    key: str
    name: str
    unit: NotRequired[str]
    text: NotRequired[str]
    """Definition, shown on hover and in the notes of a printed page."""
    kind: Literal["words", "number", "badge"]
    secondary: NotRequired[bool]
    """True if the column can be dropped first in a narrow table."""


Cells = Sequence[tuple[Column, Cell]]
"""Row of a table, with the columns of its cells. Pages get tables only."""


class Sorting(TypedDict):
    """Column and direction of a sort order."""

    column: str
    descending: bool


class Table(TypedDict):
    """A table."""

    id: str
    """Identifier that is unique in a view, and the name of the CSV file."""
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    sorted: NotRequired[Sorting]
    """Initial sort column and direction of the table."""
    filters: NotRequired[Sequence[str]]
    """Columns with a filter above the table: cluster, host, verdict."""
    notes: NotRequired[Sequence[str]]


class Card(TypedDict):
    """A key figure."""

    name: str
    value: str
    remark: NotRequired[str]
    tone: NotRequired[Tone]


class Titled(TypedDict):
    """Base of charts. Every chart has a title, and a text alternative for readers who cannot see the chart."""

    id: str
    """Identifier that is unique in a view. File names of SVG, PNG and CSV begin with the identifier."""
    title: str
    text: NotRequired[str]
    alternative: str
    """One sentence with the figures that matter: "Ready rises from 0.1 % at 4 VMs to 22 % at 12."."""


Axis = TypedDict(
    "Axis",
    {
        "name": str,
        "unit": NotRequired[str],
        "scale": NotRequired[Literal["linear", "log", "percentile", "category"]],
        "categories": NotRequired[Sequence[str]],
        "ticks": NotRequired[Sequence[float]],
        "from": NotRequired[float],
        "to": NotRequired[float],
    },
)
"""Axis of a chart. `percentile` stretches the tail: 90, 99, 99.9 are evenly spaced steps.

`category` takes its labels from `categories`, and x is the index of a category. `ticks` are values to mark, by default
chosen by the component. `from` and `to` are fixed ends of the axis.
"""


class Series(TypedDict):
    """Values along an axis. A colour is a number in the palette.

    An entity has the same colour in all charts of a page.
    """

    name: str
    values: Sequence[float | None]
    halfWidths: NotRequired[Sequence[float | None]]
    """Half-widths of the 95 % confidence interval, drawn as a band or as whiskers."""
    lows: NotRequired[Sequence[float | None]]
    """Ends of the 80% interval with the twin's own error, drawn as a light band. The axis does not extend to them."""
    highs: NotRequired[Sequence[float | None]]
    colour: int
    dash: NotRequired[Literal["solid", "dashed", "dotted"]]


class MarkedPoint(TypedDict):
    """One point among marks."""

    x: float
    y: float
    colour: int
    hollow: NotRequired[bool]
    text: str


class Marks(TypedDict):
    """Single points among lines, such as published figures or the chosen answer, in the colour of their series."""

    name: str
    symbol: Literal["star", "circle", "diamond"]
    line: NotRequired[Literal["solid", "dashed"]]
    """True to draw a line from each point to the next in a scatter chart."""
    points: Sequence[MarkedPoint]


class Moment(TypedDict):
    """A numbered line across a chart at the time of an event."""

    x: float
    number: int
    text: str
    tone: Tone


class Limit(TypedDict):
    """A line across a chart, such as an objective."""

    name: str
    value: float
    tone: Tone


class LineChart(Titled):
    """Lines over an axis."""

    type: Literal["lines"]
    x: Axis
    y: Axis
    places: Sequence[float]
    """Ascending x values of all series. A series without a value at an x value has null."""
    series: Sequence[Series]
    marks: NotRequired[Sequence[Marks]]
    moments: NotRequired[Sequence[Moment]]
    limits: NotRequired[Sequence[Limit]]
    sync: NotRequired[str]
    """Key of charts that share cursor, zoom and axis width, such as panels over one time axis."""


class BarChart(Titled):
    """Bars."""

    type: Literal["bars"]
    categories: Sequence[str]
    """Categories of the bars in display order, worst first."""
    value: Axis
    series: Sequence[Series]
    stacked: NotRequired[bool]
    horizontal: NotRequired[bool]
    """True for horizontal bars, which leave room for long names."""
    hatched: NotRequired[Sequence[int]]
    """Positions of categories with hatched bars, such as a failed host. `text` explains the hatching."""
    limits: NotRequired[Sequence[Limit]]


class Diagonal(TypedDict, total=False):
    """Tolerances around the diagonal, in per cent of x or in the unit of x."""

    within_pct: Sequence[float]
    within: float


class ScatterChart(Titled):
    """A scatter chart, such as published against simulated figures."""

    type: Literal["scatter"]
    x: Axis
    y: Axis
    marks: Sequence[Marks]
    diagonal: NotRequired[Diagonal]


class RangeMark(TypedDict):
    """A mark on an interval."""

    value: float
    tone: Tone
    text: str


class RangeRow(TypedDict):
    """An interval."""

    name: str
    low: float | None
    middle: float | None
    high: float | None
    marks: Sequence[RangeMark]


class RangeLegend(TypedDict):
    """Meaning of the interval and of each tone of a mark."""

    range: str
    marks: Sequence[Badge]


class RangeChart(Titled):
    """Intervals with marks, one per row, such as a published figure with its tolerance and the figure of the twin."""

    type: Literal["ranges"]
    value: Axis
    rows: Sequence[RangeRow]
    legend: RangeLegend


class HeatRow(TypedDict):
    """A row of a heat map."""

    name: str
    values: Sequence[float | None]


class HeatState(TypedDict):
    """A possible state of a cell."""

    name: str
    colour: int


class HeatPoint(TypedDict):
    """A marked cell."""

    row: int
    column: int
    text: str


class HeatMarks(TypedDict):
    """Cells that differ from others regardless of their value, with the reason."""

    name: str
    tone: Tone
    points: Sequence[HeatPoint]


class HeatMap(Titled):
    """Values of many rows over columns, dark for high values. Examples are VMs over time, and hosts by NUMA node."""

    type: Literal["heat"]
    x: Axis
    columns: Sequence[float]
    """Values of x of the columns, counted from 0 on a `category` axis."""
    rows: Sequence[HeatRow]
    unit: str
    states: NotRequired[Sequence[HeatState]]
    """States of cells, from good to bad, with their colours. Values are positions in this list."""
    top: NotRequired[float]
    """Value with the darkest colour (default: the largest value)."""
    marks: NotRequired[HeatMarks]
    moments: NotRequired[Sequence[Moment]]


Chart: TypeAlias = LineChart | BarChart | ScatterChart | RangeChart | HeatMap


class Prose(TypedDict):
    """Paragraphs."""

    type: Literal["prose"]
    paragraphs: Sequence[str]
    tone: NotRequired[Tone]


class Item(TypedDict):
    """A line of a list. An `address` makes the text a link, if it uses https."""

    text: str
    tone: NotRequired[Tone]
    address: NotRequired[str]


class Listed(TypedDict):
    """A list."""

    type: Literal["list"]
    items: Sequence[Item]


class Cards(TypedDict):
    """Key figures within a section."""

    type: Literal["cards"]
    cards: Sequence[Card]


class Charts(TypedDict):
    """Charts side by side if they fit. `wide` charts have their own row."""

    type: Literal["charts"]
    charts: Sequence[Chart]
    wide: NotRequired[bool]


class Tabled(TypedDict):
    """Table as a block. A table with `detail` is too long for a terminal."""

    type: Literal["table"]
    table: Table
    detail: NotRequired[bool]


class Drawing(TypedDict):
    """A drawing made in Python: one SVG element without scripts, references and inline styles."""

    type: Literal["drawing"]
    caption: str
    svg: str


class Source(TypedDict):
    """Text to read, copy or download as `name`."""

    type: Literal["text"]
    name: str
    text: str


class Group(TypedDict):
    """Blocks under a separate heading within the section, such as one finding."""

    type: Literal["group"]
    heading: str
    badge: NotRequired[Badge]
    closed: NotRequired[bool]
    """True if the group is closed at first. Terminals show only its heading."""
    detail: NotRequired[bool]
    """True if terminals omit the group."""
    blocks: Sequence[Block]


Block: TypeAlias = Prose | Listed | Cards | Charts | Tabled | Drawing | Source | Group


class Section(TypedDict):
    """A part of a page under a heading."""

    id: str
    """Target of links within the page, unique in a view."""
    heading: str
    text: NotRequired[str]
    badge: NotRequired[Badge]
    """A coloured word before the heading."""
    closed: NotRequired[bool]
    """True if the section is closed at first. Print shows closed sections open."""
    detail: NotRequired[bool]
    """True if the section is hidden in terminals unless requested by its `id`."""
    blocks: Sequence[Block]


class Answer(TypedDict):
    """Answer in one or two sentences, before all other content."""

    tone: Tone
    text: str
    more: NotRequired[Sequence[str]]


class Promise(TypedDict):
    """Promise or condition with its result, or null if the promise cannot be judged."""

    text: str
    met: bool | Literal["not surely"] | None
    """`not surely` means met, except at the worse end of the twin's own error."""
    note: NotRequired[str]


class View(TypedDict):
    """Content of a result."""

    title: str
    answer: Answer
    promises: Sequence[Promise]
    confidence: Sequence[Badge]
    """Confidence of the figures, by replications, half-widths, steady state and calibration."""
    cards: Sequence[Card]
    sections: Sequence[Section]
    notes: NotRequired[Sequence[str]]
    """Notes that change a decision, most important first: limits, missing data, an unproven result."""
    assumptions: Sequence[str]
    """Definitions, assumptions and limits of the model, for the whole result."""
    brief: NotRequired[Sequence[str]]
    """Default tables of a terminal, by `id`. If absent, the first two tables are shown."""


def _given(**of: Any) -> Any:
    """Return the entries that are not None."""
    return {key: each for key, each in of.items() if each is not None}


def _toned(tone: Tone) -> Tone | None:
    return None if tone == "plain" else tone


def _column(kind: str, key: str, name: str, unit: str, text: str, secondary: bool) -> Column:
    made: Column = _given(
        key=key, name=name, kind=kind, unit=unit or None, text=text or None, secondary=secondary or None
    )
    return made


def words(key: str, name: str, *, text: str = "", secondary: bool = False) -> Column:
    """Return a column of words."""
    return _column("words", key, name, "", text, secondary)


def badges(key: str, name: str, *, text: str = "", secondary: bool = False) -> Column:
    """Return a column of badges."""
    return _column("badge", key, name, "", text, secondary)


def figures(key: str, name: str, unit: str = "", *, text: str = "", secondary: bool = False) -> Column:
    """Return a column of numbers in `unit`. The unit is empty for plain numbers."""
    return _column("number", key, name, unit, text, secondary)


def table(
    name: str,
    caption: str,
    columns: Iterable[Column],
    rows: Iterable[Row],
    *,
    descending: str = "",
    ascending: str = "",
    filters: Sequence[str] = (),
    notes: Sequence[str] = (),
    detail: bool = False,
) -> list[Tabled]:
    """Return a table as the only block of a list, or an empty list without rows.

    The table opens sorted by the named column.
    """
    listed = list(rows)
    if not listed:
        return []
    made: Table = {"id": name, "caption": caption, "columns": list(columns), "rows": listed}
    if ascending or descending:
        made["sorted"] = {"column": ascending or descending, "descending": not ascending}
    if filters:
        made["filters"] = filters
    if notes:
        made["notes"] = notes
    return [{"type": "table", "table": made, "detail": True} if detail else {"type": "table", "table": made}]


def listing(name: str, caption: str, cells: Sequence[Cells], **options: Any) -> list[Tabled]:
    """Return a table as `table` does, with its `options`, of rows that all have the same columns."""
    columns = [column for column, _ in cells[0]] if cells else []
    rows = [{column["key"]: cell for column, cell in row} for row in cells]
    return table(name, caption, columns, rows, **options)


def axis(
    name: str,
    unit: str = "",
    *,
    begin: float | None = None,
    end: float | None = None,
    scale: Literal["linear", "log", "percentile"] = "linear",
    categories: Sequence[str] = (),
) -> Axis:
    """Return an axis. With `categories`, these are its positions."""
    kind = "category" if categories else None if scale == "linear" else scale
    ends = {"from": begin, "to": end}
    made: Axis = _given(name=name, unit=unit or None, **ends, scale=kind, categories=categories or None)
    return made


def charts(drawn: Sequence[Chart], *, wide: bool = False) -> list[Charts]:
    """Return charts as the only block of a list, or an empty list without charts."""
    if not drawn:
        return []
    return [{"type": "charts", "charts": drawn, "wide": True} if wide else {"type": "charts", "charts": drawn}]


def items(texts: Iterable[str], tone: Tone = "plain") -> list[Listed]:
    """Return sentences as a list, the only block of a list, or an empty list without sentences."""
    listed: list[Item] = [_given(text=text, tone=_toned(tone)) for text in texts]
    return [{"type": "list", "items": listed}] if listed else []


def section(
    name: str,
    heading: str,
    *blocks: Sequence[Block],
    text: str = "",
    badge: Badge | None = None,
    closed: bool | None = None,
    detail: bool = False,
) -> list[Section]:
    """Return a section as the only element of a list, or an empty list without blocks."""
    listed = [block for some in blocks for block in some]
    more = {"text": text or None, "badge": badge, "closed": closed, "detail": detail or None}
    return [_given(id=name, heading=heading, blocks=listed, **more)] if listed else []


def tabular(title: str, *blocks: Sequence[Block], answer: str = "", assumptions: Sequence[str] = ()) -> View:
    """Return a view that consists mainly of tables."""
    return {
        "title": title,
        "answer": {"tone": "plain", "text": answer},
        "promises": [],
        "confidence": [],
        "cards": [],
        "sections": section("tables", title, *blocks),
        "assumptions": assumptions,
    }


def badge(text: str, tone: Tone = "plain") -> Badge:
    """Return a coloured word."""
    return {"tone": tone, "text": text}


def figure(
    value: float | None,
    tone: Tone = "plain",
    *,
    text: str = "",
    half_width: float | None = None,
    ends: tuple[float, float] | None = None,
) -> Figure | None:
    """Return a number with its tone, text, half-width and ends of its 80% interval, or None without any of these."""
    if value is None and not text:
        return None
    low, high = ends or (None, None)
    made: Figure = {"value": value}
    made |= _given(tone=_toned(tone), text=text or None, half_width=half_width, low=low, high=high)
    return made


def toned(value: float | None, bad: bool, tone: Tone = "bad") -> Figure | None:
    """Return a number that is marked if it is bad."""
    return figure(value, tone if bad else "plain")


def arrow(now: float | None, then: float | None, unit: str = "") -> str:
    """Return a figure now and later: `41.7 → 62.5`.

    An unknown figure is `-`. Equal figures are written once.
    """
    first, second = number(now) or "-", number(then) or "-"
    after = f" {unit}" if unit and unit != "%" else unit
    return first + after if first == second else f"{first} → {second}{after}"


def shift(now: float | None, then: float | None, tone: Tone = "plain") -> Figure | None:
    """Return a figure now and later as a cell, sorted by the later value."""
    return None if now is None else figure(now if then is None else then, tone, text=arrow(now, then))


def card(name: str, value: str, remark: str = "", tone: Tone = "plain") -> Card:
    """Return a key figure."""
    made: Card = _given(name=name, value=value, remark=remark or None, tone=_toned(tone))
    return made


def percent(value: float | None) -> str:
    """Return a percentage such as `80%`, or an empty string for None."""
    return "" if value is None else f"{number(value)}%"


def listed(names: Sequence[str]) -> str:
    """Return words as a list in a sentence: `a, b and c`."""
    return "".join(names) if len(names) < 2 else f"{', '.join(names[:-1])} and {names[-1]}"


def sentence(text: str) -> str:
    """Return a text with a capital first letter and a full stop."""
    return text and f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.!?' else '.'}"


def slug(text: str) -> str:
    """Return a text as part of an `id`, with letters, digits and hyphens only."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def group(
    heading: str, *blocks: Sequence[Block], badge: Badge | None = None, closed: bool | None = None, detail: bool = False
) -> list[Block]:
    """Return blocks under a separate heading, as the only element of a list, or an empty list without blocks."""
    listed = [block for some in blocks for block in some]
    more = {"badge": badge, "closed": closed, "detail": detail or None}
    return [_given(type="group", heading=heading, blocks=listed, **more)] if listed else []


def blocks_of(view: View) -> Iterable[Block]:
    """Yield all blocks of a view, including those in groups."""

    def inside(blocks: Iterable[Block]) -> Iterable[Block]:
        for block in blocks:
            yield block
            if block["type"] == "group":
                yield from inside(block["blocks"])

    return (block for each in view["sections"] for block in inside(each["blocks"]))


def tables_of(view: View) -> list[Table]:
    """Return all tables of a view."""
    return [block["table"] for block in blocks_of(view) if block["type"] == "table"]


def head(column: Column) -> str:
    """Return the name of a column with its unit."""
    return f"{column['name']} {column.get('unit', '')}".strip()


def plain(cell: Cell) -> Any:
    """Return the value of a cell: its number, otherwise its words, or None for an empty one."""
    if not isinstance(cell, Mapping):
        return cell if cell != "" else None
    fields = cast(Mapping[str, Any], cell)
    value = fields.get("value")
    return value if value is not None else fields.get("text") or None


def tone_of(cell: Cell) -> Tone:
    """Return the tone of a cell."""
    return cell.get("tone", "plain") if isinstance(cell, Mapping) else "plain"


def shown(cell: Cell) -> str:
    """Return the displayed text of a cell."""
    if cell is None or isinstance(cell, str):
        return cell or ""
    if not isinstance(cell, Mapping):
        return number(cell)
    fields = cast(Mapping[str, Any], cell)
    ends = f" ({number(fields['low'])} – {number(fields['high'])})" if "low" in fields else ""
    return f"{fields['text'] if 'text' in fields else spread(fields['value'], fields.get('half_width'))}{ends}"
