"""`hypertwin import`: from an export of a real size to a simulated cluster, by the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.python.ingest.vmware.rvtools_estate import EDGE, estate, in_full
from tests.python.ingest.vmware.rvtools_files import export, write_csv, write_xlsx

from hypertwin import scenario
from hypertwin.ingest import outside, telemetry, telemetry_table

SAMPLE = Path(__file__).parents[1] / "data" / "rvtools" / "rvtools_example1.xlsx"


@pytest.fixture(scope="module")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of 34 hosts, 800 powered-on VMs, and 2,000 disks."""
    return write_xlsx(export(), tmp_path_factory.mktemp("rvtools") / "RVTools_export_all.xlsx")


def test_a_cluster_of_800_machines_is_imported_and_simulated(cli: Cli, workbook: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    brief = cli("import", str(workbook), "-o", str(file)).stderr.splitlines()
    assert {line.split(":")[0] for line in brief[1:-1]} == {"missing", "More"}
    assert len(brief) <= 6
    done = cli("import", str(workbook), "-o", str(file), "--explain")
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith(
        "RVTools_export_all.xlsx (rvtools): 2 clusters, 34 hosts with 1168 cores, 800 of 900 VMs"
    )
    assert lines[-1] == f"wrote {file}"
    assert {line.split(":")[0] for line in lines[1:-1]} == {"assumed", "missing", "not used"}
    assert len(lines) < 30
    imported = scenario.load(file)
    assert (len(imported.data["hosts"]), len(imported.data["vms"])) == (34, 800)
    assert imported.data["run"]["replications"] == 2
    done = cli("simulate", str(file), "--duration", "1", "--warmup", "1", "--format", "json", exits=0)
    point = json.loads(done.stdout)["points"][0]
    tabs = export()
    wanted = {host["Host"]: 0.0 for host in tabs["vHost"]}
    for row in tabs["vCPU"]:
        wanted[row["Host"]] += row["Overall"]
    # hosts of this export were measured to use other than their VMs want: where that is less, it is what VMs get
    gets = {
        host["Host"]: min(1.0, host["CPU usage %"] / 100 * host["# Cores"] * host["Speed"] / wanted[host["Host"]])
        for host in tabs["vHost"]
    }
    measured = {row["VM"]: row["Overall"] * gets[row["Host"]] for row in tabs["vCPU"]}
    asked = sum(measured[vm.get("label", key)] for key, vm in imported.data["vms"].items() if vm["vcpus"] > 7)
    used = sum(
        point["vms"][key]["run_pct"] / 100 * vm["vcpus"] * _mhz(imported.data["hosts"][vm["host"]]["clock"])
        for key, vm in imported.data["vms"].items()
        if vm["vcpus"] > 7
    )
    assert used == pytest.approx(asked, rel=0.1)


def _mhz(clock: str) -> float:
    value, unit = clock.split()
    return float(value) * {"GHz": 1_000, "MHz": 1}[unit]


def test_an_export_is_imported_into_its_own_folder_again(cli: Cli, tmp_path: Path) -> None:
    folder = write_csv(export(2, 40, 10), tmp_path / "csv")
    line = ("import", str(folder), "-o", str(folder / "cluster.yaml"))
    cli(*line, exits=0)
    first = (folder / "cluster.yaml").read_text()
    cli(*line, exits=0)
    assert (folder / "cluster.yaml").read_text() == first
    tab = folder / "RVTools_tabvInfo.csv"
    before = tab.read_bytes()
    done = cli("import", str(folder), "-o", str(tab), exits=2)
    assert "output-is-input" in done.stderr
    assert tab.read_bytes() == before


def test_names_are_inert_in_what_is_written(cli: Cli, tmp_path: Path) -> None:
    folder = write_csv(export(2, 40, 10), tmp_path / "csv")
    done = cli("import", str(folder), "-o", "-", exits=0)
    labels = {key: vm.get("label") for key, vm in scenario.loads(done.stdout).data["vms"].items()}
    assert labels["cmd-C-calc-A0"] == "=cmd|' /C calc'!A0"
    assert labels["script-alert-1-script"] == "<script>alert(1)</script>"
    assert "\u202e" not in done.stdout + done.stderr
    (tmp_path / "cluster.yaml").write_text(done.stdout)
    page = tmp_path / "page.html"
    arguments = ("--duration", "1", "--warmup", "0", "--replications", "1", "--out", str(tmp_path / "r.csv"))
    cli("simulate", str(tmp_path / "cluster.yaml"), *arguments, "--report", str(page), exits=0)
    assert "<script>alert(1)" not in page.read_text("utf-8")
    assert not any(
        cell.startswith(("=", "+", "-", "@")) for cell in (tmp_path / "r.csv").read_text().split(",") if cell
    )


def test_the_published_export_can_be_simulated(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    done = cli("import", str(SAMPLE), "-o", str(file), "--explain", exits=0)
    assert "missing: vHost/ESX Version, needed for the hypervisor's version" in done.stderr
    assert (
        "assumed: 3 VMs (vm-3, vm-8, vm-9): its host is not in the source: placed automatically in its cluster"
        in done.stderr
    )
    cli("simulate", str(file), "--duration", "2", "--format", "json", exits=0)


def test_telemetry_gives_the_demand(cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "measured.parquet"
    rows = [(None, telemetry.entity("vm", "srv-0035 (app)"), "used_mhz", value) for value in (900.0, 1_100.0)]
    tabs = export(2, 60, 10)
    tabs["vInfo"][35]["VM"] = tabs["vCPU"][35]["VM"] = "srv-0035 (app)"
    telemetry_table.write([telemetry_table.frame(rows)], table)
    folder = write_csv(tabs, tmp_path / "csv")
    done = cli(
        "import", str(folder), "-o", str(tmp_path / "cluster.yaml"), "--telemetry", str(table), "--explain", exits=0
    )
    assert "assumed: 59 of 60 VMs: not in the telemetry under this name" in done.stderr
    vms = scenario.load(tmp_path / "cluster.yaml").data["vms"]
    assert vms["srv-0035-app"]["load"] in (1, vms["srv-0035-app"]["vcpus"])


def test_telemetry_of_all_machines_gives_the_sum_of_their_cluster(cli: Cli, tmp_path: Path) -> None:
    # each machine is at 1,000 MHz for a twentieth of the time, one after the other
    tabs = export(2, 60, 10)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        (start + timedelta(minutes=5 * moment), telemetry.entity("vm", outside.name(info["VM"]).upper()), metric, value)
        for number, info in enumerate(tabs["vInfo"])
        for moment in range(100)
        for metric, value in (
            ("demand_mhz", 1_000.0 if number % 20 == moment % 20 else 100.0),
            ("memory_used_bytes", 2.0**30),
        )
    ]
    telemetry_table.write([telemetry_table.frame(rows)], tmp_path / "measured.parquet")
    folder = write_csv(tabs, tmp_path / "csv")
    file = tmp_path / "cluster.yaml"
    cli("import", str(folder), "-o", str(file), "--telemetry", str(tmp_path / "measured.parquet"), exits=0)
    data = scenario.load(file).data
    assert len(data["clusters"]) == 2
    for name, cluster in data["clusters"].items():
        hosts = {key for key, host in data["hosts"].items() if host["cluster"] == name}
        vms = [vm["measured"] for vm in data["vms"].values() if vm.get("host") in hosts or vm.get("cluster") == name]
        found = [vm for vm in vms if "over" in vm]  # three machines called db are not told apart without their host
        on, measured = len(found), cluster["measured"]
        assert measured["counter"] == f"sum over {on} of {len(vms)} VMs, every 300 s"
        assert measured["at"] == "2026-01-01T08:15:00Z"
        # the peak of the sum is far below the sum of peaks, and its 95th percentile above the sum of theirs
        assert sum(vm["cpu_p95_mhz"] for vm in found) == on * 100
        assert sum(vm["cpu_peak_mhz"] for vm in found) == on * 1_000
        assert on * 100 < measured["cpu_mhz"] < measured["cpu_p95_mhz"] <= measured["cpu_peak_mhz"] < on * 300
        assert measured["memory_consumed"] == measured["memory_consumed_peak"] == f"{on} GiB"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("absent.xlsx", "file-not-found"),
        ("text.xlsx", "unknown-source"),
        ("broken.xlsx", "bad-source"),
        ("folder", "unknown-source"),
        ("nobody://user:secret@host", "unknown-source"),
        ("vcenter://user:secret@host", "bad-address"),
    ],
)
def test_nothing_is_written_when_it_fails(cli: Cli, source: str, code: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.xlsx").write_text("hello")
    (tmp_path / "broken.xlsx").write_bytes(SAMPLE.read_bytes()[:100_000])
    (tmp_path / "cluster.yaml").write_text("name: mine\n")
    done = cli(
        "import", source if "://" in source else str(tmp_path / source), "-o", str(tmp_path / "cluster.yaml"), exits=2
    )
    assert f"[{code}]" in done.stderr
    assert "secret" not in done.stdout + done.stderr
    assert (tmp_path / "cluster.yaml").read_text() == "name: mine\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.xlsx", "cluster.yaml", "folder", "text.xlsx"]


