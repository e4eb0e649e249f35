"""The answers of Prism Central's v4 API about an estate, as files or by path.

Types and fields: `SCHEMA`, which was made of the models of github.com/nutanix/ntnx-api-golang-clients, the published
clients, v4.0.1 to v4.3.1. Shape, as recorded in DataDog/integrations-core (nutanix/tests/fixtures): of equal objects in
a list only the first has its type, statistics of hosts are newest first, and those of a VM begin with a tuple that has
no figures.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.estate.truth import Estate, Host, Vm

DATA = Path(__file__).parents[1] / "data" / "nutanix"
SCHEMA: Mapping[str, Mapping[str, str]] = json.loads((DATA / "schema.json").read_text())["types"]
"""Types of fields by `$objectType`; a list has its type in brackets, an enumeration its values."""
MIB = 2**20
FIRST_TIME = 1_790_000_000 - 1_790_000_000 % 3_600
STEPS_OF_DAY = 24
DAYS = 4
CVM_GIB = 32
CVM_VCPUS = 12
Answers = dict[str, Any]
"""What is at a path: the list of a list's entities, or one object."""


def identity(kind: str, name: str) -> str:
    """The UUID of an object."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{name}"))


def typed(kind: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its type; a field that the schema lacks, or of another type, is a mistake of this writer."""
    fields = SCHEMA[kind]
    for key, value in found.items():
        assert key in fields, f"{kind} has no {key}"
        assert _fits(value, fields[key]), f"{kind}.{key}: {value!r} is no {fields[key]}"
    return {"$objectType": kind, "$reserved": {"$fv": "v4.r1"}, **found}


