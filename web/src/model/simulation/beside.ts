/** Data of the simulation page only, made by `python/hypertwin/show/simulation_page.py`. */

import type { Section, View } from "../view";
import type { Latency, Response } from "./document";

/** A figure that some entities lack. */
export type Figure = number | null | undefined;

/** Times of transactions, or of I/Os. */
export type Times = Latency & Partial<Response>;

/** A published figure: the settings of its point, where it is in a report, and its value. */
export interface Published {
  set: Record<string, unknown>;
  path: string;
  value: number;
}

/** Definition of a figure: the catalogue in `python/hypertwin/metrics/catalogue.py`. */
export interface Metric {
  key: string;
  /** Kinds of entities that have it: cluster, host, vm, group, storage, pool, timeline; or the point itself. */
  of: string[];
  name: string;
  unit: string;
  text: string;
  /** Its names in other tools, by tool. */
  called: Record<string, string>;
}

/** The figure under a flat key, such as `response_ms_p99`, of an entity of a kind. */
export function metric(metrics: readonly Metric[], of: string, key: string): Metric | undefined {
  return metrics.find((each) => each.key === key && each.of.includes(of));
}

/** Measured values of a real host; null if not measured. */
export interface MeasuredHost {
  cpu_usage_pct: number | null;
  memory_usage_pct: number | null;
  /** When, as the scenario has it. */
  at: string | null;
  /** Seconds that the figures cover; null for a single sample. */
  over_s: number | null;
}

/** The same of a VM. */
export interface MeasuredVm {
  cpu_mhz: number | null;
  /** Of each vCPU. */
  ready_pct: number | null;
}

/** All of it. */
export interface Beside {
  /** Definitions of the figures that the result has. */
  metrics?: Metric[];
  /** Figures of a study against the twin, and whether it keeps its promises. */
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
  /** Hosts with measured values. */
  measured?: Record<string, MeasuredHost>;
  measured_vms?: Record<string, MeasuredVm>;
}
