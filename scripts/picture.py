"""Draw docs/images/monster-vm.png, the README's picture, from what `make demo` left in out/demo. Needs chromium."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from hypertwin import validation
from hypertwin.report import charts

ROOT = Path(__file__).resolve().parents[1]
PANEL = (
    '<div style="flex:1;min-width:0;padding:14px 16px 4px;border:1px solid #e3e8ed;border-radius:11px">'
    '<b style="font:600 17px system-ui,DejaVu Sans">{title}</b>{chart}</div>'
)


def main() -> None:
    """Put the response-time and CPU charts side by side and take a picture of them."""
    points = json.loads((ROOT / "out/demo/result.json").read_text())["points"]
    study = validation.find("monster-vm")
    marks = [charts.Mark(changes, path, value) for changes, path, value in study.published_points()]
    ((_, drawn),) = charts.sweep_charts(points, marks)
    chosen = [chart for chart in drawn if chart.title in ("Response time", "Guest CPU and host usage")]
    for chart in chosen:
        chart.figure.update_layout(width=520)
    panels = [
        PANEL.format(
            title=chart.title,
            chart=chart.figure.to_html(include_plotlyjs=index == 0, full_html=False, config={"displayModeBar": False}),
        )
        for index, chart in enumerate(chosen)
    ]
    target = ROOT / "docs/images/monster-vm.png"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        style = "margin:0;padding:10px;display:flex;gap:14px;background:#fff"
        page.write_text(f'<meta charset="utf-8"><body style="{style}">{"".join(panels)}</body>')
        subprocess.run(
            [
                *("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
                *("--window-size=1160,425", "--virtual-time-budget=8000", f"--screenshot={target}", str(page)),
            ],
            check=True,
            capture_output=True,
        )
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
