"""Powered-off VMs and templates of a move: judged by the same rules, named, in waves, and not simulated."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from tests.python.plan.refresh.made import cluster, host

import hypertwin
from hypertwin import scenario
from hypertwin.plan.moving.off import Off
from hypertwin.plan.powered_off import free_name, with_off

QUICK = {"cache": "off", "duration": 1, "warmup": 1, "replications": 1}
FACTS = {
    "firmware": "efi",
    "disks": [{"label": "Hard disk 1", "capacity": "40 GiB", "raw": "none", "path": "[a] b.vmdk"}],
}


def made(**off: Any) -> dict[str, Any]:
    data = cluster(hosts=2, vms=2)
    data["powered_off"] = {name: {"vcpus": 2, "memory": "4 GiB", **entry} for name, entry in off.items()}
    return data


def move(data: Any, to: str = "proxmox", **options: Any) -> Any:
    return hypertwin.plan_move(data, **{"to": to, "twin": "off", **QUICK, **options}).to_dict()


def test_a_powered_off_vm_is_judged_by_its_facts_and_is_in_a_wave_without_downtime() -> None:
    found = move(made(old={"host": "old-1", "source": FACTS, "storage_used": "10 GiB", "label": "old (1)"}))
    (vm,) = [each for each in found["vms"] if each["power"] == "off"]
    assert (vm["label"], vm["host"], vm["volume_gib"], vm["size_known"]) == ("old (1)", "old-1", 10, True)
    assert {"proxmox.uefi"} <= {each["rule"] for each in vm["findings"] if each["known"]}
    assert "proxmox.running" not in {each["rule"] for each in vm["findings"]}
    assert vm["becomes"]["bios"] == "ovmf"
    assert vm["wave"] == 1
    assert vm["downtime_s"] is None
    running = [each for each in found["vms"] if each["power"] == "on"]
    assert all(each["downtime_s"] is not None for each in running)
    assert found["power"] == {"on": 2, "off": 1}
    assert found["counts"] == {"changes": 1, "not-known": 2}
    assert found["volume_gib"] == 10


@pytest.mark.parametrize("target", ["proxmox", "kvm", "openshift", "hyperv", "ahv"])
def test_a_template_waits_for_its_conversion_on_every_target(target: str) -> None:
    found = move(made(golden={"template": True}), target)
    (vm,) = [each for each in found["vms"] if each["power"] == "template"]
    assert (vm["verdict"], vm["wave"]) == ("blocked", None)
    assert f"{target}.template" in {each["rule"] for each in vm["findings"]}
    assert "3 VMs (1 template) can move" in str(
        hypertwin.plan_move(made(golden={"template": True}), to=target, twin="off")
    )


def test_names_collide_across_running_and_powered_off_vms() -> None:
    data = made(other={"label": "WEB 1"})
    data["vms"]["web"]["label"] = "web"
    found = move(data)
    assert {vm["name"] for vm in found["vms"] if _has(vm, "proxmox.name.collision")} == {"web-1", "other"}


def test_names_collide_with_vms_on_the_target(tmp_path: Any) -> None:
    target = {
        "name": "t",
        "hosts": {"pve": {**host(hypervisor="linux-6.12"), "count": 2}},
        "vms": {"there": {"label": "Old-1", "vcpus": 1, "memory": "1 GiB", "workload": "w"}},
        "workloads": {"w": {"arrivals": {"closed": {"population": 1, "think": "1 s"}}, "cpu": "1 ms"}},
        "powered_off": {"also": {"label": "two", "vcpus": 1, "memory": "1 GiB"}},
    }
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(target))
    found = move(made(old={"label": "old 1"}, two={}, three={}), target=tmp_path / "t.yaml")
    texts = {vm["name"]: each["text"] for vm in found["vms"] for each in vm["findings"] if "collision" in each["rule"]}
    assert set(texts) == {"old", "two"}
    assert texts["old"].startswith("Old-1 (on the target): ")


def test_a_name_that_a_running_vm_has_gets_another_key() -> None:
    inventory = scenario.load(made(**{"web-1": {}, "off-web-1": {}})).inventory
    off = Off.of(inventory.powered_off, (vm.name for vm in inventory.vms))
    assert sorted(vm.name for vm in off.vms) == ["off-off-web-1", "off-web-1"]
    assert {vm.called for vm in off.vms} == {"web-1", "off-web-1"}
    assert free_name("a", ()) == "a"
    assert free_name("a", ("a", "off-a")) == "off-off-a"


def test_another_cluster_keeps_its_powered_off_vms() -> None:
    data = made(here={"cluster": "default"}, there={"cluster": "two"})
    data["hosts"]["far"] = {**host(), "count": 1, "cluster": "two"}
    assert move(data, cluster="default")["power"] == {"on": 1, "off": 1}
    assert move(data)["power"] == {"on": 2, "off": 2}


def test_only_with_off_are_they_on_the_target_too() -> None:
    data = made(old={"source": FACTS, "guest_os": "Debian 12", "storage_used": "10 GiB"}, golden={"template": True})
    plain, powered = (move(data, reuse_hosts=True, with_off=each)["arrival"]["cluster"] for each in (False, True))
    assert (plain["vms"], powered["vms"]) == (2, 3)
    vm = next(each for each in with_off(scenario.load(data)).inventory.vms if each.name == "old")
    assert (vm.source.firmware, vm.guest_os, vm.measured.storage_used_bytes) == ("efi", "Debian 12", 10 * 2**30)


def test_facts_that_decide_settings_are_those_of_the_vm() -> None:
    entitled = {
        "shares": "high",
        "limit": "1 GHz",
        "memory_reservation": "1 GiB",
        "cpu_hot_add": True,
        "snapshot_count": 2,
    }
    found = move(made(some={**entitled, "cores_per_socket": 2}, none={"vcpus": 0, "memory": "0 B", "shares": 7}))
    some, none = (next(vm for vm in found["vms"] if vm["name"] == name) for name in ("some", "none"))
    rules = {"proxmox.entitlement", "proxmox.memory.reservation", "proxmox.hot-add", "proxmox.snapshots"}
    assert rules <= {each["rule"] for each in some["findings"] if each["known"]}
    assert (some["becomes"]["cores"], some["becomes"]["sockets"]) == ("2", "1")
    assert (some["best"]["cpuunits"], some["best"]["balloon"]) == ("200", "0")
    assert "cpuunits" not in none["best"]


def _has(vm: Any, rule: str) -> bool:
    return any(each["rule"] == rule for each in vm["findings"])
