"""OpenStack compute hosts and servers, from saved responses of Nova's API or lists of the `openstack` command, as JSON.

A response is `{"hypervisors": [...]}` of /os-hypervisors/detail (a microversion below 2.88, because later ones lack
processors and memory), `servers` of /servers/detail, or `flavors`. A list of the command has the same data under column
titles (`Hypervisor Hostname`). Fields: openstack/nova, doc/api_samples (os-hypervisors, servers, flavors), and
nova/virt/libvirt/driver.py (`vcpus` are logical CPUs, `topology` has `cells` with their sockets); columns:
python-openstackclient, compute/v2. Memory is in MiB. `memory_mb_used` is memory assigned to servers, not a measurement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypertwin.ingest import export_files, outside
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Cluster, Host, Inventory, Vm
from hypertwin.ingest.json_fields import Fields, below, name, objects, text, whole
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.outside import Source

MOST_ENTITIES = 20_000
MIB = 2**20
HINT = "save the answers as docs/guides/import.md says"
KINDS = ("hypervisors", "servers", "flavors")
ON = frozenset(
    ("active", "paused", "reboot", "hard_reboot", "migrating", "resize", "verify_resize", "revert_resize", "password")
) | frozenset(("rescue",))
"""States of servers that use memory of their host. A rescued server runs another image, a suspended one is on disk, and
a shelved one is off (openstack/nova, nova/compute/vm_states.py)."""
ON_ITS_HOST = frozenset(("1", "running", "3", "paused"))
"""Power states of servers that use memory of their host, in any state, such as ERROR or REBUILD
(openstack/nova, nova/compute/power_state.py)."""
BARE_METAL = "ironic"
"""Type of a hypervisor that stands for a physical server without VMs (nova/virt/ironic)."""

_HEAD = re.compile(rb'"(hypervisor_hostname|Hypervisor Hostname|OS-EXT-SRV-ATTR:host|OS-EXT-STS:vm_state)"')


def recognises(head: bytes) -> bool:
    """True if the file is JSON with fields that only hypervisors and servers of OpenStack have."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    return text.startswith((b"{", b"[")) and _HEAD.search(text) is not None


def files(folder: Path) -> Iterable[Path]:
    """Return the JSON files of a folder with such a response."""
    return export_files.recognised(folder, recognises)


def read(sources: Sequence[str]) -> Inventory:
    """Return the hosts and servers in these files, or in the JSON files of these folders. Raises SourceError."""
    found: dict[str, list[Fields]] = {kind: [] for kind in KINDS}
    unused = []
    for path, data in export_files.contents(sources, HINT):
        kind, entities = _answer(outside.parsed(data, path))
        if kind is None:
            unused.append(outside.name(path.name))
            continue
        found[kind] += entities
        if len(found[kind]) > MOST_ENTITIES:
            Source(path, HINT, kind).too_many(MOST_ENTITIES)
    return _inventory(found, export_files.shown(sources), unused[:100])


def _answer(answer: Any) -> tuple[str | None, list[Fields]]:
    """Return the kind of a response and its entities, with column titles converted to field names."""
    if isinstance(answer, dict):
        kind = next((each for each in KINDS if isinstance(answer.get(each), list)), None)
        return kind, objects(answer.get(kind)) if kind else []
    listed = [{key.lower().replace(" ", "_"): value for key, value in each.items()} for each in objects(answer)]
    columns = set().union(*listed[:1])
    for kind, needed in (("hypervisors", "hypervisor_hostname"), ("flavors", "vcpus"), ("servers", "status")):
        if needed in columns:
            return kind, list(listed)
    return None, []


def _inventory(found: Mapping[str, list[Fields]], source: str, unused: Sequence[str]) -> Inventory:
    notes = ImportNotes(Source(source, HINT))
    hosts = {host.name: host for each in found["hypervisors"] if (host := _host(each, notes)) is not None}
    if not hosts:
        value = f"{len(found['hypervisors'])} hypervisors, none with vcpus and memory_mb"
        hint = "ask for a microversion below 2.88, with --long"
        notes.source.at("hypervisors").lacks(value, "an answer to /os-hypervisors/detail", hint)
    flavors = {text(each.get(key)): each for each in found["flavors"] for key in ("name", "id")}
    bare = {name(each, "hypervisor_hostname") for each in found["hypervisors"] if _is_bare_metal(each)}
    servers = [each for each in found["servers"] if _host_of(each) not in bare]
    vms = [vm for each in servers if (vm := _vm(each, hosts, flavors, notes.source)) is not None]
    if any(host.clock_hz is None for host in hosts.values()):
        notes.missing("nominal clock (Nova does not have it)", "clocks of hosts")
    notes.missing("CPU and memory used (Nova does not measure them)", "measured demand and usage")
    if len(servers) < len(found["servers"]):
        notes.assumed(f"{len(found['servers']) - len(servers)} servers are left out: bare-metal nodes, no VMs")
    lost = len(servers) - len(vms)
    if lost:
        notes.assumed(f"{lost} servers are left out: their flavor is not in the files")
    return Inventory(
        source,
        "openstack",
        list(hosts.values()),
        vms,
        gaps=notes.gaps,
        clusters=[Cluster("", ha=True, restarts_by="masakari")] if any(map(_is_protected, found["servers"])) else [],
        assumptions=notes.assumptions(),
        unused=unused,
    )


def _host(entity: Fields, notes: ImportNotes) -> Host | None:
    """Return a compute host, or None without processors or memory, as from microversion 2.88 on."""
    called = name(entity, "hypervisor_hostname")
    cpus, memory = whole(entity.get("vcpus")), whole(entity.get("memory_mb"))
    if not called or not cpus or not memory:
        return None
    if _is_bare_metal(entity):
        notes.host(called, "left out: a bare-metal node of Ironic, which runs no VMs")
        return None
    if is_down := text(entity.get("state")).lower() == "down":
        notes.unreachable(called, "down")
    if cpus > linux_host.MOST_CPUS:
        notes.source.at(f"{called}/vcpus").too_large(cpus, f"at most {linux_host.MOST_CPUS}")
    info = entity.get("cpu_info")
    if isinstance(info, str) and len(info) < 100_000 and info.lstrip().startswith("{"):  # before microversion 2.28
        info = outside.parsed(info.encode("utf-8", "replace"), Path(str(notes.source.name)))
    topology = below({"info": info}, "info", "topology")
    cells, sockets, cores, threads = (whole(topology.get(key)) or 0 for key in ("cells", "sockets", "cores", "threads"))
    nodes = None
    if cells and cells * sockets * cores * threads == cpus:
        nodes, sockets = cells, cells * sockets
    elif not sockets or sockets * cores * threads != cpus:
        threads = 2 if cpus % 2 == 0 else 1
        sockets, cores = 1, cpus // threads
        notes.host(called, "assumed one socket, and two threads per core if even: its topology is unknown")
    version = whole(entity.get("hypervisor_version"))
    told = "" if version is None else f" {version // 10**6}.{version // 1000 % 1000}.{version % 1000}"
    return Host(
        called,
        sockets,
        cores,
        threads,
        memory * MIB,
        hypervisor=f"{name(entity, 'hypervisor_type') or 'QEMU'}{told}",
        numa_nodes=nodes,
        cpu_model=outside.name(text(below({"info": info}, "info").get("model"))) or None,
        in_maintenance=is_down or text(entity.get("status")).lower() == "disabled",
    )


def _vm(entity: Fields, hosts: Mapping[str, Host], flavors: Mapping[str, Fields], source: Source) -> Vm | None:
    """Return a server, or None without a size."""
    told = entity.get("flavor")
    keys = [
        text(told),
        *(text(entity.get(key)) for key in ("flavor_name", "flavor_id")),
        text(below(entity, "flavor").get("id")),
    ]
    size = (
        told
        if isinstance(told, dict) and "vcpus" in told
        else next((flavors[key] for key in keys if key in flavors), {})
    )
    vcpus, memory = whole(size.get("vcpus")), whole(size.get("ram"))
    if not name(entity) or not vcpus or not memory:
        return None
    if vcpus > linux_host.MOST_CPUS:
        source.at(f"{name(entity)}/flavor").too_large(vcpus, f"at most {linux_host.MOST_CPUS} vCPUs")
    return Vm(
        name(entity),
        vcpus,
        memory * MIB,
        host=_host_of(entity) or None,
        powered_on=_is_on(entity),
        shares=linux_host.shares(None, 2),
        huge_pages=text(below(size, "extra_specs").get("hw:mem_page_size")) not in ("", "small", "any", "4", "4096"),
        restart_priority="high" if _is_protected(entity) else None,
    )


def _is_on(server: Fields) -> bool:
    """True if a server uses memory of its host."""
    power = text(server.get("OS-EXT-STS:power_state")) or text(server.get("power_state"))
    return text(server.get("status")).lower() in ON or power.lower() in ON_ITS_HOST


def _is_bare_metal(hypervisor: Fields) -> bool:
    return name(hypervisor, "hypervisor_type").lower() == BARE_METAL


def _host_of(server: Fields) -> str:
    """Return the name of the host of a server, or an empty string."""
    keys = ("OS-EXT-SRV-ATTR:hypervisor_hostname", "OS-EXT-SRV-ATTR:host", "host")
    return next((called for key in keys if (called := name(server, key))), "")


def _is_protected(server: Fields) -> bool:
    """True if Masakari evacuates it before others (`HA_Enabled`); only users of Masakari set this."""
    return text(below(server, "metadata").get("HA_Enabled")).lower() == "true"
