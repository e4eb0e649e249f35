"""Nutanix clusters, from saved responses of Prism's REST APIs: lists of hosts, VMs, clusters and containers.

The fields of the entities identify a response, so files can have any names, and a list can have several pages. v1 uses
camelCase, v2.0 snake_case. Only v1 has controller VMs and the usage of VMs. Fields: nutanix.dev, api_reference (Prism
Element v2.0, Prism Central v3); responses published with demisto/content (Packs/NutanixHypervisor), client/v3 of
nutanix/terraform-provider-nutanix, and Checkmk's `prism_*` (`stats`: text, in millionths, -1 where there is none).
`cpu_capacity_in_hz` is cores x `cpu_frequency_in_hz`. `memory_mb` and `_mib` are MiB. Responses of Prism Central's v4
get the names of v2.0 in `prism_v4.py`. UUIDs are the same in all versions, so responses of several can be combined.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hypertwin.ingest import cpu_series, export_files, field_table, outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.field_table import Field
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import (
    Cluster,
    Datastore,
    Demand,
    Host,
    Inventory,
    Rule,
    VirtualDisk,
    Vm,
    figures,
)
from hypertwin.ingest.json_fields import Fields, below, flag, name, number, objects, text, whole
from hypertwin.ingest.nutanix import prism_v4
from hypertwin.ingest.nutanix.prism_v4 import Usage
from hypertwin.ingest.outside import Gap, Source

MOST_ENTITIES = 20_000
MOST_VCPUS = 16_384
MAX_RULED = 1_000_000
"""Maximum number of VMs and hosts of all policies together."""
MIB = 2**20
HINT = "save the answers as docs/guides/import.md says"

_HEAD = re.compile(
    rb'"(num_cpu_cores|numCpuCores|num_cores_per_vcpu|numVCpus|num_vcpus_per_socket|memory_capacity_mib|'
    rb'num_host_failures_to_tolerate|storage_container_uuid|cluster_external_ipaddress)"'
)
_HYPERVISORS = {
    **{"kKvm": "Nutanix AHV", "kVMware": "VMware ESXi", "kHyperv": "Microsoft Hyper-V"},
    **{"AHV": "Nutanix AHV", "ESX": "VMware ESXi", "HYPERV": "Microsoft Hyper-V", "XEN": "Xen"},
}
_V1: field_table.Table = {
    **{key: key for key in ("uuid", "host_uuid", "host_name", "cluster_uuid", "power_state", "controller_vm", "stats")},
    **{"name": "vm_name", "vcpus": "num_v_cpus", "guest_os": "guest_operating_system"},
    "memory_bytes": "memory_capacity_in_bytes",
}
_V3_ENTITY: field_table.Table = {
    **{"uuid": "metadata/uuid", "name": "status/name"},
    **{"cluster_uuid": "status/cluster_reference/uuid", "cluster_name": "status/cluster_reference/name"},
}
_V3: Mapping[str, field_table.Table] = {
    "cluster": {},
    "host": {
        **{key: key for key in ("num_cpu_sockets", "num_cpu_cores", "num_cpu_threads", "cpu_model")},
        "cpu_capacity_in_hz": "cpu_capacity_hz",
        "memory_capacity_in_bytes": Field("memory_capacity_mib", whole, MIB),
        "hypervisor_full_name": "hypervisor/hypervisor_full_name",
    },
    "vm": {
        **{"num_vcpus": "num_sockets", "num_cores_per_vcpu": "num_vcpus_per_socket"},
        **{"memory_mb": "memory_size_mib", "power_state": "power_state"},
        **{"host_uuid": "host_reference/uuid", "host_name": "host_reference/name"},
    },
}
"""Fields of the resources of v3 by kind, with the names of v2.0."""
_V3_DISK: field_table.Table = {
    "is_cdrom": Field("device_properties/device_type", lambda kind: kind != "DISK"),
    "size": "disk_size_bytes",
    "device_bus": "device_properties/disk_address/adapter_type",
    "storage_container_uuid": "storage_config/storage_container_reference/uuid",
}
_BUSES = {"nvme": "nvme"}
"""Controllers by bus. The SCSI controller of AHV has no name in scenarios."""
_SLEEPING = ("PAUSED", "SUSPENDED", "UNDETERMINED")
"""Power states of v4 that are neither on nor off."""
_USED_STATS = ("hypervisor_cpu_usage_ppm", "controller_num_iops")


@dataclass
class Answers:
    """Entities of all responses, by kind, with the fields of v2.0. Entities with equal UUIDs are merged."""

    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    vms: dict[str, dict[str, Any]] = field(default_factory=dict)
    clusters: dict[str, dict[str, Any]] = field(default_factory=dict)
    containers: dict[str, dict[str, Any]] = field(default_factory=dict)
    cvms: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Controller VMs that have a list of their own, in v4."""
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    categories: dict[str, dict[str, Any]] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    """Statistics of v4, by the UUID of the VM or host."""
    is_v4: bool = False
    """True if a response is of v4."""
    errors: list[str] = field(default_factory=list)
    """Names of the files with an error response."""
    ha: list[Fields] = field(default_factory=list)
    listed: dict[str, int] = field(default_factory=dict)
    """Number of entities of a kind in Prism, from the responses."""
    unused: list[str] = field(default_factory=list)

    def add(self, kind: str, entity: dict[str, Any], source: Path | str) -> None:
        """Add an entity, or its additional fields if the UUID is known."""
        into: dict[str, dict[str, Any]] = getattr(self, kind)
        key = text(entity.get("uuid")) or f"{kind} {len(into)}"
        known = into.setdefault(key, {})
        known |= {field: value for field, value in entity.items() if value is not None}
        self._check_size(kind, len(into), source)

    def measure(self, uuid: str, usage: Usage, source: Path | str) -> None:
        """Add the use of a VM or host."""
        self.usage[uuid] = usage
        self._check_size("stats", len(self.usage), source)

    def own_hosts(self) -> dict[str, dict[str, Any]]:
        """Return the hosts by UUID, without Prism Central itself."""
        central = {uuid for uuid, each in self.clusters.items() if is_central(each)}
        return {uuid: each for uuid, each in self.hosts.items() if text(each.get("cluster_uuid")) not in central}

    @staticmethod
    def _check_size(kind: str, size: int, source: Path | str) -> None:
        if size > MOST_ENTITIES:
            Source(source).at(kind).too_many(MOST_ENTITIES, hint="one cluster at a time")


