"""KVM hosts from output files of `virsh` and others, without a connection and without the libvirt library.

| file, recognised by its content | data |
|---|---|
| `virsh dumpxml NAME` | a VM; a running VM has an `id` |
| `virsh capabilities`, else `virsh nodeinfo`, else `lscpu` and `numactl -H` | the host |
| `virsh sysinfo`, `uname -a`, `virsh version` | processor's full name; host name and kernel; version of QEMU |
| `stat -fc %T /sys/fs/cgroup` | version of control groups, whose weights differ |
| `virsh pool-dumpxml POOL`, `virsh domstats` | storage; memory, disk sizes and state of VMs |
| `multipath -ll` | path policies of LUNs |

The files of one host are in one folder. The host's name is from `uname`, else from the folder. Its parent folder is the
cluster. Formats: libvirt.org/formatdomain.html, formatcaps.html, manpages/virsh.html.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypertwin.ingest import export_files, outside, storage_paths
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Datastore, Host, Inventory, Vm
from hypertwin.ingest.kvm import libvirt_stats, libvirt_xml, linux_host, lscpu
from hypertwin.ingest.kvm.libvirt_xml import DomainTold, NodeInfo
from hypertwin.ingest.kvm.linux_host import Numbering
from hypertwin.ingest.outside import Gap, Source

MOST_FILES = 20_000
MOST_ALL_BYTES = 256 * 2**20
"""Maximum bytes of all files. A domain has 10 KB."""
MOST_STATS_BYTES = 16 * 2**20
MOST_DEPTH = 3
"""Maximum number of levels of subfolders."""
MOST_HOSTS = 1_000
MOST_UNUSED = 100
COMMANDS = "virsh capabilities > capabilities.xml, in the folder with the virsh dumpxml of its VMs"
RUNNING = 1
"""`state.state` of a running domain (virDomainState)."""

_TEXTS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("domstats", re.compile(rb"\s*Domain: '")),
    ("nodeinfo", re.compile(rb"CPU model:\s.*?^NUMA cell\(s\):", re.DOTALL | re.MULTILINE)),
    ("uname", re.compile(rb"Linux \S{1,256} [0-9]")),
    ("cgroup", re.compile(rb"(" + "|".join(linux_host.CGROUP_OUTPUTS).encode() + rb")\s*\Z")),
    ("multipath", re.compile(rb"\S{1,256} (?:\(\S{1,256}\) )?dm-[0-9]{1,6} [^\n]{0,256}\nsize=")),
    ("version", re.compile(rb"(Compiled against|Using) library: libvirt ")),
)
_ROOTS = ("domain", "capabilities", "sysinfo", "pool")
_OF_A_HOST = ("capabilities", "nodeinfo", "lscpu")


@dataclass
class Folder:
    """Files of one host, by kind."""

    path: Path
    cluster: str | None
    files: dict[str, list[Path]] = field(default_factory=dict)

    def first(self, kind: str) -> Path | None:
        """Return the first file of a kind."""
        return next(iter(self.files.get(kind, ())), None)


@dataclass
class Site:
    """A host and its VMs and storage."""

    host: Host
    numbering: Numbering
    domains: list[tuple[Path, DomainTold]] = field(default_factory=list)
    stats: Mapping[str, libvirt_stats.Stats] = field(default_factory=dict)
    luns: list[tuple[str, str, int]] = field(default_factory=list)
    """Name, policy and number of paths of each LUN."""
    cgroup: int | None = None
    """Version of its control groups, or None if unknown."""
    stores: list[tuple[Datastore, str]] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    gaps: Sequence[Gap] = ()


def kind(head: bytes) -> str | None:
    """Return the kind of a file with these first bytes, or None for other files."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if (root := outside.xml_root(head)) is not None:
        return root if root in _ROOTS else None
    if lscpu.recognises(head):
        return "numactl" if lscpu.is_numactl(head) else "lscpu"
    return next((name for name, pattern in _TEXTS if pattern.match(text)), None)


