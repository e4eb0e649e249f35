"""From inventories to scenarios: what they can have, what is made of it, and what is told of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypertwin import scenario
from hypertwin.errors import ScenarioError, SourceError
from hypertwin.ingest import to_scenario
from hypertwin.ingest.inventory import Cluster, Datastore, Demand, Host, Inventory, Rule, Snapshots, Vm
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.to_scenario import hypervisor
from hypertwin.ingest.to_scenario import vms as vms_part
from hypertwin.language import limits
from hypertwin.runs import simulation

GIB = 2**30
HOST = Host("esx1.example.com", 2, 8, 2, 128 * GIB, 2.5e9, "VMware ESXi 7.0.3 build-1")
KVM = Host("kvm1", 2, 4, 1, 64 * GIB, 3e9, "Linux 6.12.1")
VM = Vm("db", 4, 16 * GIB, HOST.name, demand=Demand(2_000.0, None, "vCPU/Overall"))


def _inventory(*vms: Vm, hosts: tuple[Host, ...] = (HOST, KVM), rules: tuple[Rule, ...] = ()) -> Inventory:
    return Inventory("export.xlsx", "rvtools", hosts, vms, rules=rules)


def _made(inventory: Inventory) -> tuple[dict[str, Any], dict[str, str]]:
    """The scenario as the schema reads it, and what was told, by text."""
    made, assumptions = to_scenario.to_scenario(inventory)
    text = to_scenario.to_yaml(made)
    data: dict[str, Any] = json.loads(scenario.loads(text).json)
    return data, {each.text: each.subject for each in assumptions}


def _one(vm: Vm, *hosts: Host) -> tuple[dict[str, Any], str]:
    """The only machine of a scenario, and all that was told."""
    data, told = _made(_inventory(vm, hosts=hosts or (HOST, KVM)))
    return next(iter(data["vms"].values())), " | ".join(f"{subject}: {text}" for text, subject in told.items())


def test_hosts_and_machines_keep_what_they_are() -> None:
    vm = Vm(
        **{"name": "DB 1 (prod)", "vcpus": 12, "memory_bytes": 96 * GIB, "host": HOST.name, "cores_per_socket": 6},
        **{"shares": "high", "reservation_mhz": 4_000.0, "limit_mhz": 20_000.0, "cpu_hot_add": True},
        **{"affinity": "0-11,24", "numa": {"prefer_ht": True, "vcpu_min": 9}, "storage_appliance": True},
        **{"demand": Demand(3_000.0, None, "vCPU/Overall")},
    )
    data, _ = _made(_inventory(vm))
    assert (
        data["hosts"]["esx1"]
        | {
            **{"label": "esx1.example.com", "sockets": 2, "cores_per_socket": 8, "threads_per_core": 2},
            **{"clock": "2.5 GHz", "memory_per_node": "64 GiB", "hypervisor": "esxi-7.0u2"},
        }
        == data["hosts"]["esx1"]
    )
    assert data["hosts"]["kvm1"]["hypervisor"] == "linux-6.12"
    machine = data["vms"]["DB-1-prod"]
    assert (
        machine
        | {
            **{"label": "DB 1 (prod)", "vcpus": 12, "cores_per_socket": 6, "memory": "96 GiB", "shares": "high"},
            **{"reservation": "4 GHz", "limit": "20 GHz", "cpu_hot_add": True, "affinity": "0-11,24", "host": "esx1"},
            **{"storage_appliance": True, "workload": "measured", "load": 3},
        }
        == machine
    )
    assert machine["numa"]["prefer_ht"] is True
    assert machine["numa"]["vcpu_min"] == 9


def test_the_description_and_the_summary_say_what_was_done() -> None:
    inventory = replace(_inventory(VM, replace(VM, name="off", powered_on=False)), gaps=[Gap("vDisk", "disks")])
    made, assumptions = to_scenario.to_scenario(inventory)
    assert made["description"].startswith("Imported from export.xlsx (rvtools): 2 hosts, 1 VM.\n")
    assert "- 1 VM: not powered on: not simulated" in made["description"]
    assert "- vDisk: needed for disks" in made["description"]
    lines = to_scenario.summary(inventory, made, assumptions)
    assert lines[0] == "export.xlsx (rvtools): 2 hosts with 24 cores, 1 of 2 VMs with 4 vCPUs"
    assert "missing: vDisk, needed for disks" in lines


def test_a_description_is_bounded() -> None:
    gaps = [Gap(f"column {number}", "x" * 100) for number in range(1_000)]
    made, _ = to_scenario.to_scenario(replace(_inventory(VM), gaps=gaps))
    assert len(made["description"]) < 10_000
    assert made["description"].endswith("more lines, which `hypertwin import` prints\n")


@pytest.mark.parametrize(
    ("change", "expected", "told"),
    [
        ({"cores_per_socket": 3}, {"cores_per_socket": None}, "cores per socket left out"),
        ({"cores_per_socket": 2}, {"cores_per_socket": 2}, ""),
        ({"memory_bytes": 500 * GIB}, {"memory": "128 GiB"}, "more memory than its host"),
        ({"guest_os": "Debian GNU/Linux 12 (64-bit)"}, {"guest_os": "Debian GNU/Linux 12 (64-bit)"}, ""),
        ({"guest_os": "a: [b]\n\x1b\u202e#{c}"}, {"guest_os": "a: [b] #{c}"}, ""),
        ({"guest_os": "x" * 199 + " y"}, {"guest_os": "x" * 199}, ""),
        ({"guest_os": " \x07 "}, {"guest_os": None}, ""),
        ({"shares": 4_000}, {"shares": "normal"}, ""),
        ({"shares": 4_001}, {"shares": 4_001}, ""),
        ({"shares": 10**9}, {"shares": "normal"}, "shares out of range"),
        ({"reservation_mhz": 50_000.0}, {"reservation": "40 GHz"}, "CPU reservations exceed its CPU"),
        ({"reservation_mhz": 2_000.0, "limit_mhz": 1_000.0}, {"limit": "2 GHz"}, "limit below the reservation"),
        ({"reservation_mhz": math.nan, "limit_mhz": math.inf}, {"reservation": "0 GHz", "limit": None}, ""),
        ({"limit_mhz": 0.2}, {"limit": "1 MHz"}, ""),
        ({"affinity": "0-40"}, {"affinity": None}, "affinity left out"),
        ({"affinity": "5-1"}, {"affinity": None}, "affinity left out"),
        ({"affinity": "0-1\n"}, {"affinity": None}, "affinity left out"),
        ({"host": None}, {"host": "esx1", "host_is_guess": True}, "no host named: placed automatically on any host"),
        (
            {"host": "gone"},
            {"host": "esx1", "host_is_guess": True},
            "its host is not in the source: placed automatically",
        ),
        ({"host": None, "reservation_mhz": 100.0}, {"host": "esx1", "reservation": "100 MHz"}, ""),
        ({"host": None, "affinity": "0"}, {"host": "esx1", "affinity": None}, "affinity left out"),
        ({"host": "kvm1", "reservation_mhz": 100.0}, {"reservation": "0 GHz"}, "reservation left out: Linux"),
        ({"host": "kvm1", "cpu_hot_add": True}, {"cpu_hot_add": False}, "CPU hot-add left out"),
        ({"numa": {"cores_per_node": 2}}, {}, "numa.cores_per_node left out"),
        ({"numa": {"prefer_ht": "yes"}}, {}, "numa.prefer_ht left out"),
        ({"numa": {"<b>": 1}}, {}, "numa.<b> left out"),
        ({"host": "kvm1", "numa": {"cells": [2, 2], "nodes": [0, 1]}}, {}, ""),
        ({"host": "kvm1", "numa": {"cells": [2, 2], "nodes": [0]}}, {}, "numa.nodes left out"),
        ({"host": "kvm1", "numa": {"cells": [2, 3]}}, {}, "numa.cells left out"),
        ({"demand": None}, {"workload": "assumed", "load": 0.5}, "no measured demand"),
        ({"demand": Demand(math.nan)}, {"workload": "assumed"}, "no measured demand"),
        ({"demand": Demand(0.0)}, {"workload": "measured", "load": 0}, ""),
        ({"demand": Demand(6_000.0)}, {"workload": "busy-60", "load": 4}, "closed load"),
        ({"demand": Demand(9_999.0)}, {"workload": "busy-100", "load": 4}, "closed load"),
        ({"demand": Demand(20_000.0)}, {"workload": "busy-100", "load": 4}, "all of them busy"),
        ({"demand": Demand(1_000.0, 500.0)}, {"workload": "db", "load": 1}, ""),
        ({"demand": Demand(1_000.0, 1e300)}, {"workload": "measured"}, "implausible I/O"),
    ],
    ids=str,
)
def test_a_machine(change: dict[str, Any], expected: dict[str, Any], told: str) -> None:
    machine, said = _one(replace(VM, **change))
    assert {key: machine.get(key) for key in expected} == expected
    assert told in said


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"is_template": True}, "templates: not simulated"),
        ({"powered_on": False}, "not powered on: not simulated"),
        ({"vcpus": 0}, "no plausible number of vCPUs"),
        ({"vcpus": 10**30}, "no plausible number of vCPUs"),
        ({"memory_bytes": -5}, "no plausible number of vCPUs"),
        ({"vcpus": 33}, "more vCPUs than its host"),
        ({"vcpus": 33, "host": None}, "more vCPUs than its host"),
        ({"memory_bytes": 129 * GIB, "host": None}, "its host is unknown, and it fits no other"),
    ],
    ids=str,
)
def test_a_machine_that_is_left_out(change: dict[str, Any], told: str) -> None:
    data, said = _made(_inventory(replace(VM, **change)))
    assert data["vms"] == {}
    assert any(told in text for text in said)


@pytest.mark.parametrize(
    ("change", "expected", "told"),
    [
        (
            {"clock_hz": None, "cpu_model": "Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz"},
            {"clock": "2.3 GHz"},
            "CPU model",
        ),
        ({"clock_hz": None, "cpu_model": "AMD EPYC 7543 32-Core Processor"}, {"clock": "2.5 GHz"}, "clock unknown"),
        ({"clock_hz": math.inf}, {"clock": "2.5 GHz"}, "clock unknown"),
        ({"clock_hz": 2_294_609_155.0}, {"clock": "2.294609155 GHz"}, ""),
        (
            {"numa_nodes": 4},
            {"sockets": 2, "nodes_per_socket": 2, "cores_per_socket": 8, "memory_per_node": "32 GiB"},
            "",
        ),
        ({"numa_nodes": 16}, {"sockets": 2, "nodes_per_socket": 8, "memory_per_node": "8 GiB"}, ""),
        ({"numa_nodes": 2}, {"sockets": 2, "nodes_per_socket": None}, ""),
        (
            {"numa_nodes": 1},
            {"sockets": 1, "cores_per_socket": 16, "memory_per_node": "128 GiB"},
            "imported as a socket",
        ),
        ({"numa_nodes": 32}, {"sockets": 2, "nodes_per_socket": None}, "do not divide"),
        ({"numa_nodes": 3}, {"sockets": 2}, "do not divide"),
        ({"threads_per_core": 4}, {"threads_per_core": 2}, "4 threads"),
        ({"threads_per_core": 1}, {"threads_per_core": 1}, ""),
        ({"in_maintenance": True}, {"sockets": 2}, "kept because VMs run on it"),
        ({"hypervisor": None}, {"hypervisor": "esxi-8.0"}, "hypervisor unknown"),
    ],
    ids=str,
)
def test_a_host(change: dict[str, Any], expected: dict[str, Any], told: str) -> None:
    data, said = _made(_inventory(VM, hosts=(replace(HOST, **change),)))
    host = data["hosts"]["esx1"]
    assert {key: host.get(key) for key in expected} == expected
    assert told in " | ".join(said)


def test_hosts_that_are_left_out() -> None:
    others = [
        replace(HOST, name="none", sockets=0),
        replace(HOST, name="vast", cores_per_socket=10**9),
        replace(HOST, name="forgetful", memory_bytes=0),
        replace(HOST, name="mended", in_maintenance=True),
        HOST,
    ]
    vms = [VM, replace(VM, name="lost", host="none")]
    data, said = _made(_inventory(*vms, hosts=(HOST, *others)))
    assert set(data["hosts"]) == {"esx1"}
    assert "left out: 0 sockets of 8 cores" in said
    assert said["left out: in maintenance mode, without VMs"] == "host mended"
    assert said["left out: another host has the same name"] == "host esx1.example.com"
    assert said["its host was left out: placed automatically on any host"] == "VM lost"
    with pytest.raises(SourceError, match="0 sockets"):
        to_scenario.to_scenario(_inventory(VM, hosts=(others[0],)))
    with pytest.raises(SourceError, match="no host"):
        to_scenario.to_scenario(_inventory(VM, hosts=()))


def test_a_host_without_machines_is_a_scenario() -> None:
    data, _ = _made(_inventory(hosts=(HOST,)))
    assert data["vms"] == {}


def test_too_many_machines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vms_part, "limits", lambda: replace(limits(), vm_groups=3, vcpus=11))
    with pytest.raises(SourceError, match="4 powered-on VMs"):
        to_scenario.to_scenario(_inventory(*(replace(VM, name=f"vm{n}") for n in range(4))))
    with pytest.raises(SourceError, match="12 vCPUs"):
        to_scenario.to_scenario(_inventory(*(replace(VM, name=f"vm{n}") for n in range(3))))


HYPERVISORS = [
    ("VMware ESXi 5.1.0 build-799733", "esxi-5.1", True),
    ("VMware ESX 4.1.0", "esxi-4.1", True),
    ("VMware ESX 3.5.0", "esxi-4.0", False),
    ("VMware ESXi 6.0.0 build-1", "esxi-6.0", True),
    ("VMware ESXi 6.7.0 build-17700523", "esxi-6.7", True),
    ("VMware ESXi 7.0.1 build-16850804", "esxi-7.0", True),
    ("VMware ESXi 7.0.2 build-17630552", "esxi-7.0u2", True),
    ("VMware ESXi 7.0.3 build-20328353", "esxi-7.0u2", True),
    ("VMware ESXi 8.0.3 build-24022510", "esxi-8.0", True),
    ("VMware ESXi 9.1.0", "esxi-9.0", False),
    ("Linux 6.6.1", "linux-6.6", True),
    ("Linux 6.8.12-4-pve", "linux-6.6", False),
    ("Linux 6.12.1+deb13", "linux-6.12", True),
    ("Linux 5.10.0", "linux-6.6", False),
    ("QEMU 7.2.0", "linux-6.12", False),
    ("", "esxi-8.0", False),
]


@pytest.mark.parametrize(("written", "name", "exact"), HYPERVISORS)
def test_hypervisors(written: str, name: str, exact: bool) -> None:
    found, note = hypervisor.nearest(written)
    assert (found, note is None) == (name, exact)


@pytest.mark.parametrize(
    ("written", "name", "note"),
    [
        ("VMware ESXi 8.0.2 build-22380479", "esxi-8.0", None),
        ("Nutanix AHV 20230302.1", "linux-6.12", "Nutanix AHV is KVM with an unknown kernel: assumed linux-6.12"),
        ("Microsoft Hyper-V Server 2019", "esxi-8.0", "Microsoft Hyper-V is not modelled: esxi-8.0 is used instead"),
        ("Windows Server 2022 Datacenter", "esxi-8.0", "Microsoft Hyper-V is not modelled: esxi-8.0 is used instead"),
        ("XenServer 8.2.0", "linux-6.12", "Xen is not modelled: linux-6.12 is used instead"),
        ("Citrix Hypervisor 8.2 (Linux 4.19.0)", "linux-6.12", "Xen is not modelled: linux-6.12 is used instead"),
        ("QEMU/KVM", "linux-6.12", "hypervisor QEMU/KVM: assumed linux-6.12"),
        (
            "Proxmox VE 8.1 (kernel 6.5.11)",
            "linux-6.6",
            "hypervisor Proxmox VE 8.1 (kernel 6.5.11): assumed linux-6.6",
        ),
        ("Proxmox VE 9.0 (kernel 6.12.3)", "linux-6.12", None),
        ("bhyve 13.2", "esxi-8.0", "hypervisor bhyve 13.2 is unknown: esxi-8.0 is used instead"),
    ],
)
def test_a_hypervisor_without_a_model_of_its_own_is_told(written: str, name: str, note: str | None) -> None:
    found, said = hypervisor.nearest(written)
    assert found == name
    assert (said or "").startswith(note or "")
    assert (said is None) == (note is None)


def test_a_product_without_a_model_is_told_once_for_all_its_hosts() -> None:
    versions = ("Microsoft Hyper-V Server 2019", "Microsoft Hyper-V Server 2016", "XenServer 8.2.0")
    hosts = tuple(replace(HOST, name=f"h{n}", hypervisor=version) for n, version in enumerate(versions))
    _, said = _made(_inventory(hosts=hosts))
    told = {text.partition(":")[0]: subject for text, subject in said.items() if "not modelled" in text}
    assert told == {"Microsoft Hyper-V is not modelled": "2 hosts (h0, h1)", "Xen is not modelled": "host h2"}


def test_names_become_keys_that_people_can_read() -> None:
    names = ["db", "db", "DB", "db-1", "=cmd|x", "<b>", "база", "数据", "ü" * 80, "a" * 80, "a" * 81, "no", "1e3", ""]
    data, _ = _made(_inventory(*(replace(VM, name=name) for name in names)))
    labels = {key: vm.get("label", key) for key, vm in data["vms"].items()}
    assert labels["db-1"] == "db-1"
    assert [labels["db-2"], labels["db-3"]] == ["db", "db"]
    assert labels["cmd-x"] == "=cmd|x"
    assert labels["b"] == "<b>"
    assert [labels["vm-1"], labels["vm-2"], labels["vm-3"]] == ["vm-1", "база", "数据"]
    assert sorted(labels.values()) == sorted([*(name for name in names if name), "vm-1"])
    assert labels["1e3"] == "1e3"


def test_short_names_of_hosts_where_they_are_clear() -> None:
    names = ["esx1.a.example", "esx1.b.example", "esx2.a.example", "10.1.2.3", "10.1.2.4", "plain"]
    data, _ = _made(_inventory(hosts=tuple(replace(HOST, name=name) for name in names)))
    assert set(data["hosts"]) == {"esx1-a-example", "esx1-b-example", "esx2", "10-1-2-3", "10-1-2-4", "plain"}


def test_rules_are_kept_with_the_machines_that_are() -> None:
    vms = [replace(VM, name=f"vm {n}") for n in range(3)] + [replace(VM, name="off", powered_on=False)]
    rules = (
        Rule("apart", "keep-apart", ("vm 0", "vm 1", "off"), (), True),
        Rule("alone", "keep-together", ("vm 0", "off")),
        Rule("on", "run-on", ("vm 2",), (HOST.name, "gone")),
        Rule("nowhere", "run-on", ("vm 2",), ("gone",)),
        Rule("odd", "dance", ("vm 2",)),
    )
    data, said = _made(_inventory(*vms, rules=rules))
    assert data["rules"] == [
        {"name": "apart", "kind": "keep-apart", "vms": ["vm-0", "vm-1"], "mandatory": True},
        {"name": "on", "kind": "run-on", "vms": ["vm-2"], "hosts": ["esx1"], "mandatory": False},
    ]
    assert said["left out: unknown kind"] == "rule odd"
    assert said["left out: too few of its VMs or hosts are in the scenario"] == "2 rules (alone, nowhere)"


# what is simulated is what was measured


def _simulated(*vms: Vm, host: Host = HOST) -> dict[str, Any]:
    made, _ = to_scenario.to_scenario(_inventory(*vms, hosts=(host,)))
    result = simulation.simulate(
        scenario.loads(to_scenario.to_yaml(made)), duration="20 s", warmup="2 s", replications=2, jobs=1
    ).to_dict()
    point: dict[str, Any] = result["points"][0]
    return point


@pytest.mark.parametrize("clock_ghz", [2.0, 3.5])
@pytest.mark.parametrize(("busy", "iops"), [(0.1, None), (0.4, 300.0), (0.7, None), (0.9, 300.0)])
def test_a_machine_alone_uses_what_it_was_measured_to_use(clock_ghz: float, busy: float, iops: float | None) -> None:
    demand = Demand(busy * 4 * clock_ghz * 1_000, iops)
    point = _simulated(replace(VM, demand=demand), host=replace(HOST, clock_hz=clock_ghz * 1e9))
    machine = point["vms"]["db"]
    assert machine["run_pct"] == pytest.approx(100 * busy, rel=0.05)
    if iops is not None:
        assert machine["iops"] == pytest.approx(iops, rel=0.05)


def test_saturated_machines_do_not_pile_up() -> None:
    vms = [replace(VM, name=f"vm{n}", vcpus=8, demand=Demand(0.98 * 8 * 2_500.0)) for n in range(8)]
    point = _simulated(*vms)
    assert point["steady"]
    assert all(machine["response_ms"]["mean"] < 1_000 for machine in point["vms"].values())
    assert point["hosts"]["esx1"]["usage_pct"] == pytest.approx(100, abs=1)


# any inventory

NUMBERS = st.one_of(st.floats(), st.floats(0, 1e5), st.just(0.0))
WHOLE = st.one_of(st.integers(-5, 50), st.integers(-(10**25), 10**25))
BYTES = st.one_of(st.integers(2**20, 2**41), WHOLE)
NAMES = st.one_of(st.sampled_from(["a", "b", "c.example", "", "=1+1", "<b>"]), st.text(max_size=300))
MAYBE = st.one_of(st.none(), NUMBERS, st.floats(0, 120))
TEXTS = st.one_of(st.none(), st.text(max_size=300), st.just("2026-03-01"))
CLUSTERS = st.one_of(st.none(), st.sampled_from(["a", "A", "b.c", "default", ""]), st.text(max_size=300))
ODD_VALUES = st.one_of(st.booleans(), WHOLE, st.text(max_size=5), st.lists(WHOLE, max_size=4))
OPTIONS = ("prefer_ht", "follow_cores_per_socket", "vcpu_min", "cores_per_node", "sized_on", "cells", "nodes", "other")
hosts = st.builds(
    Host,
    name=NAMES,
    sockets=WHOLE,
    cores_per_socket=WHOLE,
    threads_per_core=st.integers(-1, 9),
    memory_bytes=BYTES,
    clock_hz=st.one_of(st.none(), st.floats(), st.floats(1e8, 5e9)),
    hypervisor=st.one_of(st.none(), st.sampled_from([each[0] for each in HYPERVISORS]), st.text(max_size=30)),
    numa_nodes=st.one_of(st.none(), WHOLE),
    cpu_model=st.one_of(st.none(), st.text(max_size=30), st.just("CPU @ 2.30GHz")),
    in_maintenance=st.booleans(),
    cluster=CLUSTERS,
    datacenter=CLUSTERS,
    processors=st.one_of(st.none(), WHOLE),
    hyper_threading_available=st.one_of(st.none(), st.booleans()),
    power_policy=st.one_of(st.none(), st.sampled_from(["balanced", "odd"])),
    evc=TEXTS,
    evc_most=TEXTS,
    cpu_usage_pct=MAYBE,
    cpu_p95_pct=MAYBE,
    memory_usage_pct=MAYBE,
    ballooned_bytes=st.one_of(st.none(), WHOLE),
    at=TEXTS,
    over_s=MAYBE,
    counter=st.text(max_size=300),
)
sound_hosts = st.builds(
    replace,
    st.sampled_from([HOST, KVM, replace(HOST, hypervisor="VMware ESXi 8.0.3"), replace(KVM, threads_per_core=2)]),
    name=NAMES,
    cluster=CLUSTERS,
    datacenter=CLUSTERS,
    cpu_usage_pct=MAYBE,
    memory_usage_pct=MAYBE,
    over_s=st.one_of(st.none(), st.just(60.0)),
)
vms = st.builds(
    Vm,
    name=NAMES,
    vcpus=st.one_of(st.integers(1, 40), WHOLE),
    memory_bytes=BYTES,
    host=st.one_of(st.none(), NAMES),
    powered_on=st.sampled_from([True, True, True, False]),
    cores_per_socket=st.one_of(st.none(), WHOLE),
    shares=st.one_of(st.none(), st.sampled_from(["low", "normal", "high", "other"]), WHOLE),
    reservation_mhz=st.one_of(st.none(), NUMBERS),
    limit_mhz=st.one_of(st.none(), NUMBERS),
    cpu_hot_add=st.one_of(st.none(), st.booleans()),
    affinity=st.one_of(st.none(), st.text("0123456789,-", max_size=12), st.text(max_size=5)),
    numa=st.dictionaries(st.sampled_from(OPTIONS), ODD_VALUES, max_size=3),
    demand=st.one_of(
        st.none(),
        st.builds(
            Demand, NUMBERS, st.one_of(st.none(), NUMBERS), st.text(max_size=9), MAYBE, MAYBE, MAYBE, st.text(), TEXTS
        ),
    ),
    cluster=CLUSTERS,
    datacenter=CLUSTERS,
    is_template=st.sampled_from([False, False, True]),
    ready_pct=MAYBE,
    memory_consumed_bytes=st.one_of(st.none(), BYTES),
    memory_active_bytes=st.one_of(st.none(), WHOLE),
    storage_used_bytes=st.one_of(st.none(), WHOLE),
    storage_in_guest_bytes=st.one_of(st.none(), WHOLE),
    snapshots=st.one_of(st.none(), st.builds(Snapshots, WHOLE, st.one_of(st.none(), WHOLE), TEXTS)),
    storage_appliance=st.booleans(),
)
rules = st.builds(
    Rule,
    name=NAMES,
    kind=st.sampled_from(["keep-together", "keep-apart", "run-on", "not-on", "other"]),
    vms=st.lists(NAMES, max_size=4).map(tuple),
    hosts=st.lists(NAMES, max_size=3).map(tuple),
    mandatory=st.booleans(),
)

stores = st.builds(
    Datastore,
    name=NAMES,
    kind=st.text(max_size=100),
    capacity_bytes=st.one_of(st.none(), BYTES),
    free_bytes=st.one_of(st.none(), WHOLE),
    hosts=st.lists(NAMES, max_size=3).map(tuple),
    clusters=st.lists(NAMES, max_size=2).map(tuple),
)
facts = st.builds(
    Cluster,
    name=st.one_of(NAMES, CLUSTERS.map(lambda name: name or "")),
    datacenter=CLUSTERS,
    ha=st.one_of(st.none(), st.booleans()),
    failures=st.one_of(st.none(), WHOLE),
    evc=TEXTS,
    cpu_mhz=MAYBE,
    over_s=MAYBE,
    at=TEXTS,
)


@given(
    st.builds(
        Inventory,
        source=NAMES,
        kind=st.just("rvtools"),
        hosts=st.lists(st.one_of(sound_hosts, hosts), max_size=4),
        vms=st.lists(vms, max_size=8),
        rules=st.lists(rules, max_size=3),
        datastores=st.lists(stores, max_size=3),
        clusters=st.lists(facts, max_size=3),
        unused=st.lists(NAMES, max_size=3),
        standalone_hosts=st.booleans(),
    )
)
def test_any_inventory_is_a_scenario_or_a_clear_error(inventory: Inventory) -> None:
    try:
        made, assumptions = to_scenario.to_scenario(inventory)
    except SourceError as error:
        assert {mistake.code for mistake in error.mistakes} == {"source-lacks"}
        return
    loaded = scenario.loads(to_scenario.to_yaml(made))
    assert len(loaded.data["vms"]) <= len(inventory.vms)
    assert all(line.isprintable() for line in to_scenario.summary(inventory, made, assumptions))
    for placed in loaded.inventory.vms:
        assert placed.host_is_given
        assert placed.cluster == loaded.inventory.host[placed.host].cluster
    assert all(len(each.subject) < 40_000 for each in assumptions)
    for vm in loaded.data["vms"].values():
        assert vm.get("label", "x").isprintable()


def test_a_template_without_vcpus_has_no_cores_per_socket() -> None:
    template = replace(VM, name="empty", vcpus=0, cores_per_socket=769, is_template=True)
    made, _ = to_scenario.to_scenario(_inventory(VM, template))
    loaded = scenario.loads(to_scenario.to_yaml(made))
    assert [each.get("cores_per_socket", "none") for each in loaded.data["powered_off"].values()] == ["none"]


def test_the_same_inventory_gives_the_same_text_in_any_order() -> None:
    vms = [replace(VM, name=f"vm {n % 7}", host=HOST.name if n % 2 else None) for n in range(20)]
    one, _ = to_scenario.to_scenario(_inventory(*vms))
    other, _ = to_scenario.to_scenario(_inventory(*reversed(vms), hosts=(KVM, HOST)))
    assert to_scenario.to_yaml(one) == to_scenario.to_yaml(other)
    with pytest.raises(ScenarioError):
        scenario.loads(to_scenario.to_yaml({**one, "hosts": {}}))


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("exports/RVTools_export_all.xlsx", "RVTools_export_all"),
        ("proxmox://auditor@pve!twin@pve1.example.com:8006?...", "pve1-example-com"),
        ("vcenter://reader@vsphere.local@vc.example.com/DC0", "DC0"),
        ("qemu:///system", "system"),
        ("proxmox://auditor@pve!twin@[::1]:8006", "rvtools"),
    ],
)
def test_the_name_of_a_scenario_has_no_user_and_no_port(source: str, name: str) -> None:
    made, _ = to_scenario.to_scenario(replace(_inventory(VM), source=source))
    assert made["name"] == name