def test_where_it_goes_must_be_said(cli: Cli, tmp_path: Path) -> None:
    done = cli("import", str(SAMPLE), exits=2)
    assert "-o" in done.stderr
    cli("import", str(SAMPLE), "-o", str(tmp_path / "no" / "cluster.yaml"), exits=2)


# clusters, and what was measured of them


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of four clusters in which 9 of 10 VMs name hosts that it does not have."""
    return write_xlsx(estate(unmatched=0.9, host_names="mixed"), tmp_path_factory.mktemp("estate") / "estate.xlsx")


def test_a_guess_is_the_first_line_and_stays_in_its_cluster(cli: Cli, exported: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    done = cli("import", str(exported), "-o", str(file), "--explain", exits=0)
    lines = done.stderr.splitlines()
    assert lines[0] == "warning: 132 of 150 VMs have no host in the export: placed automatically inside their clusters"
    assert lines[1].startswith("estate.xlsx (rvtools): 4 clusters, 15 hosts")
    assert any(line.startswith("not used: ") for line in lines)
    inventory = scenario.load(file).inventory
    assert {cluster.name: (cluster.datacenter, cluster.ha) for cluster in inventory.clusters} == {
        **{"Databases": ("Milan", True), "Edge": ("Milan", False)},
        **{"General": ("Rome", True), "Management": ("Rome", True)},
    }
    assert all(vm.name.startswith(f"{vm.cluster.lower()}-") for vm in inventory.vms)
    assert sum(vm.host_is_guess for vm in inventory.vms) == 132
    assert {vm.cluster for vm in inventory.powered_off} == {"Databases", "Edge", "General", "Management"}
    assert {store.name: store.clusters for store in inventory.datastores}["edge-1"] == ("Edge",)


def test_one_cluster_of_an_export(cli: Cli, exported: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    cli("import", str(exported), "-o", str(file), "--only-cluster", "GENERAL", exits=0)
    inventory = scenario.load(file).inventory
    assert (len(inventory.hosts), len(inventory.vms), {vm.cluster for vm in inventory.vms}) == (6, 96, {"General"})
    done = cli("import", str(exported), "-o", str(tmp_path / "none.yaml"), "--only-cluster", "Generals", exits=2)
    assert "--only-cluster: Generals: no cluster of this name [no-such-cluster]" in done.stderr
    assert "one of: Databases (Databases, Milan)" not in done.stderr
    assert "one of: Databases, Edge, General, Management" in done.stderr
    assert not (tmp_path / "none.yaml").exists()


def _usage(cli: Cli, file: Path, *options: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Usage of the simulated hosts, and all of the point."""
    run = ("--duration", "10", "--warmup", "2", "--replications", "1", "--format", "json")
    done = cli("simulate", str(file), *run, *options, exits=0)
    point = json.loads(done.stdout)["points"][0]
    return {name: host["usage_pct"] for name, host in point["hosts"].items()}, point


