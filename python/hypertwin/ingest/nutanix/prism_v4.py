"""Entities of Prism Central's v4 API with the names of v2.0, and the measurements of its statistics.

Fields: models of nutanix/ntnx-api-golang-clients, generated from the published OpenAPI, v4.0.1 to v4.3.1 (namespaces
clustermgmt, vmm and prism). Shape: responses published with DataDog/integrations-core (nutanix/tests/fixtures). In a
list, only the first of equal objects has `$objectType`. A tuple of VM statistics without values holds other facts.
`...Ppm` are millionths: of a VM's vCPUs, or of a host. `numSockets` x `numCoresPerSocket` x `numThreadsPerCore` are the
vCPUs of a VM. `numNumaNodes` is 0 without virtual NUMA. Controller VMs have a list of their own from v4.2.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from hypertwin.ingest import cpu_series, field_table
from hypertwin.ingest.cpu_series import Series
from hypertwin.ingest.json_fields import Fields, below, number, objects, text, whole

MAX_DISKS = 1_000
MAX_MEMBERS = 20_000
"""Maximum number of categories of an entity, and of members of a policy or category."""

_IDENTITY = {"uuid": "extId", "name": "name"}
_VM = {
    **_IDENTITY,
    "host_uuid": "host/extId",
    "cluster_uuid": "cluster/extId",
    "power_state": "powerState",
    "num_cores_per_vcpu": "numCoresPerSocket",
    "memory_bytes": "memorySizeBytes",
}
FIELDS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "clustermgmt.v4.config.Cluster": ("clusters", {**_IDENTITY, "functions": "config/clusterFunction"}),
        "clustermgmt.v4.config.Host": (
            "hosts",
            {
                "uuid": "extId",
                "name": "hostName",
                "cluster_uuid": "cluster/uuid",
                "cluster_name": "cluster/name",
                "num_cpu_sockets": "numberOfCpuSockets",
                "num_cpu_cores": "numberOfCpuCores",
                "num_cpu_threads": "numberOfCpuThreads",
                "cpu_model": "cpuModel",
                "cpu_frequency_in_hz": "cpuFrequencyHz",
                "cpu_capacity_in_hz": "cpuCapacityHz",
                "memory_capacity_in_bytes": "memorySizeBytes",
                "hypervisor_full_name": "hypervisor/fullName",
                "hypervisor_type": "hypervisor/type",
                "hypervisor_state": "hypervisor/state",
                "acropolis_connection_state": "hypervisor/acropolisConnectionState",
                "state": "maintenanceState",
                "host_type": "hostType",
            },
        ),
        "clustermgmt.v4.config.StorageContainer": (
            "containers",
            {"uuid": "containerExtId|extId", "name": "name", "cluster_uuid": "clusterExtId"},
        ),
        "clustermgmt.v4.config.Cvm": (
            "cvms",
            {
                **_IDENTITY,
                "vcpus": "numVcpus",
                "memory_bytes": "memorySizeBytes",
                "host_uuid": "nodeExtId",
                "cluster_uuid": "clusterExtId",
            },
        ),
        "vmm.v4.ahv.config.Vm": (
            "vms",
            {
                **_VM,
                "num_vcpus": "numSockets",
                "threads_per_core": "numThreadsPerCore",
                "numa_nodes": "numNumaNodes",
                "guest_os": "guestTools/guestInfo/guestOsFullName|guestTools/guestOsVersion",
                "is_agent_vm": "isAgentVm",
                "is_pinned": "isVcpuHardPinningEnabled",
                "overcommits_memory": "isMemoryOvercommitEnabled",
            },
        ),
        "vmm.v4.esxi.config.Vm": ("vms", {**_VM, "vcpus": "numCpus", "guest_os": "guestOsName"}),
        "vmm.v4.ahv.policies.VmHostAffinityPolicy": ("policies", _IDENTITY),
        "vmm.v4.ahv.policies.VmAntiAffinityPolicy": ("policies", _IDENTITY),
        "vmm.v4.ahv.policies.LegacyVmAntiAffinityPolicy": ("policies", _IDENTITY),
        "prism.v4.config.Category": ("categories", {"uuid": "extId"}),
    }
)
"""Kind of an entity by its `$objectType`, and its fields: v2.0's name, and the path in v4, or several in order."""
MEMBERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vmm.v4.ahv.config.Vm": {"categories": "categories"},
        "vmm.v4.ahv.policies.VmHostAffinityPolicy": {
            "vm_categories": "vmCategories",
            "host_categories": "hostCategories",
        },
        "vmm.v4.ahv.policies.VmAntiAffinityPolicy": {"vm_categories": "categories"},
        "vmm.v4.ahv.policies.LegacyVmAntiAffinityPolicy": {"vms": "vms"},
    }
)
"""Lists of references of an entity, by its `$objectType`."""
DISK: Mapping[str, str] = MappingProxyType(
    {
        "size": "backingInfo/diskSizeBytes",
        "storage_container_uuid": "backingInfo/storageContainer/extId",
        "volume_group_uuid": "backingInfo/volumeGroupExtId",
        "device_bus": "diskAddress/busType",
    }
)
STATS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "vmm.v4.ahv.stats.VmStats": {"cpu": "hypervisorCpuUsagePpm", "iops": "controllerNumIops"},
        "vmm.v4.esxi.stats.VmStats": {"cpu": "hypervisorCpuUsagePpm", "iops": "controllerNumIops"},
        "clustermgmt.v4.stats.HostStats": {
            "cpu": "hypervisorCpuUsagePpm",
            "memory": "aggregateHypervisorMemoryUsagePpm",
            "storage.capacity_bytes": "storageCapacityBytes",
            "storage.usage_bytes": "storageUsageBytes",
        },
    }
)
"""Metrics by the `$objectType` of statistics. Those of VMs are tuples, those of hosts one list each."""
NEEDED: Mapping[str, str] = MappingProxyType(
    {
        "clusters": "names of clusters",
        "storage-containers": "names of storage containers",
        "cvms": "controller VMs: their CPU and memory on each host",
        "stats/vms": "measured demand",
        "stats/hosts": "CPU usage of hosts",
        "policies": "placement rules",
        "categories": "hosts of VM-host affinity policies",
        "vms": "VMs",
    }
)
"""Results that need a response."""
STORAGE_ONLY = "STORAGE_ONLY"
"""Type of a host that runs no VMs but its controller VM."""
PRISM_CENTRAL = "PRISM_CENTRAL"
"""Function of a cluster that is Prism Central itself."""
_TYPE = re.compile(rb'"\$objectType"\s{0,9}:\s{0,9}"(clustermgmt|vmm|prism)\.v4\.')

