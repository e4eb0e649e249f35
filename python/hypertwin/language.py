"""The scenario language, as the compiled core parses it: members of groups, hypervisors, redundancy, limits, schema.

The core (`crates/cluster`) owns the language. This module adds types to its results. Code that needs the meaning of a
scenario calls this module, and parses no keys or quantities itself. Examples are the hosts of a group, the memory of a
VM, or the options of an ESXi version. `hypertwin.scenario.Scenario.inventory` has the members of one scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from hypertwin import _core


def build() -> str:
    """Return the version and hash of the core. The same build, scenario and seed give the same results."""
    return _core.build()


@dataclass(frozen=True)
class MeasuredHost:
    """Measurements of a host. A missing measurement is None."""

    at: str | None
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures, or None for a single sample."""
    counter: str | None
    """Name of the counter of the CPU figures."""
    cpu_usage_pct: float | None
    """Mean CPU use, in per cent of cores times nominal clock."""
    cpu_p95_pct: float | None
    """95th percentile of CPU use, in per cent of cores times nominal clock."""
    cpu_peak_pct: float | None
    """Peak CPU use, in per cent of cores times nominal clock."""
    memory_usage_pct: float | None
    """Memory use, in per cent of the host memory."""
    ballooned_bytes: int | None
    """Memory reclaimed by ballooning, in bytes."""
    swapped_bytes: int | None
    """Memory swapped out, in bytes."""


