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
    """One file that describes a cluster, what runs on it, and how long to simulate it."""

    name: str
    """Name of the scenario, as reports show it: letters, digits, `-`, `_` and `.`, at most 64."""
    description: str
    """What the scenario shows, and where its numbers come from."""
    calibrated_on: str
    """What the parameters were calibrated on, as reports say it. Without it, reports say that nothing was
    calibrated.
    """
    run: RunSettings
    """How long to simulate and how to measure."""
    clusters: dict[str, Cluster]
    """Clusters, by name: what is known of them besides their hosts. A cluster without anything to say needs no
    entry.
    """
    hosts: dict[str, HostGroup]
    """Groups of identical hosts, by name."""
    vms: dict[str, VmGroup]
    """Groups of identical virtual machines, by name."""
    workloads: dict[str, Workload]
    """What runs inside virtual machines, by name; `vms.*.workload` refers to these."""
    devices: dict[str, Device]
    """Drives, by name: `device` of disks refers to these, and to the table of drives."""
    arrays: dict[str, StorageArray]
    """Storage arrays, by name; `vms.*.array` refers to these."""
    storage: dict[str, StoragePool]
    """Distributed storage, by name; `vms.*.storage` refers to these."""
    powered_off: dict[str, PoweredOff]
    """Machines that are off and templates, by name. They take no part in a simulation."""
    datastores: dict[str, Datastore]
    """Datastores, by name: how full storage is."""
    failures: Sequence[Failure]
    """What fails when."""
    events: Sequence[Event]
    """What is done when: migrations, maintenance."""
    rules: Sequence[PlacementRule]
    """Placement rules: which machines belong together or apart, and on which hosts."""


class RunSettings(TypedDict, total=False):
    """How long to simulate and how to measure."""

    duration: RunTime
    """Measured time, after the warm-up; `auto` doubles it until the run is steady or has taken its share of
    work. With failures, events or steps of the load, `auto` is 300 s. A quantity such as `20ms`.
    """
    warmup: RunTime
    """Time that is simulated first and not measured; `auto` leaves out what comes before the run is steady.
    With failures, events or steps of the load, `auto` is 30 s. A quantity such as `20ms`.
    """
    sample_interval: Duration
    """Resolution of the timeline; 20 s is what vCenter's real-time charts show. A longer one than `duration`
    counts as `duration`, and a longer one than a 20th of a duration that was found as that. A quantity such as
    `20ms`.
    """
    seed: int
    """Start of every random stream: the same scenario, seed and version give the same bytes."""
    replications: int
    """Independent repetitions; confidence intervals need at least 2."""


RunTime: TypeAlias = str | int
"""A length of time, as a number and one of ns, us, ms, s, min, h, d, or `auto`: as long as the run takes to settle.
A bare 0 needs no unit.
"""


Duration: TypeAlias = str | int
"""A length of time: a number and one of ns, us, ms, s, min, h, d; kept in whole nanoseconds. A bare 0 needs no
unit.
"""


class Cluster(TypedDict, total=False):
    """A cluster: hosts between which machines may move. Its hosts name it in `cluster`; hosts that name none
    are the cluster `default`.
    """

    label: str
    """Its name in its own system, where that differs."""
    datacenter: str
    """The datacenter that it is in, as its own system calls it."""
    ha: HighAvailability
    """High availability: restart of machines elsewhere when their host fails."""
    drs: Balancing
    """Balancing: machines migrate between its hosts by themselves. Default: off."""
    evc: str
    """Generation of CPU that its hosts show to machines (EVC), as its own system calls it."""
    measured: MeasuredCluster
    """What was measured of its machines together."""


class HighAvailability(TypedDict, total=False):
    """How a cluster restarts machines. What its own system does not say is absent. It changes a simulation only
    with a `policy`.
    """

    enabled: bool
    """Whether machines of a failed host are restarted."""
    admission: bool
    """Whether machines that would take what a failure needs are not powered on (admission control)."""
    failures: int
    """Failures of hosts that admission control keeps room for."""
    policy: RestartPolicy
    """Who restarts machines, and when. Without one, or with `enabled: false`, nothing is restarted, and the
    machines of a host that returns go on there.
    """
    detection: Duration
    """Time from a failure until the first restart begins. Default: that of the policy. A quantity such as
    `20ms`.
    """
    primary: str
    """The host that watches over the others (FDM's primary), by name: it takes longer to notice that this one
    has failed. Default: none, every failure is that of another host.
    """
    boot: Duration
    """Time from power-on until a machine serves again: firmware, operating system, application. Default: 60 s,
    a supposition. A quantity such as `20ms`.
    """
    admission_policy: AdmissionPolicy
    """How admission control counts: by `slots`, or keeping a `percentage` of capacity. Default: `slots`."""
    admission_pct: float
    """What a `percentage` keeps of CPU and memory. Default: `failures` over the number of hosts."""


RestartPolicy: TypeAlias = Literal["fdm", "proxmox", "masakari"]
"""Who restarts machines of a failed host."""


AdmissionPolicy: TypeAlias = Literal["slots", "percentage"]
"""How admission control counts."""


class Balancing(TypedDict, total=False):
    """How a cluster moves machines between its hosts."""

    policy: BalancingPolicy
    """By whose rules."""
    period: Duration
    """How often. Default: that of the policy. A quantity such as `20ms`."""
    threshold: int
    """From 1, only what rules ask for, to 5, any gain."""


BalancingPolicy: TypeAlias = Literal["drs-6", "drs-7", "watcher"]
"""Rules by which a cluster moves machines."""


class MeasuredCluster(TypedDict, total=False):
    """Measured figures of a cluster's machines together, added up at the same moments: their peaks may or may
    not coincide. They do not change a simulation.
    """

    at: str
    """When it was measured, as ISO 8601 writes dates and times; of a series, its end."""
    over: Duration
    """Time that the CPU figures cover. Absent: one moment. A quantity such as `20ms`."""
    counter: str
    """The counter or column that the CPU figures are from, as its source calls it."""
    cpu_mhz: float
    """CPU that its machines used or wanted together, in MHz of a core: the mean."""
    cpu_p95_mhz: float
    """Its 95th percentile over time."""
    cpu_peak_mhz: float
    """Its highest value."""
    memory_consumed: Bytes
    """Memory of its hosts that the machines occupy together: the mean. A quantity such as `64GiB`."""
    memory_consumed_peak: Bytes
    """Its highest value. A quantity such as `64GiB`."""


Bytes: TypeAlias = str | int
"""An amount of memory: a number and one of B, KiB, MiB, GiB, TiB, PiB (powers of 1,024) or kB, MB, GB, TB, PB
(powers of 1,000). A bare 0 needs no unit.
"""


