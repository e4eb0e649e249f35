"""What each VM is taken to do, and the hypervisor itself, where VMs, hosts or both were measured."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hypertwin import scenario
from hypertwin.ingest import to_scenario
from hypertwin.ingest.inventory import Demand, Host, Inventory, Vm
from hypertwin.ingest.to_scenario import contention

GIB = 2**30
HOST = Host("esx1", 2, 10, 1, 128 * GIB, 2.5e9, "VMware ESXi 7.0.3", cpu_usage_pct=40.0)
"""50 GHz, of which 20 are used."""
VMS = [Vm(f"vm{n}", 8, 16 * GIB, "esx1", demand=Demand(2_000.0)) for n in range(5)]


def _made(host: Host, vms: list[Vm]) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The host and the VMs of the scenario, and all that was told."""
    made, assumptions = to_scenario.to_scenario(Inventory("export.xlsx", "rvtools", [host], vms))
    data = json.loads(scenario.loads(to_scenario.to_yaml(made)).json)
    return data["hosts"]["esx1"], data["vms"], " | ".join(f"{each.subject}: {each.text}" for each in assumptions)


def _loads(vms: dict[str, Any]) -> list[float]:
    return [vm["load"] for vm in vms.values()]


def _asking(mhz: float, **demand: Any) -> list[Vm]:
    return [replace(vm, demand=replace(Demand(mhz), **demand)) for vm in VMS]


def test_what_a_host_uses_more_is_the_hypervisors_own_work() -> None:
    host, vms, told = _made(HOST, VMS)
    assert _loads(vms) == [2.0] * 5
    assert host["overhead"]["activity_pct"] == pytest.approx(100)
    assert "host esx1: it used more than its VMs demand: the rest is assumed to be the hypervisor's own work" in told


def test_the_hypervisor_has_worlds_enough_for_its_work() -> None:
    # 6 of 8 cores are the hypervisor's, for the one VM that is busy
    host, _, _ = _made(HOST, [replace(VMS[0], demand=Demand(5_000.0)), replace(VMS[1], demand=Demand(0.0))])
    assert (host["overhead"]["activity_pct"], host["overhead"]["worlds_per_vm"]) == (300, 12)
    host, _, _ = _made(HOST, VMS)
    assert host["overhead"]["worlds_per_vm"] == 4


def test_work_beyond_all_worlds_is_named() -> None:
    large = replace(HOST, sockets=4, cores_per_socket=32, cpu_usage_pct=60.0)
    host, _, told = _made(large, [replace(VMS[0], vcpus=16, demand=Demand(20_000.0))])
    assert host["overhead"]["worlds_per_vm"] == 64
    assert "host esx1: its measured usage is more than its known VMs can cause: it stays below" in told


def test_what_agrees_is_left_as_it_is() -> None:
    host, vms, told = _made(HOST, _asking(3_950.0))
    assert (_loads(vms), host["overhead"]["activity_pct"]) == ([3.95] * 5, 1)
    assert "host esx1" not in told


def test_what_machines_want_more_is_cut_to_the_host() -> None:
    host, vms, told = _made(HOST, _asking(5_000.0))
    assert host["overhead"]["activity_pct"] == 1
    assert sum(_loads(vms)) * 1.01 == pytest.approx(20, rel=0.001)
    assert "their load is reduced to its usage" in told
    assert vms["vm0"]["measured"]["cpu_mhz"] == 5_000


def test_a_full_host_does_not_say_how_much_its_machines_want() -> None:
    _, vms, told = _made(replace(HOST, cpu_usage_pct=99.0), _asking(12_000.0))
    assert all(vm["workload"].startswith("busy-") and vm["load"] == 8 for vm in vms.values())
    assert "cut" not in told


def test_demand_over_time_is_not_compared_with_one_moment() -> None:
    host, vms, told = _made(HOST, _asking(5_000.0, over_s=3_600.0))
    assert (sum(_loads(vms)), host["overhead"]["activity_pct"]) == (25, 1)
    assert "host esx1" not in told
    _, vms, _ = _made(replace(HOST, over_s=3_600.0), _asking(5_000.0, over_s=3_600.0))
    assert sum(_loads(vms)) < 20


def test_what_only_the_host_has_is_divided_by_vcpus() -> None:
    small = Vm("small", 2, 4 * GIB, "esx1")
    _, vms, told = _made(HOST, [*VMS[:2], small, replace(small, name="wide", vcpus=12)])
    rest = 20 / 1.01 - 4
    assert vms["small"]["load"] == pytest.approx(rest * 2 / 14, rel=0.001)
    assert vms["wide"]["load"] == pytest.approx(rest * 12 / 14, rel=0.001)
    assert (vms["small"]["workload"], vms["vm0"]["workload"]) == ("divided", "measured")
    assert "2 VMs: no measured demand: a share of its host's measured usage, by vCPUs" in told
    assert "measured" not in vms["small"]