@dataclass(frozen=True)
class MeasuredVm:
    """Measurements of a VM. A missing measurement is None."""

    at: str | None
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures, or None for a single sample."""
    counter: str | None
    """Name of the counter of the CPU figures."""
    cpu_mhz: float | None
    """Mean CPU demand, in MHz."""
    cpu_p95_mhz: float | None
    """95th percentile of CPU demand, in MHz."""
    cpu_peak_mhz: float | None
    """Peak CPU demand, in MHz."""
    ready_pct: float | None
    """Ready time, in per cent of each vCPU."""
    memory_consumed_bytes: int | None
    """Consumed host memory, in bytes."""
    memory_active_bytes: int | None
    """Recently used memory, in bytes."""
    ballooned_bytes: int | None
    """Memory reclaimed by ballooning, in bytes."""
    swapped_bytes: int | None
    """Memory swapped out, in bytes."""
    storage_provisioned_bytes: int | None
    """Provisioned size of the virtual disks of the VM, in bytes."""
    storage_used_bytes: int | None
    """Space used on datastores, in bytes."""
    storage_in_guest_bytes: int | None
    """Space used in file systems of the guest, as reported by the guest, in bytes."""
    snapshots_bytes: int | None
    """Space used by snapshots of the VM, in bytes."""
    snapshot_count: int | None
    """Number of snapshots of the VM."""
    oldest_snapshot: str | None
    """Creation time of the oldest snapshot of the VM."""


@dataclass(frozen=True)
class MeasuredCluster:
    """Measurements of the VMs of a cluster, summed at the same times. A missing measurement is None."""

    at: str | None
    """Time of the measurement."""
    over_s: float | None
    """Seconds covered by the CPU figures, or None for a single sample."""
    counter: str | None
    """Name of the counter of the CPU figures."""
    cpu_mhz: float | None
    """Mean CPU demand, in MHz."""
    cpu_p95_mhz: float | None
    """95th percentile of CPU demand, in MHz."""
    cpu_peak_mhz: float | None
    """Peak CPU demand, in MHz."""
    memory_consumed_bytes: int | None
    """Mean host memory consumed by VMs, in bytes."""
    memory_consumed_peak_bytes: int | None
    """Peak host memory consumed by VMs, in bytes."""


@dataclass(frozen=True)
class SourceDisk:
    """Virtual disk in the source system. An unknown fact is None."""

    label: str | None = None
    """Name of the disk."""
    capacity_bytes: int | None = None
    """Capacity that the guest sees, in bytes."""
    controller: str | None = None
    """Controller, as the source names it."""
    controller_number: int | None = None
    """Number of the controller among those of its kind, from 0."""
    unit: int | None = None
    """Number of the disk at its controller, from 0."""
    mode: str | None = None
    """Disk mode: `persistent`, `independent-persistent` or `independent-nonpersistent`."""
    raw: str | None = None
    """Raw device mapping: `none`, `virtual` or `physical`."""
    shared: bool | None = None
    """True if other VMs can write to the disk too."""
    thin: bool | None = None
    """True if the disk is thin-provisioned."""
    path: str | None = None
    """File of the disk with its datastore, or an empty string if the disk has none."""


@dataclass(frozen=True)
class SourceNetwork:
    """Virtual network adapter in the source system. An unknown fact is None."""

    adapter: str | None = None
    """Model of the adapter, as the source names it."""
    network: str | None = None
    """Port group or network."""
    switch: str | None = None
    """Virtual switch."""
    vlan: int | None = None
    """VLAN of the port group, 0 for none, 4095 for all."""
    connected: bool | None = None
    """True if the adapter is connected."""


@dataclass(frozen=True)
class SourcePartition:
    """File system of a guest. An unknown fact is None."""

    path: str | None = None
    """Mount point or drive letter."""
    capacity_bytes: int | None = None
    """Capacity, in bytes."""
    free_bytes: int | None = None
    """Free capacity, in bytes."""


@dataclass(frozen=True)
class SourceVm:
    """Facts of the source system about a VM, for a move. An unknown fact is None. No run reads them."""

    guest_id: str | None = None
    """Configured guest: its identifier in vSphere, or its name if the guest tools report another one."""
    firmware: str | None = None
    """Firmware: `bios` or `efi`."""
    secure_boot: bool | None = None
    """True if Secure Boot is enabled."""
    tpm: bool | None = None
    """True if the VM has a virtual TPM."""
    hardware_version: int | None = None
    """Virtual hardware version, such as 19 for `vmx-19`."""
    tools: str | None = None
    """State of the guest tools: `running`, `not-running` or `not-installed`."""
    host_name: str | None = None
    """Host name that the guest reports, or an empty string if it reports none."""
    has_ip: bool | None = None
    """True if the guest reports an IP address."""
    folder: str | None = None
    """Folder of the VM."""
    tags: tuple[str, ...] | None = None
    """Tags of the VM."""
    hot_add_memory: bool | None = None
    """True if memory can be added to the running VM."""
    cpu_affinity: bool | None = None
    """True if vCPUs of the VM are bound to logical CPUs of its host."""
    numa_affinity: bool | None = None
    """True if memory of the VM is bound to NUMA nodes of its host."""
    changed_block_tracking: bool | None = None
    """True if changed block tracking is enabled."""
    consolidation_needed: bool | None = None
    """True if disks of removed snapshots need consolidation."""
    fault_tolerance: bool | None = None
    """True if vSphere Fault Tolerance protects the VM."""
    disk_uuid: bool | None = None
    """True if the guest sees serial numbers of its disks."""
    cds_connected: int | None = None
    """Number of connected CD-ROM drives."""
    usb_devices: int | None = None
    """Number of USB devices and controllers."""
    passthrough_devices: int | None = None
    """Number of devices of the host that are passed through to the VM."""
    secret_in_notes: bool | None = None
    """True if notes look as if they contain a password or a key. Their text is not kept."""
    disks: tuple[SourceDisk, ...] | None = None
    networks: tuple[SourceNetwork, ...] | None = None
    partitions: tuple[SourcePartition, ...] | None = None


@dataclass(frozen=True)
class SourceCluster:
    """Facts of the source system about a cluster, for a move. An unknown fact is None. No run reads them."""

    drs: bool | None = None
    """True if DRS is enabled, at any level of automation."""
    dpm: bool | None = None
    """True if Distributed Power Management is enabled."""
    all_rules: bool | None = None
    """True if the scenario has all placement rules of the cluster."""


UNKNOWN_CLUSTER = SourceCluster()
"""A cluster whose source tells nothing."""


@dataclass(frozen=True)
class Cluster:
    """Cluster of hosts between which VMs can move."""

    name: str
    """Name of the cluster in the scenario and in reports."""
    label: str | None
    """Name of the cluster in its source system."""
    datacenter: str | None
    """Name of the datacenter."""
    ha: bool | None
    """True if HA restarts VMs of a failed host, or None if unknown. In the fields below, None also means unknown."""
    admission_control: bool | None
    """True if admission control is enabled."""
    failures: int | None
    """Number of host failures for which admission control reserves capacity."""
    evc: str | None
    """EVC mode of the cluster: the CPU generation that the hosts present to VMs."""
    measured: MeasuredCluster
    """Measurements of all VMs of the cluster together."""
    source: SourceCluster


@dataclass(frozen=True)
class Host:
    """A host of a scenario."""

    name: str
    """Name of the host in the scenario and in reports."""
    group: str
    """Key of the host group in `hosts`."""
    label: str | None
    """Name in the source system, numbered if the group has several hosts, or None without a label in the scenario."""
    cluster: str
    """Name of the cluster of the host: a key of `Inventory.cluster`."""
    hypervisor: str
    """Name of the hypervisor with its version, such as `esxi-8.0`: a key of `hypervisors`."""
    family: str
    """Hypervisor family: `esxi` or `linux`."""
    sockets: int
    """Number of CPU sockets."""
    cores_per_socket: int
    nodes: int
    """Number of NUMA nodes."""
    cores_per_node: int
    threads_per_core: int
    cores: int
    """Number of physical cores."""
    threads: int
    """Number of logical CPUs."""
    clock_hz: int
    """Nominal clock, in Hz."""
    busy_clock_hz: int
    """Clock that all cores sustain when busy, in Hz."""
    work_per_cycle: float
    """Work of VMs per clock cycle, relative to the hosts where their demand was measured."""
    memory_bytes: int
    """Total memory of all NUMA nodes, in bytes."""
    memory_per_node_bytes: int
    hypervisor_memory_bytes: int
    """Memory that the hypervisor and its services occupy and VMs cannot use, in bytes."""
    storage_memory_bytes: int
    """Part of the hypervisor memory that is derived from published figures of the pool software, in bytes."""
    processors: int
    """Number of physical processors for licensing."""
    cpu_model: str | None
    hyper_threading_available: bool | None
    """True if the processor has hyper-threading, enabled or disabled."""
    power_policy: str | None
    """Power policy: `high-performance`, `balanced`, `low-power`, `custom` or `not-managed`."""
    evc: str | None
    """EVC mode of the host: the CPU generation that the host presents to VMs."""
    evc_most: str | None
    """Newest EVC mode that the host supports."""
    measured: MeasuredHost

    @property
    def options(self) -> Hypervisor:
        """Settings and facts of the hypervisor."""
        return hypervisors()[self.hypervisor]


@dataclass(frozen=True)
class Vm:
    """VM of a scenario."""

    name: str
    """Name of the VM in the scenario and in reports."""
    group: str
    """Key of the VM group in `vms`."""
    label: str | None
    """Name in the source system, numbered if the group has several VMs, or None without a label in the scenario."""
    host: str
    """Name of the host of the VM."""
    cluster: str
    """Name of the cluster of the host."""
    host_is_given: bool
    """True if the scenario names the host of the VM."""
    host_is_guess: bool
    """True if the host in the scenario is a guess, because the source system does not name a host."""
    vcpus: int
    memory_bytes: int
    memory_touched_bytes: int
    """Memory that the VM has touched and therefore consumes on its host, in bytes."""
    memory_reservation_bytes: int
    """Reserved memory, without the hypervisor's overhead, in bytes."""
    reservation_hz: int
    """Reserved CPU, in Hz."""
    limit_hz: int | None
    """Limit of CPU in Hz, or None without a limit."""
    shares: float
    """CPU shares of the whole VM: 1000 for each vCPU are normal."""
    cores_per_socket: int | None
    """Cores for each virtual socket, or None for the default of the hypervisor."""
    cpu_hot_add: bool
    """True if vCPUs can be added to the running VM."""
    has_affinity: bool
    """True if the VM has CPU affinity."""
    restart_priority: str
    """Restart priority: `highest`, `high`, `medium`, `low`, `lowest` or `disabled`."""
    stays_on_host: bool
    """True if the VM can only run on its host because of CPU affinity, local disks, or as a storage appliance."""
    live_migration: bool
    """True if the VM can migrate while it runs. Containers and storage appliances cannot."""
    host_groups: tuple[str, ...]
    """Host groups of the cluster that can run the VM, by vCPUs, memory, hypervisor and storage."""
    storage_appliance: bool
    """True if the VM is a storage appliance of its host."""
    guest_os: str | None
    """Guest operating system, as the source system names it."""
    products: tuple[str, ...]
    """Software in the guest that needs a licence."""
    array: str | None
    """Key of the array of the VM in `arrays`."""
    pool: str | None
    """Key of the pool of the VM in `storage`."""
    vdisks: int
    """Number of virtual disks. It is only relevant for a VM with an array or a pool."""
    policies: Mapping[str, int]
    """Number of virtual disks in the pool, by policy. Disks without a policy have the redundancy of the pool."""
    measured: MeasuredVm
    source: SourceVm

    def can_be_on(self, host: Host) -> bool:
        """True if the VM can run on a host, apart from capacity and rules."""
        return host.group in self.host_groups and (host.name == self.host or not self.stays_on_host)

    @property
    def called(self) -> str:
        """Display name: the name in the source system if known, otherwise the name in the scenario."""
        return self.label or self.name


