"""Hosts managed by libvirt, over a read-only connection to their URIs: inventory and telemetry.

The library (`libvirt-python`, `hypertwin[libvirt]`) is optional, because it is built against the system's libvirt. This
file calls the library; `libvirt_xml` and `libvirt_stats` parse its results. URIs: libvirt.org/uri.html. Two keys of a
URI's query are for hypertwin: `seconds` of measurement, and `interval` between samples.

A text file can list URIs, one per line. URIs below `[NAME]` are the hosts of the cluster NAME. `#` begins a comment.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from hypertwin.errors import HypertwinError, SourceError, UnreachableError, short
from hypertwin.extras import needs
from hypertwin.ingest import address, outside
from hypertwin.ingest.address import Address
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import Assumption, Datastore, Host, Inventory, Snapshots, VirtualDisk, Vm, iso
from hypertwin.ingest.kvm import libvirt_stats, libvirt_xml, linux_host
from hypertwin.ingest.kvm.libvirt_stats import Sample, Size
from hypertwin.ingest.kvm.libvirt_xml import DomainTold, HostTold, NodeInfo
from hypertwin.ingest.outside import Gap, Source
from hypertwin.ingest.telemetry import Reading

if TYPE_CHECKING:
    import polars as pl

TRANSPORTS = ("", "+ssh", "+tls", "+tcp", "+unix", "+libssh", "+libssh2")
SCHEMES = (*(f"qemu{transport}" for transport in TRANSPORTS), "test")
ALLOWED = "qemu:///system, qemu+ssh://[USER@]HOST/system or another URI of libvirt's QEMU or test driver"
IMPORT_SECONDS = 3.0
"""Default duration of a demand measurement during an import."""
TELEMETRY_SECONDS, TELEMETRY_INTERVAL = 20.0, 2.0
MOST_SECONDS = 30 * 86_400.0
MOST_HOSTS = 1_000
MOST_DOMAINS = 10_000
MOST_POOLS = 1_000
MOST_SNAPSHOTS = 100
"""Maximum number of snapshots of a domain whose creation times are queried."""
MOST_LIST_BYTES = 2**20
_GROUP = re.compile(r"\[([^\[\]]{1,256})\]")

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A URI, split into libvirt's part and hypertwin's own."""

    shown: str
    """Text that is safe to show."""
    uri: str
    address: Address
    seconds: float
    interval: float
    cluster: str | None = None
    """Cluster from a list of URIs."""


@dataclass
class Domain:
    """Data of a host about one of its domains."""

    name: str
    told: DomainTold
    active: bool
    handle: Any


@dataclass
class Site:
    """Data of a host."""

    target: Target
    connection: Any
    name: str
    told: HostTold
    hypervisor: str
    domains: list[Domain] = field(default_factory=list)
    stores: list[tuple[Datastore, str]] = field(default_factory=list)
    """Storage pools, and the folder of each."""
    gaps: list[Gap] = field(default_factory=list)
    assumed: list[Assumption] = field(default_factory=list)
    """Assumptions about its domains, by name. `_assumed` has the assumptions about the host."""
    renamed: bool = False

    @property
    def size(self) -> Size:
        """Constants, for telemetry."""
        cores = self.told.sockets * self.told.cores_per_socket
        clock = None if self.told.clock_hz is None else self.told.clock_hz / 1e6
        return Size(self.name, cores, cores * self.told.threads_per_core, clock)


def recognises(head: bytes) -> bool:
    """True for a list of URIs: its first line, besides comments and `[NAME]`, is one."""
    lines = (_line(line) for line in head.decode("utf-8-sig", "replace").splitlines())
    first = next((line for line in lines if line and not _GROUP.fullmatch(line)), "")
    return first.partition("://")[0] in SCHEMES and "://" in first


