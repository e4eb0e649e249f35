"""Capacity of clusters: figures computed by hand, and what must hold for any cluster."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.conftest import refused

import hypertwin
from hypertwin import scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity import packing
from hypertwin.show import capacity as report
from hypertwin.show import terminal, view

GIB = 2**30


def host(cluster: str = "a", *, cores: int = 16, memory: str = "256 GiB", **more: Any) -> dict[str, Any]:
    """A host of one socket at 2 GHz."""
    own = {"sockets": 1, "cores_per_socket": cores, "clock": "2 GHz", "memory_per_node": memory}
    return {"cluster": cluster, **own, "hypervisor": "esxi-8.0", **more}


def vm(vcpus: int = 4, memory: str = "16 GiB", **more: Any) -> dict[str, Any]:
    """A VM of which CPU demand does not follow from its workload."""
    return {"vcpus": vcpus, "memory": memory, "workload": "any", **more}


def made(hosts: dict[str, Any], vms: dict[str, Any], **more: Any) -> scenario.Scenario:
    """A scenario of these."""
    closed = {"arrivals": {"closed": {"population": 1, "think": {"mean": "1 s"}}}, "cpu": {"mean": "1 ms"}}
    text = {"name": "made", "hosts": hosts, "vms": vms, "workloads": {"any": closed}, **more}
    return scenario.loads(yaml.safe_dump(text))


def counted(hosts: dict[str, Any], vms: dict[str, Any], *, more: dict[str, Any] | None = None, **asked: Any) -> Any:
    """What is found for cluster `a`."""
    return hypertwin.capacity(made(hosts, vms, **(more or {})), **asked)["clusters"]["a"]


FOUR = {"esx": host(count=4)}


def test_a_cluster_by_hand():
    found = counted(FOUR, {"web": vm(count=24, cluster="a", measured={"cpu_mhz": 1000, "memory_consumed": "8 GiB"})})
    assert (found["hosts"], found["sockets"], found["cores"], found["vms"], found["vcpus"]) == (4, 4, 64, 24, 96)
    assert (found["vcpu_per_core"], found["vcpu_per_core_after_failure"]) == (96 / 64, 96 / 48)
    # 24 GHz of 4 x 32
    assert (found["cpu_usage_pct"], found["cpu_usage_after_failure_pct"]) == (18.75, 25.0)
    # 384 GiB of 1,024 and 768; 192 consumed
    assert (found["memory_configured_pct"], found["memory_configured_after_failure_pct"]) == (37.5, 50.0)
    assert (found["memory_consumed_pct"], found["memory_consumed_after_failure_pct"]) == (18.75, 25.0)
    assert found["licence_cores"] == 64
    left = found["vms_remaining"]
    # 3 hosts x 230.4 GiB hold 14 VMs each; 25.6 GHz each, 76.8 in all; 28.8 VMs of 8 GiB each
    assert (left["memory"], left["cpu"], left["memory_consumed"], left["vcpu_ratio"]) == (
        42 - 24,
        75 - 24,
        84 - 24,
        None,
    )
    assert (left["count"], left["limited_by"], left["average"]) == (18, "memory", True)
    assert left["vm"] == {"vcpus": 4, "memory_gib": 16, "cpu_mhz": 1000, "memory_consumed_gib": 8, "stored_gib": None}


TB = 1e12 / GIB
"""A terabyte in GiB."""


def pooled(vms: dict[str, Any], hosts: dict[str, Any] | None = None, **pool: Any) -> scenario.Scenario:
    """Hosts with four disks of 1 TB each in a pool of three copies, Ceph; disks of VMs with work are of 100 GB."""
    disks = {"kind": "ceph", "nodes": "esx", "devices": {"kind": "nvme", "per_node": 4, "capacity": "1 TB"}}
    work = {"arrivals": {"io": {"outstanding": 1}}, "cpu": {"mean": "5 us"}, "working_set": "100 GB"}
    any_ = {"arrivals": {"closed": {"population": 1}}, "cpu": {"mean": "1 ms"}}
    more = {"storage": {"pool": {**disks, **pool}}, "workloads": {"io": work, "any": any_}}
    return made(hosts or {"esx": host(count=4, memory="4 TiB")}, vms, **more)


def stored(count: int, **more: Any) -> dict[str, Any]:
    return vm(1, "1 GiB", count=count, cluster="a", workload="io", storage="pool", vdisks=2, **more)


def test_vms_left_stop_at_the_room_of_pools():
    # 0.85 of three hosts for three copies are 3.4 TB, of which 0.8 are stored
    found = hypertwin.capacity(pooled({"db": stored(4)}))["clusters"]["a"]
    left = found["vms_remaining"]
    assert (left["pool"], left["limited_by"], left["count"]) == (13, "pool", 13)
    assert left["vm"]["stored_gib"] == pytest.approx(0.2 * TB)
    assert (found["sources"]["vms_remaining.pool"], found["sources"]["vms_remaining.count"]) == (
        "configured",
        "configured",
    )
    # what the pool is said to hold is divided as working sets are: 0.6 TB each
    left = hypertwin.capacity(pooled({"db": stored(4)}, stored="2.4 TB"))["clusters"]["a"]["vms_remaining"]
    assert (left["pool"], left["vm"]["stored_gib"]) == (1, pytest.approx(0.6 * TB))
    full = hypertwin.capacity(pooled({"db": stored(4)}, stored="3.5 TB"))["clusters"]["a"]["vms_remaining"]
    assert (full["pool"], full["limited_by"], full["count"]) == (0, "pool", 0)
    # no spare hosts, and still room for the data of one
    assert hypertwin.capacity(pooled({"db": stored(4)}), failures=0)["clusters"]["a"]["vms_remaining"]["pool"] == 13


def test_a_vm_that_is_asked_for_stores_what_those_do_that_store_anything():
    vms = {"db": stored(4), "idle": vm(1, "1 GiB", count=12, cluster="a")}
    mean, asked = (hypertwin.capacity(pooled(vms), vm=size) for size in (None, "1x1GiB"))
    assert mean["clusters"]["a"]["vms_remaining"]["vm"]["stored_gib"] == pytest.approx(0.05 * TB)  # over all 16
    found = asked["clusters"]["a"]
    assert (found["vms_remaining"]["vm"]["stored_gib"], found["vms_remaining"]["pool"]) == (pytest.approx(0.2 * TB), 13)
    assert found["sources"]["vms_remaining.pool"] == "assumed"
    said = f"stores {0.2 * TB:.0f} GiB of pool, the mean of the 4 VMs on it."
    assert f"Assumed: a VM of --vm {said}" in found["notes"]
    text = plain(asked)
    assert (
        re.search(r"^ +a +pool .* 13 ", text, re.M) and "pool" in text.split("VMs remaining after")[1].split(" a ")[0]
    )
    line, _ = csv.DictReader(io.StringIO(report.csv(asked)))
    assert (line["vms_remaining.pool"], line["vms_remaining.limited_by"]) == ("13", "pool")
    none = hypertwin.capacity(pooled({"idle": vm(1, "1 GiB", count=2, cluster="a")}))["clusters"]["a"]["vms_remaining"]
    assert (none["pool"], none["vm"]["stored_gib"], none["limited_by"]) == (None, None, "memory")


def test_clusters_that_share_a_pool_share_its_room():
    hosts = {"esx": host(count=4, memory="4 TiB"), "other": host("b", count=2, memory="4 TiB")}
    vms = {"db": stored(4), "app": {**stored(2), "cluster": "b"}}
    found = hypertwin.capacity(pooled(vms, hosts, deployment="mixed"))
    alone = int((0.85 * 12 / 3 - 1.2) / 0.2)
    assert [each["vms_remaining"]["pool"] for each in found["clusters"].values()] == [alone, alone]
    assert (found["total"]["vms_remaining"]["pool"], found["total"]["vms_remaining"]["count"]) == (alone, alone)


def tables(found: Any) -> dict[str, Any]:
    return {each["id"]: each for each in view.tables_of(report.view(found))}


def plain(found: Any) -> str:
    console = Console(width=160, file=io.StringIO())
    console.print(terminal.rendered(report.view(found)))
    return str(console.file.getvalue())  # type: ignore[attr-defined]


@pytest.mark.parametrize(("deployment", "left"), [("hci", 3 * 2 - 4), ("two-layer", 2 * 7 - 4), ("mixed", 18)])
def test_vms_left_are_on_hosts_that_the_deployment_of_their_pool_allows(deployment: str, left: int):
    # beside the storage, a node holds two VMs of 16 GiB, another host seven; the largest of those that count fails
    hosts = {"esx": host(memory="64 GiB", count=4), "compute": host(memory="128 GiB", count=3)}
    vms = {"db": {**stored(4), "memory": "16 GiB", "vdisks": 1}}
    found = hypertwin.capacity(pooled(vms, hosts, deployment=deployment))["clusters"]["a"]["vms_remaining"]
    assert (found["memory"], found["count"]) == (left, left)


def test_what_a_published_workshop_asks_of_a_cluster():
    # 117 % of the memory of N-1, 6.1 vCPUs per core: found only in the cluster that it is about
    hosts = {"esx": host(count=4), "new": host("b", count=2, cores=32, memory="512 GiB")}
    vms = {
        "full": vm(8, "64 GiB", count=14, host="esx", measured={"cpu_mhz": 2000}),
        "free": vm(2, "8 GiB", count=10, host="new", measured={"cpu_mhz": 500}),
    }
    found = hypertwin.capacity(made(hosts, vms), vcpu_ratio=4)
    full, free = found["clusters"]["a"], found["clusters"]["b"]
    assert full["vcpu_per_core_after_failure"] == 112 / 48
    assert full["memory_configured_after_failure_pct"] == pytest.approx(100 * 896 / 768)
    assert (full["vms_remaining"]["count"], full["vms_remaining"]["limited_by"]) == (0, "memory")
    assert full["largest_restartable_vm"]["not_restarted"]
    # one host of 32 cores is left: 128 vCPUs, 54 more of 2; 57.6 VMs of 8 GiB; 51.2 GHz for 102 of 0.5
    assert free["vms_remaining"] == {
        **{
            "cpu": 92,
            "memory": 47,
            "memory_consumed": None,
            "vcpu_ratio": 54,
            "pool": None,
            "limited_by": "memory",
            "count": 47,
        },
        "vm": {"vcpus": 2, "memory_gib": 8, "cpu_mhz": 500, "memory_consumed_gib": None, "stored_gib": None},
        "average": True,
    }
    total = found["total"]
    assert (total["hosts"], total["cores"], total["vms"], total["licence_cores"]) == (6, 128, 24, 128)
    assert total["vcpu_per_core_after_failure"] == 132 / (48 + 32)
    assert (total["vms_remaining"]["count"], total["vms_remaining"]["memory_consumed"]) == (47, None)


def test_licences_cover_16_cores_of_a_processor_at_least():
    hosts = {"small": host(cores=8), "wide": host(cores=24), "two": {**host(cores=20), "sockets": 2, "processors": 4}}
    # 16, 24, and four processors of 10 cores
    assert counted(hosts, {})["licence_cores"] == 16 + 24 + 4 * 16
    assert counted(hosts, {}, license_min_cores=0)["licence_cores"] == 8 + 24 + 40


def test_a_faster_processor_corrects_what_is_about_cpu(tmp_path):
    limits = tmp_path / "limits.yaml"
    limits.write_text("clusters:\n  a: {speed: 1.25, vcpu_ratio: 4}\n")
    vms = {"web": vm(count=24, cluster="a", measured={"cpu_mhz": 1000})}
    found = counted(FOUR, vms, limits=limits)
    assert (found["vcpu_per_core"], found["vcpu_per_core_corrected"]) == (1.5, pytest.approx(1.2))
    assert found["vcpu_per_core_corrected_after_failure"] == pytest.approx(1.6)
    assert found["cpu_usage_after_failure_pct"] == pytest.approx(25 / 1.25)
    # 3 hosts of 80 slots for vCPUs: 20 VMs each; 32 GHz each
    assert (found["vms_remaining"]["vcpu_ratio"], found["vms_remaining"]["cpu"]) == (60 - 24, 96 - 24)
    assert found["sources"]["cpu_usage_pct"] == "assumed"
    assert any("1.25" in note for note in found["notes"])
    assert counted(FOUR, vms)["vcpu_per_core_corrected"] is None


def test_the_largest_hosts_go_first_by_what_a_figure_counts():
    hosts = {"cores": host(cores=32, memory="128 GiB"), "memory": host(cores=16, memory="512 GiB"), "plain": host()}
    found = counted(hosts, {"web": vm(count=8, cluster="a", measured={"cpu_mhz": 4000})})
    assert found["without"] == {"cpu": ["cores"], "memory": ["memory"], "cores": ["cores"]}
    assert found["vcpu_per_core_after_failure"] == 32 / 32
    assert found["cpu_usage_after_failure_pct"] == 100 * 32 / 64
    assert found["memory_configured_after_failure_pct"] == pytest.approx(100 * 128 / 384)
    assert any("hosts that fail differ" in note for note in found["notes"])


@pytest.mark.parametrize(("hosts", "failures"), [(1, 1), (3, 3), (2, 64)])
def test_no_host_left_is_said_and_no_figure_is_made_up(hosts, failures):
    vms = {"web": vm(count=4, cluster="a", measured={"cpu_mhz": 1000, "memory_consumed": "1 GiB"})}
    found = counted({"esx": host(count=hosts)}, vms, failures=failures)
    degraded = [key for key in found if "after_failure" in key]
    assert len(degraded) == 6
    assert all(found[key] is None for key in [*degraded, "vms_remaining", "without", "largest_restartable_vm"])
    assert not found["sources"].keys() & {*degraded, "largest_restartable_vm"}
    assert found["cpu_usage_pct"] is not None
    assert any("No host of" in each for each in found["notes"])
    several = f"a has {hosts} hosts: none remains after {failures} host failures."
    assert found["verdict"]["text"] == ("a has one host: no failover." if hosts == 1 else several)


def test_without_failures_degraded_is_now():
    found = counted({"esx": host()}, {"web": vm(count=4, cluster="a", measured={"cpu_mhz": 1000})}, failures=0)
    assert found["memory_configured_after_failure_pct"] == found["memory_configured_pct"] == 25
    # 230.4 GiB for 14
    assert found["vms_remaining"]["count"] == 10
    assert found["largest_restartable_vm"] is None


def test_a_cluster_without_vms_says_what_to_count():
    found = counted(FOUR, {})
    assert (found["vms"], found["vcpus"], found["cpu_usage_pct"], found["vms_remaining"]) == (0, 0, 0, None)
    assert any("--vm" in note for note in found["notes"])
    asked = counted(FOUR, {}, vm="4x16GiBx1GHz")
    assert (asked["vms_remaining"]["cpu"], asked["vms_remaining"]["memory"], asked["vms_remaining"]["count"]) == (
        75,
        42,
        42,
    )


def test_a_vm_of_nine_vcpus_does_not_straddle_hosts():
    # 2 of 3 hosts with room for 16 vCPUs: one of 9 on each, although 32 vCPUs are free in all
    found = counted({"esx": host(count=3)}, {}, vm="9x1GiB", vcpu_ratio=1)
    assert (found["vms_remaining"]["vcpu_ratio"], found["vms_remaining"]["count"]) == (2, 2)
    with_four = counted({"esx": host(count=3)}, {"web": vm(8, "1 GiB", count=2)}, vm="9x1GiB", vcpu_ratio=1)
    # the two of 8 vCPUs go onto one host
    assert with_four["vms_remaining"]["count"] == 1


def test_limits_hold_together_not_only_one_by_one():
    # 80 and 15 GiB, 4 and 14 vCPUs: memory alone has room for 1 + 4 of 20 GiB, vCPUs alone for 3 of 4
    hosts = {"esx": host(count=2, memory="100 GiB")}
    vms = {"memory": vm(4, "80 GiB"), "cpu": vm(14, "15 GiB")}
    found = counted(hosts, vms, vm="4x20GiB", vcpu_ratio=1, memory="100%", failures=0)
    assert (found["vms_remaining"]["memory"], found["vms_remaining"]["vcpu_ratio"]) == (5, 3)
    assert (found["vms_remaining"]["count"], found["vms_remaining"]["limited_by"]) == (1, "vcpu_ratio")
    assert any("3 VMs would fit by the tightest limit alone, but 1 by all limits" in note for note in found["notes"])


def test_the_largest_restart_counts_fragments():
    # any host fails: its 96 GiB go beside 96, and of one host 90 % of 256 are left, less 96
    found = counted(
        {"esx": host(count=3, memory="256 GiB")}, {f"db{n}": vm(4, "96 GiB", host=f"esx-{n}") for n in (1, 2, 3)}
    )
    assert found["largest_restartable_vm"] == {
        **{"vcpus": 32, "memory_gib": pytest.approx(134.4), "host": "esx-3", "failed": ["esx-1"], "not_restarted": []}
    }
    # 38.4 GiB are free on each of two others, 130.4 on the one of 100: a VM of 192 GiB restarts nowhere
    full = {f"db{n}": vm(4, "192 GiB", host=f"esx-{n}") for n in (1, 2, 3)} | {"big": vm(4, "100 GiB", host="esx-4")}
    found = counted(FOUR, full)
    assert found["largest_restartable_vm"]["not_restarted"] == ["db1"]
    # that failure leaves 130.4 GiB, and the failure of esx-4 leaves 38.4
    assert found["largest_restartable_vm"]["memory_gib"] == pytest.approx(38.4)
    alone = counted(FOUR, {**full, "big": vm(4, "100 GiB", host="esx-4"), "web": vm(4, "64 GiB", host="esx-4")})
    assert alone["largest_restartable_vm"]["failed"] == ["esx-1"]
    # vCPUs that the ratio leaves: 16 x 2 less 4 + 4
    asked = counted({"esx": host(count=2)}, {f"db{n}": vm(4, "96 GiB", host=f"esx-{n}") for n in (1, 2)}, vcpu_ratio=2)
    assert (asked["largest_restartable_vm"]["vcpus"], asked["largest_restartable_vm"]["memory_gib"]) == (
        24,
        pytest.approx(38.4),
    )


def test_a_vm_that_stays_down_by_design_is_not_lost():
    hosts = {"e": host(count=3, memory="40 GiB")}
    big = {"big": vm(1, "31 GiB", host="e-1", restart_priority="disabled")}
    found = counted(hosts, {**big, "a": vm(1, "13 GiB", host="e-2"), "b": vm(1, "7 GiB", host="e-3")})
    assert found["largest_restartable_vm"]["not_restarted"] == []
    # of 36 GiB within the limit: without e-2 or e-3, 20 are used on the other host; without e-1, 13 and 7
    assert found["largest_restartable_vm"]["memory_gib"] == pytest.approx(16)
    assert found["largest_restartable_vm"]["failed"] == ["e-2"]


def test_a_vm_wider_than_a_host_does_not_restart_on_it():
    hosts = {"wide": host(cores=32), "narrow": host(cores=4)}
    found = counted(hosts, {"db": vm(24, "16 GiB", host="wide")})
    assert found["largest_restartable_vm"]["not_restarted"] == ["db"]


def test_several_failures_take_the_largest_others():
    hosts = {"esx": host(count=4), "large": host(memory="512 GiB")}
    found = counted(hosts, {}, failures=2)
    assert found["without"]["memory"] == ["large", "esx-1"]
    assert found["largest_restartable_vm"]["failed"] == ["esx-1", "large"]
    assert found["largest_restartable_vm"]["memory_gib"] == pytest.approx(230.4)


def test_an_appliance_is_in_use_but_falls_away_with_its_host():
    cvm = {
        f"cvm{n}": vm(8, "32 GiB", host=f"esx-{n}", storage_appliance=True, measured={"cpu_mhz": 4000})
        for n in (1, 2, 3)
    }
    hosts = {"esx": host(count=3)}
    found = counted(hosts, {**cvm, "web": vm(count=6, cluster="a", measured={"cpu_mhz": 1000})})
    assert (found["vms"], found["appliances"], found["vcpus"]) == (9, 3, 48)
    assert found["cpu_usage_pct"] == pytest.approx(100 * 18 / 96)
    assert found["cpu_usage_after_failure_pct"] == pytest.approx(100 * 14 / 64)
    assert found["memory_configured_after_failure_pct"] == pytest.approx(100 * (2 * 32 + 6 * 16) / 512)
    # the mean VM is none of them: 16 GiB; 2 x 198.4 GiB hold 24
    assert found["vms_remaining"]["vm"]["memory_gib"] == 16
    assert found["vms_remaining"]["memory"] == 24 - 6
    assert not found["largest_restartable_vm"]["not_restarted"]


def test_of_equal_hosts_those_go_with_which_the_least_falls_away():
    cvm = {"cvm": vm(8, "200 GiB", host="esx-1", storage_appliance=True, measured={"cpu_mhz": 16000})}
    found = counted({"esx": host(count=2)}, {**cvm, "web": vm(count=4, host="esx", measured={"cpu_mhz": 1000})})
    assert found["without"] == {"cpu": ["esx-2"], "memory": ["esx-2"], "cores": ["esx-2"]}
    assert found["cpu_usage_after_failure_pct"] == pytest.approx(100 * 20 / 32)
    # beside it 14.4 GiB are left for the three VMs of the other host; it does not restart itself
    assert found["largest_restartable_vm"]["not_restarted"] == ["web-1", "web-2", "web-4"]


def test_of_limits_that_leave_nothing_the_one_that_is_exceeded_most_binds():
    # 150 % of the memory, 200 % of the CPU of the host that is left; then the other way round
    memory = {"web": vm(2, "96 GiB", count=4, host="esx", measured={"cpu_mhz": 16000})}
    assert counted({"esx": host(count=2)}, memory)["vms_remaining"]["limited_by"] == "cpu"
    cpu = {"web": vm(2, "128 GiB", count=4, host="esx", measured={"cpu_mhz": 12000})}
    assert counted({"esx": host(count=2)}, cpu)["vms_remaining"]["limited_by"] == "memory"


def test_the_answer_says_of_which_size_the_vms_are_that_can_be_added():
    def said(**asked: Any) -> str:
        found = hypertwin.capacity(made(FOUR, {"web": vm(count=24, cluster="a")}), **asked)
        return report.view(found)["answer"]["text"]

    assert said().endswith("18 VMs of average size can be added.")
    assert said(vm="2x32GiBx900MHz").endswith(" VMs of 2 x 32 GiB can be added.")


def test_a_vm_larger_than_the_limit_of_any_host_has_one_to_itself():
    found = counted({"esx": host(count=3)}, {"big": vm(4, "240 GiB", host="esx-1")}, vm="4x16GiB")
    # 240 of 256 GiB are more than 90 %: of the two hosts that are left one is full, the other holds 14
    assert found["vms_remaining"]["memory"] == 14


def test_what_hypervisors_occupy_vms_cannot_have():
    found = counted({"esx": host(count=2, hypervisor_memory="16 GiB")}, {"web": vm(count=4, cluster="a")})
    assert (found["hypervisor_memory_gib"], found["memory_configured_pct"]) == (32, 100 * 64 / 512)
    assert found["memory_configured_after_failure_pct"] == 100 * 64 / 256
    assert any("32 GiB of memory" in note and "26.7% of the memory left for VMs" in note for note in found["notes"])
    # 230.4 GiB less 16 for 13 VMs
    assert found["vms_remaining"]["memory"] == 13 - 4
    measured = {"web": vm(count=4, cluster="a", measured={"memory_consumed": "8 GiB"})}
    consumed = counted({"esx": host(count=2, hypervisor_memory="16 GiB")}, measured)
    assert (consumed["memory_consumed_gib"], consumed["memory_consumed_after_failure_pct"]) == (
        32,
        100 * (32 + 16) / 256,
    )
    assert found["largest_restartable_vm"]["memory_gib"] == pytest.approx(0.9 * 256 - 16 - 64)


def test_what_hypervisors_compute_for_vms_fails_over_with_them():
    # three hosts of 32 GHz, whose hypervisors use 76 % of the CPU of 16 GHz of VMs each
    vms = {f"{name}": vm(count=4, host=f"esx-{name}", measured={"cpu_mhz": 4000}) for name in "123"}
    hosts = {"esx": host(count=3, overhead={"activity_pct": 76}, measured={"cpu_usage_pct": 88})}
    found = counted(hosts, vms)
    assert (found["cpu_usage_pct"], found["cpu_usage_after_failure_pct"]) == pytest.approx((88, 132))
    assert (found["cpu_demand_ghz"], found["ha"]["short_of"], found["vms_remaining"]["cpu"]) == (48, ["cpu"], 0)
    said = "Hypervisors take 36.5 GHz of CPU beside their VMs (hosts.NAME.overhead.activity_pct)"
    assert any(note.startswith(said) for note in found["notes"])
    assert not any("but their VMs" in note for note in found["notes"])
    # VMs that were not measured share the use of their host, which includes the hypervisor's
    of_hosts = counted(hosts, {name: {**each, "measured": {}} for name, each in vms.items()})
    assert of_hosts["cpu_usage_pct"] == pytest.approx(88)
    # a hypervisor of the default is within the measured demand of its VMs
    assert counted({"esx": host(count=3)}, vms)["cpu_usage_pct"] == 50


def test_hosts_and_their_vms_are_compared_by_means_whatever_the_asked_statistic():
    # two hosts of 32 GHz at 40 % on average, whose VM uses as much
    def said(cpu: float, memory: str, **asked: Any) -> list[str]:
        figures = {"cpu_mhz": cpu, "cpu_p95_mhz": 2 * cpu, "memory_consumed": memory}
        vms = {name: vm(16, "200 GiB", host=f"esx-{name}", measured={**figures, "over": "30 d"}) for name in "12"}
        usage = {"cpu_usage_pct": 40, "cpu_p95_pct": 80, "memory_usage_pct": 50, "over": "30 d"}
        of_cluster = {"memory_consumed": "256 GiB", "memory_consumed_peak": "400 GiB", "over": "30 d"}
        hosts = {"esx": host(count=2, hypervisor_memory="0 GiB", measured=usage)}
        more = {"clusters": {"a": {"measured": of_cluster}}}
        return [note for note in counted(hosts, vms, more=more, **asked)["notes"] if "but their VMs" in note]

    for kind in ("mean", "p95", "peak"):
        assert said(12_800, "128 GiB", demand=kind) == []
    more = "Hosts use 40% of CPU on average, but their VMs and hypervisors add up to 50%. Times or counters differ."
    assert said(16_000, "128 GiB") == [more]
    (less,) = said(8_000, "128 GiB")
    assert less.endswith("add up to 25%. Times or counters differ, or hypervisors use more than is counted.")


def test_hypervisors_that_take_different_shares_count_where_their_vms_run():
    """Of two hosts of 32 GHz, one runs 12.8 GHz of VMs with as much of its hypervisor, the other 6.4 GHz of VMs."""
    hosts = {
        "one": host(overhead={"activity_pct": 100}, measured={"cpu_usage_pct": 80}),
        "two": host(measured={"cpu_usage_pct": 20}),
    }
    vms = {
        "busy": vm(count=4, memory="1 GiB", host="one", measured={"cpu_mhz": 3200}),
        "calm": vm(count=4, memory="1 GiB", host="two", measured={"cpu_mhz": 1600}),
    }
    found = counted(hosts, vms)
    assert (found["cpu_usage_pct"], found["host_cpu_usage_pct"]) == pytest.approx((50, 50))
    # the share moves with the VMs: 25.6 and 6.4 GHz on one host of 32
    assert found["cpu_usage_after_failure_pct"] == pytest.approx(100)
    assert (found["cpu_demand_ghz"], found["ha"]["short_of"]) == (pytest.approx(19.2), ["cpu"])
    said = "Hypervisors take 12.8 GHz of CPU beside their VMs (hosts.NAME.overhead.activity_pct)"
    assert any(note.startswith(said) for note in found["notes"])
    assert not any("but their VMs" in note for note in found["notes"])
    # the busy VMs fill the limit of a host, and the other has 19.2 GHz left: a mean VM takes 2.4 + 1.6 GHz
    for asked in (None, "4x1GiBx2400MHz"):
        left = counted(hosts, vms, failures=0, vm=asked)["vms_remaining"]
        assert (left["cpu"], left["vm"]["cpu_mhz"]) == (4, pytest.approx(2400))


def test_what_hosts_consume_beyond_their_vms_at_that_moment_is_of_hypervisors():
    hosts = {"esx": host(count=2, hypervisor_memory="64 GiB", measured={"memory_usage_pct": 12.5})}
    found = counted(hosts, {"web": vm(count=4, cluster="a", measured={"memory_consumed": "8 GiB"})})
    # 64 GiB of 512 are used, 32 of them by VMs; one host's 16 go with it
    assert (found["memory_consumed_gib"], found["memory_consumed_pct"]) == (32, 12.5)
    assert found["memory_consumed_after_failure_pct"] == 100 * (32 + 16) / 256
    # of another time it says nothing
    found = counted(hosts, {"web": vm(count=4, cluster="a", measured={**SERIES, "memory_consumed": "8 GiB"})})
    assert found["memory_consumed_pct"] == 100 * (32 + 128) / 512
    # and an import, which derives `hypervisor_memory` from both, is no other case: capacity counts what the twin has
    more = {"description": "Imported from estate.xlsx (rvtools): 2 hosts, 4 machines."}
    found = counted(
        hosts, {"web": vm(count=4, cluster="a", measured={**SERIES, "memory_consumed": "8 GiB"})}, more=more
    )
    assert (found["memory_consumed_pct"], found["hypervisor_memory_gib"]) == (100 * (32 + 128) / 512, 128)


SERIES = {"at": "2026-05-01T00:00:00Z", "over": "7 d"}


@pytest.mark.parametrize(
    ("asked", "pct", "kind", "aligned"),
    [("mean", 25, "mean", True), ("p95", 50, "p95", False), ("peak", 75, "peak", False)],
)
def test_the_demand_that_was_asked_for_counts(asked, pct, kind, aligned):
    measured = {**SERIES, "cpu_mhz": 1000, "cpu_p95_mhz": 2000, "cpu_peak_mhz": 3000}
    found = counted({"esx": host(count=2)}, {"web": vm(count=16, cluster="a", measured=measured)}, demand=asked)
    basis = found["demand"]["cpu"]
    assert found["cpu_usage_pct"] == pct
    assert (basis["kind"], basis["of"], basis["aligned"], basis["over_s"]) == (kind, "vms", aligned, 7 * 86_400)
    assert ("upper bound" in basis["text"]) is not aligned
    assert found["sources"]["cpu_usage_pct"] == "measured"


def test_sums_of_the_same_moments_come_before_sums_over_vms():
    measured = {**SERIES, "cpu_mhz": 1000, "cpu_p95_mhz": 2000}
    clusters = {
        "a": {
            "measured": {**SERIES, "cpu_p95_mhz": 16000, "memory_consumed": "64 GiB", "memory_consumed_peak": "96 GiB"}
        }
    }
    vms = {"web": vm(count=16, cluster="a", measured=measured)}
    found = counted({"esx": host(count=2)}, vms, more={"clusters": clusters})
    assert found["cpu_usage_pct"] == 25
    assert (found["demand"]["cpu"]["of"], found["demand"]["cpu"]["aligned"]) == ("cluster", True)
    assert found["vms_remaining"]["vm"]["cpu_mhz"] == 1000
    assert found["memory_consumed_gib"] == 96
    mean = counted({"esx": host(count=2)}, vms, more={"clusters": clusters}, demand="mean")
    assert (mean["memory_consumed_gib"], mean["demand"]["cpu"]["of"]) == (64, "vms")


def test_a_sum_over_most_vms_is_not_taken_for_one_over_all():
    clusters = {"a": {"measured": {**SERIES, "cpu_p95_mhz": 15000, "memory_consumed_peak": "90 GiB"}}}
    measured = {**SERIES, "cpu_mhz": 1000, "memory_consumed": "5 GiB"}
    vms = {"web": vm(count=15, cluster="a", measured=measured), "new": vm(cluster="a", measured={"cpu_mhz": 9})}
    found = counted({"esx": host(count=2)}, vms, more={"clusters": clusters})
    assert (found["cpu_usage_pct"], found["memory_consumed_gib"]) == (pytest.approx(25), pytest.approx(96))
    assert found["sources"]["cpu_usage_pct"] == found["sources"]["memory_consumed_pct"] == "assumed"
    assert found["demand"]["cpu"]["known_pct"] == 93.75
    # over few of them it says nothing of the others
    few = {"web": vm(count=6, cluster="a", measured=measured), "new": vm(count=10, cluster="a")}
    assert counted({"esx": host(count=2)}, few, more={"clusters": clusters})["cpu_usage_pct"] is None


def test_one_moment_stands_for_what_was_not_measured_and_is_called_so():
    measured = {"at": "2026-05-01T12:00:00Z", "cpu_mhz": 1000, "memory_active": "2 GiB"}
    found = counted({"esx": host(count=2)}, {"web": vm(count=16, cluster="a", measured=measured)}, demand="peak")
    assert found["cpu_usage_pct"] == 25
    assert found["demand"]["asked"] == "peak"
    assert found["demand"]["cpu"]["kind"] == found["demand"]["memory_active"]["kind"] == "sample"
    assert "single sample of each VM at 2026-05-01T12:00:00Z, added up" in found["demand"]["cpu"]["text"]
    assert "No peak of CPU demand: used a single sample." in found["notes"]
    assert found["memory_active_pct"] == 100 * 32 / 512


@pytest.mark.parametrize("new", [1, 3, 40])
def test_each_vm_has_its_best_statistic_and_the_others_are_named(new):
    """VMs of a p95 keep it, however many new ones have only a sample."""
    old = vm(1, "1 GiB", count=16, cluster="a", measured={**SERIES, "cpu_mhz": 500, "cpu_p95_mhz": 1500})
    vms = {"old": old, "new": vm(1, "1 GiB", count=new, cluster="a", measured={"cpu_mhz": 400})}
    found = counted({"esx": host(count=2)}, vms)
    assert found["cpu_demand_ghz"] == pytest.approx(16 * 1.5 + new * 0.4)
    part, basis = 100 * new * 0.4 / found["cpu_demand_ghz"], found["demand"]["cpu"]
    said = "p95 of each VM over 7 d to 2026-05-01, added up (upper bound)"
    assert basis["text"] == f"{said}; single sample for {part:.0f}% of it"
    assert (basis["kind"], basis["known_pct"], found["sources"]["cpu_usage_pct"]) == ("p95", 100, "measured")
    assert f"No p95 for {part:.0f}% of CPU demand: used a single sample." in found["notes"]
    # a peak that nobody measured is named as before
    peak = counted({"esx": host(count=2)}, vms, demand="peak")
    assert (peak["cpu_demand_ghz"], peak["notes"][0]) == (found["cpu_demand_ghz"], "No peak of CPU demand: used a p95.")


def test_a_vm_without_a_figure_has_its_share_of_what_its_host_used_on_average():
    hosts = {"esx": host(count=2, measured={**SERIES, "cpu_usage_pct": 25})}
    web = vm(count=2, host="esx-1", measured={**SERIES, "cpu_mhz": 1000, "cpu_p95_mhz": 5000})
    found = counted(hosts, {"web": web, "new": vm(count=2, host="esx-2")})
    assert found["cpu_demand_ghz"] == pytest.approx(2 * 5 + 8)
    assert (
        "p95 of each VM over 7 d to 2026-05-01, added up (upper bound); mean for 44% of it"
        in found["demand"]["cpu"]["text"]
    )


@pytest.mark.parametrize(("key", "asked", "called"), [("cpu_p95_mhz", "p95", "p95"), ("cpu_peak_mhz", "peak", "peak")])
def test_a_percentile_or_peak_without_a_period_is_no_single_sample(key, asked, called):
    vms = {"web": vm(count=16, cluster="a", measured={"cpu_mhz": 500, key: 1000})}
    found = counted({"esx": host(count=2)}, vms, demand=asked)
    assert found["cpu_usage_pct"] == 25
    basis = found["demand"]["cpu"]
    assert (basis["kind"], basis["over_s"], basis["aligned"]) == (asked, None, False)
    assert basis["text"] == f"{called} of each VM over an unknown time, added up (upper bound)"
    assert not any(note.startswith("No ") and "of CPU demand" in note for note in found["notes"])


def test_hosts_stand_for_vms_that_were_not_measured():
    hosts = {"esx": host(count=2, measured={"cpu_usage_pct": 40, "memory_usage_pct": 60})}
    found = counted(hosts, {"web": vm(count=8, cluster="a")})
    assert (found["cpu_usage_pct"], found["cpu_usage_after_failure_pct"]) == (pytest.approx(40), pytest.approx(80))
    assert found["memory_consumed_pct"] == pytest.approx(60)
    assert found["demand"]["cpu"]["of"] == found["demand"]["memory_consumed"]["of"] == "hosts"
    # 25.6 of 32 GHz are used by 8 VMs on the one host that is left
    assert found["vms_remaining"]["cpu"] == 0
    assert any("divided by vCPUs" in note for note in found["notes"])


def test_the_share_of_vms_without_a_figure_is_of_demand():
    # of 20 GHz that the host used, 5 remain for the VM without a figure, which has an eleventh of the vCPUs
    vms = {"web": vm(count=10, host="esx", measured={"cpu_mhz": 1500}), "new": vm(host="esx")}
    found = counted({"esx": host(measured={"cpu_usage_pct": 100 * 20.15 / 32})}, vms)
    assert found["cpu_demand_ghz"] == pytest.approx(20)
    assert found["demand"]["cpu"]["text"].endswith("; 25% of it is what hosts used beside measured VMs")


def test_a_few_vms_without_a_figure_are_taken_to_be_like_the_others_and_it_is_said():
    vms = {"web": vm(count=15, cluster="a", measured={"cpu_mhz": 1000}), "new": vm(cluster="a")}
    found = counted({"esx": host(count=2)}, vms)
    assert found["cpu_usage_pct"] == 25
    assert found["sources"]["cpu_usage_pct"] == "assumed"
    assert any("CPU was measured for 94%" in note for note in found["notes"])
    # of most VMs nothing is known: then nothing is
    vms = {"web": vm(count=2, cluster="a", measured={"cpu_mhz": 1000}), "new": vm(count=14, cluster="a")}
    found = counted({"esx": host(count=2)}, vms)
    assert found["cpu_usage_pct"] is None
    assert "cpu_usage_pct" not in found["sources"]
    assert any("unknown: it was measured for less than half of the vCPUs" in note for note in found["notes"])
    assert found["vms_remaining"]["cpu"] is None
    assert found["vms_remaining"]["limited_by"] == "memory"


def test_open_workloads_ask_for_cpu_that_nobody_measured():
    workloads = {"any": {"arrivals": {"open": {"rate": "100 /s"}}, "cpu": {"mean": "5 ms"}, "reference_clock": "1 GHz"}}
    vms = {"web": vm(count=8, cluster="a", load=2)}
    found = counted({"esx": host(count=2)}, vms, more={"workloads": workloads})
    # 100 /s x 2 x 5 ms at 1 GHz = 1 GHz
    assert found["cpu_demand_ghz"] == pytest.approx(8)
    assert found["sources"]["cpu_usage_pct"] == found["demand"]["cpu"]["kind"] == "configured"
    # what an import made up is no demand
    imported = {"workloads": workloads, "description": "Imported from estate.xlsx (rvtools): 2 hosts, 8 machines."}
    assert counted({"esx": host(count=2)}, vms, more=imported)["cpu_usage_pct"] is None
    # closed loops ask for what they get
    closed = counted({"esx": host(count=2)}, {"web": vm(count=8, cluster="a")})
    assert closed["cpu_usage_pct"] is None
    assert any("no CPU was measured, and workloads have no constant rate" in note for note in closed["notes"])


@pytest.mark.parametrize(
    ("of_vm", "of_host", "known"),
    [
        ({"storage_used": "10 GiB", "storage_provisioned": "20 GiB"}, {}, True),
        ({"memory_active": "2 GiB", "ready_pct": 1, "at": "2026-05-01"}, {"memory_usage_pct": 60}, True),
        ({}, {"cpu_usage_pct": 40}, False),
        ({"cpu_mhz": 1000}, {}, False),
    ],
    ids=["storage", "memory and ready", "CPU of the host", "CPU of the VM"],
)
def test_only_measured_cpu_replaces_the_configured_one(of_vm, of_host, known):
    workloads = {"any": {"arrivals": {"open": {"rate": "100 /s"}}, "cpu": {"mean": "5 ms"}, "reference_clock": "1 GHz"}}
    hosts = {"esx": host(count=2, measured=of_host)}
    found = counted(hosts, {"web": vm(count=8, cluster="a", measured=of_vm)}, more={"workloads": workloads})
    assert (found["sources"]["cpu_usage_pct"] == "configured") is known
    assert found["cpu_demand_ghz"] == pytest.approx(4) if known else found["cpu_demand_ghz"] > 4


def test_limits_cap_what_open_workloads_ask_for():
    # of 7.5 GHz asked for, two VMs get a limit of 2 GHz, and two get their 2 vCPUs at 2 GHz
    workloads = {"open": {"arrivals": {"open": {"rate": "75 /s"}}, "cpu": {"mean": "50 ms"}}}
    vms = {"capped": vm(count=2, workload="open", limit="2 GHz"), "narrow": vm(2, count=2, workload="open")}
    found = counted({"esx": host(count=2, cores=10)}, vms, more={"workloads": workloads})
    assert (found["cpu_usage_pct"], found["cpu_usage_after_failure_pct"]) == pytest.approx((30, 60))


def test_shared_datastores_count_once_in_all():
    stores = {
        "own": {"clusters": ["a"], "capacity": "1 TiB", "free": "256 GiB", "provisioned": "2 TiB"},
        "shared": {"clusters": ["a", "b"], "capacity": "1 TiB", "free": "768 GiB"},
        "lost": {"clusters": ["b"], "capacity": "1 TiB"},
    }
    found = hypertwin.capacity(made({"esx": host(), "new": host("b")}, {}, datastores=stores))
    a, b, total = (each["storage"] for each in (found["clusters"]["a"], found["clusters"]["b"], found["total"]))
    assert (a["datastores"], a["shared"], a["capacity_gib"], a["used_gib"], a["used_pct"]) == (2, 1, 2048, 1024, 50)
    assert (a["provisioned_gib"], a["provisioned_pct"]) == (2048, 200)
    assert (b["unknown"], b["capacity_gib"], b["used_gib"], b["used_pct"]) == (1, 2048, 256, 25)
    assert (total["datastores"], total["capacity_gib"], total["used_gib"]) == (3, 3072, 1024)
    assert {each["name"]: each["used_pct"] for each in found["datastores"]} == {"own": 75, "shared": 25, "lost": None}
    notes = found["clusters"]["a"]["notes"]
    assert any("1 of 2 datastores shared with other clusters" in note for note in notes)


SAYS = {"storage_provisioned": "100 GiB", "storage_used": "40 GiB", "storage_in_guest": "30 GiB"}


def test_reserved_memory_has_no_swap_file():
    vms = {
        "part": vm(2, "16 GiB", host="esx", memory_reservation="6 GiB"),
        "full": vm(2, "8 GiB", host="esx", huge_pages=True),
        "none": vm(2, "4 GiB", host="esx"),
    }
    stores = {"own": {"clusters": ["a"], "capacity": "1 TiB"}}
    assert counted({"esx": host()}, vms, more={"datastores": stores})["storage"]["swap_gib"] == 10 + 0 + 4


def test_what_vms_take_of_storage_adds_up():
    hosts = {"esx": host(), "kvm": host("b", hypervisor="linux-6.12")}
    vms = {
        "web": vm(2, "8 GiB", count=3, host="esx", measured=SAYS),
        "mute": vm(2, "4 GiB", host="esx"),
        "old": vm(2, "8 GiB", host="kvm", measured={"storage_used": "7 GiB"}),
    }
    off = {
        "off": {
            "vcpus": 2,
            "memory": "64 GiB",
            "cluster": "a",
            "storage_provisioned": "10 GiB",
            "storage_used": "5 GiB",
        },
        "image": {"vcpus": 2, "memory": "64 GiB", "cluster": "a", "template": True, "storage_used": "1 GiB"},
        "lost": {"vcpus": 2, "memory": "64 GiB", "storage_used": "500 GiB"},
    }
    found = hypertwin.capacity(made(hosts, vms, powered_off=off))
    a, b, total = (each["storage"] for each in (found["clusters"]["a"], found["clusters"]["b"], found["total"]))
    # no datastore: only what VMs say. 3 x 8 + 4 GiB of memory are on ESXi
    assert (a["datastores"], a["capacity_gib"], a["used_gib"], a["provisioned_pct"]) == (0, None, None, None)
    assert (a["vms_provisioned_gib"], a["vms_used_gib"], a["vms_in_guest_gib"]) == (310, 126, 90)
    assert a["vms_unknown"] == {"provisioned": 2, "used": 1, "in_guest": 1}
    assert a["swap_gib"] == 28
    assert (b["vms_provisioned_gib"], b["vms_used_gib"], b["vms_in_guest_gib"], b["swap_gib"]) == (None, 7, None, None)
    assert (total["vms_used_gib"], total["vms_in_guest_gib"], total["swap_gib"]) == (633, 90, 28)
    assert total["vms_unknown"] == {"provisioned": 4, "used": 1, "in_guest": 2}
    picked = hypertwin.capacity(made(hosts, vms, powered_off=off), cluster="a")
    assert picked["total"]["storage"] == a
    told = found["clusters"]["a"]["sources"]
    assert [told[f"storage.{key}"] for key in ("vms_provisioned_gib", "vms_in_guest_gib", "swap_gib")] == [
        *("measured", "measured", "configured")
    ]
    assert "Used storage is unknown for 1 of 6 VMs: the sum covers the others." in found["clusters"]["a"]["notes"]
    assert (
        "Guest used storage is unknown for 1 of 4 VMs: the sum covers the others." in (found["clusters"]["a"]["notes"])
    )


def test_storage_that_nobody_says_is_not_there():
    found = hypertwin.capacity(made({"esx": host()}, {"web": vm(host="esx")}))
    assert found["clusters"]["a"]["storage"] is found["total"]["storage"] is None
    assert "stored" not in tables(found)
    # datastores alone: VMs are not known, and no note blames each of them
    stores = {"san": {"clusters": ["a"], "capacity": "1 TiB", "free": "256 GiB"}}
    found = hypertwin.capacity(made({"esx": host()}, {"web": vm(host="esx")}, datastores=stores))
    stored = found["total"]["storage"]
    assert (stored["used_gib"], stored["vms_used_gib"], stored["vms_unknown"]["used"]) == (768, None, 1)
    assert not any("is unknown for" in note for note in found["clusters"]["a"]["notes"] + found["total"]["notes"])


def test_what_vms_take_of_storage_is_shown():
    hosts = {"esx": host(), "new": host("b")}
    vms = {"web": vm(2, "8 GiB", count=3, host="esx", measured=SAYS), "mute": vm(2, "4 GiB", host="new")}
    found = hypertwin.capacity(made(hosts, vms))
    sizes = ("cluster", "vms_provisioned_gib", "vms_used_gib", "vms_in_guest_gib", "swap_gib")
    assert [[row[key] for key in sizes] for row in tables(found)["stored"]["rows"] if row["cluster"] != "b"] == [
        ["a", 300, 120, 90, 24],
        ["total", 300, 120, 90, 28],
    ]
    assert "Storage used by the VMs of b is unknown: the total has only their swap files." in found["total"]["notes"]
    lines = list(csv.DictReader(io.StringIO(report.csv(found))))
    assert [line["storage.vms_in_guest_gib"] for line in lines] == ["90.0", "", "90.0"]
    assert [line["storage.vms_unknown.in_guest"] for line in lines] == ["0", "", "1"]
    assert "storage.vms_used_gib" in lines[0]["measured"].split()


def test_a_guessed_host_is_said_where_it_matters():
    scenario_ = made({"esx": host(count=2)}, {"web": vm(count=3, host="esx-1", host_is_guess=True)})
    found = hypertwin.capacity(scenario_)
    assert found["clusters"]["a"]["guessed"] == 3
    answer = report.view(found)["answer"]
    assert answer["text"].startswith("The host of 3 of 3 VMs is a guess.")
    assert answer["tone"] != "good"


def test_one_cluster_can_be_picked():
    scenario_ = made({"esx": host(), "new": host("b")}, {})
    assert list(hypertwin.capacity(scenario_, cluster="b")["clusters"]) == ["b"]
    with refused("unknown-reference") as error:
        hypertwin.capacity(scenario_, cluster="c")
    assert error


TITLED = {"clusters": {"a": {"label": "Production Cluster"}, "b": {"label": "Edge"}, "c": {"label": "EDGE"}}}


@pytest.mark.parametrize("name", ["a", "A", "Production Cluster", "production cluster"])
def test_a_cluster_is_named_by_key_or_label_in_any_case(name, tmp_path):
    scenario_ = made({"x": host(), "y": host("b"), "z": host("c")}, {}, **TITLED)
    assert list(hypertwin.capacity(scenario_, cluster=name)["clusters"]) == ["a"]
    (tmp_path / "limits.yaml").write_text(f"clusters: {{{name}: {{cpu: 50%}}}}")
    found = hypertwin.capacity(scenario_, limits=tmp_path / "limits.yaml")["clusters"]
    assert {key: each["limits"]["cpu_pct"] for key, each in found.items()} == {"a": 50, "b": 80, "c": 80}
    assert hypertwin.plan_survive(scenario_, cluster=name).to_dict()["cluster"] == "a"


def test_a_name_of_several_clusters_names_their_keys(tmp_path):
    scenario_ = made({"x": host(), "y": host("b"), "z": host("c")}, {}, **TITLED)
    for ask in (hypertwin.capacity, hypertwin.plan_survive):
        with refused("unknown-reference") as error:
            ask(scenario_, cluster="edge")
        assert error.value.mistakes[0].allowed == "one of the keys b, c"
    (tmp_path / "limits.yaml").write_text("clusters: {edge: {cpu: 55%}, a: {cpu: 1%}, production cluster: {cpu: 2%}}")
    with refused("scenario") as error:
        hypertwin.capacity(scenario_, limits=tmp_path / "limits.yaml")
    assert [each.code for each in error.value.mistakes] == ["unknown-reference", "duplicate-name"]
    assert "use one of b, c" in error.value.mistakes[0].hint


LIMITS = {
    "clusters: {a: {cpu: 80}}": ("clusters.a.cpu", "bad-quantity"),
    "clusters: {a: {memory: 0%}}": ("clusters.a.memory", "bad-quantity"),
    "clusters: {a: {failures: -1}}": ("clusters.a.failures", "out-of-range"),
    "clusters: {a: {failures: true}}": ("clusters.a.failures", "bad-quantity"),
    "clusters: {a: {vcpu_ratio: .inf}}": ("clusters.a.vcpu_ratio", "out-of-range"),
    "clusters: {a: {vcpu_ratio: null}}": ("clusters.a.vcpu_ratio", "bad-quantity"),
    "clusters: {a: {speed: 0}}": ("clusters.a.speed", "out-of-range"),
    "clusters: {a: {demand: p99}}": ("clusters.a.demand", "bad-quantity"),
    "clusters: {a: {vm: 0x16GiB}}": ("clusters.a.vm", "bad-quantity"),
    "clusters: {a: {vm: 4x16}}": ("clusters.a.vm", "bad-quantity"),
    "clusters: {a: {vm: 4x1e9 PiB}}": ("clusters.a.vm", "bad-quantity"),
    "clusters: {a: {license_min_cores: 2000}}": ("clusters.a.license_min_cores", "out-of-range"),
    "clusters: {a: {failure: 1}}": ("clusters.a.failure", "unknown-key"),
    "clusters: {a: 3}": ("clusters.a", "wrong-type"),
    "clusters: {b: {}}": ("clusters.b", "unknown-reference"),
    "clusters: 3": ("clusters", "wrong-type"),
    "failures: 2": ("clusters", "missing-key"),
    "[1]": ("clusters", "missing-key"),
    "clusters: {}\nfailures: 1": ("failures", "unknown-key"),
}


@pytest.mark.parametrize("text", LIMITS)
def test_a_bad_file_of_limits_is_refused_by_place(tmp_path, text):
    path = tmp_path / "limits.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as error:
        hypertwin.capacity(made(FOUR, {}), limits=path)
    (mistake,) = error.value.mistakes
    assert (mistake.path, mistake.code, mistake.file) == (*LIMITS[text], str(path))
    assert mistake.line


def test_limits_of_one_cluster_leave_the_others_alone(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("clusters:\n  b: {failures: 0, memory: 100%, vm: 1x32GiB}\n")
    found = hypertwin.capacity(made({"esx": host(count=2), "new": host("b")}, {}), limits=path, vm="1x16GiB")[
        "clusters"
    ]
    assert [found[name]["vms_remaining"]["memory"] for name in "ab"] == [14, 8]
    assert found["b"]["limits"] == {
        **{"failures": 0, "cpu_pct": 80, "memory_pct": 100, "vcpu_ratio": None, "license_min_cores": 16, "speed": 1}
    }


def test_bad_arguments_are_named():
    with pytest.raises(ScenarioError) as error:
        hypertwin.capacity(made(FOUR, {}), cpu="80", vcpu_ratio=-1, vm="4")
    assert [each.path for each in error.value.mistakes] == ["cpu", "vcpu_ratio", "vm"]
    with pytest.raises(ScenarioError) as error:
        hypertwin.capacity(made(FOUR, {}), demand="p99", failures="x")
    assert {each.path for each in error.value.mistakes} == {"demand", "failures"}


def test_eight_hundred_vms_of_a_few_clusters():
    hosts = {f"h{n}": host(f"c{n % 4}", cores=16 + 4 * (n % 3), memory=f"{256 + 128 * (n % 2)} GiB") for n in range(34)}
    vms = {
        f"vm{n}": vm(1 + n % 8, f"{1 + n % 13} GiB", host=f"h{n % 34}", measured={"cpu_mhz": 100 + n})
        for n in range(800)
    }
    found = hypertwin.capacity(made(hosts, vms), vcpu_ratio=8)
    assert found["total"]["vms"] == sum(each["vms"] for each in found["clusters"].values()) == 800
    for each in found["clusters"].values():
        counts = [each["vms_remaining"][key] for key in ("cpu", "memory", "vcpu_ratio")]
        assert 0 < each["vms_remaining"]["count"] <= min(counts)
    found.to_json()


LONG = {"at": "2026-05-01T00:00:00Z", "over": "30 d"}


def unused(
    vms: dict[str, Any], *, hosts: dict[str, Any] | None = None, more: dict[str, Any] | None = None, **asked: Any
) -> Any:
    """What could be taken back of cluster `a`."""
    return counted(hosts or FOUR, vms, more=more, **asked)["reclaimable"]


def test_a_vm_needs_its_demand_with_a_fifth_kept_free():
    # 3.2 GHz at 2 GHz and 80 %: exactly 2 of 8 vCPUs; 5 of 6.25 GiB
    measured = {**LONG, "cpu_mhz": 800, "cpu_p95_mhz": 3200, "cpu_peak_mhz": 3300, "memory_active": "5 GiB"}
    found = unused({"web": vm(8, "32 GiB", measured=measured)})
    assert found["judged"] == 1
    assert found["sustained"] == {"vms": 1, "vcpus": 6, "memory_gib": 32 - 7, "hosts_freed": 0}
    assert found["sample"] is None
    assert found["idle"]["vms"] == 0
    assert "95th percentile" in found["basis"]
    assert "30 d" in found["basis"]
    assert unused({"web": vm(8, "32 GiB", measured=measured)}, demand="peak")["sustained"]["vcpus"] == 5


def test_one_moment_or_a_mean_proves_nothing():
    for measured in ({"cpu_mhz": 100}, {**LONG, "cpu_mhz": 100}, {"cpu_mhz": 100, "cpu_p95_mhz": 100}):
        found = unused({"web": vm(4, "16 GiB", measured=measured)})
        assert (found["judged"], found["sustained"], found["idle"]["vms"]) == (0, None, 0)
        assert found["sample"] == {"vms": 1, "vcpus": 4, "memory_gib": 16, "hosts_freed": 0}
        assert found["idle_in_sample"]["vms"] == 1
        assert "do not prove" in found["basis"]


def test_a_short_measurement_says_what_it_may_miss():
    found = unused({"web": vm(measured={"over": "2 h", "cpu_p95_mhz": 1000})})
    assert "less than a week" in found["basis"]
    assert found["sustained"]["memory_gib"] is None


def test_below_5_pct_of_its_vcpus_a_vm_is_idle_with_all_that_it_has():
    idle = {**LONG, "cpu_p95_mhz": 399, "memory_active": "16 GiB"}
    found = unused({"old": vm(4, "16 GiB", measured={**idle, "storage_used": "40 GiB"})})
    assert found["idle"] == {"vms": 1, "vcpus": 4, "memory_gib": 16, "storage_gib": 40}
    assert found["sustained"]["vcpus"] == 4
    assert unused({"old": vm(4, "16 GiB", measured={**idle, "cpu_p95_mhz": 400})})["idle"]["vms"] == 0


def test_a_vm_near_its_limit_is_not_idle_and_keeps_its_vcpus():
    def judged(mhz: float) -> Any:
        measured = {**LONG, "cpu_p95_mhz": mhz, "memory_active": "12 GiB"}
        return unused({"capped": vm(8, "16 GiB", limit="500 MHz", measured=measured)})

    assert (judged(500)["idle"]["vms"], judged(500)["sustained"]["vcpus"]) == (0, 0)
    assert judged(500)["sustained"]["memory_gib"] == 1
    assert (judged(400)["idle"]["vms"], judged(400)["sustained"]["vcpus"]) == (0, 7)
    assert judged(24)["idle"]["vms"] == 1


def test_hosts_that_are_freed_are_counted_by_packing():
    # 48 VMs of 16 GiB need 4 of 5 hosts and one to spare; of 4 GiB one host and one to spare
    measured = {**LONG, "cpu_p95_mhz": 200, "cpu_mhz": 200, "memory_active": "3 GiB"}
    found = unused({"web": vm(1, "16 GiB", count=48, measured=measured)}, hosts={"esx": host(count=5)})
    assert (found["hosts_spare"], found["sustained"]["hosts_freed"]) == (0, 3)
    # idle ones go away altogether, appliances stay
    cvm = vm(8, "64 GiB", host="esx", count=5, storage_appliance=True, measured={**LONG, "cpu_p95_mhz": 100})
    found = unused({"cvm": cvm}, hosts={"esx": host(count=5)})
    assert (found["judged"], found["sustained"], found["hosts_spare"]) == (0, None, 3)


def test_what_is_off_templates_and_snapshots():
    off = {
        "old": {"vcpus": 2, "memory": "8 GiB", "cluster": "a", "storage_used": "100 GiB"},
        "gold": {"vcpus": 2, "memory": "4 GiB", "cluster": "a", "template": True},
        "lost": {"vcpus": 1, "memory": "2 GiB"},
    }
    snapshots = {"snapshot_count": 3, "snapshots": "50 GiB", "oldest_snapshot": "2024-02-29T12:00:00Z"}
    found = hypertwin.capacity(
        made({"esx": host(), "new": host("b")}, {"db": vm(host="esx", measured=snapshots)}, powered_off=off)
    )
    mine = found["clusters"]["a"]["reclaimable"]
    assert mine["off"] == {"vms": 1, "vcpus": 2, "memory_gib": 8, "storage_gib": 100}
    assert mine["templates"] == {"vms": 1, "vcpus": 2, "memory_gib": 4, "storage_gib": None}
    assert mine["snapshots"] == {"vms": 1, "count": 3, "gib": 50, "oldest": "2024-02-29T12:00:00Z"}
    assert found["total"]["reclaimable"]["off"]["vms"] == 2
    assert {(each["name"], each["state"]) for each in found["reclaimable"]} == {
        *{("db", "snapshots"), ("old", "off"), ("gold", "template"), ("lost", "off")}
    }


# ---- what must hold for any cluster ----------------------------------------------------------------------------------

UNITS = st.sampled_from([1, 2, 4, 8, 16])
"""Sizes that divide one another: then adding a VM cannot make room by chance."""

HOSTS = st.lists(st.integers(8, 64), min_size=1, max_size=6)


def units(hosts: list[int], vms: list[int]) -> scenario.Scenario:
    """Hosts and VMs in which 4 GiB go with each vCPU."""
    return made(
        {f"h{place}": host(cores=size, memory=f"{4 * size} GiB") for place, size in enumerate(hosts)},
        {
            f"v{place}": vm(size, f"{4 * size} GiB", cluster="a", measured={"cpu_mhz": 100 * size})
            for place, size in enumerate(vms)
        },
    )


@given(
    hosts=HOSTS,
    vms=st.lists(UNITS.filter(lambda size: size <= 8), max_size=12),
    new=UNITS,
    added=st.sampled_from([1, 2, 4, 8]),
)
def test_one_more_vm_never_makes_room(hosts, vms, new, added):
    asked = {
        "vm": f"{new}x{4 * new}GiBx{100 * new}MHz",
        "vcpu_ratio": 1.0,
        "memory": "100%",
        "failures": 0,
        "cluster": "a",
    }
    before = hypertwin.capacity(units(hosts, vms), **asked)["clusters"]["a"]["vms_remaining"]
    after = hypertwin.capacity(units(hosts, [*vms, added]), **asked)["clusters"]["a"]["vms_remaining"]
    for key in ("memory", "vcpu_ratio", "count"):
        assert after[key] <= before[key]


@given(hosts=HOSTS, vms=st.lists(st.integers(1, 8), max_size=12), failures=st.integers(0, 3))
def test_without_hosts_nothing_is_emptier(hosts, vms, failures):
    found = hypertwin.capacity(units(hosts, vms), failures=failures)["clusters"]["a"]
    for now, degraded in (
        ("vcpu_per_core", "vcpu_per_core_after_failure"),
        ("cpu_usage_pct", "cpu_usage_after_failure_pct"),
        ("memory_configured_pct", "memory_configured_after_failure_pct"),
    ):
        assert (found[degraded] is None) == (failures >= len(hosts))
        assert found[degraded] is None or found[degraded] >= found[now] - 1e-9


BUILT = st.tuples(st.integers(4, 16), st.sampled_from([0, 1, 3]), st.sampled_from([0.5, 1.0, 1.7]), st.integers(0, 3))
"""A host: its cores, hypervisor's memory per core of 4 GiB, work per cycle, and vCPUs of its storage appliance."""