@dataclass(frozen=True)
class PoweredOff:
    """Powered-off VM, or template."""

    name: str
    """Key of the VM in the scenario."""
    label: str | None
    """Name of the VM in its source system."""
    cluster: str | None
    """Name of the cluster, or None if unknown."""
    host: str | None
    """Name of the host on which it is registered, or None if unknown."""
    template: bool
    """True for a template."""
    vcpus: int
    """Number of vCPUs."""
    cores_per_socket: int | None
    """Number of virtual cores per virtual socket, or None if unknown."""
    memory_bytes: int
    """Configured memory, in bytes."""
    memory_reservation_bytes: int
    """Reserved memory, in bytes."""
    cpu_hot_add: bool
    """True if vCPUs can be added while the VM runs."""
    shares: float
    """CPU shares of the whole VM."""
    reservation_hz: int
    """CPU reservation, in Hz."""
    limit_hz: int | None
    """CPU limit in Hz, or None without a limit."""
    storage_provisioned_bytes: int | None
    """Provisioned size of the virtual disks, in bytes."""
    storage_used_bytes: int | None
    """Space used on datastores, in bytes."""
    snapshot_count: int | None
    """Number of snapshots, or None if unknown."""
    guest_os: str | None
    """Guest operating system as the source names it, or None if unknown."""
    source: SourceVm


