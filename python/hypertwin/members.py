"""Members of scenarios as the compiled core has them: clusters, hosts, VMs, pools, and facts about them.

A value of None is unknown.

Generated from the records of the core by `make docs`; change the comments in `crates`, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


class Member:
    """Anything that the core says of a scenario."""

    PARTS: ClassVar[Mapping[str, Any]] = {}
    """Fields that are not plain in JSON: the type of the collection, and the class of its items."""


@dataclass(frozen=True)
class MeasuredHost(Member):
    """Measured values of one host. They do not change a simulation."""

    at: str | None = None
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over_s: float | None = None
    """Period that the CPU figures cover. Absent: a single sample."""
    counter: str | None = None
    """Counter or column of the CPU figures, as the source names it."""
    cpu_usage_pct: float | None = None
    """CPU used, in % of cores times nominal clock: the mean, or the single sample."""
    cpu_p95_pct: float | None = None
    """95th percentile of CPU used over time."""
    cpu_peak_pct: float | None = None
    """Peak CPU used."""
    memory_usage_pct: float | None = None
    """Memory used, in % of the host's memory."""
    ballooned_bytes: int | None = None
    """VM memory that the hypervisor has reclaimed by ballooning."""
    swapped_bytes: int | None = None
    """VM memory that the hypervisor has swapped out."""


@dataclass(frozen=True)
class MeasuredVm(Member):
    """Measured values of one VM. They do not change a simulation: its demand is `workload` and `load`."""

    at: str | None = None
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over_s: float | None = None
    """Period that the CPU figures cover. Absent: a single sample."""
    counter: str | None = None
    """Counter or column of the CPU figures, as the source names it."""
    cpu_mhz: float | None = None
    """CPU used or demanded, in MHz: the mean, or the single sample."""
    cpu_p95_mhz: float | None = None
    """95th percentile of CPU over time."""
    cpu_peak_mhz: float | None = None
    """Peak CPU."""
    ready_pct: float | None = None
    """CPU ready time (%RDY), in % of each vCPU."""
    memory_consumed_bytes: int | None = None
    """Consumed host memory."""
    memory_active_bytes: int | None = None
    """Active memory, as the hypervisor estimates it."""
    ballooned_bytes: int | None = None
    """Memory that the hypervisor has reclaimed by ballooning."""
    swapped_bytes: int | None = None
    """Memory that the hypervisor has swapped out."""
    storage_provisioned_bytes: int | None = None
    """Provisioned storage: the size that its virtual disks and other files can grow to."""
    storage_used_bytes: int | None = None
    """Used storage on its datastores."""
    storage_in_guest_bytes: int | None = None
    """Guest used storage: the sum over its file systems."""
    snapshots_bytes: int | None = None
    """Storage used by its snapshots."""
    snapshot_count: int | None = None
    """Number of snapshots."""
    oldest_snapshot: str | None = None
    """Time of its oldest snapshot, in ISO 8601."""


@dataclass(frozen=True)
class MeasuredCluster(Member):
    """Measured values of all VMs of a cluster, summed at the same time, whether or not their peaks coincide.
    They do not change a simulation.
    """

    at: str | None = None
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over_s: float | None = None
    """Period that the CPU figures cover. Absent: a single sample."""
    counter: str | None = None
    """Counter or column of the CPU figures, as the source names it."""
    cpu_mhz: float | None = None
    """CPU used or demanded by all VMs together, in MHz: the mean."""
    cpu_p95_mhz: float | None = None
    """95th percentile of CPU over time."""
    cpu_peak_mhz: float | None = None
    """Peak CPU."""
    memory_consumed_bytes: int | None = None
    """Host memory consumed by all VMs together: the mean."""
    memory_consumed_peak_bytes: int | None = None
    """Peak consumed memory."""


@dataclass(frozen=True)
class SourceDisk(Member):
    """A virtual disk in the source system. An absent key is unknown."""

    label: str | None = None
    """Name of the disk."""
    capacity_bytes: int | None = None
    """Capacity that the guest sees."""
    controller: str | None = None
    """Controller, as the source names it."""
    controller_number: int | None = None
    """Number of the controller among those of its kind, from 0."""
    unit: int | None = None
    """Number of the disk at its controller, from 0."""
    mode: str | None = None
    """Mode of the disk."""
    raw: str | None = None
    """Raw device mapping."""
    shared: bool | None = None
    """Other VMs can write to the disk too."""
    thin: bool | None = None
    """The disk is thin-provisioned."""
    path: str | None = None
    """File of the disk, with its datastore; empty if the disk has none."""


@dataclass(frozen=True)
class SourceNetwork(Member):
    """A virtual network adapter in the source system. An absent key is unknown."""

    adapter: str | None = None
    """Model of the adapter, as the source names it."""
    network: str | None = None
    """Port group or network."""
    switch: str | None = None
    """Virtual switch."""
    vlan: int | None = None
    """VLAN of the port group; 0 for none, 4095 for all."""
    connected: bool | None = None
    """The adapter is connected."""


@dataclass(frozen=True)
class SourcePartition(Member):
    """A file system of the guest. An absent key is unknown."""

    path: str | None = None
    """Mount point or drive letter."""
    capacity_bytes: int | None = None
    """Capacity."""
    free_bytes: int | None = None
    """Free capacity."""


@dataclass(frozen=True)
class SourceVm(Member):
    """Facts of the source system about the VM, for a move to another hypervisor. An absent key is unknown. No
    run reads them.
    """

    PARTS: ClassVar[Mapping[str, Any]] = {
        "tags": (tuple, None),
        "disks": (tuple, SourceDisk),
        "networks": (tuple, SourceNetwork),
        "partitions": (tuple, SourcePartition),
    }

    guest_id: str | None = None
    """Configured guest: its identifier in vSphere, such as `rhel9_64Guest`, or its name if the guest tools
    report another one.
    """
    firmware: str | None = None
    """Firmware of the VM."""
    secure_boot: bool | None = None
    """Secure Boot is enabled."""
    tpm: bool | None = None
    """The VM has a virtual TPM."""
    hardware_version: int | None = None
    """Virtual hardware version, such as 19 for `vmx-19`."""
    tools: str | None = None
    """State of the guest tools (VMware Tools, QEMU guest agent): `running`, `not-running` or `not-installed`."""
    host_name: str | None = None
    """Host name that the guest reports; empty if it reports none."""
    has_ip: bool | None = None
    """The guest reports at least one IP address."""
    folder: str | None = None
    """Folder of the VM in the source system."""
    tags: tuple[str, ...] | None = None
    """Tags, such as the application that the VM belongs to."""
    hot_add_memory: bool | None = None
    """Memory can be added to the running VM."""
    cpu_affinity: bool | None = None
    """vCPUs of the VM are bound to logical CPUs of its host."""
    numa_affinity: bool | None = None
    """Memory of the VM is bound to NUMA nodes of its host."""
    changed_block_tracking: bool | None = None
    """Changed block tracking (CBT) is enabled, which a warm migration needs."""
    consolidation_needed: bool | None = None
    """Disks of removed snapshots need consolidation."""
    fault_tolerance: bool | None = None
    """vSphere Fault Tolerance protects the VM."""
    disk_uuid: bool | None = None
    """The guest sees serial numbers of its disks (`disk.EnableUUID`)."""
    cds_connected: int | None = None
    """Connected CD-ROM drives."""
    usb_devices: int | None = None
    """USB devices and controllers."""
    passthrough_devices: int | None = None
    """Devices of the host that are passed through to the VM."""
    secret_in_notes: bool | None = None
    """Notes of the VM or of its snapshots look as if they contain a password or a key. Their text is not kept."""
    disks: tuple[SourceDisk, ...] | None = None
    """Virtual disks; an empty list if the VM has none."""
    networks: tuple[SourceNetwork, ...] | None = None
    """Virtual network adapters; an empty list if the VM has none."""
    partitions: tuple[SourcePartition, ...] | None = None
    """File systems that the guest reports; an empty list if it reports none."""


@dataclass(frozen=True)
class SourceCluster(Member):
    """Facts of the source system about a cluster. An absent key is unknown. No run reads them."""

    drs: bool | None = None
    """DRS is enabled, at any level of automation. A simulation moves VMs only with `drs` of the cluster."""
    dpm: bool | None = None
    """Distributed Power Management (DPM) is enabled: it powers off hosts."""
    all_rules: bool | None = None
    """`rules` has all placement rules of the cluster."""


@dataclass(frozen=True)
class RedundancyFacts(Member):
    """Facts about a redundancy."""

    scheme: str
    """As scenarios write it."""
    is_erasure_code: bool
    """It is an erasure code: it keeps fragments, otherwise replicas."""
    width: int
    """Replicas or fragments of one piece of data."""
    needed: int
    """Replicas or fragments needed to read the data."""
    failures_tolerated: int
    """Failures tolerated: replicas or fragments that can be lost without data loss."""
    minimum: int
    """Replicas or fragments needed for a write: of a pool, as its product needs them."""
    domains: int
    """Failure domains needed to recover lost replicas or fragments. Of a pool: with witnesses."""


@dataclass(frozen=True, kw_only=True)
class Cluster(Member):
    """A cluster."""

    PARTS: ClassVar[Mapping[str, Any]] = {"measured": (None, MeasuredCluster), "source": (None, SourceCluster)}

    name: str
    """Its name in the scenario and in reports."""
    label: str | None = None
    """Name in vCenter or Proxmox."""
    datacenter: str | None = None
    """Datacenter."""
    ha: bool | None = None
    """HA restarts VMs of a failed host; `None` if unknown, like all that follows."""
    admission_control: bool | None = None
    """Admission control is enabled."""
    failures: int | None = None
    """Host failures that admission control reserves capacity for."""
    evc: str | None = None
    """CPU generation that its hosts present to VMs (EVC mode)."""
    measured: MeasuredCluster = MeasuredCluster()
    """Measured values of its VMs together."""
    source: SourceCluster = SourceCluster()
    """Facts of its source system."""


@dataclass(frozen=True, kw_only=True)
class Host(Member):
    """A host."""

    PARTS: ClassVar[Mapping[str, Any]] = {"measured": (None, MeasuredHost)}

    name: str
    """Its name in the scenario and in reports."""
    group: str
    """Its group: a key of `hosts`."""
    label: str | None = None
    """Name in vCenter or Proxmox, numbered if the group has several hosts."""
    cluster: str
    """Name of its cluster."""
    hypervisor: str
    """Hypervisor and version."""
    family: str
    """`esxi` or `linux`."""
    sockets: int
    """Sockets."""
    cores_per_socket: int
    """Physical cores per socket."""
    nodes: int
    """NUMA nodes."""
    cores_per_node: int
    """Physical cores per NUMA node."""
    threads_per_core: int
    """Hardware threads per core."""
    cores: int
    """Physical cores."""
    threads: int
    """Logical CPUs."""
    clock_hz: int
    """Nominal clock."""
    busy_clock_hz: int
    """Clock that all cores sustain when busy."""
    work_per_cycle: float
    """Work of VMs per cycle, relative to the hosts where it was measured."""
    memory_bytes: int
    """Memory of all nodes."""
    memory_per_node_bytes: int
    """Memory of one node."""
    hypervisor_memory_bytes: int
    """Memory that the hypervisor and its services occupy and VMs cannot use."""
    storage_memory_bytes: int
    """Part of it that comes from published figures of its pools' software, if the scenario does not set it."""
    processors: int
    """Physical processors for licensing."""
    cpu_model: str | None = None
    """Processor model; `None` if unknown, like all that follows."""
    hyper_threading_available: bool | None = None
    """The processor supports hyper-threading, on or off."""
    power_policy: str | None = None
    """Power policy."""
    evc: str | None = None
    """CPU generation that it presents to VMs (EVC mode)."""
    evc_most: str | None = None
    """Newest CPU generation that it supports."""
    measured: MeasuredHost = MeasuredHost()
    """Its measured values."""


@dataclass(frozen=True, kw_only=True)
class Vm(Member):
    """A VM."""

    PARTS: ClassVar[Mapping[str, Any]] = {
        "host_groups": (tuple, None),
        "products": (tuple, None),
        "policies": (dict, None),
        "measured": (None, MeasuredVm),
        "source": (None, SourceVm),
    }

    name: str
    """Its name in the scenario and in reports."""
    group: str
    """Its group: a key of `vms`."""
    label: str | None = None
    """Name in vCenter or Proxmox, numbered if the group has several VMs."""
    host: str
    """Name of its host."""
    cluster: str
    """Name of the cluster of that host."""
    host_is_given: bool
    """The scenario names its host, which still exists."""
    host_is_guess: bool
    """That name is a guess."""
    vcpus: int
    """vCPUs."""
    memory_bytes: int
    """Memory."""
    memory_touched_bytes: int
    """Memory that it has touched and consumes."""
    memory_reservation_bytes: int
    """Memory reservation, without memory overhead."""
    reservation_hz: int
    """CPU reservation."""
    limit_hz: int | None = None
    """CPU limit; `None` without one."""
    shares: float
    """CPU shares of the whole VM."""
    cores_per_socket: int | None = None
    """Cores per virtual socket; `None` for the default of the hypervisor."""
    cpu_hot_add: bool
    """vCPUs can be added while it runs."""
    has_affinity: bool
    """It has CPU affinity."""
    restart_priority: str
    """Restart order after a host failure."""
    stays_on_host: bool
    """It cannot leave its host: it has CPU affinity or disks inside the host, or serves storage to it."""
    live_migration: bool
    """It can migrate while it runs."""
    host_groups: tuple[str, ...]
    """Groups of hosts of its cluster that it fits (vCPUs, memory, hypervisor, storage), in order of name."""
    storage_appliance: bool
    """It serves storage to its host."""
    guest_os: str | None = None
    """Guest operating system, as the source names it; `None` if unknown."""
    products: tuple[str, ...]
    """Software in the guest that needs a licence."""
    array: str | None = None
    """Array that holds its virtual disks."""
    pool: str | None = None
    """Pool that holds its virtual disks."""
    vdisks: int
    """Number of virtual disks; counts only with an array or a pool."""
    policies: Mapping[str, int]
    """Number of virtual disks on its pool per policy; without a policy, the pool's own redundancy applies."""
    measured: MeasuredVm = MeasuredVm()
    """Its measured values."""
    source: SourceVm = SourceVm()
    """Facts of its source system."""


@dataclass(frozen=True)
class Pool(Member):
    """A pool of distributed storage."""

    PARTS: ClassVar[Mapping[str, Any]] = {
        "groups": (tuple, None),
        "hosts": (tuple, None),
        "redundancy": (None, RedundancyFacts),
        "policies": (dict, RedundancyFacts),
    }

    name: str
    """Its name."""
    groups: tuple[str, ...]
    """Groups of its nodes: keys of `hosts`."""
    hosts: tuple[str, ...]
    """Names of its nodes."""
    vms_on_nodes: bool
    """VMs that use it can be on its nodes."""
    redundancy: RedundancyFacts
    """Redundancy of the data."""
    policies: Mapping[str, RedundancyFacts]
    """Redundancy of each storage policy."""
    metadata_servers: int
    """Metadata servers, on its first nodes, of which more than half must be up for any I/O; 0 if none is
    needed.
    """


@dataclass(frozen=True, kw_only=True)
class PoweredOff(Member):
    """A powered-off VM or a template."""

    PARTS: ClassVar[Mapping[str, Any]] = {"source": (None, SourceVm)}

    name: str
    """Key in the scenario."""
    label: str | None = None
    """VM name in vCenter or Proxmox, if it differs."""
    cluster: str | None = None
    """Cluster of the VM, if known."""
    host: str | None = None
    """Host on which it is registered, if known: a key of `hosts`, or one host of a group."""
    template: bool
    """It is a template."""
    vcpus: int
    """vCPUs."""
    cores_per_socket: int | None = None
    """Virtual cores per virtual socket, if known."""
    memory_bytes: int
    """Configured memory."""
    memory_reservation_bytes: int
    """Memory reservation, as `vms.NAME.memory_reservation`."""
    cpu_hot_add: bool
    """CPU hot-add, as `vms.NAME.cpu_hot_add`."""
    reservation_hz: int | None = None
    """CPU reservation, as `vms.NAME.reservation`."""
    limit_hz: int | None = None
    """CPU limit, as `vms.NAME.limit`."""
    storage_provisioned_bytes: int | None = None
    """Provisioned storage: the size that its virtual disks can grow to."""
    storage_used_bytes: int | None = None
    """Used storage on its datastores."""
    snapshot_count: int | None = None
    """Number of snapshots."""
    guest_os: str | None = None
    """Guest operating system, as `vms.NAME.guest_os`."""
    source: SourceVm | None = None
    """Facts of the source system, as `vms.NAME.source`."""
    shares: float
    """CPU shares of the whole VM."""


@dataclass(frozen=True, kw_only=True)
class Datastore(Member):
    """A datastore with virtual disks."""

    PARTS: ClassVar[Mapping[str, Any]] = {"clusters": (tuple, None)}

    name: str
    """Key in the scenario."""
    label: str | None = None
    """Datastore name in vCenter or Proxmox, if it differs."""
    clusters: tuple[str, ...]
    """Clusters whose hosts use it; empty if unknown."""
    hosts: int | None = None
    """Number of hosts that use it; absent if unknown."""
    kind: str | None = None
    """Type, as the source names it: VMFS, NFS, vsan, zfspool."""
    capacity_bytes: int
    """Capacity."""
    free_bytes: int | None = None
    """Free capacity."""
    provisioned_bytes: int | None = None
    """Provisioned capacity: the size that all its virtual disks can grow to, thin disks included."""


@dataclass(frozen=True)
class Rule(Member):
    """A placement rule."""

    PARTS: ClassVar[Mapping[str, Any]] = {"vms": (tuple, None), "hosts": (tuple, None)}

    name: str
    """Name in vCenter or Proxmox."""
    kind: str
    """Kind of rule."""
    vms: tuple[str, ...]
    """VMs of the rule."""
    hosts: tuple[str, ...]
    """Hosts of the rule, for `run-on` and `not-on`."""
    mandatory: bool
    """Must rule: a VM stays powered off if no host keeps the rule."""


@dataclass(frozen=True)
class Limits(Member):
    """Maxima of a scenario, and defaults that advice compares with. Sizes are in bytes, clocks in Hz."""

    description: int
    """Characters of `description`."""
    host_groups: int
    """Groups of hosts."""
    vm_groups: int
    """Groups of VMs."""
    rules: int
    """Placement rules."""
    rule_names: int
    """Names in one placement rule."""
    hosts: int
    """Hosts in all."""
    logical_cpus: int
    """Logical CPUs of all hosts."""
    vcpus: int
    """vCPUs of all VMs."""
    sockets: int
    """Sockets per host."""
    nodes_per_socket: int
    """NUMA nodes per socket."""
    cores_per_socket: int
    """Cores per socket."""
    least_clock_hz: int
    """Slowest nominal clock."""
    clock_hz: int
    """Fastest nominal clock."""
    least_memory_bytes: int
    """Least memory of a VM, or of a host's NUMA node."""
    memory_bytes: int
    """Most memory of a VM, or of a host's NUMA node."""
    vcpus_per_vm: int
    """vCPUs per VM."""
    controllers: int
    """Virtual storage controllers per VM."""
    vdisks_per_controller: int
    """Virtual disks per controller."""
    default_vdisks_per_controller: int
    """Default virtual disks per controller."""
    default_lun_depth: int
    """Default outstanding commands per LUN."""
    dsnro: int
    """`dsnro`."""
    default_numa_vcpu_min: int
    """Default minimum vCPUs at which ESXi shows a VM several NUMA nodes."""


@dataclass(frozen=True)
class HypervisorFacts(Member):
    """A known hypervisor: its options, and facts of its scheduler."""

    PARTS: ClassVar[Mapping[str, Any]] = {
        "version": (tuple, None),
        "controllers": (tuple, None),
        "scheduler": (frozenset, None),
        "numa": (frozenset, None),
        "vm": (frozenset, None),
    }

    name: str
    """Its name in scenarios, such as `esxi-7.0u2`."""
    version: tuple[int, int, int]
    """Major and minor version and update."""
    family: str
    """Prefix of its version names: `esxi`, `linux` or `none`."""
    family_title: str
    """Its name in messages."""
    product: str
    """Its name in titles; in lower case `hypertwin init` takes it for the newest version."""
    virtualises: bool
    """True if there is a hypervisor, which divides the host among VMs and works for them."""
    reservations: bool
    """True if VMs can have a CPU reservation."""
    admission: bool
    """True if a power-on reserves CPU and memory overhead, which admission control checks."""
    swap_files: bool
    """True if a powered-on VM has a swap file for its unreserved memory."""
    assumed: str
    """Version of a host whose version is unknown."""
    balloons: bool
    """True if the host uses a balloon driver in VMs automatically."""
    limits_by_quota: bool
    """True if a VM's CPU limit is a quota per period, as that of a container is."""
    wider_than_host: bool
    """True if a VM can have more vCPUs than its host has logical CPUs."""
    affinity_ties: bool
    """True if a VM with a CPU affinity cannot migrate while it runs."""
    node_memory_pct: int
    """Maximum % of a NUMA node's memory that VMs can use, unless `hypervisor_memory` is set."""
    controllers: tuple[str, ...]
    """Kinds of storage controller for VMs, the default first; without a hypervisor the host's own."""
    scheduler: frozenset[str]
    """Keys of `hosts.NAME.scheduler` that it has."""
    numa: frozenset[str]
    """Keys of `vms.NAME.numa` that it has."""
    vm: frozenset[str]
    """Keys of `vms.NAME` that it has and others do not."""
    charges_shared_cores: bool
    """A vCPU is charged less time while the sibling thread of its core is busy."""
    home_nodes: bool
    """VMs have home nodes, so that each node has its own queue of vCPUs."""


@dataclass(frozen=True)
class PoolFacts(Member):
    """Rules of the product of a pool."""

    full_pct: float
    """Fill level of devices that ends usable capacity, in per cent."""
    recovery_pct: float
    """Fill level of devices up to which lost data are recovered on them, in per cent."""
    rebuild_delay_s: float
    """Time from the loss of a host to the rebuild."""
    replaces_failed_disks: bool
    """A failed disk is replaced at once, unlike an absent host."""
    in_kernel: bool
    """The product is part of a hypervisor."""