def listed(path: Path) -> list[Target]:
    """Return the URIs in a file, with their clusters. Raises SourceError."""
    targets: list[Target] = []
    cluster = None
    text = outside.read_bytes(path, MOST_LIST_BYTES).decode("utf-8-sig", "replace")
    for number, each in enumerate(text.splitlines(), 1):
        if not (line := _line(each)):
            continue
        if group := _GROUP.fullmatch(line):
            cluster = outside.name(group[1]) or None
            continue
        try:
            targets.append(replace(target(line, IMPORT_SECONDS, IMPORT_SECONDS), cluster=cluster))
        except SourceError as error:
            hint = "one URI a line, [NAME] above the hosts of a cluster"
            Source(path, line=number).refuse(error.mistakes[0].value, ALLOWED, hint, "bad-address")
    return targets


def _line(text: str) -> str:
    """Return a line of a list without its comment. `#` can also be part of a URI."""
    return re.sub(r"(^|\s)#.*", "", text[:4096]).strip()


def read(sources: Sequence[str]) -> Inventory:
    """Return the hosts behind these URIs, or behind the URIs in files.

    The hosts have their domains, and the demand over a few seconds.

    Raises SourceError, UnreachableError, MissingExtraError.
    """
    targets: list[Target] = []
    for source in sources:
        is_uri = address.is_address(source)
        targets += [target(source, IMPORT_SECONDS, IMPORT_SECONDS)] if is_uri else listed(Path(source))
        if len(targets) > MOST_HOSTS:
            Source(source).too_large("more URIs", f"at most {MOST_HOSTS}", "read them in parts")
    with ExitStack() as stack:
        sites: list[Site] = []
        for each in targets:
            site = _site(each, stack.enter_context(connected(each)))
            twin = next((other for other in sites if site.told.uuid and other.told.uuid == site.told.uuid), None)
            if twin is not None:
                Source(each.shown).refuse(
                    "the same host again", "each host once", f"it is {twin.target.shown}", "bad-address"
                )
            free = linux_host.free_name(site.name, {other.name for other in sites})
            site.name, site.renamed = free, free != site.name
            sites.append(site)
        for site in sites:
            _ask_domains(site)
            _ask_pools(site)
        before, after = _two_samples(sites)
        return _inventory(sites, before, after)


def read_telemetry(source: str) -> Reading:
    """Return telemetry of a host and its domains, sampled for some seconds from now on.

    Raises the same errors as `read`.
    """
    aim = target(source, TELEMETRY_SECONDS, TELEMETRY_INTERVAL)
    if aim.seconds <= 0:
        Source(aim.shown).at("seconds").refuse(f"{aim.seconds:g}", "more than 0", "leave it out", "bad-address")
    stack = ExitStack()
    try:
        site = _site(aim, stack.enter_context(connected(aim)))
    except BaseException:
        stack.close()
        raise
    reading = Reading(aim.shown, "libvirt", iter(()))
    reading.notes += [f"{site.name}: {text}" for text in site.told.assumed]
    reading.frames = _frames(site, aim, reading, stack)
    return reading


def _frames(site: Site, aim: Target, reading: Reading, stack: ExitStack) -> Iterator[pl.DataFrame]:
    from hypertwin.ingest import telemetry_table  # an inventory needs no table

    lacking: set[Gap] | None = None
    with stack:
        start = time.monotonic()
        before = _sample(site.connection)
        for number in range(1, max(round(aim.seconds / aim.interval), 1) + 1):
            time.sleep(max(start + number * min(aim.interval, aim.seconds) - time.monotonic(), 0.01))
            after = _sample(site.connection)
            found = set(libvirt_stats.gaps([after]))
            lacking = found if lacking is None else lacking & found
            yield telemetry_table.frame(libvirt_stats.rows(before, after, site.size))
            before = after
        if not before.domains:
            reading.notes.append("no domain is running")
    reading.gaps += sorted(lacking or (), key=lambda gap: gap.what)