@dataclass(frozen=True)
class Datastore:
    """Datastore with virtual disks, as reported by its source system."""

    name: str
    """Key of the datastore in the scenario."""
    label: str | None
    """Name of the datastore in its source system."""
    clusters: tuple[str, ...]
    """Names of the clusters that use the datastore."""
    hosts: int | None
    """Number of hosts that use the datastore."""
    kind: str | None
    """Kind of datastore, as named by its source system."""
    capacity_bytes: int
    """Capacity, in bytes."""
    free_bytes: int | None
    """Free capacity, in bytes."""
    provisioned_bytes: int | None
    """Provisioned size of the virtual disks, in bytes."""


@dataclass(frozen=True)
class Redundancy:
    """Requirements and tolerated failures of a redundancy scheme."""

    scheme: str
    """Name of the scheme in scenarios, such as `ec-3+2`."""
    is_erasure_code: bool
    """True for fragments (erasure coding), false for replicas."""
    width: int
    """Number of replicas or fragments of each piece of data, each in a separate failure domain."""
    needed: int
    """Number of replicas or fragments that are needed to read the data."""
    failures_tolerated: int
    """Number of replicas or fragments that can be lost without data loss."""
    minimum: int
    """Number of replicas or fragments that must be present for a write."""


@dataclass(frozen=True)
class Pool:
    """Pool of distributed storage of a scenario."""

    name: str
    groups: tuple[str, ...]
    """Keys in `hosts` of the host groups that contain the nodes of the pool."""
    hosts: tuple[str, ...]
    """Names of the hosts that are nodes of the pool."""
    vms_on_nodes: bool
    """True if VMs that use the pool can run on its nodes."""
    redundancy: Redundancy
    policies: Mapping[str, Redundancy]
    """Redundancy of each policy, by name of the policy."""

    @property
    def width(self) -> int:
        """Maximum number of replicas or fragments of one piece of data."""
        return max(each.width for each in (self.redundancy, *self.policies.values()))