@pytest.mark.parametrize(
    "form",
    [{}, {"without": ("vCPU",)}, {"unmatched": 0.9}, {"host_names": "mixed", "without": ("vCPU", "vMemory")}],
    ids=str,
)
def test_a_simulated_export_is_as_busy_as_its_hosts_were(cli: Cli, form: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    cli("import", str(write_xlsx(estate(**form), tmp_path / "export.xlsx")), "-o", str(file), exits=0)
    usage, point = _usage(cli, file)
    measured = {host.name: host.measured for host in scenario.load(file).inventory.hosts}
    off = {name: round(usage[name] - (of.cpu_usage_pct or 0), 1) for name, of in measured.items()}
    assert max(map(abs, off.values())) <= 2, off
    full = {
        name: point["hosts"][name]["memory_usage_pct"] - (of.memory_usage_pct or 0) for name, of in measured.items()
    }
    assert max(map(abs, full.values())) <= 1, full


def test_a_host_of_an_imported_cluster_can_be_taken_away_or_added(cli: Cli, exported: Path, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    cli("import", str(exported), "-o", str(file), "--only-cluster", "general", exits=0)
    before, _ = _usage(cli, file)
    vms = scenario.load(file).inventory.vms
    without, point = _usage(cli, file, "--set", "hosts.esx-general-03.count=0")
    assert "esx-general-03" not in without
    moved = [vm.name for vm in vms if vm.host == "esx-general-03"]
    assert len(moved) > 5
    assert {point["vms"][name]["cluster"] for name in moved} == {"General"}
    assert sum(without.values()) == pytest.approx(sum(before.values()), rel=0.1)
    hosts = json.loads(scenario.load(file).json)["hosts"]
    more = json.dumps({**hosts["esx-general-02"], "label": "esx-general-07"})
    spread, _ = _usage(cli, file, "--set", f"hosts.esx-general-07={more}", "--set", "vms.*.host=null")
    assert spread["esx-general-07"] > 10


@pytest.mark.parametrize("ha", [True, False])
def test_machines_of_a_failed_host_restart_where_the_export_says_so(cli: Cli, tmp_path: Path, ha: bool) -> None:
    export = write_xlsx(estate([replace(EDGE, ha=ha, admission_control=ha)]), tmp_path / "edge.xlsx")
    file = tmp_path / "cluster.yaml"
    told = cli("import", str(export), "-o", str(file), "--explain").stderr
    assert ("HA is off: VMs of a failed host wait until it returns" in told) is not ha
    host = scenario.load(file).inventory.hosts[0].name
    failed = ("--set", f"failures=[{{fails: [{host}], at: 3 s}}]", "--duration", "27 s", "--replications", "1")
    done = cli("simulate", str(file), *failed, "--warmup", "1 s", "--format", "json", exits=0)
    point = json.loads(done.stdout)["points"][0]
    there = {vm.name for vm in scenario.load(file).inventory.vms if vm.host == host}
    assert len(there) > 3
    restarted = {each["vm"]: each for each in point.get("outages") or [] if each["restart_s"] is not None}
    assert set(restarted) == (there if ha else set())
    # detected 17 to 18 s after the failure, and restarted at once, all of them
    times = {each["restart_s"] for each in restarted.values()}
    assert len(times) == int(ha) and all(20.0 <= time <= 21.0 for time in times)


def test_34_hosts_and_800_machines_are_all_written(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    cli("import", str(write_xlsx(in_full(), tmp_path / "full.xlsx")), "-o", str(file), exits=0)
    inventory = scenario.load(file).inventory
    assert (len(inventory.hosts), len(inventory.vms)) == (34, 800)
