"""The inventory of a vCenter Server or a single ESXi host: `vcenter://USER@HOST[:PORT][/DATACENTER[/CLUSTER]]`.

The reader requests only the properties that it uses, by path, in pages. The read-only role is enough. Forbidden or
missing data (unreachable files of a VM, a disconnected host) are reported and left out. The reader uses no labels, so
the server's language does not matter.

Properties: vSphere Web Services API, `HostSystem`, `VirtualMachine`, `Datastore`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.import_notes import ImportNotes
from hypertwin.ingest.inventory import (
    Datastore,
    Host,
    Inventory,
    Snapshots,
    VirtualDisk,
    Vm,
)
from hypertwin.ingest.kvm.linux_host import written
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware import vcenter_source as source
from hypertwin.ingest.vmware import vcenter_stats as stats
from hypertwin.ingest.vmware import vsphere
from hypertwin.ingest.vmware.availability import restart_priority
from hypertwin.ingest.vmware.power_policy import power_policy
from hypertwin.ingest.vmware.vcenter_clusters import Clusters
from hypertwin.ingest.vmware.vcenter_values import MIB, MOST_MEMORY_BYTES, MOST_MHZ, enum, get, positive, text, whole
from hypertwin.ingest.vmware.vsphere import Session

MOST_PROCESSORS = 8192

HOST = MappingProxyType(
    {
        "name": "names of hosts",
        "parent": "clusters",
        "runtime.connectionState": "connection state of hosts",
        "runtime.inMaintenanceMode": "hosts in maintenance",
        "hardware.cpuInfo": "clock in Hz",
        "hardware.numaInfo.numNodes": "NUMA nodes",
        "hardware.memorySize": "",
        "hardware.cpuPowerManagementInfo": "",
        "summary.hardware": "processor models",
        "summary.quickStats.overallCpuUsage": "CPU usage of hosts",
        "summary.quickStats.overallMemoryUsage": "used memory of hosts",
        "summary.currentEVCModeKey": "",
        "summary.maxEVCModeKey": "",
        "config.product.fullName": "versions of hypervisors",
        "config.hyperThread": "hyper-threading",
        "config.powerSystemInfo": "power policies",
    }
)
"""Properties of a host, and the results that need them."""

VM = MappingProxyType(
    {
        "name": "names of VMs",
        "runtime.host": "hosts of VMs",
        "runtime.powerState": "power state of VMs",
        "runtime.connectionState": "access to the files of VMs",
        "summary.config": "",
        "config.template": "templates",
        "config.hardware.numCPU": "vCPUs",
        "config.hardware.memoryMB": "memory of VMs",
        "config.hardware.numCoresPerSocket": "cores per socket",
        "config.cpuAllocation": "reservations, limits and shares",
        "config.memoryAllocation": "",
        "config.memoryReservationLockedToMax": "",
        "config.cpuHotAddEnabled": "CPU hot-add",
        "config.cpuAffinity.affinitySet": "",
        "config.guestFullName": "guest systems",
        "summary.quickStats.overallCpuUsage": "measured demand",
        "summary.quickStats.overallCpuDemand": "measured demand",
        "summary.quickStats.guestMemoryUsage": "used memory of VMs",
        "summary.quickStats.hostMemoryUsage": "consumed memory of VMs",
        "summary.quickStats.balloonedMemory": "",
        "summary.quickStats.swappedMemory": "",
        "summary.storage": "space of VMs on datastores",
        "snapshot": "",
        **dict.fromkeys(source.PROPERTIES, ""),
        "config.extraConfig": "advanced NUMA settings",
        "config.hardware.device": "virtual disks and their controllers",
    }
)
"""Properties of a VM, with the results that need them.