class HostGroup(TypedDict, total=False):
    """`count` identical hosts. One host is named like its group, several are named `name-1`, `name-2` and so
    on.
    """

    label: str
    """Its name in its own system, where that differs: what telemetry calls it. Of several, each has its number
    behind it.
    """
    cluster: str
    """The cluster that it is in, between whose hosts machines may move. Default: `default`."""
    count: int
    """How many such hosts; 0 takes the group away, and its machines go where there is room in its cluster."""
    sockets: int
    """Processor sockets; each is `nodes_per_socket` NUMA nodes."""
    cores_per_socket: int
    """Physical cores of one socket."""
    nodes_per_socket: int
    """NUMA nodes of one socket: 1, or more as the firmware divides it (AMD NPS, Intel sub-NUMA clustering).
    They divide its cores evenly.
    """
    l3_per_node: int
    """Last-level caches of one NUMA node: several where cores share them by groups (AMD core complexes). They
    divide its cores evenly. What wakes looks for a core beside its last cache first; crossing caches costs
    nothing.
    """
    threads_per_core: int
    """Hardware threads of one core: 2 with hyper-threading (SMT) on, 1 with it off."""
    clock: Frequency
    """Nominal clock. A quantity such as `2.5GHz`."""
    turbo: Frequency
    """Clock that all cores sustain when busy; at least `clock`, which is the default. A quantity such as
    `2.5GHz`.
    """
    memory_per_node: Bytes
    """Memory of one NUMA node. A quantity such as `64GiB`."""
    hypervisor_memory: Bytes
    """Memory that the hypervisor itself and its services occupy, storage among them, so that VMs cannot have
    it. Default: what is published of its pools: 4 GiB for each OSD of Ceph, VMware's formula for vSAN OSA; else
    nothing. A quantity such as `64GiB`.
    """
    swap: SwapDevice
    """Where it swaps to when memory runs out. Default: one `sata-ssd`."""
    reclamation: Reclamation
    """What it does when memory runs short."""
    migration: Migration
    """How machines migrate from it and to it."""
    hypervisor: Hypervisor
    """Hypervisor and version: sets the scheduler and its parameters."""
    smt_yield: float
    """Work that two busy threads of one core do, over the work of one thread alone."""
    memory_system: MemorySystem
    """Speed of memory: matters to workloads with `memory_traffic` or `memory_intensity`."""
    scheduler: SchedulerOptions
    """Parameters of the CPU scheduler that differ from the version's defaults."""
    overhead: HypervisorOverhead
    """CPU that the hypervisor itself uses on behalf of virtual machines."""
    adapters: Adapters
    """Ports to storage arrays; of use to machines with an `array`."""
    network: Network
    """Ports for the traffic of distributed storage; of use to its nodes and to machines with a `storage`."""
    processors: int
    """Physical processors, as licences count them, where they are not `sockets`. It does not change a
    simulation.
    """
    cpu_model: str
    """Model of the processor, as its own system calls it. It does not change a simulation."""
    hyper_threading_available: bool
    """Whether the processor has hyper-threading, on or off. It does not change a simulation: `threads_per_core`
    does.
    """
    power_policy: PowerPolicy
    """Power management: `high-performance` and `not-managed` keep idle CPUs from sleeping deeply, so that they
    wake sooner. Default: that of the hypervisor, `balanced`. The clock is up to `clock` and `turbo`.
    """
    evc: str
    """Generation of CPU that it shows to machines now (EVC), as its own system calls it. It does not change a
    simulation.
    """
    evc_most: str
    """The newest generation of CPU that it could show."""
    measured: MeasuredHost
    """What was measured of each such host."""


Frequency: TypeAlias = str | int
"""A clock frequency, or CPU cycles per second: a number and one of Hz, kHz, MHz, GHz, THz. A bare 0 needs no unit."""


class SwapDevice(TypedDict, total=False):
    """Where a host swaps to: disks that belong to it alone."""

    kind: DiskKind
    """What they are, in general; or say `device`."""
    device: str
    """What they are, by name: of `devices`, or of the table of drives."""
    count: int
    """How many."""
    size: Bytes
    """Size of all together; a host whose swap is full can take no more. Default: enough. A quantity such as
    `64GiB`.
    """
    latency: Duration
    """Time on the way to them and back: fabric, array. Default: none. A quantity such as `20ms`."""


DiskKind: TypeAlias = Literal["hdd-15k", "hdd-10k", "hdd-7.2k", "sata-ssd", "sas-ssd", "nvme"]
"""Kind of disk."""


class Reclamation(TypedDict, total=False):
    """What a host does when its memory runs short."""

    idle_tax_pct: float
    """ESXi `Mem.IdleTax`: what an idle page costs more than an active one, in per cent; at 75 four times as
    much. The tax is flat, as VMware published it first; later versions tax by the ratio of idle to active
    memory, and how is not published.
    """
    sample_period: Duration
    """How often active memory is estimated anew (ESXi `Mem.SamplePeriod`). A quantity such as `20ms`."""
    page_sharing: PageSharing
    """Between whose pages equal ones are shared. Default: on ESXi from 6.0 within one machine, before between
    all; on Linux none, since KSM is off.
    """
    balloon_most_pct: float
    """How much of a machine's memory a balloon takes at most, in per cent (ESXi `Mem.CtlMaxPercent`)."""
    compressed_most_pct: float
    """How much of a machine's memory its compressed pages may occupy, in per cent (ESXi `Mem.MemZipMaxPct`); 0
    turns compression off.
    """


PageSharing: TypeAlias = Literal["off", "within-vm", "between-vms"]
"""Between whose pages equal ones are shared."""


class Migration(TypedDict, total=False):
    """How machines migrate live from a host and to it. Of two hosts the slower link counts; all else is the
    source's.
    """

    link: Bandwidth
    """Link for migrations, in each direction; all migrations of the host share it. A quantity such as `40GB/s`."""
    stream: Bandwidth
    """What one stream of one migration sends at most: what a core copies. A quantity such as `40GB/s`."""
    streams: int
    """Streams of one migration. Default: on ESXi from 7.0 U2 as many as fill the link, else 1."""
    concurrent: int
    """Migrations from and to the host at a time. Default: ESXi 4 on links below 10 Gb/s, else 8; Linux 1."""
    downtime: Duration
    """Longest time that a machine may stand still for its last pages. Default: ESXi 500 ms, Linux 300 ms. A
    quantity such as `20ms`.
    """
    setup: Duration
    """Time before the first page is sent: connection, checks, devices. A quantity such as `20ms`."""
    resume: Duration
    """Time between the last page and the first instruction on the new host. A quantity such as `20ms`."""
    convergence: Convergence
    """What happens to a machine that writes faster than it can be sent. Default: ESXi `slow-down` (SDPS), Linux
    `nothing`.
    """
    throttle_initial_pct: float
    """First slow-down of `auto-converge`, in per cent."""
    throttle_step_pct: float
    """By how much it slows down further each time."""
    timeout: Duration
    """When a migration that does not end is given up. Default: never. A quantity such as `20ms`."""


Bandwidth: TypeAlias = str | int
"""An amount of data per second: a number and one of B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, or in bits
kb/s, Mb/s, Gb/s, Tb/s. A bare 0 needs no unit.
"""


Convergence: TypeAlias = Literal["nothing", "slow-down", "auto-converge", "post-copy"]
"""What happens to a machine that writes faster than it can be sent."""


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
    """What the memory of one NUMA node delivers at most to all cores together. A quantity such as `40GB/s`."""
    interconnect_bandwidth: Bandwidth
    """What the NUMA nodes of one socket can draw at most from the memory of one other socket. A quantity such
    as `40GB/s`.
    """
    remote_latency_factor: float
    """Time of an access to another socket's memory over that of an access to the own node's."""
    socket_latency_factor: float
    """Time of an access to the memory of another NUMA node of the same socket over that of an access to the own
    node's; of use where `nodes_per_socket` is more than 1.
    """
    page_migration: Bandwidth
    """How fast the pages of a NUMA client follow it to a new home node (ESXi). A quantity such as `40GB/s`."""


