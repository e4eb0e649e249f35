/** Output of `hypertwin simulate`. The engine makes the points. docs/metrics.md explains each figure. */

// Generated from python/hypertwin/documents/simulation.py and python/hypertwin/documents/vm_metrics.py and python/hypertwin/documents/space.py by `make docs`: change that.

/** A NUMA node of a host. */
export interface Node {
  memory_gb_per_s: number;
  usage_pct: number;
  vcpus: number;
  memory_mb: number;
  memory_pct: number;
}

/** Memory of a host that was short of memory at any time: means over time, and its worst state. */
export interface HostMemory {
  state: "high" | "clear" | "soft" | "hard" | "low";
  free_bytes: number;
  min_free_bytes: number;
  ballooned_bytes: number;
  swapped_bytes: number;
  compressed_bytes: number;
  shared_bytes: number;
  overcommit_pct: number;
  swap_in_bytes_per_s: number;
  swap_out_bytes_per_s: number;
}

/** Memory of a VM whose host was short of memory at any time: means over time. */
export interface VmMemory {
  granted_bytes: number;
  consumed_bytes: number;
  active_bytes: number;
  shared_bytes: number;
  ballooned_bytes: number;
  swapped_bytes: number;
  compressed_bytes: number;
  overhead_bytes: number;
  target_bytes: number;
  swap_in_bytes_per_s: number;
  swap_out_bytes_per_s: number;
  swap_wait_pct: number;
}

/** Host of a simulation. NUMA nodes are numbered. */
export interface Host {
  cluster: string;
  usage_pct: number;
  usage_pct_ci95: number | null;
  utilization_pct: number;
  core_utilization_pct: number;
  overhead_pct: number;
  ready_pct: number;
  costop_pct: number;
  down_s: number;
  memory_pct: number;
  memory_usage_pct: number;
  memory_gb_per_s: number;
  memory?: HostMemory;
  migration_cpu_pct?: number;
  nodes: Record<string, Node>;
}

/** Cluster with sums over its hosts, or means weighted by capacity. */
export interface Cluster {
  hosts: number;
  vms: number;
  vcpus: number;
  cores: number;
  vcpu_per_core: number;
  usage_pct: number;
  usage_pct_ci95: number | null;
  peak_host: string;
  fullest_host_pct: number;
  ready_pct: number;
  memory_pct: number;
  memory_usage_pct: number;
}

/** Percentiles, ascending, and their values in milliseconds. Only groups have curves, and only of at least one value. */
export type Curve = [number, number][];

/** Response times of transactions in milliseconds, or None without transactions. */
export interface Response {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max: number | null;
  ci95: number | null;
  curve?: Curve;
}

/** Latencies of I/Os in milliseconds, or None without I/Os. */
export interface Latency {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  curve?: Curve;
}

/** Reads or writes of VMs with virtual disks. */
export interface Ios {
  iops: number;
  mb_per_s: number;
  latency_ms: Latency;
}

/** Outcome shared by some of the replications. */
export interface Outcome {
  throughput_units_per_s: number;
  likelihood_pct: number;
}

/** State of a VM. For a group, means of its VMs, or sums for metrics marked as sums. Percentages are per vCPU. */
export interface Vm extends VmMetrics {
  /** Host of the VM. Groups have `count`, `hosts` and `clusters` instead. */
  host?: string;
  cluster?: string;
  count?: number;
  hosts?: string[];
  clusters?: string[];
  vcpus: number;
  /** Measured time with slowdown or pause by its own migration. */
  slow_s?: number;
  memory?: VmMemory;
  unit: string;
  response_ms: Response;
  response_count: number;
  io_latency_ms?: Latency;
  io_mb_per_s?: number;
  io_cpu_cycles_per_io?: number;
  read?: Ios;
  write?: Ios;
  copied_mb_per_s?: number;
  copy_s?: number;
  virtual_nodes: number;
  outcomes: Outcome[];
}

/** Station of the I/O path. */
export interface Station {
  members: number;
  utilization_pct: number;
  utilization_max_pct: number;
  queue: number;
  wait_ms: number;
  waited_pct: number;
  throughput_per_s: number;
  mb_per_s?: number;
  hit_pct?: number;
  path_failovers?: number;
}

