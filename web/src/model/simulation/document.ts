/** Output of `hypertwin simulate`. The engine makes the points. docs/metrics.md explains each figure. */

// Generated from python/hypertwin/documents/simulation.py and python/hypertwin/documents/measured.py and python/hypertwin/documents/space.py by `make docs`: change that.

/** Hosts that stopped or came back in the first replication, with the VMs on them. The time is as in `Incident`. */
export interface HostFailure {
  time_s: number;
  what: string;
  fails: boolean;
  hosts: string[];
  vms: string[];
}

/** Every condition of a steady state holds. One is contradicted. The data do not suffice. */
export type Steady = "steady" | "not-steady" | "not-known";

/** First condition of a steady state that fails, or that the data cannot decide. */
export interface UnsteadyReason {
  /** Failed condition. In order: VMs stopped or came back, or the scenario changes something; a pool rebuilds; a queue, cache, buffer or backlog grows. Means have not settled; the p99 of a group rises. Sessions of a closed loop are not accounted for; offered work is near capacity. The measured time is short. */
  condition: "changed" | "rebuilds" | "grows" | "means" | "tails" | "loops" | "load" | "window";
  /** VM, group, station, array, pool or host where the condition fails, or an empty string for the whole run. */
  of: string;
  /** Reason as a sentence, without a full stop. */
  text: string;
  /** True if the scenario itself is the reason. Figures then cover the course of events, with their intervals. */
  by_design: boolean;
  /** Growth per second, in the unit named in `text`. */
  growth_per_s: number | null;
  /** Time when the growing object is full, in seconds after the end of the run. */
  full_in_s: number | null;
  /** Measured time that would decide. */
  needs_s: number | null;
}

/** Verdict on the steady state of a point. */
export interface Verdict {
  steady: Steady;
  reason: UnsteadyReason | null;
}

/** Notes on run times found by pilot runs. */
export interface Found {
  /** Names of the times: `warmup`, `duration`. */
  times: string[];
  /** Reason why no longer run was tried. In order: the run had settled. The growth continues at the same rate in a run twice as long. A longer run would be too much work. The scenario has changes at fixed times, and the usual times are right. */
  ended: "settled" | "grows-on" | "most-events" | "own-times";
}

/** A figure of a VM, or of the mean VM of a group, beyond its band. */
export interface Sign {
  metric: string;
  severity: "warning" | "critical";
  value: number;
  /** Ratio of the value to its worst limit. */
  weight: number;
  text: string;
}

/** Kinds of limits. `hypertwin.studies.classes.LIMITS` explains each kind. */
export type LimitKind = "host-cpu" | "guest-cpu" | "cpu-limit" | "memory" | "controller" | "fabric" | "devices" | "storage-cpu" | "network" | "client" | "latency" | "nothing";

/** Bottleneck of a group. */
export interface Limit {
  kind: LimitKind;
  /** A host, a station, a group, or an empty string without a bottleneck. */
  of: string;
  /** Load in per cent, if that is the reason. */
  value_pct: number | null;
  /** A sentence without a full stop. */
  text: string;
}

export type Tone = "good" | "note" | "warn" | "bad";

/** Answer and related remarks, one sentence each. */
export interface Answer {
  tone: Tone;
  text: string;
  more: string[];
}

/** Judgement of a point, by one set of limits for all views. */
export interface Judgement extends Answer {
  /** Signs of VMs that have any, the worst first. */
  vms: Record<string, Sign[]>;
  /** Signs of groups that have any as the mean of their VMs. */
  groups: Record<string, Sign[]>;
  /** Bottleneck of each group. */
  limits: Record<string, Limit>;
  /** Station that limits I/O. It is saturated, or the I/Os of a group mostly wait there for a saturated member or a slot. */
  full_station?: string;
  /** VMs that could not restart, one sentence per reason. */
  unplaced?: string[];
}

/** A finding of `hypertwin diagnose` on the run that explains others, or that no finding explains. */
export interface Cause {
  code: string;
  severity: "critical" | "warning";
  /** Host or VM of the finding. */
  name: string;
  title: string;
  advice: string;
  /** Names of hosts and VMs whose findings the cause explains. */
  explains: string[];
}