def recognises(head: bytes) -> bool:
    """True for JSON with fields that only Prism's responses have."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")) and prism_v4.recognises(head):
        return True
    return text.startswith(b"{") and _HEAD.search(head) is not None


def files(folder: Path) -> Iterable[Path]:
    """Return the JSON files of a folder with such a response."""
    return export_files.recognised(folder, recognises)


def read(sources: Sequence[str]) -> Inventory:
    """Return the clusters in these files, or in the JSON files of these folders. Raises SourceError."""
    answers = Answers()
    for path, data in export_files.contents(sources, HINT):
        take(outside.parsed(data, path), path, answers)
    return inventory(answers, export_files.shown(sources))


def inventory(answers: Answers, source: str, gaps: Iterable[Gap] = ()) -> Inventory:
    """Return the inventory in these responses, with the gaps of their collection. Raises SourceError."""
    return _Prism(answers, source, gaps).inventory()


def take(answer: Any, path: Path | str, answers: Answers) -> None:
    """Sort the entities of one response, or of a list of them. Raises SourceError for too many.

    A list can also be bare, and a cluster can be a single object.
    """
    if isinstance(answer, list) and any(prism_v4.is_response(each) for each in answer):
        for each in objects(answer):
            _take_one(each, path, answers)
    else:
        _take_one(answer, path, answers)


def _take_one(answer: Any, path: Path | str, answers: Answers) -> None:
    if _take_v4(answer, path, answers):
        return
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
        answers.unused.append(outside.name(Path(path).name))
    told = below(answer, "metadata")
    total = whole(told.get("grand_total_entities", told.get("grandTotalEntities", told.get("total_matches"))))
    if len(kinds) == 1 and total is not None:
        kind = next(iter(kinds))
        answers.listed[kind] = max(answers.listed.get(kind, 0), total)


def _take_v4(answer: Any, path: Path | str, answers: Answers) -> bool:
    """Sort the entities of a response of v4. Return false for another response."""
    kinds: dict[str, int] = {}
    is_read = prism_v4.is_response(answer)
    for kind, item in prism_v4.items(answer):
        if prism_v4.is_error(kind):
            answers.errors.append(outside.name(Path(path).name))
        elif kind in prism_v4.STATS:
            uuid, usage = prism_v4.usage(kind, item, answer)
            answers.measure(uuid, usage, path)
        elif (found := prism_v4.entity(kind, item)) is not None:
            answers.add(*found, path)
            kinds[found[0]] = kinds.get(found[0], 0) + 1
        else:
            continue
        is_read = True
    total = prism_v4.total(answer)
    if len(kinds) == 1 and total is not None:
        (kind,) = kinds
        answers.listed[kind] = max(answers.listed.get(kind, 0), total)
    answers.is_v4 |= is_read
    return is_read


def _known(entity: Fields) -> tuple[str, dict[str, Any]]:
    """Return the kind of an entity and its fields with v2.0 names. The kind of other objects is empty."""
    if isinstance(entity.get("status"), dict) and isinstance(entity.get("metadata"), dict):
        return _of_v3(entity)
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
    return {
        **field_table.values(found, _V1),
        "reservation_mhz": reserved / 1e6 if reserved is not None and reserved > 0 else None,
    }


def _of_v3(entity: Fields) -> tuple[str, dict[str, Any]]:
    """Return an entity of Prism Central's v3."""
    kind = text(below(entity, "metadata").get("kind"))
    if kind not in _V3:
        return "", {}
    resources = below(entity, "status", "resources")
    found = {**field_table.values(entity, _V3_ENTITY), **field_table.values(resources, _V3[kind])}
    if kind == "vm":
        disks = [field_table.values(each, _V3_DISK) for each in objects(resources.get("disk_list"))[:1_000]]
        found["vm_disk_info"] = [{**each, "disk_address": {"device_bus": each["device_bus"]}} for each in disks]
    return f"{kind}s", found