/** Station that limits I/O, or is nearest to its limit. */
export interface Bottleneck {
  station: string;
  utilization_pct: number;
  saturated: boolean;
  next_station: string | null;
  next_utilization_pct: number | null;
  binding_depth: string | null;
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

/** Data of a policy in a pool. `(pool)` is the data of VMs without a policy, with the pool's own redundancy. */
export interface Policy {
  policy: string;
  redundancy: string;
  placement_groups: number;
  stored_gib: number;
  raw_gib: number;
}

/** Latencies of a pool's reads or writes in milliseconds, or None without any. */
export interface ClientLatency {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
}

/** Completed reads or writes of a pool. */
export interface ClientIos {
  iops: number;
  latency_ms: ClientLatency;
}

/** Pool of distributed storage. */
export interface Pool {
  redundancy: string;
  placement_groups: number;
  raw_gib: number;
  usable_gib: number;
  stored_gib: number;
  policies?: Policy[];
  read_mb_per_s: number;
  write_mb_per_s: number;
  read: ClientIos;
  write: ClientIos;
  device_read_mb_per_s: number;
  device_write_mb_per_s: number;
  amplification: number;
  service_cpus?: number;
  cache_hit_pct?: number;
  acknowledged_from?: string;
  buffer_pct?: number;
  overwritten_pct?: number;
  destage_mb_per_s?: number;
  degraded_pct: number;
  due_gib: number;
  rebuilt_gib: number;
  rebuild_mb_per_s: number;
  time_to_whole_s: number | null;
  scrub_mb_per_s?: number;
  scrub_due_mb_per_s?: number;
  scrub_keeps_up?: boolean;
  lost_gib: number;
  suspended_ios: number;
  retries: number;
  errors: number;
  incidents: Incident[];
}

/** Hosts that stopped or came back in the first replication, with the VMs on them. The time is as in `Incident`. */
export interface HostFailure {
  time_s: number;
  what: string;
  fails: boolean;
  hosts: string[];
  vms: string[];
}

export interface _From {
  from: string;
}

/** Move of a VM between hosts in the first replication. Times are since the start of the run. */
export interface Move extends _From {
  at_s: number;
  end_s: number | null;
  vm: string;
  to: string;
  kind: "migration" | "restart";
  why: "event" | "maintenance" | "balance" | "rule" | "failure";
  outcome: "done" | "running" | "given-up";
  rounds: number;
  sent_bytes: number;
  downtime_ms: number | null;
}

/** Outage of a VM that failed with its host in the first replication. Times are as in `Move`, or None without the event. */
export interface Outage {
  vm: string;
  host: string;
  from_s: number;
  detected_s: number | null;
  restart_s: number | null;
  up_s: number | null;
  up_on: string | null;
}

/** Times in seconds of a VM from the failure of its host until it serves again, in all replications. */
export interface Downtime {
  mean_s: number;
  min_s: number;
  max_s: number;
}

/** A VM that could not restart in the first replication, and the shortage of each host. */
export interface Unplaced {
  vm: string;
  lacks: string;
  at_s: number;
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
  /** Running fraction of each sample, only if the VM was down in some samples. */
  up?: number[];
  iops?: number[];
  io_latency_ms_mean?: (number | null)[];
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
export interface Point {
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
  moves?: Move[];
  outages?: Outage[];
  /** Spread of downtime of each VM that failed with its host and serves again. */
  downtimes?: Record<string, Downtime>;
  unplaced?: Unplaced[];
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

/** Metrics of a VM, or of a group: means of its VMs, or sums. Percentages are per vCPU. */
export interface VmMetrics {
  /** Time in which a vCPU was on a hardware thread, with its sibling thread idle or busy. Run + Ready + Co- stop + Wait = 100 %. */
  run_pct: number;
  /** Time in which a vCPU could run but had no hardware thread, including limited time. Per vCPU, 0 to 100. For a host or cluster it is the mean over its vCPUs. Above 5 % look closer, above 10 % users notice. */
  ready_pct: number;
  ready_pct_ci95: number | null;
  /** Time in which ESXi stopped a vCPU because it was too far ahead of its siblings. Per vCPU. Healthy below 1 %, trouble above 3 %. */
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
  /** Run + System − Overlap, corrected for clock, and charged 62.5 % while the sibling thread is busy. Per vCPU. */
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
  /** I/O operations completed per second. */
  iops: number;
  /** Part of the VM's memory on the home nodes of the NUMA clients that use it. Below 80 % look closer. */
  numa_local_pct: number;
  /** Memory on the home nodes, in mebibytes like esxtop. */
  numa_local_mb: number;
  /** Memory on other nodes than the home nodes, in mebibytes like esxtop. */
  numa_remote_mb: number;
  /** Bytes that workloads read and write in memory per second. For a host it is what the memory of all its nodes delivers. */
  memory_gb_per_s: number;
  /** Part of the memory bandwidth that crosses the link between nodes, counted from the node on which a vCPU runs. That is not always its home node. */
  memory_remote_gb_per_s: number;
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
