"""Entities in the output of `hypertwin simulate`. Generated from the tables of the engine by `make docs`."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Curve = list[tuple[float, float]]
"""Percentiles, ascending, and their values in milliseconds. Only groups have curves, and only of at least one value."""


class Node(TypedDict):
    """A NUMA node of a host."""

    memory_gb_per_s: float
    """Bytes that the memory of node N delivers per second, to all nodes. If one node is near its limit and
    another is idle, a VM might be on one node only.
    """
    usage_pct: float
    """As `usage_pct`, for the cores of node N. Interrupts of idle hardware threads count only for the host."""
    vcpus: float
    """vCPUs whose home is node N at the end of the run. Without home nodes (Linux, VMs with an affinity) it
    counts vCPUs placed there at power-on.
    """
    memory_mb: float
    """Configured memory of VMs on node N at the end of the run, in mebibytes like esxtop."""
    memory_pct: float
    """The same memory in % of the node's memory for VMs, without hypervisor memory."""


class HostMemory(TypedDict):
    """Memory of a host that was short of memory at any time: means over time, and its worst state."""

    state: Literal["high", "clear", "soft", "hard", "low"]
    """The worst state that free memory reached, by ESXi's thresholds: high, clear, soft, hard, low. From clear
    on the host shares pages, in soft it balloons VMs, in hard and low it compresses or swaps their pages.
    Memory figures exist only for hosts that can run short of memory.
    """
    free_bytes: float
    """Unused memory of the host."""
    min_free_bytes: float
    """Memory that ESXi tries to keep free: 6% of the first 4 GiB, 4% of the next 8, 2% of the next 16, and 1%
    of further memory. States are shares of it. On Linux it is the high watermark.
    """
    ballooned_bytes: float
    swapped_bytes: float
    compressed_bytes: float
    shared_bytes: float
    overcommit_pct: float
    """Touched memory of VMs with overhead, minus the host's memory for them, in % of the latter. Negative if
    all fits.
    """
    swap_in_bytes_per_s: float
    swap_out_bytes_per_s: float


class Host(TypedDict):
    """A host. NUMA nodes are numbered."""

    cluster: str
    """The cluster of the host, or of the VM's host. `default` if the scenario names none."""
    usage_pct: float
    """CPU cycles used divided by cores × nominal clock, at most 100. Two busy threads of a core use 1.25 cores
    on ESXi, as VMs are charged. On Linux they use two cores, because its times of CPUs do not tell them apart.
    For a cluster it is the mean over its hosts, weighted by cores × nominal clock.
    """
    usage_pct_ci95: float | None
    utilization_pct: float
    """Mean over hardware threads of the time that each was busy."""
    core_utilization_pct: float
    """Mean over cores of the time that at least one thread was busy."""
    overhead_pct: float
    """Part of the host's core capacity that the hypervisor's own worlds or threads used for VMs: I/O, network,
    device emulation.
    """
    ready_pct: float
    costop_pct: float
    down_s: float
    migration_cpu_pct: NotRequired[float]
    """Part of the host's core capacity that sends and receives VMs. The host's usage includes it."""
    memory_pct: float
    """Configured memory of VMs plus hypervisor memory (`hypervisor_memory`), in % of the memory of the host, or
    of all hosts of the cluster. It follows from the scenario: VMs of a failed host count there, and the memory
    overhead of VMs does not count. Above 100% the host reclaims memory only if the touched memory of VMs does
    not fit.
    """
    memory_usage_pct: float
    """As `memory_pct`, but with the touched memory of VMs (`memory_touched`). By default VMs touch all their
    memory.
    """
    memory_gb_per_s: float
    memory: NotRequired[HostMemory]
    nodes: dict[str, Node]


class Cluster(TypedDict):
    """A cluster with sums over its hosts, or means weighted by capacity."""

    hosts: int
    vms: int
    """Virtual machines in the cluster."""
    vcpus: int
    cores: int
    """Physical cores of the cluster's hosts."""
    vcpu_per_core: float
    """vCPUs of the cluster's VMs divided by its physical cores."""
    usage_pct: float
    usage_pct_ci95: float | None
    peak_host: str
    """The host of the cluster with the highest usage, or the first of equal ones."""
    fullest_host_pct: float
    """`usage_pct` of that host."""
    ready_pct: float
    memory_pct: float
    memory_usage_pct: float