def _snake(key: str) -> str:
    """Return a name such as `memoryCapacityInBytes` in the form `memory_capacity_in_bytes`."""
    return (
        key if "_" in key else re.sub(r"(?<=[a-z0-9])([A-Z])|(?<=[A-Z])([A-Z])(?=[a-z])", r"_\1\2", key[:200]).lower()
    )


class _Prism:
    """Inventory in the entities."""

    def __init__(self, answers: Answers, source: str, gaps: Iterable[Gap] = ()) -> None:
        self.answers, self.source = answers, source
        self.notes = ImportNotes(Source(source, HINT), gaps)
        self.hosts = answers.own_hosts()
        names: dict[str, str] = {}
        for each in (*self.hosts.values(), *answers.vms.values()):
            uuid = text(each.get("cluster_uuid"))
            names[uuid] = name(each, "cluster_name") or names.get(uuid, "")
        names |= {uuid: called for uuid, each in answers.clusters.items() if (called := name(each))}
        names.pop("", None)
        self.clusters = {uuid: called or outside.name(uuid) for uuid, called in names.items()}
        """Names by UUID."""
        used = {text(each.get("cluster_uuid")) for each in self.hosts.values()} - {""}
        told = used or set(self.clusters)
        self.only = self.clusters.get(next(iter(told))) if len(told) == 1 else None
        """The only cluster, for entities without a cluster."""

    def inventory(self) -> Inventory:
        hosts = {uuid: host for uuid, each in self.hosts.items() if (host := self.host(each)) is not None}
        if not hosts:
            value = f"{len(self.answers.vms)} VMs, no host with cores and memory"
            allowed = "an answer to config/hosts (v4), /hosts (v2.0) or hosts/list (v3)"
            self.notes.source.at("hosts").lacks(value, allowed)
        stores = {
            uuid: Datastore(name(each) or outside.name(uuid), "Nutanix container", clusters=self.named(each))
            for uuid, each in self.answers.containers.items()
        }
        by_name = {host.name: host for host in hosts.values()}
        listed = {**self.answers.vms, **self.controllers(hosts)}
        found = {uuid: self.vm(each, hosts, by_name, stores) for uuid, each in listed.items() if name(each)}
        vms = list(found.values())
        for file in self.answers.errors[:100]:
            self.notes.assumed(f"{file} is an error of Prism Central: left out")
        for kind, count in self.answers.listed.items():
            if count > len(getattr(self.answers, kind)):
                there = len(getattr(self.answers, kind))
                self.notes.assumed(f"{there} of {count} {kind} are in the files: the other pages are missing")
        if vms and not any(vm.storage_appliance for vm in vms):
            self.lacks("controllers")
        running = [vm for vm in vms if vm.powered_on and not (self.answers.is_v4 and vm.storage_appliance)]
        if any(vm.demand is None for vm in running):
            self.lacks("demand")
        if not any(vm.disks for vm in vms):
            self.lacks("disks")
        clusters = [
            replace(self.cluster(called), **self.together(called, found, hosts))
            for called in dict.fromkeys(host.cluster for host in hosts.values())
            if called
        ]
        rules = [*self.rules(hosts), *self.policies(found, hosts)]
        return Inventory(
            self.source,
            "nutanix",
            list(hosts.values()),
            vms,
            [*self.pools(), *stores.values()],
            rules,
            self.notes.gaps,
            self.notes.assumptions(),
            clusters,
            self.unused(),
        )

    def lacks(self, what: str) -> None:
        """Note a gap, unless the collection of responses noted its reason."""
        gap = _GAPS[what][self.answers.is_v4]
        if gap is not None and gap.costs not in {each.costs for each in self.notes.gaps}:
            self.notes.missing(gap.what, gap.costs)

    def controllers(self, hosts: Mapping[str, Host]) -> dict[str, dict[str, Any]]:
        """Return the controller VMs of the hosts that are not among the VMs."""
        known = {(name(each), text(each.get("host_uuid"))) for each in self.answers.vms.values()}
        return {
            uuid: each
            for uuid, each in self.answers.cvms.items()
            if (name(each), text(each.get("host_uuid"))) not in known and text(each.get("host_uuid")) in hosts
        }

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
                self.notes.host(called, "left out: its cores and memory are unknown")
            return None
        if entity.get("host_type") == prism_v4.STORAGE_ONLY:
            self.notes.host(called, "left out: it has only storage, and runs no VMs")
            return None
        sockets = whole(entity.get("num_cpu_sockets")) or 1
        threads = whole(entity.get("num_cpu_threads"))
        if cores > MOST_VCPUS or sockets > cores:
            allowed = f"at most {MOST_VCPUS} cores, a socket or more"
            self.notes.source.at(f"{called}/num_cpu_cores").refuse(f"{sockets} sockets, {cores} cores", allowed)
        if threads is None:
            self.notes.missing("num_cpu_threads", "hyper-threading: assumed on")
        capacity, clock = number(entity.get("cpu_capacity_in_hz")), number(entity.get("cpu_frequency_in_hz"))
        states = f"{text(entity.get('hypervisor_state'))} {text(entity.get('state'))}".lower()
        in_maintenance = flag(entity.get("host_in_maintenance_mode")) or "maintenance" in states
        if is_unreachable := not in_maintenance and _is_unreachable(entity):
            self.notes.unreachable(called, "disconnected")
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
            **({} if is_unreachable else self.use(entity)),
            in_maintenance=in_maintenance or is_unreachable,
        )

    def use(self, entity: Fields) -> dict[str, Any]:
        """Return the measurements of a host: of the statistics of v4, otherwise of the entity itself."""
        measured, stats = self.answers.usage.get(text(entity.get("uuid"))), below(entity, "stats")
        cpu, memory = (_millionths(stats, f"hypervisor_{each}_usage_ppm") for each in ("cpu", "memory"))
        span = number(stats.get("hypervisor_timespan_usecs"))
        found: dict[str, Any] = {"cpu_usage_pct": cpu, "memory_usage_pct": memory}
        if cpu is not None and span is not None and 0 < span < 1e12:
            found["over_s"] = span / 1e6
        if measured is not None and measured.memory_ppm is not None:
            found["memory_usage_pct"] = measured.memory_ppm / 1e4
        if measured is not None and measured.series is not None:
            mean, p95, _ = figures([100 * share for share in measured.series.used])
            found |= {"cpu_usage_pct": mean, "cpu_p95_pct": p95, **measured.series.span}
        elif measured is not None and measured.cpu_ppm is not None:
            found |= {"cpu_usage_pct": measured.cpu_ppm / 1e4, "counter": measured.counter}
        if found["cpu_usage_pct"] is None:
            self.lacks("usage")
        return found

    def vm(self, entity: Fields, hosts: dict[str, Host], by_name: dict[str, Host], stores: dict[str, Datastore]) -> Vm:
        """Return a VM from an entity with the fields of v1, v2.0 or both."""
        called, per_socket = name(entity), whole(entity.get("num_cores_per_vcpu"))
        vcpus = (whole(entity.get("num_vcpus")) or 0) * (per_socket or 1) or whole(entity.get("vcpus")) or 0
        memory = (whole(entity.get("memory_mb")) or 0) * MIB or whole(entity.get("memory_bytes")) or 0
        if not 1 <= vcpus <= MOST_VCPUS:
            self.notes.source.at(f"{called}/num_vcpus").refuse(vcpus, f"1 to {MOST_VCPUS} vCPUs")
        host = hosts.get(text(entity.get("host_uuid"))) or by_name.get(name(entity, "host_name"))
        on = text(entity.get("power_state")).lower() == "on"
        disks = tuple(_disks(entity, stores))
        self.tell(called, entity)
        return Vm(
            called,
            vcpus,
            memory,
            host=host.name if host is not None else None,
            cluster=host.cluster if host is not None else next(iter(self.named(entity)), None),
            powered_on=on,
            cores_per_socket=per_socket,
            reservation_mhz=number(entity.get("reservation_mhz")),
            disks=disks,
            guest_os=name(entity, "guest_os") or None,
            demand=self.demand(entity, vcpus, host) if on and host is not None else None,
            storage_appliance=entity.get("controller_vm") is True or is_storage_appliance(called),
            storage_provisioned_bytes=sum(disk.capacity_bytes for disk in disks) or None,
            numa=_numa(whole(entity.get("numa_nodes")), vcpus),
            restart_priority="disabled" if entity.get("is_agent_vm") is True else None,
        )

    def demand(self, entity: Fields, vcpus: int, host: Host) -> Demand | None:
        """Return the demand of a VM that is on: of the statistics of v4, otherwise of v1."""
        if host.clock_hz is None:
            return None
        clock_mhz = host.clock_hz / 1e6
        measured = self.answers.usage.get(text(entity.get("uuid")), Usage())
        if measured.series is not None:
            return replace(measured.series.times_cpus(vcpus).demand(clock_mhz), iops=measured.iops)
        if measured.cpu_ppm is not None:
            mhz = measured.cpu_ppm / 1e6 * vcpus * clock_mhz
            return Demand(mhz, measured.iops, f"{measured.counter}, without times", counter=measured.counter)
        used = _millionths(below(entity, "stats"), "hypervisor_cpu_usage_ppm")
        iops = number(below(entity, "stats").get("controller_num_iops"))
        if used is None:
            return None
        counter = "stats/hypervisor_cpu_usage_ppm"
        mhz = used / 100 * vcpus * clock_mhz
        return Demand(mhz, iops if iops is not None and iops >= 0 else None, f"{counter} of /vms", counter=counter)

    def tell(self, called: str, entity: Fields) -> None:
        """Note the settings of a VM that an inventory does not have."""
        state = text(entity.get("power_state"))
        for is_set, what in (
            (state in _SLEEPING, f"its power state is {state.lower()}: counted as powered off"),
            (entity.get("is_pinned") is True, "its vCPUs are pinned, v4 does not name the CPUs: assumed not pinned"),
            (entity.get("overcommits_memory") is True, "memory overcommit is on: its ballooning is not imported"),
            (
                any(each.get("volume_group_uuid") for each in objects(entity.get("vm_disk_info"))[:1_000]),
                "its volume groups are not imported",
            ),
        ):
            if is_set:
                self.notes.vm(called, what)

    def together(self, called: str, vms: Mapping[str, Vm], hosts: Mapping[str, Host]) -> dict[str, Any]:
        """Return the CPU of a cluster's VMs at the same times, or an empty dict unless known for all that are on."""
        clocks = {host.name: host.clock_hz for host in hosts.values()}
        known = []
        for uuid, vm in vms.items():
            if vm.cluster != called or not vm.powered_on:
                continue
            series, clock_hz = self.answers.usage.get(uuid, Usage()).series, clocks.get(vm.host or "")
            if series is None or clock_hz is None:
                return {}
            known.append((series.times_cpus(vm.vcpus), clock_hz / 1e6))
        return cpu_series.together(known) if known else {}

    def pools(self) -> list[Datastore]:
        """Return the storage of each cluster: that of its hosts, which all its containers share."""
        sums: dict[str | None, list[int]] = {}
        for uuid, each in self.hosts.items():
            stats = {**below(each, "usage_stats"), **self.answers.usage.get(uuid, Usage()).storage}
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
        """Return data about a cluster. The response to /ha does not name its cluster, and v4 has no such response.

        AHV restarts VMs by default, as far as there is room (Nutanix, "Virtual Machine High Availability").
        """
        ha = self.answers.ha[0] if len(self.answers.ha) == 1 and called == self.only else {}
        types = {text(each.get("hypervisor_type")) for each in self.hosts.values() if called in self.named(each)}
        if self.answers.is_v4 and not ha and types == {"AHV"}:
            default = "assumed AHV's default HA: VMs restart where there is room (/ha of v2.0 has its reservation)"
            self.notes.cluster(called, default)
            return Cluster(called, ha=True)
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

    def policies(self, vms: Mapping[str, Vm], hosts: Mapping[str, Host]) -> list[Rule]:
        """Return the policies of v4. Its scheduler overrides anti-affinity if a cluster lacks resources."""
        members: dict[str, list[str]] = {}
        for uuid, vm in vms.items():
            listed = self.answers.vms.get(uuid, {}).get("categories")
            for category in dict.fromkeys(map(text, listed if isinstance(listed, list) else ())):
                members.setdefault(category, []).append(vm.name)
        placed = {
            uuid: [hosts[each].name for each in category["hosts"] if each in hosts]
            for uuid, category in self.answers.categories.items()
            if "hosts" in category
        }
        rules: list[Rule] = []
        left = MAX_RULED
        for each in self.answers.policies.values():
            called = name(each) or "(without a name)"
            of_vms, of_hosts = (dict.fromkeys(each.get(f"{kind}_categories") or ()) for kind in ("vm", "host"))
            size = sum(len(members.get(category, ())) for category in of_vms)
            size += sum(len(placed.get(category, ())) for category in of_hosts)
            left -= size
            if left < 0:
                allowed = f"at most {MAX_RULED} VMs and hosts in all policies"
                self.notes.source.at(f"policies/{called}").too_large("more", allowed)
            ruled = [member for category in of_vms for member in members.get(category, ())]
            ruled += [vms[uuid].name for uuid in each.get("vms") or () if uuid in vms]
            if each["policy"] != "VmHostAffinityPolicy":
                if len(of_vms) > 1:
                    self.notes.assumed("applied to all VMs of its categories together", f"policy {called}")
                rules.append(Rule(called, "keep-apart", tuple(dict.fromkeys(ruled))))
                continue
            if of_hosts.keys() - placed.keys():
                self.lacks("categories")
            on = tuple(dict.fromkeys(host for category in of_hosts for host in placed.get(category, ())))
            rules.append(Rule(called, "run-on", tuple(dict.fromkeys(ruled)), on, mandatory=True))
        return rules

    def unused(self) -> list[str]:
        """Return unused statistics and files."""
        vms = (key for each in self.answers.vms.values() for key in below(each, "stats") if key not in _USED_STATS)
        stats = ["stats of VMs but for CPU usage and IOPS"] if next(vms, None) is not None else []
        return [*stats, *self.answers.unused[:100]]


