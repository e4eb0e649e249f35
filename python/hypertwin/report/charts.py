"""The look that all charts share. They are plotly figures, which become data of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

PALETTE = ("#0f6fc6", "#e07b00", "#2a9d5c", "#8e44ad", "#c8382f", "#0aa2a2", "#7a6a53", "#d6499a")
INK, GRID, MUTED = "#1d2733", "#e6eaef", "#5d6b7a"
STATE_COLOURS = (PALETTE[0], PALETTE[1], PALETTE[4], "#dfe5ea")
"""Run, ready, co-stop and wait."""
MAX_GROUPS = 4
"""VM groups that get charts of their own; the table lists all of them."""
MAX_TIMELINES = 40
"""Points whose timeline goes into the page, which would become slow to open with hundreds."""


@dataclass(frozen=True)
class Chart:
    """A figure with the words around it."""

    title: str
    text: str
    figure: go.Figure


def style(x_title: str, y_title: str) -> dict[str, Any]:
    """The look every chart shares."""
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": "#b8c2cc", "ticks": ""}
    return {
        "template": "none",
        "font": {
            "family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
            "size": 12.5,
            "color": INK,
        },
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 58, "r": 14, "t": 40, "b": 46},
        "height": 350,
        "hovermode": "x unified" if x_title != "%" else "closest",
        "hoverlabel": {"bgcolor": "white", "bordercolor": GRID, "font": {"size": 12}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11.5, "color": MUTED}},
        "xaxis": {**axis, "title": axis_title(x_title), "showgrid": False, "showline": True},
        "yaxis": {**axis, "title": axis_title(y_title)},
    }


def axis_title(text: str, size: float = 12.5) -> dict[str, Any]:
    """The title of an axis."""
    return {"text": text, "standoff": 8, "font": {"size": size, "color": MUTED}}