class SchedulerOptions(TypedDict, total=False):
    """Parameters of the hypervisor's CPU scheduler. What is absent has the version's default; a key of the
    other family of hypervisors is a mistake.
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
    """ESXi `Cpu.CoschedPollUsec`: how often the lead is looked at. A quantity such as `20ms`."""
    ht_whole_core_threshold: Duration
    """ESXi `Cpu.HTWholeCoreThreshold`: how far behind its entitlement a vCPU must be to claim a whole core. A
    quantity such as `20ms`.
    """
    ht_rebalance_period: Duration
    """ESXi `Cpu.HTRebalancePeriod`: load balancing between the threads of a core. A quantity such as `20ms`."""
    numa_rebalance_period: Duration
    """ESXi `Numa.RebalancePeriod`: how often the NUMA scheduler looks at home nodes. A quantity such as `20ms`."""
    numa_imbalance_threshold_pct: float
    """ESXi `Numa.MigImbalanceThreshold`: difference of load between nodes from which a NUMA client moves, in
    per cent.
    """
    numa_action_affinity_weight: int
    """ESXi `Numa.LocalityWeightActionAffinity`: attraction between NUMA clients that belong together. Over 100
    it outweighs balance between nodes; 0 turns it off.
    """
    numa_load_error_pct: float
    """ESXi: how far a node's load at power-on, as the NUMA scheduler remembers it, differs at random from its
    true load: a standard deviation in per cent of the node's cores. Default: 0, every power-on places alike.
    """
    base_slice: Duration
    """Linux EEVDF `base_slice_ns`: how long a task runs before its virtual deadline moves. A quantity such as
    `20ms`.
    """
    tick: Duration
    """Linux: period of the tick (1 / `CONFIG_HZ`), at which a slice that is over ends. A quantity such as
    `20ms`.
    """
    balance_interval: Duration
    """Linux: least interval of load balancing between run queues; a busy CPU balances after sixteen. By default
    1 ms for each logical CPU of a domain (core, last-level cache, host), at least a tick. A quantity such as
    `20ms`.
    """
    core_scheduling: CoreScheduling
    """Which worlds may run on the two hardware threads of a core at the same time: `off` any; `sca-v1` (ESXi
    5.5 and later) one world per core; `sca-v2` (ESXi 6.7 and later) vCPUs of one VM; `linux` (Linux) threads of
    one VM.
    """


CoreScheduling: TypeAlias = Literal["off", "sca-v1", "sca-v2", "linux"]
"""Which worlds may run on the two hardware threads of a core at the same time."""


class HypervisorOverhead(TypedDict, total=False):
    """CPU that the hypervisor itself uses on behalf of virtual machines: VMkernel worlds (ESXi), or vhost and
    I/O threads (KVM).
    """

    worlds_per_vm: int
    """Helper worlds or threads beside each virtual machine."""
    cpu_per_io: Duration
    """Hypervisor work for one I/O, at the nominal clock. A quantity such as `20ms`."""
    guest_work_pct: float
    """How much longer the work of a virtual machine takes on its vCPUs than on the same processor without a
    hypervisor, in per cent: nested page tables, exits.
    """
    activity_pct: float
    """CPU of the helper worlds, in per cent of the CPU of the virtual machine's vCPUs."""
    interrupt_share_pct: float
    """Part of `cpu_per_io`, in per cent, that runs as an interrupt on the vCPU's logical CPU (System and
    Overlap).
    """


class Adapters(TypedDict, total=False):
    """Ports by which a host reaches arrays, and how many commands it keeps outstanding. The defaults are two
    ports of 8 Gb Fibre Channel.
    """

    ports: int
    """Ports in all; LUN n uses port n modulo this number."""
    bandwidth: Bandwidth
    """Payload that one port carries in each direction. A quantity such as `40GB/s`."""
    command: Duration
    """Shortest time that one command occupies a port, however small. A quantity such as `20ms`."""
    depth: int
    """Commands outstanding on one port."""
    latency: Duration
    """Fabric between host and array: the way there and back, without transfer times. A quantity such as `20ms`."""
    lun_depth: int
    """Commands that the host keeps outstanding on one LUN."""
    dsnro: int
    """`DSNRO` (ESXi Disk.SchedNumReqOutstanding): commands of one machine outstanding on a LUN that several
    machines share.
    """


class Network(TypedDict, total=False):
    """Network ports of a host for the traffic of pools. The default is two ports of 10 Gb Ethernet."""

    ports: int
    """Ports in all; every pair of hosts uses one of them."""
    bandwidth: Bandwidth
    """Payload that one port carries in each direction. A quantity such as `40GB/s`."""
    latency: Duration
    """Time of a message to another host without its transfer: network stacks and switches. A quantity such as
    `20ms`.
    """


PowerPolicy: TypeAlias = Literal["high-performance", "balanced", "low-power", "custom", "not-managed"]
"""How a host trades speed for energy."""


class MeasuredHost(TypedDict, total=False):
    """Measured figures of one host. They do not change a simulation."""

    at: str
    """When it was measured, as ISO 8601 writes dates and times; of a series, its end."""
    over: Duration
    """Time that the CPU figures cover. Absent: one moment. A quantity such as `20ms`."""
    counter: str
    """The counter or column that the CPU figures are from, as its source calls it."""
    cpu_usage_pct: float
    """CPU used, in per cent of cores times nominal clock: the mean, or the figure of the moment."""
    cpu_p95_pct: float
    """Its 95th percentile over time."""
    cpu_peak_pct: float
    """Its highest value."""
    memory_usage_pct: float
    """Memory used, in per cent of what the host has."""
    ballooned: Bytes
    """Memory that its hypervisor has taken back from machines by ballooning. A quantity such as `64GiB`."""
    swapped: Bytes
    """Memory of machines that its hypervisor has swapped out. A quantity such as `64GiB`."""


class VmGroup(TypedDict, total=False):
    """`count` identical virtual machines. One is named like its group, several are named `name-1`, `name-2` and
    so on.
    """

    label: str
    """Its name in its own system, where that differs: what telemetry calls it. Of several, each has its number
    behind it.
    """
    count: int
    """How many such machines; 0 leaves the group out."""
    vcpus: int
    """Virtual CPUs of one machine; at most the logical CPUs of its host."""
    cores_per_socket: int
    """Cores of one virtual socket; divides `vcpus`. On ESXi it shapes the virtual NUMA nodes, before 6.5 as one
    node per socket of more than one core. Default: 1, or what ESXi 8.0 chooses at power-on.
    """
    memory: Bytes
    """Memory of one machine; at most its host's. A quantity such as `64GiB`."""
    memory_touched: Bytes
    """How much of `memory` the machine has touched, so that it occupies its host's memory. Default: all of it.
    A quantity such as `64GiB`.
    """
    memory_active: Bytes
    """How much of its touched memory the machine uses again and again, so that it misses what of it is taken
    away. Default: all of it. A quantity such as `64GiB`.
    """
    memory_zero_pct: float
    """How much of its touched memory is pages of zeros, in per cent: what page sharing frees at once, and what
    a migration does not send.
    """
    memory_compressible_pct: float
    """How many of its pages compress to half their size or less, in per cent, so that ESXi compresses them
    instead of swapping them out.
    """
    memory_shares: MemoryShares
    """Memory shares: what the machine keeps beside others when there is not enough. `low`, `normal` and `high`
    are 5, 10 and 20 per MiB of `memory`; a number is for the whole machine.
    """
    memory_reservation: Bytes
    """Memory that is never taken from one machine; a host's machines cannot reserve more than it has. At most
    `memory`. A quantity such as `64GiB`.
    """
    memory_limit: Bytes
    """Host memory that one machine never exceeds; at least `memory_reservation`. What it touches beyond it is
    reclaimed. Default: none. A quantity such as `64GiB`.
    """
    huge_pages: bool
    """Whether its memory is backed by huge pages that the host never takes back: hugetlbfs on Linux, 1 GiB
    pages on ESXi, which ask for a full `memory_reservation`.
    """
    balloon: bool
    """Whether the host can make the guest give memory back (ballooning). Default: on ESXi yes, on Linux no."""
    restart_priority: RestartPriority
    """When it is restarted after its host has failed, beside others: a class waits for those before it."""
    cpu_hot_add: bool
    """ESXi CPU hot-add: vCPUs can be added while the machine runs. It hides virtual NUMA, unless
    `numa.expose_on_cpu_hot_add` is set.
    """
    numa: NumaOptions
    """Virtual NUMA: which nodes the guest sees."""
    shares: Shares
    """CPU shares: what the machine gets beside others when there is not enough. `low`, `normal` and `high` are
    500, 1000 and 2000 per vCPU; a number is for the whole machine.
    """
    reservation: Frequency
    """CPU that one machine is sure to get when it wants it; a host's machines cannot reserve more than it has.
    For ESXi hosts: Linux cgroups have no CPU reservation. A quantity such as `2.5GHz`.
    """
    limit: Frequency
    """CPU that one machine never exceeds; at least `reservation`. Default: none. A quantity such as `2.5GHz`."""
    cluster: str
    """The cluster on whose hosts it may be. Default: that of its `host`; without a `host`, any."""
    host: str
    """Name of a host, or of a group of hosts to spread over. Default: spread over all hosts of its cluster, or
    over those that the `deployment` of its `storage` allows.
    """
    host_is_guess: bool
    """Whether `host` is a guess: its own system does not say where it is. Advice does not judge its place."""
    affinity: str
    """Logical CPUs the machine may run on, such as `0-11,24`. Thread t of core c of socket s is number (s *
    cores_per_socket + c) * threads_per_core + t. Default: all.
    """
    storage_appliance: bool
    """Whether it serves storage to its host (a Nutanix CVM, a ScaleIO SVM), so that its CPU is what the storage
    layer costs.
    """
    guest: GuestSystem
    """The guest operating system."""
    workload: str
    """What runs in the machine: a key of `workloads`."""
    load: float
    """Multiplies the population or the arrival rate of the workload."""
    load_steps: Sequence[LoadStep]
    """A further factor on `load` over time; before the first step it is 1."""
    array: str
    """The array that has its virtual disks: a key of `arrays`. Default: none, I/O is a delay of the workload."""
    storage: str
    """The distributed storage that has its virtual disks, instead of an `array`: a key of `storage`."""
    policy: str
    """How its virtual disks are kept there: a key of the pool's `policies`. Default: by the pool's
    `redundancy`.
    """
    vdisk_policies: Sequence[str]
    """The same for each of its virtual disks, instead of `policy`: they are dealt to the virtual disks in turn,
    the first to the first, and over again. At most as many as virtual disks.
    """
    controller: ControllerKind
    """Kind of virtual storage controller. Default: `pvscsi` on ESXi, `virtio-scsi` on Linux; without a
    hypervisor the host's own, which is `passthrough`.
    """
    controllers: int
    """Virtual storage controllers."""
    vdisks: int
    """Virtual disks in all, dealt to the controllers in turn; at most 15 on each. Default: 10 on each. Of a
    workload that copies: those at each end; by default half of 10 on each.
    """
    vdisk_depth: int
    """Requests outstanding on one virtual disk. Default and maximum: 64 and 254 for `pvscsi`, 32 and 32 for
    `lsi-sas`, 128 and 256 for `virtio-scsi` and `vhost-scsi`, 256 and 256 for `virtio-blk` and `vhost-blk`, 256
    and 1024 for `nvme` and `passthrough`, 32 and 32 for `ahci`, 1 for `ide`.
    """
    ring_pages: int
    """Pages of a `pvscsi` controller's ring, 32 requests each. Default: 8."""
    queues: int
    """Queues of one controller, between which its vCPUs are divided: what several threads can serve side by
    side. Default: 1 on ESXi, one for each vCPU elsewhere.
    """
    io_threads: int
    """QEMU: threads that serve the queues of one controller (`iothread-vq-mapping` where several); 0: its main
    loop, which serves all controllers of the machine. Default: 1.
    """
    disk_cache: DiskCache
    """QEMU: whose caches the data of its virtual disks pass."""
    aio: AsyncIo
    """QEMU: how it asks the kernel for I/O."""
    shared_luns: bool
    """Whether its virtual disks are dealt in turn to the array's `luns`, where other machines may be too,
    instead of each having a LUN of its own.
    """
    measured: MeasuredVm
    """What was measured of each such machine."""