/** Part of a sweep where a group suffers. */
export interface Break {
  group: string;
  /** Values of the other swept paths, or an empty string without any. */
  line: string;
  where: string;
  suffers: boolean;
  /** Most telling point, or None if the group never suffers. */
  set: Record<string, unknown> | null;
  signs: string[];
  why: string;
}

/** Interval of the real figure with the error of the twin itself. It contains the twin's figure. `basis` is a key of `bases`. */
export interface ErrorInterval {
  low: number;
  high: number;
  basis: string;
}

/** Evidence of intervals: the errors of published figures of an area and a kind. */
export interface ErrorBasis {
  area: "cpu" | "drives" | "memory" | "movement" | "path" | "pools";
  kind: "throughput" | "latency" | "tail" | "duration" | "usage";
  /** Lower end over the twin's figure. Percentages get 5 points before, so that small ones change by points. */
  low_factor: number;
  high_factor: number;
  sources: number;
  /** Figures behind the interval: those of the area and kind, of all kinds of the area, or of all areas. */
  of: "kind" | "area" | "all";
  /** Number of the user's own measured points, from `hypertwin calibrate`. */
  own_points: number;
  text: string;
}

/** Area with the largest share of a group's mean response. */
export interface ResponseShare {
  area: "cpu" | "drives" | "memory" | "movement" | "path" | "pools";
  share_pct: number;
}

/** Intervals with the error of the twin itself, by name and flat key (`response_ms_p99`). A VM has the factors of its group. `moves` are in the order of the point's moves, with `seconds` and `downtime_ms`. */
export interface ModelError {
  /** Share of the real figures of a new source that such intervals contain. */
  level_pct: number;
  responses: Record<string, ResponseShare>;
  groups: Record<string, Record<string, ErrorInterval>>;
  hosts: Record<string, Record<string, ErrorInterval>>;
  clusters: Record<string, Record<string, ErrorInterval>>;
  pools: Record<string, Record<string, ErrorInterval>>;
  moves: Record<string, ErrorInterval>[];
  bases: Record<string, ErrorBasis>;
}

/** Point of a sweep with means over its replications, and entities by name. */
export interface Point extends History {
  /** Paths into the scenario and the values that they were set to. */
  set: Record<string, unknown>;
  /** Capacity of each pool. */
  space?: Record<string, Space>;
  replications: number;
  /** True if `verdict` is steady. */
  steady: boolean;
  verdict: Verdict;
  /** Found times, if `run.warmup` or `run.duration` was `auto`. */
  found?: Found;
  /** Intervals with the error of the twin itself. An earlier version did not write them. */
  model_error?: ModelError;
  warmup_s: number;
  duration_s: number;
  judgement: Judgement;
  calibration: string | null;
  clusters: Record<string, Cluster>;
  hosts: Record<string, Host>;
  vms: Record<string, Vm>;
  groups: Record<string, Vm>;
  storage: Record<string, Station>;
  pools?: Record<string, Pool>;
  bottleneck?: Bottleneck;
  failures: HostFailure[];
  /** Spread of downtime of each VM that failed with its host and serves again. */
  downtimes?: Record<string, Downtime>;
  timeline: Timeline;
  events: number;
  simulated_s: number;
}

/** All points of a sweep in order, or one point without a sweep. */
export interface Simulation {
  version: string;
  scenario: string;
  seed: number;
  /** Answer of the result. For a sweep of more than 1,000 points, an even sample of points is judged. */
  answer: Answer;
  /** Causes at the point of the answer, or an empty list if no VM suffers. */
  causes: Cause[];
  /** Breaks of a sweep of an amount, those that suffer first. */
  breaks: Break[];
  points: Point[];
}

/** Percentiles, ascending, and their values in milliseconds. Only groups have curves, and only of at least one value. */
export type Curve = [number, number][];

/** A NUMA node of a host. */
export interface Node {
  /** Bytes that the memory of node N delivers per second, to all nodes. If one node is near its limit and another is idle, a VM might be on one node only. */
  memory_gb_per_s: number;
  /** As `usage_pct`, for the cores of node N. Interrupts of idle hardware threads count only for the host. */
  usage_pct: number;
  /** vCPUs whose home is node N at the end of the run. Without home nodes (Linux, VMs with an affinity) it counts vCPUs placed there at power-on. */
  vcpus: number;
  /** Configured memory of VMs on node N at the end of the run, in mebibytes like esxtop. */
  memory_mb: number;
  /** The same memory in % of the node's memory for VMs, without hypervisor memory. */
  memory_pct: number;
}