@dataclass(frozen=True)
class PoolFacts:
    """Rules of the product of a pool."""

    full_pct: float
    """Maximum fill level of devices, in per cent."""
    rebuild_delay_s: float
    """Time from the loss of a host to the rebuild, in seconds."""
    replaces_failed_disks: bool
    """True if data of a failed disk are rebuilt at once, and only absent hosts are waited for."""
    in_kernel: bool
    """True if the product is part of a hypervisor."""


@dataclass(frozen=True)
class Rule:
    """Placement rule of a scenario."""

    name: str
    """Name of the rule in its source system."""
    kind: str
    """Kind of rule: `keep-together`, `keep-apart`, `run-on` or `not-on`."""
    vms: tuple[str, ...]
    """Names of the VMs of the rule."""
    hosts: tuple[str, ...]
    """Names of the hosts of the rule, for `run-on` and `not-on`."""
    mandatory: bool
    """True for a must rule. The source system does not start a VM that would violate a must rule."""


@dataclass(frozen=True)
class Inventory:
    """All clusters, hosts, VMs and pools of a scenario. Groups are in order of name, members in order of number."""

    clusters: tuple[Cluster, ...]
    """Clusters that have at least one host, in order of name."""
    hosts: tuple[Host, ...]
    vms: tuple[Vm, ...]
    pools: tuple[Pool, ...]
    powered_off: tuple[PoweredOff, ...]
    datastores: tuple[Datastore, ...]
    rules: tuple[Rule, ...]

    @cached_property
    def cluster(self) -> Mapping[str, Cluster]:
        """Clusters by name."""
        return {cluster.name: cluster for cluster in self.clusters}

    @cached_property
    def cluster_labels(self) -> Mapping[str, str | None]:
        """Names of clusters in their source system, by name in the scenario."""
        return {cluster.name: cluster.label for cluster in self.clusters}

    @cached_property
    def host(self) -> Mapping[str, Host]:
        """Hosts by name."""
        return {host.name: host for host in self.hosts}

    @cached_property
    def vm(self) -> Mapping[str, Vm]:
        """VMs by name."""
        return {vm.name: vm for vm in self.vms}

    @cached_property
    def pool(self) -> Mapping[str, Pool]:
        """Pools by name."""
        return {pool.name: pool for pool in self.pools}


@dataclass(frozen=True)
class Hypervisor:
    """Hypervisor of scenarios, with its settings."""

    name: str
    """Name in scenarios, such as `esxi-7.0u2`."""
    family: str
    """Hypervisor family: `esxi`, `linux`, or `none` for a host without hypervisor."""
    family_title: str
    """Name of the family in messages: `ESXi`, `Linux` or `a host without hypervisor`."""
    version: tuple[int, int, int]
    """Major version, minor version and update, for comparisons within a family."""
    virtualises: bool
    """False for a host without hypervisor."""
    reservations: bool
    """True if VMs can have a CPU reservation."""
    admission: bool
    """True if a power-on reserves CPU and memory overhead, which admission control checks."""
    swap_files: bool
    """True if a powered-on VM has a swap file for its unreserved memory."""
    assumed: str
    """Name of the hypervisor that is assumed for a host of the family without a version."""
    controllers: tuple[str, ...]
    """Kinds of storage controller for VMs, the default first."""
    charges_shared_cores: bool
    """True if a vCPU is charged less time while the sibling thread of its core is busy."""
    home_nodes: bool
    """True if VMs have home nodes, so that each node has its own queue of vCPUs."""
    scheduler: frozenset[str]
    """Allowed keys of `hosts.NAME.scheduler`."""
    numa: frozenset[str]
    """Allowed keys of `vms.NAME.numa`."""
    vm: frozenset[str]
    """Keys of `vms.NAME` that are specific to the hypervisor."""