MemoryShares: TypeAlias = str | int
"""Memory shares of a virtual machine: what it keeps beside others when there is not enough. low, normal and high
are 5, 10 and 20 per MiB of its memory; a number is for the whole machine.
"""


RestartPriority: TypeAlias = Literal["highest", "high", "medium", "low", "lowest", "disabled"]
"""When a virtual machine is restarted, beside others."""


class NumaOptions(TypedDict, total=False):
    """What is absent has the version's default; a key that the hypervisor does not have is a mistake."""

    prefer_ht: bool
    """ESXi `numa.vcpu.preferHT`: hardware threads count as room for vCPUs, instead of cores."""
    follow_cores_per_socket: bool
    """ESXi `numa.vcpu.followcorespersocket` (6.5 and later): one virtual node per virtual socket of more than
    one core, as before 6.5.
    """
    vcpu_min: int
    """ESXi `numa.vcpu.min`: vCPUs from which the guest may see several nodes; 9 by default."""
    max_per_virtual_node: int
    """ESXi `numa.vcpu.maxPerVirtualNode`: the vCPUs are split evenly over the fewest nodes of at most this
    many.
    """
    cores_per_node: int
    """ESXi 8.0 and later, `coresPerNumaNode`: vCPUs of one virtual node, set by hand."""
    expose_on_cpu_hot_add: bool
    """ESXi 8.0 and later, `exposeVnumaOnCpuHotadd`: the guest sees its nodes with CPU hot-add too."""
    sized_on: SizedOn
    """ESXi before 8.0: the host on which the machine was first powered on, which fixed its virtual nodes
    (`numa.autosize.once`). Default: its present host.
    """
    cells: Sequence[int]
    """Linux (libvirt `<numa><cell>`): vCPUs of each virtual node; in all as many as `vcpus`. Default: one node."""
    nodes: Sequence[int]
    """Linux (libvirt `<memnode>` and `<vcpupin>`): the host's NUMA node, from 0, to which each of `cells` is
    bound. Default: not bound.
    """


class SizedOn(TypedDict, total=False):
    """Processors of a host."""

    sockets: int
    """Its sockets, each one NUMA node."""
    cores_per_socket: int
    """Physical cores of one socket."""


Shares: TypeAlias = str | int
"""CPU shares of a virtual machine: what it gets beside others when there is not enough. low, normal and high are
500, 1000 and 2000 per vCPU; a number is for the whole machine.
"""


class GuestSystem(TypedDict, total=False):
    """The guest operating system: it multiplexes processes over the virtual CPUs."""

    kind: GuestKind
    """What it is: sets what its storage drivers cost. Default: what the driver's published figures are of."""
    time_slice: Duration
    """How long a process runs while others wait for its vCPU. A quantity such as `20ms`."""


GuestKind: TypeAlias = Literal["linux", "windows"]
"""A family of guest operating systems."""


class LoadStep(TypedDict, total=False):
    """From a moment on, the load is `factor` times `load`."""

    at: Duration
    """When, counted from the start of the run, warm-up included. Steps are in order of time. A quantity such as
    `20ms`.
    """
    factor: float
    """The factor from then on."""


ControllerKind: TypeAlias = Literal[
    "pvscsi", "lsi-sas", "virtio-scsi", "virtio-blk", "nvme", "ide", "ahci", "vhost-blk", "vhost-scsi", "passthrough"
]
"""Kind of virtual storage controller."""


DiskCache: TypeAlias = Literal["none", "writeback", "writethrough", "directsync", "unsafe"]
"""What QEMU does with a disk's data on the host."""


AsyncIo: TypeAlias = Literal["native", "io_uring", "threads"]
"""How QEMU asks the kernel for I/O."""


class MeasuredVm(TypedDict, total=False):
    """Measured figures of one machine. They do not change a simulation: its demand is `workload` and `load`."""

    at: str
    """When it was measured, as ISO 8601 writes dates and times; of a series, its end."""
    over: Duration
    """Time that the CPU figures cover. Absent: one moment. A quantity such as `20ms`."""
    counter: str
    """The counter or column that the CPU figures are from, as its source calls it."""
    cpu_mhz: float
    """CPU that it used or wanted, in MHz of a core: the mean, or the figure of the moment."""
    cpu_p95_mhz: float
    """Its 95th percentile over time."""
    cpu_peak_mhz: float
    """Its highest value."""
    ready_pct: float
    """Time that its vCPUs were ready but not running, in per cent of each vCPU."""
    memory_consumed: Bytes
    """Memory of the host that it occupies. A quantity such as `64GiB`."""
    memory_active: Bytes
    """Memory that it has touched lately, as its hypervisor estimates it. A quantity such as `64GiB`."""
    ballooned: Bytes
    """Memory that the hypervisor has taken back from it by ballooning. A quantity such as `64GiB`."""
    swapped: Bytes
    """Memory of it that the hypervisor has swapped out. A quantity such as `64GiB`."""
    storage_provisioned: Bytes
    """Space that its virtual disks may grow to, with what belongs to them. A quantity such as `64GiB`."""
    storage_used: Bytes
    """Space that it occupies on its datastores. A quantity such as `64GiB`."""
    storage_in_guest: Bytes
    """Space that its guest believes to use, summed over its file systems. A quantity such as `64GiB`."""
    snapshots: Bytes
    """Space that its snapshots occupy. A quantity such as `64GiB`."""
    snapshot_count: int
    """How many snapshots it has."""
    oldest_snapshot: str
    """When the oldest of its snapshots was made, as ISO 8601 writes dates and times."""