/** Memory of a host that was short of memory at any time: means over time, and its worst state. */
export interface HostMemory {
  /** The worst state that free memory reached, by ESXi's thresholds: high, clear, soft, hard, low. From clear on the host shares pages, in soft it balloons VMs, in hard and low it compresses or swaps their pages. Memory figures exist only for hosts that can run short of memory. */
  state: "high" | "clear" | "soft" | "hard" | "low";
  /** Unused memory of the host. */
  free_bytes: number;
  /** Memory that ESXi tries to keep free: 6% of the first 4 GiB, 4% of the next 8, 2% of the next 16, and 1% of further memory. States are shares of it. On Linux it is the high watermark. */
  min_free_bytes: number;
  ballooned_bytes: number;
  swapped_bytes: number;
  compressed_bytes: number;
  shared_bytes: number;
  /** Touched memory of VMs with overhead, minus the host's memory for them, in % of the latter. Negative if all fits. */
  overcommit_pct: number;
  swap_in_bytes_per_s: number;
  swap_out_bytes_per_s: number;
}

/** A host. NUMA nodes are numbered. */
export interface Host {
  /** The cluster of the host, or of the VM's host. `default` if the scenario names none. */
  cluster: string;
  /** CPU cycles used divided by cores × nominal clock, at most 100. Two busy threads of a core use 1.25 cores on ESXi, as VMs are charged. On Linux they use two cores, because its times of CPUs do not tell them apart. For a cluster it is the mean over its hosts, weighted by cores × nominal clock. */
  usage_pct: number;
  usage_pct_ci95: number | null;
  /** Mean over hardware threads of the time that each was busy. */
  utilization_pct: number;
  /** Mean over cores of the time that at least one thread was busy. */
  core_utilization_pct: number;
  /** Part of the host's core capacity that the hypervisor's own worlds or threads used for VMs: I/O, network, device emulation. */
  overhead_pct: number;
  ready_pct: number;
  costop_pct: number;
  down_s: number;
  /** Part of the host's core capacity that sends and receives VMs. The host's usage includes it. */
  migration_cpu_pct?: number;
  /** Configured memory of VMs plus hypervisor memory (`hypervisor_memory`), in % of the memory of the host, or of all hosts of the cluster. It follows from the scenario: VMs of a failed host count there, and the memory overhead of VMs does not count. Above 100% the host reclaims memory only if the touched memory of VMs does not fit. */
  memory_pct: number;
  /** As `memory_pct`, but with the touched memory of VMs (`memory_touched`). By default VMs touch all their memory. */
  memory_usage_pct: number;
  memory_gb_per_s: number;
  memory?: HostMemory;
  nodes: Record<string, Node>;
}

/** A cluster with sums over its hosts, or means weighted by capacity. */
export interface Cluster {
  hosts: number;
  /** Virtual machines in the cluster. */
  vms: number;
  vcpus: number;
  /** Physical cores of the cluster's hosts. */
  cores: number;
  /** vCPUs of the cluster's VMs divided by its physical cores. */
  vcpu_per_core: number;
  usage_pct: number;
  usage_pct_ci95: number | null;
  /** The host of the cluster with the highest usage, or the first of equal ones. */
  peak_host: string;
  /** `usage_pct` of that host. */
  fullest_host_pct: number;
  ready_pct: number;
  memory_pct: number;
  memory_usage_pct: number;
}

/** Memory of a VM whose host was short of memory at any time: means over time. */
export interface VmMemory {
  /** Memory of the VM that is backed by host memory, including shared pages. */
  granted_bytes: number;
  /** Host memory that the VM's memory consumes: granted memory minus shared savings, with compressed pages at half size. */
  consumed_bytes: number;
  /** Recently used memory of the VM, as the host estimates it from samples. */
  active_bytes: number;
  /** Memory that page sharing saves. For a host it is the sum over its VMs. */
  shared_bytes: number;
  /** Memory that guests gave back to balloons, their least used first. For a host it is the sum over its VMs. */
  ballooned_bytes: number;
  /** Memory of VMs that the host swapped out without the guest's knowledge. It is read back when it is used. For a host it is the sum over its VMs. */
  swapped_bytes: number;
  /** Memory of VMs that the host keeps compressed instead of swapping it out. For a host it is the sum over its VMs. */
  compressed_bytes: number;
  /** Host memory that the hypervisor needs for the VM in addition to the VM's memory. */
  overhead_bytes: number;
  /** Memory that the host plans for the VM, by shares and reservation, with less for idle memory. */
  target_bytes: number;
  /** Memory read back from the host's swap device, because it was used. For a host it is the sum over its VMs. */
  swap_in_bytes_per_s: number;
  /** Memory that the host wrote to its swap device. For a host it is the sum over its VMs. */
  swap_out_bytes_per_s: number;
  /** Time in which a vCPU waited for memory that the host had swapped out. Per vCPU. The guest counts it as busy. */
  swap_wait_pct: number;
}