@dataclass(frozen=True)
class Limits:
    """Limits of a scenario, and some default values. Sizes are in bytes, clocks in Hz."""

    description: int
    """Maximum characters of `description`."""
    host_groups: int
    vm_groups: int
    rules: int
    """Maximum number of placement rules."""
    rule_names: int
    """Maximum number of VM or host names in one placement rule."""
    hosts: int
    """Maximum number of hosts in total."""
    logical_cpus: int
    """Maximum number of logical CPUs of all hosts."""
    vcpus: int
    """Maximum number of vCPUs of all VMs."""
    sockets: int
    """Maximum number of sockets of one host."""
    nodes_per_socket: int
    cores_per_socket: int
    least_clock_hz: int
    clock_hz: int
    least_memory_bytes: int
    """Minimum memory of a VM or of a NUMA node, in bytes."""
    memory_bytes: int
    """Maximum memory of a VM or of a NUMA node, in bytes."""
    vcpus_per_vm: int
    controllers: int
    """Maximum number of virtual storage controllers of one VM."""
    vdisks_per_controller: int
    default_vdisks_per_controller: int
    default_lun_depth: int
    """Default maximum of outstanding commands per LUN."""
    dsnro: int
    """Default maximum of outstanding commands of one VM on a shared LUN."""
    default_numa_vcpu_min: int
    """Default number of vCPUs from which ESXi presents several NUMA nodes to a VM."""


def called(name: str, known: Mapping[str, str | None]) -> list[str]:
    """Return the keys that match a name. If the name is not a key, keys or labels are compared without regard to case.

    `known` has labels by key. A matching key takes priority over matching labels.
    """
    if name in known:
        return [name]
    folded = name.strip().casefold()
    keys = [key for key in known if key.casefold() == folded]
    return keys or [key for key, label in known.items() if label is not None and label.casefold() == folded]


def inventory(scenario_json: str) -> Inventory:
    """Return the members of a scenario in its canonical form. Raises `_core.ScenarioMistakes`."""
    found = json.loads(_core.inventory(scenario_json))
    said = json.loads(scenario_json).get("clusters", {}) if '"ha":' in scenario_json else {}
    return Inventory(
        clusters=tuple(
            Cluster(
                **{
                    **cluster,
                    "ha": _has_ha(cluster["ha"], said.get(cluster["name"], {}).get("ha", {})),
                    "measured": MeasuredCluster(**cluster["measured"]),
                    "source": SourceCluster(**cluster["source"]),
                }
            )
            for cluster in found["clusters"]
        ),
        hosts=tuple(Host(**{**host, "measured": MeasuredHost(**host["measured"])}) for host in found["hosts"]),
        vms=tuple(
            Vm(
                **{
                    **vm,
                    "measured": MeasuredVm(**vm["measured"]),
                    "source": _source(vm["source"]),
                    "host_groups": tuple(vm["host_groups"]),
                    "products": tuple(vm["products"]),
                }
            )
            for vm in found["vms"]
        ),
        pools=tuple(
            Pool(
                **{
                    **pool,
                    "groups": tuple(pool["groups"]),
                    "hosts": tuple(pool["hosts"]),
                    "redundancy": Redundancy(**pool["redundancy"]),
                    "policies": {name: Redundancy(**kept) for name, kept in pool["policies"].items()},
                }
            )
            for pool in found["pools"]
        ),
        powered_off=tuple(PoweredOff(**{**vm, "source": _source(vm["source"])}) for vm in found["powered_off"]),
        datastores=tuple(Datastore(**{**store, "clusters": tuple(store["clusters"])}) for store in found["datastores"]),
        rules=tuple(
            Rule(**{**rule, "vms": tuple(rule["vms"]), "hosts": tuple(rule["hosts"])}) for rule in found["rules"]
        ),
    )


