"""The inventory of a vCenter Server or a single ESXi host: `vcenter://USER@HOST[:PORT][/DATACENTER[/CLUSTER]]`.

Only the properties that are used are read, by path, in pages; the read-only role is enough. What may not be read, or
is missing (the files of a VM cannot be reached, a host is not connected), is named and left out. No label is used, so
the server's language does not matter.

Properties: vSphere Web Services API, `HostSystem`, `VirtualMachine`, `Datastore`, `ClusterComputeResource`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from hypertwin.errors import short
from hypertwin.ingest import outside
from hypertwin.ingest.appliances import is_storage_appliance
from hypertwin.ingest.inventory import (
    Assumption,
    Datastore,
    Demand,
    Host,
    Inventory,
    Rule,
    VirtualDisk,
    Vm,
)
from hypertwin.ingest.outside import Gap
from hypertwin.ingest.vmware import vsphere
from hypertwin.ingest.vmware.vsphere import Session

MIB = 2**20
MOST_PROCESSORS = 8192
MOST_MEMORY_BYTES = 2**50
MOST_MHZ = 10**9

HOST = MappingProxyType(
    {
        "name": "names of hosts",
        "parent": "clusters",
        "runtime.connectionState": "whether hosts are connected",
        "runtime.inMaintenanceMode": "hosts in maintenance",
        "hardware.cpuInfo": "clock in Hz",
        "hardware.numaInfo.numNodes": "NUMA nodes",
        "hardware.memorySize": "",
        "summary.hardware": "models of processors",
        "summary.quickStats.overallCpuUsage": "usage of hosts",
        "config.product.fullName": "versions of hypervisors",
    }
)
"""Properties of a host, and what cannot be said without them."""

VM = MappingProxyType(
    {
        "name": "names of machines",
        "runtime.host": "on which host machines are",
        "runtime.powerState": "whether machines are on",
        "runtime.connectionState": "whether the files of machines can be reached",
        "summary.config": "",
        "config.template": "templates",
        "config.hardware.numCPU": "vCPUs",
        "config.hardware.memoryMB": "memory of machines",
        "config.hardware.numCoresPerSocket": "cores per socket",
        "config.cpuAllocation": "reservations, limits and shares",
        "config.cpuHotAddEnabled": "CPU hot-add",
        "config.cpuAffinity.affinitySet": "",
        "config.guestFullName": "guest systems",
        "summary.quickStats.overallCpuUsage": "measured demand",
        "summary.quickStats.overallCpuDemand": "measured demand",
        "config.extraConfig": "advanced NUMA settings",
        "config.hardware.device": "virtual disks and their controllers",
    }
)
"""Properties of a VM, and what cannot be said without them; empty for those that most VMs do not have."""
LARGE = ("config.extraConfig", "config.hardware.device")
_COSTS: Mapping[str, Mapping[str, str]] = MappingProxyType({"HostSystem": HOST, "VirtualMachine": VM})
VIRTUAL_NUMA = "config.numaInfo"
"""Since 8.0.0.1: cores per virtual node."""

DATASTORE = ("name", "summary.type", "summary.capacity", "summary.freeSpace", "host")
CLUSTER = ("name", "configurationEx")

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
    """The inventory at an address. Raises UnreachableError and SourceError; never shows the password."""
    if len(sources) > 1:
        hint = "import them one after another; narrow one down as vcenter://USER@HOST/DATACENTER/CLUSTER"
        outside.refuse("vcenter://", "", f"{len(sources)} addresses", "one vCenter or host", hint, "bad-address")
    with vsphere.connected(sources[0]) as session:
        return Reader(session).inventory()


class Reader:
    """One reading of a session: what was found, and what is missing."""

    def __init__(self, session: Session, *, devices: bool = True) -> None:
        """`devices`: whether to read disks and advanced settings, which are most of the bytes."""
        from pyVmomi import vim

        self.vim = vim
        self.session = session
        self.vm_paths = {path: costs for path, costs in VM.items() if devices or path not in LARGE}
        self.assumptions: list[Assumption] = []
        self.gaps: dict[str, Gap] = {}
        self.host_names: dict[str, str] = {}
        self.vm_names: dict[str, str] = {}
        self.store_names: dict[str, str] = {}

    def inventory(self) -> Inventory:
        """The whole inventory; afterwards `host_names` and `vm_names` have the names of objects."""
        vim, session = self.vim, self.session
        root = session.content.rootFolder
        found_hosts = self._all(vim.HostSystem, tuple(HOST))
        clusters = self._all(vim.ClusterComputeResource, CLUSTER, root, 10)
        stores = self._all(vim.Datastore, DATASTORE, root)
        paths = [*self.vm_paths, *([VIRTUAL_NUMA] if session.version >= vsphere.VERSIONS[0][0] else [])]
        found_vms = self._all(vim.VirtualMachine, paths)
        self.host_names = _names(found_hosts)
        self.vm_names = _names(found_vms)
        self.store_names = _names(stores)
        self._note_absent("HostSystem", HOST, found_hosts)
        self._note_absent("VirtualMachine", self.vm_paths, found_vms)
        cluster_of = {moid: vsphere.plain_name(values.get("name", moid)) for moid, values in clusters}
        hosts = [host for moid, values in found_hosts if (host := self._host(moid, values, cluster_of))]
        if not hosts:
            what = "no host whose processors can be seen"
            session.refuse("HostSystem", what, "at least one", "may this user see it? check the path", "source-lacks")
        vms = [vm for moid, values in found_vms if (vm := self._vm(moid, values))]
        parents = {vsphere.moid(values["parent"]) for _, values in found_hosts if "parent" in values}
        rules = [rule for moid, values in clusters if moid in parents for rule in self._rules(values)]
        return Inventory(
            source=session.name,
            kind="vcenter",
            hosts=sorted(hosts, key=lambda host: host.name),
            vms=sorted(vms, key=lambda vm: vm.name),
            datastores=sorted(self._datastores(stores), key=lambda store: store.name),
            rules=rules,
            gaps=[*self.gaps.values(), *self._hidden()],
            assumptions=self.assumptions,
        )

    def _all(
        self, kind: type[Any], paths: Sequence[str], root: Any = None, page: int = vsphere.PAGE
    ) -> list[tuple[str, dict[str, Any]]]:
        """All objects of a kind by identity, in the order of their identities: the server's order is random."""
        found = ((vsphere.moid(one), values) for one, values in self.session.objects(kind, paths, root, page))
        if kind is self.vim.VirtualMachine:
            found = ((moid, _thin(values)) for moid, values in found)
        return sorted(found, key=lambda one: one[0])

    def _note_absent(self, kind: str, paths: Mapping[str, str], found: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        """Add a gap for each property that no object has and that is needed for something."""
        for path, costs in paths.items():
            if costs and found and not any(path in values for _, values in found):
                self.gaps[f"{kind}.{path}"] = Gap(f"{kind}.{path}", costs)

    def _hidden(self) -> Iterator[Gap]:
        """A gap for each property that the server would not show of some objects."""
        for (path, fault), count in sorted(self.session.missing.items()):
            kind, _, name = path.partition(".")
            costs = _COSTS.get(kind, HOST).get(name)
            if path not in self.gaps:
                yield Gap(path, f"{costs or name} of {count} objects ({fault})")

    def _host(self, moid: str, values: Mapping[str, Any], cluster_of: Mapping[str, str]) -> Host | None:
        name = self.host_names[moid]
        cpu, summary = values.get("hardware.cpuInfo"), values.get("summary.hardware")
        packages = _whole(_get(cpu, "numCpuPackages"), 1, 64) or _whole(_get(summary, "numCpuPkgs"), 1, 64)
        cores = _whole(_get(cpu, "numCpuCores"), 1, MOST_PROCESSORS) or _whole(
            _get(summary, "numCpuCores"), 1, MOST_PROCESSORS
        )
        threads = _whole(_get(cpu, "numCpuThreads"), 1, MOST_PROCESSORS) or _whole(
            _get(summary, "numCpuThreads"), 1, MOST_PROCESSORS
        )
        memory = _whole(values.get("hardware.memorySize"), 1, MOST_MEMORY_BYTES) or _whole(
            _get(summary, "memorySize"), 1, MOST_MEMORY_BYTES
        )
        if packages is None or cores is None or memory is None:
            self.assumptions.append(Assumption(name, "left out: the server does not say its processors and memory"))
            return None
        if cores % packages:
            self.assumptions.append(Assumption(name, f"{cores} cores on {packages} sockets: taken as one socket"))
            packages = 1
        hz = _whole(_get(cpu, "hz"), 10**8, 10**11)
        mhz = _whole(_get(summary, "cpuMhz"), 100, 100_000)
        clock_hz = float(hz) if hz else mhz * 1e6 if mhz else None
        used_mhz = _whole(values.get("summary.quickStats.overallCpuUsage"), 0, MOST_MHZ)
        connected = _enum(values.get("runtime.connectionState")) in ("connected", "")
        if not connected:
            text = "not connected: its machines are as they were when it last was, and it is taken as in maintenance"
            self.assumptions.append(Assumption(name, text))
        return Host(
            name=name,
            sockets=packages,
            cores_per_socket=cores // packages,
            threads_per_core=max(1, (threads or cores) // cores),
            memory_bytes=memory,
            clock_hz=clock_hz,
            hypervisor=_text(values.get("config.product.fullName")),
            numa_nodes=_whole(values.get("hardware.numaInfo.numNodes"), 1, 1024),
            cluster=cluster_of.get(vsphere.moid(values.get("parent"))),
            cpu_model=_text(_get(summary, "cpuModel")),
            usage_pct=100e6 * used_mhz / (cores * clock_hz)
            if used_mhz is not None and clock_hz and connected
            else None,
            in_maintenance=values.get("runtime.inMaintenanceMode") is True or not connected,
        )

    def _vm(self, moid: str, values: Mapping[str, Any]) -> Vm | None:
        name = self.vm_names[moid]
        summary = values.get("summary.config")
        vcpus = _whole(values.get("config.hardware.numCPU"), 1, MOST_PROCESSORS) or _whole(
            _get(summary, "numCpu"), 1, MOST_PROCESSORS
        )
        memory_mb = _whole(values.get("config.hardware.memoryMB"), 1, MOST_MEMORY_BYTES // MIB) or _whole(
            _get(summary, "memorySizeMB"), 1, MOST_MEMORY_BYTES // MIB
        )
        state = _enum(values.get("runtime.connectionState"))
        if vcpus is None or memory_mb is None:
            why = f" ({state})" if state not in ("connected", "") else ""
            text = f"left out: the server does not say its vCPUs and memory{why}"
            self.assumptions.append(Assumption(name, text))
            return None
        powered_on = _enum(values.get("runtime.powerState")) == "poweredOn"
        allocation = values.get("config.cpuAllocation")
        host = vsphere.moid(values.get("runtime.host"))
        return Vm(
            name=name,
            vcpus=vcpus,
            memory_bytes=memory_mb * MIB,
            host=self.host_names.get(host),
            powered_on=powered_on,
            is_template=values.get("config.template", _get(summary, "template")) is True,
            cores_per_socket=_whole(values.get("config.hardware.numCoresPerSocket"), 1, vcpus),
            shares=_shares(_get(allocation, "shares")),
            reservation_mhz=_positive(_get(allocation, "reservation")),
            limit_mhz=_positive(_get(allocation, "limit")),
            cpu_hot_add=hot_add if isinstance(hot_add := values.get("config.cpuHotAddEnabled"), bool) else None,
            affinity=_ranges(values.get("config.cpuAffinity.affinitySet")),
            numa=_numa(values, vcpus),
            disks=tuple(self._disk(disk) for disk in values.get("config.hardware.device", ())),
            guest_os=_text(values.get("config.guestFullName")),
            demand=_demand(values) if powered_on else None,
            storage_appliance=is_storage_appliance(name),
        )

    def _disk(self, disk: tuple[int, str | None, int | None, str]) -> VirtualDisk:
        capacity, controller, number, store = disk
        return VirtualDisk(capacity, controller, number, self.store_names.get(store))

    def _datastores(self, stores: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Datastore]:
        for moid, values in stores:
            mounts = values.get("host")
            keys = [vsphere.moid(_get(mount, "key")) for mount in mounts] if isinstance(mounts, list) else []
            hosts = sorted(self.host_names[key] for key in keys if key in self.host_names)
            if keys and not hosts:
                continue  # in another datacenter or cluster than the address names
            yield Datastore(
                name=self.store_names[moid],
                kind=_text(values.get("summary.type")) or "unknown",
                capacity_bytes=_whole(values.get("summary.capacity"), 0, 2**62),
                free_bytes=_whole(values.get("summary.freeSpace"), 0, 2**62),
                hosts=tuple(hosts),
            )

    def _rules(self, values: Mapping[str, Any]) -> Iterator[Rule]:
        """The rules of a cluster that are enabled (`ClusterConfigInfoEx.rule`, `.group`)."""
        vim = self.vim
        settings = values.get("configurationEx")
        groups: dict[str, tuple[str, ...]] = {}
        for group in _get(settings, "group") or ():
            if isinstance(group, vim.cluster.VmGroup):
                groups[group.name] = self._named(group.vm, self.vm_names)
            elif isinstance(group, vim.cluster.HostGroup):
                groups[group.name] = self._named(group.host, self.host_names)
        kinds = {vim.cluster.AffinityRuleSpec: "keep-together", vim.cluster.AntiAffinityRuleSpec: "keep-apart"}
        for rule in _get(settings, "rule") or ():
            vms: tuple[str, ...] = ()
            hosts: tuple[str, ...] = ()
            kind = kinds.get(type(rule))
            if kind is not None:
                vms = self._named(rule.vm, self.vm_names)
            elif isinstance(rule, vim.cluster.VmHostRuleInfo):
                kind = "run-on" if rule.affineHostGroupName else "not-on"
                vms = groups.get(rule.vmGroupName, ())
                hosts = groups.get(rule.affineHostGroupName or rule.antiAffineHostGroupName, ())
            if kind is None or rule.enabled is False or not vms or (kind in ("run-on", "not-on") and not hosts):
                continue
            yield Rule(outside.name(rule.name or ""), kind, vms, hosts, rule.mandatory is True)

    def _named(self, references: Any, names: Mapping[str, str]) -> tuple[str, ...]:
        found = (vsphere.moid(reference) for reference in references or ())
        return tuple(sorted(names[moid] for moid in found if moid in names))


def _names(found: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    return vsphere.distinct((moid, vsphere.plain_name(values.get("name", ""))) for moid, values in found)


def _thin(values: dict[str, Any]) -> dict[str, Any]:
    """The properties of a VM without those devices and settings that are not used, which are most of its bytes."""
    settings = values.pop("config.extraConfig", None)
    if isinstance(settings, list):
        values["config.extraConfig"] = {
            key: short(str(option.value))
            for option in settings
            if (key := str(_get(option, "key")).lower()) in NUMA_SETTINGS
        }
    devices = values.pop("config.hardware.device", None)
    if isinstance(devices, list):
        values["config.hardware.device"] = _disks(devices)
    return values


def _disks(devices: Sequence[Any]) -> list[tuple[int, str | None, int | None, str]]:
    """Of each virtual disk: capacity, kind and bus number of its controller, identity of its datastore."""
    from pyVmomi import vim

    kinds = {
        vim.vm.device.ParaVirtualSCSIController: "pvscsi",
        vim.vm.device.VirtualLsiLogicSASController: "lsi-sas",
        vim.vm.device.VirtualNVMEController: "nvme",
    }
    controllers = {
        device.key: (kinds.get(type(device)), _whole(device.busNumber, 0, 255))
        for device in devices
        if isinstance(device, vim.vm.device.VirtualController)
    }
    disks = []
    for device in devices:
        if not isinstance(device, vim.vm.device.VirtualDisk):
            continue
        kilobytes = _whole(device.capacityInKB, 0, 2**53)
        capacity = _whole(device.capacityInBytes, 1, 2**62) or (kilobytes * 1024 if kilobytes else 0)
        kind, number = controllers.get(device.controllerKey or 0, (None, None))
        disks.append((capacity, kind, number if kind else None, vsphere.moid(_get(device.backing, "datastore"))))
    return disks


def _numa(values: Mapping[str, Any], vcpus: int) -> dict[str, object]:
    """Keys of `vms.NAME.numa` from a VM's advanced settings and, since 8.0, its virtual topology."""
    numa: dict[str, object] = {}
    for key, text in values.get("config.extraConfig", {}).items():
        setting = NUMA_SETTINGS[key]
        if setting in ("prefer_ht", "follow_cores_per_socket"):
            numa[setting] = text.strip().lower() in ("true", "1", "yes", "y")
        elif text.strip().isascii() and text.strip().isdigit() and 1 <= int(text) <= 768:
            numa[setting] = int(text)
    topology = values.get(VIRTUAL_NUMA)
    if _get(topology, "autoCoresPerNumaNode") is not True and (
        cores := _whole(_get(topology, "coresPerNumaNode"), 1, vcpus)
    ):
        numa["cores_per_node"] = cores
    if _get(topology, "vnumaOnCpuHotaddExposed") is True:
        numa["expose_on_cpu_hot_add"] = True
    return numa


def _demand(values: Mapping[str, Any]) -> Demand | None:
    """What a VM recently wanted; if the server does not say, what it used."""
    wanted = _whole(values.get("summary.quickStats.overallCpuDemand"), 0, MOST_MHZ)
    used = _whole(values.get("summary.quickStats.overallCpuUsage"), 0, MOST_MHZ)
    if wanted:
        return Demand(float(wanted), over="quick statistics, overallCpuDemand")
    return None if used is None else Demand(float(used), over="quick statistics, overallCpuUsage")


def _shares(shares: Any) -> str | int | None:
    level = _enum(_get(shares, "level"))
    if level in ("low", "normal", "high"):
        return level
    return _whole(_get(shares, "shares"), 1, 10**9) if level == "custom" else None


def _ranges(cpus: Any) -> str | None:
    """Logical CPUs as `0-11,24`; None without affinity."""
    listed = sorted({cpu for cpu in cpus if _whole(cpu, 0, MOST_PROCESSORS) is not None}) if cpus else []
    runs: list[list[int]] = []
    for cpu in listed:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or None


def _whole(value: Any, least: int, most: int) -> int | None:
    """A whole number within bounds, or None."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return None
    return int(value)


def _positive(value: Any) -> float | None:
    """A reservation or limit in MHz; None for 0 and -1, which mean none and unlimited."""
    whole = _whole(value, 1, MOST_MHZ)
    return None if whole is None else float(whole)


def _text(value: Any) -> str | None:
    return outside.name(value) or None if isinstance(value, str) else None


def _enum(value: Any) -> str:
    return str(value) if isinstance(value, str) else ""


def _get(value: Any, attribute: str) -> Any:
    return getattr(value, attribute, None)