/** Response times of transactions in milliseconds, or null without transactions. */
export interface Response {
  mean: number | null;
  /** Half of all transactions took no longer than this. */
  p50: number | null;
  /** 95% of all transactions took no longer than this. */
  p95: number | null;
  /** 99% of all transactions took no longer than this. */
  p99: number | null;
  /** The longest transaction of all replications. */
  max: number | null;
  /** Half-width of the 95% confidence interval of the mean over replications (Student t). */
  ci95: number | null;
  /** List of [percentile, ms] over all VMs and replications: 0 (the smallest), 10, 25, 50, 75, 90, 95, 99, 99.5, 99.9, 99.99 and 100 (the largest). With n values, only percentiles up to 100 − 100 ÷ n are present, and 100. Missing without values. In JSON only. */
  curve?: Curve;
}

/** Latencies of I/Os in milliseconds, or null without I/Os. */
export interface Latency {
  mean: number | null;
  /** Half of them took no longer than this. */
  p50: number | null;
  /** 95% of them took no longer than this. */
  p95: number | null;
  /** 99% of them took no longer than this. */
  p99: number | null;
  /** As `response_ms_curve`, for them. */
  curve?: Curve;
}

/** Reads or writes of VMs with virtual disks. */
export interface Ios {
  iops: number;
  /** Their payload. */
  mb_per_s: number;
  /** As `io_latency_ms_mean`, for them. */
  latency_ms: Latency;
}

/** Outcome shared by some of the replications. */
export interface Outcome {
  throughput_units_per_s: number;
  likelihood_pct: number;
}

