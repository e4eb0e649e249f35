"""Reader of Hyper-V hosts and VMs from cmdlet output, exported as CSV or JSON and recognised by its properties.

| cmdlet | data |
|---|---|
| `Get-VMHost`, `Get-CimInstance Win32_Processor` | hosts: logical processors and memory; sockets, cores, clock |
| `Get-VM` | VMs, their memory |
| `Measure-VM` | CPU use of VMs in MHz during metering |
| `Get-VMHardDiskDrive` with `Get-VHD`; `Get-VMSnapshot` | virtual disks by path; checkpoints |
| `Get-ClusterNode` | clusters, and nodes that are paused or down |

Properties: learn.microsoft.com, modules Hyper-V and FailoverClusters, and the classes of dsccommunity's stubs of
Hyper-V; states: Microsoft.HyperV.PowerShell.VMState (JSON has numbers). Sizes are in bytes, `MaxClockSpeed` in MHz. The
base of `CPUUsage` of `Get-VM` is not documented, so the reader ignores it. `LoadPercentage` of processors covers the
root partition alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypertwin.ingest import export_files, outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.hyperv import powershell
from hypertwin.ingest.hyperv.powershell import HINT, Row
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import (
    Cluster,
    Demand,
    Host,
    Inventory,
    Snapshots,
    VirtualDisk,
    Vm,
)
from hypertwin.ingest.json_fields import below, name, number, objects, text, whole
from hypertwin.ingest.outside import Source

ENDINGS = (".csv", ".json")
MOST_CPUS = 16_384
HYPERVISOR = "Microsoft Hyper-V"

_KINDS: tuple[tuple[str, frozenset[str]], ...] = (
    ("hosts", frozenset(("logicalprocessorcount", "memorycapacity"))),
    ("processors", frozenset(("numberofcores", "numberoflogicalprocessors"))),
    ("metered", frozenset(("averageprocessorusage", "vmname"))),
    ("snapshots", frozenset(("snapshottype", "vmname"))),
    ("drives", frozenset(("controllertype", "controllernumber", "path", "vmname"))),
    ("disks", frozenset(("vhdtype", "size", "path"))),
    ("vms", frozenset(("processorcount", "memoryassigned", "state"))),
    ("nodes", frozenset(("cluster", "nodeweight", "state"))),
)
"""Kinds of objects by distinguishing sets of properties, in the order in which they are tried."""
_ON = frozenset(
    ("running", "paused", "starting", "pausing", "resuming", "stopping", "runningcritical", "pausedcritical")
) | frozenset(("2", "9", "10", "4", "32776", "32777"))
"""States of VMs that use memory of their host."""
_PAUSED = ("paused", "2")
_DOWN = ("down", "1")
_SPAN = re.compile(r"(?:([0-9]{1,6})\.)?([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]{1,7})?")


@dataclass
class Exported:
    """Objects in all files, by kind."""

    hosts: list[Row] = field(default_factory=list)
    processors: list[Row] = field(default_factory=list)
    vms: list[Row] = field(default_factory=list)
    metered: list[Row] = field(default_factory=list)
    snapshots: list[Row] = field(default_factory=list)
    drives: list[Row] = field(default_factory=list)
    disks: list[Row] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Files with other objects."""
    read: set[str] = field(default_factory=set)
    """Kinds that have a file."""


def kind(columns: Iterable[str]) -> str | None:
    """Return the kind of objects with these properties, or None for others."""
    there = frozenset(columns)
    return next((each for each, needed in _KINDS if needed <= there), None)


def recognises(head: bytes) -> bool:
    """True if the file begins with objects of these cmdlets."""
    return kind(powershell.columns(head)) is not None


def files(folder: Path) -> Iterable[Path]:
    """Return the files of a folder with hosts or VMs."""
    found = {path: kind(powershell.columns(outside.head(path))) for path in export_files.below(folder, ENDINGS)}
    return found if {"hosts", "vms"} & set(found.values()) else ()


def read(sources: Sequence[str]) -> Inventory:
    """Return the hosts and VMs in these files, or in the .csv and .json files of these folders. Raises SourceError."""
    found = Exported()
    for path, data in export_files.contents(sources, HINT, ENDINGS):
        listed = powershell.rows(data, path)
        of_kind = kind(set().union(*listed[:100]))
        if of_kind is None:
            found.unused += [outside.name(path.name)] if listed else []
        else:
            getattr(found, of_kind).extend(listed)
            found.read.add(of_kind)
    return _HyperV(found, export_files.shown(sources)).inventory()


def _short(called: str) -> str:
    """Return a computer's name without domain, in lower case."""
    return called.partition(".")[0].casefold()


