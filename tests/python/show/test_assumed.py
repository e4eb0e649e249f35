"""What is assumed of disks is said where I/O is shown, and no longer once the scenario says it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.conftest import ROOT

import hypertwin
from hypertwin.show import assumed

LOCAL, SAN, PATHS, MESH = "local-nvme", "san-fio", "san-paths", "hyperconverged"
OWN = {"kind": "nvme", "power_loss_protection": False}


def said(name: str, overrides: dict[str, Any], *, io: bool = True) -> list[str]:
    """What is assumed of an example in which `db` does I/O."""
    scenario = hypertwin.load(ROOT / "scenarios" / f"{name}.yaml", overrides)
    vms = {PATHS: ["backup"], MESH: ["db-1", "db-2"]}.get(name, ["db"])
    host = next(each.name for each in scenario.inventory.hosts)
    points: Any = [{"vms": {vm: {"host": host, **({"io_latency_ms": {"mean": 1.0}} if io else {})} for vm in vms}}]
    return assumed.notes(points, scenario.data)


@pytest.mark.parametrize(
    ("name", "overrides", "beginnings"),
    [
        (LOCAL, {}, []),
        (SAN, {}, ["generic drives for san (sas-ssd)"]),
        (SAN, {"arrays.san.disks": {"device": "PM1643", "count": 24}}, []),
        (SAN, {"workloads.random.sync_pct": 50}, ["generic drives for san"]),
        (
            SAN,
            {"workloads.random.sync_pct": 50, "arrays.san.cache.size": "0 B"},
            ["generic drives for san", "san has power-loss protection"],
        ),
        (
            SAN,
            {"workloads.random.sync_pct": 50, "arrays.san.cache.write_back": False, "arrays.san.disks.kind": "hdd-10k"},
            ["generic drives for san (hdd-10k)"],
        ),
        (MESH, {}, ["generic drives for mesh (sas-ssd)"]),
        (MESH, {"storage.mesh.flushes": "always"}, ["generic drives for mesh", "mesh has power-loss protection"]),
        (LOCAL, {"arrays.nvme.disks.device": "970-PRO"}, []),
        (LOCAL, {"arrays.nvme.disks.device": "MX500"}, ["a flush of MX500 takes as long"]),
        (LOCAL, {"arrays.nvme.disks.device": "MX500", "workloads.fio.sync_pct": 0}, []),
        (LOCAL, {"arrays.nvme.disks.device": "mine", "devices.mine": OWN}, ["a flush of mine takes as long"]),
        (LOCAL, {"arrays.nvme.disks.device": "mine", "devices.mine": {**OWN, "flush": "1 ms"}}, []),
        (
            LOCAL,
            {"arrays.nvme.disks.device": "mine", "devices.mine": {"kind": "nvme"}},
            ["mine has power-loss protection"],
        ),
        (LOCAL, {"arrays.nvme.disks.device": "Cheetah-15K.7"}, []),
    ],
)
def test_what_is_assumed_of_disks_is_said_until_the_scenario_says_it(name, overrides, beginnings):
    found = [
        each
        for each in said(name, overrides)
        if each.startswith("Assumed") and ("drives for" in each or "flush" in each)
    ]
    assert len(found) == len(beginnings), found
    for sentence, beginning in zip(found, beginnings, strict=True):
        assert sentence.startswith(f"Assumed: {beginning}")
    assert said(name, overrides, io=False) == []


@pytest.mark.parametrize(
    ("name", "overrides", "of"),
    [
        (LOCAL, {}, "linux-6.12 (virtio-scsi)"),
        (LOCAL, {"vms.db.controller": "virtio-blk"}, None),
        (LOCAL, {"hosts.kvm.hypervisor": "esxi-5.0"}, None),
        (LOCAL, {"hosts.kvm.hypervisor": "esxi-5.0", "vms.db.controller": "nvme"}, "esxi-5.0 (nvme)"),
        (LOCAL, {"hosts.kvm.hypervisor": "esxi-8.0"}, "esxi-8.0 (pvscsi)"),
        (LOCAL, {"hosts.kvm.hypervisor": "esxi-8.0", "vms.db.controller": "passthrough"}, None),
    ],
)
def test_the_cpu_of_an_io_is_assumed_where_none_is_published(name, overrides, of):
    found = [each for each in said(name, overrides) if "CPU" in each]
    assert found == [] if of is None else found[0].startswith(f"Assumed: the CPU cost of an I/O on {of}, from")
    assert said(name, overrides, io=False) == []


@pytest.mark.parametrize("protocol", [None, "fc", "nvme-fc", "iscsi", "nvme-tcp", "nvme-rdma"])
def test_what_a_protocol_costs_the_host_is_assumed(protocol):
    found = [each for each in said(SAN, {"arrays.san.protocol": protocol}) if "protocol" in each]
    sentence = f"Assumed: the CPU and latency of {protocol} (san) on the host (arrays.NAME.protocol)."
    assert found == ([sentence] if protocol in ("iscsi", "nvme-tcp", "nvme-rdma") else [])


@pytest.mark.parametrize(("cache", "told"), [("writeback", True), ("writethrough", True), ("directsync", False)])
def test_what_a_cache_spares_is_not_modelled(cache, told):
    found = [each for each in said(LOCAL, {"vms.db.disk_cache": cache}) if "cache" in each]
    assert [each.startswith("Not modelled: cache hits that relieve the disks of db.") for each in found] == [
        True
    ] * told


@pytest.mark.parametrize(
    ("overrides", "keys"),
    [
        ({}, ["non_optimised_latency"]),
        ({"arrays.san.paths.timeout": None}, ["timeout", "non_optimised_latency"]),
        ({"arrays.san.paths": None}, ["timeout"]),
        ({"arrays.san.paths.non_optimised_latency": "50 us"}, []),
        ({"failures": []}, []),
    ],
)
def test_defaults_of_paths_are_told_where_ports_fail(overrides, keys):
    found = [each for each in said(PATHS, overrides) if "path" in each]
    assert [re.findall(r"\(arrays.NAME.paths.(\w+)\)", each) for each in found] == [[key] for key in keys]


def test_a_drive_that_flushes_before_it_answers_is_named():
    told = "Synchronous writes wait for flushes of 970-PRO, without power-loss protection."
    drive = {"arrays.nvme.disks.device": "970-PRO"}
    assert told in said(LOCAL, drive)
    assert told not in [*said(LOCAL, {}), *said(LOCAL, {**drive, "workloads.fio.sync_pct": 0})]
    assert told not in said(LOCAL, {**drive, "vms.db.disk_cache": "unsafe"})
    assert told in said(LOCAL, {**drive, "workloads.fio.sync_pct": 0, "vms.db.disk_cache": "directsync"})


def test_each_names_the_key_that_says_better():
    found = said(SAN, {"workloads.random.sync_pct": 50, "arrays.san.cache.size": "0 B"})
    assert [re.findall(r"\(([\w.]+)[;)]", each)[-1] for each in found if "disks" in each or "flush" in each] == [
        "arrays.NAME.disks.device",
        "devices.NAME.power_loss_protection",
    ]
    assert "(storage.NAME.devices.device;" in said(MESH, {})[0]