class VmMemory(TypedDict):
    """Memory of a VM whose host was short of memory at any time: means over time."""

    granted_bytes: float
    """Memory of the VM that is backed by host memory, including shared pages."""
    consumed_bytes: float
    """Host memory that the VM's memory consumes: granted memory minus shared savings, with compressed pages at
    half size.
    """
    active_bytes: float
    """Recently used memory of the VM, as the host estimates it from samples."""
    shared_bytes: float
    """Memory that page sharing saves. For a host it is the sum over its VMs."""
    ballooned_bytes: float
    """Memory that guests gave back to balloons, their least used first. For a host it is the sum over its VMs."""
    swapped_bytes: float
    """Memory of VMs that the host swapped out without the guest's knowledge. It is read back when it is used.
    For a host it is the sum over its VMs.
    """
    compressed_bytes: float
    """Memory of VMs that the host keeps compressed instead of swapping it out. For a host it is the sum over
    its VMs.
    """
    overhead_bytes: float
    """Host memory that the hypervisor needs for the VM in addition to the VM's memory."""
    target_bytes: float
    """Memory that the host plans for the VM, by shares and reservation, with less for idle memory."""
    swap_in_bytes_per_s: float
    """Memory read back from the host's swap device, because it was used. For a host it is the sum over its VMs."""
    swap_out_bytes_per_s: float
    """Memory that the host wrote to its swap device. For a host it is the sum over its VMs."""
    swap_wait_pct: float
    """Time in which a vCPU waited for memory that the host had swapped out. Per vCPU. The guest counts it as
    busy.
    """


class Response(TypedDict):
    """Response times of transactions in milliseconds, or null without transactions."""

    mean: float | None
    p50: float | None
    """Half of all transactions took no longer than this."""
    p95: float | None
    """95% of all transactions took no longer than this."""
    p99: float | None
    """99% of all transactions took no longer than this."""
    max: float | None
    """The longest transaction of all replications."""
    ci95: float | None
    """Half-width of the 95% confidence interval of the mean over replications (Student t)."""
    curve: NotRequired[Curve]
    """List of [percentile, ms] over all VMs and replications: 0 (the smallest), 10, 25, 50, 75, 90, 95, 99,
    99.5, 99.9, 99.99 and 100 (the largest). With n values, only percentiles up to 100 − 100 ÷ n are present,
    and 100. Missing without values. In JSON only.
    """


class Latency(TypedDict):
    """Latencies of I/Os in milliseconds, or null without I/Os."""

    mean: float | None
    p50: float | None
    """Half of them took no longer than this."""
    p95: float | None
    """95% of them took no longer than this."""
    p99: float | None
    """99% of them took no longer than this."""
    curve: NotRequired[Curve]
    """As `response_ms_curve`, for them."""


class Ios(TypedDict):
    """Reads or writes of VMs with virtual disks."""

    iops: float
    mb_per_s: float
    """Their payload."""
    latency_ms: Latency
    """As `io_latency_ms_mean`, for them."""


class Outcome(TypedDict):
    """Outcome shared by some of the replications."""

    throughput_units_per_s: float
    likelihood_pct: float