Samples = Sequence[tuple[float | None, float]]
"""Values with their times in seconds of Unix time, in order, or None for an unknown time."""


@dataclass(frozen=True)
class Usage:
    """Measured use of a VM or host."""

    series: Series | None = None
    """Share of its vCPUs, or of the host, in each step."""
    cpu_ppm: float | None = None
    """Mean of the CPU use in millionths, or None if not measured."""
    counter: str = ""
    """Name of the CPU use in the source."""
    memory_ppm: float | None = None
    iops: float | None = None
    storage: Mapping[str, float] = field(default_factory=dict)
    """Last size and use of a host's storage in bytes, by the names of v2.0."""


def recognises(head: bytes) -> bool:
    """True for JSON with the types of v4's entities."""
    return _TYPE.search(head) is not None


def items(answer: Any) -> Iterator[tuple[str, Fields]]:
    """Yield the objects of a response, each with its type. Objects without a type have that of the object before."""
    data = answer.get("data") if isinstance(answer, dict) and "data" in answer else answer
    kind = ""
    for each in objects(data if isinstance(data, list) else [data]):
        kind = text(each.get("$objectType")) or kind
        yield kind, each


def is_response(answer: Any) -> bool:
    """True for a whole response, which has no `data` if its list is empty."""
    return text(below(answer, "metadata").get("$objectType")).startswith("common.v1.response.")


def total(answer: Any) -> int | None:
    """Return the number of entities that Prism Central has of a list."""
    return whole(below(answer, "metadata").get("totalAvailableResults"))


def has_more(answer: Any, seen: int) -> bool:
    """True if a list has more pages after this one, which ends with the entity of number `seen`."""
    if (count := total(answer)) is not None:
        return seen < count
    return any(each.get("rel") == "next" for each in objects(below(answer, "metadata").get("links")))