@given(built=st.lists(BUILT, min_size=3, max_size=5), mhz=st.integers(0, 3000), failures=st.integers(1, 2))
def test_no_other_failure_leaves_a_higher_use(built, mhz, failures):
    """Against trying every failure, and in both orders of hosts."""

    def figures(order: Sequence[int]) -> list[float]:
        hosts, vms = {}, {"web": vm(2, "1 GiB", host="h0", count=4, measured=uses(mhz, 1))}
        for at in order:
            cores, own, work, vcpus = built[at]
            memory = {"memory": f"{4 * cores} GiB", "hypervisor_memory": f"{own * cores} GiB"}
            hosts[f"h{at}"] = host(cores=cores, work_per_cycle=work, **memory)
            if vcpus:
                of_host = {"host": f"h{at}", "storage_appliance": True, "measured": uses(1000 * vcpus, vcpus)}
                vms[f"cvm{at}"] = vm(vcpus, f"{vcpus} GiB", **of_host)
        found = counted(hosts, vms, failures=failures)
        return [
            found["cpu_usage_after_failure_pct"] / 100,
            found["memory_consumed_after_failure_pct"] / 100,
            found["vcpu_per_core_after_failure"],
        ]

    def uses(mhz: float, gib: float) -> dict[str, Any]:
        return {"cpu_mhz": mhz, "memory_consumed": f"{gib} GiB"}

    def after(left: Sequence[tuple[int, int, float, int]]) -> list[float]:
        cores = sum(each for each, *_ in left)
        cpu = 4 * mhz * built[0][2] + sum(1000 * vcpus * work for _, _, work, vcpus in left)
        memory = 4 + sum(own * cores + vcpus for cores, own, _, vcpus in left)
        vcpus = 8 + sum(vcpus for *_, vcpus in left)
        return [cpu / sum(2000 * cores * work for cores, _, work, _ in left), memory / (4 * cores), vcpus / cores]

    tried = [after(left) for left in itertools.combinations(built, len(built) - failures)]
    worst = [max(figure) for figure in zip(*tried, strict=True)]
    for order in (range(len(built)), range(len(built))[::-1]):
        assert figures(order) == pytest.approx(worst)