class Vm(TypedDict):
    """State of a VM. For a group, means of its VMs, or sums for metrics marked as sums. Percentages are per
    vCPU.
    """

    host: NotRequired[str]
    """The host that the VM runs on."""
    cluster: NotRequired[str]
    count: NotRequired[int]
    """Virtual machines in the group."""
    hosts: NotRequired[list[str]]
    """The hosts of the group's VMs: a list, in JSON only. For a cluster it is the number of hosts."""
    clusters: NotRequired[list[str]]
    """The clusters of the group's VMs. In JSON only."""
    vcpus: int
    """Virtual CPUs of the VM, or of all VMs of the cluster."""
    run_pct: float
    """Time in which a vCPU was on a hardware thread, with its sibling thread idle or busy. Run + Ready + Co-
    stop + Wait = 100%.
    """
    ready_pct: float
    """Time in which a vCPU could run but had no hardware thread, including limited time. Per vCPU, 0 to 100.
    For a host or cluster it is the mean over its vCPUs. Above 5% look closer, above 10% users notice.
    """
    ready_pct_ci95: float | None
    costop_pct: float
    """Time in which ESXi stopped a vCPU because it was too far ahead of its siblings. Per vCPU. Healthy below
    1%, trouble above 3%.
    """
    costop_pct_ci95: float | None
    wait_pct: float
    """Time in which a vCPU had no work or waited for the hypervisor. Includes idle time, and time in which its
    host was down.
    """
    limited_pct: float
    """Part of Ready in which only the VM's limit stopped the vCPU."""
    waiting_pct: float
    """Part of Ready in which no hardware thread was free for the vCPU: Ready without Limited, and without the
    time in which a free thread left its idle state. Only this part is contention.
    """
    system_pct: float
    """Time the hypervisor spent in interrupts and I/O for this VM, per vCPU."""
    overlap_pct: float
    """Time in which the hypervisor's work for this or another VM interrupted a vCPU on its hardware thread."""
    used_pct: float
    """Run + System − Overlap, corrected for clock, and charged 62.5% while the sibling thread is busy. Per
    vCPU.
    """
    used_mhz: float
    """Used in MHz of the nominal clock, whole VM."""
    demand_pct: float
    """CPU that the VM's vCPUs would use without contention and limits: Run divided by the time minus Ready and
    Co-stop.
    """
    demand_mhz: float
    """Demand in MHz of the nominal clock, whole VM."""
    guest_cpu_pct: float
    """How busy the guest system sees its vCPUs. It rises if vCPUs slow down or wait, although no more work is
    done: guest figures alone mislead.
    """
    guest_cpu_pct_ci95: float | None
    guest_cpu_peak_pct: float
    """Highest guest CPU in one sample interval."""
    run_queue: float
    """Mean number of guest processes that run or are ready to run, whole VM."""
    throughput_per_s: float
    """Transactions completed per second of measured time."""
    throughput_per_s_ci95: float | None
    throughput_units_per_s: float
    """Throughput times the workload's units per transaction."""
    down_s: float
    """Part of the measured time in which the host was down, or the VM did not run because its host was down, no
    host had headroom for it, or it was starting. For a group it is the mean over its VMs. With an `ha` policy
    the VM restarts on another host, and its work is lost. Without one it waits, and continues when its host
    returns. Interrupted transactions and I/Os then count when they end, including the time down, and averages
    count this time as idle. Averages of a restarted VM cover its uptime, its throughput and IOPS the whole
    time.
    """
    unit: str
    """Name of one unit of application work."""
    response_ms: Response
    """Time from the start of a transaction to its end, without think time: CPU work, waits for a vCPU, and
    delays that CPU contention does not lengthen.
    """
    response_count: int
    """Transactions measured in all replications."""
    iops: float
    """I/O operations completed per second."""
    io_latency_ms: NotRequired[Latency]
    """Time from the guest's driver to the interrupt that returns the I/O. For a generator, as fio measures it:
    until its worker issues the next I/O, with wake-up, waits for a vCPU and CPU work. Only for VMs with virtual
    disks, like the other `io_` figures. All distributions have nanoseconds with three significant digits (HDR
    histogram). Means, smallest and largest values are exact.
    """
    io_longest_s: NotRequired[float]
    """The longest time that an I/O took, or had waited at the end of the run. Of all VMs and replications."""
    io_mb_per_s: NotRequired[float]
    """Payload of completed I/Os."""
    io_cpu_cycles_per_io: NotRequired[float]
    """Used time of the VM's vCPUs, of the worlds of its controllers and of its helper worlds, at the nominal
    clock, divided by its I/Os. It includes everything that the VM does, not only I/O.
    """
    read: NotRequired[Ios]
    """Reads completed per second. VMs with virtual disks only, like the other `read_` figures."""
    write: NotRequired[Ios]
    """Writes completed per second. VMs with virtual disks only, like the other `write_` figures."""
    copied_mb_per_s: NotRequired[float]
    """Bytes per second that a VM with a copying workload wrote to `write_to`. Its response times are of whole
    copies, from the start of the read to the end of the write. The `read_` and `write_` figures are of the two
    ends.
    """
    copy_s: NotRequired[float]
    """Time to copy the data of its virtual disks once (`working_set` × `vdisks`) at this speed. For a group it
    is the time for all VMs. For another amount, scale it in proportion. Missing if nothing was copied.
    """
    numa_local_pct: float
    """Part of the VM's memory on the home nodes of the NUMA clients that use it. Without home nodes, as on
    Linux, it is the part on the nodes where its vCPUs run. Below 80% look closer.
    """
    numa_local_mb: float
    """Memory on the home nodes, in mebibytes like esxtop."""
    numa_remote_mb: float
    """Memory on other nodes than the home nodes, in mebibytes like esxtop."""
    memory_gb_per_s: float
    """Bytes that workloads read and write in memory per second. For a host it is what the memory of all its
    nodes delivers.
    """
    memory_remote_gb_per_s: float
    """Part of the memory bandwidth that crosses the link between nodes, counted from the node on which a vCPU
    runs. That is not always its home node.
    """
    slow_s: NotRequired[float]
    """Part of the measured time in which the VM's own live migration slowed it down or stopped it. It got only
    part of its CPU time so that it writes less than is sent, or it paused for its last pages.
    """
    memory: NotRequired[VmMemory]
    virtual_nodes: int
    """NUMA nodes that the guest sees."""
    outcomes: list[Outcome]
    """If replications reach different outcomes: a list of `throughput_units_per_s`, the mean of replications
    within 15% of each other, and `likelihood_pct`, their share of all. The most likely comes first. In JSON
    only.
    """


