/** What `hypertwin simulate --format json` prints; its type in Python is `python/hypertwin/documents/simulation.py`. */

import type { Section, View } from "../view";

/** A figure that some entities lack. */
export type Figure = number | null | undefined;

/** A figure of a VM or group that is beyond its band. */
export interface Sign {
  metric: string;
  severity: "warning" | "critical";
  value: number;
  /** The value over its worst limit. */
  weight: number;
  text: string;
}

export interface Answer {
  tone: "good" | "note" | "warn" | "bad";
  text: string;
  more: string[];
}

/** What a point means; only VMs and groups with signs are in it. */
export interface Judgement extends Answer {
  vms: Record<string, Sign[]>;
  groups: Record<string, Sign[]>;
  limits: Record<string, { kind: string; of: string; value_pct: number | null; text: string }>;
  unplaced?: string[];
}

/** Where along a sweep a group suffers, and the point that says most. */
export interface Break {
  group: string;
  line: string;
  where: string;
  suffers: boolean;
  set: Record<string, unknown> | null;
  signs: string[];
  why: string;
}

export interface Times {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  max?: number | null;
  ci95?: number | null;
  /** [percentile, milliseconds], ascending. */
  curve?: [number, number][];
}

/** Reads or writes. */
export interface Ios {
  iops?: Figure;
  mb_per_s?: Figure;
  latency_ms?: Times;
}

/** A VM; of a group the mean of its VMs, or their sum where the catalogue says so. */
export interface Vm {
  count?: number;
  host?: string | null;
  cluster?: string;
  hosts?: string[];
  clusters?: string[];
  down_s?: number;
  slow_s?: number;
  memory?: Record<string, Figure>;
  vcpus: number;
  run_pct: number;
  ready_pct: number;
  ready_pct_ci95?: number | null;
  costop_pct: number;
  costop_pct_ci95?: number | null;
  wait_pct: number;
  limited_pct: number;
  used_mhz?: Figure;
  guest_cpu_pct: number;
  guest_cpu_pct_ci95?: number | null;
  run_queue: number;
  throughput_per_s: number;
  throughput_per_s_ci95?: number | null;
  unit?: string;
  response_ms: Times;
  iops?: Figure;
  io_latency_ms?: Times;
  io_mb_per_s?: Figure;
  io_cpu_cycles_per_io?: Figure;
  numa_local_pct: number;
  read?: Ios;
  write?: Ios;
  copied_mb_per_s?: Figure;
  copy_s?: Figure;
}