The results are empty for properties that most VMs do not have.
"""
LARGE = ("config.extraConfig", "config.hardware.device")
SOURCE = "facts for a move"
"""Facts for a move, from `config.hardware.device`."""
PORTS = "distributed ports"
"""Identifiers of the port groups of adapters, from `config.hardware.device`."""
HOST_DEVICES = "devices of the host"
"""True for a VM with devices of its host, from `config.hardware.device`."""
_COSTS: Mapping[str, Mapping[str, str]] = MappingProxyType({"HostSystem": HOST, "VirtualMachine": VM})
VIRTUAL_NUMA = "config.numaInfo"
"""Cores per virtual node, since 8.0.0.1."""
SINCE = MappingProxyType({VIRTUAL_NUMA: (8, 0, 0, 1), stats.READINESS: (7, 0)})

DATASTORE = ("name", "summary.type", "summary.capacity", "summary.freeSpace", "summary.uncommitted", "host")
SNAPSHOT_FILES = ("layoutEx",)
"""Properties that are read only for VMs with snapshots, because they list all files of a VM."""

NUMA_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "numa.vcpu.preferht": "prefer_ht",
        "numa.vcpu.followcorespersocket": "follow_cores_per_socket",
        "numa.vcpu.min": "vcpu_min",
        "numa.vcpu.maxpervirtualnode": "max_per_virtual_node",
    }
)
"""Advanced settings of a VM, in lower case, by the key of a scenario with the same meaning."""


def read(sources: Sequence[str]) -> Inventory:
    """Return the inventory at an address. Raises UnreachableError and SourceError. Never shows the password."""
    if len(sources) > 1:
        hint = "import them one after another; narrow one down as vcenter://USER@HOST/DATACENTER/CLUSTER"
        outside.Source("vcenter://").refuse(f"{len(sources)} addresses", "one vCenter or host", hint, "bad-address")
    with vsphere.connected(sources[0]) as session:
        return Reader(session).inventory()


class Reader:
    """One reading of a session: its results and gaps."""

    def __init__(self, session: Session, *, devices: bool = True) -> None:
        """With `devices`, disks and advanced settings are read, which are most of the bytes."""
        from pyVmomi import vim

        self.vim = vim
        self.session = session
        self.vm_paths = {path: costs for path, costs in VM.items() if devices or path not in LARGE}
        self.notes = ImportNotes(session.source)
        self.host_names: dict[str, str] = {}
        self.vm_names: dict[str, str] = {}
        self.store_names: dict[str, str] = {}
        self.with_snapshots: list[Any] = []
        self.snapshot_bytes: dict[str, int] = {}
        self.port_groups: Mapping[str, source.PortGroup] = {}
        self.at: str | None = None
        self.priorities: dict[str, str] = {}
        self.cluster_priorities: dict[str, str] = {}

    def inventory(self) -> Inventory:
        """Return the whole inventory. Afterwards `host_names` and `vm_names` have the names of objects."""
        vim, session = self.vim, self.session
        root = session.content.rootFolder
        self.at = _time(session)
        found_hosts = self._all(vim.HostSystem, tuple(HOST))
        clusters = Clusters(session, vim)
        self.priorities, self.cluster_priorities = clusters.restart_priorities()
        stores = self._all(vim.Datastore, DATASTORE, root)
        paths = [*self.vm_paths, *(path for path, since in SINCE.items() if session.version >= since)]
        found_vms = self._all(vim.VirtualMachine, paths)
        self.host_names = _names(found_hosts)
        self.vm_names = _names(found_vms)
        self.store_names = _names(stores)
        self._note_absent("HostSystem", HOST, found_hosts)
        self._note_absent("VirtualMachine", self.vm_paths, found_vms)
        if LARGE[-1] in self.vm_paths:
            self._measure_snapshots()
            self.port_groups = source.port_groups(session, vim)
        reclaimed = stats.reclaimed(found_vms)
        hosts = {
            moid: host
            for moid, values in found_hosts
            if (host := self._host(moid, values, clusters, reclaimed.get(moid, (0, 0))))
        }
        if not hosts:
            hint = "may this user see it? check the path"
            session.source.at("HostSystem").lacks("no host with visible processors", "at least one", hint)
        vms = [vm for moid, values in found_vms if (vm := self._vm(moid, values, hosts))]
        parents = {vsphere.moid(values["parent"]) for _, values in found_hosts if "parent" in values}
        return Inventory(
            source=session.name,
            kind="vcenter",
            hosts=sorted(hosts.values(), key=lambda host: host.name),
            vms=sorted(vms, key=lambda vm: vm.name),
            datastores=sorted(self._datastores(stores), key=lambda store: store.name),
            rules=list(clusters.rules(parents, self.host_names, self.vm_names)),
            gaps=[*self.notes.gaps, *self._hidden()],
            assumptions=self.notes.assumptions(),
            clusters=clusters.facts(parents, all_of_them=not session.address.path.strip("/")),
            standalone_hosts=True,
        )

    def _all(
        self, kind: type[Any], paths: Sequence[str], root: Any = None, page: int = vsphere.PAGE
    ) -> list[tuple[str, dict[str, Any]]]:
        """Return all objects of a kind by ID, sorted by ID, because the server's order is random."""
        found = []
        for one, values in self.session.objects(kind, paths, root, page):
            if kind is self.vim.VirtualMachine and "snapshot" in values:
                self.with_snapshots.append(one)
            found.append((vsphere.moid(one), _thin(values) if kind is self.vim.VirtualMachine else values))
        return sorted(found, key=lambda one: one[0])

    def _note_absent(self, kind: str, paths: Mapping[str, str], found: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Add a gap for each needed property that no object has."""
        for path, costs in paths.items():
            if costs and found and not any(path in values for _, values in found):
                self.notes.missing(f"{kind}.{path}", costs)

    def _hidden(self) -> Iterator[Gap]:
        """Yield a gap for each property that the server did not show for some objects."""
        absent = {gap.what for gap in self.notes.gaps}
        for (path, fault), count in sorted(self.session.missing.items()):
            kind, _, name = path.partition(".")
            costs = _COSTS.get(kind, HOST).get(name)
            if path not in absent:
                yield Gap(path, f"{costs or name} of {count} objects ({fault})")

    def _measure_snapshots(self) -> None:
        """Determine the size of snapshots."""
        found = self.session.properties(self.vim.VirtualMachine, self.with_snapshots, SNAPSHOT_FILES)
        sizes = ((vsphere.moid(one), stats.size_of_snapshots(values.get("layoutEx"))) for one, values in found)
        self.snapshot_bytes = {moid: size for moid, size in sizes if size is not None}

    def _host(
        self, moid: str, values: Mapping[str, Any], clusters: Clusters, reclaimed: tuple[int | None, int | None]
    ) -> Host | None:
        """Return a host. `reclaimed` is the memory that its VMs lost to balloons and to swap."""
        name = self.host_names[moid]
        cpu, summary = values.get("hardware.cpuInfo"), values.get("summary.hardware")
        packages = whole(get(cpu, "numCpuPackages"), 1, 64) or whole(get(summary, "numCpuPkgs"), 1, 64)
        cores, threads = (
            whole(get(cpu, key), 1, MOST_PROCESSORS) or whole(get(summary, key), 1, MOST_PROCESSORS)
            for key in ("numCpuCores", "numCpuThreads")
        )
        memory = whole(values.get("hardware.memorySize"), 1, MOST_MEMORY_BYTES) or whole(
            get(summary, "memorySize"), 1, MOST_MEMORY_BYTES
        )
        if packages is None or cores is None or memory is None:
            self.notes.assumed("left out: the server does not show its processors and memory", name)
            return None
        processors = packages
        if cores % packages:
            self.notes.assumed(f"{cores} cores on {packages} sockets: assumed one socket", name)
            packages = 1
        hz = whole(get(cpu, "hz"), 10**8, 10**11)
        mhz = whole(get(summary, "cpuMhz"), 100, 100_000)
        clock_hz = float(hz) if hz else mhz * 1e6 if mhz else None
        used_mhz = whole(values.get("summary.quickStats.overallCpuUsage"), 0, MOST_MHZ)
        used_mb = whole(values.get("summary.quickStats.overallMemoryUsage"), 0, MOST_MEMORY_BYTES // MIB)
        connected = enum(values.get("runtime.connectionState")) in ("connected", "")
        if not connected:
            why = "not connected: assumed in maintenance; its VMs are as of its last connection"
            self.notes.assumed(why, name)
        parent = vsphere.moid(values.get("parent"))
        threading, power = values.get("config.hyperThread"), values.get("hardware.cpuPowerManagementInfo")
        available = get(threading, "available")
        policy = get(values.get("config.powerSystemInfo"), "currentPolicy")
        return Host(
            name=name,
            sockets=packages,
            cores_per_socket=cores // packages,
            threads_per_core=max(1, (threads or cores) // cores),
            memory_bytes=memory,
            clock_hz=clock_hz,
            hypervisor=text(values.get("config.product.fullName")),
            numa_nodes=whole(values.get("hardware.numaInfo.numNodes"), 1, 1024),
            cluster=clusters.names.get(parent),
            datacenter=clusters.datacenter(parent),
            cpu_model=text(get(summary, "cpuModel")),
            processors=processors,
            hyper_threading_available=available if isinstance(available, bool) else None,
            power_policy=power_policy(
                text(get(policy, "shortName")),
                text(get(power, "currentPolicy")),
                text(get(power, "hardwareSupport")),
            ),
            evc=text(values.get("summary.currentEVCModeKey")),
            evc_most=text(values.get("summary.maxEVCModeKey")),
            cpu_usage_pct=100e6 * used_mhz / (cores * clock_hz)
            if used_mhz is not None and clock_hz and connected
            else None,
            memory_usage_pct=100 * used_mb * MIB / memory if used_mb is not None and connected else None,
            ballooned_bytes=reclaimed[0] if connected else None,
            swapped_bytes=reclaimed[1] if connected else None,
            at=self.at,
            counter="quickStats.overallCpuUsage" if used_mhz is not None else "",
            in_maintenance=values.get("runtime.inMaintenanceMode") is True or not connected,
        )

    def _vm(self, moid: str, values: Mapping[str, Any], hosts: Mapping[str, Host]) -> Vm | None:
        name = self.vm_names[moid]
        summary = values.get("summary.config")
        vcpus = whole(values.get("config.hardware.numCPU"), 1, MOST_PROCESSORS) or whole(
            get(summary, "numCpu"), 1, MOST_PROCESSORS
        )
        memory_mb = whole(values.get("config.hardware.memoryMB"), 1, MOST_MEMORY_BYTES // MIB) or whole(
            get(summary, "memorySizeMB"), 1, MOST_MEMORY_BYTES // MIB
        )
        state = enum(values.get("runtime.connectionState"))
        if vcpus is None or memory_mb is None:
            seen = f" ({state})" if state not in ("connected", "") else ""
            why = f"left out: the server does not show its vCPUs and memory{seen}"
            self.notes.assumed(why, name)
            return None
        powered_on = enum(values.get("runtime.powerState")) == "poweredOn"
        allocation = values.get("config.cpuAllocation")
        host = vsphere.moid(values.get("runtime.host"))
        home, storage = hosts.get(host), values.get("summary.storage")
        measured = powered_on and state in ("connected", "")
        committed = whole(get(storage, "committed"), 0, 2**62)
        uncommitted = whole(get(storage, "uncommitted"), 0, 2**62)
        return Vm(
            name=name,
            vcpus=vcpus,
            memory_bytes=memory_mb * MIB,
            host=self.host_names.get(host),
            cluster=home.cluster if home else None,
            datacenter=home.datacenter if home else None,
            powered_on=powered_on,
            is_template=values.get("config.template", get(summary, "template")) is True,
            cores_per_socket=whole(values.get("config.hardware.numCoresPerSocket"), 1, vcpus),
            shares=_shares(get(allocation, "shares")),
            reservation_mhz=positive(get(allocation, "reservation")),
            limit_mhz=positive(get(allocation, "limit")),
            cpu_hot_add=hot_add if isinstance(hot_add := values.get("config.cpuHotAddEnabled"), bool) else None,
            affinity=_ranges(values.get("config.cpuAffinity.affinitySet")),
            numa=_numa(values, vcpus),
            disks=tuple(self._disk(disk) for disk in values.get("config.hardware.device", ())),
            guest_os=text(values.get("config.guestFullName")),
            demand=stats.demand(values, self.at) if measured else None,
            storage_appliance=is_storage_appliance(name),
            live_migration=not values.get(HOST_DEVICES, False),
            **stats.measured(values) if measured else {},
            **_memory_entitlement(values, memory_mb),
            restart_priority=restart_priority(
                self.priorities.get(moid), self.cluster_priorities.get(home.cluster or "") if home else None
            ),
            storage_provisioned_bytes=None if committed is None or uncommitted is None else committed + uncommitted,
            storage_used_bytes=committed,
            snapshots=stats.snapshots(values.get("snapshot"), self.snapshot_bytes.get(moid)) or self._no_snapshots(),
            source=source.of_vm(values, source.with_ports(values.get(SOURCE), values.get(PORTS, ()), self.port_groups)),
        )

    def _no_snapshots(self) -> Snapshots | None:
        """Return zero snapshots, or None if this user cannot see the snapshots of some VMs."""
        is_hidden = any(path == "VirtualMachine.snapshot" for path, _ in self.session.missing)
        return None if is_hidden else Snapshots(0)

    def _disk(self, disk: tuple[int, str | None, int | None, str]) -> VirtualDisk:
        capacity, controller, number, store = disk
        return VirtualDisk(capacity, controller, number, self.store_names.get(store))

    def _datastores(self, stores: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Datastore]:
        for moid, values in stores:
            mounts = values.get("host")
            keys = [vsphere.moid(get(mount, "key")) for mount in mounts] if isinstance(mounts, list) else []
            hosts = sorted(self.host_names[key] for key in keys if key in self.host_names)
            if keys and not hosts:
                continue  # in another datacenter or cluster than the address names
            capacity, free, uncommitted = (
                whole(values.get(f"summary.{key}"), 0, 2**62) for key in ("capacity", "freeSpace", "uncommitted")
            )
            known = None not in (capacity, free, uncommitted)
            yield Datastore(
                name=self.store_names[moid],
                kind=text(values.get("summary.type")) or "unknown",
                capacity_bytes=capacity,
                free_bytes=free,
                hosts=tuple(hosts),
                provisioned_bytes=(capacity or 0) - (free or 0) + (uncommitted or 0) if known else None,
            )


def _memory_entitlement(values: Mapping[str, Any], memory_mb: int) -> dict[str, Any]:
    """Return shares, reservation and limit of a VM's memory, in MB in the API. A limit of -1 is no limit."""
    allocation = values.get("config.memoryAllocation")
    locked = values.get("config.memoryReservationLockedToMax") is True
    reserved = memory_mb if locked else whole(get(allocation, "reservation"), 0, MOST_MEMORY_BYTES // MIB)
    limit = whole(get(allocation, "limit"), 1, MOST_MEMORY_BYTES // MIB)
    return {
        "memory_shares": _shares(get(allocation, "shares")),
        "memory_reservation_bytes": None if reserved is None else reserved * MIB,
        "memory_limit_bytes": None if limit is None else limit * MIB,
    }


def _names(found: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    return vsphere.distinct((moid, vsphere.plain_name(values.get("name", ""))) for moid, values in found)


def _thin(values: dict[str, Any]) -> dict[str, Any]:
    """Return the properties of a VM without unused devices and settings, which are most of its bytes."""
    settings = values.pop("config.extraConfig", None)
    if isinstance(settings, list):
        values["config.extraConfig"] = {
            key: short(str(option.value))
            for option in settings
            if (key := str(get(option, "key")).lower()) in NUMA_SETTINGS
        }
    devices = values.pop("config.hardware.device", None)
    if isinstance(devices, list):
        values["config.hardware.device"] = _disks(devices)
        values[HOST_DEVICES] = any(map(_is_of_host, devices))
        values[SOURCE], values[PORTS] = source.of_devices(devices), source.keys_of_ports(devices)
    return values


def _is_of_host(device: Any) -> bool:
    """True for DirectPath I/O and SR-IOV, which prevent vMotion (vSphere VM administration). vGPUs can migrate."""
    from pyVmomi import vim

    is_virtual_gpu = isinstance(device.backing, vim.vm.device.VirtualPCIPassthrough.VmiopBackingInfo)
    kinds = (vim.vm.device.VirtualPCIPassthrough, vim.vm.device.VirtualSriovEthernetCard)
    return isinstance(device, kinds) and not is_virtual_gpu


def _disks(devices: Sequence[Any]) -> list[tuple[int, str | None, int | None, str]]:
    """Return the capacity, kind and bus number of its controller, and datastore ID, for each virtual disk."""
    from pyVmomi import vim

    kinds = {
        vim.vm.device.ParaVirtualSCSIController: "pvscsi",
        vim.vm.device.VirtualLsiLogicSASController: "lsi-sas",
        vim.vm.device.VirtualNVMEController: "nvme",
    }
    controllers = {
        device.key: (kinds.get(type(device)), whole(device.busNumber, 0, 255))
        for device in devices
        if isinstance(device, vim.vm.device.VirtualController)
    }
    disks = []
    for device in devices:
        if not isinstance(device, vim.vm.device.VirtualDisk):
            continue
        kilobytes = whole(device.capacityInKB, 0, 2**53)
        capacity = whole(device.capacityInBytes, 1, 2**62) or (kilobytes * 1024 if kilobytes else 0)
        kind, number = controllers.get(device.controllerKey or 0, (None, None))
        disks.append((capacity, kind, number if kind else None, vsphere.moid(get(device.backing, "datastore"))))
    return disks


def _numa(values: Mapping[str, Any], vcpus: int) -> dict[str, object]:
    """Return the keys of `vms.NAME.numa` from a VM's advanced settings and, since 8.0, its virtual topology."""
    numa: dict[str, object] = {}
    for key, said in values.get("config.extraConfig", {}).items():
        setting = NUMA_SETTINGS[key]
        if setting in ("prefer_ht", "follow_cores_per_socket"):
            numa[setting] = said.strip().lower() in ("true", "1", "yes", "y")
        elif said.strip().isascii() and said.strip().isdigit() and 1 <= int(said) <= 768:
            numa[setting] = int(said)
    topology = values.get(VIRTUAL_NUMA)
    if get(topology, "autoCoresPerNumaNode") is not True and (
        cores := whole(get(topology, "coresPerNumaNode"), 1, vcpus)
    ):
        numa["cores_per_node"] = cores
    if get(topology, "vnumaOnCpuHotaddExposed") is True:
        numa["expose_on_cpu_hot_add"] = True
    return numa


def _time(session: Session) -> str | None:
    """Return the server's clock."""
    try:
        now = session.call("CurrentTime", session.instance.CurrentTime)
    except vsphere.FaultError:
        return None
    return now.isoformat(timespec="seconds") if isinstance(now, datetime) else None


def _shares(shares: Any) -> str | int | None:
    level = enum(get(shares, "level"))
    if level in ("low", "normal", "high"):
        return level
    return whole(get(shares, "shares"), 1, 10**9) if level == "custom" else None


def _ranges(cpus: Any) -> str | None:
    """Return logical CPUs as `0-11,24`, or None without affinity."""
    return written(cpu for cpu in cpus or () if whole(cpu, 0, MOST_PROCESSORS) is not None) or None