_GAPS: Mapping[str, tuple[Gap | None, Gap]] = {
    "controllers": (
        Gap("controller VMs (/vms of v1 has them)", "their CPU and memory on each host"),
        Gap("config/clusters/ID/cvms (v4.2 and later)", prism_v4.NEEDED["cvms"]),
    ),
    "demand": (
        Gap("stats/hypervisor_cpu_usage_ppm of VMs (/vms of v1 has it)", "measured demand"),
        Gap("ahv/stats/vms", prism_v4.NEEDED["stats/vms"]),
    ),
    "usage": (
        Gap("stats/hypervisor_cpu_usage_ppm of hosts", "CPU usage of hosts"),
        Gap("stats/clusters/ID/hosts/ID", prism_v4.NEEDED["stats/hosts"]),
    ),
    "disks": (
        Gap("vm_disk_info (ask with include_vm_disk_config=true)", "virtual disks"),
        Gap("disks", "virtual disks"),
    ),
    "categories": (
        None,
        Gap("config/categories?$expand=detailedAssociations", prism_v4.NEEDED["categories"]),
    ),
}
"""Gaps of responses up to v3, and of v4."""


def is_central(cluster: Fields) -> bool:
    """True for Prism Central, which is a cluster without hosts for VMs."""
    functions = cluster.get("functions")
    return isinstance(functions, list) and prism_v4.PRISM_CENTRAL in functions


