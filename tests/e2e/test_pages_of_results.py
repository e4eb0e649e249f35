"""Pages of each kind of result but the simulation's: they pass the checks of any page, and begin with the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e import browser as browsers
from tests.e2e import specimen
from tests.e2e.browser import opened
from tests.e2e.results import PAGES

pytestmark = pytest.mark.slow

FIRST_MARK = """() => {
  const canvas = document.querySelector("#grid canvas"), pixels = canvas.getContext("2d");
  const ratio = window.devicePixelRatio, line = pixels.getImageData(0, 22 * ratio, canvas.width, 1).data;
  const red = (at) => line[at] > 150 && line[at + 1] < 60 && line[at + 2] < 60;
  for (let at = 0; at < line.length; at += 4) if (red(at)) return at / 4 / ratio;
  return -1;
}"""
"""Where the first red mark of the grid begins, in its first row."""


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / "page.html"
    file.write_text(PAGES[request.param]().html(specimen.MADE))
    return file


ANSWERS = {
    "validation": "18 of 22 figures within tolerance",
    "density": "9 VMs of web meet response_ms.p95<40ms and groups.db.response_ms.p99<50, 10 do not.",
    "durability": "For 6 nines a year ec-17+3 needs the least capacity: 118 GB raw per 100 GB, of 9 schemes.",
    "durability of a pool": "Pool pool (replicas-3:2): disk failures alone practically never lose data",
    "calibration": "2 parameters fitted to 24 values of 6 rows: mean error 11.7% before, 1.2% now.",
    "contention": "beyond the promise.",
    "guests": "Predicted before it was measured: the twin's median absolute error is throughput",
    "plan": "Move 3 VMs (4 moves) in 3 steps, about 4 min. Optimal.",
    "plan, not survived": "The cluster survives 3 of 4 host failures. If esx-3 fails, dwh-2 cannot restart: short of",
    "plan, none exists": "Infeasible: memory is short, rule db-apart, failure of esx-2. A plan exists without rule",
    "size": "20 vCPUs as 2 sockets of 10 cores: 2 virtual nodes of 10 vCPUs",
    "vnuma": "The guest sees 2 nodes of 8 + 8 vCPUs; 100% of its memory is local.",
    "comparison": "figures differ",
}


@pytest.mark.parametrize(
    ("written", "answer"), [(name, ANSWERS.get(name)) for name in PAGES], ids=PAGES, indirect=["written"]
)
def test_it_passes_the_checks_of_any_page_and_begins_with_the_answer(browser, written, answer, tmp_path):
    assert written.stat().st_size < 400_000
    words = browsers.check(browser, written, tmp_path)
    if answer:
        assert answer in words[:600]
        assert words.index(answer) < words.index("How this page was made")


@pytest.mark.parametrize("written", ["a hundred findings"], indirect=True)
def test_a_hundred_findings_stay_readable(browser, written):
    with opened(browser, written) as page:
        tab = page.tab
        assert tab.evaluate("document.body.scrollHeight") < 9_000
        section = tab.locator("#cpu-limit")
        assert section.get_by_text("app-100 is limited").count() == 0, "the rest is behind a line"
        assert section.locator("figure.chart").count() == 1
        tab.get_by_label("Search in Every finding, worst first").fill("app-77")
        assert browsers.column(tab, "Every finding", "of") == ["app-77"]
        links = [link.get_attribute("href") for link in section.locator("a").all()]
        assert links
        assert all(link.startswith("https://") for link in links)


@pytest.mark.parametrize("written", ["plan of 64 hosts"], indirect=True)
def test_a_plan_of_64_hosts_stays_readable(browser, written):
    with opened(browser, written) as page:
        tab = page.tab
        assert tab.evaluate("document.body.scrollHeight") < 10_000
        grid = tab.locator("#grid")
        assert "In 7 failures VMs cannot restart" in grid.inner_text()
        rows = grid.get_by_role("region", name="Rows of Where the VMs of each failed host restart")
        assert rows.evaluate("each => each.scrollHeight > each.clientHeight"), "64 rows scroll"
        mark = {"x": tab.evaluate(FIRST_MARK) + 3, "y": 28}
        grid.locator("canvas").hover(position=mark)
        assert "wide-4 is short of 18.0 GiB of memory" in grid.locator(".tooltip").inner_text()
        assert browsers.column(tab, "Host failures, worst first", "survived")[:8] == ["no"] * 7 + ["yes"]