class Station(TypedDict):
    """A station of the I/O path."""

    members: int
    """Number of ports, controllers, disks or queues in the station. Stations are named after a VM group
    (`-vcpus`, `-controllers`, `-vdisk-depth`, `-ring`, `-dsnro`), a host (`-ports`, `-port-depth`, `-lun-
    depth`), an array (`-front-end`, `-cache`, `-disks`) or a pool (`-services`, or for Ceph `-messengers`,
    `-shards`, `-commit`, `-gateways` and `-cpu-limit`; `-devices`, `-flash`, `-network` of its nodes, `-client-
    network` of the other hosts, `-cluster-network` only between its nodes, `-rack-network` between its racks or
    sites).
    """
    utilization_pct: float
    """Mean over the members of the time that each was busy. For a depth, the share of used slots. For a cache,
    the share of its space for written data in use at the end. A port counts its busier direction.
    """
    utilization_max_pct: float
    """Utilization of the busiest member."""
    queue: float
    """Mean number of I/Os waiting, at all members together."""
    wait_ms: float
    """Mean wait of all I/Os that passed, including those that did not wait. Little's law: waiting I/Os = passed
    per second × wait.
    """
    waited_pct: float
    """Share of the I/Os that had to wait."""
    throughput_per_s: float
    """I/Os, or disk operations, that passed per second. A cache counts writes."""
    mb_per_s: NotRequired[float]
    """Payload that passed. Only for ports, networks, and disks of pools."""
    hit_pct: NotRequired[float]
    """Reads that the array's cache answered. Only for caches."""
    path_failovers: NotRequired[float]
    """I/Os that were sent again because their answer was lost with a port. Only for ports of hosts, if ports
    fail.
    """


class Bottleneck(TypedDict):
    """The station that limits I/O, or is nearest to its limit."""

    station: str
    utilization_pct: float
    saturated: bool
    next_station: str | None
    next_utilization_pct: float | None
    binding_depth: str | None


class ClientIos(TypedDict):
    """Completed reads or writes of a pool."""

    iops: float
    latency_ms: Latency
    """Time from where an I/O leaves its host for the pool until it is back there; guest and virtual controller
    are not in it.
    """


class Policy(TypedDict):
    """Data of a policy in a pool. `(pool)` is the data of VMs without a policy, with the pool's own redundancy."""

    policy: str
    """Python reads null as `(pool)`."""
    redundancy: str
    placement_groups: int
    stored_gib: float
    raw_gib: float


class Incident(TypedDict):
    """Failure or return in the first replication. Times are since the start of the run, warm-up included."""

    time_s: float
    what: str
    fails: bool
    degraded_pct: float
    suspended_pct: float
    stands_still: bool
    lost_gib: float
    whole_after_s: float | None