def _is_unreachable(host: Fields) -> bool:
    """True if AHV has no connection to the host, or restarts its VMs elsewhere. Names of v2.0 are like `kConnected`."""
    state = text(host.get("hypervisor_state")).lower().replace("_", "")
    return "disconnected" in text(host.get("acropolis_connection_state")).lower() or "hafailoversource" in state


def _numa(nodes: int | None, vcpus: int) -> dict[str, object]:
    """Return the virtual NUMA nodes of a VM, which divide its vCPUs equally. 0 means none."""
    return {"cells": [vcpus // nodes] * nodes} if nodes and 1 < nodes <= vcpus and vcpus % nodes == 0 else {}


def _millionths(stats: Fields, key: str) -> float | None:
    """Return a share in millionths as a percentage, or None if it is -1 or invalid."""
    found = number(stats.get(key))
    return found / 1e4 if found is not None and 0 <= found <= 1e7 else None


def _disks(entity: Fields, stores: dict[str, Datastore]) -> Iterable[VirtualDisk]:
    for each in objects(entity.get("vm_disk_info"))[:1_000]:
        if flag(each.get("is_cdrom")) or flag(each.get("is_empty")) or each.get("volume_group_uuid"):
            continue
        bus = text(below(each, "disk_address").get("device_bus")).lower()
        store = stores.get(text(each.get("storage_container_uuid")))
        size = min(whole(each.get("size")) or 0, 2**59)
        yield VirtualDisk(size, _BUSES.get(bus), None, store.name if store is not None else None)
