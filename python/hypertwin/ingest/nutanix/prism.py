"""Nutanix clusters, from saved responses of Prism's REST APIs: lists of hosts, VMs, clusters and containers.

The fields of the entities identify a response, so files can have any names, and a list can have several pages. v1 uses
camelCase, v2.0 snake_case. Only v1 has controller VMs and the usage of VMs. Fields: nutanix.dev, api_reference (Prism
Element v2.0, Prism Central v3); responses published with demisto/content (Packs/NutanixHypervisor), client/v3 of
nutanix/terraform-provider-nutanix, and Checkmk's `prism_*` (`stats`: text, in millionths, -1 where there is none).
`cpu_capacity_in_hz` is cores x `cpu_frequency_in_hz`. `memory_mb` and `_mib` are MiB.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin.ingest import export_files, outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.inventory import (
    Assumption,
    Cluster,
    Datastore,
    Demand,
    Host,
    Inventory,
    Rule,
    VirtualDisk,
    Vm,
    grouped,
)
from hypertwin.ingest.json_fields import Fields, below, flag, name, number, objects, text, whole
from hypertwin.ingest.outside import Gap, refuse

MOST_ENTITIES = 20_000
MOST_VCPUS = 16_384
MIB = 2**20
HINT = "save the answers as docs/guides/import.md says"

_HEAD = re.compile(
    rb'"(num_cpu_cores|numCpuCores|num_cores_per_vcpu|numVCpus|num_vcpus_per_socket|memory_capacity_mib|'
    rb'num_host_failures_to_tolerate|storage_container_uuid|cluster_external_ipaddress)"'
)
_HYPERVISORS = {"kKvm": "Nutanix AHV", "kVMware": "VMware ESXi", "kHyperv": "Microsoft Hyper-V"}
_BUSES = {"nvme": "nvme"}
"""Controllers by bus. The SCSI controller of AHV has no name in scenarios."""
_USED_STATS = ("hypervisor_cpu_usage_ppm", "controller_num_iops")


@dataclass
class Answers:
    """Entities of all responses, by kind, with the fields of v2.0. Entities with equal UUIDs are merged."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    vms: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    containers: dict[str, dict[str, Any]] = field(default_factory=dict)
    ha: list[Fields] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    """Number of entities of a kind in Prism, from the responses."""
    unused: list[str] = field(default_factory=list)

    def add(self, kind: str, entity: dict[str, Any], source: Path) -> None:
        """Add an entity, or its additional fields if the UUID is known."""
        into: dict[str, dict[str, Any]] = getattr(self, kind)
        key = text(entity.get("uuid")) or f"{kind} {len(into)}"
        known = into.setdefault(key, {})
        known |= {field: value for field, value in entity.items() if value is not None}
        if len(into) > MOST_ENTITIES:
            refuse(source, kind, f"more than {MOST_ENTITIES}", "fewer", "one cluster at a time", "source-too-large")