class BackEnd(TypedDict):
    """The way of a vSAN pool from where writes are acknowledged to the devices."""

    acknowledged_from: str
    """vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture."""
    buffer_pct: NotRequired[float]
    """Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample."""
    overwritten_pct: NotRequired[float]
    """Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to
    devices.
    """
    destage_mb_per_s: float
    """vSAN: data that write buffers, or the log as full stripes, wrote to the devices."""


class Pool(TypedDict):
    """A pool of distributed storage."""

    redundancy: str
    """Replicas (`replicas-3:2`: three, and writes wait if fewer than two are up), or data and parity fragments
    (`ec-3+2`), of everything in the pool.
    """
    placement_groups: int
    """Number of sets of devices over which data are distributed. Everything in a group has its replicas or
    fragments on the same devices.
    """
    raw_gib: float
    """Capacity of all devices of the pool."""
    usable_gib: float
    """Raw capacity divided by the raw bytes per byte of the user: the capacity of an empty pool. Space for
    rebuilding is not subtracted.
    """
    stored_gib: float
    """User's data in the pool, without replicas and parity."""
    policies: NotRequired[list[Policy]]
    """If VMs name policies: the data of each policy, and under `(pool)` the data without a policy. Each has
    `redundancy`, `placement_groups`, the user's data `stored_gib`, and with replicas and parity `raw_gib`.
    """
    read_mb_per_s: float
    """Payload that virtual disks read, including cache hits."""
    write_mb_per_s: float
    """Payload of acknowledged writes of virtual disks."""
    read: ClientIos
    """Completed reads of virtual disks per second, including cache hits."""
    write: ClientIos
    """Completed writes of virtual disks per second, including cache hits."""
    device_read_mb_per_s: float
    """Bytes that the pool's devices read: for clients, for parity, and for rebuilding."""
    device_write_mb_per_s: float
    """Bytes that the pool's devices wrote: replicas, parity, data from the journal, and rebuilt data, but not
    writes to the journal.
    """
    amplification: float
    """Bytes written for clients, to devices or first to journals, per byte that clients wrote. It is 3 for
    three replicas, (k+m)/k for full stripes of an erasure code, and more for overwrites of parts of a stripe.
    Rebuilding and failed attempts do not count.
    """
    service_cpus: NotRequired[float]
    """Mean number of logical CPUs that all OSDs and gateways of a Ceph cluster kept busy, on all nodes."""
    cache_hit_pct: NotRequired[float]
    """Reads that the flash of the client's host answered. Only for pools with a read cache. For vSAN: reads of
    devices that the cache device of their disk group answered, from its read cache or its write buffer.
    """
    degraded_pct: float
    """Placement groups with a missing or outdated replica or fragment, at the end of the run or at a sample."""
    due_gib: float
    """Bytes of replicas and fragments that have a place but must still be rebuilt, brought up to date or moved
    there, at the end of the run or at a sample.
    """
    rebuilt_gib: float
    """Bytes of replicas and fragments rebuilt or brought up to date since the start of the run."""
    rebuild_mb_per_s: float
    """Rebuilt bytes divided by the time in which a rebuild was running."""
    time_to_whole_s: float | None
    """Longest time from a failure until every group was recovered, including the wait before the rebuild. If
    the run ends first, the remaining time is calculated from the rate so far. Empty without failures, if
    nothing is being rebuilt, or if data are lost.
    """
    scrub_mb_per_s: NotRequired[float]
    """Ceph: bytes that OSDs read to check their own data, with `ceph.deep_scrub`."""
    scrub_due_mb_per_s: NotRequired[float]
    """Rate at which the deep scrub must read to finish in its interval: all replicas and fragments of clean
    groups.
    """
    scrub_keeps_up: NotRequired[bool]
    """True if in all replications the scrub read as much as was due, within a tenth or two strides of 4 MiB."""
    lost_gib: float
    """User's data that cannot be read, because too few replicas or fragments remain or will return."""
    suspended_ios: float
    """I/Os that wait until enough replicas, fragments or metadata servers are up, at the end of the run or at a
    sample.
    """
    retries: float
    """I/Os repeated because a node or device failed, or did not answer in time. Mean over replications."""
    errors: float
    """I/Os to lost data. Mean over replications."""
    incidents: list[Incident]
    """Failures and returns of the first replication. Each has `time_s` since the start of the run, including
    the warm-up; `what`, and whether it `fails` or returns; right after it `degraded_pct`, `suspended_pct`
    (groups that accept no writes) and `stands_still` (no I/O at all, because most metadata servers are down);
    `lost_gib`; and `whole_after_s`, the time until no group was degraded, or if none was, until all moves
    ended; empty if that was not by the end.
    """
    acknowledged_from: NotRequired[str]
    """vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture."""
    buffer_pct: NotRequired[float]
    """Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample."""
    overwritten_pct: NotRequired[float]
    """Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to
    devices.
    """
    destage_mb_per_s: NotRequired[float]
    """vSAN: data that write buffers, or the log as full stripes, wrote to the devices."""


