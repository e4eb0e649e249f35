"""Mechanisms of a change: a cluster moved to itself, and a chain of which each part changes one thing."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conftest import ROOT
from tests.crooked import crooked
from tests.python.plan.refresh.made import NEW, cluster, host

import hypertwin
from hypertwin import language, scenario
from hypertwin.errors import ScenarioError
from hypertwin.plan.capacity.limits import Limits
from hypertwin.plan.moving import arrival, causes
from hypertwin.plan.moving.causes import DEVICES, HOSTS, HYPERVISOR, OPTIONS, PROCESSORS, STORAGE, Part
from hypertwin.plan.placement.judge import Ends
from hypertwin.plan.refresh import judged
from hypertwin.plan.refresh.fewest import Made
from hypertwin.plan.refresh.present import Present
from hypertwin.runs.runner import running

QUICK = {"cache": "off", "duration": 2, "warmup": 1, "replications": 1}
SAID: dict[str, Any] = {"replications": 1, "progress": None, "more": (judged.IO, judged.THROUGHPUT)}
ARRAY = {"san": {"front_end_ports": 2, "raid": "raid-5", "disks": {"kind": "sas-ssd", "count": 8}}}


def move(made: Any, **options: Any) -> Any:
    return hypertwin.plan_move(made, **{"to": "kvm", **QUICK, **options}).to_dict()["arrival"]


def present(made: Any, **settings: Any) -> Present:
    loaded = scenario.load(made).with_overrides(settings)
    used = {vm.cluster for vm in loaded.inventory.vms}
    return Present.of(
        loaded, [each for each in loaded.inventory.clusters if each.name in used], Limits(failures=0), 0.0
    )


def on_disks(**of_vm: Any) -> dict[str, Any]:
    made = cluster(hosts=2, vms=4, mhz=840, more={"arrays": ARRAY})
    made["vms"]["web"] |= {"array": "san", "vdisks": 2, **of_vm}
    made["workloads"]["busy"] |= {"ios": 4}
    return made


@pytest.mark.parametrize(
    "name",
    [
        "backup-window",
        "clusters",
        "disk-failure",
        "failover",
        "hyperconverged",
        "memory-short",
        "monster-vms",
        "proxmox-ceph",
        "san-fio",
        "san-paths",
        "small-esxi",
        "vsan-sql",
        "faster",
        "crooked",
    ],
)
def test_a_cluster_moved_to_itself_has_the_same_figures(name: str) -> None:
    """Same hosts and devices: arrays, pools, local drives, several clusters, appliances, affinity and faster cores."""
    own = {"faster": cluster(hosts=2, vms=4, work_per_cycle=1.3), "crooked": crooked()}
    made = own.get(name, ROOT / "scenarios" / f"{name}.yaml")
    short = {"run.duration": "500 ms", "run.warmup": "200 ms", "run.sample_interval": "100 ms", "run.replications": 1}
    here = present(made, **short)
    speeds = {each.group: 1.0 for each in here.hosts}
    written = here.scenario.as_written()["hosts"]
    hosts = {group: {key: each for key, each in written[group].items() if key != "cluster"} for group in speeds}
    again = arrival.arrival(here, hosts, arrival.storage(here.scenario), speeds, same=True)
    assert again.dropped == ()
    where = {vm.name: vm.host for vm in here.vms}
    with running(cache="off"):
        after = causes.simulated(here, causes.Link("", again.data, where), SAID)
        before = []
        for state in here.states:
            groups = tuple(dict.fromkeys(each.group for each in here.scenario.inventory.hosts))
            problem = Made.of(here.scenario, state.cluster, state.limits, None, "configured", groups).problem
            before.append(judged.simulated(here.scenario, problem, problem.at, (), **SAID).normal)
    for objective in causes.METRICS.values():
        assert judged.of_vms(before, objective) == judged.of_vms(after, objective)
    assert judged.of_vms(after, judged.RESPONSE)


@pytest.mark.parametrize("name", ["san-fio", "local-nvme"])
def test_kvm_hosts_that_become_kvm_hosts_change_nothing(name: str) -> None:
    options: dict[str, Any] = {"reuse_hosts": True, "failures": 0, "duration": 0.5, "warmup": 0.2}
    found = move(ROOT / "scenarios" / f"{name}.yaml", twin="normal", **options)
    (vm,) = found["vms"]
    assert vm["figures"]["io_latency_ms"]["before"] > 0
    assert all(each["before"] == each["after"] and not each["noticed"] for each in vm["figures"].values())
    assert found["causes"] == []


def test_each_part_of_a_chain_changes_one_thing() -> None:
    made = on_disks(reservation="300 MHz", shares="high", ring_pages=16)
    here, speeds = present(made), {"old": 1.0}
    found = arrival.arrival(here, arrival.reused_hosts(here), arrival.storage(here.scenario), speeds)
    first, *links = causes.chain(here, found, {vm.name: vm.host for vm in here.vms}, speeds)
    assert [each.name for each in links] == [OPTIONS, HYPERVISOR, DEVICES, PROCESSORS, HOSTS, STORAGE]
    options, hypervisor, devices, *rest = (each.data for each in links)
    assert first.data["vms"]["web"]["reservation"] == "300 MHz"
    assert "reservation" not in options["vms"]["web"]
    assert options["hosts"] == first.data["hosts"]
    assert hypervisor["hosts"]["old"]["hypervisor"] == language.assumed_hypervisor(arrival.FAMILY)
    assert hypervisor["vms"]["web"]["controller"] == "pvscsi"
    assert hypervisor["vms"]["web"]["ring_pages"] == 16
    assert (devices["vms"]["web"]["controller"], devices["vms"]["web"]["io_threads"]) == ("virtio-scsi", 1)
    assert "ring_pages" not in devices["vms"]["web"]
    assert all(last.is_like(link) for last, link in pairwise(links[2:]))
    assert rest[-1] == found.data


def test_another_placement_alone_is_a_part_and_affinity_is_lost_with_the_options() -> None:
    made = cluster(hosts=2, vms=2)
    made["vms"]["web"] |= {"affinity": "0-7", "host": "old"}
    here, speeds = present(made), {"old": 1.0}
    found = arrival.arrival(here, arrival.reused_hosts(here), {}, speeds)
    where = {vm.name: vm.host for vm in here.vms}
    first, *links = causes.chain(here, found, dict(zip(where, reversed(where.values()), strict=True)), speeds)
    assert first.data["vms"]["web"]["affinity"] == "0-7"
    assert "affinity" not in links[0].data["vms"]["web"]
    assert [each.name for last, each in pairwise([first, *links]) if not each.is_like(last)] == [
        OPTIONS,
        HYPERVISOR,
        HOSTS,
    ]


def test_a_vm_without_simulated_storage_gets_none_on_its_own_hosts() -> None:
    made = on_disks()
    made["vms"]["plain"] = {key: each for key, each in made["vms"]["web"].items() if key not in ("array", "vdisks")}
    here = present(made)
    own = arrival.storage(here.scenario)
    assert "array" not in arrival.arrival(here, arrival.reused_hosts(here), own, {"old": 1.0}).data["vms"]["plain"]
    other = {"arrays": {"new": ARRAY["san"]}}
    entries = arrival.arrival(here, arrival.reused_hosts(here), other, {"old": 1.0}).data["vms"]
    assert [entries[name]["array"] for name in ("web", "plain")] == ["new", "new"]


def test_storage_appliances_end_with_their_storage() -> None:
    here, speeds = present(crooked()), {"one": 1.0, "two": 1.0, "many": 1.0}
    found = arrival.arrival(here, arrival.reused_hosts(here), arrival.storage(here.scenario), speeds)
    first, *links = causes.chain(here, found, {vm.name: vm.host for vm in here.vms}, speeds)
    assert [each.name for each in links] == [OPTIONS, HYPERVISOR, DEVICES, f"processors, {HOSTS}, {STORAGE}"]
    assert all("cvm" in each.data["vms"] for each in (first, *links[:-1]))
    assert "cvm" not in links[-1].data["vms"]


def test_a_part_that_cannot_be_simulated_alone_is_joined_with_the_next() -> None:
    """vSAN exists on ESXi only, so the hypervisor changes together with the storage."""
    pool = {"kind": "vsan", "redundancy": "raid-1", "devices": {"kind": "nvme", "per_node": 2, "capacity": "2 TiB"}}
    made = cluster(hosts=4, vms=4, more={"storage": {"vsan": {**pool, "nodes": "old"}}}, network={"ports": 2})
    made["vms"]["web"]["storage"] = "vsan"
    here, speeds = present(made), {"old": 1.0}
    entry = {**host(hypervisor="linux-6.12", adapters={"ports": 2}), "count": 4}
    found = arrival.arrival(here, {"pve": entry}, {"arrays": ARRAY}, speeds, {"pve": 1.0})
    links = causes.chain(here, found, {f"web-{each}": f"pve-{each}" for each in range(1, 5)}, speeds)
    assert [each.name for each in links[1:]] == [OPTIONS, ", ".join([HYPERVISOR, DEVICES, PROCESSORS, HOSTS, STORAGE])]


def test_parts_multiply_to_the_whole_and_each_vm_has_its_main_part() -> None:
    def figures(**p99: float) -> list[judged.Figures]:
        return [{judged.RESPONSE: {name: Ends(each, None, each, each) for name, each in p99.items()}}]

    before = figures(a=10, b=10, c=10)
    parts = [
        Part("one", figures(a=20, b=9, c=10)),
        Part("two", figures(a=18, b=30)),
        Part("three", figures(a=35, b=31, c=10.5)),
    ]
    vms = causes.changes(before, parts)
    response = {vm["name"]: vm["figures"]["response_ms_p99"] for vm in vms}
    assert {name: each["cause"] for name, each in response.items()} == {"a": "one", "b": "two", "c": None}
    assert response["c"]["steps"] == [10, 10, 10.5]
    found = causes.causes(vms, parts)
    assert [each["vms"] for each in found] == [1, 1, 0]
    assert math.prod(each["ratio"] or 0 for each in found) == pytest.approx(3.1)
    assert found[0]["ratio"] == pytest.approx(1)
    assert found[1]["ratio"] == pytest.approx(1.8)


@pytest.mark.parametrize(("after", "noticed"), [(14.9, False), (15.1, True)])
def test_a_change_within_the_sampling_error_is_not_noticed(after: float, noticed: bool) -> None:
    states = [[{judged.RESPONSE: {"vm": Ends(mean, ci95, mean, mean)}}] for mean, ci95 in ((10.0, 3.0), (after, 4.0))]
    (vm,) = causes.changes(states[0], [Part("all", states[1])])
    assert vm["figures"]["response_ms_p99"]["noticed"] is noticed


def test_the_main_part_of_an_improvement_is_one_that_improves() -> None:
    states = [[{judged.RESPONSE: {"vm": Ends(each, None, each, each)}}] for each in (20.0, 12.0, 24.0, 13.0)]
    (vm,) = causes.changes(states[0], [Part(name, state) for name, state in zip("abc", states[1:], strict=True)])
    assert vm["figures"]["response_ms_p99"]["cause"] == "c"


@pytest.mark.parametrize(
    ("objective", "before", "after", "noticed"),
    [
        (judged.RESPONSE, 10, 11, False),
        (judged.RESPONSE, 10, 11.1, True),
        (judged.RESPONSE, 10, 8.9, True),
        (judged.IO, 1, 1.2, True),
        (judged.READY, 0.2, 0.9, False),
        (judged.READY, 0.2, 1.0, True),
        (judged.READY, 5, 0.1, True),
        (judged.READY, 0, 0, False),
        (judged.THROUGHPUT, 100, 89, True),
    ],
)
def test_changes_of_more_than_a_tenth_are_noticed(objective: str, before: float, after: float, noticed: bool) -> None:
    states = [[{objective: {"vm": Ends(each, None, each, each)}}] for each in (before, after)]
    (vm,) = causes.changes(states[0], [Part("all", states[1])])
    (change,) = vm["figures"].values()
    assert (change["before"], change["after"], change["noticed"]) == (before, after, noticed)
    assert change["cause"] == ("all" if noticed else None)
    assert (causes.of_change(vm) is not None) is noticed


def test_a_slower_array_is_named_as_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, names = causes.simulated, list[str]()

    def counted(here: Present, link: causes.Link, said: Any) -> Any:
        names.append(link.name)
        return simulated(here, link, said)

    monkeypatch.setattr(causes, "simulated", counted)
    made = on_disks()
    entry = {**made["hosts"]["old"], "hypervisor": "linux-6.12"}
    slow = {"san": {**ARRAY["san"], "disks": {"kind": "hdd-7.2k", "count": 8}, "cache": {"size": "1 MiB"}}}
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump({"name": "t", "hosts": {"old": entry}, "arrays": slow, "vms": {}, "workloads": {}}))
    found = move(made, target=path, twin="normal")
    assert {vm["figures"]["io_latency_ms"]["cause"] for vm in found["vms"]} == {STORAGE}
    assert [each["vms"] for each in found["causes"]] == [0, 0, 0, 0, 0, 4]
    assert found["causes"][-1]["ratio"] > 1.2
    assert math.prod(each["ratio"] for each in found["causes"]) == pytest.approx(found["after"]["response"]["median"])
    assert {HYPERVISOR, DEVICES} <= set(names) <= {HYPERVISOR, DEVICES, HOSTS}  # no others change anything new
    without = move(made, target=path, twin="off")
    assert without["causes"] == without["vms"] == []


def test_a_target_group_named_like_a_present_one_keeps_its_own_speed(tmp_path: Path) -> None:
    made = cluster(hosts=2, vms=4, mhz=840)
    ratios = []
    for name in ("old", "new"):
        entry = {**host(hypervisor="linux-6.12", cpu_model=NEW, clock="2.5 GHz"), "count": 2}
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"name": "t", "hosts": {name: entry}, "vms": {}, "workloads": {}}))
        ratios.append(move(made, target=path, twin="normal")["after"]["response"]["median"])
    assert ratios[0] == ratios[1] < 0.7


def test_a_target_on_esxi_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump({"name": "t", "hosts": {"esx": host()}, "vms": {}, "workloads": {}}))
    with pytest.raises(ScenarioError) as error:
        move(cluster(hosts=2, vms=2), target=path, twin="off")
    (mistake,) = error.value.mistakes
    assert (mistake.path, mistake.value) == ("hosts.esx.hypervisor", "esxi-8.0")
    assert "linux-6.12" in str(mistake) and "esxi-7.0" not in str(mistake)
    assert str(path) in str(mistake)


def test_options_that_no_target_keeps_are_named() -> None:
    made = cluster(hosts=2, vms=2)
    made["vms"]["web"] |= {"affinity": "0-7", "memory_shares": "high", "host": "old"}
    found = move(made, reuse_hosts=True, twin="off")
    assert {"vms.web.affinity", "vms.web.memory_shares"} <= set(found["dropped"])


def test_an_emulated_controller_gets_no_thread_of_its_own() -> None:
    here = present(on_disks(controller="ahci"))
    found = arrival.arrival(here, arrival.reused_hosts(here), arrival.storage(here.scenario), {"old": 1.0})
    assert found.data["vms"]["web"]["controller"] == "ahci"
    assert "io_threads" not in found.data["vms"]["web"]