class _HyperV:
    """Inventory in the exported objects."""

    def __init__(self, found: Exported, source: str) -> None:
        self.found, self.source = found, source
        self.notes = ImportNotes(Source(source, HINT))
        self.nodes = {_short(name(each)): each for each in found.nodes}
        self.metered = {self.key(each): each for each in found.metered}
        self.disks = {text(each.get("path")).casefold(): each for each in found.disks}
        self.drives = self.by_vm(found.drives)
        self.snapshots = self.by_vm(found.snapshots)

    def inventory(self) -> Inventory:
        hosts = {_short(host.name): host for each in self.found.hosts if (host := self.host(each)) is not None}
        if not hosts:
            value = f"{len(self.found.vms)} VMs, {len(self.found.hosts)} hosts with processors and memory"
            self.notes.source.at("Get-VMHost").lacks(value, "the hosts, of Get-VMHost")
        vms = [self.vm(each, hosts) for each in self.found.vms if name(each) or name(each, "vmname")]
        self.find_gaps(vms)
        self.note_restarts()
        clusters = dict.fromkeys(host.cluster for host in hosts.values() if host.cluster)
        unused = [
            *self.found.unused,
            *(["CPUUsage of Get-VM"] if any("cpuusage" in each for each in self.found.vms) else []),
        ]
        return Inventory(
            self.source,
            "hyperv",
            list(hosts.values()),
            vms,
            gaps=self.notes.gaps,
            assumptions=self.notes.assumptions(),
            clusters=[Cluster(each, ha=self.ha(each, hosts)) for each in clusters],
            unused=unused[:100],
        )

    def find_gaps(self, vms: Sequence[Vm]) -> None:
        """Add gaps for missing data, with the cmdlet that provides each."""
        for kind, cmdlet, costs in (
            ("processors", "Get-CimInstance Win32_Processor", "sockets, cores, clocks of hosts"),
            ("drives", "Get-VMHardDiskDrive, Get-VHD", "virtual disks"),
            ("snapshots", "Get-VMSnapshot", "checkpoints"),
            ("nodes", "Get-ClusterNode", "clusters"),
        ):
            if kind not in self.found.read:
                self.notes.missing(cmdlet, costs)
        if any(vm.powered_on and vm.demand is None for vm in vms):
            self.notes.missing("Measure-VM (after Enable-VMResourceMetering)", "measured demand")
        self.notes.missing("CPU usage of hosts (root partition and VMs together)", "CPU usage of hosts")

    def key(self, row: Row) -> str:
        """Return the key of a VM: its ID if known, otherwise its name."""
        return (text(row.get("vmid")) or text(row.get("vmname")) or text(row.get("name"))).casefold()

    def by_vm(self, listed: Iterable[Row]) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for each in listed:
            found.setdefault(self.key(each), []).append(each)
        return found

    def cluster_of(self, called: str) -> str | None:
        node = self.nodes.get(_short(called), {})
        return outside.name(text(node.get("cluster")) or text(below(node, "cluster").get("Name"))) or None

    def host(self, row: Row) -> Host | None:
        """Return a host, or None if its processors or memory are missing."""
        called = name(row, "computername") or name(row)
        logical, memory = whole(row.get("logicalprocessorcount")), whole(row.get("memorycapacity"))
        if not called or not logical or not memory:
            return None
        if logical > MOST_CPUS:
            self.notes.source.at(f"{called}/LogicalProcessorCount").refuse(logical, f"at most {MOST_CPUS}")
        own = [each for each in self.found.processors if _short(_computer(each)) == _short(called)]
        if len(self.found.hosts) == 1:
            own = self.found.processors
        listed = row.get("hostnumastatus")
        nodes = len(objects(listed)) if isinstance(listed, list) else 0
        cores = sum(whole(each.get("numberofcores")) or 0 for each in own)
        sockets = max(len(own), 1)
        if not sockets <= cores <= logical:
            threads = 2 if logical % 2 == 0 else 1
            sockets, cores = 1, logical // threads
            guess = "assumed one socket, and two threads per core if even: its processors are not listed"
            self.notes.host(called, guess)
        state = text(self.nodes.get(_short(called), {}).get("state")).lower()
        if state in _DOWN:
            self.notes.unreachable(called, "down")
        mhz = number(own[0].get("maxclockspeed")) if own else None
        return Host(
            called,
            sockets,
            -(-cores // sockets),
            max(round(logical / cores), 1),
            memory,
            clock_hz=mhz * 1e6 if mhz is not None and 100 <= mhz <= 20_000 else None,
            hypervisor=HYPERVISOR,
            numa_nodes=nodes or None,
            cluster=self.cluster_of(called),
            cpu_model=name(own[0]) or None if own else None,
            in_maintenance=state in (*_PAUSED, *_DOWN),
        )

    def vm(self, row: Row, hosts: Mapping[str, Host]) -> Vm:
        """Return a VM."""
        called = name(row, "vmname") or name(row)
        vcpus = whole(row.get("processorcount")) or 0
        if not 1 <= vcpus <= MOST_CPUS:
            self.notes.source.at(f"{called}/ProcessorCount").refuse(vcpus, f"1 to {MOST_CPUS} vCPUs")
        on = text(row.get("state")).lower() in _ON
        startup, assigned = whole(row.get("memorystartup")) or 0, whole(row.get("memoryassigned")) or 0
        dynamic = _true(row.get("dynamicmemoryenabled"))
        if dynamic and on:
            self.notes.vm(called, "dynamic memory: its current size is used, which can differ from its startup size")
        on_host = hosts.get(_short(name(row, "computername")))
        key = self.key(row if row.get("vmid") else {**row, "vmid": row.get("id")})
        known = {key, called.casefold()}
        disks, occupied = self.disks_of(itertools.chain.from_iterable(self.drives.get(each, ()) for each in known))
        snapshots = sum(len(self.snapshots.get(each, ())) for each in known)
        metered = next((self.metered[each] for each in sorted(known) if each in self.metered), None)
        return Vm(
            called,
            vcpus,
            (assigned if dynamic and on else startup) or assigned,
            host=on_host.name if on_host is not None else name(row, "computername") or None,
            cluster=on_host.cluster if on_host is not None else None,
            powered_on=on,
            disks=disks,
            demand=_demand(metered) if on and metered is not None else None,
            storage_appliance=is_storage_appliance(called),
            memory_consumed_bytes=assigned if on and assigned else None,
            memory_active_bytes=(whole(row.get("memorydemand")) or None) if on else None,
            storage_provisioned_bytes=sum(disk.capacity_bytes for disk in disks) or None,
            storage_used_bytes=occupied,
            snapshots=Snapshots(snapshots) if "snapshots" in self.found.read else None,
            restart_priority="disabled" if _is_alone(row) else None,
        )

    def disks_of(self, drives: Iterable[Row]) -> tuple[tuple[VirtualDisk, ...], int | None]:
        """Return virtual disks and the total size of their files, or None for the size unless all are known."""
        made, occupied = [], []
        for each in drives:
            disk = self.disks.get(text(each.get("path")).casefold(), {})
            made.append(VirtualDisk(min(whole(disk.get("size")) or 0, 2**59)))
            occupied.append(whole(disk.get("filesize")))
        sizes = [size for size in occupied if size is not None]
        return tuple(made[:1_000]), sum(sizes) if sizes and len(sizes) == len(occupied) else None

    def ha(self, cluster: str, hosts: Mapping[str, Host]) -> bool | None:
        """True if HA restarts VMs of a cluster, i.e. those that are cluster resources."""
        own = [each for each in self.found.vms if self.is_of(each, cluster, hosts) and "isclustered" in each]
        return any(_true(each["isclustered"]) for each in own) if own else None

    def is_of(self, row: Row, cluster: str, hosts: Mapping[str, Host]) -> bool:
        host = hosts.get(_short(name(row, "computername")))
        return host is not None and host.cluster == cluster

    def note_restarts(self) -> None:
        """Note running VMs that are not cluster resources."""
        running = [each for each in self.found.vms if text(each.get("state")).lower() in _ON and "isclustered" in each]
        without = sum(map(_is_alone, running))
        if self.nodes and 0 < without < len(running):
            self.notes.assumed(f"{without} of {len(running)} running VMs are not clustered, so they are not restarted")


def _computer(row: Row) -> str:
    """Return the computer of a CIM object."""
    return text(row.get("pscomputername")) or text(row.get("systemname"))


def _is_alone(vm: Row) -> bool:
    """True if a VM is no cluster resource, so that no other host restarts it."""
    return "isclustered" in vm and not _true(vm["isclustered"])


def _true(value: Any) -> bool:
    return value is True or text(value).lower() == "true"


def _demand(row: Row) -> Demand | None:
    """Return the mean in MHz since metering began, from `Measure-VM`."""
    mhz = number(row.get("averageprocessorusage"))
    if mhz is None or mhz < 0:
        return None
    span = row.get("meteringduration")
    seconds = number(span.get("TotalSeconds")) if isinstance(span, dict) else _seconds(text(span))
    over = f"{seconds:.0f} s of Measure-VM AverageProcessorUsage" if seconds else "Measure-VM AverageProcessorUsage"
    return Demand(mhz, over=over, over_s=seconds or None, counter="Measure-VM AverageProcessorUsage")


def _seconds(span: str) -> float | None:
    """Return the seconds of a time span such as `7.01:30:00`: days, hours, minutes, seconds."""
    found = _SPAN.fullmatch(span)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(each or 0) for each in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