def recognises(head: bytes) -> bool:
    """True if the text begins like the XML of a domain or a host."""
    return kind(head) in ("domain", "capabilities")


def files(folder: Path) -> Iterable[Path]:
    """Return the files of hosts in a folder with XML of a domain or a host."""
    found = _folders([folder])
    if not any(each.files.keys() & {"domain", "capabilities"} for each in found):
        return ()
    return (path for each in found for of_kind, paths in each.files.items() if of_kind != "" for path in paths)


def read(sources: Sequence[str]) -> Inventory:
    """Return the hosts with files in these folders, or with these files. Raises SourceError."""
    folders = _folders([Path(source) for source in sources])
    hosts = [each for each in folders if each.files.keys() & {"domain", *_OF_A_HOST}]
    if len(hosts) > MOST_HOSTS:
        Source(sources[0]).too_large(f"{len(hosts)} hosts", f"at most {MOST_HOSTS}", "read fewer")
    left = MOST_ALL_BYTES
    sites: list[Site] = []
    for folder in hosts:
        left -= sum(path.stat().st_size for paths in folder.files.values() for path in paths)
        if left < 0:
            Source(folder.path).too_many(MOST_ALL_BYTES, "bytes", hint="read fewer hosts")
        sites.append(_site(folder, {site.host.name for site in sites}))
    unused = [outside.name(path.name) for each in folders for path in each.files.get("", ())][:MOST_UNUSED]
    return _inventory(export_files.shown(sources), sites, unused)


def _folders(sources: Sequence[Path]) -> list[Folder]:
    """Return the folders with files of hosts. If a folder has only files of VMs, they belong to its parent folder."""
    found: dict[Path, Folder] = {}
    count = 0
    for source in sources:
        is_folder = outside.is_folder(source)
        for path in sorted(itertools.islice(_below(source), MOST_FILES + 1)) if is_folder else [source]:
            count += 1
            if count > MOST_FILES:
                Source(source).too_many(MOST_FILES, "files", hint="read fewer hosts")
            of_kind = kind(outside.head(path)) or ""
            parts = path.parent.relative_to(source).parts if is_folder else ()
            cluster = outside.name(parts[-2]) if len(parts) > 1 else None
            folder = found.setdefault(path.parent, Folder(path.parent, cluster))
            folder.files.setdefault(of_kind, []).append(path)
    for path, folder in list(found.items()):
        around = next((found[each] for each in path.parents if each in found and _is_host(found[each])), None)
        if not _is_host(folder) and around is not None:
            for of_kind, paths in found.pop(path).files.items():
                around.files.setdefault(of_kind, []).extend(paths)
    return list(found.values())