/** State of a VM. For a group, means of its VMs, or sums for metrics marked as sums. Percentages are per vCPU. */
export interface Vm {
  /** The host that the VM runs on. */
  host?: string;
  cluster?: string;
  /** Virtual machines in the group. */
  count?: number;
  /** The hosts of the group's VMs: a list, in JSON only. For a cluster it is the number of hosts. */
  hosts?: string[];
  /** The clusters of the group's VMs. In JSON only. */
  clusters?: string[];
  /** Virtual CPUs of the VM, or of all VMs of the cluster. */
  vcpus: number;
  /** Time in which a vCPU was on a hardware thread, with its sibling thread idle or busy. Run + Ready + Co- stop + Wait = 100%. */
  run_pct: number;
  /** Time in which a vCPU could run but had no hardware thread, including limited time. Per vCPU, 0 to 100. For a host or cluster it is the mean over its vCPUs. Above 5% look closer, above 10% users notice. */
  ready_pct: number;
  ready_pct_ci95: number | null;
  /** Time in which ESXi stopped a vCPU because it was too far ahead of its siblings. Per vCPU. Healthy below 1%, trouble above 3%. */
  costop_pct: number;
  costop_pct_ci95: number | null;
  /** Time in which a vCPU had no work or waited for the hypervisor. Includes idle time, and time in which its host was down. */
  wait_pct: number;
  /** Part of Ready in which only the VM's limit stopped the vCPU. */
  limited_pct: number;
  /** Part of Ready in which no hardware thread was free for the vCPU: Ready without Limited, and without the time in which a free thread left its idle state. Only this part is contention. */
  waiting_pct: number;
  /** Time the hypervisor spent in interrupts and I/O for this VM, per vCPU. */
  system_pct: number;
  /** Time in which the hypervisor's work for this or another VM interrupted a vCPU on its hardware thread. */
  overlap_pct: number;
  /** Run + System − Overlap, corrected for clock, and charged 62.5% while the sibling thread is busy. Per vCPU. */
  used_pct: number;
  /** Used in MHz of the nominal clock, whole VM. */
  used_mhz: number;
  /** CPU that the VM's vCPUs would use without contention and limits: Run divided by the time minus Ready and Co-stop. */
  demand_pct: number;
  /** Demand in MHz of the nominal clock, whole VM. */
  demand_mhz: number;
  /** How busy the guest system sees its vCPUs. It rises if vCPUs slow down or wait, although no more work is done: guest figures alone mislead. */
  guest_cpu_pct: number;
  guest_cpu_pct_ci95: number | null;
  /** Highest guest CPU in one sample interval. */
  guest_cpu_peak_pct: number;
  /** Mean number of guest processes that run or are ready to run, whole VM. */
  run_queue: number;
  /** Transactions completed per second of measured time. */
  throughput_per_s: number;
  throughput_per_s_ci95: number | null;
  /** Throughput times the workload's units per transaction. */
  throughput_units_per_s: number;
  /** Part of the measured time in which the host was down, or the VM did not run because its host was down, no host had headroom for it, or it was starting. For a group it is the mean over its VMs. With an `ha` policy the VM restarts on another host, and its work is lost. Without one it waits, and continues when its host returns. Interrupted transactions and I/Os then count when they end, including the time down, and averages count this time as idle. Averages of a restarted VM cover its uptime, its throughput and IOPS the whole time. */
  down_s: number;
  /** Name of one unit of application work. */
  unit: string;
  /** Time from the start of a transaction to its end, without think time: CPU work, waits for a vCPU, and delays that CPU contention does not lengthen. */
  response_ms: Response;
  /** Transactions measured in all replications. */
  response_count: number;
  /** I/O operations completed per second. */
  iops: number;
  /** Time from the guest's driver to the interrupt that returns the I/O. For a generator, as fio measures it: until its worker issues the next I/O, with wake-up, waits for a vCPU and CPU work. Only for VMs with virtual disks, like the other `io_` figures. All distributions have nanoseconds with three significant digits (HDR histogram). Means, smallest and largest values are exact. */
  io_latency_ms?: Latency;
  /** The longest time that an I/O took, or had waited at the end of the run. Of all VMs and replications. */
  io_longest_s?: number;
  /** Payload of completed I/Os. */
  io_mb_per_s?: number;
  /** Used time of the VM's vCPUs, of the worlds of its controllers and of its helper worlds, at the nominal clock, divided by its I/Os. It includes everything that the VM does, not only I/O. */
  io_cpu_cycles_per_io?: number;
  /** Reads completed per second. VMs with virtual disks only, like the other `read_` figures. */
  read?: Ios;
  /** Writes completed per second. VMs with virtual disks only, like the other `write_` figures. */
  write?: Ios;
  /** Bytes per second that a VM with a copying workload wrote to `write_to`. Its response times are of whole copies, from the start of the read to the end of the write. The `read_` and `write_` figures are of the two ends. */
  copied_mb_per_s?: number;
  /** Time to copy the data of its virtual disks once (`working_set` × `vdisks`) at this speed. For a group it is the time for all VMs. For another amount, scale it in proportion. Missing if nothing was copied. */
  copy_s?: number;
  /** Part of the VM's memory on the home nodes of the NUMA clients that use it. Without home nodes, as on Linux, it is the part on the nodes where its vCPUs run. Below 80% look closer. */
  numa_local_pct: number;
  /** Memory on the home nodes, in mebibytes like esxtop. */
  numa_local_mb: number;
  /** Memory on other nodes than the home nodes, in mebibytes like esxtop. */
  numa_remote_mb: number;
  /** Bytes that workloads read and write in memory per second. For a host it is what the memory of all its nodes delivers. */
  memory_gb_per_s: number;
  /** Part of the memory bandwidth that crosses the link between nodes, counted from the node on which a vCPU runs. That is not always its home node. */
  memory_remote_gb_per_s: number;
  /** Part of the measured time in which the VM's own live migration slowed it down or stopped it. It got only part of its CPU time so that it writes less than is sent, or it paused for its last pages. */
  slow_s?: number;
  memory?: VmMemory;
  /** NUMA nodes that the guest sees. */
  virtual_nodes: number;
  /** If replications reach different outcomes: a list of `throughput_units_per_s`, the mean of replications within 15% of each other, and `likelihood_pct`, their share of all. The most likely comes first. In JSON only. */
  outcomes: Outcome[];
}