class Workload(TypedDict, total=False):
    """What the processes in a virtual machine do. A transaction is `bursts` rounds of one CPU burst followed by
    one delay.
    """

    arrivals: Arrivals
    """Where transactions come from."""
    bursts: int
    """Rounds of CPU burst and delay in one transaction."""
    cpu: Service
    """CPU work of one transaction, split evenly over its bursts."""
    transaction_cv: float
    """How much transactions differ in size: the coefficient of variation of how many rounds of CPU and I/O one
    has, of `bursts` on average. Its whole `delay` stays as it is. `cpu.cv` and `delay.cv` vary each burst by
    itself.
    """
    reference_clock: Frequency
    """Clock at which `cpu` and `memory_intensity` were measured. Rates per second of CPU time are of the host
    at its nominal clock. Default: the host's nominal clock. A quantity such as `2.5GHz`.
    """
    delay: Service
    """Delay of one transaction, split evenly over its bursts: locks, device and network time, which contention
    for CPU does not stretch. Default: none.
    """
    ios: float
    """I/Os of one transaction. Without an `array` or `storage` each costs the hypervisor `overhead.cpu_per_io`,
    and its time is part of `delay`. With one, those of a burst go down the path to it together, and `delay`
    follows when the last is back.
    """
    block: Bytes
    """Size of an I/O. A quantity such as `64GiB`."""
    block_mix: Sequence[BlockShare]
    """Other sizes, and how many of the I/Os have them; the rest have `block`."""
    read_pct: float
    """Reads among the I/Os, in per cent; the others write."""
    random_pct: float
    """I/Os to random places, in per cent; the others are sequential and cost a disk no positioning."""
    sync_pct: float
    """Writes that are acknowledged only when they are on stable media, in per cent: O_DSYNC, or a flush after
    each.
    """
    read_from: str
    """Copies: what each I/O reads, a key of `arrays` or `storage`; it is then written to `write_to`. For a
    backup, a clone, a move to other storage. With `arrivals.io`, whose I/Os are then outstanding on each
    virtual disk that is read; half of `cpu` is for the read, half for the write. Sequential I/Os are so at both
    ends. Default, if `write_to` is there: the machine's own.
    """
    write_to: str
    """Copies: where each I/O is written that was read from `read_from`. Default, if that is there: the
    machine's own.
    """
    working_set: Bytes
    """What one virtual disk's I/Os are spread over: decides how many hit the array's cache. Of a copy: what is
    copied, and there at both ends. A quantity such as `64GiB`.
    """
    smt_yield: float
    """Work that two busy threads of one core do for it, over the work of one thread alone. Default: the host's
    `smt_yield`.
    """
    scaling: Scaling
    """What more vCPUs lose inside one guest. Default: nothing."""
    wake_up: Duration
    """Time from an event that wakes an idle vCPU until it computes, where a logical CPU is idle, too: leaving
    its idle state, interrupt, switch to vCPU and process. It is ready time, and no CPU work. Default: 7 to 46
    us, by the host's `power_policy` and by how long its core was idle. A quantity such as `20ms`.
    """
    memory_intensity: float
    """Part of CPU time that waits for memory, which a faster clock does not shorten."""
    memory_traffic: Bandwidth
    """What one process moves to and from memory while it computes, alone on its core, with all memory local and
    to itself. Default: too little to matter. A quantity such as `40GB/s`.
    """
    shared_core_traffic: float
    """By what factor `memory_traffic` for the same work grows while two threads share a core and its caches."""
    dirty_rate: Bandwidth
    """Memory that one second of CPU time writes to for the first time since it was last sent: what live
    migration has to send again. The default is a supposition. A quantity such as `40GB/s`.
    """
    written_set: Bytes
    """Memory that is written to again and again: the most that `dirty_rate` makes of it. Default: the machine's
    active memory. A quantity such as `64GiB`.
    """
    page_rate: Rate
    """Pages of 4 KiB of its active memory that one second of CPU time uses, spread evenly over it: how often it
    misses what the host has taken away. The default is a supposition: a database reads 10,000 buffers of 8 KiB
    a second and core. A quantity such as `120/s`.
    """
    unit: str
    """Name of one unit of the application's own work."""
    units_per_transaction: float
    """Units of the application's own work in one transaction."""
    fio: str
    """A fio job file, and after `#` one of its jobs, that this is the workload of; other keys win over it."""


class Arrivals(TypedDict, total=False):
    """Where transactions come from: exactly one of `closed`, `open`, `parallel` and `io`."""

    closed: ArrivalsClosed
    """A fixed population of sessions, each of which thinks between transactions."""
    open: ArrivalsOpen
    """Transactions that arrive whatever happens to earlier ones."""
    parallel: ArrivalsParallel
    """One process on each vCPU, all of which work on one transaction after another. A transaction's `cpu` is
    divided evenly among the vCPUs, each vCPU's part into `bursts`, and a process that is done helps within its
    part; the next transaction begins when every part is done.
    """
    io: ArrivalsIo
    """An I/O generator such as Iometer or fio: workers that keep I/Os outstanding and do nothing else. A
    transaction is one I/O; `cpu` is what the generator computes for it, beside the guest's driver. Needs an
    `array` or a `storage`.
    """


class ArrivalsClosed(TypedDict, total=False):
    """A fixed population of sessions, each of which thinks between transactions."""

    population: int
    """Sessions of one virtual machine at load 1."""
    think: Service
    """Time between the answer and the next transaction. Default: none."""


class Service(TypedDict, total=False):
    """A random length of time, by mean and coefficient of variation."""

    mean: Duration
    """Mean. A quantity such as `20ms`."""
    cv: float
    """Standard deviation over mean: 0 is constant, 1 exponential."""


class ArrivalsOpen(TypedDict, total=False):
    """Transactions that arrive whatever happens to earlier ones."""

    rate: Rate
    """Arrivals at one virtual machine at load 1; above 0. A quantity such as `120/s`."""
    cv: float
    """Coefficient of variation of the time between arrivals: 1 is Poisson, 0 is a metronome."""


Rate: TypeAlias = str | int
"""How often something happens: a number and one of /s, /min, /h. A bare 0 needs no unit."""


class ArrivalsParallel(TypedDict, total=False):
    """One process on each vCPU, all of which work on one transaction after another. A transaction's `cpu` is
    divided evenly among the vCPUs, each vCPU's part into `bursts`, and a process that is done helps within its
    part; the next transaction begins when every part is done.
    """

    parts: Parts
    """What is divided evenly and not helped out between."""


Parts: TypeAlias = Literal["node", "vcpu"]
"""Parts into which a parallel transaction is divided."""


class ArrivalsIo(TypedDict, total=False):
    """An I/O generator such as Iometer or fio: workers that keep I/Os outstanding and do nothing else. A
    transaction is one I/O; `cpu` is what the generator computes for it, beside the guest's driver. Needs an
    `array` or a `storage`.
    """

    outstanding: int
    """I/Os outstanding on each virtual disk at load 1, all workers together."""
    workers: int
    """Threads that issue them, each an equal part on every disk. Default: one for each vCPU."""
    rate: Rate
    """I/Os that one machine issues per second at most, evenly spaced, at load 1. Default: no limit. A quantity
    such as `120/s`.
    """


class BlockShare(TypedDict, total=False):
    """A part of a workload's I/Os that has a size of its own."""

    block: Bytes
    """Size of these I/Os. A quantity such as `64GiB`."""
    share_pct: float
    """How many of all I/Os they are."""