def recognises(head: bytes) -> bool:
    """True for a JSON object with fields that only Prism's responses have."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") and _HEAD.search(head) is not None


def files(folder: Path) -> Iterable[Path]:
    """Return the JSON files of a folder with such a response."""
    return export_files.recognised(folder, recognises)


def read(sources: Sequence[str]) -> Inventory:
    """Return the clusters in these files, or in the JSON files of these folders. Raises SourceError."""
    answers = Answers()
    for path, data in export_files.contents(sources, HINT):
        _take(outside.parsed(data, path), path, answers)
    return _Prism(answers, export_files.shown(sources)).inventory()


def _take(answer: Any, path: Path, answers: Answers) -> None:
    """Sort the entities of one response. A list can also be bare, and a cluster can be a single object."""
    if isinstance(answer, dict) and "failover_enabled" in answer:
        answers.ha.append(answer)
        return
    listed = answer.get("entities") if isinstance(answer, dict) else answer
    entities = objects(listed) if isinstance(listed, list) else objects([answer])
    kinds: dict[str, int] = {}
    for entity in entities:
        kind, found = _known(entity)
        if kind:
            answers.add(kind, found, path)
            kinds[kind] = kinds.get(kind, 0) + 1
    if not kinds:
        answers.unused.append(outside.name(path.name))
    told = below(answer, "metadata")
    total = whole(told.get("grand_total_entities", told.get("grandTotalEntities", told.get("total_matches"))))
    if len(kinds) == 1 and total is not None:
        kind = next(iter(kinds))
        answers.listed[kind] = max(answers.listed.get(kind, 0), total)


def _known(entity: Fields) -> tuple[str, dict[str, Any]]:
    """Return the kind of an entity and its fields with v2.0 names. The kind of other objects is empty."""
    if isinstance(status := entity.get("status"), dict) and isinstance(entity.get("metadata"), dict):
        return _of_v3(status, entity["metadata"])
    found = {_snake(key): value for key, value in itertools.islice(entity.items(), 1_000)}
    if "num_v_cpus" in found and "vm_name" in found:
        return "vms", _of_v1(found)
    if "num_cpu_cores" in found or "cpu_capacity_in_hz" in found:
        kind = "hosts"
    elif "num_cores_per_vcpu" in found:
        kind = "vms"
    elif "storage_container_uuid" in found or "container_uuid" in found:
        kind = "containers"
        found["uuid"] = found.get("storage_container_uuid") or found.get("container_uuid")
    else:
        kind = "clusters" if "num_nodes" in found and "name" in found else ""
    return kind, found


def _of_v1(found: Fields) -> dict[str, Any]:
    """Return a VM of v1."""
    reserved = number(found.get("cpu_reserved_in_hz"))
    copied = ("uuid", "host_uuid", "host_name", "cluster_uuid", "power_state", "controller_vm", "stats")
    return {
        **{key: found.get(key) for key in copied},
        **{"name": found["vm_name"], "vcpus": found["num_v_cpus"]},
        **{"memory_bytes": found.get("memory_capacity_in_bytes"), "guest_os": found.get("guest_operating_system")},
        "reservation_mhz": reserved / 1e6 if reserved is not None and reserved > 0 else None,
    }


def _of_v3(status: Fields, metadata: Fields) -> tuple[str, dict[str, Any]]:
    """Return an entity of Prism Central's v3."""
    kind, resources = text(metadata.get("kind")), below(status, "resources")
    cluster = below(status, "cluster_reference")
    found: dict[str, Any] = {
        **{"uuid": metadata.get("uuid"), "name": status.get("name")},
        **{"cluster_uuid": cluster.get("uuid"), "cluster_name": cluster.get("name")},
    }
    if kind == "host":
        copied = ("num_cpu_sockets", "num_cpu_cores", "num_cpu_threads", "cpu_model")
        mib = whole(resources.get("memory_capacity_mib"))
        return "hosts", {
            **found,
            **{key: resources.get(key) for key in copied},
            "cpu_capacity_in_hz": resources.get("cpu_capacity_hz"),
            "memory_capacity_in_bytes": None if mib is None else mib * MIB,
            "hypervisor_full_name": below(resources, "hypervisor").get("hypervisor_full_name"),
        }
    if kind == "vm":
        host = below(resources, "host_reference")
        disks = [
            {
                "is_cdrom": below(each, "device_properties").get("device_type") != "DISK",
                "size": each.get("disk_size_bytes"),
                "disk_address": {"device_bus": below(each, "device_properties", "disk_address").get("adapter_type")},
                "storage_container_uuid": below(each, "storage_config", "storage_container_reference").get("uuid"),
            }
            for each in objects(resources.get("disk_list"))[:1_000]
        ]
        return "vms", {
            **found,
            **{"num_vcpus": resources.get("num_sockets"), "num_cores_per_vcpu": resources.get("num_vcpus_per_socket")},
            **{"memory_mb": resources.get("memory_size_mib"), "power_state": resources.get("power_state")},
            **{"host_uuid": host.get("uuid"), "host_name": host.get("name"), "vm_disk_info": disks},
        }
    return ("clusters", found) if kind == "cluster" else ("", {})


def _snake(key: str) -> str:
    """Return a name such as `memoryCapacityInBytes` in the form `memory_capacity_in_bytes`."""
    return (
        key if "_" in key else re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", r"_\1\2", key[:200]).lower()
    )


