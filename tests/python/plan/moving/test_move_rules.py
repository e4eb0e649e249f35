"""Every rule of every target: a VM for which it fires, one for which it does not, and one that lacks its facts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

import pytest
import yaml
from tests.python.plan.moving.vms import GIB, IDE, MIB, NVME, PVSCSI, SAS, SATA, disks, networks, vm

from hypertwin.language import Host, Vm
from hypertwin.members import SourceCluster, SourceDisk, SourcePartition, SourceVm
from hypertwin.plan.moving import conditions, facts
from hypertwin.plan.moving.context import Context
from hypertwin.plan.moving.rules import FOLDER, SEVERITIES, Rule, findings, rules
from hypertwin.plan.moving.target import TITLES, Target

WINDOWS, LINUX = "Microsoft Windows Server 2019 (64-bit)", "Red Hat Enterprise Linux 9 (64-bit)"
TARGETS: tuple[Target, ...] = get_args(Target)


def host(threads: int, memory_gib: int) -> Host:
    known: dict[str, Any] = dict.fromkeys(each.name for each in fields(Host))
    return Host(**{**known, "threads": threads, "memory_bytes": memory_gib * GIB, "clock_hz": 2 * 10**9})


@dataclass(frozen=True)
class Case:
    """Facts for which a condition is true and for which it is false, with the detail that it gives."""

    fires: Vm
    spares: Vm
    detail: str = ""
    context: dict[str, Any] = field(default_factory=dict)
    """Facts beside the VM."""
    unknown: Vm | None = field(default_factory=vm)
    """A VM whose source tells nothing, or None if the condition needs no fact of the source."""


def of(**facts: Any) -> Vm:
    return vm(source=SourceVm(**facts))


def disk(**facts: Any) -> Vm:
    """A VM of two disks, the second of which has these facts."""
    harmless = SourceDisk("Hard disk 1", GIB, PVSCSI, 0, 0, "persistent", "none", False, True, "[san] a.vmdk")
    return of(disks=(harmless, replace(harmless, **{"label": "Hard disk 2", **facts})), disk_uuid=True, firmware="efi")


def partition(path: str, free_mib: float) -> Vm:
    return of(partitions=(SourcePartition("/data", GIB, GIB), SourcePartition(path, GIB, int(free_mib * MIB))))


CLUSTERS = {"one": SourceCluster(drs=True, dpm=False), "two": SourceCluster(drs=False, dpm=True)}
CASES: dict[str, Case] = {
    "disk-without-file": Case(disk(path=""), disk(), "Hard disk 2"),
    "disk-without-capacity": Case(disk(capacity_bytes=0), disk(capacity_bytes=1), "Hard disk 2"),
    "raw-disk": Case(disk(raw="physical"), disk(), "Hard disk 2"),
    "independent-disk": Case(disk(mode="independent-nonpersistent"), disk(), "Hard disk 2"),
    "shared-disk": Case(disk(shared=True), disk(), "Hard disk 2"),
    "thick-disk": Case(disk(thin=False), disk(), "Hard disk 2"),
    "disk-of-at-least": Case(disk(capacity_bytes=1024 * GIB), disk(capacity_bytes=1024 * GIB - 1), "Hard disk 2"),
    "more-disks-than": Case(of(disks=disks(*[SAS] * 166)), of(disks=disks(*[SAS] * 165)), "166 disks"),
    "serial-numbers-of-disks": Case(disk(), of(disks=disks(NVME, IDE), disk_uuid=True), "Hard disk 1, Hard disk 2"),
    "disk-on-bus": Case(disk(controller=NVME), disk(), "Hard disk 2"),
    "disk-on-datastore": Case(
        disk(path="[vsanDatastore] a.vmdk"),
        disk(),
        "Hard disk 2",
        {"datastores": {"vsanDatastore": "vsan", "san": "VMFS"}},
    ),
    "several-scsi-types": Case(disk(controller=SAS), disk(), "pvscsi and lsi"),
    "uefi-with-lsi": Case(
        vm(guest_os=LINUX, source=SourceVm(disks=disks(SAS), firmware="efi")), of(disks=disks(SAS), firmware="bios")
    ),
    "too-many-on-bus": Case(of(disks=disks(*[SATA] * 7)), of(disks=disks(*[SATA] * 6)), "7 sata disks of 6"),
    "passthrough-device": Case(of(passthrough_devices=1), of(passthrough_devices=0)),
    "usb-device": Case(of(usb_devices=1), of(usb_devices=0)),
    "cd-connected": Case(of(cds_connected=1), of(cds_connected=0)),
    "tpm": Case(of(tpm=True), of(tpm=False)),
    "sr-iov": Case(of(networks=networks("Vmxnet3", "Sriov")), of(networks=networks("Vmxnet3")), "N 1"),
    "adapter-unknown-to-proxmox": Case(
        of(networks=networks("E1000", "Vmxnet2")), of(networks=networks("E1000", "Vmxnet3", "Flexible")), "N 1"
    ),
    "more-networks-than": Case(
        of(networks=networks(*["E1000"] * 33)), of(networks=networks(*["E1000"] * 32)), "33 adapters"
    ),
    "vlan": Case(of(networks=networks("E1000", vlan=20)), of(networks=networks("E1000", vlan=0)), "N 0: VLAN 20"),
    "little-free-space": Case(partition("/", 99.5), partition("/", 100), "/ has 99 MiB free of 100 MiB"),
    "guest-family": Case(vm(guest_os=WINDOWS), vm(guest_os="FreeBSD 12 (64-bit)")),
    "guest-not-listed": Case(vm(guest_os="Apple macOS 12 (64-bit)"), vm(guest_os=WINDOWS), "Apple macOS 12 (64-bit)"),
    "guest-not-recognised": Case(vm(guest_os="Plan 9"), vm(guest_os=LINUX), "Plan 9"),
    "windows-on-scsi": Case(
        vm(guest_os=WINDOWS, source=SourceVm(disks=disks(SAS))),
        vm(guest_os=LINUX, source=SourceVm(disks=disks(SAS))),
        "Hard disk 1",
    ),
    "windows-with-tpm": Case(
        vm(guest_os=WINDOWS, source=SourceVm(tpm=True)), vm(guest_os=LINUX, source=SourceVm(tpm=True))
    ),
    "host-name-empty": Case(of(host_name=""), of(host_name="a")),
    "host-name-default": Case(of(host_name="localhost.localdomain"), of(host_name="localhost")),
    "no-ip-address": Case(of(has_ip=False), of(has_ip=True)),
    "tools": Case(of(tools="not-installed"), of(tools="running")),
    "firmware": Case(of(firmware="efi"), of(firmware="bios")),
    "secure-boot": Case(of(secure_boot=True), of(secure_boot=False)),
    "hardware-version-below": Case(of(hardware_version=6), of(hardware_version=7), "version 6"),
    "no-changed-block-tracking": Case(of(changed_block_tracking=False), of(changed_block_tracking=True)),
    "consolidation-needed": Case(of(consolidation_needed=True), of(consolidation_needed=False)),
    "snapshots": Case(vm(snapshots=1), vm(snapshots=0), "1 snapshot"),
    "fault-tolerance": Case(of(fault_tolerance=True), of(fault_tolerance=False)),
    "hot-add": Case(of(hot_add_memory=True), of(hot_add_memory=False)),
    "cpu-affinity": Case(of(cpu_affinity=True), of(cpu_affinity=False)),
    "numa-affinity": Case(of(numa_affinity=True), of(numa_affinity=False)),
    "host-rule": Case(
        vm("bound"),
        vm("free"),
        context={"bound": frozenset({"bound"}), "clusters": {"one": SourceCluster(all_rules=True)}},
    ),
    "drs": Case(vm(cluster="one"), vm(cluster="two"), context={"clusters": CLUSTERS}),
    "dpm": Case(vm(cluster="two"), vm(cluster="one"), context={"clusters": CLUSTERS}),
    "powered-on": Case(vm("a"), vm("b"), context={"off": frozenset("b")}, unknown=None),
    "template": Case(vm("a"), vm("b"), context={"templates": frozenset("a")}, unknown=None),
    "memory-reserved": Case(vm(memory_reservation_bytes=1), vm(), unknown=None),
    "cpu-entitlement": Case(vm(limit_hz=10**9, shares=1.0), vm(), "a CPU limit, CPU shares", unknown=None),
    "vcpus-above": Case(vm(vcpus=9), vm(vcpus=8), "9 vCPUs", unknown=None),
    "larger-than-target": Case(vm(vcpus=9), vm(vcpus=8), "9 vCPUs, 8 GiB", {"target_hosts": (host(8, 8), host(4, 64))}),
    "memory-above": Case(vm(memory_bytes=512 * GIB + 1), vm(memory_bytes=512 * GIB), unknown=None),
    "always": Case(vm(), vm(), unknown=None),
    "name-not-valid": Case(vm("db", label="DB 1"), vm("db", label="DB-1.a"), "becomes db-1", unknown=None),
    "name-changes": Case(vm("db", label="DB_1"), vm("db", label="DB-1"), "becomes DB1", unknown=None),
    "name-of-several": Case(
        vm("a", label="web 1"),
        vm("c", label="web-2"),
        context={"called": {"a": "web 1", "b": "web 1", "c": "web-2"}},
        detail="web 1",
        unknown=None,
    ),
    "secret-in-notes": Case(of(secret_in_notes=True), of(secret_in_notes=False)),
}
"""A case for each condition. Where rules of one condition differ in parameters, `OF_RULES` has further ones."""
OF_RULES: dict[str, Case] = {
    "ahv.disk.raw.virtual": Case(disk(raw="virtual"), disk(raw="physical"), "Hard disk 2"),
    "hyperv.generation.1": Case(of(firmware="bios"), of(firmware="efi")),
    "hyperv.linux.drivers": Case(vm(guest_os=LINUX), vm(guest_os=WINDOWS)),
    "vmware.vm.name.invalid": CASES["name-not-valid"],
}
ALL = [(target, rule) for target in TARGETS for rule in rules(target)]
IDS = [rule.id for _, rule in ALL]


def case_of(rule: Rule) -> Case:
    return OF_RULES.get(rule.id) or CASES[rule.condition]


def found(target: Target, rule: Rule, one: Vm, case: Case) -> list[Any]:
    context = Context(target, **case.context)
    return [each for each in findings(one, context) if each.rule == rule.id]


@pytest.mark.parametrize(("target", "rule"), ALL, ids=IDS)
def test_a_rule_fires(target: Target, rule: Rule) -> None:
    case = case_of(rule)
    (one,) = found(target, rule, case.fires, case)
    assert (one.is_known, one.detail, one.vm) == (True, case.detail, case.fires.name)
    assert (one.severity, one.consequence, one.before, one.source) == (
        *(rule.severity, rule.consequence, rule.before, rule.source),
    )


@pytest.mark.parametrize(("target", "rule"), [each for each in ALL if each[1].condition != "always"])
def test_a_rule_spares(target: Target, rule: Rule) -> None:
    case = case_of(rule)
    assert found(target, rule, case.spares, case) == []


@pytest.mark.parametrize(("target", "rule"), [each for each in ALL if case_of(each[1]).unknown is not None])
def test_a_rule_without_its_facts(target: Target, rule: Rule) -> None:
    """The answer names where the facts are."""
    (one,) = found(target, rule, vm(), Case(vm(), vm()))
    assert not one.is_known
    assert one.detail.startswith("not known from this export: ")
    assert all(place in facts.WHERE.values() for place in one.detail.partition(": ")[2].split("; "))


@pytest.mark.parametrize(
    ("condition", "one", "place"),
    [
        ("raw-disk", of(disks=disks(SAS)), "RVTools vDisk, Raw and Raw Comp. Mode"),
        ("raw-disk", vm(), "RVTools vDisk"),
        ("disk-on-datastore", disk(), "RVTools vDatastore, Type"),
        ("windows-on-scsi", vm(guest_os=WINDOWS), "RVTools vDisk"),
        (
            "uefi-with-lsi",
            of(disks=disks("?"), firmware="efi"),
            "RVTools vInfo, OS according to the configuration file",
        ),
        ("snapshots", vm(), "RVTools vSnapshot"),
    ],
)
def test_only_missing_facts_are_named(condition: str, one: Vm, place: str) -> None:
    context = Context("proxmox")
    assert conditions.CONDITIONS[condition](one, context, {"kind": "vsan"}) is None
    assert [facts.WHERE[each] for each in conditions.unknown_facts(condition, one, context)] == [place]


def test_one_known_disk_is_enough_to_fire_but_not_to_spare() -> None:
    known = disk(raw="physical").source.disks
    some = of(disks=(SourceDisk(label="Hard disk 0"), *(known or ())))
    assert conditions.CONDITIONS["raw-disk"](some, Context("kvm"), {}) == "Hard disk 2"
    rest = of(disks=(SourceDisk(label="Hard disk 0"), *(known or ())[:1]))
    assert conditions.CONDITIONS["raw-disk"](rest, Context("kvm"), {}) is None
    assert conditions.CONDITIONS["raw-disk"](of(disks=()), Context("kvm"), {}) is False


def test_hot_add_of_cpu_or_memory() -> None:
    hot_add = conditions.CONDITIONS["hot-add"]
    assert hot_add(vm(cpu_hot_add=True), Context("kvm"), {}) is True
    assert hot_add(vm(cpu_hot_add=True, source=SourceVm(hot_add_memory=False)), Context("kvm"), {}) is True


def test_many_disks_are_counted() -> None:
    many = of(disks=disks(*[SAS] * 6, raw="physical"))
    assert conditions.CONDITIONS["raw-disk"](many, Context("kvm"), {}) == (
        "Hard disk 1, Hard disk 2, Hard disk 3, Hard disk 4 and 2 more"
    )


@pytest.mark.parametrize(
    ("path", "least"),
    [
        *(
            ("/", 100),
            ("C:", 100),
            ("c:\\", 100),
            ("C:/", 100),
            ("/boot", 50),
            ("/boot/efi", 10),
            ("D:\\", 10),
            ("/var", 10),
        ),
    ],
)
def test_free_space_by_file_system(path: str, least: int) -> None:
    short = conditions.CONDITIONS["little-free-space"]
    assert short(partition(path, least - 1), Context("kvm"), {}) == f"{path} has {least - 1} MiB free of {least} MiB"
    assert short(partition(path, least), Context("kvm"), {}) is False


@pytest.mark.parametrize(
    ("os", "supported"),
    [
        *(("Red Hat Enterprise Linux 7 (64-bit)", True), ("Red Hat Enterprise Linux 6 (64-bit)", False)),
        *(("Red Hat Enterprise Linux 10 (64-bit)", True), ("Microsoft Windows 10 (64-bit)", True)),
        *(("Microsoft Windows Server 2012 (64-bit)", False), ("Ubuntu Linux (64-bit)", False)),
        ("Microsoft Windows Server 2025 (64-bit)", True),
    ],
)
def test_guests_that_forklift_supports(os: str, supported: bool) -> None:
    one = [each for each in findings(vm(guest_os=os), Context("openshift")) if each.rule == "vmware.os.unsupported"]
    assert bool(one) is not supported


def test_the_order_is_blockers_first_and_known_before_unknown() -> None:
    some = disk(raw="physical")
    order = [(SEVERITIES.index(each.severity), not each.is_known) for each in findings(some, Context("proxmox"))]
    assert order == sorted(order)
    assert order[0] == (0, False)


@pytest.mark.parametrize("target", TARGETS)
def test_the_file_of_a_target(target: Target) -> None:
    data = yaml.safe_load((FOLDER / f"{target}.yaml").read_text())
    assert set(data) == {"sources", "rules", "addresses", "rollback"}
    beside = [*data["addresses"]["mac"], *data["addresses"]["ip"], *data["rollback"]]
    assert {entry["source"] for entry in (*data["rules"].values(), *beside)} == set(data["sources"])
    for entry in beside:
        for sentence in re.split(r"(?<=[.!?]) ", f"{entry['text']} {entry.get('unchecked', '')}"):
            assert len(sentence.split()) <= 25, sentence
    for name, entry in data["rules"].items():
        optional = {"before", "unchecked", "parameters"}
        assert {"severity", "condition", "consequence", "source"} <= set(entry) <= {*Rule.__dataclass_fields__} - {"id"}
        assert set(entry) - {"severity", "condition", "consequence", "source"} <= optional
        assert entry["severity"] in SEVERITIES
        assert entry["condition"] in conditions.CONDITIONS
        assert entry["severity"] != "blocks" or entry.get("before"), name
        assert entry["consequence"].endswith(".")
        for text in (entry["consequence"], entry.get("before", ""), entry.get("unchecked", "")):
            for sentence in re.split(r"(?<=[.!?]) ", text):
                assert len(sentence.split()) <= 25, (name, sentence)
    for source in data["sources"].values():
        assert re.search(r"[0-9a-f]{8}|\(20[0-9]{2}", source), source


def test_every_condition_is_used_and_says_where_its_facts_are() -> None:
    assert {rule.condition for _, rule in ALL} == set(conditions.CONDITIONS) == set(CASES)
    assert {fact for needs in conditions.NEEDS.values() for fact in needs} <= set(facts.WHERE)
    assert set(TITLES) == set(TARGETS)


def test_the_rules_of_forklift_are_complete() -> None:
    """All of its 29 rules except the two whose facts no inventory has."""
    ids = [rule.id for rule in rules("openshift") if rule.id.startswith("vmware.")]
    assert len(ids) == len(set(ids)) == 27