class Scaling(TypedDict, total=False):
    """The universal scalability law: with N vCPUs busy the work of a transaction is 1 + contention (N - 1) +
    coherency N (N - 1) times that with one.
    """

    contention: float
    """Waiting for what only one can have at a time: locks, latches, queues."""
    coherency: float
    """Making what one wrote known to each other one: caches, versions."""


class Device(TypedDict, total=False):
    """A model of drive, as its data sheet describes it. What is not said is as for its `kind`."""

    kind: DiskKind
    """What it is."""
    capacity: Bytes
    """User's capacity, as the data sheet's figures are for. A quantity such as `64GiB`."""
    random_read: Rate
    """Flash: random reads of 4 KiB per second, with many outstanding. A quantity such as `120/s`."""
    random_write: Rate
    """Flash: random writes of 4 KiB per second that it sustains, with all of its capacity written. A quantity
    such as `120/s`.
    """
    sequential_read: Bandwidth
    """Reads in sequence. A quantity such as `40GB/s`."""
    sequential_write: Bandwidth
    """Writes in sequence that it sustains. A quantity such as `40GB/s`."""
    read_latency: Duration
    """Flash: one random read of 4 KiB with nothing else outstanding. A quantity such as `20ms`."""
    write_latency: Duration
    """Flash: one write of 4 KiB with nothing else outstanding, acknowledged from its buffer. A quantity such as
    `20ms`.
    """
    depth: int
    """Operations that it takes at a time."""
    power_loss_protection: bool
    """Flash: whether capacitors keep its buffer when power fails, so that a flush has nothing to do. Default:
    yes.
    """
    flush: Duration
    """Time of one flush, whatever was written before it. Default: none with `power_loss_protection`; without,
    as for drives of its kind. A quantity such as `20ms`.
    """
    over_provisioning_pct: float
    """Flash: what it has beyond its capacity, in per cent of that, which decides how much more than it is given
    it writes.
    """
    write_cache: WriteCache
    """Flash that takes writes faster until it is full (SLC cache of consumer drives). Default: none."""
    stalls: Stalls
    """Times in which it does nothing for anybody: collections, wear levelling. Default: none."""
    rpm: int
    """Hard disk: revolutions per minute. Default: of its kind."""
    seek_read: Duration
    """Hard disk: mean seek for a read. Default: of its kind. A quantity such as `20ms`."""
    seek_write: Duration
    """Hard disk: mean seek for a write. Default: `seek_read`. A quantity such as `20ms`."""
    dwpd: float
    """Whole capacities that may be written each day while it has warranty. It does not change a simulation."""
    source: str
    """Where its figures come from."""


class WriteCache(TypedDict, total=False):
    """Flash of a drive that takes writes faster than the rest of it, and is emptied while nobody writes."""

    size: Bytes
    """What it holds. A quantity such as `64GiB`."""
    write: Bandwidth
    """What it takes until it is full. A quantity such as `40GB/s`."""


class Stalls(TypedDict, total=False):
    """Times in which a drive does nothing for anybody."""

    written: Bytes
    """Bytes written between two, on average. A quantity such as `64GiB`."""
    length: Duration
    """How long one is. A quantity such as `20ms`."""


class StorageArray(TypedDict, total=False):
    """A storage array: front-end ports, a cache, and disks in RAID groups that all LUNs are spread over."""

    front_end_ports: int
    """Ports that hosts reach it by; LUN n uses port n modulo this number."""
    port_bandwidth: Bandwidth
    """Payload that one front-end port carries in each direction. Default: 800 MB/s, 8 Gb Fibre Channel. A
    quantity such as `40GB/s`.
    """
    protocol: Protocol
    """How hosts reach it."""
    paths: Paths
    """The paths of each LUN, and which of them an I/O takes."""
    port_command: Duration
    """Shortest time that one command occupies a front-end port, however small. A quantity such as `20ms`."""
    cache: ArrayCache
    """The cache."""
    raid: Raid
    """How disks protect each other: writes cost more disk operations."""
    disks: Disks
    """The disks."""
    luns: int
    """LUNs for machines with `shared_luns`. Default: as many as front-end ports."""


Protocol: TypeAlias = Literal["fc", "iscsi", "nvme-fc", "nvme-tcp", "nvme-rdma", "local"]
"""How hosts reach an array: what a command costs them, beside ports and fabric."""


class Paths(TypedDict, total=False):
    """Paths from a host to each LUN, and which of them an I/O takes."""

    per_lun: int
    """How many: path i of LUN n uses port n + i of the host and port n + i of the array, modulo their numbers."""
    optimised: int
    """How many of them, the first ones, lead to the controller that owns the LUN (ALUA: active, optimised). The
    others are used when none of these works. Default: all.
    """
    non_optimised_latency: Duration
    """What an I/O takes longer on a path that is not optimised. A quantity such as `20ms`."""
    policy: PathPolicy
    """Which of the paths that work an I/O takes."""
    iops_limit: int
    """`round-robin`: I/Os after which it takes the next path."""
    bytes_limit: Bytes
    """`round-robin`: bytes after which it takes the next path. A quantity such as `64GiB`."""
    timeout: Duration
    """How long an I/O on a path that has failed waits before it is sent on another. A quantity such as `20ms`."""
    plugin: Plugin
    """Multipathing of ESXi. Default: of the version and the protocol."""


PathPolicy: TypeAlias = Literal["fixed", "most-recently-used", "round-robin", "queue-length"]
"""Which path an I/O takes."""


Plugin: TypeAlias = Literal["nmp", "hpp"]
"""Multipathing of ESXi."""


class ArrayCache(TypedDict, total=False):
    """The cache of an array. A random read hits it with probability cache size / sum of the working sets on the
    array.
    """

    size: Bytes
    """Memory for user data; 0 turns the cache off, for writes too. A quantity such as `64GiB`."""
    latency: Duration
    """Time of the array's own work on a command: what a hit takes, without ports and fabric. A miss adds the
    disk. Default: 300 us; none for disks inside a host. A quantity such as `20ms`.
    """
    write_back: bool
    """Whether a write is acknowledged from the cache and reaches the disks later."""
    write_pending: Bytes
    """Written data that may wait for the disks; beyond it writes wait. At most 262,144 writes count, whatever
    their size. A quantity such as `64GiB`.
    """


Raid: TypeAlias = Literal["raid-0", "raid-1", "raid-5", "raid-6"]
"""RAID level."""


class Disks(TypedDict, total=False):
    """The disks of an array: a `kind` or a `device`."""

    kind: DiskKind
    """What they are, in general."""
    device: str
    """What they are, by name: of `devices`, or of the table of drives."""
    used_pct: float
    """Flash: how much of it is in use, in per cent: the rest helps it to collect. Default: all, as data sheets
    have it.
    """
    count: int
    """How many."""