def test_never_more_than_all_vcpus() -> None:
    _, vms, told = _made(HOST, [Vm("only", 2, GIB, "esx1")])
    assert (vms["only"]["workload"], vms["only"]["load"]) == ("busy-100", 2)
    assert "host esx1: its measured usage is more than its known VMs can cause: it stays below" in told
    _, _, told = _made(HOST, [])
    assert "host esx1: it has measured usage, but no VM: it stays idle" in told


def test_a_column_of_zeros_is_no_demand() -> None:
    _, vms, _ = _made(HOST, _asking(0.0))
    assert sum(_loads(vms)) == pytest.approx(20 / 1.01, rel=0.001)
    assert not any("cpu_mhz" in vm.get("measured", {}) for vm in vms.values()), "a measured 0 would hide the host's"
    _, vms, _ = _made(replace(HOST, cpu_usage_pct=0.4), _asking(0.0))
    assert sum(_loads(vms)) == 0
    assert all(vm["measured"]["cpu_mhz"] == 0 for vm in vms.values())


def test_on_an_unmeasured_host_a_vm_is_like_the_others() -> None:
    vms = [*VMS[:4], replace(VMS[4], vcpus=4, demand=None)]
    _, made, told = _made(replace(HOST, cpu_usage_pct=None), vms)
    assert _loads(made) == [2.0] * 4 + [1.0]
    said = "no measured demand, nor usage of its host: the mean of the other VMs of its cluster, by vCPUs"
    assert f"1 VM: {said}" in told
    assert "cluster's measured usage" not in told


def test_with_nothing_measured_machines_do_little() -> None:
    _, vms, told = _made(replace(HOST, cpu_usage_pct=None), [replace(vm, demand=None) for vm in VMS])
    assert _loads(vms) == [1.0] * 5
    assert "all 5 VMs: no measured demand: assumed 5% of its vCPUs" in told


def test_cpu_time_of_linux_threads_is_more_than_their_work() -> None:
    crowded = replace(HOST, threads_per_core=2, cpu_usage_pct=90.0, hypervisor="Linux 6.12.1")
    vms = [replace(vm, demand=None) for vm in VMS]
    _, linux, _ = _made(crowded, vms)
    _, esxi, _ = _made(replace(crowded, hypervisor=HOST.hypervisor), vms)
    assert sum(_loads(esxi)) == pytest.approx(45 / 1.01, rel=0.01)
    assert 0.8 < sum(_loads(linux)) / sum(_loads(esxi)) < 0.95


def test_memory_that_was_measured_is_what_is_touched() -> None:
    host = replace(HOST, memory_usage_pct=50.0)
    vms = [replace(VMS[0], memory_consumed_bytes=10 * GIB), VMS[1], replace(VMS[2], memory_bytes=8 * GIB)]
    made, found, told = _made(host, vms)
    assert found["vm0"]["memory_touched"] == "10 GiB"
    assert (found["vm1"].get("memory_touched"), found["vm2"].get("memory_touched")) == ("16 GiB", "8 GiB")
    assert made["hypervisor_memory"] == "30 GiB"
    assert "host esx1: its VMs consume much less memory than it used" in told
    made, _, told = _made(replace(host, memory_usage_pct=35.0), vms)
    assert (made["hypervisor_memory"], "occupy much less" in told) == ("11059 MiB", False)
    made, found, _ = _made(replace(host, memory_usage_pct=20.0), [*vms[:2], vms[2]])
    assert found["vm1"]["memory_touched"] == f"{round((25.6 - 10) * 1024 * 2 / 3)} MiB"
    made, found, told = _made(replace(host, memory_usage_pct=5.0), vms[:1])
    assert found["vm0"]["memory_touched"] == f"{round(6.4 * 1024)} MiB"
    assert "its VMs consume more memory than it used: reduced to its usage" in told
    _, found, told = _made(HOST, vms)
    assert "memory_touched" not in found["vm1"]
    assert "2 VMs: touched memory unknown: assumed all of it" in told


def test_contention_is_that_of_queues() -> None:
    one = contention.in_progress(0.5, 1, 1.0)
    assert one == pytest.approx(1.0)  # M/M/1 at 0.5
    assert contention.in_progress(1.0, 20, 1.25) == pytest.approx(1.0, rel=1e-6)
    busy = contention.in_progress(18.0, 20, 1.25)
    assert busy > 18
    assert contention.work_of(busy, 20, 1.25) == pytest.approx(18.0)
    assert contention.closed_stretch(1.0, 20, 1.0, 80, 1) == pytest.approx(1.0, abs=1e-3)
    assert contention.closed_stretch(19.0, 20, 1.0, 80, 1) > 1.2
    assert contention.closed_stretch(30.0, 20, 1.0, 80, 1) == 1.0
