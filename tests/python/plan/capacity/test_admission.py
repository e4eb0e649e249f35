"""What may be powered on after a failure, and what will perform then: cases computed by hand."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import hypertwin
from hypertwin import scenario
from hypertwin.plan.capacity.admission import Pair, Slots, percentage_tolerates
from hypertwin.show import capacity as report

HOSTS = [Pair(9, 9), Pair(9, 6), Pair(6, 6)]
VMS = [Pair(2, 1), Pair(2, 1), Pair(1, 2), Pair(1, 1), Pair(1, 1)]


def counted(hosts: dict[str, Any], vms: dict[str, Any], ha: dict[str, Any] | None = None, **asked: Any) -> Any:
    """What `capacity` says of one cluster."""
    open_ = {"arrivals": {"open": {"rate": "1 /s"}}, "cpu": {"mean": "1 ms"}}
    text = {"name": "made", "hosts": hosts, "vms": vms, "workloads": {"any": open_}}
    more = {} if ha is None else {"clusters": {"default": {"ha": ha}}}
    return hypertwin.capacity(scenario.loads(yaml.safe_dump(text | more)), **asked)


def host(cores: int, memory: str, **more: Any) -> dict[str, Any]:
    own = {"sockets": 1, "cores_per_socket": cores, "clock": "3 GHz", "memory_per_node": memory}
    return {**own, "hypervisor": "esxi-7.0", **more}


def vm(memory: str = "1 GiB", **more: Any) -> dict[str, Any]:
    return {"vcpus": 1, "memory": memory, "workload": "any", **more}


def test_the_published_example_of_slots():
    # vSphere Availability: 9 GHz and 9 GB, 9 and 6, 6 and 6; a slot is 2 GHz and 2 GB
    slots = Slots.of(HOSTS, VMS)
    assert (slots.slot, slots.of_hosts, slots.taken) == (Pair(2, 2), [4, 3, 3], 5)
    # without the first 6 slots are left for 5 VMs, without the first two 3
    assert (slots.tolerates, slots.free(1), slots.free(2)) == (1, 1, -2)


def test_the_published_example_by_percentage():
    # 24 GHz and 21 GB, 7 and 6 reserved: 70.8 and 71.4 % are free
    found = counted(
        {"esx": host(8, "64 GiB", count=4)},
        {"db": vm("16 GiB", count=8, memory_reservation="16 GiB", reservation="3 GHz")},
        {"enabled": True, "policy": "fdm", "admission_policy": "percentage", "failures": 1},
    )["clusters"]["default"]["ha"]
    # 24 of 96 GHz and 128 of 256 GiB, and 8 times what ESXi takes beside 16 GiB
    assert found["unreserved_cpu_pct"] == 75
    assert found["unreserved_memory_pct"] == pytest.approx(100 * (256 - 128 - 8 * 139.62 / 1024) / 256)
    # 1 of 4 hosts is kept; of 4 x 64 GiB two hosts do not hold 128 GiB and what is beside it
    assert (found["keeps_pct"], found["can_power_on"], found["host_failures_tolerated"], found["slots"]) == (
        25,
        True,
        1,
        None,
    )
    assert percentage_tolerates(HOSTS, VMS) == 1


def test_a_percentage_that_is_not_kept_is_no_power_on():
    ha = {"enabled": True, "policy": "fdm", "admission_policy": "percentage", "admission_pct": 60.0}
    vms = {"db": vm("16 GiB", count=8, memory_reservation="16 GiB")}
    found = counted({"esx": host(8, "64 GiB", count=4)}, vms, ha)["clusters"]["default"]["ha"]
    assert (found["keeps_pct"], found["can_power_on"], found["not_powered_on"]) == (60, False, [])


def test_a_cluster_in_slots_with_what_esxi_takes_beside_a_vm():
    ha = {"enabled": True, "admission": True, "admission_policy": "slots", "policy": "fdm", "failures": 1}
    hosts = {"a": host(3, "9 GiB"), "b": host(3, "6 GiB"), "c": host(2, "6 GiB")}
    vms = {
        "one": vm("1 GiB", count=2, reservation="2 GHz", memory_reservation="1 GiB"),
        "two": vm("2 GiB", reservation="1 GHz", memory_reservation="2 GiB"),
        "rest": vm("1 GiB", count=2, reservation="1 GHz", memory_reservation="1 GiB"),
    }
    found = counted(hosts, vms, ha)["clusters"]["default"]["ha"]
    beside = 25.90 + (48.64 - 25.90) / 3
    assert found["slot"] == {"cpu_mhz": 2000, "memory_mib": pytest.approx(2048 + beside)}
    # 9 GiB hold 4 such slots, 6 GiB only 2: 4 without the first, for 5 VMs
    assert (found["slots"], found["free_slots"], found["host_failures_tolerated"], found["can_power_on"]) == (
        8,
        -1,
        0,
        False,
    )
    assert found["restart_s"] == {
        **{"detection": 17, "detection_longest": 18, "primary": 35, "primary_longest": 50, "boot": None},
    }


@pytest.mark.parametrize(("version", "rule"), [("esxi-6.0", "slots"), ("esxi-6.5", "percentage")])
def test_a_policy_that_is_not_known_is_the_default_of_the_version(version: str, rule: str):
    old = {"esx": host(8, "64 GiB", count=2), "old": host(8, "64 GiB", hypervisor=version)}
    found = counted(old, {"db": vm()}, {"enabled": True, "policy": "fdm"})["clusters"]["default"]
    assert found["ha"]["admission"] == rule
    assert any(note.startswith(f"Assumed: admission control by {rule}, ") for note in found["notes"])


def test_without_reservations_all_may_power_on_and_nothing_performs():
    ha = {"policy": "fdm", "admission_policy": "slots", "failures": 1, "detection": "35 s", "boot": "90 s"}
    busy = {"memory_consumed": "30 GiB", "cpu_mhz": 100}
    vms = {"db": vm("32 GiB", count=14, measured=busy, host="esx")}
    found = counted({"esx": host(16, "256 GiB", count=2)}, vms, ha)["clusters"]["default"]
    assert found["ha"]["can_power_on"]
    # 14 x 30 GiB on 256 GiB
    assert (found["ha"]["meets_demand"], found["ha"]["short_of"]) == (False, ["memory_consumed"])
    # a slot is 32 MHz and what ESXi takes beside 32 GiB: CPU allows 1,500 on each host
    assert found["ha"]["slot"]["cpu_mhz"] == 32
    assert found["ha"]["restart_s"] == {
        **{"detection": 35, "detection_longest": 35, "primary": None, "primary_longest": None, "boot": 90},
    }
    assert any("HA can power on every VM after a failure, but demand then exceeds" in note for note in found["notes"])


def test_what_no_host_has_unreserved_is_said_first():
    hosts = {"a": host(8, "64 GiB", count=2)}
    vms = {"big": vm("40 GiB", count=2, memory_reservation="40 GiB"), "off": vm("40 GiB", restart_priority="disabled")}
    vms["off"] |= {"count": 0}
    found = counted(hosts, vms)
    ha = found["clusters"]["default"]["ha"]
    assert (ha["can_power_on"], ha["not_powered_on"], ha["admission"]) == (False, ["big-1"], None)
    verdict = found["clusters"]["default"]["verdict"]
    why = "no host has enough unreserved capacity to power on big-1."
    said = f"default cannot tolerate a host failure: if a-1 fails, {why}"
    assert verdict["text"].startswith(f"{said} HA is unknown (ha.policy).")
    assert verdict["met"] is False
    assert report.view(found)["answer"]["text"].startswith(verdict["text"])


def test_a_vm_that_is_not_restarted_needs_no_place():
    hosts = {"a": host(8, "64 GiB", count=2)}
    vms = {"big": vm("40 GiB", count=2, memory_reservation="40 GiB", restart_priority="disabled")}
    assert counted(hosts, vms)["clusters"]["default"]["ha"]["not_powered_on"] == []


def test_linux_reserves_what_is_in_huge_pages():
    hosts = {"kvm": host(8, "64 GiB", count=2, hypervisor="linux-6.12")}
    ha = {"enabled": True, "policy": "proxmox"}
    lax = counted(hosts, {"big": vm("40 GiB", count=2)}, ha)["clusters"]["default"]["ha"]
    assert (lax["not_powered_on"], lax["admission"], lax["unreserved_memory_pct"]) == ([], None, 100)
    strict = counted(hosts, {"big": vm("40 GiB", count=2, huge_pages=True)}, ha)["clusters"]["default"]["ha"]
    assert len(strict["not_powered_on"]) == 1
    assert (strict["restart_s"]["detection"], strict["restart_s"]["detection_longest"]) == (110, 140)
    assert (strict["restart_s"]["primary"], strict["restart_s"]["primary_longest"]) == (170, 200)