def test_the_failure_that_counts_leaves_the_highest_use():
    """Of equal hosts that with the least memory of its hypervisor, and of unequal processors the faster one."""
    vms = {"web": vm(count=4, cluster="a", measured={"cpu_mhz": 1000, "memory_consumed": "8 GiB"})}
    for own in (("20 GiB", "200 GiB"), ("200 GiB", "20 GiB")):
        found = counted({f"h{at}": host(hypervisor_memory=each) for at, each in enumerate(own)}, vms)
        assert found["memory_consumed_after_failure_pct"] == pytest.approx(100 * (32 + 200) / 256)
        assert found["without"]["memory"] == [f"h{own.index('20 GiB')}"]
    fast = counted(
        {"old": host(), "new": host(cores=12, work_per_cycle=2)}, {**vms, "web": {**vms["web"], "host": "old"}}
    )
    assert (fast["without"]["cpu"], fast["cpu_usage_after_failure_pct"]) == (["new"], pytest.approx(100 * 4 / 32))


ROOMS = st.lists(st.tuples(*[st.integers(0, 100).map(float)] * 2), min_size=1, max_size=6)
SIZES = st.tuples(*[st.integers(1, 40).map(float)] * 2)


@given(rooms=ROOMS, vms=st.lists(SIZES, max_size=12), new=SIZES)
def test_vms_that_are_left_really_pack(rooms, vms, new):
    work = packing.load(rooms, vms)
    found = packing.most(work, new, packing.bound(work, new))
    if found is None:
        assert packing.pack(work, new, 0) is None
        return
    placed = packing.pack(work, new, found)
    assert placed is not None
    many: Counter[packing.Sizes] = Counter()
    for each in placed:
        many[each.size] += each.many
    assert many == Counter(work.vms) + Counter({new: found})
    for number, room in enumerate(rooms):
        for resource in range(2):
            assert (
                sum(each.many * each.size[resource] for each in placed if each.host == number) <= room[resource] + 1e-6
            )