def is_error(kind: str) -> bool:
    """True for the type of an error response."""
    return kind.endswith(".error.ErrorResponse")


def entity(kind: str, item: Fields) -> tuple[str, dict[str, Any]] | None:
    """Return the kind of an entity and its fields with v2.0's names, or None for other objects."""
    if kind not in FIELDS:
        return None
    store, fields = FIELDS[kind]
    found = field_table.values(item, fields)
    found |= {name: _ids(item.get(key)) for name, key in MEMBERS.get(kind, {}).items()}
    if store == "vms":
        found["vm_disk_info"] = [_disk(each) for each in objects(item.get("disks"))[:MAX_DISKS]]
        threads, cores = whole(found.get("threads_per_core")) or 1, whole(found.get("num_cores_per_vcpu"))
        found["num_cores_per_vcpu"] = cores * threads if cores is not None else None
    elif store == "cvms":
        found |= {"power_state": "on", "controller_vm": True}
    elif store == "policies":
        found["policy"] = kind.rpartition(".")[2]
    elif store == "categories":
        associated = objects(item.get("detailedAssociations"))[:MAX_MEMBERS]
        hosts = [text(each.get("resourceId")) for each in associated if each.get("resourceType") == "HOST"]
        found["hosts"] = hosts if "detailedAssociations" in item else None
    return store, found


def usage(kind: str, item: Fields, answer: Any) -> tuple[str, Usage]:
    """Return the ID of a VM or host and its measured use, from its statistics."""
    metrics = STATS[kind]
    if kind.endswith(".VmStats"):
        tuples = objects(item.get("stats"))[: cpu_series.MAX_STEPS]
        found = {
            name: _samples((each.get("timestamp"), each.get(key)) for each in tuples) for name, key in metrics.items()
        }
    else:
        pairs = {name: objects(item.get(key))[: cpu_series.MAX_STEPS] for name, key in metrics.items()}
        found = {
            name: _samples((each.get("timestamp"), each.get("value")) for each in listed)
            for name, listed in pairs.items()
        }
    cpu = [(at, ppm) for at, ppm in found["cpu"] if ppm <= 1e7]
    series = cpu_series.of_rows(((at, ppm / 1e6) for at, ppm in cpu if at is not None), metrics["cpu"])
    return text(item.get("extId")) or _linked(answer), Usage(
        series,
        _mean(cpu),
        metrics["cpu"],
        _mean([(at, ppm) for at, ppm in found.get("memory", ()) if ppm <= 1e7]),
        _mean(found.get("iops", ())),
        {name: values[-1][1] for name, values in found.items() if name.startswith("storage.") and values},
    )


def _linked(answer: Any) -> str:
    """Return the ID in the address of a response, if it does not have the ID itself."""
    links = objects(below(answer, "metadata").get("links"))
    own = next((text(each.get("href")) for each in links if each.get("rel") == "self"), "")
    found = re.search(r"/stats/[^?]{0,200}/(?:hosts|vms)/([0-9A-Za-z-]{1,64})(?:\?|$)", own[:2_000])
    return found[1] if found else ""


def _samples(pairs: Iterable[tuple[Any, Any]]) -> Samples:
    """Return the values of at least 0 of a metric, in the order of their times. -1 means no value."""
    found = [(_seconds(at), value) for at, raw in pairs if (value := number(raw)) is not None and value >= 0]
    return sorted(found, key=lambda sample: sample[0] or 0.0)


def _mean(samples: Samples) -> float | None:
    return math.fsum(value for _, value in samples) / len(samples) if samples else None


def _seconds(at: Any) -> float | None:
    """Return a time in ISO 8601 format as whole seconds of Unix time. It is UTC unless it has a zone."""
    try:
        found = datetime.fromisoformat(text(at)[:40])
        return float(int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()))
    except (ValueError, OverflowError):
        return None


def _disk(item: Fields) -> dict[str, Any]:
    found = field_table.values(item, DISK)
    return {**found, "disk_address": {"device_bus": found["device_bus"]}}


def _ids(references: Any) -> list[str]:
    listed = itertools.islice(objects(references), MAX_MEMBERS)
    return [found for each in listed if (found := text(each.get("extId")))]
