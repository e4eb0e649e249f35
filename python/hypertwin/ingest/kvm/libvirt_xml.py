"""Parser of libvirt's XML of a host and its domains: text in, plain values out, no connection.

Formats: libvirt.org/formatcaps.html (capabilities), formatdomain.html (domains), formatstorage.html (pools), and
docs/schemas there. All text is bounded, and parsed by defusedxml: no entities, nothing fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml import ElementTree
from defusedxml.common import DefusedXmlException

from hypertwin.ingest import outside
from hypertwin.ingest.inventory import Datastore, Host, VirtualDisk, Vm
from hypertwin.ingest.kvm import linux_host
from hypertwin.ingest.kvm.linux_host import Numbering, Place
from hypertwin.ingest.outside import Source

MOST_BYTES = 4 * 2**20
"""Maximum length of one document: capabilities of a host with 2,000 CPUs have 300 KB, a domain has 10 KB."""
MOST_VCPUS = 4_096
MOST_PINNED = 1_000_000
"""Maximum number of CPUs in all different lists of a domain's pinning, summed."""
HINT = "export it from libvirt again"
MOST_CELLS = 1_024
MOST_DISKS = 1_024
UNLIMITED_QUOTA = 17_592_186_044_415
"""Quota from which there is no limit (formatdomain.html, cputune)."""
DEFAULT_PERIOD_US = 100_000
"""Default period of a quota (Linux, Documentation/scheduler/sched-bwc.rst)."""