def listed(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A list of equal objects, of which only the first has its type."""
    return [
        {key: value for key, value in each.items() if not at or not key.startswith("$")}
        for at, each in enumerate(found)
    ]


def _fits(value: Any, kind: str) -> bool:
    if kind.startswith("["):
        return isinstance(value, list) and all(_fits(each, kind[1:-1]) for each in value)
    if kind == "object" or "." in kind:
        return isinstance(value, dict) and (kind == "object" or value.get("$objectType", kind) == kind)
    if kind == "time":
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    plain = {"string": str, "integer": int, "boolean": bool}.get(kind)
    return isinstance(value, plain) if plain else value in kind.split("|")


def write(estate: Estate, folder: Path, *, limit: int = 100, **knobs: Any) -> Path:
    """The answers as files of a folder, a page each."""
    folder.mkdir(exist_ok=True)
    for path, data in answers(estate, **knobs).items():
        for number, answer in enumerate(pages(path, data, limit)):
            (folder / f"{re.sub('[^a-z0-9]+', '-', path)[:120]}-{number}.json").write_text(json.dumps(answer))
    return folder


def pages(path: str, data: Any, limit: int = 100) -> Iterator[dict[str, Any]]:
    """The answers to a path, `limit` entities in each."""
    if not isinstance(data, list):
        yield envelope(path, data)
        return
    for start in range(0, max(len(data), 1), limit):
        yield envelope(path, listed(data[start : start + limit]), len(data))


def envelope(path: str, data: Any, total: int | None = None) -> dict[str, Any]:
    """An answer; an empty list has no data, as Prism Central writes it."""
    link = typed("common.v1.response.ApiLink", {"rel": "self", "href": f"https://pc.example.com:9440/api/{path}"})
    metadata = {"links": [link], **({} if total is None else {"totalAvailableResults": total})}
    known = {} if data == [] else {"data": data}
    return {**known, "metadata": typed("common.v1.response.ApiResponseMetadata", metadata)}


def answers(
    estate: Estate, *, stats: bool = True, cvms: bool = False, hypervisor: str = "AHV", prism: bool = True
) -> Answers:
    """What is at each path, without the version of the API.

    `stats`: statistics of four days. `cvms`: a controller VM on each host, of v4.2. `prism`: Prism Central is itself
    among the clusters and hosts, as it is when asked for all.
    """
    hosts = [_host(host, hypervisor) for host in estate.hosts]
    clusters = [_cluster(cluster.name, hypervisor) for cluster in estate.clusters]
    if prism:
        clusters.append(_cluster("Unnamed", "", function="PRISM_CENTRAL"))
        hosts.append(_central())
    family = "esxi" if hypervisor == "ESX" else "ahv"
    of_vms = [_vm(vm, estate) if family == "ahv" else _esxi_vm(vm, estate) for vm in estate.vms]
    found: Answers = {
        "clustermgmt/config/clusters": clusters,
        "clustermgmt/config/hosts": hosts,
        "clustermgmt/config/storage-containers": [_container(cluster.name) for cluster in estate.clusters],
        f"vmm/{family}/config/vms": of_vms,
    }
    for cluster in estate.clusters if cvms else ():
        own = [_cvm(host) for host in estate.hosts if host.cluster == cluster.name]
        found[f"clustermgmt/config/clusters/{identity('cluster', cluster.name)}/cvms"] = own
    if stats:
        of_node = {host.name: host for host in estate.hosts}
        used = [vm for vm in estate.on if vm.demand_mhz is not None]
        found[f"vmm/{family}/stats/vms"] = [_vm_stats(vm, of_node[vm.host], family) for vm in used]
        for host in estate.hosts:
            where = f"{identity('cluster', host.cluster)}/hosts/{identity('host', host.name)}"
            found[f"clustermgmt/stats/clusters/{where}"] = _host_stats(host)
    return found


def history(mean: float) -> list[tuple[str, int]]:
    """Steps of an hour with this mean, as days with a busy half."""
    shape = [1.5 if step % STEPS_OF_DAY < STEPS_OF_DAY / 2 else 0.5 for step in range(DAYS * STEPS_OF_DAY)]
    return [(time(step), round(mean * part)) for step, part in enumerate(shape)]


def time(step: int) -> str:
    """The time of a step, as Prism Central writes it."""
    return datetime.fromtimestamp(FIRST_TIME + 3_600 * step, UTC).isoformat().replace("+00:00", "Z")


def category(value: str, hosts: Sequence[str] = (), vms: Sequence[str] = ()) -> dict[str, Any]:
    """A category with what is in it, by names."""
    own = identity("category", value)
    members = [("HOST", identity("host", name)) for name in hosts] + [("VM", identity("vm", name)) for name in vms]
    details = [
        typed(
            "prism.v4.config.AssociationDetail",
            {"categoryId": own, "resourceType": kind, "resourceGroup": "ENTITY", "resourceId": found},
        )
        for kind, found in members
    ]
    known = {"extId": own, "key": "Tier", "value": value, "detailedAssociations": listed(details)}
    return typed("prism.v4.config.Category", known)


def in_categories(vm: Mapping[str, Any], *values: str) -> dict[str, Any]:
    """The same VM in these categories."""
    kind = "vmm.v4.ahv.config.CategoryReference"
    own = [typed(kind, {"extId": identity("category", value)}) for value in values]
    return {**vm, "categories": listed(own)}


def policy(kind: str, name: str, **members: Sequence[str]) -> dict[str, Any]:
    """A policy, with the UUIDs of its categories or VMs by field."""
    of = {key: "VmReference" if key == "vms" else "CategoryReference" for key in members}
    found = {
        key: listed([typed(f"vmm.v4.ahv.policies.{of[key]}", {"extId": each}) for each in own])
        for key, own in members.items()
    }
    return typed(f"vmm.v4.ahv.policies.{kind}", {"extId": identity("policy", name), "name": name, **found})


def _cluster(name: str, hypervisor: str, function: str = "AOS") -> dict[str, Any]:
    types = {"hypervisorTypes": [hypervisor]} if hypervisor else {}
    config = {"clusterFunction": [function], "redundancyFactor": 2, "isAvailable": True, **types}
    return typed(
        "clustermgmt.v4.config.Cluster",
        {
            "extId": identity("cluster", name),
            "name": name,
            "config": typed("clustermgmt.v4.config.ClusterConfigReference", config),
            "vmCount": 3,
        },
    )


def _host(host: Host, hypervisor: str) -> dict[str, Any]:
    kind = host.hardware
    where = {"name": host.cluster, "uuid": identity("cluster", host.cluster)}
    full = {"AHV": "AHV 10.0.1.4", "ESX": "VMware ESXi 8.0.3", "HYPERV": "Microsoft Hyper-V"}[hypervisor]
    runs = {"fullName": full, "type": hypervisor, "state": "ACROPOLIS_NORMAL", "numberOfVms": 4, "userName": "root"}
    return typed(
        "clustermgmt.v4.config.Host",
        {
            "extId": identity("host", host.name),
            "hostName": host.name,
            "hostType": "HYPER_CONVERGED",
            "cluster": typed("clustermgmt.v4.config.ClusterReference", where),
            "numberOfCpuSockets": kind.sockets,
            "numberOfCpuCores": host.cores,
            "numberOfCpuThreads": 2 * host.cores,
            "cpuFrequencyHz": kind.clock_mhz * 10**6,
            "cpuModel": kind.cpu_model,
            "memorySizeBytes": host.memory_mib * MIB,
            "hypervisor": typed("clustermgmt.v4.config.HypervisorReference", runs),
            "maintenanceState": "normal",
            "nodeStatus": "NORMAL",
            "blockSerial": "18SM6F020100",
            "bootTimeUsecs": 1_760_438_848_602_121,
        },
    )


def _central() -> dict[str, Any]:
    """Prism Central among the hosts: a node without processors."""
    where = {"name": "Unnamed", "uuid": identity("cluster", "Unnamed")}
    cluster = typed("clustermgmt.v4.config.ClusterReference", where)
    return typed("clustermgmt.v4.config.Host", {"extId": identity("host", "pc"), "hostName": "pc", "cluster": cluster})


def _container(cluster: str) -> dict[str, Any]:
    return typed(
        "clustermgmt.v4.config.StorageContainer",
        {
            "containerExtId": identity("container", cluster),
            "clusterExtId": identity("cluster", cluster),
            "clusterName": cluster,
            "name": f"default {cluster}",
            "replicationFactor": 2,
            "maxCapacityBytes": 4 * 10**12,
            "isInternal": False,
        },
    )


def _cvm(host: Host) -> dict[str, Any]:
    return typed(
        "clustermgmt.v4.config.Cvm",
        {
            "extId": identity("cvm", host.name),
            "name": f"NTNX-{host.name}-CVM",
            "numVcpus": CVM_VCPUS,
            "memorySizeBytes": CVM_GIB * 1024 * MIB,
            "nodeExtId": identity("host", host.name),
            "clusterExtId": identity("cluster", host.cluster),
            "hypervisorType": "AHV",
        },
    )


def _sockets(vm: Vm) -> tuple[int, int, int]:
    """Sockets, cores and threads of a VM, of several forms."""
    forms = ((vm.vcpus, 1, 1), (1, vm.vcpus, 1), (vm.vcpus // 2, 1, 2), (vm.vcpus // 2, 2, 1))
    return forms[sum(map(ord, vm.name)) % 4] if vm.vcpus > 1 else forms[0]


def _vm(vm: Vm, estate: Estate) -> dict[str, Any]:
    package = "vmm.v4.ahv.config"
    sockets, cores, threads = _sockets(vm)
    return typed(
        f"{package}.Vm",
        {
            **_named(vm, package),
            "numSockets": sockets,
            "numCoresPerSocket": cores,
            "numThreadsPerCore": threads,
            "numNumaNodes": 0,
            "isAgentVm": False,
            "isCpuHotplugEnabled": True,
            "isVcpuHardPinningEnabled": False,
            "isMemoryOvercommitEnabled": False,
            "machineType": "PC",
            "generationUuid": identity("generation", vm.name),
            "cdRoms": [_cd(vm)],
        },
    )


def _esxi_vm(vm: Vm, estate: Estate) -> dict[str, Any]:
    package = "vmm.v4.esxi.config"
    own = {**_named(vm, package), "numCpus": vm.vcpus, "numCoresPerSocket": 1, "guestOsName": "Ubuntu Linux (64-bit)"}
    return typed(f"{package}.Vm", own)


def _named(vm: Vm, package: str) -> dict[str, Any]:
    host = typed(f"{package}.HostReference", {"extId": identity("host", vm.host)})
    return {
        "extId": identity("vm", vm.name),
        "name": vm.name,
        "powerState": "ON" if vm.on else "OFF",
        "memorySizeBytes": vm.memory_mib * MIB,
        "cluster": typed(f"{package}.ClusterReference", {"extId": identity("cluster", vm.cluster)}),
        **({"host": host} if vm.on and vm.told_host is not None else {}),
        "disks": listed([_disk(vm, package, "SCSI", 40), _disk(vm, package, "SCSI", 7)]),
    }


def _disk(vm: Vm, package: str, bus: str, gib: int) -> dict[str, Any]:
    where = typed(f"{package}.VmDiskContainerReference", {"extId": identity("container", vm.cluster)})
    backing = typed(f"{package}.VmDisk", {"diskSizeBytes": gib * 1024 * MIB, "storageContainer": where})
    address = typed(f"{package}.DiskAddress", {"busType": bus, "index": 0})
    own = identity("disk", f"{vm.name} {gib}")
    return typed(f"{package}.Disk", {"extId": own, "backingInfo": backing, "diskAddress": address})


def _cd(vm: Vm) -> dict[str, Any]:
    package = "vmm.v4.ahv.config"
    address = typed(f"{package}.CdRomAddress", {"busType": "IDE", "index": 0})
    backing = typed(f"{package}.VmDisk", {"diskSizeBytes": 378_880})
    return typed(f"{package}.CdRom", {"extId": identity("cd", vm.name), "diskAddress": address, "backingInfo": backing})


def _vm_stats(vm: Vm, host: Host, family: str) -> dict[str, Any]:
    assert vm.demand_mhz is not None
    package = f"vmm.v4.{family}.stats"
    ppm = 1e6 * vm.demand_mhz / vm.vcpus / host.hardware.clock_mhz
    facts = {"cluster": identity("cluster", vm.cluster), "hypervisorType": "kKvm", "timestamp": time(-300)}
    figures = [
        {"timestamp": at, "hypervisorCpuUsagePpm": value, "controllerNumIops": 9, "hypervisorMemoryUsagePpm": 10**6}
        for at, value in history(ppm)
    ]
    tuples = [typed(f"{package}.VmStatsTuple", each) for each in (facts, *figures)]
    return typed(f"{package}.VmStats", {"extId": identity("vm", vm.name), "stats": listed(tuples)})


def _host_stats(host: Host) -> dict[str, Any]:
    """The statistics of a host, newest first."""
    figures: dict[str, list[tuple[str, int]]] = {
        "storageCapacityBytes": [(time(0), 10**12)],
        "storageUsageBytes": [(time(1), 3 * 10**11), (time(0), 2 * 10**11)],
        "cpuCapacityHz": [(time(-9_000), host.cores * host.hardware.clock_mhz * 10**6)],
    }
    if host.cpu_pct is not None:
        figures["hypervisorCpuUsagePpm"] = history(1e4 * host.cpu_pct)[::-1]
    if host.memory_pct is not None:
        figures["aggregateHypervisorMemoryUsagePpm"] = history(1e4 * host.memory_pct)[::-1]
    pairs = {
        key: listed(
            [typed("clustermgmt.v4.stats.TimeValuePair", {"timestamp": at, "value": value}) for at, value in own]
        )
        for key, own in figures.items()
    }
    return typed("clustermgmt.v4.stats.HostStats", {"extId": identity("host", host.name), **pairs})
