/** Documents for the tests of this folder: what is not given has a value that no other file remarks on. */

import type { PageDocument } from "../page";
import type { Beside } from "./beside";
import type { Host, Point, Simulation, Vm } from "./document";

/** Some of the keys of a document. */
export type Some<T> = T extends object ? { [Key in keyof T]?: Some<T[Key]> | null } : T;

export function vm(given: Some<Vm> = {}): Vm {
  return {
    vcpus: 4,
    run_pct: 40,
    ready_pct: 0,
    ready_pct_ci95: 0.1,
    costop_pct: 0,
    costop_pct_ci95: 0.1,
    wait_pct: 60,
    limited_pct: 0,
    waiting_pct: 0,
    guest_cpu_pct: 40,
    guest_cpu_pct_ci95: 0.5,
    run_queue: 2,
    throughput_per_s: 100,
    throughput_per_s_ci95: 1,
    response_ms: { mean: 10, p50: 8, p95: 30, p99: 50, max: 90, ci95: 0.2 },
    numa_local_pct: 100,
    ...given,
  } as Vm;
}

/** A VM whose 99th percentile is this many milliseconds. */
export function slow(p99: number, given: Some<Vm> = {}): Vm {
  return vm({ ...given, response_ms: { mean: p99 / 5, p50: p99 / 6, p95: p99 / 2, p99, ci95: p99 / 500 } });
}

export const host = (usage_pct: number, given: Some<Host> = {}): Host =>
  ({ usage_pct, usage_pct_ci95: 0.2, utilization_pct: usage_pct / 2, ready_pct: 0, costop_pct: 0, ...given }) as Host;

/** A point of groups; a group of several has VMs that are all alike. */
export function point(groups: Record<string, Vm>, given: Some<Point> = {}): Point {
  const vms = Object.entries(groups).flatMap(([name, group]) => {
    const { count = 1, ...alike } = group;
    return Array.from(
      { length: count },
      (_, index) => [count === 1 ? name : `${name}-${index + 1}`, { ...alike, vcpus: group.vcpus / count }] as const,
    );
  });
  return {
    set: {},
    replications: 3,
    steady: true,
    warmup_s: 5,
    duration_s: 60,
    calibration: null,
    hosts: { esx: host(40) },
    groups,
    vms: Object.fromEntries(vms),
    storage: {},
    ...given,
  } as Point;
}

/** A result whose answer is that no VM suffers. */
export const result = (points: Point[], given: Partial<Simulation> = {}): Simulation => ({
  version: "1",
  scenario: "example",
  seed: 1,
  answer: { tone: "good", text: "No VM suffers.", more: [] },
  breaks: [],
  causes: [],
  points,
  ...given,
});

export function page(
  points: Point[],
  beside: Beside = {},
  notes: string[] = [],
  given: Partial<Simulation> = {},
): PageDocument {
  const document = result(points, given);
  const made = { version: "1", date: "2026-01-02T03:04:05Z", command: [], files: [], seed: 1, calibrated: [] };
  return { page: 1, kind: "simulation", title: "example", document, beside: { ...beside }, notes, made };
}

/** The sweep of the guide "Getting started": how many batch VMs a database supports. */
export function batchSweep(): Point[] {
  const at = (count: number, usage: number, db: Vm, batch?: Vm) =>
    point(batch ? { batch, db } : { db }, { set: { "vms.batch.count": count }, hosts: { esx: host(usage) } });
  return [
    at(0, 44, slow(53, { throughput_per_s: 347 })),
    at(1, 100, slow(68, { throughput_per_s: 334, guest_cpu_pct: 67 }), slow(314, { count: 1, throughput_per_s: 58 })),
    at(
      2,
      100,
      slow(133, { throughput_per_s: 297, ready_pct: 17, costop_pct: 13 }),
      slow(545, { count: 2, vcpus: 8, throughput_per_s: 68, ready_pct: 15, costop_pct: 16 }),
    ),
    at(
      3,
      100,
      slow(252, { throughput_per_s: 245, ready_pct: 25, costop_pct: 24 }),
      slow(750, { count: 3, vcpus: 12, throughput_per_s: 74, ready_pct: 24, costop_pct: 26 }),
    ),
  ];
}