def best(rooms: list[float], vms: list[float]) -> bool:
    """Whether VMs fit, by trying every way."""
    if not vms:
        return True
    return any(
        best([*rooms[:number], room - vms[0], *rooms[number + 1 :]], vms[1:])
        for number, room in enumerate(rooms)
        if room >= vms[0]
    )


@given(
    rooms=st.lists(st.integers(1, 20).map(float), min_size=1, max_size=3),
    vms=st.lists(st.sampled_from([1.0, 2.0, 4.0, 8.0]), max_size=5),
    new=st.sampled_from([2.0, 4.0, 8.0]),
)
def test_where_sizes_divide_one_another_no_packing_is_better(rooms, vms, new):
    vms = [size for size in vms if size <= max(rooms)]
    work = packing.load([(room,) for room in rooms], [(size,) for size in vms])
    found = packing.most(work, (new,), packing.bound(work, (new,)))
    if not best(rooms, vms):
        assert found is None
        return
    most = 0
    while most < 12 and best(rooms, sorted([*vms, *[new] * (most + 1)], reverse=True)):
        most += 1
    assert min(found, 12) == most


def test_where_one_rule_fails_the_other_may_place_all():
    # the largest of 7 belongs on the small host, which only the rule that fills hosts finds
    assert packing.pack(packing.load([(10.0,), (7.0,)], [(7.0,), (5.0,), (5.0,)]), (1.0,), 0) is not None
    # of two resources evenly used up, which only the rule that leaves room finds
    vms = [(1.0, 6.0), (4.0, 2.0), (7.0, 2.0), (6.0, 3.0)]
    assert packing.pack(packing.load([(10.0, 10.0)] * 2, vms), (1.0, 1.0), 0) is not None