/** A station of the I/O path. */
export interface Station {
  /** Number of ports, controllers, disks or queues in the station. Stations are named after a VM group (`-vcpus`, `-controllers`, `-vdisk-depth`, `-ring`, `-dsnro`), a host (`-ports`, `-port-depth`, `-lun- depth`), an array (`-front-end`, `-cache`, `-disks`) or a pool (`-services`, or for Ceph `-messengers`, `-shards`, `-commit`, `-gateways` and `-cpu-limit`; `-devices`, `-flash`, `-network` of its nodes, `-client- network` of the other hosts, `-cluster-network` only between its nodes, `-rack-network` between its racks or sites). */
  members: number;
  /** Mean over the members of the time that each was busy. For a depth, the share of used slots. For a cache, the share of its space for written data in use at the end. A port counts its busier direction. */
  utilization_pct: number;
  /** Utilization of the busiest member. */
  utilization_max_pct: number;
  /** Mean number of I/Os waiting, at all members together. */
  queue: number;
  /** Mean wait of all I/Os that passed, including those that did not wait. Little's law: waiting I/Os = passed per second × wait. */
  wait_ms: number;
  /** Share of the I/Os that had to wait. */
  waited_pct: number;
  /** I/Os, or disk operations, that passed per second. A cache counts writes. */
  throughput_per_s: number;
  /** Payload that passed. Only for ports, networks, and disks of pools. */
  mb_per_s?: number;
  /** Reads that the array's cache answered. Only for caches. */
  hit_pct?: number;
  /** I/Os that were sent again because their answer was lost with a port. Only for ports of hosts, if ports fail. */
  path_failovers?: number;
}

/** The station that limits I/O, or is nearest to its limit. */
export interface Bottleneck {
  station: string;
  utilization_pct: number;
  saturated: boolean;
  next_station: string | null;
  next_utilization_pct: number | null;
  binding_depth: string | null;
}

/** Completed reads or writes of a pool. */
export interface ClientIos {
  iops: number;
  /** Time from where an I/O leaves its host for the pool until it is back there; guest and virtual controller are not in it. */
  latency_ms: Latency;
}

/** Data of a policy in a pool. `(pool)` is the data of VMs without a policy, with the pool's own redundancy. */
export interface Policy {
  /** Python reads null as `(pool)`. */
  policy: string;
  redundancy: string;
  placement_groups: number;
  stored_gib: number;
  raw_gib: number;
}

/** Failure or return in the first replication. Times are since the start of the run, warm-up included. */
export interface Incident {
  time_s: number;
  what: string;
  fails: boolean;
  degraded_pct: number;
  suspended_pct: number;
  stands_still: boolean;
  lost_gib: number;
  whole_after_s: number | null;
}

/** The way of a vSAN pool from where writes are acknowledged to the devices. */
export interface BackEnd {
  /** vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture. */
  acknowledged_from: string;
  /** Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample. */
  buffer_pct?: number;
  /** Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to devices. */
  overwritten_pct?: number;
  /** vSAN: data that write buffers, or the log as full stripes, wrote to the devices. */
  destage_mb_per_s: number;
}