class Downtime(TypedDict):
    """Times in seconds of a VM from the failure of its host until it serves again, in all replications."""

    mean_s: float
    min_s: float
    max_s: float


class HostTimeline(TypedDict):
    """State of a host at each sample time, with reclaimed memory if the host was short of memory at any time."""

    usage_pct: list[float]
    utilization_pct: list[float]
    free_bytes: NotRequired[list[float]]
    ballooned_bytes: NotRequired[list[float]]
    swapped_bytes: NotRequired[list[float]]
    compressed_bytes: NotRequired[list[float]]


class VmTimeline(TypedDict):
    """State of a VM at each sample time."""

    guest_cpu_pct: list[float]
    run_pct: list[float]
    ready_pct: list[float]
    costop_pct: list[float]
    run_queue: list[float]
    throughput_per_s: list[float]
    response_ms_mean: list[float | None]
    iops: NotRequired[list[float]]
    io_latency_ms_mean: NotRequired[list[float | None]]
    up: NotRequired[list[float]]
    """Part of each interval in which it was up, where VMs may move."""


class PoolTimeline(TypedDict):
    """State of a pool at each sample time."""

    degraded_pct: list[float]
    due_gib: list[float]
    rebuilt_gib: list[float]
    suspended_ios: list[int]
    buffer_pct: NotRequired[list[float]]


class Timeline(TypedDict):
    """Samples of the first replication. Times since the end of the warm-up."""

    interval_s: float
    time_s: list[float]
    hosts: dict[str, HostTimeline]
    vms: dict[str, VmTimeline]
    pools: NotRequired[dict[str, PoolTimeline]]


Move = TypedDict(
    "Move",
    {
        "at_s": float,
        "end_s": float | None,
        "vm": str,
        "from": str,
        "to": str,
        "kind": Literal["migration", "restart"],
        "why": Literal["event", "maintenance", "balance", "rule", "failure"],
        "outcome": Literal["done", "running", "given-up"],
        "rounds": int,
        "sent_bytes": float,
        "downtime_ms": float | None,
    },
)
"""Move of a VM between hosts in the first replication. Times are since the start of the run."""


class Outage(TypedDict):
    """Outage of a VM that failed with its host in the first replication. Times are as in `Move`, or null
    without the event.
    """

    vm: str
    host: str
    from_s: float
    detected_s: float | None
    restart_s: float | None
    up_s: float | None
    up_on: str | None


class Unplaced(TypedDict):
    """A VM that could not restart in the first replication, and the shortage of each host."""

    vm: str
    lacks: str
    at_s: float


class History(TypedDict, total=False):
    """What happened to VMs that can move, in the order in which it began."""

    moves: list[Move]
    """Finished and unfinished moves of VMs, in the first replication: `kind` (migration or restart), `why`
    (event, maintenance, balance, rule, failure), `at_s` and `end_s` since the start of the run, `outcome`
    (done, running, given-up), `rounds`, `sent_bytes`, and `downtime_ms`, the pause at the end. In JSON only,
    and only if VMs can move.
    """
    outages: list[Outage]
    """VMs that went down with their host in a cluster with an `ha` policy, in the first replication. Each has
    `from_s`, the times when HA noticed the failure (`detected_s`), powered the VM on (`restart_s`) and it
    served again (`up_s`), and its new host (`up_on`). Null for events that did not happen. In JSON only.
    """
    unplaced: list[Unplaced]
    """VMs that do not fit on any host, in the first replication: the time (`at_s`), and the smallest shortage
    on any host (`lacks`). A migrating VM stays on its host. HA retries the restart of a VM that is down. In
    JSON only.
    """