class StoragePool(TypedDict, total=False):
    """Disks of a group of hosts, pooled by software that keeps copies or parity of everything on several of
    them.
    """

    kind: PoolKind
    """Which software it is, or resembles: sets how it works, and the defaults of other keys."""
    nodes: str
    """The hosts that have its disks and run its services: a key of `hosts`."""
    deployment: Deployment
    """Where the machines that use it run, unless their `host` says it: on its nodes, on all other hosts, or on
    any.
    """
    redundancy: Redundancy
    """What is kept of the data: `replicas-N`, or `replicas-N:M` (writes wait below M copies), or `ec-K+M` (K
    data and M parity fragments). `raid-1`, `raid-5` and `raid-6` are `replicas-2`, `ec-3+1` and `ec-4+2`.
    Default: `replicas-2` for a mirrored mesh and vSAN, `replicas-3:2` for a chunk store and Ceph.
    """
    policies: dict[str, StoragePolicy]
    """What machines may ask for instead of `redundancy`, by name: see `policy` of machines."""
    ceph: Ceph
    """What only Ceph has."""
    vsan: Vsan
    """What only vSAN has."""
    networks: PoolNetworks
    """Networks beside the one of the hosts."""
    failure_domain: FailureDomain
    """What never has more than one copy or fragment of the same data."""
    racks: int
    """Racks that its nodes are dealt to in turn."""
    chunk: Bytes
    """Unit of placement: what is together on one device. Default: 1 MiB for a mirrored mesh, 256 MiB for a
    chunk store, 4 MiB for Ceph, 255 GB for vSAN (a component). A quantity such as `64GiB`.
    """
    fragment: Bytes
    """Erasure coding: what one device has of one stripe (Ceph: `stripe_unit`). Default: 1 MiB; for Ceph 4 KiB,
    with `ec_optimizations` 16 KiB. A quantity such as `64GiB`.
    """
    coding: Bandwidth
    """Erasure coding: user's data that one core encodes at the clock of its host. Default: what ISA-L was
    measured to do. A quantity such as `40GB/s`.
    """
    write_path: WritePath
    """How copies of a write reach their devices. Fragments of erasure coding come from the client, but for
    Ceph's. Default: `primary` for Ceph, `client` for vSAN, else `chain`.
    """
    devices: PoolDevices
    """Disks of each node that hold the data."""
    more_devices: Sequence[PoolDevices]
    """Disks of other kinds that each node has beside these. Data are spread over all by capacity."""
    flushes: Flushes
    """When disks are told to flush what is in their buffers."""
    flash: PoolFlash
    """Flash of each node beside `devices`: a journal and a read cache. Default: none."""
    service: PoolService
    """The processes that serve the devices, on their nodes."""
    client: PoolClient
    """The driver on the hosts of the machines."""
    layer_latency: Duration
    """Added to the way between a node and a host that is none, there and back: what separate layers cost. A
    quantity such as `20ms`.
    """
    metadata_servers: int
    """Servers that know where everything is, on the first nodes; more than half of them must be up for repair,
    and for any I/O of a chunk store. Default: 3, or one on each node if there are fewer.
    """
    stored: Bytes
    """Data that the pool holds, without copies and parity. Default: the working sets of its virtual disks. A
    quantity such as `64GiB`.
    """
    rebuild: Rebuild
    """What happens after a failure."""
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


Deployment: TypeAlias = Literal["hci", "two-layer", "mixed"]
"""Where machines run beside their storage."""


Redundancy: TypeAlias = str
"""How a piece of data is spread over failure domains: replicas-N is N whole copies, replicas-N:M stops writes below
M copies (replicas-N: below 1), ec-K+M is K data and M parity fragments; raid-1, raid-5 and raid-6 are replicas-2,
ec-3+1 and ec-4+2.
"""


class StoragePolicy(TypedDict, total=False):
    """How data are kept that ask for it."""

    redundancy: Redundancy
    """What is kept of them."""
    fragment: Bytes
    """Erasure coding: what one device has of one stripe. Default: the pool's. A quantity such as `64GiB`."""


class Ceph(TypedDict, total=False):
    """A Ceph cluster. Each device is an OSD. What is not said is as its release ships it."""

    release: CephRelease
    """Its release: sets what operations cost of CPU, and the defaults of `scheduler`, `min_alloc` and shards."""
    client: CephClient
    """How machines reach it."""
    gateways: int
    """Nodes with a gateway, and threads (reactors) of each; with `client: gateway`."""
    reactors: int
    """Threads of one gateway that do I/O."""
    osds_per_device: int
    """OSDs on each device: what shards, messengers and committing threads are counted by."""
    messengers: int
    """Threads of an OSD that send and receive (`ms_async_op_threads`)."""
    shards: int
    """Queues of an OSD, to which its placement groups are dealt (`osd_op_num_shards`). Default: 8 on flash; 1
    on hard disks, 5 before Squid.
    """
    threads_per_shard: int
    """Threads of each of them (`osd_op_num_threads_per_shard`). Default: 2 on flash; 5 on hard disks, 1 before
    Squid.
    """
    cpu_factor: float
    """CPU of all its operations over what the table of releases has: other processors, other builds."""
    encrypt_disks: bool
    """Whether data are encrypted on devices (dm-crypt)."""
    encrypt_wire: bool
    """Whether messages are encrypted (msgr2 `secure`)."""
    min_alloc: Bytes
    """Smallest unit that BlueStore allocates. Default: 4 KiB; before Pacific 16 KiB on flash and 64 KiB on hard
    disks. A quantity such as `64GiB`.
    """
    deferred_below: Bytes
    """Writes smaller than this go to the log with their data, and to their place later
    (`bluestore_prefer_deferred_size`). Default: none on flash, 64 KiB on hard disks. A quantity such as
    `64GiB`.
    """
    ec_optimizations: bool
    """Erasure codes: reads of the fragments asked for alone, and writes without whole stripes
    (`allow_ec_optimizations`, from Tentacle on).
    """
    placement_groups: int
    """Placement groups. Default: about 100 on each device, as its autoscaler aims at, or 200 of all copies."""
    scheduler: CephScheduler
    """Who is served first on an OSD. Default: `mclock`; `wpq` before Quincy."""
    profile: MclockProfile
    """What mClock keeps for machines, and what for recovery."""
    device_iops: float
    """I/Os per second that mClock takes one device to be able to do. Default: 21,500 on flash, 315 on hard
    disks.
    """
    max_backfills: int
    """Placement groups that a device is backfilled with, and those that it is a source of, at a time
    (`osd_max_backfills`).
    """
    recovery_max_active: int
    """Objects that a device recovers at a time. Default: 10 on flash, 3 on hard disks."""
    recovery_sleep: Duration
    """WPQ: pause between objects. Default: none on flash, 100 ms on hard disks, 25 ms on hard disks with a log
    on flash. A quantity such as `20ms`.
    """
    deep_scrub: Duration
    """Deep scrub: in what time everything that the pool holds is read once (`osd_deep_scrub_interval`; Ceph
    ships with 7 d). Absent: there is none. A quantity such as `20ms`.
    """
    nearfull_pct: float
    """How full devices may be before it warns, in per cent (`mon_osd_nearfull_ratio`): what usable capacity is
    counted to.
    """


CephRelease: TypeAlias = Literal["luminous", "nautilus", "octopus", "pacific", "quincy", "reef", "squid", "tentacle"]
"""Release of Ceph."""


CephClient: TypeAlias = Literal["librbd", "krbd", "gateway"]
"""How machines reach Ceph."""


CephScheduler: TypeAlias = Literal["wpq", "mclock"]
"""Who is served first on an OSD."""


MclockProfile: TypeAlias = Literal["balanced", "high-client-ops", "high-recovery-ops"]
"""What mClock keeps for machines, and what for recovery."""


class Vsan(TypedDict, total=False):
    """A vSAN cluster."""

    architecture: VsanArchitecture
    """Where writes are acknowledged from."""
    destage_from_pct: float
    """OSA: how full the write buffer is when it begins to go to the capacity disks, in per cent."""
    adaptive_resync: bool
    """Whether devices that machines use give resynchronisation a fifth of their time (Adaptive Resync).
    Default: on hosts with esxi-6.7 or later.
    """
    witness: bool
    """Whether a witness has a vote on data of which there are two copies, on a host that has none of them."""


VsanArchitecture: TypeAlias = Literal["osa", "esa"]
"""Architecture of vSAN."""


class PoolNetworks(TypedDict, total=False):
    """Networks of a pool beside that of its hosts."""

    cluster: Network
    """Ports of each node for what nodes send to one another: copies, fragments, recovery. Default: those that
    clients use, too.
    """
    between_racks: RackLink
    """What lies between two racks, or sites if they are: a stretched cluster. Default: nothing."""


class RackLink(TypedDict, total=False):
    """What lies between two racks or sites."""

    latency: Duration
    """Of a message, there and back, beside that of the hosts' network. A quantity such as `20ms`."""
    bandwidth: Bandwidth
    """Payload between two racks in each direction. Default: no limit. A quantity such as `40GB/s`."""


FailureDomain: TypeAlias = Literal["disk", "host", "rack"]
"""What fails together."""


WritePath: TypeAlias = Literal["chain", "primary", "client"]
"""How the copies of a write reach their devices."""