_UNITS = {
    **{"b": 1, "bytes": 1, "": 1024, "k": 2**10, "kib": 2**10, "m": 2**20, "mib": 2**20, "g": 2**30, "gib": 2**30},
    **{"t": 2**40, "tib": 2**40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
}
"""Units of memory. The default is KiB (formatdomain.html, memory allocation)."""
_CONTROLLERS = {"virtio-scsi": "virtio-scsi", "vmpvscsi": "pvscsi", "lsisas1068": "lsi-sas", "lsisas1078": "lsi-sas"}
"""Names of SCSI controllers in scenarios, by libvirt's model."""


@dataclass(frozen=True)
class NodeInfo:
    """Output of `virNodeGetInfo` for a host."""

    memory_bytes: int
    clock_mhz: int
    """Current clock of the first CPU, or 0 if unknown."""
    nodes: int
    sockets_per_node: int
    cores_per_socket: int
    threads_per_core: int


@dataclass(frozen=True)
class HostTold:
    """A host, from its capabilities."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_bytes: int
    numbering: Numbering
    numa_nodes: int | None
    """Nodes with CPUs, or None if not in the capabilities."""
    uuid: str = ""
    clock_hz: float | None = None
    cpu_model: str | None = None
    assumed: tuple[str, ...] = ()

    def host(self, name: str, **more: Any) -> Host:
        """Return the host of an inventory, with more of its fields."""
        topology = self.sockets, self.cores_per_socket, self.threads_per_core, self.memory_bytes
        return Host(name, *topology, self.clock_hz, numa_nodes=self.numa_nodes, cpu_model=self.cpu_model, **more)


@dataclass(frozen=True)
class DiskTold:
    """A disk of a domain, and its names in libvirt."""

    target: str
    """`vda`: its name in libvirt's statistics."""
    path: str
    """File or device, or an empty string without one."""
    pool: str
    """Storage pool in its definition, if any."""
    disk: VirtualDisk


@dataclass(frozen=True)
class DomainTold:
    """A domain, from its definition, without measurements."""

    uuid: str
    vm: Vm
    weight: float | None
    """Configured control-group weight."""
    limit_cores: float | None
    disks: tuple[DiskTold, ...]
    assumed: tuple[str, ...] = field(default=())
    active: bool = False
    """True if it has an `id`, i.e. it was running when its definition was read."""


def parsed(text: str, source: str, root: str) -> Element:
    """Return the parsed XML. Its root element must be `root`. Raises SourceError, which names `source`."""
    allowed, whole = f"XML of <{root}> of at most {MOST_BYTES} bytes", Source(source, HINT, root)
    if len(text) > MOST_BYTES:
        whole.too_large(f"{len(text)} characters", allowed)
    try:
        tree: Element = ElementTree.fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        whole.refuse(error, allowed)
    if tree.tag != root:
        whole.refuse(f"<{tree.tag}>", allowed)
    return tree


def host(capabilities: str, info: NodeInfo, sysinfo: str, source: str, model: str = "") -> HostTold:
    """Return a host from its capabilities, its SMBIOS data (can be empty), and `virNodeGetInfo` for missing data.

    `model` is the processor's full name from another source, if any.
    """
    tree = parsed(capabilities, source, "capabilities")
    places, memory, without_cpus, offline = _cells(tree, source)
    outside_nodes = linux_host.outside_nodes(info.memory_bytes, memory + without_cpus) if memory else None
    assumed = [outside_nodes] if outside_nodes else []
    if places:
        sockets = len({place.socket for place in places.values()})
        cores = len({place[:3] for place in places.values()})
        per_socket = -(-cores // sockets)
        threads = max(place.thread for place in places.values()) + 1
        if sockets * per_socket * threads != len(places):
            taken = f"{sockets} x {per_socket} cores of {threads} threads"
            assumed.append(f"{len(places)} logical CPUs, assumed {taken}: its cores differ")
        if offline:
            assumed.append(f"{offline} logical CPUs that are offline are left out")
        numbering = Numbering.of(places, per_socket, threads)
        nodes: int | None = len({place.node for place in places.values()})
    else:
        sockets = max(info.nodes, 1) * max(info.sockets_per_node, 1)
        per_socket, threads = max(info.cores_per_socket, 1), max(info.threads_per_core, 1)
        _at_most(sockets * per_socket * threads, linux_host.MOST_CPUS, source, "logical CPUs of the host")
        numbering = Numbering.usual(sockets, per_socket, threads)
        nodes = info.nodes if info.nodes > 0 else None
    clock, model, how = _processor(tree, sysinfo, info, source, model)
    return HostTold(
        sockets,
        per_socket,
        threads,
        memory or info.memory_bytes,
        numbering,
        nodes,
        _text(tree, "host/uuid"),
        clock,
        outside.name(model) or None,
        (*assumed, *how),
    )


def _cells(tree: Element, source: str) -> tuple[dict[int, Place], int, int, int]:
    """Return the place of each logical CPU, the memory of nodes with and without CPUs, and the offline CPU count."""
    places: dict[int, Place] = {}
    memory = without_cpus = offline = 0
    threads: dict[tuple[int, int], int] = {}
    for position, cell in enumerate(tree.iterfind("host/topology/cells/cell")):
        _at_most(position + 1, MOST_CELLS, source, "NUMA cells")
        node = _whole(cell.get("id"))
        if node is None:
            Source(source, HINT, "host/topology/cells/cell").refuse(cell.get("id") or "no id", "a number")
        listed = list(cell.iterfind("cpus/cpu"))
        size = _bytes(cell.find("memory")) or 0
        if listed:
            memory += size
        else:
            without_cpus += size
        for cpu in listed:
            number, socket, core = (_whole(cpu.get(key)) for key in ("id", "socket_id", "core_id"))
            sibling = re.match("[0-9]{1,5}", cpu.get("siblings", ""), re.ASCII)
            if number is None or number in places:
                Source(source, HINT, f"cell {node}/cpu").refuse(cpu.get("id") or "no id", "a number of its own")
            if socket is None or core is None or sibling is None:
                offline += 1
                continue
            _at_most(len(places) + 1, linux_host.MOST_CPUS, source, "logical CPUs of the host")
            key = (socket, int(sibling[0]))  # not by core_id, which two dies of a socket may have in common
            threads[key] = threads.get(key, -1) + 1
            places[number] = Place(socket, node, key[1], threads[key])
    return places, memory, without_cpus, offline


def _processor(
    tree: Element, sysinfo: str, info: NodeInfo, source: str, model: str
) -> tuple[float | None, str, list[str]]:
    """Return nominal clock in Hz, model, and assumptions."""
    named = model or _text(tree, "host/cpu/model")
    if sysinfo:
        for entry in parsed(sysinfo, source, "sysinfo").iterfind("processor/entry"):
            if entry.get("name") == "version" and entry.text:
                named = entry.text.strip()
                break
    clock = linux_host.clock_in_name(named)
    if clock is not None:
        return clock, named, []
    for counter in tree.iterfind("host/cpu/counter"):
        frequency = _whole(counter.get("frequency"))
        if counter.get("name") == "tsc" and frequency and 10**8 <= frequency <= 2 * 10**10:
            return round(frequency / 1e7) * 1e7, named, ["the nominal clock is that of the time-stamp counter"]
    if 100 <= info.clock_mhz <= 20_000:
        how = f"a nominal clock of {info.clock_mhz} MHz: what a CPU ran at when asked, as libvirt tells no other"
        return info.clock_mhz * 1e6, named, [how]
    return None, named, []


def domain(text: str, numbering: Numbering, source: str) -> DomainTold:
    """Return a domain from its definition, on a host with this numbering. Raises SourceError."""
    tree = parsed(text, source, "domain")
    name = outside.name(_text(tree, "name"))
    place = f"domain {name}" if name else "domain"
    if not name:
        Source(source, HINT, "domain/name").refuse("none", "a name")
    vcpu = tree.find("vcpu")
    most = _whole(vcpu.text) if vcpu is not None else 1
    now = _whole(vcpu.get("current")) if vcpu is not None and vcpu.get("current") else most
    if not most or not now or now > most:
        allowed = "a number from 1, and a current one up to it"
        Source(source, "see virsh dumpxml", f"{place}/vcpu").refuse(_shown(vcpu), allowed)
    _at_most(most, MOST_VCPUS, source, f"{place}/vcpu")
    memory = _bytes(tree.find("memory"))
    if not memory:
        shown = _shown(tree.find("memory"))
        Source(source, "see virsh dumpxml", f"{place}/memory").refuse(shown, "a size with a unit")

    plugged = _plugged(tree, most, now)
    pins = _pins(tree, plugged, source, place)
    numa, assumed = _numa(tree, plugged, pins, numbering, source)
    sets = set(pins.values())
    affinity = numbering.affinity(frozenset().union(*sets)) if len(pins) == len(plugged) else None
    if affinity is not None and len(sets) > 1 and "nodes" not in numa:
        assumed.append("its vCPUs are pinned one by one: assumed free among all these CPUs")
    disks = tuple(_disks(tree, source, place))
    locked = tree.find("memoryBacking/locked") is not None
    vm = Vm(
        name,
        now,
        memory,
        cores_per_socket=_cores_per_socket(tree, now),
        cpu_hot_add=now < most,
        affinity=affinity,
        numa=numa,
        disks=tuple(each.disk for each in disks),
        guest_os=_guest_os(tree),
        memory_reservation_bytes=memory if locked else _bytes(tree.find("memtune/min_guarantee")),
        memory_limit_bytes=None if locked else _bytes(tree.find("memtune/hard_limit")),
        huge_pages=tree.find("memoryBacking/hugepages") is not None,
        live_migration=tree.find("devices/hostdev") is None,
    )
    weight = outside.number(_text(tree, "cputune/shares"))
    limit, active = _limit_cores(tree, now), tree.get("id") is not None
    return DomainTold(_text(tree, "uuid"), vm, weight, limit, disks, tuple(assumed), active)


def _plugged(tree: Element, most: int, now: int) -> list[int]:
    """Return the numbers of hot-plugged vCPUs that are present."""
    told = {
        number
        for vcpu in tree.iterfind("vcpus/vcpu")
        if vcpu.get("enabled") == "yes" and (number := _whole(vcpu.get("id"))) is not None and number < most
    }
    return sorted(told) if len(told) == now else list(range(now))


def _pins(tree: Element, plugged: Sequence[int], source: str, place: str) -> dict[int, frozenset[int]]:
    """Return the host CPUs of each pinned vCPU: those of `vcpupin`, otherwise of the `cpuset` of `vcpu`."""
    vcpu = tree.find("vcpu")
    common = vcpu.get("cpuset") if vcpu is not None and vcpu.get("placement") != "auto" else None
    texts: dict[int, str] = dict.fromkeys(plugged, common) if common else {}
    there = set(plugged)
    for pin in tree.iterfind("cputune/vcpupin"):
        number = _whole(pin.get("vcpu"))
        if number is not None and number in there:
            texts[number] = pin.get("cpuset", "")
    sets: dict[str, frozenset[int]] = {}
    for text in texts.values():
        if text in sets:
            continue
        cpus = linux_host.cpu_list(text)
        if not cpus:
            Source(source, "see virsh vcpupin", f"{place}/cpuset").refuse(text, "a list such as 0-3,8")
        sets[text] = frozenset(cpus)
        _at_most(sum(map(len, sets.values())), MOST_PINNED, source, f"{place}/cpuset")
    return {number: sets[text] for number, text in texts.items()}


def _numa(
    tree: Element, plugged: Sequence[int], pins: Mapping[int, frozenset[int]], numbering: Numbering, source: str
) -> tuple[dict[str, object], list[str]]:
    """Return the keys of a scenario's `numa`, and the assumptions behind them.

    A cell is bound to a node if all its vCPUs are pinned to that node. Its memory is then on that node too, with or
    without a `memnode`, because Linux allocates memory on the node that first touches it.
    """
    there = set(plugged)
    cells: dict[int, list[int]] = {}
    for position, cell in enumerate(tree.iterfind("cpu/numa/cell")):
        _at_most(position + 1, MOST_CELLS, source, "cpu/numa/cell")
        number = _whole(cell.get("id"))
        listed = linux_host.cpu_list(cell.get("cpus", "")) or []
        cells[position if number is None else number] = [vcpu for vcpu in listed if vcpu in there]
    cells = {number: vcpus for number, vcpus in sorted(cells.items()) if vcpus}
    if sorted(vcpu for vcpus in cells.values() for vcpu in vcpus) != list(plugged):
        cells = {0: list(plugged)}
    nodes = [_home(vcpus, pins, numbering) for vcpus in cells.values()]
    sizes = [len(vcpus) for vcpus in cells.values()]
    if None not in nodes:
        return {"cells": sizes, "nodes": nodes}, []
    bound = any(each.get("nodeset") for each in tree.iterfind("numatune/*"))
    assumed = (
        ["numatune binds its memory to nodes, but its vCPUs are not pinned there: assumed not bound"] if bound else []
    )
    return ({"cells": sizes} if len(sizes) > 1 else {}), assumed


def _home(vcpus: Sequence[int], pins: Mapping[int, frozenset[int]], numbering: Numbering) -> int | None:
    """Return the node that all these vCPUs are pinned to."""
    if any(vcpu not in pins for vcpu in vcpus):
        return None
    homes = {numbering.node(cpus) for cpus in {pins[vcpu] for vcpu in vcpus}}
    return homes.pop() if len(homes) == 1 else None


def _limit_cores(tree: Element, vcpus: int) -> float | None:
    """Return the limit of all vCPUs of a domain together, in cores.

    `quota` is per vCPU, `global_quota` is for the whole domain.
    """
    limits = []
    for prefix, times in (("", vcpus), ("global_", 1)):
        quota = _whole(_text(tree, f"cputune/{prefix}quota"))  # -1 is no limit
        period = _whole(_text(tree, f"cputune/{prefix}period")) or DEFAULT_PERIOD_US
        if quota and quota < UNLIMITED_QUOTA:
            limits.append(quota / period * times)
    limit = min(limits, default=None)
    return limit if limit is not None and limit < vcpus else None


def _cores_per_socket(tree: Element, vcpus: int) -> int | None:
    """Return the vCPUs of one virtual socket, including all threads, or None if that does not divide the vCPUs."""
    topology = tree.find("cpu/topology")
    if topology is None:
        return None
    counts = [_whole(topology.get(key, "1")) for key in ("dies", "clusters", "cores", "threads")]
    product = 1
    for count in counts:
        product *= count or 1
    return product if product <= vcpus and vcpus % product == 0 else None


def _disks(tree: Element, source: str, place: str) -> Iterator[DiskTold]:
    """Yield disks, without CD-ROMs and floppies. A definition has no capacities, so they are 0 here."""
    models = {
        _whole(each.get("index")): each.get("model", "")
        for each in tree.iterfind("devices/controller")
        if each.get("type") == "scsi"
    }
    for position, disk in enumerate(tree.iterfind("devices/disk")):
        _at_most(position + 1, MOST_DISKS, source, f"{place}/disks")
        target = disk.find("target")
        if disk.get("device", "disk") not in ("disk", "lun") or target is None:
            continue
        bus, device = target.get("bus", ""), target.get("dev", "")
        address = disk.find("address")
        index = _whole(address.get("controller")) if address is not None and address.get("type") == "drive" else None
        kind = {"virtio": "virtio-blk", "nvme": "nvme"}.get(bus)
        if bus == "scsi":
            kind = _CONTROLLERS.get(models.get(index or 0, ""))
        origin = disk.find("source")
        path = pool = ""
        if origin is not None:
            path = next((origin.get(key, "") for key in ("file", "dev", "name", "volume") if origin.get(key)), "")
            pool = origin.get("pool", "")
        number = index if bus == "scsi" else None
        yield DiskTold(device, path, pool, VirtualDisk(0, kind, number))


def placed(
    disks: Sequence[DiskTold], sizes: Mapping[str, int], folders: Mapping[str, tuple[str, str]]
) -> tuple[VirtualDisk, ...]:
    """Return disks with their capacities by target, and datastores.

    `folders` has the folder and the name of each pool.
    """
    made = []
    for each in disks:
        store = folders[each.pool][1] if each.pool in folders else None
        if store is None:
            inside = (name for folder, name in folders.values() if folder and each.path.startswith(folder + "/"))
            store = next(inside, None)
        made.append(replace(each.disk, capacity_bytes=sizes.get(each.target, 0), datastore=store))
    return tuple(made)


def storage(told: Sequence[DiskTold], disks: Sequence[VirtualDisk], allocated: Mapping[str, int]) -> dict[str, Any]:
    """Return provisioned and used storage of disks of a domain, by fields of `inventory.Vm`.

    A value is None if unknown for a disk.
    """
    may = [disk.capacity_bytes for disk in disks]
    do = [allocated[each.target] for each in told if each.target in allocated]
    return {
        "storage_provisioned_bytes": sum(may) if may and all(may) else None,
        "storage_used_bytes": sum(do) if do and len(do) == len(told) else None,
    }


def snapshot_time(text: str, source: str) -> datetime | None:
    """Return creation time of a snapshot, from its XML (formatsnapshot.html)."""
    seconds = _whole(_text(parsed(text, source, "domainsnapshot"), "creationTime"))
    return datetime.fromtimestamp(seconds, UTC) if seconds and seconds < 2**32 else None


def _guest_os(tree: Element) -> str | None:
    """Return the guest operating system from libosinfo's metadata.

    Example: `http://debian.org/debian/12` gives `debian.org/debian/12`.
    """
    for element in tree.iterfind("metadata//{*}os"):
        identity = element.get("id", "")
        if identity:
            return outside.name(re.sub(r"^https?://", "", identity))
    return None


def pool(text: str, hosts: tuple[str, ...], source: str) -> tuple[Datastore, str]:
    """Return a storage pool as a datastore, and the folder of its volumes (can be empty)."""
    tree = parsed(text, source, "pool")
    name = outside.name(_text(tree, "name")) or "pool"
    kind = outside.name(tree.get("type", ""))
    sizes = (_bytes(tree.find("capacity")), _bytes(tree.find("available")))
    folder = _text(tree, "target/path").rstrip("/")
    return Datastore(name, kind, sizes[0] or None, sizes[1] if sizes[0] else None, hosts), folder


def _text(tree: Element, path: str) -> str:
    return (tree.findtext(path) or "").strip()


def _whole(text: str | None) -> int | None:
    """Return an integer of at most 15 digits, or None."""
    return int(text) if text and re.fullmatch(r"\s*[0-9]{1,15}\s*", text, re.ASCII) else None


def _bytes(element: Element | None) -> int | None:
    """Return a size with libvirt's unit."""
    if element is None:
        return None
    value, unit = _whole(element.text), _UNITS.get(element.get("unit", "").lower())
    return value * unit if value is not None and unit is not None and value * unit < 2**60 else None


def _shown(element: Element | None) -> str:
    return "none" if element is None else " ".join([element.text or "", *element.attrib.values()])


def _at_most(count: int, most: int, source: str, what: str) -> None:
    if count > most:
        Source(source, HINT, what).too_large(count, f"at most {most}")