/** What of a host's memory was reclaimed, and the worst state that it reached. */
export interface HostMemory {
  state: string;
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

/** A VM that went to another host; times count from the start of the run. */
export interface Move {
  at_s: number;
  end_s: number | null;
  vm: string;
  from: string;
  to: string;
  kind: string;
  why: string;
  outcome: string;
  rounds: number;
  sent_bytes: number;
  downtime_ms: number | null;
}

/** A VM that went down with its host; null for what did not happen. */
export interface Outage {
  vm: string;
  host: string;
  from_s: number;
  detected_s: number | null;
  restart_s: number | null;
  up_s: number | null;
  up_on: string | null;
}

export interface Unplaced {
  vm: string;
  lacks: string;
  at_s: number;
}

export interface Host {
  /** Absent in results of older versions. */
  cluster?: string;
  usage_pct: number;
  usage_pct_ci95?: number | null;
  utilization_pct?: Figure;
  core_utilization_pct?: Figure;
  overhead_pct?: Figure;
  ready_pct?: Figure;
  costop_pct?: Figure;
  memory_pct?: Figure;
  memory_usage_pct?: Figure;
  memory_gb_per_s?: Figure;
  down_s?: number;
  /** Only where it was short of memory at any time. */
  memory?: HostMemory;
  migration_cpu_pct?: Figure;
  /** Figures of each NUMA node, by its number. */
  nodes?: Record<string, Record<string, Figure>>;
}

/** A cluster: sums over its hosts, or means weighted by what each has. */
export interface Cluster {
  hosts: number;
  vms: number;
  vcpus: number;
  cores: number;
  vcpu_per_core: number;
  usage_pct: number;
  usage_pct_ci95: number | null;
  fullest_host: string;
  fullest_host_pct: number;
  ready_pct: number;
  memory_pct: number;
  memory_usage_pct: number;
}

export interface Station {
  members: number;
  utilization_pct: number;
  utilization_max_pct: number;
  queue: number;
  wait_ms: number;
  waited_pct: number;
  throughput_per_s: number;
  mb_per_s?: Figure;
  hit_pct?: Figure;
  /** I/Os that were sent again because a port failed. */
  path_failovers?: Figure;
}

export interface Bottleneck {
  station: string;
  utilization_pct: number;
  saturated: boolean;
  next_station: string | null;
  next_utilization_pct: number | null;
  binding_depth: string | null;
}

export interface Incident {
  time_s: number;
  what: string;
  fails: boolean;
  degraded_pct: number;
  lost_gib: number;
  whole_after_s: number | null;
}

/** Hosts that went down or came up in the first replication, and the VMs on them. */
export interface HostFailure {
  time_s: number;
  what: string;
  fails: boolean;
  hosts: string[];
  vms: string[];
}

export interface Pool {
  redundancy: string;
  raw_gib: number;
  usable_gib: number;
  stored_gib: number;
  lost_gib: number;
  suspended_ios: number;
  errors: number;
  incidents: Incident[];
  [figure: string]: unknown;
}

/** The room of a pool. */
export interface Space {
  lost_host: { survives: boolean; heals: boolean; room_gib: number | null; used_pct: number };
  [figure: string]: unknown;
}

type Samples = Record<string, (number | null)[] | undefined>;

export interface Timeline {
  interval_s: number;
  /** Since the end of the warm-up. */
  time_s: number[];
  hosts: Record<string, Samples>;
  vms: Record<string, Samples>;
  pools?: Record<string, Samples>;
}

/** Whether figures are of one state; absent in results of older versions. */
export interface Verdict {
  steady: "steady" | "not-steady" | "not-known";
  reason: { condition: string; of: string; text: string; needs_s: number | null } | null;
}

export interface Point {
  set: Record<string, unknown>;
  replications: number;
  steady: boolean;
  verdict?: Verdict;
  warmup_s: number;
  duration_s: number;
  /** Absent in results of older versions. */
  judgement?: Judgement;
  calibration: string | null;
  /** Absent in results of older versions. */
  clusters?: Record<string, Cluster>;
  hosts: Record<string, Host>;
  vms: Record<string, Vm>;
  groups: Record<string, Vm>;
  storage: Record<string, Station>;
  pools?: Record<string, Pool>;
  space?: Record<string, Space>;
  bottleneck?: Bottleneck | null;
  failures?: HostFailure[];
  /** Of the first replication, as all that has a time. */
  moves?: Move[];
  outages?: Outage[];
  unplaced?: Unplaced[];
  timeline?: Timeline;
}

export interface Simulation {
  version: string;
  scenario: string;
  seed: number;
  answer: Answer;
  breaks: Break[];
  points: Point[];
}

/** A published figure: the settings of its point, where it is in a report, and its value. */
export interface Published {
  set: Record<string, unknown>;
  path: string;
  value: number;
}

/** What a figure means: the catalogue in `python/hypertwin/report/metrics.py`. */
export interface Metric {
  key: string;
  /** Kinds of entities that have it: cluster, host, vm, group, storage, pool, timeline; or the point itself. */
  of: string[];
  name: string;
  unit: string;
  text: string;
  /** What other tools call it, by tool. */
  called: Record<string, string>;
}

/** The figure under a flat key, such as `response_ms_p99`, of an entity of a kind. */
export function metric(metrics: readonly Metric[], of: string, key: string): Metric | undefined {
  return metrics.find((each) => each.key === key && each.of.includes(of));
}

/** What was measured of a real host; null where it was not. */
export interface MeasuredHost {
  cpu_usage_pct: number | null;
  memory_usage_pct: number | null;
  /** When, as the scenario has it. */
  at: string | null;
  /** Seconds that the figures cover; null for one moment. */
  over_s: number | null;
}

/** The same of a VM. */
export interface MeasuredVm {
  cpu_mhz: number | null;
  /** Of each vCPU. */
  ready_pct: number | null;
}

/** What only the page of a simulation has, made by `python/hypertwin/report/simulation_page.py`. */
export interface Beside {
  /** Definitions of the figures that the result has. */
  metrics?: Metric[];
  /** Figures of a study against the twin, and whether it keeps to what it promises. */
  judged?: Section[];
  promises?: View["promises"];
  /** Drawings of the NUMA layouts of the first point's VMs. */
  drawings?: { caption: string; svg: string }[];
  /** What holds for the drawings: how to read them, and how many are left out. */
  drawings_note?: string;
  published?: Published[];
  /** What failed and returned, in words: for each point of each pool a sentence for each of its incidents. */
  incidents?: Record<string, Record<string, string[]>>;
  /** The same of hosts, by point. */
  failures?: Record<string, string[]>;
  /** Changes of load, and ports that fail and return, in the order of time, which counts from the start of the run. */
  load_steps?: { at_s: number; text: string }[];
  /** Hosts of which something was measured. */
  measured?: Record<string, MeasuredHost>;
  measured_vms?: Record<string, MeasuredVm>;
}