def test_hosts_that_vms_can_do_without():
    work = packing.load([(10.0,)] * 4, [(5.0,)] * 3)
    assert packing.without(work, range(4)) == 2
    assert packing.without(packing.load([(10.0,)] * 4, []), range(4)) == 3
    assert packing.without(packing.load([(10.0,)] * 2, [(6.0,)] * 3), range(2)) == 0


def test_memory_of_storage_on_the_nodes_is_no_vms():
    pool = {"kind": "ceph", "nodes": "pve", "devices": {"kind": "nvme", "per_node": 4, "capacity": "1.92 TB"}}
    more = {"storage": {"ceph": pool}}
    hosts = {"pve": host(count=3, hypervisor="linux-6.12")}
    found = counted(hosts, {"web": vm(count=3, cluster="a")}, more=more)
    # four OSDs of 4 GiB on each of three hosts
    assert found["hypervisor_memory_gib"] == 48
    assert "Assumed: storage takes 48 GiB of this, the default (hosts.NAME.hypervisor_memory)." in found["notes"]
    said = counted(
        {"pve": {**hosts["pve"], "hypervisor_memory": "10 GiB"}}, {"web": vm(count=3, cluster="a")}, more=more
    )
    assert said["hypervisor_memory_gib"] == 30
    assert not any("Assumed: storage" in note for note in said["notes"])