def target(text: str, seconds: float, interval: float) -> Target:
    """Return a URI, with default `seconds` and `interval` if its query has none. Raises SourceError."""
    parsed = address.parse(text, SCHEMES, ALLOWED, local=True)
    if not parsed.path:
        address.refuse(str(parsed), ALLOWED, "qemu:///system is this computer; test:///default is libvirt's example")
    values = {"seconds": seconds, "interval": interval}
    limits = {"seconds": (0.0, MOST_SECONDS), "interval": (0.1, 86_400.0)}
    rest = []
    for key, value in parse_qsl(parsed.query, keep_blank_values=True):
        if key not in values:
            rest.append((key, value))
            continue
        number, (least, most) = outside.number(value), limits[key]
        if number is None or not least <= number <= most:
            address.refuse(f"{key}={short(value, 20)}", f"{key} from {least:g} to {most:.0f}", "in seconds")
        values[key] = number
    query = urlencode(rest, safe="/:", quote_via=quote)
    bare = replace(parsed, query="")
    user = f"{quote(parsed.user)}@" if parsed.user else ""
    uri = str(replace(bare, user="")).replace("://", f"://{user}", 1) + (f"?{query}" if query else "")
    return Target(str(replace(bare, query=query)), uri, parsed, values["seconds"], values["interval"])


def _library() -> Any:
    needs("libvirt", "a libvirt URI")
    import libvirt

    libvirt.registerErrorHandler(lambda _context, _error: None, None)  # else it prints on stderr
    return libvirt


@contextmanager
def connected(aim: Target) -> Iterator[Any]:
    """A read-only connection, closed after use."""
    libvirt = _library()
    names = (libvirt.VIR_CRED_AUTHNAME, libvirt.VIR_CRED_ECHOPROMPT)
    secrets = (libvirt.VIR_CRED_PASSPHRASE, libvirt.VIR_CRED_NOECHOPROMPT)
    trouble: list[HypertwinError] = []

    def answer(asked: list[list[Any]], _data: object) -> int:
        try:
            for each in asked:
                each[4] = aim.address.user if each[0] in names else address.password(aim.address)
        except HypertwinError as error:  # an exception cannot pass through libvirt
            trouble.append(error)
            return -1
        return 0

    try:
        connection = libvirt.openAuth(aim.uri, [[*names, *secrets], answer, None], libvirt.VIR_CONNECT_RO)
    except libvirt.libvirtError as error:
        if trouble:
            raise trouble[0] from None
        raise _unreachable(aim, error) from None
    try:
        yield connection
    except libvirt.libvirtError as error:
        raise _unreachable(aim, error) from None
    finally:
        connection.close()


def _unreachable(aim: Target, error: Exception) -> UnreachableError:
    said = short(outside.name(str(error)), 200)
    return UnreachableError(f"{aim.shown}: {said}\n  help: does virsh -r -c {aim.shown} list work?")


def _asked(site_gaps: list[Gap], gap: Gap, call: Callable[[], T], default: T) -> T:
    """Return the result of a call, or `default` (with a gap) if driver or permissions do not allow the call."""
    try:
        return call()
    except _library().libvirtError:
        if gap not in site_gaps:
            site_gaps.append(gap)
        return default


def _site(aim: Target, connection: Any) -> Site:
    """Return the host itself."""
    gaps: list[Gap] = [Gap("kernel version", "which scheduler the host has")]
    info = connection.getInfo()
    node = NodeInfo(info[1] * 2**20, info[3], info[4], info[5], info[6], info[7])
    smbios = Gap("virConnectGetSysinfo", "full name of the processor")
    sysinfo = _asked(gaps, smbios, lambda: connection.getSysinfo(0), "")
    told = libvirt_xml.host(connection.getCapabilities(), node, sysinfo, aim.shown)
    name = outside.name(connection.getHostname()) or aim.address.host or "host"
    version = connection.getVersion()
    hypervisor = f"{outside.name(connection.getType())} {version // 10**6}.{version // 1000 % 1000}.{version % 1000}"
    site = Site(aim, connection, name, told, hypervisor, gaps=gaps)
    if told.clock_hz is None:
        gaps.append(Gap("nominal clock", "demand in MHz"))
    return site


def _ask_domains(site: Site) -> None:
    libvirt = _library()
    handles = site.connection.listAllDomains()
    if len(handles) > MOST_DOMAINS:
        Source(site.target.shown).at("domains").too_large(len(handles), f"at most {MOST_DOMAINS}", "")
    for handle in sorted(handles, key=lambda each: str(each.name())):  # libvirt's order is random
        try:
            text, active, name = handle.XMLDesc(0), bool(handle.isActive()), handle.name()
        except libvirt.libvirtError as error:
            if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN:  # gone since the list was made
                continue
            raise
        told = libvirt_xml.domain(text, site.told.numbering, site.target.shown)
        site.domains.append(Domain(name, told, active, handle))
        site.assumed += [Assumption(told.vm.name, each) for each in told.assumed]


