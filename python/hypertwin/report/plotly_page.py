"""The kit that pages are made of: one HTML file that needs nothing else, no server, no network, no second file.

Every text from a result is escaped, and the page forbids itself to load anything (Content-Security-Policy). The same
calls give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import plotly.graph_objects as go

from hypertwin.documents.page import Made
from hypertwin.report.charts import Chart

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)


class Page:
    """Collects the body of a page and the charts in it."""

    def __init__(self, title: str) -> None:
        """An empty page; `title` is also its heading."""
        self.title = title
        self.body: list[str] = []
        self.figures: dict[str, Any] = {}

    def add(self, markup: str) -> None:
        """Append markup to the body."""
        self.body.append(markup)

    def section(self, heading: str, markup: str) -> None:
        """Append a section; nothing when there is no markup for it."""
        if markup:
            self.add(f"<section><h2>{escape(heading)}</h2>{markup}</section>")

    def banner(self, lead: str, facts: Iterable[tuple[str, str]], more: str = "") -> None:
        """Append the head of the page: title, lead, facts as (name, value) without the empty ones, and more markup."""
        listed = "".join(
            f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts if value
        )
        self.add(
            f'<header><p class="brand">hypertwin</p><h1>{escape(self.title)}</h1>'
            + (f'<p class="lead">{escape(lead)}</p>' if lead else "")
            + f'<dl class="facts">{listed}</dl>{more}</header>'
        )

    def cards(self, cards: Iterable[tuple[str, str, str]]) -> None:
        """Append figures to see at a glance: (name, value, a remark) of each."""
        markup = "".join(
            f'<div class="card"><p class="name">{escape(name)}</p><p class="value">{escape(value)}</p>'
            f'<p class="where">{escape(remark)}</p></div>'
            for name, value, remark in cards
        )
        self.add(f'<div class="cards">{markup}</div>')

    def chart(self, figure: go.Figure) -> str:
        """Markup for the place where a figure is drawn."""
        return self._drawn([figure])[1]

    def choice(self, figures: Sequence[go.Figure], names: Sequence[str]) -> tuple[str, str]:
        """Markup for one of several figures, and for the list to choose it from; that is empty for a single figure."""
        name, drawn = self._drawn(figures)
        if len(figures) < 2:
            return drawn, ""
        entries = "".join(f'<option value="{index}">{escape(each)}</option>' for index, each in enumerate(names))
        return drawn, f'<label>Point <select data-chart="{name}">{entries}</select></label>'

    def _drawn(self, figures: Sequence[go.Figure]) -> tuple[str, str]:
        name = f"chart-{len(self.figures) + 1}"
        self.figures[name] = [json.loads(figure.to_json()) for figure in figures]
        height = int(figures[0].layout.height or 350)
        return name, f'<div class="chart" id="{name}" style="min-height:{height}px"></div>'

    def panels(self, charts: Iterable[Chart]) -> str:
        """Markup of charts, each in a box with its words; `grid` lays them out."""
        return "".join(
            f'<div class="panel"><h4>{escape(chart.title)}</h4>{hint(chart.text)}{self.chart(chart.figure)}</div>'
            for chart in charts
        )

    def html(self, made: Made | None = None) -> str:
        """The whole file; it does not say how it was `made`."""
        from plotly.offline import get_plotlyjs  # takes long to import, and tables do without

        # "<" would let a name close the script element it stands in
        data = json.dumps(self.figures, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
        asset = resources.files("hypertwin.report")
        return "\n".join(
            (
                '<!doctype html><html lang="en"><head><meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">',
                f"<title>{escape(self.title)} · hypertwin</title>",
                f"<style>{asset.joinpath('plotly_page.css').read_text(encoding='utf-8')}</style>",
                f"<script>{get_plotlyjs()}</script>",
                "</head><body><main>",
                *self.body,
                "</main>",
                f'<script id="figures" type="application/json">{data}</script>',
                f"<script>{asset.joinpath('plotly_page.js').read_text(encoding='utf-8')}</script>",
                "</body></html>\n",
            )
        )


def grid(panels: str, kind: str = "grid") -> str:
    """Panels laid out; `kind` is a class of plotly_page.css: `grid`, `grid small`, `stack` or `drawings`."""
    return f'<div class="{kind}">{panels}</div>'


def hint(text: str) -> str:
    """A remark in small print; empty without text."""
    return f'<p class="hint">{escape(text)}</p>' if text else ""


def items(texts: Iterable[str]) -> str:
    """The entries of a list."""
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def badge(kind: str, text: str) -> str:
    """A coloured word; `kind` is a class of plotly_page.css: `pass`, `open`, `fail` or `note-badge`."""
    return f'<span class="badge {kind}">{escape(text)}</span>'


def settings(changes: Mapping[str, Any], calibration: str) -> str:
    """Paths and values that were set, and what the figures were calibrated on."""
    chips = "".join(f"<code>{escape(path)}={escape(str(value))}</code> " for path, value in changes.items())
    return (f'<p class="chips">{chips}</p>' if chips else "") + f'<p class="calibration">{escape(calibration)}</p>'


def sortable(heads: Sequence[str], rows: Iterable[Sequence[str]], words: int, notes: Iterable[str]) -> str:
    """A table that a click on a head sorts, its first columns words and the others numbers, with notes under it."""
    head = "".join(f"<th{' class=n' if index >= words else ''}>{escape(text)}</th>" for index, text in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=n' if index >= words else ''}>{escape(text)}</td>" for index, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'{scrolling(head, body)}<ul class="hint">{items(notes)}</ul>'


def scrolling(head: str, body: str, kind: str = "sortable") -> str:
    """A table from the markup of its head cells and of its rows; it scrolls where it is too wide."""
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )
