"""The sections of a scenario as types, for editors and type checkers; at runtime they are plain dicts.

>>> from hypertwin.parts import HostGroup
>>> esx = HostGroup(sockets=2, cores_per_socket=16, clock="2.4 GHz", memory_per_node="256 GiB", hypervisor="esxi-8.0")

No key is required here, so that a part can be a change of another (`Scenario.with_`) or stand beside a preset: the
check of the whole scenario says what is missing. docs/scenario.md has ranges and defaults.

Generated from the schema by `make docs`; change the types and comments in `crates/cluster/src/spec`, not this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, TypedDict


class Scenario(TypedDict, total=False):
    """A file that describes a cluster, its workloads and how long to simulate it."""

    name: str
    """Scenario name in reports: letters, digits, `-`, `_` and `.`, at most 64."""
    description: str
    """Purpose of the scenario and sources of its numbers."""
    calibrated_on: str
    """Calibration data, for reports. Without it, reports state that nothing was calibrated."""
    run: RunSettings
    """Duration of the simulation and measurement settings."""
    clusters: dict[str, Cluster]
    """Clusters, by name: their settings. A cluster without settings needs no entry."""
    hosts: dict[str, HostGroup]
    """Groups of identical hosts, by name."""
    vms: dict[str, VmGroup]
    """Groups of identical VMs, by name."""
    workloads: dict[str, Workload]
    """Workloads of VMs, by name; `vms.*.workload` refers to them."""
    devices: dict[str, Device]
    """Drives, by name. `device` of a disk names one of them, or one from the table of drives."""
    arrays: dict[str, StorageArray]
    """Storage arrays, by name; `vms.*.array` refers to them."""
    storage: dict[str, StoragePool]
    """Distributed storage, by name; `vms.*.storage` refers to them."""
    powered_off: dict[str, PoweredOff]
    """Powered-off VMs and templates, by name. They take no part in a simulation."""
    datastores: dict[str, Datastore]
    """Datastores, by name, with used and free capacity."""
    failures: Sequence[Failure]
    """Failures over time."""
    events: Sequence[Event]
    """Scheduled events: migrations, maintenance mode."""
    rules: Sequence[PlacementRule]
    """Placement rules: affinity and anti-affinity between VMs, and VM-host rules."""


class RunSettings(TypedDict, total=False):
    """Duration of the simulation and measurement settings."""

    duration: RunTime
    """Measured time after the warm-up. `auto` doubles it until the run is steady or has used its work budget.
    With failures, events or load steps, `auto` is 300 s. A quantity such as `20ms`.
    """
    warmup: RunTime
    """Time simulated first and not measured. `auto` drops everything before the run is steady. With failures,
    events or load steps, `auto` is 30 s. A quantity such as `20ms`.
    """
    sample_interval: Duration
    """Resolution of the timeline; vCenter's real-time charts use 20 s. At most `duration`; with `duration:
    auto`, at most a 20th of it. A quantity such as `20ms`.
    """
    seed: int
    """Seed of all random numbers. The same scenario, seed and version give identical results."""
    replications: int
    """Independent repetitions. Confidence intervals need at least 2."""


RunTime: TypeAlias = str | int
"""A duration, as a number and one of ns, us, ms, s, min, h, d, or `auto`: until the run settles. A bare 0 needs no
unit.
"""


Duration: TypeAlias = str | int
"""A length of time: a number and one of ns, us, ms, s, min, h, d; kept in whole nanoseconds. A bare 0 needs no
unit.
"""


class Cluster(TypedDict, total=False):
    """A cluster: hosts between which VMs can migrate. Hosts name it in `cluster`; hosts without one belong to
    the cluster `default`.
    """

    label: str
    """Cluster name in vCenter or Proxmox, if it differs."""
    datacenter: str
    """Datacenter, as vCenter or Proxmox names it."""
    ha: HighAvailability
    """High availability: restart of VMs on other hosts after a host failure."""
    drs: Balancing
    """DRS: automatic migration of VMs between hosts. Default: off."""
    evc: str
    """CPU generation that the hosts present to VMs (EVC mode), as vCenter names it."""
    measured: MeasuredCluster
    """Measured values of all its VMs together."""
    source: SourceCluster
    """Facts of the source system about the cluster, for a move to another hypervisor."""


class HighAvailability(TypedDict, total=False):
    """HA settings of a cluster. Settings that the source does not show are absent. HA changes a simulation only
    with a `policy`.
    """

    enabled: bool
    """HA is enabled: it restarts VMs of a failed host."""
    admission: bool
    """Admission control: HA refuses to power on VMs that would use failover capacity."""
    failures: int
    """Host failures that admission control reserves capacity for."""
    policy: RestartPolicy
    """HA type; sets restart times. Without one, or with `enabled: false`, HA restarts nothing, and VMs resume
    only when their host returns.
    """
    detection: Duration
    """Time from a failure to the first restart, or the shortest such time. Default: by `policy`, with the
    longest time. A quantity such as `20ms`.
    """
    detection_longest: Duration
    """Longest time from a failure to the first restart. Each failure takes a time between both. Default:
    `detection`. A quantity such as `20ms`.
    """
    primary: str
    """Host that manages HA (FDM primary, Proxmox master), by name. HA detects its failure later than that of
    other hosts. Default: none; every failed host counts as another one.
    """
    quorum_device: bool
    """A quorum device (QDevice) votes with the hosts. Only for `proxmox`, which restarts VMs only with a
    majority of votes. Default: unknown; a simulation assumes none.
    """
    boot: Duration
    """Time from power-on until a VM serves again: firmware, operating system, application. Default: 60 s
    (assumed). A quantity such as `20ms`.
    """
    admission_policy: AdmissionPolicy
    """Admission control policy: `slots`, or a `percentage` of capacity. Default: `percentage`, but `slots` with
    a host older than vSphere 6.5.
    """
    admission_pct: float
    """Failover capacity of `percentage`, in % of CPU and of memory. Default: `failures` / number of hosts."""


RestartPolicy: TypeAlias = Literal["fdm", "proxmox", "masakari"]
"""HA type: the software that restarts VMs of a failed host."""


AdmissionPolicy: TypeAlias = Literal["slots", "percentage"]
"""Admission control policy."""


class Balancing(TypedDict, total=False):
    """DRS settings: how a cluster balances VMs between its hosts."""

    policy: BalancingPolicy
    """Balancing algorithm."""
    period: Duration
    """Interval between runs. Default: by `policy`. A quantity such as `20ms`."""
    threshold: int
    """Migration threshold, from 1 (only moves that rules require) to 5 (any gain)."""


BalancingPolicy: TypeAlias = Literal["drs-6", "drs-7", "watcher"]
"""Balancing algorithm."""


class MeasuredCluster(TypedDict, total=False):
    """Measured values of all VMs of a cluster, summed at the same time, whether or not their peaks coincide.
    They do not change a simulation.
    """

    at: str
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over: Duration
    """Period that the CPU figures cover. Absent: a single sample. A quantity such as `20ms`."""
    counter: str
    """Counter or column of the CPU figures, as the source names it."""
    cpu_mhz: float
    """CPU used or demanded by all VMs together, in MHz: the mean."""
    cpu_p95_mhz: float
    """95th percentile of CPU over time."""
    cpu_peak_mhz: float
    """Peak CPU."""
    memory_consumed: Bytes
    """Host memory consumed by all VMs together: the mean. A quantity such as `64GiB`."""
    memory_consumed_peak: Bytes
    """Peak consumed memory. A quantity such as `64GiB`."""


Bytes: TypeAlias = str | int
"""An amount of memory: a number and one of B, KiB, MiB, GiB, TiB, PiB (powers of 1,024) or kB, MB, GB, TB, PB
(powers of 1,000). A bare 0 needs no unit.
"""


class SourceCluster(TypedDict, total=False):
    """Facts of the source system about a cluster. An absent key is unknown. No run reads them."""

    drs: bool
    """DRS is enabled, at any level of automation. A simulation moves VMs only with `drs` of the cluster."""
    dpm: bool
    """Distributed Power Management (DPM) is enabled: it powers off hosts."""
    all_rules: bool
    """`rules` has all placement rules of the cluster."""


class HostGroup(TypedDict, total=False):
    """`count` identical hosts. A single host has the name of its group; several are named `name-1`, `name-2`
    and so on.
    """

    label: str
    """Host name in vCenter or Proxmox and in its telemetry, if it differs. With `count` above 1, each host
    appends its number.
    """
    cluster: str
    """Cluster of the hosts; VMs migrate only within it. Default: `default`."""
    count: int
    """Number of hosts. 0 removes the group; its VMs go to hosts of the cluster with headroom."""
    sockets: int
    """Processor sockets; each has `nodes_per_socket` NUMA nodes."""
    cores_per_socket: int
    """Physical cores per socket."""
    nodes_per_socket: int
    """NUMA nodes per socket: above 1 if the firmware divides it (AMD NPS, Intel sub-NUMA clustering). Must
    divide the cores evenly.
    """
    l3_per_node: int
    """Last-level caches per NUMA node: several if groups of cores share one (AMD core complexes). Must divide
    the cores evenly. A waking vCPU or task looks for a core at its last cache first. Crossing caches has no
    cost.
    """
    threads_per_core: int
    """Hardware threads per core: 2 with hyper-threading (SMT) on, 1 with it off."""
    clock: Frequency
    """Nominal clock. A quantity such as `2.5GHz`."""
    turbo: Frequency
    """Clock that all cores sustain when busy; at least `clock`. Default: `clock`. A quantity such as `2.5GHz`."""
    work_per_cycle: float
    """Work of VMs per clock cycle, relative to the hosts where their workloads were measured. The hypervisor's
    own work takes the same cycles on any host.
    """
    memory_per_node: Bytes
    """Memory per NUMA node. A quantity such as `64GiB`."""
    hypervisor_memory: Bytes
    """Memory that the hypervisor and its services (such as storage) occupy and VMs cannot use. Default:
    published values of the host's pools: 4 GiB per OSD for Ceph, VMware's formula for vSAN OSA; otherwise 0. A
    quantity such as `64GiB`.
    """
    swap: SwapDevice
    """Swap device, used when memory runs out. Default: one `sata-ssd`."""
    reclamation: Reclamation
    """Memory reclamation: what the host does when memory runs short."""
    migration: Migration
    """Live migration from and to this host."""
    hypervisor: Hypervisor
    """Hypervisor and version: sets the scheduler and its parameters."""
    smt_yield: float
    """Throughput of a core with two busy threads, relative to one thread alone."""
    memory_system: MemorySystem
    """Memory speed: matters to workloads with `memory_traffic` or `memory_intensity`."""
    scheduler: SchedulerOptions
    """CPU scheduler parameters that differ from the version's defaults."""
    overhead: HypervisorOverhead
    """CPU that the hypervisor itself uses for VMs."""
    adapters: Adapters
    """Ports to storage arrays; used by VMs with an `array`."""
    network: Network
    """Ports for distributed storage traffic; used by pool nodes and by VMs with a `storage`."""
    processors: int
    """Physical processors for licensing, if they differ from `sockets`. It does not change a simulation."""
    cpu_model: str
    """Processor model, as the source names it. It does not change a simulation."""
    hyper_threading_available: bool
    """The processor supports hyper-threading, on or off. It does not change a simulation: `threads_per_core`
    does.
    """
    power_policy: PowerPolicy
    """Power policy. `high-performance` and `not-managed` keep idle CPUs out of deep sleep, so they wake sooner.
    Default: that of the hypervisor, `balanced`. It does not set the clock: `clock` and `turbo` do.
    """
    evc: str
    """CPU generation that the host presents to VMs now (EVC mode), as vCenter names it. It does not change a
    simulation.
    """
    evc_most: str
    """Newest CPU generation that the host supports (maximum EVC mode)."""
    measured: MeasuredHost
    """Measured values of each host."""


Frequency: TypeAlias = str | int
"""A clock frequency, or CPU cycles per second: a number and one of Hz, kHz, MHz, GHz, THz. A bare 0 needs no unit."""


class SwapDevice(TypedDict, total=False):
    """Swap device of a host: disks that only this host uses."""

    kind: DiskKind
    """Generic kind of disk; or use `device`."""
    device: str
    """Drive model: a key of `devices`, or from the table of drives."""
    count: int
    """Number of disks."""
    size: Bytes
    """Total size. A host whose swap is full cannot swap more. Default: unlimited. A quantity such as `64GiB`."""
    latency: Duration
    """Extra round-trip latency to the disks: fabric, array. Default: none. A quantity such as `20ms`."""


DiskKind: TypeAlias = Literal["hdd-15k", "hdd-10k", "hdd-7.2k", "sata-ssd", "sas-ssd", "nvme"]
"""Kind of disk."""


class Reclamation(TypedDict, total=False):
    """Memory reclamation of a host when memory runs short."""

    idle_tax_pct: float
    """ESXi `Mem.IdleTax`, in %: at 75 an idle page costs four times as much as an active one. The tax is flat,
    as VMware first published it. Later versions tax by the ratio of idle to active memory, by an unpublished
    formula.
    """
    sample_period: Duration
    """Interval of active memory estimates (ESXi `Mem.SamplePeriod`). A quantity such as `20ms`."""
    page_sharing: PageSharing
    """Scope of page sharing. Default: ESXi 6.0 and later within one VM, earlier between all VMs; Linux off,
    because KSM is off.
    """
    balloon_most_pct: float
    """Most memory of a VM that ballooning reclaims, in % (ESXi `Mem.CtlMaxPercent`)."""
    compressed_most_pct: float
    """Most memory of a VM that its compressed pages occupy, in % (ESXi `Mem.MemZipMaxPct`); 0 turns compression
    off.
    """


PageSharing: TypeAlias = Literal["off", "within-vm", "between-vms"]
"""Scope of page sharing."""


class Migration(TypedDict, total=False):
    """Live migration from and to a host. Between two hosts the slower link counts; all other settings are the
    source's.
    """

    link: Bandwidth
    """Bandwidth of the migration link in each direction, shared by all migrations of the host. A quantity such
    as `40GB/s`.
    """
    stream: Bandwidth
    """Maximum rate of one stream of one migration: the copy speed of a core. A quantity such as `40GB/s`."""
    streams: int
    """Streams per migration. Default: as many as fill the link on ESXi 7.0 U2 and later, otherwise 1."""
    concurrent: int
    """Concurrent migrations from and to the host. Default: ESXi 4 on links below 10 Gb/s, otherwise 8; Linux 1."""
    downtime: Duration
    """Longest pause of the VM for its last pages. Default: ESXi 500 ms, Linux 300 ms. A quantity such as
    `20ms`.
    """
    setup: Duration
    """Time before the first page is sent: connection, checks, devices. Default: ESXi 2.5 s, Linux 7.5 s. A
    quantity such as `20ms`.
    """
    resume: Duration
    """Time between the last page and the first instruction on the new host. A quantity such as `20ms`."""
    convergence: Convergence
    """Method for a VM that dirties memory faster than the link sends it. Default: ESXi `slow-down` (SDPS),
    Linux `nothing`.
    """
    throttle_initial_pct: float
    """First throttling step of `auto-converge`, in %."""
    throttle_step_pct: float
    """Further throttling per step, in percentage points."""
    timeout: Duration
    """Time after which an unfinished migration is cancelled. Default: never. A quantity such as `20ms`."""


Bandwidth: TypeAlias = str | int
"""An amount of data per second: a number and one of B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, or in bits
kb/s, Mb/s, Gb/s, Tb/s. A bare 0 needs no unit.
"""


Convergence: TypeAlias = Literal["nothing", "slow-down", "auto-converge", "auto-converge-4", "post-copy"]
"""Method for a VM that dirties memory faster than the link sends it."""


Hypervisor: TypeAlias = Literal[
    "esxi-4.0",
    "esxi-4.1",
    "esxi-5.0",
    "esxi-5.1",
    "esxi-5.5",
    "esxi-6.0",
    "esxi-6.5",
    "esxi-6.7",
    "esxi-7.0",
    "esxi-7.0u2",
    "esxi-8.0",
    "esxi-9.0",
    "linux-6.6",
    "linux-6.12",
    "none",
]
"""Hypervisor and version. Within a family, later versions compare greater."""


class MemorySystem(TypedDict, total=False):
    """Speed of a host's memory. The defaults are those of a two-socket Xeon E5-2600 v3."""

    node_bandwidth: Bandwidth
    """Memory bandwidth of one NUMA node, for all cores together. A quantity such as `40GB/s`."""
    interconnect_bandwidth: Bandwidth
    """Bandwidth of the NUMA nodes of one socket to the memory of one other socket. A quantity such as `40GB/s`."""
    remote_latency_factor: float
    """Latency of another socket's memory, relative to the local node's."""
    socket_latency_factor: float
    """Latency of another NUMA node of the same socket, relative to the local node's. Used if `nodes_per_socket`
    is above 1.
    """
    page_migration: Bandwidth
    """Rate at which pages follow a NUMA client to a new home node (ESXi). A quantity such as `40GB/s`."""


class SchedulerOptions(TypedDict, total=False):
    """CPU scheduler parameters of the hypervisor. An absent key has the version's default. A key of the other
    hypervisor family is an error.
    """

    quantum: Duration
    """ESXi `Cpu.Quantum`: how long a vCPU runs while others of equal entitlement wait. A quantity such as
    `20ms`.
    """
    costop_threshold: Duration
    """ESXi `Cpu.CoschedCostopThreshold`: lead over the slowest sibling at which a vCPU is co-stopped. A
    quantity such as `20ms`.
    """
    costart_threshold: Duration
    """ESXi `Cpu.CoschedCostartThreshold`: lead under which a co-stopped vCPU starts again; at most
    `costop_threshold`. A quantity such as `20ms`.
    """
    cosched_poll: Duration
    """ESXi `Cpu.CoschedPollUsec`: interval at which the lead is checked. A quantity such as `20ms`."""
    ht_whole_core_threshold: Duration
    """ESXi `Cpu.HTWholeCoreThreshold`: lag behind its entitlement at which a vCPU claims a whole core. A
    quantity such as `20ms`.
    """
    ht_rebalance_period: Duration
    """ESXi `Cpu.HTRebalancePeriod`: interval of load balancing between the threads of a core. A quantity such
    as `20ms`.
    """
    numa_rebalance_period: Duration
    """ESXi `Numa.RebalancePeriod`: interval at which the NUMA scheduler reviews home nodes. A quantity such as
    `20ms`.
    """
    numa_imbalance_threshold_pct: float
    """ESXi `Numa.MigImbalanceThreshold`: load difference between nodes at which a NUMA client moves, in %."""
    numa_action_affinity_weight: int
    """ESXi `Numa.LocalityWeightActionAffinity`: attraction between related NUMA clients. Above 100 it outweighs
    balance between nodes; 0 turns it off.
    """
    numa_load_error_pct: float
    """ESXi: random error of the node load that the NUMA scheduler sees at power-on: a standard deviation, in %
    of the node's cores. Default: 0, so placement does not vary.
    """
    base_slice: Duration
    """Linux EEVDF `base_slice_ns`: time that a task runs before its virtual deadline moves. A quantity such as
    `20ms`.
    """
    tick: Duration
    """Linux: tick period (1 / `CONFIG_HZ`). An expired slice ends at a tick. A quantity such as `20ms`."""
    balance_interval: Duration
    """Linux: minimum interval of load balancing between run queues. A busy CPU balances at 16 times the
    interval. Default: 1 ms per logical CPU of a domain (core, last-level cache, host), at least one tick. A
    quantity such as `20ms`.
    """
    core_scheduling: CoreScheduling
    """Worlds that can share the two hardware threads of a core: `off` any; `sca-v1` (ESXi 5.5 and later) one
    world per core; `sca-v2` (ESXi 6.7 and later) vCPUs of one VM; `linux` (Linux) threads of one VM.
    """


CoreScheduling: TypeAlias = Literal["off", "sca-v1", "sca-v2", "linux"]
"""Worlds that can share the two hardware threads of a core."""


class HypervisorOverhead(TypedDict, total=False):
    """CPU that the hypervisor itself uses for VMs: VMkernel worlds (ESXi), or vhost and I/O threads (KVM)."""

    worlds_per_vm: int
    """Helper worlds or threads per VM."""
    cpu_per_io: Duration
    """Hypervisor CPU per I/O, at the nominal clock. A quantity such as `20ms`."""
    guest_work_pct: float
    """Extra time of guest work compared with the same processor without a hypervisor, in %: nested page tables,
    exits.
    """
    activity_pct: float
    """CPU of the helper worlds, in % of the CPU of the VM's vCPUs."""
    interrupt_share_pct: float
    """Part of `cpu_per_io` that runs as an interrupt on the vCPU's logical CPU (System and Overlap), in %."""


class Adapters(TypedDict, total=False):
    """Ports of a host to storage arrays, and their queue depths. Default: two ports of 8 Gb Fibre Channel."""

    ports: int
    """Number of ports; LUN n uses port n modulo this number."""
    bandwidth: Bandwidth
    """Payload that one port carries in each direction. A quantity such as `40GB/s`."""
    command: Duration
    """Minimum time that a command occupies a port. A quantity such as `20ms`."""
    depth: int
    """Outstanding commands per port."""
    latency: Duration
    """Round-trip latency of the fabric between host and array, without transfer times. A quantity such as
    `20ms`.
    """
    lun_depth: int
    """Outstanding commands of the host per LUN."""
    dsnro: int
    """`DSNRO` (ESXi Disk.SchedNumReqOutstanding): outstanding commands of one VM on a LUN that several VMs
    share.
    """


class Network(TypedDict, total=False):
    """Network ports of a host for pool traffic. Default: two ports of 10 Gb Ethernet."""

    ports: int
    """Number of ports; each pair of hosts uses one of them."""
    bandwidth: Bandwidth
    """Payload that one port carries in each direction. A quantity such as `40GB/s`."""
    latency: Duration
    """Latency of a message to another host, without its transfer time: network stacks and switches. A quantity
    such as `20ms`.
    """


PowerPolicy: TypeAlias = Literal["high-performance", "balanced", "low-power", "custom", "not-managed"]
"""Power management of a host."""


class MeasuredHost(TypedDict, total=False):
    """Measured values of one host. They do not change a simulation."""

    at: str
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over: Duration
    """Period that the CPU figures cover. Absent: a single sample. A quantity such as `20ms`."""
    counter: str
    """Counter or column of the CPU figures, as the source names it."""
    cpu_usage_pct: float
    """CPU used, in % of cores times nominal clock: the mean, or the single sample."""
    cpu_p95_pct: float
    """95th percentile of CPU used over time."""
    cpu_peak_pct: float
    """Peak CPU used."""
    memory_usage_pct: float
    """Memory used, in % of the host's memory."""
    ballooned: Bytes
    """VM memory that the hypervisor has reclaimed by ballooning. A quantity such as `64GiB`."""
    swapped: Bytes
    """VM memory that the hypervisor has swapped out. A quantity such as `64GiB`."""


class VmGroup(TypedDict, total=False):
    """`count` identical VMs. A single VM has the name of its group; several are named `name-1`, `name-2` and so
    on.
    """

    label: str
    """VM name in vCenter or Proxmox and in its telemetry, if it differs. With `count` above 1, each VM appends
    its number.
    """
    count: int
    """Number of VMs; 0 leaves the group out."""
    vcpus: int
    """vCPUs per VM; except on Linux hosts, at most the logical CPUs of its host."""
    cores_per_socket: int
    """Cores per virtual socket; must divide `vcpus`. On ESXi it shapes virtual NUMA. Before 6.5, each socket of
    more than one core is one node. Default: 1; on ESXi 8.0 and later, the value chosen at power-on.
    """
    memory: Bytes
    """Memory per VM; at most the memory of its host. A quantity such as `64GiB`."""
    memory_touched: Bytes
    """Memory that the guest has touched and that therefore consumes host memory. Default: all of `memory`. A
    quantity such as `64GiB`.
    """
    memory_active: Bytes
    """Active memory: touched memory that the guest uses repeatedly. Reclaiming it causes page faults. Default:
    all touched memory. A quantity such as `64GiB`.
    """
    memory_zero_pct: float
    """Zero pages, in % of touched memory. Page sharing frees them at once, and a migration does not send them."""
    memory_compressible_pct: float
    """Pages that compress to half their size or less, in %. ESXi compresses them instead of swapping them out."""
    memory_shares: MemoryShares
    """Memory shares: priority for host memory under contention. `low`, `normal` and `high` are 5, 10 and 20 per
    MiB of `memory`. A number applies to the whole VM.
    """
    memory_reservation: Bytes
    """Memory reserved for each VM and never reclaimed; at most `memory`. On ESXi, the VMs of a host cannot
    reserve more than the host has. A quantity such as `64GiB`.
    """
    memory_limit: Bytes
    """Host memory that each VM can consume at most; at least `memory_reservation`. Memory touched beyond it is
    reclaimed. Default: none. A quantity such as `64GiB`.
    """
    huge_pages: bool
    """Memory is backed by huge pages, which the host never reclaims: hugetlbfs on Linux, 1 GiB pages on ESXi.
    The host gives all of it at power-on, whatever `memory_touched` says. ESXi requires a full
    `memory_reservation`.
    """
    balloon: bool
    """Balloon driver: the host can make the guest return memory. Default: yes on ESXi, no on Linux."""
    restart_priority: RestartPriority
    """Restart order after a host failure. Each class waits for the classes before it."""
    cpu_hot_add: bool
    """ESXi CPU hot-add: vCPUs can be added to a running VM. It hides virtual NUMA unless
    `numa.expose_on_cpu_hot_add` is set.
    """
    numa: NumaOptions
    """Virtual NUMA: the nodes that the guest sees."""
    shares: Shares
    """CPU shares: priority for host CPU under contention. `low`, `normal` and `high` are 500, 1000 and 2000 per
    vCPU. A number applies to the whole VM.
    """
    reservation: Frequency
    """CPU guaranteed to each VM. The VMs of a host cannot reserve more than the host has. ESXi only: Linux
    cgroups have no CPU reservation. A quantity such as `2.5GHz`.
    """
    limit: Frequency
    """CPU that each VM can use at most; at least `reservation`. Default: none. A quantity such as `2.5GHz`."""
    cluster: str
    """Cluster of the VM. Default: the cluster of its `host`; without `host`, any."""
    host: str
    """Host, or group of hosts to spread over. Default: all hosts of the cluster that the `deployment` of the
    `storage` allows.
    """
    host_is_guess: bool
    """`host` is a guess because the source does not name it. Advice does not judge this placement."""
    affinity: str
    """Logical CPUs that the VM can use, such as `0-11,24`. Thread t of core c of socket s has number (s *
    cores_per_socket + c) * threads_per_core + t. Default: all.
    """
    live_migration: bool
    """The VM can migrate while it runs. `false` for containers (LXC) and VMs with passed-through devices: they
    stay on their host in maintenance and balancing, as do VMs of ESXi with `affinity`. After a host failure
    they restart like other VMs.
    """
    storage_appliance: bool
    """The VM serves storage to its host (Nutanix CVM, ScaleIO SVM). Its CPU counts as a cost of the storage
    layer.
    """
    guest: GuestSystem
    """Guest family and its scheduling."""
    guest_os: str
    """Guest operating system as the source names it. It selects licences, and does not change a simulation."""
    products: Sequence[str]
    """Software in the guest that needs a licence. It selects licences, and does not change a simulation."""
    workload: str
    """Workload of the VM: a key of `workloads`."""
    load: float
    """Factor on the population or arrival rate of the workload."""
    load_steps: Sequence[LoadStep]
    """Further factors on `load` over time. Before the first step the factor is 1. New sessions begin at any
    time within their think time.
    """
    array: str
    """Array that holds the virtual disks: a key of `arrays`. Default: none, so I/O is a delay of the workload."""
    storage: str
    """Distributed storage that holds the virtual disks, instead of `array`: a key of `storage`."""
    policy: str
    """Storage policy of the virtual disks: a key of the pool's `policies`. Default: the pool's `redundancy`."""
    vdisk_policies: Sequence[str]
    """Storage policy of each virtual disk, instead of `policy`. The list repeats over the virtual disks; it
    cannot be longer than their number.
    """
    controller: ControllerKind
    """Kind of virtual storage controller. Default: `pvscsi` on ESXi, `virtio-scsi` on Linux. Without a
    hypervisor: the host's own (`passthrough`).
    """
    controllers: int
    """Number of virtual storage controllers."""
    vdisks: int
    """Virtual disks in total, distributed over the controllers in turn; at most 15 per controller. Default: 10
    per controller. For a workload that copies: virtual disks at each end. Default then: 5 per controller.
    """
    vdisk_depth: int
    """Outstanding requests per virtual disk. Default and maximum: 64 and 254 for `pvscsi`, 32 and 32 for `lsi-
    sas`, 128 and 256 for `virtio-scsi` and `vhost-scsi`, 256 and 256 for `virtio-blk` and `vhost-blk`, 256 and
    1024 for `nvme` and `passthrough`, 32 and 32 for `ahci`, 1 for `ide`.
    """
    ring_pages: int
    """Ring pages of a `pvscsi` controller, 32 requests each. Default: 8."""
    queues: int
    """Queues per controller. The vCPUs are divided between them, and several threads can serve them in
    parallel. Default: 1 on ESXi, otherwise one per vCPU.
    """
    io_threads: int
    """I/O threads per controller: of QEMU (with several, `iothread-vq-mapping`), or of the kernel (vhost; with
    several, `worker_per_virtqueue`). 0 is QEMU's main loop, which serves all controllers of the VM. Default: 1.
    """
    disk_cache: DiskCache
    """QEMU cache mode of the virtual disks."""
    aio: AsyncIo
    """QEMU: asynchronous I/O interface of the host kernel."""
    shared_luns: bool
    """Virtual disks share the array's `luns` in turn, possibly with other VMs. Otherwise each virtual disk has
    its own LUN.
    """
    measured: MeasuredVm
    """Measured values of each VM."""
    source: SourceVm
    """Facts of the source system about the VM, for a move to another hypervisor. An absent key is unknown. No
    run reads them.
    """


MemoryShares: TypeAlias = str | int
"""Memory shares of a VM: its priority for host memory under contention. low, normal and high are 5, 10 and 20 per
MiB of its memory; a number applies to the whole VM.
"""


RestartPriority: TypeAlias = Literal["highest", "high", "medium", "low", "lowest", "disabled"]
"""Restart order of VMs."""


class NumaOptions(TypedDict, total=False):
    """Virtual NUMA options. An absent key has the version's default. A key that the hypervisor does not have is
    an error.
    """

    prefer_ht: bool
    """ESXi `numa.vcpu.preferHT`: NUMA sizing counts hardware threads instead of cores."""
    follow_cores_per_socket: bool
    """ESXi `numa.vcpu.followcorespersocket` (6.5 and later): one virtual node per virtual socket of more than
    one core, as before 6.5.
    """
    vcpu_min: int
    """ESXi `numa.vcpu.min`: minimum vCPUs for several virtual nodes. Default: 9."""
    max_per_virtual_node: int
    """ESXi `numa.vcpu.maxPerVirtualNode`: splits the vCPUs evenly over the fewest nodes of at most this size."""
    cores_per_node: int
    """ESXi 8.0 and later, `coresPerNumaNode`: vCPUs per virtual node, set manually."""
    expose_on_cpu_hot_add: bool
    """ESXi 8.0 and later, `exposeVnumaOnCpuHotadd`: the guest sees its nodes even with CPU hot-add."""
    sized_on: SizedOn
    """ESXi before 8.0: host of the first power-on, which fixed the virtual nodes (`numa.autosize.once`).
    Default: the current host.
    """
    cells: Sequence[int]
    """Linux (libvirt `<numa><cell>`): vCPUs of each virtual node; the sum is `vcpus`. Default: one node."""
    nodes: Sequence[int]
    """Linux (libvirt `<memnode>` and `<vcpupin>`): NUMA node of the host, from 0, to which each of `cells` is
    bound. Default: not bound.
    """


class SizedOn(TypedDict, total=False):
    """Processors of a host."""

    sockets: int
    """Sockets; each is one NUMA node."""
    cores_per_socket: int
    """Physical cores per socket."""


Shares: TypeAlias = str | int
"""CPU shares of a VM: its priority for host CPU under contention. low, normal and high are 500, 1000 and 2000 per
vCPU; a number applies to the whole VM.
"""


class GuestSystem(TypedDict, total=False):
    """Guest operating system: it schedules processes on the vCPUs."""

    kind: GuestKind
    """Guest family: sets the CPU cost of its storage drivers. Default: the guest that the published figures of
    the driver are for.
    """
    time_slice: Duration
    """How long a process runs while others wait for its vCPU. A quantity such as `20ms`."""


GuestKind: TypeAlias = Literal["linux", "windows"]
"""Family of guest operating systems."""


class LoadStep(TypedDict, total=False):
    """From `at` on, the load is `factor` times `load`."""

    at: Duration
    """Time from the start of the run, warm-up included. Steps are in order of time. A quantity such as `20ms`."""
    factor: float
    """Factor from then on."""


ControllerKind: TypeAlias = Literal[
    "pvscsi", "lsi-sas", "virtio-scsi", "virtio-blk", "nvme", "ide", "ahci", "vhost-blk", "vhost-scsi", "passthrough"
]
"""Kind of virtual storage controller."""


DiskCache: TypeAlias = Literal["none", "writeback", "writethrough", "directsync", "unsafe"]
"""QEMU cache mode of a disk."""


AsyncIo: TypeAlias = Literal["native", "io_uring", "threads"]
"""Asynchronous I/O interface of QEMU."""


class MeasuredVm(TypedDict, total=False):
    """Measured values of one VM. They do not change a simulation: its demand is `workload` and `load`."""

    at: str
    """Time of the measurement, in ISO 8601; for a series, its end."""
    over: Duration
    """Period that the CPU figures cover. Absent: a single sample. A quantity such as `20ms`."""
    counter: str
    """Counter or column of the CPU figures, as the source names it."""
    cpu_mhz: float
    """CPU used or demanded, in MHz: the mean, or the single sample."""
    cpu_p95_mhz: float
    """95th percentile of CPU over time."""
    cpu_peak_mhz: float
    """Peak CPU."""
    ready_pct: float
    """CPU ready time (%RDY), in % of each vCPU."""
    memory_consumed: Bytes
    """Consumed host memory. A quantity such as `64GiB`."""
    memory_active: Bytes
    """Active memory, as the hypervisor estimates it. A quantity such as `64GiB`."""
    ballooned: Bytes
    """Memory that the hypervisor has reclaimed by ballooning. A quantity such as `64GiB`."""
    swapped: Bytes
    """Memory that the hypervisor has swapped out. A quantity such as `64GiB`."""
    storage_provisioned: Bytes
    """Provisioned storage: the size that its virtual disks and other files can grow to. A quantity such as
    `64GiB`.
    """
    storage_used: Bytes
    """Used storage on its datastores. A quantity such as `64GiB`."""
    storage_in_guest: Bytes
    """Guest used storage: the sum over its file systems. A quantity such as `64GiB`."""
    snapshots: Bytes
    """Storage used by its snapshots. A quantity such as `64GiB`."""
    snapshot_count: int
    """Number of snapshots."""
    oldest_snapshot: str
    """Time of its oldest snapshot, in ISO 8601."""


class SourceVm(TypedDict, total=False):
    """Facts of the source system about the VM, for a move to another hypervisor. An absent key is unknown. No
    run reads them.
    """

    guest_id: str
    """Configured guest: its identifier in vSphere, such as `rhel9_64Guest`, or its name if the guest tools
    report another one.
    """
    firmware: Firmware
    """Firmware of the VM."""
    secure_boot: bool
    """Secure Boot is enabled."""
    tpm: bool
    """The VM has a virtual TPM."""
    hardware_version: int
    """Virtual hardware version, such as 19 for `vmx-19`."""
    tools: Tools
    """State of the guest tools (VMware Tools, QEMU guest agent): `running`, `not-running` or `not-installed`."""
    host_name: str
    """Host name that the guest reports; empty if it reports none."""
    has_ip: bool
    """The guest reports at least one IP address."""
    folder: str
    """Folder of the VM in the source system."""
    tags: Sequence[str]
    """Tags, such as the application that the VM belongs to."""
    hot_add_memory: bool
    """Memory can be added to the running VM."""
    cpu_affinity: bool
    """vCPUs of the VM are bound to logical CPUs of its host."""
    numa_affinity: bool
    """Memory of the VM is bound to NUMA nodes of its host."""
    changed_block_tracking: bool
    """Changed block tracking (CBT) is enabled, which a warm migration needs."""
    consolidation_needed: bool
    """Disks of removed snapshots need consolidation."""
    fault_tolerance: bool
    """vSphere Fault Tolerance protects the VM."""
    disk_uuid: bool
    """The guest sees serial numbers of its disks (`disk.EnableUUID`)."""
    cds_connected: int
    """Connected CD-ROM drives."""
    usb_devices: int
    """USB devices and controllers."""
    passthrough_devices: int
    """Devices of the host that are passed through to the VM."""
    secret_in_notes: bool
    """Notes of the VM or of its snapshots look as if they contain a password or a key. Their text is not kept."""
    disks: Sequence[SourceDisk]
    """Virtual disks; an empty list if the VM has none."""
    networks: Sequence[SourceNetwork]
    """Virtual network adapters; an empty list if the VM has none."""
    partitions: Sequence[SourcePartition]
    """File systems that the guest reports; an empty list if it reports none."""


Firmware: TypeAlias = Literal["bios", "efi"]
"""Firmware of a VM."""


Tools: TypeAlias = Literal["running", "not-running", "not-installed"]
"""State of the guest tools of a VM."""


class SourceDisk(TypedDict, total=False):
    """A virtual disk in the source system. An absent key is unknown."""

    label: str
    """Name of the disk."""
    capacity: Bytes
    """Capacity that the guest sees. A quantity such as `64GiB`."""
    controller: str
    """Controller, as the source names it."""
    controller_number: int
    """Number of the controller among those of its kind, from 0."""
    unit: int
    """Number of the disk at its controller, from 0."""
    mode: DiskMode
    """Mode of the disk."""
    raw: RawMapping
    """Raw device mapping."""
    shared: bool
    """Other VMs can write to the disk too."""
    thin: bool
    """The disk is thin-provisioned."""
    path: str
    """File of the disk, with its datastore; empty if the disk has none."""


DiskMode: TypeAlias = Literal["persistent", "independent-persistent", "independent-nonpersistent"]
"""Mode of a virtual disk."""


RawMapping: TypeAlias = Literal["none", "virtual", "physical"]
"""Raw device mapping of a virtual disk."""


class SourceNetwork(TypedDict, total=False):
    """A virtual network adapter in the source system. An absent key is unknown."""

    adapter: str
    """Model of the adapter, as the source names it."""
    network: str
    """Port group or network."""
    switch: str
    """Virtual switch."""
    vlan: int
    """VLAN of the port group; 0 for none, 4095 for all."""
    connected: bool
    """The adapter is connected."""


class SourcePartition(TypedDict, total=False):
    """A file system of the guest. An absent key is unknown."""

    path: str
    """Mount point or drive letter."""
    capacity: Bytes
    """Capacity. A quantity such as `64GiB`."""
    free: Bytes
    """Free capacity. A quantity such as `64GiB`."""


class Workload(TypedDict, total=False):
    """The processes in a VM. A transaction has `bursts` rounds, each with one CPU burst followed by one delay."""

    arrivals: Arrivals
    """Source of transactions."""
    bursts: int
    """Rounds of CPU burst and delay per transaction."""
    cpu: Service
    """CPU work per transaction, split evenly over its bursts."""
    transaction_cv: float
    """Variation of transaction size: coefficient of variation of the number of rounds (CPU and I/O); the mean
    is `bursts`. The total `delay` does not vary with it. `cpu.cv` and `delay.cv` vary each burst separately.
    """
    reference_clock: Frequency
    """Clock at which `cpu` and `memory_intensity` were measured. Rates per second of CPU time refer to the
    host's nominal clock. Default: the nominal clock of the VM's first host. A quantity such as `2.5GHz`.
    """
    delay: Service
    """Delay per transaction, split evenly over its bursts: locks, devices, network. CPU contention does not
    lengthen it. Default: none.
    """
    ios: float
    """I/Os per transaction. Without `array` or `storage`, each costs the hypervisor `overhead.cpu_per_io`, and
    its time is part of `delay`. With one, the I/Os of a burst are issued together, and `delay` starts when the
    last one completes.
    """
    block: Bytes
    """I/O size. A quantity such as `64GiB`."""
    block_mix: Sequence[BlockShare]
    """Other I/O sizes and their shares; the remaining I/Os have size `block`."""
    read_pct: float
    """Reads, in % of I/Os; the rest are writes."""
    random_pct: float
    """Random I/Os, in %; the rest are sequential and need no disk positioning."""
    sync_pct: float
    """Synchronous writes, in % of writes: acknowledged only from stable media (O_DSYNC, or a flush after each)."""
    read_from: str
    """Copies (backup, clone, storage migration): source of each I/O, a key of `arrays` or `storage`. The data
    then goes to `write_to`. Needs `arrivals.io`, whose I/Os are outstanding on each virtual disk read. Half of
    `cpu` is for the read, half for the write. Sequential I/Os are sequential at both ends. Default, if
    `write_to` is set: the VM's own storage.
    """
    write_to: str
    """Copies: target of each I/O read from `read_from`. Default, if that is set: the VM's own storage."""
    working_set: Bytes
    """Data that the I/Os of one virtual disk cover; sets the hit rate of the array's cache. For a copy: the
    data copied, present at both ends. A quantity such as `64GiB`.
    """
    smt_yield: float
    """Throughput of a core with two busy threads of this workload, relative to one thread alone. Default: the
    host's `smt_yield`.
    """
    scaling: Scaling
    """Scalability loss inside one guest as vCPUs increase. Default: none."""
    wake_up: Duration
    """Wake-up latency of an idle vCPU on an idle logical CPU: idle-state exit, interrupt, switch to vCPU and
    process. It counts as ready time, not as CPU work. Idle threads of virtual controllers need it for a
    request, and again for its completion. Default: 4 to 46 us, by the host's `power_policy` and the idle time
    of the core. A quantity such as `20ms`.
    """
    memory_intensity: float
    """Part of CPU time that waits for memory. A faster clock does not shorten it."""
    memory_traffic: Bandwidth
    """Memory bandwidth of one process while it computes, alone on its core and with all memory local. Default:
    0, negligible. A quantity such as `40GB/s`.
    """
    shared_core_traffic: float
    """Factor on `memory_traffic` for the same work while two threads share a core and its caches."""
    dirty_rate: Bandwidth
    """Memory dirtied per second of CPU time, which live migration sends again. Each page counts once between
    two transfers. The default is an assumption. A quantity such as `40GB/s`.
    """
    written_set: Bytes
    """Memory that is written repeatedly: the upper bound of the memory that `dirty_rate` dirties. Default: the
    VM's active memory. A quantity such as `64GiB`.
    """
    page_rate: Rate
    """Pages of 4 KiB of active memory used per second of CPU time, spread evenly. It sets how often the VM
    misses reclaimed memory. The default is an assumption: a database reads 10,000 buffers of 8 KiB per second
    and core. A quantity such as `120/s`.
    """
    unit: str
    """Unit of the application's own work."""
    units_per_transaction: float
    """Units of the application's own work per transaction."""
    fio: str
    """A fio job file, and after `#` one of its jobs, that this is the workload of; other keys win over it. Its
    I/Os are spread evenly over the VM's virtual disks.
    """


class Arrivals(TypedDict, total=False):
    """Source of transactions: exactly one of `closed`, `open`, `parallel` and `io`."""

    closed: ArrivalsClosed
    """Closed: a fixed population of sessions that think between transactions."""
    open: ArrivalsOpen
    """Open: transactions arrive independently of earlier ones."""
    parallel: ArrivalsParallel
    """Parallel: one process on each vCPU; all work on one transaction at a time. `cpu` is divided evenly
    between the vCPUs, and each share into `bursts`. An idle process helps within its part. The next transaction
    begins when every part is done.
    """
    io: ArrivalsIo
    """An I/O generator such as Iometer or fio: its workers only keep I/Os outstanding. A transaction is one
    I/O. `cpu` is the generator's work per I/O, in addition to the guest's driver. Needs an `array` or a
    `storage`.
    """


class ArrivalsClosed(TypedDict, total=False):
    """Closed: a fixed population of sessions that think between transactions."""

    population: int
    """Sessions per VM at load 1."""
    think: Service
    """Think time between a response and the next transaction. Default: none."""


class Service(TypedDict, total=False):
    """A random duration, by mean and coefficient of variation."""

    mean: Duration
    """Mean. A quantity such as `20ms`."""
    cv: float
    """Standard deviation / mean: 0 is constant, 1 is exponential."""


class ArrivalsOpen(TypedDict, total=False):
    """Open: transactions arrive independently of earlier ones."""

    rate: Rate
    """Arrivals per VM at load 1; above 0. A quantity such as `120/s`."""
    cv: float
    """Coefficient of variation of the time between arrivals: 1 is Poisson, 0 is constant."""


Rate: TypeAlias = str | int
"""How often something happens: a number and one of /s, /min, /h. A bare 0 needs no unit."""


class ArrivalsParallel(TypedDict, total=False):
    """Parallel: one process on each vCPU; all work on one transaction at a time. `cpu` is divided evenly
    between the vCPUs, and each share into `bursts`. An idle process helps within its part. The next transaction
    begins when every part is done.
    """

    parts: Parts
    """The parts: work is divided evenly between them, and processes help only within one."""


Parts: TypeAlias = Literal["node", "vcpu"]
"""Parts of a parallel transaction."""


class ArrivalsIo(TypedDict, total=False):
    """An I/O generator such as Iometer or fio: its workers only keep I/Os outstanding. A transaction is one
    I/O. `cpu` is the generator's work per I/O, in addition to the guest's driver. Needs an `array` or a
    `storage`.
    """

    outstanding: int
    """Outstanding I/Os per virtual disk at load 1, all workers together."""
    workers: int
    """Threads that issue the I/Os, each an equal part on every disk. Default: one per vCPU."""
    rate: Rate
    """Maximum I/Os per second per VM, evenly spaced, at load 1. Default: no limit. A quantity such as `120/s`."""


class BlockShare(TypedDict, total=False):
    """Part of a workload's I/Os with its own size."""

    block: Bytes
    """Size of these I/Os. A quantity such as `64GiB`."""
    share_pct: float
    """Their share, in % of all I/Os."""


class Scaling(TypedDict, total=False):
    """Universal scalability law: with N busy vCPUs, the work of a transaction grows by the factor 1 +
    contention (N - 1) + coherency N (N - 1). For each doubling of N, it also grows by the factor 1 +
    per_doubling.
    """

    contention: float
    """Waiting for exclusive resources: locks, latches, queues."""
    coherency: float
    """Keeping shared data coherent between vCPUs: caches, versions."""
    per_doubling: float
    """More work with each doubling of vCPUs, of systems that split their locks by the number of CPUs, such as
    Oracle.
    """


class Device(TypedDict, total=False):
    """A drive model, by its data sheet. Absent keys have the defaults of its `kind`."""

    kind: DiskKind
    """Kind of drive."""
    capacity: Bytes
    """User capacity to which the data sheet figures apply. A quantity such as `64GiB`."""
    random_read: Rate
    """Flash: random 4 KiB reads per second, at high queue depth. A quantity such as `120/s`."""
    random_write: Rate
    """Flash: sustained random 4 KiB writes per second, with all capacity written. A quantity such as `120/s`."""
    sequential_read: Bandwidth
    """Sequential reads. A quantity such as `40GB/s`."""
    sequential_write: Bandwidth
    """Sustained sequential writes. A quantity such as `40GB/s`."""
    read_latency: Duration
    """Flash: latency of one random 4 KiB read at queue depth 1, as fio measures it on a host: 3 us of it are
    the host's. A quantity such as `20ms`.
    """
    write_latency: Duration
    """Flash: latency of one 4 KiB write at queue depth 1, acknowledged from its buffer, measured likewise. A
    quantity such as `20ms`.
    """
    depth: int
    """Concurrent operations."""
    power_loss_protection: bool
    """Flash: power loss protection, so a flush has nothing to do. Default: yes."""
    flush: Duration
    """Time of one flush, whatever was written before. Default: none with `power_loss_protection`; otherwise by
    `kind`. A quantity such as `20ms`.
    """
    over_provisioning_pct: float
    """Flash: over-provisioning, in % of capacity. It sets the write amplification."""
    write_cache: WriteCache
    """Flash write cache (SLC cache of consumer drives): faster writes until it is full. Default: none."""
    stalls: Stalls
    """Stalls of the drive: garbage collection, wear levelling. Default: none."""
    rpm: int
    """Hard disk: revolutions per minute. Default: by `kind`."""
    seek_read: Duration
    """Hard disk: mean read seek time. Default: by `kind`. A quantity such as `20ms`."""
    seek_write: Duration
    """Hard disk: mean write seek time. Default: `seek_read`. A quantity such as `20ms`."""
    dwpd: float
    """Drive writes per day under warranty. It does not change a simulation."""
    source: str
    """Source of its figures."""


class WriteCache(TypedDict, total=False):
    """Write cache of a drive: faster flash that empties while the drive is not writing."""

    size: Bytes
    """Capacity of the cache. A quantity such as `64GiB`."""
    write: Bandwidth
    """Write bandwidth until it is full. A quantity such as `40GB/s`."""


class Stalls(TypedDict, total=False):
    """Stalls: times in which a drive serves no I/O."""

    written: Bytes
    """Mean bytes written between two stalls. A quantity such as `64GiB`."""
    length: Duration
    """Duration of a stall. A quantity such as `20ms`."""


class StorageArray(TypedDict, total=False):
    """A storage array: front-end ports, a cache, and disks in RAID groups that all LUNs are spread over."""

    front_end_ports: int
    """Front-end ports; LUN n uses port n modulo this number."""
    port_bandwidth: Bandwidth
    """Payload that one front-end port carries in each direction. Default: 800 MB/s, 8 Gb Fibre Channel. A
    quantity such as `40GB/s`.
    """
    protocol: Protocol
    """Protocol between hosts and array."""
    paths: Paths
    """Paths of each LUN, and the path policy."""
    port_command: Duration
    """Minimum time that a command occupies a front-end port. A quantity such as `20ms`."""
    cache: ArrayCache
    """The cache."""
    raid: Raid
    """RAID level: sets the disk operations per write."""
    disks: Disks
    """The disks."""
    luns: int
    """LUNs for VMs with `shared_luns`. Default: one per front-end port."""


Protocol: TypeAlias = Literal["fc", "iscsi", "nvme-fc", "nvme-tcp", "nvme-rdma", "local"]
"""Protocol between hosts and array: sets their cost per command, in addition to ports and fabric."""


class Paths(TypedDict, total=False):
    """Paths from a host to each LUN, and the path policy."""

    per_lun: int
    """Paths per LUN. Path i of LUN n uses port n + i of the host and port n + i of the array, modulo their
    numbers.
    """
    optimised: int
    """Optimised paths: the first ones, which lead to the controller that owns the LUN (ALUA active/optimised).
    The others are used only if all of these fail. Default: all.
    """
    non_optimised_latency: Duration
    """Extra latency of a non-optimised path. A quantity such as `20ms`."""
    policy: PathPolicy
    """Path selection among working paths."""
    iops_limit: int
    """`round-robin`: I/Os per path before a switch."""
    bytes_limit: Bytes
    """`round-robin`: bytes per path before a switch. A quantity such as `64GiB`."""
    timeout: Duration
    """Time that an I/O on a failed path waits before it is sent on another path. A quantity such as `20ms`."""
    plugin: Plugin
    """Multipathing plug-in of ESXi. Default: by version and protocol."""


PathPolicy: TypeAlias = Literal["fixed", "most-recently-used", "round-robin", "queue-length"]
"""Path selection."""


Plugin: TypeAlias = Literal["nmp", "hpp"]
"""Multipathing plug-in of ESXi."""


class ArrayCache(TypedDict, total=False):
    """The cache of an array. A random read hits it with probability cache size / sum of the working sets on the
    array.
    """

    size: Bytes
    """Memory for user data; 0 turns the cache off, for writes too. A quantity such as `64GiB`."""
    latency: Duration
    """Latency of a cache hit, without ports and fabric. A miss adds the disk. Default: 300 us; 0 for disks
    inside a host. A quantity such as `20ms`.
    """
    write_back: bool
    """Write-back: the cache acknowledges a write, which reaches the disks later."""
    write_pending: Bytes
    """Maximum written data in the cache that waits for the disks; beyond it writes wait. At most 65,536 writes
    count, of any size. A quantity such as `64GiB`.
    """


Raid: TypeAlias = Literal["raid-0", "raid-1", "raid-5", "raid-6"]
"""RAID level."""


class Disks(TypedDict, total=False):
    """The disks of an array: a `kind` or a `device`."""

    kind: DiskKind
    """Generic kind of disk."""
    device: str
    """Drive model: a key of `devices`, or from the table of drives."""
    used_pct: float
    """Used capacity, in %. Unused capacity reduces write amplification of flash, and seeks of hard disks that
    were never full. Default: 100, as in data sheets.
    """
    count: int
    """Number of disks."""


class StoragePool(TypedDict, total=False):
    """Disks of a group of hosts, pooled by software that keeps replicas or parity of all data on several of
    them.
    """

    kind: PoolKind
    """Storage software, or the closest match: sets its behaviour and the defaults of other keys."""
    nodes: PoolNodes
    """Hosts that hold the disks and run the services."""
    deployment: Deployment
    """Placement of VMs that use the pool and have no `host`: on its nodes, on all other hosts, or on any host."""
    redundancy: Redundancy
    """Redundancy: `replicas-N`, `replicas-N:M` (writes stop below M replicas), or `ec-K+M` (K data and M parity
    fragments). `raid-1`, `raid-5` and `raid-6` are `replicas-2`, `ec-3+1` (not on vSAN ESA) and `ec-4+2`.
    Default: `replicas-2` for a mirrored mesh and vSAN, `replicas-3:2` for a chunk store and Ceph.
    """
    policies: dict[str, StoragePolicy]
    """Storage policies by name, which a VM can use instead of `redundancy`: see `policy` of VMs."""
    ceph: Ceph
    """Settings of Ceph only."""
    vsan: Vsan
    """Settings of vSAN only."""
    networks: PoolNetworks
    """Networks in addition to the hosts' network."""
    failure_domain: FailureDomain
    """Failure domain: holds at most one replica or fragment of the same data."""
    racks: int
    """Racks; the nodes are distributed over them in turn."""
    chunk: Bytes
    """Unit of placement: data kept together on one device. Default: 1 MiB for a mirrored mesh, 256 MiB for a
    chunk store, 4 MiB for Ceph, 255 GB for vSAN (a component). A quantity such as `64GiB`.
    """
    fragment: Bytes
    """Erasure coding: size of one device's part of a stripe (Ceph: `stripe_unit`). Default: 1 MiB; for Ceph 4
    KiB, with `ec_optimizations` 16 KiB. A quantity such as `64GiB`.
    """
    coding: Bandwidth
    """Erasure coding: user data that one core encodes per second at the clock of its host. Default: measured
    values of ISA-L. A quantity such as `40GB/s`.
    """
    write_path: WritePath
    """Path of a write's replicas to their devices. The client sends erasure coding fragments, except in Ceph.
    Default: `primary` for Ceph, `client` for vSAN, otherwise `chain`.
    """
    devices: PoolDevices
    """Data disks of each node."""
    more_devices: Sequence[PoolDevices]
    """Data disks of other kinds in each node. Data is spread over all disks by capacity."""
    flushes: Flushes
    """When disks flush their buffers."""
    flash: PoolFlash
    """Flash of each node in addition to `devices`: a journal and a read cache. Default: none."""
    service: PoolService
    """Service processes of the devices, on their nodes."""
    client: PoolClient
    """Storage client on the hosts of the VMs."""
    layer_latency: Duration
    """Extra round-trip latency between a node and a host outside the pool, for separate layers. A quantity such
    as `20ms`.
    """
    exchange_latency: Duration
    """Mean extra time of an exchange of messages (request and reply) in the software of both ends: soft
    interrupts, context switches, wake-ups. Each of the two is exponential. A read has one exchange, a write of
    replicas two. Calibrate it on latency at depth 1. A quantity such as `20ms`.
    """
    metadata_servers: int
    """Metadata servers, on the first nodes; of Ceph the monitors. More than half must be up for repair, for any
    I/O of a chunk store, and to mark OSDs of Ceph down. Default: 3, or one per node if there are fewer.
    """
    stored: Bytes
    """Data in the pool, without replicas and parity. Default: the working sets of its virtual disks. A quantity
    such as `64GiB`.
    """
    rebuild: Rebuild
    """Rebuild after a failure."""
    preset: Literal[
        "ceph-3x-hdd-nvme-log",
        "ceph-3x-nvme",
        "ceph-3x-sata",
        "ceph-ec42-nvme",
        "nutanix-rf2",
        "powerflex",
        "proxmox-3-nodes",
        "storpool",
        "virtuozzo-storage",
        "vsan-esa",
        "vsan-osa-all-flash",
        "vsan-osa-hybrid",
    ]
    """A pool of `hypertwin presets`; other keys win over it."""


PoolKind: TypeAlias = Literal["mirrored-mesh", "chunk-store", "ceph", "vsan"]
"""Kind of distributed storage."""


PoolNodes: TypeAlias = str | Sequence[str]
"""A group of hosts, or a list of groups: keys of `hosts`."""


Deployment: TypeAlias = Literal["hci", "two-layer", "mixed"]
"""Placement of VMs relative to their storage."""


Redundancy: TypeAlias = str
"""Spread of data over failure domains: replicas-N is N whole replicas, replicas-N:M stops writes below M replicas
(replicas-N: below 1), ec-K+M is K data and M parity fragments; raid-1, raid-5 and raid-6 are replicas-2, ec-3+1 and
ec-4+2.
"""


class StoragePolicy(TypedDict, total=False):
    """Storage policy of virtual disks."""

    redundancy: Redundancy
    """Redundancy of the policy."""
    fragment: Bytes
    """Erasure coding: size of one device's part of a stripe. Default: the pool's. A quantity such as `64GiB`."""


class Ceph(TypedDict, total=False):
    """A Ceph cluster. Each device is an OSD. Absent keys have the release's defaults."""

    release: CephRelease
    """Ceph release: sets the CPU cost of operations and the defaults of `scheduler`, `min_alloc` and shards."""
    client: CephClient
    """Client: how VMs access Ceph."""
    gateways: int
    """Nodes with a gateway, with `client: gateway`."""
    reactors: int
    """I/O threads (reactors) per gateway."""
    osds_per_device: int
    """OSDs per device: multiplies shards, messengers and commit threads."""
    messengers: int
    """Messenger threads per OSD (`ms_async_op_threads`)."""
    shards: int
    """Shards per OSD, which share its placement groups (`osd_op_num_shards`). Default: 8 on flash; 1 on hard
    disks, 5 before Squid.
    """
    threads_per_shard: int
    """Threads per shard (`osd_op_num_threads_per_shard`). Default: 2 on flash; 5 on hard disks, 1 before Squid."""
    cpu_factor: float
    """Factor on the CPU cost of all operations, relative to the table of releases: other processors, other
    builds.
    """
    encrypt_disks: bool
    """Data is encrypted on devices (dm-crypt)."""
    encrypt_wire: bool
    """Messages are encrypted (msgr2 `secure`)."""
    min_alloc: Bytes
    """BlueStore allocation unit. Default: 4 KiB; before Pacific 16 KiB on flash and 64 KiB on hard disks. A
    quantity such as `64GiB`.
    """
    deferred_below: Bytes
    """Deferred writes: smaller writes go to the log first and to their place later
    (`bluestore_prefer_deferred_size`). Default: none on flash, 64 KiB on hard disks. A quantity such as
    `64GiB`.
    """
    ec_optimizations: bool
    """Erasure coding: reads only the fragments needed and writes partial stripes (`allow_ec_optimizations`,
    Tentacle and later).
    """
    placement_groups: int
    """Placement groups. Default: about 100 copies or fragments of groups per OSD (autoscaler target)."""
    scheduler: CephScheduler
    """OSD scheduler. Default: `mclock`; `wpq` before Quincy."""
    profile: MclockProfile
    """mClock profile: split between clients and recovery."""
    device_iops: float
    """Device capacity that mClock assumes for each OSD, in IOPS. Default: 21,500 on flash, 315 on hard disks."""
    max_backfills: int
    """Concurrent backfills per device, as target and as source (`osd_max_backfills`)."""
    recovery_max_active: int
    """Concurrent recovery operations per device, in objects. Default: 10 on flash, 3 on hard disks."""
    recovery_sleep: Duration
    """WPQ: pause between objects. Default: none on flash, 100 ms on hard disks, 25 ms on hard disks with a log
    on flash. A quantity such as `20ms`.
    """
    deep_scrub: Duration
    """Deep scrub interval: all data of the pool is read once in it (`osd_deep_scrub_interval`; Ceph ships with
    7 d). Default: no deep scrub. A quantity such as `20ms`.
    """
    nearfull_pct: float
    """Nearfull ratio, in % (`mon_osd_nearfull_ratio`). Usable capacity ends there."""


CephRelease: TypeAlias = Literal["luminous", "nautilus", "octopus", "pacific", "quincy", "reef", "squid", "tentacle"]
"""Release of Ceph."""


CephClient: TypeAlias = Literal["librbd", "krbd", "gateway"]
"""How VMs access Ceph."""


CephScheduler: TypeAlias = Literal["wpq", "mclock"]
"""Scheduler of an OSD."""


MclockProfile: TypeAlias = Literal["balanced", "high-client-ops", "high-recovery-ops"]
"""mClock profile: split between clients and recovery."""


class Vsan(TypedDict, total=False):
    """A vSAN cluster."""

    architecture: VsanArchitecture
    """vSAN architecture: sets where writes are acknowledged."""
    destage_from_pct: float
    """OSA: fill level of the write buffer, in %, at which destaging to the capacity disks begins."""
    adaptive_resync: bool
    """Adaptive Resync: devices in use by VMs give resynchronisation 20% of their time. Default: on with
    esxi-6.7 or later.
    """
    witness: bool
    """A witness host votes on data with two replicas."""


VsanArchitecture: TypeAlias = Literal["osa", "esa"]
"""Architecture of vSAN."""


class PoolNetworks(TypedDict, total=False):
    """Networks of a pool in addition to the hosts' network."""

    cluster: Network
    """Ports of each node for traffic between nodes: replicas, fragments, recovery. Default: shared with
    clients.
    """
    between_racks: RackLink
    """Link between racks, or between the sites of a stretched cluster. Default: no extra latency."""


class RackLink(TypedDict, total=False):
    """Link between two racks or sites."""

    latency: Duration
    """Round-trip latency of a message, in addition to the hosts' network. A quantity such as `20ms`."""
    bandwidth: Bandwidth
    """Payload bandwidth between two racks in each direction. Default: no limit. A quantity such as `40GB/s`."""


FailureDomain: TypeAlias = Literal["disk", "host", "rack"]
"""Unit that fails as a whole."""


WritePath: TypeAlias = Literal["chain", "primary", "client"]
"""Path of a write's replicas to their devices."""


class PoolDevices(TypedDict, total=False):
    """Disks of each node."""

    kind: DiskKind
    """Generic kind of disk; or use `device`."""
    device: str
    """Drive model: a key of `devices`, or from the table of drives."""
    used_pct: float
    """Used capacity, in %. Unused capacity reduces write amplification of flash, and seeks of hard disks that
    were never full. Default: 100, as in data sheets.
    """
    per_node: int
    """Disks per node."""
    capacity: Bytes
    """Capacity per disk. A quantity such as `64GiB`."""
    random_write: Bandwidth
    """Flash: sustained small random writes per disk, including garbage collection. Default: from its data
    sheet. A quantity such as `40GB/s`.
    """
    depth: int
    """Outstanding operations per disk. Default: as many as the disk accepts."""


Flushes: TypeAlias = Literal["as-asked", "always"]
"""When disks flush."""


class PoolFlash(TypedDict, total=False):
    """Flash of each node that does not store data permanently."""

    kind: DiskKind
    """Generic kind of disk; or use `device`."""
    device: str
    """Drive model: a key of `devices`, or from the table of drives."""
    per_node: int
    """Disks per node."""
    capacity: Bytes
    """Capacity per disk. vSAN: shared by write buffer and read cache. A quantity such as `64GiB`."""
    random_write: Bandwidth
    """Sustained small random writes per disk, including garbage collection. Default: from its data sheet. A
    quantity such as `40GB/s`.
    """
    journal: Bytes
    """Journal per node: it acknowledges writes, which reach the devices later. 0 turns it off. A quantity such
    as `64GiB`.
    """
    read_cache: Bytes
    """Read cache per node, for VMs on the node; 0 turns it off. A random read hits it with probability size /
    working sets of the VMs on the node. A quantity such as `64GiB`.
    """


class PoolService(TypedDict, total=False):
    """Service processes of a node's devices."""

    cpu_per_io: Duration
    """CPU per device operation, at the host's nominal clock. Default: 20 us. Ceph has its own table: see
    `ceph.cpu_factor`. A quantity such as `20ms`.
    """
    cv: float
    """Coefficient of variation of the CPU time of an operation, at the same mean: operations meet locks, missed
    caches and compaction. 0: all operations of a kind cost the same. The larger, the longer are tails.
    """
    core_bandwidth: Bandwidth
    """Payload that one core moves per second at nominal clock, in a service or client: copies, checksums,
    packets. A quantity such as `40GB/s`.
    """
    threads: int
    """Threads of a node that share all its operations. Default: each device has its own threads."""
    threads_per_device: int
    """Threads per device (an OSD of Ceph has several). Not with `threads`."""
    limit_cpus: float
    """CPU limit of the threads of one queue, in CPUs, as for a container: they wait once they use it up in a
    100 ms period. Default: no limit.
    """
    wake_up: Duration
    """Wake-up latency of an idle thread on an idle logical CPU: idle-state exit, interrupt, switch. Default: 4
    to 43 us, by the host's `power_policy` and the idle time of the core. A quantity such as `20ms`.
    """
    in_kernel: bool
    """The service is part of the hypervisor (vSAN). It does not wait for the time slices of VMs, as a process
    or VM does (ScaleIO, Virtuozzo Storage, Ceph). Default: true for vSAN, otherwise false.
    """


class PoolClient(TypedDict, total=False):
    """Storage client on the hosts of the VMs."""

    cpu_per_io: Duration
    """CPU per I/O, at the host's nominal clock. Default: 10 us; for Ceph by `client`. A quantity such as
    `20ms`.
    """
    cache_cpu_per_io: Duration
    """Extra CPU per I/O of the client's own cache (librbd), for VMs whose `disk_cache` uses it. A quantity such
    as `20ms`.
    """
    timeout: Duration
    """Time that the client waits for a node before it tries another. Default: 1 s; for Ceph 20 s, until an OSD
    is marked down (`osd_heartbeat_grace`); for vSAN 5 s. A quantity such as `20ms`.
    """


class Rebuild(TypedDict, total=False):
    """Rebuild after a failure: data is rebuilt on other devices, many to many."""

    delay: Duration
    """Delay from a failure to the rebuild, unless the failed part returns earlier. Default: 5 s; for Ceph 10
    min after the OSD is marked down (`mon_osd_down_out_interval`); for vSAN 60 min. A quantity such as `20ms`.
    """
    node_bandwidth: Bandwidth
    """Maximum rebuild reads per node, and maximum rebuild writes. Default: 500 MB/s; for Ceph and vSAN no limit
    except their schedulers. A quantity such as `40GB/s`.
    """
    streams: int
    """Concurrent placement groups per node, on average. Ceph has `ceph.max_backfills` instead."""
    unit: Bytes
    """Rebuild I/O size. Default: 1 MiB; for Ceph 8 MiB (`osd_recovery_max_chunk`), at most one object. A
    quantity such as `64GiB`.
    """


class PoweredOff(TypedDict, total=False):
    """A powered-off VM or a template. It uses storage and can be powered on."""

    label: str
    """VM name in vCenter or Proxmox, if it differs."""
    cluster: str
    """Cluster of the VM, if known."""
    host: str
    """Host on which it is registered, if known: a key of `hosts`, or one host of a group."""
    template: bool
    """It is a template."""
    vcpus: int
    """vCPUs."""
    cores_per_socket: int
    """Virtual cores per virtual socket, if known."""
    memory: Bytes
    """Configured memory. A quantity such as `64GiB`."""
    memory_reservation: Bytes
    """Memory reservation, as `vms.NAME.memory_reservation`. A quantity such as `64GiB`."""
    cpu_hot_add: bool
    """CPU hot-add, as `vms.NAME.cpu_hot_add`."""
    shares: Shares
    """CPU shares, as `vms.NAME.shares`."""
    reservation: Frequency
    """CPU reservation, as `vms.NAME.reservation`. A quantity such as `2.5GHz`."""
    limit: Frequency
    """CPU limit, as `vms.NAME.limit`. A quantity such as `2.5GHz`."""
    storage_provisioned: Bytes
    """Provisioned storage: the size that its virtual disks can grow to. A quantity such as `64GiB`."""
    storage_used: Bytes
    """Used storage on its datastores. A quantity such as `64GiB`."""
    snapshot_count: int
    """Number of snapshots."""
    guest_os: str
    """Guest operating system, as `vms.NAME.guest_os`."""
    source: SourceVm
    """Facts of the source system, as `vms.NAME.source`."""


class Datastore(TypedDict, total=False):
    """A datastore, as vCenter or Proxmox reports it. It does not change a simulation: `arrays` and `storage`
    do.
    """

    label: str
    """Datastore name in vCenter or Proxmox, if it differs."""
    clusters: Sequence[str]
    """Clusters whose hosts use it; empty if unknown."""
    hosts: int
    """Number of hosts that use it; absent if unknown."""
    kind: str
    """Type, as the source names it: VMFS, NFS, vsan, zfspool."""
    capacity: Bytes
    """Capacity. A quantity such as `64GiB`."""
    free: Bytes
    """Free capacity. A quantity such as `64GiB`."""
    provisioned: Bytes
    """Provisioned capacity: the size that all its virtual disks can grow to, thin disks included. A quantity
    such as `64GiB`.
    """


class Failure(TypedDict, total=False):
    """Components that fail at the same time."""

    at: Duration
    """Time from the start of the run, warm-up included. A quantity such as `20ms`."""
    fails: Sequence[str]
    """Components that fail together: a host (`node-2`), its disk (`node-2/disk-1`) or network (`node-2/link`),
    a port of a host or array (`esx-1/port-1`, `san/port-2`), a rack of a pool (`pool/rack-1`) or a metadata
    server (`pool/metadata-1`). Numbers count from 1.
    """
    returns: Duration
    """Time when the components return, with their data. Default: never. A quantity such as `20ms`."""
    empty: bool
    """Its disks return without data, for example replaced. Needs `returns`."""


class Event(TypedDict, total=False):
    """A scheduled event: one of `migrate`, `maintenance` and `add`."""

    at: Duration
    """Time from the start of the run, warm-up included. A quantity such as `20ms`."""
    migrate: str
    """VM to migrate live, by name; with its number if its group has several."""
    to: str
    """Target host of the migration."""
    maintenance: str
    """Host that enters maintenance mode: its VMs migrate to other hosts of the cluster, and it accepts none
    before `until`.
    """
    add: str
    """Node (`node-4`) or disk (`node-1/disk-3`) that joins its pool. Before that it has no data."""
    until: Duration
    """End of maintenance mode. Default: never. A quantity such as `20ms`."""


class PlacementRule(TypedDict, total=False):
    """A placement rule, as in vSphere DRS or Proxmox HA. An initial `host` that violates it is allowed. VMs
    without `host`, restarts and migrations keep it, and `drs` corrects violations. A rule that cannot be kept
    because its VMs or hosts are in different clusters is an error.
    """

    name: str
    """Name of the rule in vCenter or Proxmox."""
    kind: RuleKind
    """Kind of rule: `vms` on one host, on different hosts, on one of `hosts`, or on none of them."""
    vms: Sequence[str]
    """VMs of the rule: keys of `vms`."""
    hosts: Sequence[str]
    """Hosts of the rule, for `run-on` and `not-on`: keys of `hosts`."""
    mandatory: bool
    """Must rule: a VM stays powered off if no host keeps the rule. Otherwise a should rule."""


RuleKind: TypeAlias = Literal["keep-together", "keep-apart", "run-on", "not-on"]
"""Kind of placement rule."""
