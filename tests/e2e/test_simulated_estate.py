"""An export of 34 hosts and 800 VMs in four clusters, imported and simulated: its rows, and memory that binds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.e2e import browser as browsers
from tests.e2e.browser import column, opened
from tests.python.ingest.vmware import rvtools_estate
from tests.python.ingest.vmware.rvtools_files import Tabs, write_xlsx

import hypertwin

SHORT = ("--duration", 4, "--warmup", 1, "--replications", 1, "--set", "run.sample_interval=1 s")
CLUSTERS = ["Databases", "Edge", "General", "Management"]


def imported(folder: Path, tabs: Tabs) -> Path:
    """The scenario of an export."""
    write_xlsx(tabs, folder / "estate.xlsx")
    command = ["-c", "from hypertwin.cli.main import main; main()", "import", "estate.xlsx", "-o", "estate.yaml"]
    subprocess.run([sys.executable, *command], cwd=folder, check=True, capture_output=True, timeout=120)
    return folder / "estate.yaml"


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """34 hosts and 800 VMs."""
    return imported(tmp_path_factory.mktemp("estate"), rvtools_estate.in_full())


def test_the_table_has_rows_of_clusters_and_hosts_and_what_was_measured(cli: Cli, estate: Path) -> None:
    done = cli("simulate", estate, *SHORT, "--show", "clusters,hosts", exits=0)
    clusters, _, hosts = done.stdout.partition("\nHosts\n")
    assert re.findall(r"^  (\w+) +\d+ +\d+ ", clusters, re.MULTILINE) == CLUSTERS
    rows = re.findall(r"^  (esx-\w+-\d\d) +(\w+) ", hosts, re.MULTILINE)
    assert len(rows) == 34
    assert [cluster for _, cluster in rows] == sorted(cluster for _, cluster in rows)
    assert "measured" in hosts.partition("─")[0]
    assert re.search(
        r"Simulated usage differs from the measurement by \d+\.\d points on average \(34 hosts\)", done.stdout
    )
    assert done.stderr == ""


def test_vms_of_an_import_have_their_own_host_and_cluster(cli: Cli, estate: Path) -> None:
    (point,) = json.loads(cli("simulate", estate, *SHORT, "--format", "json").stdout)["points"]
    assert len(point["vms"]) == 800
    for vm in point["vms"].values():
        assert point["hosts"][vm["host"]]["cluster"] == vm["cluster"]


@pytest.mark.slow
def test_the_page_of_800_vms_is_small_and_has_all_of_it(estate: Path, cli: Cli, tmp_path: Path) -> None:
    cli("simulate", estate, *SHORT, "--report", "page.html", "--format", "json")
    page = tmp_path / "page.html"
    assert page.stat().st_size <= 2_000_000
    with browsers.chromium() as browser, opened(browser, page) as shown:
        tab = shown.tab
        assert column(tab, "All clusters", "name") == CLUSTERS
        assert tab.locator("#hosts-usage figure").count() == 4
        assert set(column(tab, "Hosts, the most loaded first", "Measured usage")) > {"25"}
        tab.get_by_role("combobox", name="cluster").first.select_option("Edge")
        assert set(column(tab, "VMs, the worst first", "cluster")) == {"Edge"}


@pytest.mark.parametrize(
    ("bound", "most"), [(True, "memory of esx-edge-01 would be exceeded"), (False, "memory of esx-edge-0")]
)
def test_no_count_of_vms_is_an_answer_that_cannot_be_powered_on(
    cli: Cli, tmp_path: Path, bound: bool, most: str
) -> None:
    """The answer was "at least 300 VMs", on a host with 734 % of its memory configured."""
    estate = imported(tmp_path, rvtools_estate.estate((rvtools_estate.EDGE, rvtools_estate.MANAGEMENT)))
    data = hypertwin.load(estate).data
    name = next(name for name, vm in data["vms"].items() if vm.get("host") == "esx-edge-01")
    sets: tuple[Any, ...] = () if bound else ("--set", f"vms.{name}.host=null", "--set", f"vms.{name}.cluster=Edge")
    options = ("--slo", "clusters.Edge.usage_pct<=100", "--max", 300, "--duration", 1, "--warmup", 0, "--failures", 0)
    done = cli("density", estate, "--vm", name, *options, "--replications", 2, *sets, "--format", "json", exits=0)
    found = json.loads(done.stdout)
    answer = found["answer"]
    assert 0 < answer["count"] < 300
    assert most in answer["text"]
    assert ("and they are bound to it" in answer["text"]) == bound
    assert answer["limited_by"].startswith("memory of esx-edge-0")
    assert next(point for point in found["points"] if point["count"] == answer["count"])["host_memory_pct"] <= 100
