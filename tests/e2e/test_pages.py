"""The parts of all pages in a browser: dark and light, narrow and wide, on paper, by keyboard, and with 800 VMs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import ROOT
from tests.e2e import browser as browsers
from tests.e2e import specimen
from tests.e2e.browser import column, opened, overflow

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    file = tmp_path_factory.mktemp("pages") / "small.html"
    file.write_text(specimen.page().html(specimen.MADE))
    return file


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """800 VMs, of each a row of the heat map at 120 times."""
    file = tmp_path_factory.mktemp("pages") / "large.html"
    file.write_text(specimen.page(vms=800, samples=120).html(specimen.MADE))
    return file


def test_a_page_with_everything(browser, small, tmp_path):
    browsers.check(browser, small, tmp_path)


def test_the_page_that_a_command_writes(browser, cli, tmp_path):
    scenario, file = ROOT / "scenarios" / "small-esxi.yaml", tmp_path / "page.html"
    cli("simulate", scenario, "--duration", "5", "--replications", 2, "--report", file, exits=0)
    browsers.check(browser, file, tmp_path)
    with opened(browser, file) as page:
        assert page.tab.locator(".answer .first").inner_text().strip()
        assert page.tab.locator(".command").first.inner_text().startswith("hypertwin simulate "), "how to run it again"


def test_a_page_with_little(browser, tmp_path):
    empty = specimen.view(vms=0, samples=0)
    for key in ("promises", "confidence", "cards", "assumptions"):
        empty[key] = []
    file = tmp_path / "empty.html"
    made = {**specimen.MADE, "command": [], "files": [], "seed": None, "calibrated": []}
    file.write_text(specimen.Page.of_view("view", {}, empty).html(made))
    browsers.check(browser, file, tmp_path)


def test_hostile_names_do_nothing(browser, tmp_path):
    text = json.dumps(specimen.view(vms=30)).replace("app-1", json.dumps(specimen.HOSTILE)[1:-1])
    file = tmp_path / "hostile.html"
    file.write_text(specimen.Page.of_view("view", {}, json.loads(text)).html(specimen.MADE))
    with opened(browser, file) as page:
        page.tab.on("dialog", lambda dialog: page.errors.append(dialog.message))
        assert specimen.HOSTILE in column(page.tab, "VMs", "VM")
        assert page.tab.locator("img").count() == 0


def test_it_begins_with_the_answer_and_ends_with_how_it_was_made(browser, small):
    with opened(browser, small) as page:
        words = page.tab.locator("main").inner_text()
        order = [
            "From 8 batch VMs on the database misses",
            "p99 of response at most 20 ms not met",
            "3 replications of 60 s",
            "Host usage",
            "Results",
            "How this page was made",
            "hypertwin simulate 'scenarios/small esxi.yaml' --sweep vms.batch.count=4,8,12 --report page.html",
            "SHA-256 " + "0" * 64,
            "Swapping of the host is not modelled.",
        ]
        assert [words.find(each) for each in order] == sorted(words.find(each) for each in order)
        assert all(each in words for each in order)


@pytest.mark.parametrize(
    ("command", "files", "told"),
    [("simulate", 1, True), ("simulate", 2, False), ("lab", 1, False)],
    ids=["all in the page", "a file is missing", "a measurement"],
)
def test_it_says_how_to_run_it_again(browser, tmp_path, command, files, told):
    made = {**specimen.MADE, "command": [command], "files": specimen.MADE["files"][:files]}
    file = tmp_path / "my 100% page.html"
    file.write_text(specimen.page(vms=1).html(made))
    with opened(browser, file) as page:
        words = page.tab.locator("#made").inner_text()
        assert ("hypertwin rerun 'my 100% page.html'" in words) is told


def test_files_of_the_page_can_be_had(browser, small):
    with opened(browser, small) as page:
        for name, file, holds in [
            ("Download scenarios/small esxi.yaml", "small esxi.yaml", "name: small"),
            ("Download the result as JSON", "Small-cluster-batch-VMs-swept.json", '"vms": 20'),
            ("Save the figures of Response, mean as CSV", "response.csv", "batch VMs,db (ms),db ± (ms)"),
            ("Save Ready, the worst VMs as SVG", "worst.svg", "Ready, the worst VMs"),
            ("Download fix.sh", "fix.sh", "virsh setvcpus"),
        ]:
            with page.tab.expect_download() as download:
                page.tab.get_by_role("button", name=name, exact=True).click()
            assert download.value.suggested_filename == file
            assert holds in Path(download.value.path()).read_text()
        for name in ("Response, mean", "Ready per VM over time", "Ready, the worst VMs"):
            with page.tab.expect_download() as download:
                page.tab.get_by_role("button", name=f"Save {name} as PNG", exact=True).click()
            content = Path(download.value.path()).read_bytes()
            assert content.startswith(b"\x89PNG")
            assert len(content) > 5_000, "a picture of something"


def test_every_chart_has_words_and_a_table(browser, small):
    with opened(browser, small) as page:
        for figure in page.tab.locator("figure.chart").all():
            title = figure.locator("h4").inner_text()
            assert figure.locator(".seen").inner_text().endswith(".")
            assert figure.locator("[role=img]").count() >= 1
            figure.get_by_role("button", name=f"Figures of {title} as a table").click()
            assert figure.locator("tbody tr").count() >= 2


def test_legends_name_all_series_and_hide_them(browser, small):
    with opened(browser, small) as page:
        chart = page.tab.locator("#states")
        assert chart.locator(".legend li").all_inner_texts() == ["run", "ready", "co-stop"]
        bars = chart.locator(".svg-chart rect:not([fill=transparent])")
        before = bars.count()
        chart.get_by_role("button", name="run", exact=True).click()
        assert bars.count() == before - 3
        assert page.tab.locator("#response .legend li").all_inner_texts() == [
            "db",
            "web",
            "batch of the night",
            "db of last year",
            "published",
            "objective, 20 ms",
        ]


def test_tables_sort_search_and_filter(browser, large):
    with opened(browser, large) as page:
        tab = page.tab
        assert column(tab, "VMs", "VM")[:3] == ["app-1", "app-2", "app-3"]
        assert len(column(tab, "VMs", "VM")) == 50
        head = tab.get_by_role("columnheader", name="VM", exact=True)
        head.get_by_role("button").click()
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        assert column(tab, "VMs", "VM")[:2] == ["app-800", "app-799"]
        tab.get_by_role("searchbox").fill("app-79 esx2")
        tab.get_by_text("3 of 800 rows").wait_for()
        assert column(tab, "VMs", "VM") == ["app-798", "app-794", "app-790"]
        tab.get_by_role("searchbox").fill("")
        tab.get_by_label("verdict").select_option("misses")
        assert column(tab, "VMs", "VM") == [f"app-{number}" for number in range(9, 0, -1)]
        tab.get_by_label("verdict").select_option("")
        tab.get_by_role("button", name="Show all 800 rows").click()
        assert len(column(tab, "VMs", "VM")) == 800


def test_800_vms_fit_in_two_megabytes_and_on_paper(browser, large, tmp_path):
    assert large.stat().st_size <= 2_000_000
    with opened(browser, large, width=400) as page:
        assert overflow(page.tab) <= 0
        page.tab.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert len(column(page.tab, "VMs", "VM")) == 50, "what is open is printed"
        assert "750 of 800 rows are not printed: show all rows first." in page.tab.locator("main").inner_text()
    with opened(browser, large) as page:
        brief = browsers.printed(page.tab, tmp_path / "large.pdf")
        page.tab.get_by_role("button", name="Show all 800 rows").click()
        assert browsers.printed(page.tab, tmp_path / "all.pdf") > brief + 10


def test_paper_is_light_whole_and_nothing_is_cut(browser, small):
    with opened(browser, small, scheme="dark") as page:
        tab = page.tab
        assert browsers.cut(tab) == []
        assert tab.evaluate("document.documentElement.dataset.theme") == "light"
        assert tab.locator("details:not([open])").count() > 0, "what is closed is not printed"
        heads = set(tab.locator(".table thead th").all_inner_texts())
        assert heads >= {"VM", "host", "IOPS 1/s"}
        assert not heads & {"NUMA local %", "memory GB/s"}, "columns that are not shown are not printed"
        tab.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"


def test_panels_of_one_time_share_pointer_and_range(browser, small):
    with opened(browser, small) as page:
        first, second = (page.tab.locator(f"#time-{name} .u-over") for name in ("usage", "ready"))
        first.scroll_into_view_if_needed()
        first.hover(position={"x": 300, "y": 60})
        assert page.tab.locator("#time-ready .tooltip").inner_text().startswith("time ")
        box = second.bounding_box()
        page.tab.mouse.move(box["x"] + 200, box["y"] + 50)
        page.tab.mouse.down()
        page.tab.mouse.move(box["x"] + 400, box["y"] + 50, steps=5)
        page.tab.mouse.up()
        assert page.tab.get_by_role("button", name="whole range").count() == 2
        page.tab.get_by_role("button", name="whole range").first.click()
        assert page.tab.get_by_role("button", name="whole range").count() == 0


def test_a_chart_can_be_read_by_keyboard(browser, small):
    with opened(browser, small) as page:
        chart = page.tab.locator("#response [role=img]")
        chart.focus()
        chart.press("ArrowRight")
        chart.press("ArrowRight")
        assert "batch VMs 2" in page.tab.locator("#response .tooltip").inner_text()


def test_colours_can_be_chosen(browser, small):
    with opened(browser, small, scheme="light") as page:
        page.tab.get_by_label("Colours").select_option("dark")
        assert page.tab.evaluate("document.documentElement.dataset.theme") == "dark"
        page.tab.get_by_label("Colours").select_option("auto")
        assert page.tab.evaluate("document.documentElement.dataset.theme") == "light"
        page.tab.emulate_media(color_scheme="dark")
        page.tab.locator("html[data-theme=dark]").wait_for()


def test_without_scripts_there_is_a_table(browser, small):
    with opened(browser, small, java_script_enabled=False) as page:
        assert page.tab.get_by_role("heading", name="Small cluster").is_visible()
        assert page.tab.get_by_role("cell", name="app-20").is_visible()


def test_a_page_that_cannot_be_shown_says_why(browser, tmp_path):
    file = tmp_path / "unknown.html"
    file.write_text(specimen.Page("unheard-of", "t", {}).html(specimen.MADE))
    tab = browser.new_page()
    tab.goto(file.as_uri())
    assert "unheard-of" in tab.get_by_role("alert").inner_text()