def _ask_pools(site: Site) -> None:
    pools: list[Any] = _asked(site.gaps, Gap("storage pools", "datastores"), site.connection.listAllStoragePools, [])
    for pool in pools[:MOST_POOLS]:
        text = _asked(site.gaps, Gap("storage pool XML", "datastores"), lambda each=pool: each.XMLDesc(0), "")  # type: ignore[misc]
        if text:
            site.stores.append(libvirt_xml.pool(text, (site.name,), site.target.shown))
    site.stores.sort(key=lambda store: store[0].name)


def _two_samples(sites: Sequence[Site]) -> tuple[list[Sample], list[Sample]]:
    """Return two samples of all hosts. Their distance is the largest one in the URIs."""
    seconds = max(site.target.seconds for site in sites)
    before = [_sample(site.connection) for site in sites]
    if not any(sample.domains for sample in before) or seconds <= 0:
        return before, before
    time.sleep(seconds)
    return before, [_sample(site.connection) for site in sites]


def _sample(connection: Any) -> Sample:
    libvirt = _library()
    groups = (
        libvirt.VIR_DOMAIN_STATS_STATE
        | libvirt.VIR_DOMAIN_STATS_CPU_TOTAL
        | libvirt.VIR_DOMAIN_STATS_BALLOON
        | libvirt.VIR_DOMAIN_STATS_VCPU
        | libvirt.VIR_DOMAIN_STATS_INTERFACE
        | libvirt.VIR_DOMAIN_STATS_BLOCK
    )
    # no waiting for a domain that is busy with a job
    flags = libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_ACTIVE | libvirt.VIR_CONNECT_GET_ALL_DOMAINS_STATS_NOWAIT
    started = time.monotonic_ns()
    domains = {}
    for handle, stats in connection.getAllDomainStats(groups, flags):
        if "cpu.time" not in stats:  # not every driver has it here
            try:
                stats["cpu.time"] = handle.info()[4]
            except libvirt.libvirtError:  # gone since
                continue
        domains[handle.name()] = stats
    ended = time.monotonic_ns()
    gaps: list[Gap] = []
    cpu: dict[str, Any] = _asked(
        gaps, Gap("", ""), lambda: connection.getCPUStats(libvirt.VIR_NODE_CPU_STATS_ALL_CPUS), {}
    )
    memory: dict[str, Any] = _asked(
        gaps, Gap("", ""), lambda: connection.getMemoryStats(libvirt.VIR_NODE_MEMORY_STATS_ALL_CELLS), {}
    )
    return Sample(datetime.now(UTC), (started + ended) // 2, cpu, memory, dict(sorted(domains.items())))


def _inventory(sites: Sequence[Site], before: Sequence[Sample], after: Sequence[Sample]) -> Inventory:
    hosts: list[Host] = []
    vms: list[Vm] = []
    stores: dict[str, Datastore] = {}
    source = ", ".join(site.target.shown for site in sites[:4]) + (", ..." if len(sites) > 4 else "")
    notes = ImportNotes(Source(source), (gap for site in sites for gap in site.gaps))
    counted = Counter(domain.told.vm.name for site in sites for domain in site.domains)
    running = {domain.told.uuid for site in sites for domain in site.domains if domain.active}
    seen: set[str] = set()
    for site, first, last in zip(sites, before, after, strict=True):
        told = site.told
        hosts.append(
            told.host(
                site.name,
                hypervisor=site.hypervisor,
                cluster=site.target.cluster,
                **libvirt_stats.host_measured(first, last, told.threads_per_core),
            )
        )
        folders = {}
        for store, folder in site.stores:
            name = store.name if len(sites) == 1 else outside.told_apart(store.name, site.name)
            stores[name] = replace(store, name=name)
            folders[store.name] = (folder, name)
        version = _cgroup_version(site)
        for domain in site.domains:
            uuid = domain.told.uuid
            if uuid and (uuid in seen or (uuid in running and not domain.active)):
                continue  # defined on several hosts: it is where it runs
            seen.add(uuid)
            vm = _vm(site, domain, version, folders, last)
            if counted[vm.name] > 1:
                vm = replace(vm, name=outside.told_apart(vm.name, site.name))
            if domain.active:
                demand = libvirt_stats.demand(first, last, domain.name, told.clock_hz) if told.clock_hz else None
                vm = replace(vm, demand=demand, **libvirt_stats.domain_measured(first, last, domain.name))
            vms.append(vm)
        notes.host(site.name, *_assumed(site, version))
        if hosts[-1].cpu_usage_pct is not None and told.threads_per_core > 1:
            notes.host(site.name, linux_host.BUSY_THREADS)
        for each in site.assumed:
            notes.vm(each.subject, each.text)
    if any(vm.powered_on and vm.demand is None for vm in vms):
        notes.missing("cpu.time in domstats", "measured demand")
    if any(disk.capacity_bytes == 0 for vm in vms for disk in vm.disks):
        notes.missing("block.N.capacity", "sizes of disks")
    return Inventory(source, "libvirt", hosts, vms, list(stores.values()), (), notes.gaps, notes.assumptions())


def _assumed(site: Site, version: int | None) -> Iterator[str]:
    """Yield the assumptions about a host."""
    if site.renamed:
        yield "another host has the same name: this one got a number"
    yield from site.told.assumed
    if site.domains:
        yield linux_host.weights(version, (domain.told.weight for domain in site.domains))
    if not site.told.numbering.node_of and any(domain.told.vm.affinity for domain in site.domains):
        yield linux_host.USUAL


def _vm(site: Site, domain: Domain, version: int | None, folders: dict[str, tuple[str, str]], last: Sample) -> Vm:
    """Return a domain as a VM, using data about its host."""
    limit = domain.told.limit_cores
    stats = last.domains.get(domain.name, {})
    disks = _disks(domain, folders, stats)
    return replace(
        domain.told.vm,
        host=site.name,
        cluster=site.target.cluster,
        powered_on=domain.active,
        shares=linux_host.shares(domain.told.weight, version),
        limit_mhz=None if limit is None else limit * linux_host.clock_mhz(site.told.clock_hz),
        disks=disks,
        snapshots=_snapshots(domain),
        **libvirt_xml.storage(domain.told.disks, disks, libvirt_stats.disk_sizes(stats, "allocation")),
    )


def _snapshots(domain: Domain) -> Snapshots | None:
    """Return snapshots, or None if the driver does not support them."""
    handles: list[Any] | None = _asked([], Gap("", ""), domain.handle.listAllSnapshots, None)
    if handles is None:
        return None
    times = []
    for handle in handles[:MOST_SNAPSHOTS]:
        text = _asked([], Gap("", ""), handle.getXMLDesc, "")
        made = libvirt_xml.snapshot_time(text, "snapshot") if text else None
        times += [made] if made is not None else []
    return Snapshots(len(handles), oldest=iso(min(times).timestamp()) if times else None)


def _disks(domain: Domain, folders: dict[str, tuple[str, str]], stats: libvirt_stats.Stats) -> tuple[VirtualDisk, ...]:
    """Return a domain's disks, with capacity and datastore if the host reports them."""
    sizes = libvirt_stats.disk_sizes(stats, "capacity")
    for each in domain.told.disks:
        if each.target not in sizes:
            info = _asked([], Gap("", ""), lambda name=each.target: domain.handle.blockInfo(name)[0], 0)  # type: ignore[misc]
            sizes[each.target] = max(info, 0)
    return libvirt_xml.placed(domain.told.disks, sizes, folders)


def _cgroup_version(site: Site) -> int | None:
    """Return the version of the host's control groups, inferred from weights of its domains, or None if unknown."""
    for domain in site.domains:
        if domain.active and domain.told.weight is None:
            parameters: dict[str, Any] = _asked([], Gap("", ""), domain.handle.schedulerParameters, {})
            for version, default in linux_host.DEFAULT_WEIGHTS.items():
                if parameters.get("cpu_shares") == default:
                    return version
    return linux_host.cgroup_version(domain.told.weight for domain in site.domains)