/** A pool of distributed storage. */
export interface Pool {
  /** Replicas (`replicas-3:2`: three, and writes wait if fewer than two are up), or data and parity fragments (`ec-3+2`), of everything in the pool. */
  redundancy: string;
  /** Number of sets of devices over which data are distributed. Everything in a group has its replicas or fragments on the same devices. */
  placement_groups: number;
  /** Capacity of all devices of the pool. */
  raw_gib: number;
  /** Raw capacity divided by the raw bytes per byte of the user: the capacity of an empty pool. Space for rebuilding is not subtracted. */
  usable_gib: number;
  /** User's data in the pool, without replicas and parity. */
  stored_gib: number;
  /** If VMs name policies: the data of each policy, and under `(pool)` the data without a policy. Each has `redundancy`, `placement_groups`, the user's data `stored_gib`, and with replicas and parity `raw_gib`. */
  policies?: Policy[];
  /** Payload that virtual disks read, including cache hits. */
  read_mb_per_s: number;
  /** Payload of acknowledged writes of virtual disks. */
  write_mb_per_s: number;
  /** Completed reads of virtual disks per second, including cache hits. */
  read: ClientIos;
  /** Completed writes of virtual disks per second, including cache hits. */
  write: ClientIos;
  /** Bytes that the pool's devices read: for clients, for parity, and for rebuilding. */
  device_read_mb_per_s: number;
  /** Bytes that the pool's devices wrote: replicas, parity, data from the journal, and rebuilt data, but not writes to the journal. */
  device_write_mb_per_s: number;
  /** Bytes written for clients, to devices or first to journals, per byte that clients wrote. It is 3 for three replicas, (k+m)/k for full stripes of an erasure code, and more for overwrites of parts of a stripe. Rebuilding and failed attempts do not count. */
  amplification: number;
  /** Mean number of logical CPUs that all OSDs and gateways of a Ceph cluster kept busy, on all nodes. */
  service_cpus?: number;
  /** Reads that the flash of the client's host answered. Only for pools with a read cache. For vSAN: reads of devices that the cache device of their disk group answered, from its read cache or its write buffer. */
  cache_hit_pct?: number;
  /** Placement groups with a missing or outdated replica or fragment, at the end of the run or at a sample. */
  degraded_pct: number;
  /** Bytes of replicas and fragments that have a place but must still be rebuilt, brought up to date or moved there, at the end of the run or at a sample. */
  due_gib: number;
  /** Bytes of replicas and fragments rebuilt or brought up to date since the start of the run. */
  rebuilt_gib: number;
  /** Rebuilt bytes divided by the time in which a rebuild was running. */
  rebuild_mb_per_s: number;
  /** Longest time from a failure until every group was recovered, including the wait before the rebuild. If the run ends first, the remaining time is calculated from the rate so far. Empty without failures, if nothing is being rebuilt, or if data are lost. */
  time_to_whole_s: number | null;
  /** Ceph: bytes that OSDs read to check their own data, with `ceph.deep_scrub`. */
  scrub_mb_per_s?: number;
  /** Rate at which the deep scrub must read to finish in its interval: all replicas and fragments of clean groups. */
  scrub_due_mb_per_s?: number;
  /** True if in all replications the scrub read as much as was due, within a tenth or two strides of 4 MiB. */
  scrub_keeps_up?: boolean;
  /** User's data that cannot be read, because too few replicas or fragments remain or will return. */
  lost_gib: number;
  /** I/Os that wait until enough replicas, fragments or metadata servers are up, at the end of the run or at a sample. */
  suspended_ios: number;
  /** I/Os repeated because a node or device failed, or did not answer in time. Mean over replications. */
  retries: number;
  /** I/Os to lost data. Mean over replications. */
  errors: number;
  /** Failures and returns of the first replication. Each has `time_s` since the start of the run, including the warm-up; `what`, and whether it `fails` or returns; right after it `degraded_pct`, `suspended_pct` (groups that accept no writes) and `stands_still` (no I/O at all, because most metadata servers are down); `lost_gib`; and `whole_after_s`, the time until no group was degraded, or if none was, until all moves ended; empty if that was not by the end. */
  incidents: Incident[];
  /** vSAN only: `cache-devices` of disk groups, or the mirrored `log` of the express architecture. */
  acknowledged_from?: string;
  /** Mean fill level of the write buffers of vSAN's disk groups, at the end of the run or at a sample. */
  buffer_pct?: number;
  /** Writes to disk groups of vSAN that replaced data still in the write buffer, and so save a write to devices. */
  overwritten_pct?: number;
  /** vSAN: data that write buffers, or the log as full stripes, wrote to the devices. */
  destage_mb_per_s?: number;
}

/** Times in seconds of a VM from the failure of its host until it serves again, in all replications. */
export interface Downtime {
  mean_s: number;
  min_s: number;
  max_s: number;
}

/** State of a host at each sample time, with reclaimed memory if the host was short of memory at any time. */
export interface HostTimeline {
  usage_pct: number[];
  utilization_pct: number[];
  free_bytes?: number[];
  ballooned_bytes?: number[];
  swapped_bytes?: number[];
  compressed_bytes?: number[];
}

