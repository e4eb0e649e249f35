"""Answers of Prism Central's v4 API: each field, pages, policies, statistics, other releases, and broken ones."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.estate import make, nutanix
from tests.estate.agreement import agrees, imported
from tests.estate.nutanix import SCHEMA, Answers, identity
from tests.estate.truth import Estate, Hardware
from tests.python.ingest import hostile
from tests.python.ingest.nutanix import test_prism

from hypertwin.ingest import export_files
from hypertwin.ingest.inventory import Inventory, Rule, Vm
from hypertwin.ingest.nutanix import prism, prism_v4

GIB = 2**30
CROOKED = tuple(
    Hardware(
        f"Intel(R) Xeon(R) Gold 62{20 + at} CPU @ {2.1 + at / 10:.2f}GHz",
        1 + at % 3,
        8 + 2 * at,
        2_100 + 100 * at,
        96 + 48 * at,
    )
    for at in range(7)
)
"""No two hosts alike."""
HOSTS = "clustermgmt/config/hosts"
EIGHT = {"numSockets": 4, "numCoresPerSocket": 2, "numThreadsPerCore": 1}
VMS = "vmm/ahv/config/vms"
STATS = "vmm/ahv/stats/vms"


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Inventory]:
    def inventory(answers: Answers, *, limit: int = 100, more: Mapping[str, Any] = {}) -> Inventory:
        return hostile.read(tmp_path / "answers", {**paged(answers, limit), **more})

    return inventory


def paged(answers: Answers, limit: int = 100) -> dict[str, Any]:
    """The pages of answers, by file."""
    return {
        f"{number}-{page}.json": answer
        for number, (path, data) in enumerate(answers.items())
        for page, answer in enumerate(nutanix.pages(path, data, limit))
    }


def small(**knobs: Any) -> tuple[Estate, Answers]:
    """An estate of two hosts, and its answers."""
    estate = make(4, hosts=2, vms=8, fill=0.3)
    return estate, nutanix.answers(estate, **knobs)


def files() -> dict[str, Any]:
    """Short answers of each kind, by file: a host with a controller VM, a VM with statistics, and policies."""
    estate = make(4, hosts=1, vms=1, fill=0.1, off=0)
    answers = nutanix.answers(estate, cvms=True)
    rack, vm, host = nutanix.category("rack", [estate.hosts[0].name]), estate.vms[0].name, estate.hosts[0]
    answers[VMS][0] = nutanix.in_categories(answers[VMS][0], "rack")
    del answers[STATS][0]["stats"][4:]
    of_host = answers[
        f"clustermgmt/stats/clusters/{identity('cluster', host.cluster)}/hosts/{identity('host', host.name)}"
    ]
    for figures in of_host.values():
        if isinstance(figures, list):
            del figures[3:]
    answers["prism/config/categories"] = [rack]
    answers["vmm/ahv/policies/1"] = [
        nutanix.policy("VmHostAffinityPolicy", "a", vmCategories=[rack["extId"]], hostCategories=[rack["extId"]])
    ]
    answers["vmm/ahv/policies/2"] = [nutanix.policy("VmAntiAffinityPolicy", "b", categories=[rack["extId"]])]
    answers["vmm/ahv/policies/3"] = [nutanix.policy("LegacyVmAntiAffinityPolicy", "c", vms=[identity("vm", vm)])]
    return {f"{at}.json": next(nutanix.pages(path, data)) for at, (path, data) in enumerate(answers.items())}


def of(found: Inventory, name: str) -> Vm:
    return next(vm for vm in found.vms if vm.name == name)


def changed(answers: Answers, path: str, at: int = 0, **fields: Any) -> Answers:
    """The same answers with other fields of an entity; a field that is None is left out."""
    made = copy.deepcopy(answers)
    entity = {**made[path][at], **fields}
    made[path][at] = {key: value for key, value in entity.items() if value is not None}
    return made


# ---- what it says


def test_fields_of_hosts_vms_and_storage(read) -> None:
    estate, answers = small(cvms=True)
    found = read(answers)
    for host in estate.hosts:
        got = next(each for each in found.hosts if each.name == host.name)
        assert (got.sockets, got.cores_per_socket, got.threads_per_core) == (
            host.hardware.sockets,
            host.hardware.cores_per_socket,
            2,
        )
        assert (got.memory_bytes, got.clock_hz) == (host.memory_mib * 2**20, host.hardware.clock_mhz * 1e6)
        assert (got.hypervisor, got.cluster, got.cpu_model) == ("AHV 10.0.1.4", host.cluster, host.hardware.cpu_model)
        assert (got.in_maintenance, got.over_s, got.counter) == (False, 345_600, "hypervisorCpuUsagePpm, means of 1 h")
        assert got.cpu_usage_pct == pytest.approx(host.cpu_pct, rel=1e-4)
        assert got.cpu_p95_pct == pytest.approx(1.5 * host.cpu_pct, rel=1e-4)
        assert got.cpu_peak_pct is None, "the highest mean is no peak"
        assert got.memory_usage_pct == pytest.approx(host.memory_pct, rel=1e-4)
        cvm = of(found, f"NTNX-{host.name}-CVM")
        assert (cvm.vcpus, cvm.memory_bytes, cvm.host) == (nutanix.CVM_VCPUS, nutanix.CVM_GIB * GIB, host.name)
        assert (cvm.storage_appliance, cvm.powered_on) == (True, True)
    clocks = {host.name: host.hardware.clock_mhz for host in estate.hosts}
    for vm in estate.vms:
        got = of(found, vm.name)
        assert (got.vcpus, got.memory_bytes, got.powered_on) == (vm.vcpus, vm.memory_mib * 2**20, vm.on)
        assert (got.host, got.cluster) == (vm.host if vm.on else None, vm.cluster)
        store = f"default {vm.cluster}"
        assert [(disk.capacity_bytes, disk.datastore) for disk in got.disks] == [(40 * GIB, store), (7 * GIB, store)]
        assert got.storage_provisioned_bytes == 47 * GIB
        if vm.on:
            assert got.demand.cpu_mhz == pytest.approx(vm.demand_mhz, rel=1e-3)
            assert got.demand.cpu_p95_mhz == pytest.approx(1.5 * vm.demand_mhz, rel=1e-3)
            assert got.demand.cpu_p95_mhz <= 1.5 * vm.vcpus * clocks[vm.host]
            assert (got.demand.iops, got.demand.over_s) == (9, 345_600)
            assert got.demand.at == nutanix.time(95)
    pool, container = found.datastores
    assert (pool.capacity_bytes, pool.free_bytes, pool.clusters) == (
        2 * 10**12,
        14 * 10**11,
        (estate.clusters[0].name,),
    )
    assert (container.name, container.kind) == (f"default {estate.clusters[0].name}", "Nutanix container")
    assert not found.gaps
    (cluster,) = found.clusters
    assert (cluster.ha, cluster.cpu_mhz) == (True, None), "controller VMs have no statistics, so there is no sum"
    assert [each.text for each in found.assumptions if "HA" in each.text]


def test_vms_added_up_at_the_same_times(read) -> None:
    estate, answers = small()
    (cluster,) = read(answers).clusters
    total = sum(vm.demand_mhz for vm in estate.on)
    assert cluster.cpu_mhz == pytest.approx(total, rel=1e-3)
    assert cluster.cpu_p95_mhz == pytest.approx(1.5 * total, rel=1e-3)
    assert cluster.counter == f"hypervisorCpuUsagePpm, means of 1 h, of {len(estate.on)} guests added up"


@pytest.mark.parametrize("seed", range(3))
def test_a_crooked_estate_is_the_truth(tmp_path: Path, seed: int) -> None:
    estate = make(seed, hosts=7, vms=90, hardware=CROOKED, clusters=("Production", "Edge (old)"), fill=0.5)
    assert len({(host.cores, host.hardware.clock_mhz, host.memory_mib) for host in estate.hosts}) == 7
    agrees(imported(nutanix.write(estate, tmp_path / "n", limit=13)), estate)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"hypervisor": {"type": "ESX"}}, {"hypervisor": "VMware ESXi"}),
        ({"hypervisor": {"type": "HYPERV"}}, {"hypervisor": "Microsoft Hyper-V"}),
        (
            {"hypervisor": {"type": "AHV", "state": "ENTERED_MAINTENANCE_MODE"}},
            {"in_maintenance": True, "hypervisor": "Nutanix AHV"},
        ),
        (
            {"hypervisor": {"type": "AHV", "state": "ACROPOLIS_NORMAL", "acropolisConnectionState": "DISCONNECTED"}},
            {"in_maintenance": True, "cpu_usage_pct": None},
        ),
        (
            {"numberOfCpuThreads": 40, "numberOfCpuCores": 40, "numberOfCpuSockets": 2},
            {"threads_per_core": 1, "cores_per_socket": 20},
        ),
        ({"cpuFrequencyHz": None, "cpuCapacityHz": 80 * 10**9, "numberOfCpuCores": 40}, {"clock_hz": 2e9}),
    ],
)
def test_fields_of_a_host(read, fields, expected) -> None:
    estate, answers = small()
    found = read(changed(answers, HOSTS, **fields))
    host = next(each for each in found.hosts if each.name == estate.hosts[0].name)
    assert {key: getattr(host, key) for key in expected} == expected


@pytest.mark.parametrize(("fields", "expected", "said"), [
    ({"numSockets": 2, "numCoresPerSocket": 3, "numThreadsPerCore": 2}, {"vcpus": 12, "cores_per_socket": 6}, ""),
    (EIGHT | {"numNumaNodes": 2}, {"numa": {"cells": [4, 4]}}, ""),
    (EIGHT | {"numNumaNodes": 3}, {"numa": {}}, ""),
    ({"isAgentVm": True}, {"restart_priority": "disabled"}, ""),
    ({"isVcpuHardPinningEnabled": True}, {"affinity": None}, "pinned"),
    ({"isMemoryOvercommitEnabled": True}, {"balloon": None}, "memory overcommit is on"),
    ({"powerState": "PAUSED"}, {"powered_on": False}, "paused: counted as powered off"),
    ({"powerState": "UNDETERMINED"}, {"powered_on": False}, "undetermined"),
    ({"guestTools": {"guestOsVersion": "Ubuntu 22.04"}}, {"guest_os": "Ubuntu 22.04"}, ""),
    ({"guestTools": {"guestInfo": {"guestOsFullName": "RHEL 9"}, "guestOsVersion": "x"}}, {"guest_os": "RHEL 9"}, ""),
    ({"disks": [{"backingInfo": {"volumeGroupExtId": "v"}}]}, {"disks": ()}, "volume groups are not imported"),
])  # fmt: skip
def test_fields_of_a_vm(read, fields, expected, said) -> None:
    _, answers = small()
    found = read(changed(answers, VMS, 1, **fields))
    vm = of(found, answers[VMS][1]["name"])
    assert {key: getattr(vm, key) for key in expected} == expected
    assert any(said in each.text for each in found.assumptions if vm.name in each.subject) == bool(said)


def test_vms_of_esxi(read) -> None:
    estate, answers = small(hypervisor="ESX")
    found = read(answers)
    assert {vm.guest_os for vm in found.vms} == {"Ubuntu Linux (64-bit)"}
    assert {vm.name: vm.vcpus for vm in found.vms} == {vm.name: vm.vcpus for vm in estate.vms}
    assert found.clusters[0].ha is None, "vSphere HA is not in these answers"


def test_storage_only_nodes_and_prism_central_run_no_vms(read) -> None:
    estate, answers = small(cvms=True)
    found = read(changed(answers, HOSTS, hostType="STORAGE_ONLY"))
    assert [host.name for host in found.hosts] == [estate.hosts[1].name]
    assert not [vm for vm in found.vms if vm.name == f"NTNX-{estate.hosts[0].name}-CVM"]
    left_out = [each.subject for each in found.assumptions if "only storage" in each.text]
    assert left_out == [f"host {estate.hosts[0].name}"]
    assert not [each for each in found.assumptions if "pc" in each.subject]


# ---- policies


def test_policies_are_rules(read) -> None:
    estate, answers = small()
    first, second, third = (vm.name for vm in estate.on[:3])
    vms = {vm["name"]: at for at, vm in enumerate(answers[VMS])}
    for name, categories in ((first, ("db", "licensed")), (second, ("db",)), (third, ("web",))):
        answers[VMS][vms[name]] = nutanix.in_categories(answers[VMS][vms[name]], *categories)
    db, licensed, web, rack = (identity("category", each) for each in ("db", "licensed", "web", "rack"))
    host = estate.hosts[0].name
    answers["prism/config/categories"] = [nutanix.category("rack", [host], [third]), nutanix.category("db")]
    answers["vmm/ahv/policies/vm-host-affinity-policies"] = [
        nutanix.policy("VmHostAffinityPolicy", "licences", vmCategories=[licensed], hostCategories=[rack])
    ]
    answers["vmm/ahv/policies/vm-anti-affinity-policies"] = [
        nutanix.policy("VmAntiAffinityPolicy", "db apart", categories=[db]),
        nutanix.policy("VmAntiAffinityPolicy", "both", categories=[db, web]),
    ]
    answers["vmm/ahv/policies/legacy-vm-anti-affinity-policies"] = [
        nutanix.policy("LegacyVmAntiAffinityPolicy", "old", vms=[identity("vm", first), identity("vm", third), "gone"])
    ]
    found = read(answers)
    names = [vm["name"] for vm in answers[VMS]]
    order = lambda *listed: tuple(sorted(listed, key=names.index))  # noqa: E731
    rules = {rule.name: rule for rule in found.rules}
    assert rules["licences"] == Rule("licences", "run-on", (first,), (host,), mandatory=True)
    assert rules["db apart"] == Rule("db apart", "keep-apart", order(first, second))
    assert set(rules["both"].vms) == {first, second, third}
    assert rules["old"] == Rule("old", "keep-apart", (first, third))
    assert [each.subject for each in found.assumptions if "categories together" in each.text] == ["policy both"]
    assert not found.gaps or {gap.costs for gap in found.gaps} == {prism_v4.NEEDED["cvms"]}


@pytest.mark.parametrize("categories", [[], [{**nutanix.category("rack"), "detailedAssociations": None}]])
def test_hosts_of_a_policy_need_the_categories(read, categories) -> None:
    _, answers = small()
    rack = identity("category", "rack")
    answers["vmm/ahv/policies/vm-host-affinity-policies"] = [
        nutanix.policy("VmHostAffinityPolicy", "licences", vmCategories=[rack], hostCategories=[rack])
    ]
    answers["prism/config/categories"] = [{k: v for k, v in each.items() if v is not None} for each in categories]
    found = read(answers)
    assert "config/categories?$expand=detailedAssociations" in {gap.what for gap in found.gaps}
    assert found.rules[0].hosts == ()


# ---- files


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_pages_of_any_size_are_the_same(read, limit) -> None:
    _, answers = small(cvms=True)
    whole, paged = read(answers), read(answers, limit=limit)
    assert (whole.hosts, whole.vms, whole.datastores) == (paged.hosts, paged.vms, paged.datastores)
    assert not [each for each in paged.assumptions if "pages" in each.text]


def test_missing_pages_are_said(read) -> None:
    _, answers = small()
    pages = list(nutanix.pages(VMS, answers.pop(VMS), 4))
    found = read(answers, more={"vms.json": pages[0]})
    assert [each.text for each in found.assumptions if "pages" in each.text] == [
        "4 of 9 vms are in the files: the other pages are missing"
    ]


def test_one_file_with_all_answers(tmp_path: Path) -> None:
    estate, answers = small()
    bundle = [page for path, data in answers.items() for page in nutanix.pages(path, data, 5)]
    (tmp_path / "all.json").write_text(json.dumps(bundle))
    agrees(imported(tmp_path / "all.json"), estate)


def test_v2_beside_v4_adds_ha_and_controllers(read) -> None:
    estate, answers = small()
    ha = {"failover_enabled": True, "num_host_failures_to_tolerate": 1, "reservation_type": "RESERVE_SEGMENTS"}
    cvm = {**test_prism.CVM, "hostName": estate.hosts[0].name}
    found = read(answers, more={"ha.json": ha, "used.json": {"entities": [cvm]}})
    assert (found.clusters[0].ha, found.clusters[0].failures) == (True, 1)
    assert [vm.name for vm in found.vms if vm.storage_appliance] == [cvm["vmName"]]
    assert not [each for each in found.assumptions if "HA" in each.text]


def test_an_error_response_is_said(read) -> None:
    _, answers = small()
    error = {"data": {"$objectType": "clustermgmt.v4.error.ErrorResponse", "error": [{"message": "secret"}]}}
    found = read(answers, more={"cvms.json": error})
    assert [each.text for each in found.assumptions if "cvms.json" in each.text] == [
        "cvms.json is an error of Prism Central: left out"
    ]
    assert "config/clusters/ID/cvms (v4.2 and later)" in {gap.what for gap in found.gaps}


def test_without_statistics_the_gaps_say_where_they_are(read) -> None:
    _, answers = small(stats=False)
    found = read(answers)
    assert {gap.what: gap.costs for gap in found.gaps} == {
        "config/clusters/ID/cvms (v4.2 and later)": "controller VMs: their CPU and memory on each host",
        "ahv/stats/vms": "measured demand",
        "stats/clusters/ID/hosts/ID": "CPU usage of hosts",
    }
    assert all(vm.demand is None for vm in found.vms)


# ---- statistics


def test_statistics_without_times_are_a_mean(read) -> None:
    _, answers = small()
    for vm in answers[STATS]:
        vm["stats"] = [{"hypervisorCpuUsagePpm": ppm} for ppm in (100_000, 300_000)]
    found = read(answers)
    clocks = {host.name: host.clock_hz for host in found.hosts}
    for vm in found.vms:
        if vm.powered_on:
            assert vm.demand.cpu_mhz == pytest.approx(0.2 * vm.vcpus * clocks[vm.host] / 1e6)
            assert (vm.demand.over_s, vm.demand.cpu_p95_mhz) == (None, None)
            assert vm.demand.over == "hypervisorCpuUsagePpm, without times"


@pytest.mark.parametrize("bad", [-1, None, "x", 10**9, [], {"value": 3}])
def test_values_that_are_none_do_not_count(read, bad) -> None:
    estate, answers = small()
    first = answers[STATS][0]
    first["stats"][5]["hypervisorCpuUsagePpm"] = bad
    first["stats"][6]["timestamp"] = "yesterday"
    for host in estate.hosts:
        path = f"clustermgmt/stats/clusters/{identity('cluster', host.cluster)}/hosts/{identity('host', host.name)}"
        answers[path]["hypervisorCpuUsagePpm"][3]["value"] = bad
    found = read(answers)
    assert sum(vm.demand is not None for vm in found.vms) == len(estate.on)
    name = next(vm["name"] for vm in answers[VMS] if vm["extId"] == first["extId"])
    assert of(found, name).demand.over_s == 94 * 3_600
    assert all(host.over_s == 95 * 3_600 for host in found.hosts)


def test_the_statistics_of_a_host_can_be_known_by_their_address(read) -> None:
    _, answers = small()
    for path, data in answers.items():
        if "/stats/clusters/" in path:
            del data["extId"]
    assert all(host.cpu_usage_pct is not None for host in read(answers).hosts)


# ---- the published fields


class Reading(dict[str, Any]):
    """An object that only knows the published fields of its type."""

    def __init__(self, found: Mapping[str, Any], kind: str) -> None:
        super().__init__(found)
        self.kind = kind

    def _known(self, key: str) -> None:
        known = SCHEMA.get(self.kind, {}).keys()
        if self.kind.endswith(".VmDisk"):  # the disk of a VM is one or the other
            known |= SCHEMA["vmm.v4.ahv.config.ADSFVolumeGroupReference"].keys()
        assert self.kind == "object" or key.startswith("$") or key in known, f"{self.kind} has no {key}"

    def get(self, key: str, default: Any = None) -> Any:
        self._known(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self._known(str(key))
        return super().__contains__(key)


def reading(value: Any, kind: str) -> Any:
    """The same value, whose objects only know their published fields."""
    if isinstance(value, list):
        first = next((each.get("$objectType") for each in value if isinstance(each, dict)), None)
        return [reading(each, (first or kind).strip("[]")) for each in value]
    if not isinstance(value, dict):
        return value
    own = value.get("$objectType", kind)
    fields = SCHEMA.get(own, {})
    return Reading({key: reading(each, fields.get(key, "object")) for key, each in value.items()}, own)


@pytest.mark.parametrize("knobs", [{"cvms": True}, {"hypervisor": "ESX"}])
def test_the_reader_only_reads_published_fields(knobs: dict[str, Any]) -> None:
    _, answers = small(**knobs)
    policies = {
        "VmHostAffinityPolicy": {"vmCategories": ["a"], "hostCategories": ["b"]},
        "VmAntiAffinityPolicy": {"categories": ["a"]},
        "LegacyVmAntiAffinityPolicy": {"vms": ["a"]},
    }
    for kind, members in policies.items():
        answers[f"vmm/ahv/policies/{kind}"] = [nutanix.policy(kind, "x", **members)]
    answers["prism/config/categories"] = [nutanix.category("rack", ["esx-01"])]
    store = prism.Answers()
    for path, data in answers.items():
        for page in nutanix.pages(path, data):
            found = {"data": reading(page["data"], "object"), "metadata": reading(page["metadata"], "object")}
            prism.take(Reading(found, "object"), "x", store)
    assert prism.inventory(store, "x").vms


def test_each_field_of_the_tables_is_published() -> None:
    for kind, (_, fields) in prism_v4.FIELDS.items():
        for ways in fields.values():
            for way in ways.split("|"):
                assert _is_published(kind, way.split("/")), f"{kind} has no {way}"
    for kind, members in prism_v4.MEMBERS.items():
        assert set(members.values()) <= SCHEMA[kind].keys()
    for kind, metrics in prism_v4.STATS.items():
        own = kind if kind.endswith(".HostStats") else f"{kind}Tuple"
        assert set(metrics.values()) <= SCHEMA[own].keys()
    disk, backing = SCHEMA["vmm.v4.ahv.config.Disk"], ("VmDisk", "ADSFVolumeGroupReference")
    for way in prism_v4.DISK.values():
        first, *rest = way.split("/")
        assert first in disk
        kinds = [disk[first]] if "." in disk[first] else [f"vmm.v4.ahv.config.{each}" for each in backing]
        assert any(_is_published(kind, rest) for kind in kinds), way
    assert prism_v4.STORAGE_ONLY in SCHEMA["clustermgmt.v4.config.Host"]["hostType"].split("|")
    assert set(prism._SLEEPING) <= {
        state for family in ("ahv", "esxi") for state in SCHEMA[f"vmm.v4.{family}.config.Vm"]["powerState"].split("|")
    }


def _is_published(kind: str, way: list[str]) -> bool:
    for key in way:
        if key not in SCHEMA.get(kind, {}):
            return False
        kind = SCHEMA[kind][key].strip("[]")
    return True


# ---- what is wrong


HOSTILE = hostile.Importer(
    wrong=[
        (paged(changed(small()[1], path, **fields)), words)
        for path, fields, words in (
            (HOSTS, {"numberOfCpuCores": 10**9}, "num_cpu_cores"),
            (HOSTS, {"numberOfCpuSockets": 99}, "99 sockets"),
            (VMS, {"numSockets": 10**9}, "num_vcpus"),
            (VMS, {"numSockets": "many"}, "num_vcpus"),
            (VMS, {"numSockets": None}, "num_vcpus"),
            (VMS, {"numThreadsPerCore": 2**50}, "num_vcpus"),
        )
    ]
    + [(paged({VMS: small()[1][VMS]}), "no host with cores and memory")],
    limits={(export_files, "MOST_FILES"): 2, (prism, "MOST_ENTITIES"): 1},
    good=lambda: [files()],
)