class _Prism:
    """Inventory in the entities."""

    def __init__(self, answers: Answers, source: str) -> None:
        self.answers, self.source = answers, source
        self.gaps: dict[Gap, None] = {}
        self.of_hosts: list[Assumption] = []
        self.of_all: list[Assumption] = []
        own = [*answers.hosts.values(), *answers.vms.values()]
        names = {text(each.get("cluster_uuid")): name(each, "cluster_name") for each in own}
        names |= {uuid: called for uuid, each in answers.clusters.items() if (called := name(each))}
        names.pop("", None)
        self.clusters = {uuid: called or outside.name(uuid) for uuid, called in names.items()}
        """Names by UUID."""
        used = {text(each.get("cluster_uuid")) for each in answers.hosts.values()} - {""}
        told = used or set(self.clusters)
        self.only = self.clusters.get(next(iter(told))) if len(told) == 1 else None
        """The only cluster, for entities without a cluster."""

    def inventory(self) -> Inventory:
        hosts = {uuid: host for uuid, each in self.answers.hosts.items() if (host := self.host(each)) is not None}
        if not hosts:
            value = f"{len(self.answers.vms)} VMs, no host with cores and memory"
            refuse(self.source, "hosts", value, "an answer to /hosts (v2.0) or hosts/list (v3)", HINT, "source-lacks")
        stores = {
            uuid: Datastore(name(each) or outside.name(uuid), "Nutanix container", clusters=self.named(each))
            for uuid, each in self.answers.containers.items()
        }
        by_name = {host.name: host for host in hosts.values()}
        vms = [self.vm(each, hosts, by_name, stores) for each in self.answers.vms.values() if name(each)]
        for kind, count in self.answers.listed.items():
            if count > len(getattr(self.answers, kind)):
                there = len(getattr(self.answers, kind))
                self.of_all.append(
                    Assumption("all", f"{there} of {count} {kind} are in the files: the other pages are missing")
                )
        if vms and not any(vm.storage_appliance for vm in vms):
            self.gaps[Gap("controller VMs (/vms of v1 has them)", "their CPU and memory on each host")] = None
        if any(vm.powered_on and vm.demand is None for vm in vms):
            self.gaps[Gap("stats/hypervisor_cpu_usage_ppm of VMs (/vms of v1 has it)", "measured demand")] = None
        if not any(vm.disks for vm in vms):
            self.gaps[Gap("vm_disk_info (ask with include_vm_disk_config=true)", "virtual disks")] = None
        return Inventory(
            self.source,
            "nutanix",
            list(hosts.values()),
            vms,
            [*self.pools(), *stores.values()],
            self.rules(hosts),
            list(self.gaps),
            [*self.of_all, *grouped("host", self.of_hosts)],
            [self.cluster(called) for called in dict.fromkeys(host.cluster for host in hosts.values()) if called],
            self.unused(),
        )

    def named(self, entity: Fields) -> tuple[str, ...]:
        """Return the cluster of an entity, as a list of names."""
        found = self.clusters.get(text(entity.get("cluster_uuid")), self.only)
        return (found,) if found else ()

    def host(self, entity: Fields) -> Host | None:
        """Return a host, or None without cores or memory, such as Prism Central itself."""
        called, cores = name(entity), whole(entity.get("num_cpu_cores"))
        memory = whole(entity.get("memory_capacity_in_bytes"))
        if not called or not cores or not memory:
            if called:
                self.of_hosts.append(Assumption(called, "left out: its cores and memory are unknown"))
            return None
        sockets = whole(entity.get("num_cpu_sockets")) or 1
        threads = whole(entity.get("num_cpu_threads"))
        if cores > MOST_VCPUS or sockets > cores:
            value = f"{sockets} sockets, {cores} cores"
            refuse(self.source, f"{called}/num_cpu_cores", value, f"at most {MOST_VCPUS} cores, a socket or more", HINT)
        if threads is None:
            self.gaps[Gap("num_cpu_threads", "hyper-threading: assumed on")] = None
        capacity, clock = number(entity.get("cpu_capacity_in_hz")), number(entity.get("cpu_frequency_in_hz"))
        stats = below(entity, "stats")
        usage, memory_usage = (
            _millionths(stats, "hypervisor_cpu_usage_ppm"),
            _millionths(stats, "hypervisor_memory_usage_ppm"),
        )
        if usage is None:
            self.gaps[Gap("stats/hypervisor_cpu_usage_ppm of hosts", "CPU usage of hosts")] = None
        span = number(stats.get("hypervisor_timespan_usecs"))
        states = f"{text(entity.get('hypervisor_state'))} {text(entity.get('state'))}".lower()
        return Host(
            called,
            sockets,
            -(-cores // sockets),
            min(max(round((threads or 2 * cores) / cores), 1), 8),
            memory,
            clock_hz=clock or (capacity / cores if capacity else None),
            hypervisor=name(entity, "hypervisor_full_name") or _HYPERVISORS.get(text(entity.get("hypervisor_type"))),
            cluster=next(iter(self.named(entity)), None),
            cpu_model=name(entity, "cpu_model") or None,
            usage_pct=usage,
            memory_usage_pct=memory_usage,
            over_s=span / 1e6 if usage is not None and span is not None and 0 < span < 1e12 else None,
            in_maintenance=flag(entity.get("host_in_maintenance_mode")) or "maintenance" in states,
        )

    def vm(self, entity: Fields, hosts: dict[str, Host], by_name: dict[str, Host], stores: dict[str, Datastore]) -> Vm:
        """Return a VM from an entity with the fields of v1, v2.0 or both."""
        called, per_socket = name(entity), whole(entity.get("num_cores_per_vcpu"))
        vcpus = (whole(entity.get("num_vcpus")) or 0) * (per_socket or 1) or whole(entity.get("vcpus")) or 0
        memory = (whole(entity.get("memory_mb")) or 0) * MIB or whole(entity.get("memory_bytes")) or 0
        if not 1 <= vcpus <= MOST_VCPUS:
            refuse(self.source, f"{called}/num_vcpus", str(vcpus), f"1 to {MOST_VCPUS} vCPUs", HINT)
        host = hosts.get(text(entity.get("host_uuid"))) or by_name.get(name(entity, "host_name"))
        on = text(entity.get("power_state")).lower() == "on"
        used, clock = _millionths(below(entity, "stats"), "hypervisor_cpu_usage_ppm"), host.clock_hz if host else None
        iops = number(below(entity, "stats").get("controller_num_iops"))
        demand = None
        if on and used is not None and clock is not None:
            counter = "stats/hypervisor_cpu_usage_ppm"
            mhz = used / 100 * vcpus * clock / 1e6
            demand = Demand(
                mhz, iops if iops is not None and iops >= 0 else None, f"{counter} of /vms", counter=counter
            )
        disks = tuple(_disks(entity, stores))
        return Vm(
            called,
            vcpus,
            memory,
            host=host.name if host is not None else None,
            cluster=host.cluster if host is not None else next(iter(self.named(entity)), None),
            powered_on=on,
            cores_per_socket=per_socket,
            reservation_mhz=entity.get("reservation_mhz"),
            disks=disks,
            guest_os=name(entity, "guest_os") or None,
            demand=demand,
            storage_appliance=entity.get("controller_vm") is True or is_storage_appliance(called),
            storage_provisioned_bytes=sum(disk.capacity_bytes for disk in disks) or None,
        )

    def pools(self) -> list[Datastore]:
        """Return the storage of each cluster: that of its hosts, which all its containers share."""
        sums: dict[str | None, list[int]] = {}
        for each in self.answers.hosts.values():
            stats = below(each, "usage_stats")
            size, used = whole(stats.get("storage.capacity_bytes")), whole(stats.get("storage.usage_bytes"))
            if size and used is not None and used <= size:
                total = sums.setdefault(next(iter(self.named(each)), None), [0, 0])
                total[0], total[1] = total[0] + size, total[1] + used
        return [
            Datastore(
                f"{called or 'Nutanix'} storage",
                "Nutanix storage pool, copies included",
                size,
                size - used,
                clusters=(called,) if called else (),
            )
            for called, (size, used) in sums.items()
        ]

    def cluster(self, called: str) -> Cluster:
        """Return data about a cluster. The response to /ha does not name its cluster."""
        ha = self.answers.ha[0] if len(self.answers.ha) == 1 and called == self.only else {}
        kind = re.sub("[^a-z]", "", text(ha.get("reservation_type")).lower())
        reserves = None if "reserv" not in kind else "noreserv" not in kind
        return Cluster(
            called,
            ha=True if flag(ha.get("failover_enabled")) else None,
            admission_control=reserves,
            failures=whole(ha.get("num_host_failures_to_tolerate")) if reserves else None,
        )

    def rules(self, hosts: dict[str, Host]) -> list[Rule]:
        """Return the affinity of VMs to hosts."""
        found = []
        for each in self.answers.vms.values():
            listed = below(each, "affinity").get("host_uuids")
            on = (
                tuple(hosts[text(uuid)].name for uuid in listed if text(uuid) in hosts)
                if isinstance(listed, list)
                else ()
            )
            if on and name(each):
                found.append(Rule(f"affinity of {name(each)}", "run-on", (name(each),), on, mandatory=True))
        return found

    def unused(self) -> list[str]:
        """Return unused statistics and files."""
        vms = (key for each in self.answers.vms.values() for key in below(each, "stats") if key not in _USED_STATS)
        stats = ["stats of VMs but for CPU usage and IOPS"] if next(vms, None) is not None else []
        return [*stats, *self.answers.unused[:100]]


def _millionths(stats: Fields, key: str) -> float | None:
    """Return a share in millionths as a percentage, or None if it is -1 or invalid."""
    found = number(stats.get(key))
    return found / 1e4 if found is not None and 0 <= found <= 1e7 else None


def _disks(entity: Fields, stores: dict[str, Datastore]) -> Iterable[VirtualDisk]:
    for each in objects(entity.get("vm_disk_info"))[:1_000]:
        if flag(each.get("is_cdrom")) or flag(each.get("is_empty")):
            continue
        bus = text(below(each, "disk_address").get("device_bus")).lower()
        store = stores.get(text(each.get("storage_container_uuid")))
        size = min(whole(each.get("size")) or 0, 2**59)
        yield VirtualDisk(size, _BUSES.get(bus), None, store.name if store is not None else None)