/** State of a VM at each sample time. */
export interface VmTimeline {
  guest_cpu_pct: number[];
  run_pct: number[];
  ready_pct: number[];
  costop_pct: number[];
  run_queue: number[];
  throughput_per_s: number[];
  response_ms_mean: (number | null)[];
  iops?: number[];
  io_latency_ms_mean?: (number | null)[];
  /** Part of each interval in which it was up, where VMs may move. */
  up?: number[];
}

/** State of a pool at each sample time. */
export interface PoolTimeline {
  degraded_pct: number[];
  due_gib: number[];
  rebuilt_gib: number[];
  suspended_ios: number[];
  buffer_pct?: number[];
}

/** Samples of the first replication. Times since the end of the warm-up. */
export interface Timeline {
  interval_s: number;
  time_s: number[];
  hosts: Record<string, HostTimeline>;
  vms: Record<string, VmTimeline>;
  pools?: Record<string, PoolTimeline>;
}

/** Move of a VM between hosts in the first replication. Times are since the start of the run. */
export interface Move {
  at_s: number;
  end_s: number | null;
  vm: string;
  from: string;
  to: string;
  kind: "migration" | "restart";
  why: "event" | "maintenance" | "balance" | "rule" | "failure";
  outcome: "done" | "running" | "given-up";
  rounds: number;
  sent_bytes: number;
  downtime_ms: number | null;
}

/** Outage of a VM that failed with its host in the first replication. Times are as in `Move`, or null without the event. */
export interface Outage {
  vm: string;
  host: string;
  from_s: number;
  detected_s: number | null;
  restart_s: number | null;
  up_s: number | null;
  up_on: string | null;
}

/** A VM that could not restart in the first replication, and the shortage of each host. */
export interface Unplaced {
  vm: string;
  lacks: string;
  at_s: number;
}

/** What happened to VMs that can move, in the order in which it began. */
export interface History {
  /** Finished and unfinished moves of VMs, in the first replication: `kind` (migration or restart), `why` (event, maintenance, balance, rule, failure), `at_s` and `end_s` since the start of the run, `outcome` (done, running, given-up), `rounds`, `sent_bytes`, and `downtime_ms`, the pause at the end. In JSON only, and only if VMs can move. */
  moves?: Move[];
  /** VMs that went down with their host in a cluster with an `ha` policy, in the first replication. Each has `from_s`, the times when HA noticed the failure (`detected_s`), powered the VM on (`restart_s`) and it served again (`up_s`), and its new host (`up_on`). Null for events that did not happen. In JSON only. */
  outages?: Outage[];
  /** VMs that do not fit on any host, in the first replication: the time (`at_s`), and the smallest shortage on any host (`lacks`). A migrating VM stays on its host. HA retries the restart of a VM that is down. In JSON only. */
  unplaced?: Unplaced[];
}

/** State of a pool after the permanent loss of one host. */
export interface LostHost {
  /** True if all data of every used policy are still present. */
  survives: boolean;
  /** True if all data can be recovered on the remaining hosts, for the worst of the used policies. */
  heals: boolean;
  /** Capacity then, by the same rule: with another host lost. None if not all data can recover. */
  room_gib: number | null;
  /** Device use then, in per cent, after recovery of all recoverable data. */
  used_pct: number;
}

/** Data of one policy in a pool. */
export interface PolicySpace {
  /** Name of the policy. `(pool)` is data of VMs that name none. */
  name: string;
  redundancy: string;
  /** Raw bytes per user byte. */
  overhead: number;
  /** True if the data of the pool are still present without a host. */
  survives: boolean;
  /** True if the data can be recovered on the remaining hosts. */
  heals: boolean;
  stored_gib: number;
  /** Capacity if all data have this policy. */
  room_gib: number;
  /** Free capacity for this policy. */
  free_gib: number;
}

/** Capacity of a pool. Sizes except `raw_gib` are user data, without copies and parity, at the used policies. */
export interface Space {
  kind: string;
  raw_gib: number;
  /** Maximum device use by the rules of the product, in per cent. */
  full_pct: number;
  /** Device use up to which lost data are recovered, in per cent. */
  recovery_pct: number;
  /** Capacity within that limit, with a host lost and its data recovered where possible. */
  room_gib: number;
  stored_gib: number;
  /** Device use, in per cent. */
  used_pct: number;
  /** Free capacity, or 0 if more is stored than allowed. */
  free_gib: number;
  lost_host: LostHost;
  policies: PolicySpace[];
}
