"""The pages of simulations in a browser: a sweep, 800 VMs, a failure, and what each must tell at once."""

from __future__ import annotations

import re
import shutil

import pytest
from tests.conftest import ROOT
from tests.e2e import browser as browsers
from tests.e2e.browser import column, opened
from tests.e2e.specimen import MADE
from tests.python.show import moved

import hypertwin
from hypertwin.scenario import virtual_numa
from hypertwin.show import measured, simulation_page

pytestmark = pytest.mark.slow

GUIDE = ROOT / "docs" / "guides" / "getting-started.md"

HOST = (
    "sockets: 2, cores_per_socket: 8, clock: 2.5 GHz, memory_per_node: 128 GiB, hypervisor: esxi-7.0,"
    ' measured: {at: "2026-03-01T12:00:00Z", cpu_usage_pct: 41.5, memory_usage_pct: 22}'
)
LARGE = f"""
name: large
run: {{duration: 4 s, warmup: 1 s, sample_interval: 200 ms, replications: 1}}
hosts:
  esx: {{count: 18, cluster: production, {HOST}}}
  data: {{count: 10, cluster: databases, {HOST}}}
  mgmt: {{count: 4, cluster: management, {HOST}}}
  remote: {{count: 2, cluster: remote-office-in-a-town-with-a-long-name, {HOST}}}
vms:
  db: {{count: 60, vcpus: 8, memory: 49 GiB, memory_touched: 20 GiB, workload: crunch, host: data}}
  web: {{count: 500, vcpus: 2, memory: 4 GiB, workload: web, host: esx}}
  a-very-long-name-of-a-group-that-somebody-has-typed-out-in-full:
    {{count: 200, vcpus: 2, memory: 4 GiB, workload: web, host: mgmt}}
  vdi: {{count: 40, vcpus: 2, memory: 4 GiB, workload: web, host: remote}}
workloads:
  web: {{arrivals: {{open: {{rate: 20 /s}}}}, cpu: {{mean: 10 ms}}}}
  crunch: {{arrivals: {{closed: {{population: 10}}}}, cpu: {{mean: 50 ms}}}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("simulations")


@pytest.fixture(scope="module")
def sweep(folder):
    """The sweep of the guide, shorter."""
    scenario = folder / "first.yaml"
    scenario.write_text(re.search(r"```yaml\n(# One 4-core.*?)```", GUIDE.read_text(), re.S)[1])
    return written(folder / "sweep.html", scenario, duration=60, sweep={"vms.batch.count": [0, 1, 2, 3]})


@pytest.fixture(scope="module")
def large(folder):
    scenario = folder / "large.yaml"
    scenario.write_text(LARGE)
    return written(folder / "large.html", scenario)


def written(page, scenario, **options):
    result = hypertwin.simulate(scenario, **options)
    layouts = virtual_numa.layouts(result.first_scenario)
    hosts = measured.of_hosts(result.first_scenario.inventory)
    page.write_text(simulation_page.page(result.to_dict(), layouts=layouts, measured_hosts=hosts).html(MADE))
    return page


def head(tab):
    """What is on the first screen."""
    text = tab.locator("main").inner_text()
    return text[: text.index("Where it breaks")] if "Where it breaks" in text else text[:2000]


def test_the_sweep_of_the_guide_shows_the_database_beside_what_is_swept(browser, sweep):
    with opened(browser, sweep) as page:
        heading = page.tab.get_by_role(
            "heading", name=re.compile("Against batch: number of VMs: (db, batch|batch, db)")
        )
        assert heading.count() == 1
        section = page.tab.locator("#sweep")
        for title in ("Response time, 99th percentile", "Throughput"):
            chart = section.locator("figure").filter(has_text=title).first
            legend = chart.inner_text()
            assert re.search(r"\bdb\b", legend) and re.search(r"\bbatch\b", legend), legend


def test_the_sweep_answers_at_once_who_suffers_from_where_why_and_how_sure(browser, sweep):
    with opened(browser, sweep) as page:
        said = head(page.tab)
    assert "From 2 batch VMs on, db suffers, not yet with 1 batch VM: p99" in said
    assert re.search(
        r"Bottleneck of db there: esx is at 100% CPU, and the vCPUs of db wait \d+(\.\d+)?% of the time", said
    )
    assert "esx has no CPU left: 100 % used." in said, "a cause, with what may help"
    assert "3 replications of 60 s: mean responses are within ±" in said
    assert "All 4 points reached a steady state." in said


def test_another_point_of_the_sweep_can_be_chosen(browser, sweep):
    with opened(browser, sweep) as page:
        choice = page.tab.locator(".choices label", has_text="Point").locator("select")
        assert choice.locator("option:checked").inner_text() == "2 batch VMs"
        assert page.tab.get_by_role("heading", name="Groups side by side (2 batch VMs)").count() == 1
        choice.select_option(label="3 batch VMs")
        assert page.tab.get_by_role("heading", name="Groups side by side (3 batch VMs)").count() == 1
        assert sorted(column(page.tab, "VMs, the worst first", "name")) == ["batch-1", "batch-2", "batch-3", "db"]


def test_a_sweep_is_a_good_page(browser, sweep, tmp_path):
    browsers.check(browser, sweep, tmp_path)


def test_eight_hundred_vms_can_be_searched_filtered_and_sorted(browser, large):
    assert large.stat().st_size <= 2_000_000
    with opened(browser, large) as page:
        tab = page.tab
        assert re.search(r"suffers most|No VM suffers", head(tab))
        table = tab.get_by_role("table", name="VMs, the worst first").first
        tab.get_by_role("combobox", name="host").last.select_option("data-7")
        shown = column(tab, "VMs, the worst first", "host")
        assert shown and set(shown) == {"data-7"}
        tab.get_by_role("combobox", name="group").last.select_option("db")
        assert set(column(tab, "VMs, the worst first", "group")) == {"db"}
        assert table.locator("thead th").first.inner_text().startswith("name")
        assert tab.locator("#waiting").get_by_text("Usage by host").count() >= 1
        tab.get_by_role("combobox", name="group").last.select_option("")
        tab.get_by_role("combobox", name="host").last.select_option("")
        tab.get_by_role("combobox", name="cluster").first.select_option("management")
        assert set(column(tab, "VMs, the worst first", "cluster")) == {"management"}
        assert "200 of 800 rows" in tab.locator("#tables").inner_text()


def test_four_clusters_have_rows_charts_and_filters_of_their_own(browser, large):
    with opened(browser, large) as page:
        tab = page.tab
        names = ["databases", "management", "production", "remote-office-in-a-town-with-a-long-name"]
        assert column(tab, "All clusters", "name") == names
        assert column(tab, "All clusters", "Hosts") == ["10", "4", "18", "2"]
        assert tab.locator("#clusters figure").count() >= 3
        charts = tab.locator("#hosts-usage figure")
        assert charts.count() == 4
        assert all("measured" in text for text in charts.all_inner_texts())
        assert "Configured memory exceeds host memory: cluster databases 115%" in tab.locator("body").inner_text()
        assert "Deviation from measurements" in head(tab)
        tab.get_by_role("combobox", name="cluster").last.select_option("management")
        assert sorted(column(tab, "Hosts, the most loaded first", "name")) == [f"mgmt-{n}" for n in range(1, 5)]
        assert set(column(tab, "Hosts, the most loaded first", "Measured usage")) == {"41.5"}


def test_eight_hundred_vms_are_a_good_page(browser, large, tmp_path):
    browsers.check(browser, large, tmp_path)


@pytest.mark.parametrize("failing", ["node-2/disk-1", "node-4"])
def test_a_failure_is_told_and_marked_on_one_axis_of_time(browser, folder, failing):
    scenario = shutil.copy(ROOT / "scenarios" / "disk-failure.yaml", folder / "failing.yaml")
    failures = [{"at": "9 s", "fails": [failing]}]
    file = written(folder / "failing.html", scenario, replications=1, duration=20, overrides={"failures": failures})
    with opened(browser, file) as page:
        said = page.tab.locator("#time").inner_text()
        assert f"9 s: {failing} fails" in said
        panels = page.tab.locator("#time figure").count()
        assert panels >= 5  # throughput, response, guest CPU, hosts, degraded
        if failing == "node-4":
            assert "2 of 10 VMs stopped for up to 13 s of 20 s, because node-4 failed: app-4, app-9." in head(page.tab)


def test_outages_moves_and_memory_are_told_drawn_and_listed(browser, folder):
    file = folder / "moved.html"
    file.write_text(simulation_page.page(moved.result(60)).html(MADE))
    with opened(browser, file, 400, "dark") as page:
        browsers.open_all(page.tab)
        assert browsers.overflow(page.tab) <= 0
        assert not browsers.violations(page.tab)
        assert not browsers.cut(page.tab)
    with opened(browser, file) as page:
        tab = page.tab
        answer = head(tab)
        assert answer.index("1 VM could not restart: db-58 needs memory.") < answer.index("20 of 60 VMs were down")
        states = tab.locator("#states")
        assert [each.inner_text() for each in states.locator(".legend li").all()] == [
            *("migrates", "starts elsewhere", "is down"),
        ]
        states.get_by_role("button", name="as a table").click()
        rows = [row.split("\t")[0] for row in states.locator("tbody tr").all_inner_texts()]
        assert (rows[0], len(rows)) == ("esx-1", 1 + 20 + 3), "the host, its VMs, and those that migrated"
        assert "not up again" in column(tab, "VMs that went down with their host", "up on")
        assert column(tab, "Live migrations", "outcome") == ["done", "running", "given-up"]
        assert column(tab, "Memory of hosts, the worst state first", "host") == ["esx-2"]
        assert tab.locator("#time-free, #time-reclaimed").count() == 2
