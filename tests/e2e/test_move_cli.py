"""`hypertwin plan move`: from an export to the first wave, as a user runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import openpyxl
import pytest
import yaml
from tests.conftest import ROOT
from tests.estate import make, rvtools
from tests.python.ingest.vmware import rvtools_files

from hypertwin.ingest import outside

SHORT = ("--duration", "1", "--warmup", "1", "--replications", "1")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """An export in full shape."""
    return rvtools.write(make(2, hosts=4, vms=30), tmp_path / "RVTools_export_all.xlsx")


def test_two_commands_lead_from_an_export_to_waves(cli, export, tmp_path):
    cli("import", export.name, "-o", "cluster.yaml", exits=0)
    said = ("--to", "proxmox", "--reuse-hosts", "--network", "10 Gb/s", "--start", "2027-01-16", *SHORT)
    cli("plan", "move", "cluster.yaml", *said, "--report", "move.html", "-o", "move.xlsx", exits=0)
    assert "33 of 33 VMs (3 powered off) can move to Proxmox VE" in (tmp_path / "move.html").read_text(encoding="utf-8")
    sheets = set(openpyxl.load_workbook(tmp_path / "move.xlsx").sheetnames)
    assert {"VMs", "Waves", "Rules that apply", "Findings", "Settings on the target", "Steps"} <= sheets
    assert "VMs before and after" in sheets


@pytest.mark.parametrize("target", ["proxmox", "kvm", "openshift", "hyperv", "ahv"])
def test_each_target_answers_about_an_export_without_details(cli, export, target):
    cli("import", export.name, "-o", "cluster.yaml", exits=0)
    done = cli("plan", "move", "cluster.yaml", "--to", target, "--twin", "off", "--format", "json", exits=0)
    found = json.loads(done.stdout)
    assert len(found["vms"]) == 33
    assert found["gaps"]
    assert sum(len(wave["vms"]) for wave in found["waves"]) == 33 - found["counts"].get("blocked", 0)
    rows = list(
        csv.DictReader(
            io.StringIO(cli("plan", "move", "cluster.yaml", "--to", target, "--twin", "off", "--format", "csv").stdout)
        )
    )
    assert [row["name"] for row in rows] == [vm["name"] for vm in found["vms"]]


def test_a_target_that_is_too_small_is_exit_code_one_with_its_reason(cli, export, tmp_path):
    cli("import", export.name, "-o", "cluster.yaml", exits=0)
    host = {"sockets": 2, "cores_per_socket": 16, "clock": "2.5 GHz", "memory_per_node": "64 GiB"}
    made = {"hosts": {"pve": {**host, "count": 2, "hypervisor": "linux-6.12", "cpu_model": "Intel Xeon Gold 6548Y+"}}}
    (tmp_path / "target.yaml").write_text(yaml.safe_dump({"name": "t", **made, "vms": {}, "workloads": {}}))
    done = cli("plan", "move", "cluster.yaml", "--to", "kvm", "--target", "target.yaml", "--twin", "off", exits=1)
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
        (("--to", "kvm", "--prices", "missing.yaml"), "missing.yaml"),
        (("--to", "kvm", "--acceptance", "-1"), "--acceptance"),
        (("--to", "kvm", "--acceptance", "soon"), "--acceptance"),
    ],
)
def test_a_bad_request_is_one_clear_error(cli, tmp_path, line, said):
    source = ROOT / "scenarios" / "old-hosts" / "cluster.yaml"
    (tmp_path / "cluster.yaml").write_bytes(source.read_bytes())
    done = cli("plan", "move", "cluster.yaml", "--twin", "off", *line, exits=2)
    assert said in done.stderr
    assert (tmp_path / "cluster.yaml").read_bytes() == source.read_bytes()


HOSTILE = (
    *("it's", "$(touch hacked)", "`touch hacked`", '"; touch hacked; "', "a\\nb", "two\nlines", "-o", "esac", "*"),
    *("<script>alert(1)</script>", "=cmd|' /C calc'!A0", "&a *a", "a: b", "\u00e4\u00f6\u00fc"),
)
"""Names that a shell, a YAML parser, a browser or a spreadsheet could read as something else."""


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """An export of VMs with these names, of which every third is off and the last one is a template."""
    tabs = rvtools_files.export(2, len(HOSTILE), 0)
    tabs["vDisk"], tabs["vNetwork"], tabs["dvPort"] = [], [], []
    tabs["vInfo"] = tabs["vInfo"][: len(HOSTILE)]
    for number, (row, name) in enumerate(zip(tabs["vInfo"], HOSTILE, strict=True)):
        key = {"VM": name, "VM UUID": row["VM UUID"]}
        row |= {**key, "Powerstate": "poweredOff" if number % 3 == 0 else "poweredOn", "Firmware": "efi"}
        row |= {"Template": number == len(HOSTILE) - 1}
        for tab in ("vCPU", "vMemory"):
            next(each for each in tabs[tab] if each["VM UUID"] == row["VM UUID"]).update(key)
        disk = {
            "Capacity MiB": 1024,
            "Path": f"[{name}] a/a.vmdk",
            "Raw": False,
            "Controller": "VMware paravirtual SCSI",
        }
        tabs["vDisk"].append({**key, "Disk": "Hard disk 1", **disk})
        tabs["vNetwork"].append({**key, "Adapter": "Vmxnet3", "Network": name, "Switch": "dvs"})
        tabs["dvPort"].append({"Port": name, "Switch": "dvs", "VLAN": 10 + number})
    return rvtools_files.write_xlsx(tabs, tmp_path / "hostile.xlsx")


@pytest.mark.parametrize("target", ["proxmox", "kvm", "openshift", "hyperv"])
def test_hostile_names_stay_data_in_every_output(cli, hostile, tmp_path, target):
    cli("import", hostile.name, "-o", "cluster.yaml", exits=0)
    said = ("plan", "move", "cluster.yaml", "--to", target, "--twin", "off")
    cli(*said, "--report", "move.html", "-o", "move.xlsx", exits=0)
    found = json.loads(cli(*said, "--format", "json").stdout)
    assert {vm["label"] for vm in found["vms"]} == {outside.name(name) for name in HOSTILE}
    assert found["power"] == {"on": 8, "off": 5, "template": 1}
    assert [vm["verdict"] for vm in found["vms"] if vm["power"] == "template"] == ["blocked"]
    assert {vm["networks"][0]["vlan"] for vm in found["vms"]} == {10 + number for number in range(len(HOSTILE))}
    assert "rollback.txt" in found["texts"]
    for name, text in found["texts"].items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            assert subprocess.run(["sh", "-n", tmp_path / name], check=False).returncode == 0
        if name.endswith(".yaml"):
            *_, plan = yaml.safe_load_all(text)
            assert {vm["name"] for vm in plan["spec"]["vms"]} <= {outside.name(each) for each in HOSTILE}
    page = (tmp_path / "move.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert not (tmp_path / "hacked").exists()
    cells = [cell for sheet in openpyxl.load_workbook(tmp_path / "move.xlsx") for row in sheet for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)


def test_the_page_answers_what_people_ask_in_the_night_of_the_move(cli, export, tmp_path):
    cli("import", export.name, "-o", "cluster.yaml", exits=0)
    (tmp_path / "prices.yaml").write_text("hosts: { present: { support: 365 EUR/host/year } }\n")
    said = ("--to", "kvm", "--twin", "off", "--prices", "prices.yaml", "--acceptance", "10")
    cli("plan", "move", "cluster.yaml", *said, "-o", "move.xlsx", exits=0)
    book = openpyxl.load_workbook(tmp_path / "move.xlsx")
    sheets = {"Addresses after the move", "Way back from a wave", "Both sides at once", "Work of people by effort"}
    assert sheets <= {sheet.title for sheet in book}, book.sheetnames
    header, *rows = book["VMs"].iter_rows(values_only=True)
    assert {"state", "MAC", "IP"} <= set(header)
    assert [row[header.index("state")] for row in rows].count("powered off") == 3
    done = cli("plan", "move", "cluster.yaml", *said, "--format", "csv")
    lines = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {(line["power"], line["mac"]) for line in lines} == {("on", "yes"), ("off", "yes")}