def test_a_measured_mhz_is_one_of_the_host_that_it_was_measured_on():
    vms = {"x": vm(count=8, host="fast", measured={"cpu_mhz": 3000}), "y": vm(host="slow", measured={"cpu_mhz": 3000})}
    hosts = {"fast": host(work_per_cycle=2, clock="3 GHz"), "slow": host(clock="3 GHz")}
    found = counted(hosts, vms)
    # a GHz of this cluster does 1.5 times the work of one of `slow`
    assert found["cpu_demand_ghz"] == pytest.approx((8 * 6 + 3) / 1.5)
    assert found["cpu_usage_pct"] == pytest.approx(100 * (8 * 6 + 3) / (16 * 6 + 16 * 3))
    used = {"fast": host(work_per_cycle=2, clock="3 GHz", measured={"cpu_usage_pct": 50})}
    assert counted(used, {"x": vm(count=8, host="fast")})["cpu_usage_pct"] == pytest.approx(50)


def test_vms_measured_before_a_change_of_hosts_keep_their_work():
    slow = made({"one": host(clock="3 GHz")}, {"x": vm(count=8, measured={"cpu_mhz": 3000})})
    faster = hypertwin.capacity(slow, overrides={"hosts.one.work_per_cycle": 2}, failures=0)["clusters"]["a"]
    assert faster["cpu_usage_pct"] == pytest.approx(100 * 8 * 3 / (16 * 6))
