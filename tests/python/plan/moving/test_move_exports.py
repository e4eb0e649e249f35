"""Moves of VMs of whole exports: also those without tabs of disks, adapters and tools."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import pytest
from tests.conftest import ROOT
from tests.estate import rvtools as estate
from tests.estate.truth import make
from tests.python.ingest.vmware.rvtools_files import HEADERS, Tabs, export, write_xlsx

from hypertwin import scenario
from hypertwin.ingest import sources, to_scenario
from hypertwin.plan.moving.becomes import becomes
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.effort import effort
from hypertwin.plan.moving.rules import findings
from hypertwin.plan.moving.target import Target
from hypertwin.scenario import Scenario

SAMPLE = ROOT / "tests" / "data" / "rvtools" / "rvtools_example1.xlsx"
SECRET = "hunter2"


def imported(path: Path) -> Scenario:
    made, _ = to_scenario.to_scenario(sources.read([str(path)]))
    return scenario.loads(to_scenario.to_yaml(made))


def answers(of: Scenario) -> str:
    """All answers for all targets, as JSON."""
    found = []
    for target in get_args(Target):
        context = Context.of(target, of.inventory)
        for vm in of.inventory.vms:
            of_vm = findings(vm, context)
            found.append([*map(asdict, (*of_vm, becomes(vm, context))), effort(vm, of_vm)])
    return json.dumps(found)


def test_the_published_export() -> None:
    of = imported(SAMPLE)
    assert of.inventory.vms
    assert "not known from this export" in answers(of)
    assert {"bios", "efi"} <= {vm.source.firmware for vm in of.inventory.vms}


def test_an_export_without_any_fact(tmp_path: Path) -> None:
    tabs = {tab: rows for tab, rows in export(2, 8, 10).items() if tab in ("vInfo", "vCPU", "vHost", "vMemory")}
    lacks = ("Annotation", "Folder", "Hot Add")
    headers = {tab: [column for column in HEADERS[tab] if column not in lacks] for tab in tabs}
    of = imported(write_xlsx(tabs, tmp_path / "x.xlsx", headers=headers))
    for vm in of.inventory.vms:
        blockers = [each for each in findings(vm, Context.of("proxmox", of.inventory)) if each.severity == "blocks"]
        assert blockers
        assert not any(each.is_known for each in blockers)


@pytest.mark.parametrize("without", [(), ("vDisk", "vNetwork", "vTools", "vPartition", "vSnapshot", "vCD", "vUSB")])
def test_an_estate(tmp_path: Path, without: tuple[str, ...]) -> None:
    of = imported(estate.write(make(), tmp_path / "estate.xlsx", without=without))
    sources_of = [vm.source for vm in of.inventory.vms]
    assert all((each.disks is None) is ("vDisk" in without) for each in sources_of)
    assert answers(of)


def test_a_secret_is_in_no_answer(tmp_path: Path) -> None:
    def change(tabs: Tabs) -> None:
        for row in tabs["vInfo"]:
            row |= {"Annotation": f"admin password: {SECRET}", "Folder": f"token={SECRET}", "Application": SECRET[:3]}
        row = tabs["vInfo"][0]
        tabs["vSnapshot"] = [{"VM": row["VM"], "VM UUID": row["VM UUID"], "Name": "x", "Description": f"pwd={SECRET}"}]

    tabs = export(2, 8, 10)
    change(tabs)
    of = imported(write_xlsx(tabs, tmp_path / "x.xlsx"))
    assert all(vm.source.secret_in_notes for vm in of.inventory.vms)
    text = answers(of)
    assert SECRET not in text
    assert SECRET not in of.json
    for target in get_args(Target):
        context = Context.of(target, of.inventory)
        rules = {each.rule for vm in of.inventory.vms for each in findings(vm, context) if each.is_known}
        assert f"{target}.secret" in rules


def test_the_context_of_an_inventory(tmp_path: Path) -> None:
    of = imported(estate.write(make(), tmp_path / "estate.xlsx"))
    context = Context.of("proxmox", of.inventory)
    assert context.called.items() >= {vm.name: vm.called for vm in of.inventory.vms}.items()
    assert len(context.called) == len(of.inventory.vms) + len(of.inventory.powered_off)
    assert context.hosts == of.inventory.host
    assert {(each.drs, each.all_rules) for each in context.clusters.values()} == {(True, None)}
    vm = of.inventory.vms[0]
    plain = Context("kvm")
    assert {each.rule for each in findings(vm, plain) if not each.is_known} >= {
        "kvm.affinity",
        "kvm.larger-than-target",
    }
    unbound = {each.rule for each in findings(vm, Context("openshift")) if not each.is_known}
    assert {"vmware.host_affinity.detected", "vmware.drs.enabled"} <= unbound
    assert context.datastores == {store.label or store.name: store.kind for store in of.inventory.datastores}
