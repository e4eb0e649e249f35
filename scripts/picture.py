"""Draw pictures of the documents into docs/images: `picture.py monster-vm`, `picture.py esxi-vnuma`. Needs chromium.

The monster VM's is drawn from what `make demo` left in out/demo; the others simulate their study first.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypertwin.report import comparison
from hypertwin.report.charts import Chart
from hypertwin.report.simulation_charts import Mark, sweep_charts
from hypertwin.studies import judge
from hypertwin.studies.study import find

ROOT = Path(__file__).resolve().parents[1]
PANEL = (
    '<div style="flex:{flex};min-width:0;box-sizing:border-box;padding:14px 16px 4px;border:1px solid #e3e8ed;'
    'border-radius:11px">'
    '<b style="font:600 17px system-ui,DejaVu Sans">{title}</b>'
    '<div style="font:13px system-ui,DejaVu Sans;color:#5d6b7a">{text}</div>{chart}</div>'
)


def monster_vm() -> None:
    """Response time and CPU of the sweep, side by side."""
    points = json.loads((ROOT / "out/demo/result.json").read_text())["points"]
    study = find("monster-vm")
    marks = [Mark(changes, path, value) for changes, path, value in study.published_points()]
    ((_, drawn),) = sweep_charts(points, marks)
    chosen = [chart for chart in drawn if chart.title in ("Response time", "Guest CPU and host usage")]
    take("monster-vm", [Chart(chart.title, "", chart.figure) for chart in chosen], height=425)


def esxi_vnuma() -> None:
    """Both benchmarks, predicted against published, over the first one by case."""
    rows = judge.validate([find("esxi-vnuma")])
    wanted = ("PhotoWorxx", "memory copy")
    points = [chart for chart in comparison.scatters(rows) if chart.title in wanted]
    cases = [chart for chart in comparison.bars(rows) if chart.title == wanted[0]]
    take("esxi-vnuma", [*points, *cases], height=985)


def take(name: str, drawn: Sequence[Chart], height: int) -> None:
    """Take a picture of charts, two in a row and a third one below."""
    for index, chart in enumerate(drawn):
        chart.figure.update_layout(width=520 if index < 2 else 1100)
    panels = [
        PANEL.format(
            flex="1" if index < 2 else "1 0 100%",
            title=chart.title,
            text=chart.text,
            chart=chart.figure.to_html(include_plotlyjs=index == 0, full_html=False, config={"displayModeBar": False}),
        )
        for index, chart in enumerate(drawn)
    ]
    target = ROOT / f"docs/images/{name}.png"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        style = "margin:0;padding:10px;display:flex;flex-wrap:wrap;gap:14px;background:#fff;box-sizing:border-box"
        page.write_text(f'<meta charset="utf-8"><body style="{style}">{"".join(panels)}</body>')
        subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *(f"--window-size=1160,{height}", "--virtual-time-budget=8000", f"--screenshot={target}", str(page)),
            ],
            check=True,
            capture_output=True,
        )
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    {"monster-vm": monster_vm, "esxi-vnuma": esxi_vnuma}[sys.argv[1]]()