UNKNOWN_SOURCE = SourceVm()


def _source(facts: Mapping[str, Any]) -> SourceVm:
    """Return the facts of the source system about a VM."""
    if not facts:
        return UNKNOWN_SOURCE
    parts = {"disks": SourceDisk, "networks": SourceNetwork, "partitions": SourcePartition}
    lists = {name: tuple(part(**each) for each in facts[name]) for name, part in parts.items() if name in facts}
    tags = {"tags": tuple(facts["tags"])} if "tags" in facts else {}
    return SourceVm(**{**facts, **lists, **tags})


def _has_ha(enabled: bool | None, said: Mapping[str, object]) -> bool | None:
    """True if HA restarts VMs of a failed host, as set, or if an HA type is named."""
    return True if enabled is None and said.get("policy") is not None else enabled


def member_names(group: str, count: int) -> list[str]:
    """Return the names of the members of a group of `count` hosts or VMs, in order of number."""
    return _core.member_names(group, count)


@cache
def hypervisors() -> Mapping[str, Hypervisor]:
    """Return all hypervisors by name: first ESXi, each family from old to new, and `none` last."""
    return {
        entry["name"]: Hypervisor(
            name=entry["name"],
            family=entry["family"],
            family_title=entry["family_title"],
            version=tuple(entry["version"]),
            virtualises=entry["virtualises"],
            reservations=entry["reservations"],
            admission=entry["admission"],
            swap_files=entry["swap_files"],
            assumed=entry["assumed"],
            controllers=tuple(entry["controllers"]),
            charges_shared_cores=entry["shared_core_charge"] < 1,
            home_nodes=entry["home_nodes"],
            scheduler=frozenset(entry["scheduler"]),
            numa=frozenset(entry["numa"]),
            vm=frozenset(entry["vm"]),
        )
        for entry in json.loads(_core.hypervisors())
    }


@cache
def assumed_hypervisor(family: str) -> str:
    """Return the name of the hypervisor that is assumed for a host of a family without a version."""
    return next(each.assumed for each in hypervisors().values() if each.family == family)


def pool_facts(scenario_json: str) -> Mapping[str, PoolFacts]:
    """Return the rules of the products of a scenario's pools, by name of the pool."""
    return {name: PoolFacts(**each) for name, each in json.loads(_core.pool_facts(scenario_json)).items()}


@cache
def redundancy(scheme: str) -> Redundancy:
    """Return the redundancy of a scheme such as `replicas-3:2` or `ec-3+2`. Raises ValueError."""
    return Redundancy(**json.loads(_core.redundancy(scheme)))


@cache
def in_unit(text: str, unit: str) -> float:
    """Return a frequency in GHz, or a size in GiB."""
    return _core.frequency_hz(text) / 1e9 if unit == "GHz" else _core.size_bytes(text) / 2**30


def limits() -> Limits:
    """Return the limits of validation."""
    return Limits(**json.loads(_core.limits()))


def schema_node(path: str) -> Mapping[str, Any] | None:
    """Return the schema at a path, or None if no such place exists."""
    node: Mapping[str, Any] = _resolved(_schema())
    for key in path.split("."):
        if key in node.get("properties", {}):
            inner = node["properties"][key]
        elif isinstance(node.get("additionalProperties"), dict) and key:
            inner = node["additionalProperties"]
        elif "items" in node and key.isdecimal():
            inner = node["items"]
        else:
            return None
        node = _resolved(inner)
    return node


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema_json())
    return schema


def _resolved(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema with `$ref` resolved. Its own keywords override."""
    return {key: value for part in reversed(list(_chain(node))) for key, value in part.items()}


def _chain(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    if "$ref" in node:
        yield from _chain(_schema()["$defs"][node["$ref"].rsplit("/", 1)[-1]])