def _is_host(folder: Folder) -> bool:
    return any(of_kind in folder.files for of_kind in _OF_A_HOST)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, down to `MOST_DEPTH`. Links are not followed."""
    for where, folders, names in os.walk(folder):
        if len(Path(where).relative_to(folder).parts) >= MOST_DEPTH:
            folders.clear()
        for name in names:
            path = Path(where) / name
            if path.suffix in (".xml", ".txt", ".json", "") and path.is_file() and not path.is_symlink():
                yield path


def _site(folder: Folder, taken: set[str]) -> Site:
    """Return a host, its VMs and its storage."""
    site = _host(folder, taken)
    for path in folder.files.get("domain", ()):
        site.domains.append((path, libvirt_xml.domain(_text(path), site.numbering, str(path))))
    for path in folder.files.get("pool", ()):
        site.stores.append(libvirt_xml.pool(_text(path), (site.host.name,), str(path)))
    stats = folder.first("domstats")
    if stats is not None:
        site.stats = domstats(stats)
    for path in folder.files.get("multipath", ()):
        site.luns += storage_paths.multipath(_text(path))
    groups = folder.first("cgroup")
    if groups is not None:
        site.cgroup = linux_host.CGROUP_OUTPUTS.get(_text(groups).strip())
    return site


def _host(folder: Folder, taken: set[str]) -> Site:
    """Return the host itself."""
    capabilities, nodeinfo, cpus = (folder.first(each) for each in _OF_A_HOST)
    first, version, system = folder.first("domain"), folder.first("version"), folder.first("uname")
    if capabilities is None and nodeinfo is None and cpus is None:
        Source(first or folder.path).lacks("VMs, but no host", "the host's virsh capabilities beside them", COMMANDS)
    notes = ImportNotes(Source(folder.path))
    if capabilities is None and nodeinfo is None:
        assert cpus is not None
        host = lscpu.host(cpus, folder.first("numactl"), set(), notes)
        numbering = Numbering.usual(host.sockets, host.cores_per_socket, host.threads_per_core)
    else:
        sysinfo = folder.first("sysinfo")
        found = lscpu.fields(cpus) if cpus is not None else {}
        under = lscpu.under_a_hypervisor(found)
        info = _nodeinfo(nodeinfo) if nodeinfo is not None else NodeInfo(0, 0, 0, 0, 0, 0)
        text = _text(capabilities) if capabilities is not None else "<capabilities/>"
        where = str(capabilities or nodeinfo)
        told = libvirt_xml.host(
            text, info, _text(sysinfo) if sysinfo is not None else "", where, found.get("Model name", "")
        )
        if not told.memory_bytes:
            Source(where).at("topology").lacks(
                "no memory", "NUMA cells with memory, or virsh nodeinfo beside it", COMMANDS
            )
        host = told.host("")
        numbering = told.numbering
        notes.host("", *([under] if under else []), *told.assumed)
    name = outside.name(folder.path.resolve().name) or "host"
    hypervisor = "QEMU"
    if version is not None and (running := re.search(r"^Running hypervisor: ([^\n]{1,100})", _text(version), re.M)):
        hypervisor = outside.name(running[1])
    if system is not None:
        words = _text(system).split()
        name, hypervisor = outside.name(words[1]), f"Linux {outside.name(words[2])}"
    else:
        notes.missing("uname -a", "kernel version: which scheduler the host has")
    name = linux_host.free_name(name, taken)
    host = replace(host, name=name, hypervisor=hypervisor, cluster=folder.cluster)
    return Site(host, numbering, assumed=[each.text for each in notes.assumptions()], gaps=notes.gaps)


def _nodeinfo(path: Path) -> NodeInfo:
    """Return the output of `virsh nodeinfo`. Its sockets are those of one NUMA node."""
    found = dict(
        re.findall(
            r"^([A-Za-z()]{1,20}(?: [A-Za-z()]{1,20}){0,4}):\s+([0-9]{1,15})(?: (?:MHz|KiB))?\s*$", _text(path), re.M
        )
    )
    keys = ("NUMA cell(s)", "CPU socket(s)", "Core(s) per socket", "Thread(s) per core")
    nodes, sockets, cores, threads = (int(found.get(key, 0)) for key in keys)
    memory = int(found.get("Memory size", 0)) * 1024
    if not (sockets and cores and threads and memory):
        Source(path).at("nodeinfo").refuse(
            "lines are missing", f"{', '.join(keys)} and Memory size", "virsh nodeinfo, with LC_ALL=C"
        )
    return NodeInfo(memory, int(found.get("CPU frequency", 0)), nodes, sockets, cores, threads)


def domstats(path: Path) -> dict[str, libvirt_stats.Stats]:
    """Return statistics by domain in the output of `virsh domstats`. The last statistics of a domain count."""
    found: dict[str, libvirt_stats.Stats] = {}
    now: dict[str, object] = {}
    for line in outside.read_bytes(path, MOST_STATS_BYTES).decode("utf-8", "replace").splitlines():
        if begin := re.fullmatch(r"\s*Domain: '(.{1,4096})'\s*", line):
            now = {}
            found[begin[1]] = now
            if len(found) > MOST_FILES:
                Source(path).too_many(MOST_FILES, "domains", hint="use the output of one host")
        else:
            key, _, value = line.strip().partition("=")
            now[key] = int(value) if re.fullmatch("-?[0-9]{1,18}", value, re.ASCII) else value
    return found


def _text(path: Path) -> str:
    return outside.read_bytes(path, libvirt_xml.MOST_BYTES).decode("utf-8-sig", "surrogateescape")


def _inventory(source: str, sites: Sequence[Site], unused: Sequence[str]) -> Inventory:
    vms: list[Vm] = []
    stores: list[Datastore] = []
    notes = ImportNotes(Source(source), (gap for site in sites for gap in site.gaps))
    chosen = _each_once(sites)
    counted = Counter(told.vm.name for _, told in chosen)
    none_runs = not any(_runs(site, told) for site, told in chosen)
    if chosen and none_runs:
        notes.assumed("assumed that all VMs run: virsh dumpxml has no id for any of them")
    for site in sites:
        own = [told for where, told in chosen if where is site]
        own_weights = [told.weight for told in own]
        version = site.cgroup or linux_host.cgroup_version(own_weights)
        folders = {}
        for store, folder in site.stores:
            name = store.name if len(sites) == 1 else outside.told_apart(store.name, site.host.name)
            stores.append(replace(store, name=name))
            folders[store.name] = (folder, name)
        for told in own:
            name = told.vm.name if counted[told.vm.name] == 1 else outside.told_apart(told.vm.name, site.host.name)
            vms.append(replace(_vm(site, told, version, folders), name=name, powered_on=none_runs or _runs(site, told)))
            for text in told.assumed:
                notes.vm(name, text)
        texts = [*site.assumed, *([linux_host.weights(version, own_weights)] if own else [])]
        if not site.numbering.node_of and any(told.vm.affinity for told in own):
            texts.append(linux_host.USUAL)
        notes.host(site.host.name, *texts)
    if vms:
        notes.missing("CPU time of VMs (virsh domstats has it since their start)", "measured demand")
    if any(disk.capacity_bytes == 0 for vm in vms for disk in vm.disks):
        notes.missing("virsh domstats", "disk sizes, consumed memory of VMs")
    storage_paths.note((lun for site in sites for lun in site.luns), notes)
    hosts = [site.host for site in sites]
    return Inventory(source, "virsh", hosts, vms, stores, (), notes.gaps, notes.assumptions(), unused=unused)


def _each_once(sites: Sequence[Site]) -> list[tuple[Site, DomainTold]]:
    """Return every VM once: by its UUID on the host where it runs, otherwise from its first file."""
    found: dict[object, tuple[Site, DomainTold]] = {}
    for site in sites:
        for path, told in site.domains:
            key = told.uuid or path
            if key not in found or (_runs(site, told) and not _runs(*found[key])):
                found[key] = (site, told)
    return list(found.values())


def _runs(site: Site, told: DomainTold) -> bool:
    """True if a VM ran when its file was written."""
    return told.active or site.stats.get(told.vm.name, {}).get("state.state") == RUNNING


def _vm(site: Site, told: DomainTold, version: int | None, folders: Mapping[str, tuple[str, str]]) -> Vm:
    """Return a domain as a VM on its host."""
    limit, stats = told.limit_cores, site.stats.get(told.vm.name, {})
    disks = libvirt_xml.placed(told.disks, libvirt_stats.disk_sizes(stats, "capacity"), folders)
    return replace(
        told.vm,
        host=site.host.name,
        cluster=site.host.cluster,
        shares=linux_host.shares(told.weight, version),
        limit_mhz=None if limit is None else limit * linux_host.clock_mhz(site.host.clock_hz),
        disks=disks,
        **libvirt_stats.memory_of(stats),
        **libvirt_xml.storage(told.disks, disks, libvirt_stats.disk_sizes(stats, "allocation")),
    )
