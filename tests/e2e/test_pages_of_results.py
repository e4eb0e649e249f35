"""Pages of each kind of result but the simulation's: they pass the checks of any page, and begin with the answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e import browser as browsers
from tests.e2e import specimen
from tests.e2e.browser import opened
from tests.e2e.results import PAGES


@pytest.fixture(scope="module")
def browser():
    with browsers.chromium() as found:
        yield found


@pytest.fixture
def written(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    file = tmp_path / "page.html"
    file.write_text(PAGES[request.param]().html(specimen.MADE))
    return file


@pytest.mark.parametrize("written", PAGES, indirect=True)
def test_it_passes_the_checks_of_any_page(browser, written, tmp_path):
    assert written.stat().st_size < 400_000
    browsers.check(browser, written, tmp_path)


ANSWERS = {
    "validation": "22 figures within tolerance",
    "density": "9 VMs of web meet response_ms.p95<40ms and groups.db.response_ms.p99<50, 10 do not.",
    "durability": "For 6 nines a year ec-17+3 needs the least capacity: 118 GB raw per 100 GB, of 9 schemes.",
    "durability of a pool": "Pool pool (replicas-3:2): within a year data are lost with a probability of",
    "calibration": "2 parameters fitted to 24 values of 6 rows: mean error 11.7 % before, 1.2 % now.",
    "contention": "beyond what is promised.",
    "guests": "Predicted before it was measured: the twin's median error is throughput",
    "size": "20 vCPUs as 2 sockets of 10 cores: 2 virtual nodes of 10 vCPUs",
    "vnuma": "The guest sees 2 nodes of 8 + 8 vCPUs; 100 % of its memory is local.",
    "comparison": "figures differ",
}


@pytest.mark.parametrize(("written", "answer"), ANSWERS.items(), indirect=["written"])
def test_it_begins_with_the_answer(browser, written, answer):
    with opened(browser, written) as page:
        words = page.tab.locator("main").inner_text()
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
        tab.get_by_label("Search in Every finding, the worst first").fill("app-77")
        assert browsers.column(tab, "Every finding", "of") == ["app-77"]
        links = [link.get_attribute("href") for link in section.locator("a").all()]
        assert links
        assert all(link.startswith("https://") for link in links)
