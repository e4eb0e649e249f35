"""`hypertwin plan move`: from an export to the first wave, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest
import yaml
from tests.conftest import ROOT
from tests.estate import make, rvtools

SHORT = ("--duration", "1", "--warmup", "1", "--replications", "1")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """An export in full shape."""
    return rvtools.write(make(2, hosts=4, vms=30), tmp_path / "RVTools_export_all.xlsx")


def test_two_commands_lead_from_an_export_to_waves(cli, export, tmp_path):
    assert cli("import", export.name, "-o", "cluster.yaml").returncode == 0
    said = ("--to", "proxmox", "--reuse-hosts", "--network", "10 Gb/s", "--start", "2027-01-16", *SHORT)
    done = cli("plan", "move", "cluster.yaml", *said, "--report", "move.html", "-o", "move.xlsx")
    assert done.returncode == 0, done.stderr
    assert "30 of 30 VMs can move to Proxmox VE" in (tmp_path / "move.html").read_text(encoding="utf-8")
    sheets = set(openpyxl.load_workbook(tmp_path / "move.xlsx").sheetnames)
    assert {"VMs", "Waves", "Rules that apply", "Findings", "Settings on the target", "Steps"} <= sheets
    assert "VMs before and after" in sheets


@pytest.mark.parametrize("target", ["proxmox", "kvm", "openshift", "hyperv", "ahv"])
def test_each_target_answers_about_an_export_without_details(cli, export, target):
    assert cli("import", export.name, "-o", "cluster.yaml").returncode == 0
    done = cli("plan", "move", "cluster.yaml", "--to", target, "--twin", "off", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found["vms"]) == 30
    assert found["gaps"]
    assert sum(len(wave["vms"]) for wave in found["waves"]) == 30 - found["counts"].get("blocked", 0)
    rows = list(
        csv.DictReader(
            io.StringIO(cli("plan", "move", "cluster.yaml", "--to", target, "--twin", "off", "--format", "csv").stdout)
        )
    )
    assert [row["name"] for row in rows] == [vm["name"] for vm in found["vms"]]


def test_a_target_that_is_too_small_is_exit_code_one_with_its_reason(cli, export, tmp_path):
    assert cli("import", export.name, "-o", "cluster.yaml").returncode == 0
    host = {"sockets": 2, "cores_per_socket": 16, "clock": "2.5 GHz", "memory_per_node": "64 GiB"}
    made = {"hosts": {"pve": {**host, "count": 2, "hypervisor": "linux-6.12", "cpu_model": "Intel Xeon Gold 6548Y+"}}}
    (tmp_path / "target.yaml").write_text(yaml.safe_dump({"name": "t", **made, "vms": {}, "workloads": {}}))
    done = cli("plan", "move", "cluster.yaml", "--to", "kvm", "--target", "target.yaml", "--twin", "off")
    assert done.returncode == 1
    assert "The target cannot take them" in done.stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ((), "--to: nothing given"),
        (("--to", "vmware"), "vmware"),
        (("--to", "kvm", "--reuse-hosts", "--target", "cluster.yaml"), "--target"),
        (("--to", "kvm", "--network", "fast"), "--network fast"),
        (("--to", "kvm", "--window", "late"), "late"),
        (("--to", "kvm", "--source-reads", "fast"), "--source-reads fast"),
        (("--to", "kvm", "--downtime", "gold"), "--downtime"),
        (("--to", "kvm", "--downtime", "gold=15min"), "this source does not have"),
        (("--to", "kvm", "--start", "soon"), "soon"),
        (("--to", "kvm", "--target", "missing.yaml"), "missing.yaml"),
        (("--to", "kvm", "-o", "cluster.yaml"), "cluster.yaml"),
    ],
)
def test_a_bad_request_is_one_clear_error(cli, tmp_path, line, said):
    source = ROOT / "scenarios" / "old-hosts" / "cluster.yaml"
    (tmp_path / "cluster.yaml").write_bytes(source.read_bytes())
    done = cli("plan", "move", "cluster.yaml", "--twin", "off", *line)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "cluster.yaml").read_bytes() == source.read_bytes()
