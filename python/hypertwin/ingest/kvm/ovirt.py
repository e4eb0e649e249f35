"""oVirt and Red Hat Virtualization, from saved responses of the engine's REST API, version 4, as XML or JSON.

A response is an object with a list of its kind: `{"host": [...]}` of /hosts, `host_numa_node` of /hosts/ID/numanodes.
The other kinds are `vm`, `cluster`, `data_center` and `storage_domain`. `ovirt_xml` gives XML this shape. Files can
have any names. Numbers are text.

Fields: ovirt.github.io/ovirt-engine-api-model (Host, Vm, Cluster, StorageDomain, NumaNode: `memory` and sizes in bytes,
`speed` in MHz, `cores` of a socket, `threads` of a core). Statistics come with `?follow=statistics` (Red Hat
Virtualization 4.4, REST API Guide, host statistics). The base of `cpu.current.total` of a VM is not documented, so the
reader ignores it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypertwin.ingest import export_files, outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Cluster, Datastore, Host, Inventory, Rule, Vm
from hypertwin.ingest.json_fields import Fields, below, flag, name, number, objects, text, whole
from hypertwin.ingest.kvm import linux_host, ovirt_xml
from hypertwin.ingest.outside import Source

MOST_ENTITIES = 20_000
HINT = "save the answers as docs/guides/import.md says"
KINDS = ("host", "vm", "cluster", "data_center", "storage_domain", "host_numa_node")
FORMS = (".json", ".xml")
"""Endings of files in a folder."""
ON = frozenset(
    ("up", "powering_up", "powering_down", "paused", "migrating", "reboot_in_progress", "wait_for_launch")
) | frozenset(("not_responding",))
"""States of VMs that use memory of their host (VmStatus)."""

_HEAD = re.compile(rb'\s*\{\s*"(' + "|".join(KINDS).encode() + rb')"\s*:\s*\[')
_ROOTS = tuple(f"{kind}s" for kind in KINDS)


def recognises(head: bytes) -> bool:
    """True if the text begins like a list of the engine, which contains addresses of the API."""
    begins = _HEAD.match(head.removeprefix(b"\xef\xbb\xbf")) is not None or outside.xml_root(head) in _ROOTS
    return begins and b"/ovirt-engine/api" in head


def files(folder: Path) -> Iterable[Path]:
    """Return the XML and JSON files of a folder with such a response."""
    return export_files.recognised(folder, recognises, FORMS)


def read(sources: Sequence[str]) -> Inventory:
    """Return the clusters in these files, or in the XML and JSON files of these folders. Raises SourceError."""
    found: dict[str, list[Fields]] = {kind: [] for kind in KINDS}
    unused = []
    for path, data in export_files.contents(sources, HINT, FORMS):
        is_xml = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
        answer = ovirt_xml.answer(data, path, HINT) if is_xml else outside.parsed(data, path)
        kinds = [kind for kind in KINDS if isinstance(answer, dict) and kind in answer]
        for kind in kinds:
            found[kind] += objects(answer[kind])
            if len(found[kind]) > MOST_ENTITIES:
                Source(path, HINT, kind).too_many(MOST_ENTITIES)
        unused += [] if kinds else [outside.name(path.name)]
    return _inventory(found, export_files.shown(sources), unused[:100])


def _inventory(found: Mapping[str, list[Fields]], source: str, unused: Sequence[str]) -> Inventory:
    notes = ImportNotes(Source(source, HINT))
    centers = {text(each.get("id")): name(each) for each in found["data_center"]}
    clusters = {
        text(each.get("id")): Cluster(name(each), centers.get(_id(each, "data_center")) or None)
        for each in found["cluster"]
        if name(each)
    }
    nodes = _numa_nodes(found["host_numa_node"])
    hosts = {
        text(each.get("id")): host
        for each in found["host"]
        if (host := _host(each, clusters, nodes, notes)) is not None
    }
    if not hosts:
        value = f"{len(found['vm'])} VMs, no host with processors and memory"
        notes.source.at("host").lacks(value, "an answer to /hosts")
    versions = {text(each.get("id")): _cgroup_version(each) for each in found["host"]}
    common = set(versions.values())
    versions[""] = common.pop() if len(common) == 1 else None
    vms = [_vm(each, hosts, clusters, versions, notes) for each in found["vm"] if name(each)]
    if any(vm.powered_on for vm in vms):
        notes.missing("CPU use of VMs (the base of cpu.current.total is not documented)", "measured demand")
    for kind, costs in (("cluster", "names of clusters"), ("storage_domain", "storage")):
        if not found[kind]:
            notes.missing(f"/{kind}s", costs)
    used = dict.fromkeys(host.cluster for host in hosts.values())
    running = [each for each in found["vm"] if text(each.get("status")).lower() in ON]
    protected = sum(map(_is_protected, running))
    if 0 < protected < len(running):
        without = len(running) - protected
        notes.assumed(f"{without} of {len(running)} running VMs are not highly available, so they are not restarted")
    ha = protected > 0 if running else None
    return Inventory(
        source,
        "ovirt",
        list(hosts.values()),
        vms,
        [store for each in found["storage_domain"] if (store := _store(each, clusters)) is not None],
        list(_rules(found["vm"], hosts)),
        notes.gaps,
        notes.assumptions(),
        [Cluster(each.name, each.datacenter, ha=ha) for each in clusters.values() if each.name in used],
        unused,
    )


def _id(fields: Fields, key: str) -> str:
    return text(below(fields, key).get("id"))


def _statistics(entity: Fields) -> dict[str, float]:
    """Return statistics inside an entity by name. If a statistic has several values, the first one is returned."""
    found = {}
    for each in objects(below(entity, "statistics").get("statistic"))[:1_000]:
        values = objects(below(each, "values").get("value"))
        value = number(values[0].get("datum")) if values else None
        if value is not None:
            found[text(each.get("name"))] = value
    return found


def _numa_nodes(entities: Iterable[Fields]) -> dict[str, int]:
    """Return the number of NUMA nodes with CPUs of each host, by its `id`."""
    found: dict[str, set[str]] = {}
    for each in entities:
        if objects(below(each, "cpu", "cores").get("core")):
            found.setdefault(_id(each, "host"), set()).add(text(each.get("index")))
    return {host: len(indexes) for host, indexes in found.items()}


def _host(entity: Fields, clusters: Mapping[str, Cluster], nodes: Mapping[str, int], notes: ImportNotes) -> Host | None:
    """Return a host, or None without processors or memory, for example if it was never up."""
    called, cpu = name(entity), below(entity, "cpu")
    counts = [whole(below(cpu, "topology").get(key)) for key in ("sockets", "cores", "threads")]
    sockets, cores, threads = (count or 0 for count in counts)
    memory = whole(entity.get("memory"))
    if not called or not sockets or not cores or not memory:
        if called:
            notes.host(called, "left out: its processors and memory are unknown")
        return None
    if sockets * cores * max(threads, 1) > linux_host.MOST_CPUS:
        value = f"{sockets} x {cores} x {threads}"
        notes.source.at(f"{called}/cpu/topology").too_large(value, f"at most {linux_host.MOST_CPUS} CPUs")
    mhz = number(cpu.get("speed"))
    clock = linux_host.clock_in_name(text(cpu.get("name")))
    if clock is None and mhz is not None and 100 <= mhz <= 20_000:
        clock = mhz * 1e6
        notes.host(called, f"assumed a nominal clock of {mhz:.0f} MHz: the current speed of its CPUs")
    status = text(entity.get("status")).lower()
    in_maintenance = "maintenance" in status
    if is_unreachable := not in_maintenance and status not in ("", "up"):
        notes.unreachable(called, status)
    stats = {} if is_unreachable else _statistics(entity)
    idle, total, used = (stats.get(key) for key in ("cpu.current.idle", "memory.total", "memory.used"))
    usage = None if idle is None else linux_host.usage_pct(1 - idle / 100, max(threads, 1))
    if usage is None and not is_unreachable:
        notes.missing("statistics of hosts (?follow=statistics)", "CPU and memory usage of hosts")
    elif usage is not None and threads > 1:
        notes.host(called, linux_host.BUSY_THREADS)
    numa_nodes = nodes.get(text(entity.get("id")))
    if numa_nodes is None:
        notes.missing("/hosts/ID/numanodes", "NUMA nodes of hosts")
    system = below(entity, "os")
    version = text(below(system, "version").get("full_version"))
    cluster = clusters.get(_id(entity, "cluster"))
    return Host(
        called,
        sockets,
        cores,
        max(threads, 1),
        memory,
        clock_hz=clock,
        hypervisor=outside.name(f"oVirt on {text(system.get('type'))} {version} (KVM)"),
        cluster=cluster.name if cluster is not None else None,
        datacenter=cluster.datacenter if cluster is not None else None,
        numa_nodes=numa_nodes,
        cpu_model=name(cpu) or None,
        cpu_usage_pct=usage,
        memory_usage_pct=100 * used / total if total and used is not None and 0 <= used <= total else None,
        in_maintenance=in_maintenance or is_unreachable,
    )


def _cgroup_version(entity: Fields) -> int | None:
    """Return the default version of control groups in the release of a host's system, or None if unknown.

    Red Hat Enterprise Linux mounts version 1 by default up to 8, and version 2 from 9 on (Red Hat, Managing,
    monitoring and updating the kernel, "Mounting cgroups-v1"). The engine passes `cpu_shares` to libvirt unchanged
    (oVirt/ovirt-engine, LibvirtVmXmlBuilder).
    """
    full = text(below(entity, "os", "version").get("full_version"))[:100]
    release = re.search(r"\.el([0-9]{1,2})", full) or re.match(r"([0-9]{1,2})\b", full)
    major = int(release[1]) if release is not None else 0
    return (1 if major <= 8 else 2) if major >= 6 else None


def _vm(
    entity: Fields,
    hosts: Mapping[str, Host],
    clusters: Mapping[str, Cluster],
    versions: Mapping[str, int | None],
    notes: ImportNotes,
) -> Vm:
    """Return a VM. `versions` are those of control groups, by the `id` of the host, which is empty for no host."""
    called = name(entity)
    counts = [whole(below(entity, "cpu", "topology").get(key)) or 1 for key in ("sockets", "cores", "threads")]
    vcpus, memory = counts[0] * counts[1] * counts[2], whole(entity.get("memory")) or 0
    if vcpus > linux_host.MOST_CPUS:
        notes.source.at(f"{called}/cpu/topology").too_large(vcpus, f"at most {linux_host.MOST_CPUS} vCPUs")
    on = text(entity.get("status")).lower() in ON
    host, cluster = hosts.get(_id(entity, "host")), clusters.get(_id(entity, "cluster"))
    weight = whole(entity.get("cpu_shares")) or None
    version = versions.get(_id(entity, "host"))
    if weight is not None:
        notes.vm(called, linux_host.weights(version, (weight,)))
    return Vm(
        called,
        vcpus,
        memory,
        host=host.name if host is not None else None,
        cluster=cluster.name if cluster is not None else (host.cluster if host is not None else None),
        datacenter=cluster.datacenter if cluster is not None else None,
        powered_on=on,
        cores_per_socket=counts[1] * counts[2],
        shares=linux_host.shares(weight, version),
        guest_os=outside.name(text(below(entity, "os").get("type"))) or None,
        restart_priority="disabled" if "high_availability" in entity and not _is_protected(entity) else None,
    )


def _is_protected(vm: Fields) -> bool:
    """True if the engine restarts a VM on another host."""
    return flag(below(vm, "high_availability").get("enabled"))


def _store(entity: Fields, clusters: Mapping[str, Cluster]) -> Datastore | None:
    """Return a storage domain for disks, or None for a domain of images or exports."""
    used, free = whole(entity.get("used")), whole(entity.get("available"))
    if text(entity.get("type")) != "data" or not name(entity):
        return None
    size = used + free if used is not None and free is not None else None
    kind = outside.name(text(below(entity, "storage").get("type")))
    return Datastore(name(entity), kind, size or None, free, provisioned_bytes=whole(entity.get("committed")))


def _rules(vms: Iterable[Fields], hosts: Mapping[str, Host]) -> Iterable[Rule]:
    """Yield the VMs that can run only on some hosts."""
    for each in vms:
        listed: Any = objects(below(each, "placement_policy", "hosts").get("host"))
        on = tuple(hosts[key].name for host in listed if (key := text(host.get("id"))) in hosts)
        if on and name(each):
            pinned = text(below(each, "placement_policy").get("affinity")) != "migratable"
            yield Rule(f"placement of {name(each)}", "run-on", (name(each),), on, mandatory=pinned)
