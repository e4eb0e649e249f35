"""Draw pictures of the documents into docs/images: `picture.py monster-vm`, `picture.py esxi-vnuma`. Needs chromium.

The monster VM's is drawn from the page that `make demo` left in out/demo; the other simulates its study first. Both are
charts of a page, cut out of it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

from hypertwin import _core
from hypertwin.show import comparison
from hypertwin.show.page import Page, made_now
from hypertwin.studies import judge
from hypertwin.studies.study import find

ROOT = Path(__file__).resolve().parents[1]


def monster_vm() -> None:
    """Response time and CPU of the sweep, side by side."""
    take("monster-vm", ROOT / "out/demo/report.html", ["Response time, mean", "Guest CPU and host usage"])


def esxi_vnuma() -> None:
    """Both benchmarks, predicted against published, over the first one by case."""
    study = find("esxi-vnuma")
    rows, source = judge.validate([study]), comparison.Study(study.name, study.title, study.source)
    page = Page.of_view("validation", rows, comparison.view(rows, [source]))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(page.html(made_now(_core.version())), encoding="utf-8")
        take("esxi-vnuma", file, ["PhotoWorxx", "memory copy", "PhotoWorxx by case"])


def take(name: str, page: Path, titles: Sequence[str]) -> None:
    """Draw a picture of charts of a page by their titles, two in a row and a third one below."""
    target = ROOT / f"docs/images/{name}.png"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1280, "height": 1000}, color_scheme="light", bypass_csp=True)
        tab.goto(page.as_uri())
        tab.locator("figure.chart").first.wait_for()
        tab.evaluate(
            """titles => {
                const charts = [...document.querySelectorAll("figure.chart")];
                const place = document.createElement("div");
                place.id = "picture";
                place.className = "charts";
                for (const title of titles)
                    place.append(charts.find(chart => chart.querySelector("h4").textContent === title));
                document.querySelector("main").replaceChildren(place);
                place.querySelectorAll(".tools, figcaption p, .hint").forEach(words => words.remove());
                place.style.cssText = "background: white; padding: 14px";
                if (titles.length > 2) place.lastChild.style.gridColumn = "1 / -1";
            }""",
            list(titles),
        )
        tab.locator("#picture").screenshot(path=target)
        browser.close()
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    {"monster-vm": monster_vm, "esxi-vnuma": esxi_vnuma}[sys.argv[1]]()
