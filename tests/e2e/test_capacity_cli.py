"""`hypertwin capacity` as a user runs it."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.conftest import ROOT
from tests.python.ingest.vmware import rvtools_estate, rvtools_files

import hypertwin
from hypertwin.show import registry
from hypertwin.show.table import as_text

CLUSTERS = """
name: estate
hosts:
  esx:
    cluster: prod
    count: 3
    sockets: 2
    cores_per_socket: 8
    clock: 2 GHz
    memory_per_node: 128 GiB
    hypervisor: esxi-8.0
  lab: {sockets: 1, cores_per_socket: 4, clock: 2 GHz, memory_per_node: 64 GiB, hypervisor: esxi-8.0}
vms:
  "web": {count: 20, vcpus: 4, memory: 16 GiB, host: esx, workload: any, measured: {cpu_mhz: 800}}
  "try": {vcpus: 2, memory: 4 GiB, host: lab, workload: any}
workloads:
  any: {arrivals: {closed: {population: 1, think: {mean: 1 s}}}, cpu: {mean: 1 ms}}
datastores:
  san: {label: "=san", clusters: [prod], capacity: 10 TiB, free: 4 TiB}
"""


@pytest.fixture
def estate(tmp_path):
    path = tmp_path / "estate.yaml"
    path.write_text(CLUSTERS)
    return path


def test_json_has_the_form_of_the_contract(cli, estate):
    found = json.loads(cli("capacity", estate, "--format", "json").stdout)
    keys = "hosts sockets cores vms vcpus vcpu_per_core vcpu_per_core_after_failure cpu_usage_pct"
    keys += " cpu_usage_after_failure_pct memory_gib memory_configured_gib memory_configured_pct"
    keys += " memory_configured_after_failure_pct memory_consumed_pct memory_consumed_after_failure_pct"
    keys += " memory_active_pct largest_restartable_vm storage vms_remaining licence_cores demand"
    keys += " sources"
    assert set(keys.split()) <= found["clusters"]["prod"].keys()
    assert {"cpu", "memory", "memory_consumed", "vcpu_ratio", "limited_by", "count"} <= found["clusters"]["prod"][
        "vms_remaining"
    ].keys()
    assert {"vcpus", "memory_gib"} <= found["clusters"]["prod"]["largest_restartable_vm"].keys()
    assert set(found["clusters"]["prod"]["sources"].values()) <= {"measured", "configured", "assumed"}
    assert found["clusters"]["default"]["vms_remaining"] is None
    assert found["total"]["hosts"] == 4


def test_the_table_has_a_row_for_each_cluster_and_what_it_stands_on(cli, estate):
    text = cli("capacity", estate, "--vcpu-ratio", "6", "--explain").stdout
    rows = [line.split() for line in text.splitlines() if line.split()[:1] in (["prod"], ["default"], ["total"])]
    rows = [row for row in rows if row[1] != "has"]  # of the answer
    assert [row[0] for row in rows] == ["default", "prod", "total"] * 2 + ["default", "prod"]
    assert "41.7 → 62.5" in text
    assert "CPU demand of prod: single sample of each VM, added up." in text
    assert "default: CPU demand is unknown: no CPU was measured, and workloads have no constant rate" in text
    assert [row[2 if row[0] != "total" else 1] for row in rows[:3]] == ["1", "3", "4"]
    assert rows[4][1] == "memory"
    assert "core counts as" not in text


def test_pools_have_a_table_of_their_room_with_its_rule(cli):
    text = cli("capacity", ROOT / "scenarios" / "vsan-sql.yaml", "--explain").stdout
    rows = [line.split() for line in text.splitlines() if "replicas-2" in line or "raid-5" in line]
    assert [row[1:3] for row in rows if row[0] == "vsan"] == [["(pool)", "replicas-2"], ["raid-5", "ec-2+1"]]
    # 16 disks of 3.84 TB, of which four stay free for a lost host, and a tenth of the rest for vSAN
    assert f"{0.9 * 12 * 3.84e12 / 2 / 2**30:,.0f}" in rows[0]
    assert "assumed operations reserve: 10 %" in text


def test_csv_has_a_line_for_each_cluster(cli, estate, tmp_path):
    out = tmp_path / "capacity.csv"
    cli("capacity", estate, "--out", out)
    lines = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [line["cluster"] for line in lines] == ["default", "prod", "total"]
    assert lines[1]["memory_configured_after_failure_pct"] == "62.5"
    assert lines[0]["cpu_usage_pct"] == ""
    assert "cpu_usage_pct" in lines[1]["measured"].split()


def test_mistakes_name_options_and_files(cli, estate, tmp_path):
    done = cli("capacity", estate, "--cpu", "80", "--vm", "4x", exits=2)
    assert "--cpu 80: not a quantity [bad-quantity]" in done.stderr
    assert "help: write 80%" in done.stderr
    assert "--vm 4x: not a quantity [bad-quantity]" in done.stderr
    limits = tmp_path / "limits.yaml"
    limits.write_text("clusters:\n  prd: {cpu: 70%}\n")
    done = cli("capacity", estate, "--limits", limits, exits=2)
    assert done.stderr.startswith("error: clusters.prd: ")
    assert f"  --> {limits}:2\n" in done.stderr
    assert "did you mean prod?" in done.stderr
    assert not done.stdout


def test_what_could_be_taken_back_is_a_table_and_a_line_of_csv_for_each_vm(cli, estate):
    text = cli("capacity", estate, "--show", "reclaimable").stdout
    assert "single sample or mean" in text
    assert "do not prove" in text
    lines = list(
        csv.DictReader(io.StringIO(cli("capacity", estate, "--show", "reclaimable", "--format", "csv").stdout))
    )
    assert len(lines) == 20
    assert {(line["state"], line["sustained"], line["vcpus"], line["vcpus_needed"]) for line in lines} == {
        ("oversized", "false", "4", "1")
    }


@pytest.mark.parametrize("known", [True, False])
def test_an_export_of_an_estate_answers_what_planners_ask(cli, tmp_path, known):
    tabs = rvtools_estate.estate() if known else rvtools_estate.estate(unmatched=0.9, without=("vCPU",))
    rvtools_files.write_xlsx(tabs, tmp_path / "estate.xlsx")
    cli("import", "estate.xlsx", "-o", "estate.yaml", exits=0)
    found = json.loads(cli("capacity", "estate.yaml", "--vcpu-ratio", 6, "--format", "json").stdout)["clusters"]
    for shape in rvtools_estate.CLUSTERS:
        one = found[shape.name]
        cores = shape.hosts * shape.sockets * shape.cores_per_socket
        assert (one["hosts"], one["cores"], one["vms"]) == (shape.hosts, cores, shape.vms)
        assert one["vcpu_per_core_after_failure"] == pytest.approx(
            one["vcpus"] / cores * shape.hosts / (shape.hosts - 1)
        )
        assert one["memory_configured_after_failure_pct"] == pytest.approx(shape.memory_of_n1_pct, abs=1)
        assert one["cpu_usage_pct"] == pytest.approx(one["host_cpu_usage_pct"], abs=2)
        assert one["memory_consumed_pct"] == pytest.approx(one["host_memory_usage_pct"], abs=2)
        assert one["demand"]["cpu"]["kind"] == "sample"
        assert one["demand"]["cpu"]["of"] == ("vms" if known else "hosts")
        assert one["sources"]["cpu_usage_pct"] == "measured"
        assert one["reclaimable"]["sustained"] is None
        assert one["licence_cores"] == shape.hosts * shape.sockets * max(16, shape.cores_per_socket)
        assert one["storage"]["used_pct"] is not None
        info = [row for row in tabs["vInfo"] if row["Cluster"] == shape.name]
        mib = {
            "vms_provisioned_gib": sum(row["Provisioned MiB"] for row in info),
            "vms_used_gib": sum(row["In Use MiB"] for row in info),
            "vms_in_guest_gib": sum(row["Consumed MiB"] for row in tabs["vPartition"] if row["Cluster"] == shape.name),
            "swap_gib": sum(row["Memory"] for row in info if row["Powerstate"] == "poweredOn"),
        }
        assert {key: one["storage"][key] for key in mib} == {key: size / 1024 for key, size in mib.items()}
        assert set(one["storage"]["vms_unknown"].values()) == {0}
    assert found["Databases"]["vms_remaining"]["count"] == 0
    assert found["Databases"]["vms_remaining"]["limited_by"] == "memory"
    assert found["Databases"]["largest_restartable_vm"]["not_restarted"]
    assert all(
        found[shape.name]["vms_remaining"]["count"] > 0
        for shape in rvtools_estate.CLUSTERS
        if shape.name != "Databases"
    )
    assert (found["General"]["guessed"] == 0) is known
    first = as_text(registry.CAPACITY.table(hypertwin.capacity(tmp_path / "estate.yaml")), 160).splitlines()[0]
    assert ("is a guess" in first) is not known


def test_a_narrow_terminal_goes_without_columns_and_says_so(estate):
    found = hypertwin.capacity(estate, vcpu_ratio=6)
    wide, narrow = (as_text(registry.CAPACITY.table(found), width).splitlines() for width in (160, 80))
    tables = [line for line in narrow if line.startswith("  ")]
    assert max(map(len, tables)) <= 80
    assert any("Columns omitted: " in line for line in narrow)
    assert len(wide) < len(narrow)
    rows = [line for line in narrow if line.startswith("  prod")]
    assert "1.67 → 2.50" in rows[0]
    assert "41.7 → 62.5" in rows[1]
    assert rows[2].split()[:2] == ["prod", "memory"]


def test_a_faster_processor_has_a_column_of_its_own(cli, estate, tmp_path):
    (tmp_path / "limits.yaml").write_text("clusters: {prod: {speed: 1.25}}")
    text = cli("capacity", estate, "--limits", "limits.yaml", "--explain").stdout
    assert (
        "a core counts as 1.25, so vCPUs per core are 1.33 → 2" in text
    )  # 80 vCPUs on 48 and 32 cores, which count as 60 and 40