class PoolDevices(TypedDict, total=False):
    """Disks of each node."""

    kind: DiskKind
    """What they are, in general; or say `device`."""
    device: str
    """What they are, by name: of `devices`, or of the table of drives."""
    used_pct: float
    """Flash: how much of it is in use, in per cent: the rest helps it to collect. Default: all, as data sheets
    have it.
    """
    per_node: int
    """How many in each node."""
    capacity: Bytes
    """Of one. A quantity such as `64GiB`."""
    random_write: Bandwidth
    """Flash: what one takes of small random writes for long, its own housekeeping included. Default: its data
    sheet's. A quantity such as `40GB/s`.
    """
    depth: int
    """Operations that the service keeps outstanding on one. Default: as many as it takes."""


Flushes: TypeAlias = Literal["as-asked", "always"]
"""When disks flush."""


class PoolFlash(TypedDict, total=False):
    """Flash of each node that holds no data for good."""

    kind: DiskKind
    """What it is, in general; or say `device`."""
    device: str
    """What it is, by name: of `devices`, or of the table of drives."""
    per_node: int
    """How many in each node."""
    capacity: Bytes
    """Of one. vSAN: what its write buffer and read cache share. A quantity such as `64GiB`."""
    random_write: Bandwidth
    """What one takes of small random writes for long, its own housekeeping included. Default: its data sheet's.
    A quantity such as `40GB/s`.
    """
    journal: Bytes
    """Journal of one node: writes are acknowledged from it, and reach the devices later; 0 turns it off. A
    quantity such as `64GiB`.
    """
    read_cache: Bytes
    """Cache of one node for what machines on it read; 0 turns it off. A random read hits it with probability
    size / working sets of the machines on the node. A quantity such as `64GiB`.
    """


class PoolService(TypedDict, total=False):
    """The processes that serve the devices of a node."""

    cpu_per_io: Duration
    """CPU of one device operation, at the host's nominal clock. Default: 20 us. Ceph has a table of its own:
    see `ceph.cpu_factor`. A quantity such as `20ms`.
    """
    core_bandwidth: Bandwidth
    """Payload that one core moves at nominal clock, on a service or a client: copies, checksums, packets. A
    quantity such as `40GB/s`.
    """
    threads: int
    """Threads of a node that share all of its operations. Default: each device has threads of its own."""
    threads_per_device: int
    """Threads of each device that share its operations (an OSD of Ceph has several); without `threads`."""
    limit_cpus: float
    """CPUs that the threads of one queue may use at most, as a container's limit says it: in every 100 ms so
    much, and then they wait. Default: no limit.
    """
    in_kernel: bool
    """Whether it is part of the hypervisor (vSAN) and does not wait for the time slices of machines, as a
    process or a virtual machine does (ScaleIO, Virtuozzo Storage, Ceph). Default: that of vSAN is, others are
    not.
    """


class PoolClient(TypedDict, total=False):
    """The driver on the hosts of the machines."""

    cpu_per_io: Duration
    """CPU of one I/O, at the host's nominal clock. Default: 10 us, and for Ceph what its `client` costs. A
    quantity such as `20ms`.
    """
    cache_cpu_per_io: Duration
    """CPU that its own cache adds to that (librbd), for machines whose `disk_cache` is one that uses it. A
    quantity such as `20ms`.
    """
    timeout: Duration
    """How long it waits for a node before it asks another. Default: 1 s; for Ceph 20 s, until an OSD is taken
    for dead (`osd_heartbeat_grace`); for vSAN 5 s. A quantity such as `20ms`.
    """


class Rebuild(TypedDict, total=False):
    """What happens after a failure: data are made anew on other devices, many to many."""

    delay: Duration
    """How long after a failure it begins, unless what failed returns before. Default: 5 s; for Ceph 10 min
    after it is taken for dead (`mon_osd_down_out_interval`); for vSAN 60 min. A quantity such as `20ms`.
    """
    node_bandwidth: Bandwidth
    """What one node reads, and what it writes, for it at most. Default: 500 MB/s; for Ceph and vSAN no limit
    but their schedulers. A quantity such as `40GB/s`.
    """
    streams: int
    """Placement groups that each node on average has in work at a time. Ceph has `ceph.max_backfills` instead."""
    unit: Bytes
    """What is read and written at a time. Default: 1 MiB; for Ceph 8 MiB (`osd_recovery_max_chunk`), and at
    most an object. A quantity such as `64GiB`.
    """


class PoweredOff(TypedDict, total=False):
    """A machine that is off, or a template: it uses storage, and could be started."""

    label: str
    """Its name in its own system, where that differs."""
    cluster: str
    """The cluster that it belongs to, if that is known."""
    template: bool
    """Whether it is a template, from which machines are made."""
    vcpus: int
    """Virtual CPUs."""
    memory: Bytes
    """Memory that it is configured with. A quantity such as `64GiB`."""
    storage_provisioned: Bytes
    """Space that its virtual disks may grow to. A quantity such as `64GiB`."""
    storage_used: Bytes
    """Space that it occupies on its datastores. A quantity such as `64GiB`."""


class Datastore(TypedDict, total=False):
    """Storage that holds virtual disks, as its own system counts it. It does not change a simulation: `arrays`
    and `storage` do.
    """

    label: str
    """Its name in its own system, where that differs."""
    clusters: Sequence[str]
    """The clusters whose hosts use it; none where that is not known."""
    hosts: int
    """Hosts that use it; absent where that is not known."""
    kind: str
    """What it is, as its own system calls it: VMFS, NFS, vsan, zfspool."""
    capacity: Bytes
    """Its size. A quantity such as `64GiB`."""
    free: Bytes
    """How much of it is free. A quantity such as `64GiB`."""
    provisioned: Bytes
    """How much its virtual disks may grow to, thin ones included. A quantity such as `64GiB`."""


class Failure(TypedDict, total=False):
    """Things that fail, at one moment."""

    at: Duration
    """When, counted from the start of the run, warm-up included. A quantity such as `20ms`."""
    fails: Sequence[str]
    """What fails together: a host (`node-2`), a disk of it (`node-2/disk-1`), its network (`node-2/link`), a
    port of a host or of an array (`esx-1/port-1`, `san/port-2`), a rack of a pool (`pool/rack-1`) or a metadata
    server (`pool/metadata-1`); numbers count from 1.
    """
    returns: Duration
    """When it is back, with its data. Default: never. A quantity such as `20ms`."""
    empty: bool
    """Whether its disks are back without their data: replaced, or made anew. With `returns`."""


class Event(TypedDict, total=False):
    """Something that is done to the cluster at a moment: one of `migrate`, `maintenance` and `add`."""

    at: Duration
    """When, counted from the start of the run, warm-up included. A quantity such as `20ms`."""
    migrate: str
    """A machine migrates live: its name, with its number where its group has several."""
    to: str
    """The host that it migrates to."""
    maintenance: str
    """A host is emptied: its machines migrate to others of its cluster, and none comes to it until `until`."""
    add: str
    """A node of a pool (`node-4`) or a disk of it (`node-1/disk-3`) joins its pool: until then it has no data."""
    until: Duration
    """When it takes machines again. Default: never. A quantity such as `20ms`."""


class PlacementRule(TypedDict, total=False):
    """A placement rule, as of vSphere DRS or Proxmox HA. A machine whose `host` breaks it is no mistake; one
    that restarts or migrates heeds it, and in a cluster with `drs` one that breaks it migrates. A rule that
    cannot be kept because its machines, or its hosts, are of different clusters is one.
    """

    name: str
    """Its name in its own system."""
    kind: RuleKind
    """What it asks: `vms` on one host, on different hosts, on one of `hosts`, or on none of them."""
    vms: Sequence[str]
    """Machines that it is about: keys of `vms`."""
    hosts: Sequence[str]
    """Hosts that it is about, for `run-on` and `not-on`: keys of `hosts`."""
    mandatory: bool
    """Whether the system would rather not start a machine than break it."""


RuleKind: TypeAlias = Literal["keep-together", "keep-apart", "run-on", "not-on"]
"""What a placement rule asks."""
