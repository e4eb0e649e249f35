/** Signs that a VM or a group suffers, the limits from which they count, and what explains them. */

import { number } from "../numbers";
import { count, list } from "../words";
import type { Point, Vm } from "./document";
import { fullest, groups, hasIo, known, members, worstFirst } from "./points";

/** Limits in per cent; those of ready and co-stop per vCPU, as in the guide "Reading the report". */
export const LIMITS = {
  ready: { warn: 5, bad: 10 },
  costop: { warn: 1, bad: 3 },
  /** Waiting for memory that the host has swapped out. */
  swap: { warn: 1, bad: 5 },
  /** Part of ready that the VM's own limit causes. */
  limited: 1,
  /** Guest CPU from which the guest itself is full. */
  guest: 95,
  /** Host usage from which its cores are all busy. */
  host: 95,
  local: 80,
} as const;

/** Ready and co-stop in per cent that the model tells from none, as in the tables of a terminal. */
export const RESOLVED = 0.5;

/** A share of ready or co-stop: below what the model resolves it is not a figure. */
export function waiting(share: number): string {
  return share < RESOLVED ? `<${RESOLVED} %` : `${number(share)} %`;
}

/** The same in a sentence. */
export function atMost(share: number): string {
  return share < RESOLVED ? `below ${RESOLVED} %` : `at most ${number(share)} %`;
}

/** One transaction in a hundred takes this many times the median. */
const TAIL = 20;

export interface Sign {
  tone: "bad" | "warn";
  text: string;
  /** 1 at the limit, more beyond: what is further beyond is worse. */
  weight: number;
}

/** The groups of a point, those that suffer most first, then those with the slowest transactions. */
export function worstGroups(point: Point): string[] {
  const found = groups(point);
  return worstFirst(Object.keys(found), (name) => severity(signs(found[name]!)) * 1e9 + (known(found[name]!.response_ms.p99) ?? 0));
}

/** What is wrong with a VM, or with a group of VMs, the worst first. */
export function signs(vm: Vm): Sign[] {
  const found: Sign[] = [];
  const share = (name: string, value: number, limit: { warn: number; bad: number }) => {
    if (value > limit.warn)
      found.push({ tone: value > limit.bad ? "bad" : "warn", text: `${name} ${number(value)} % per vCPU`, weight: value / limit.bad });
  };
  if (vm.down_s) found.push({ tone: "bad", text: `was down for ${number(vm.down_s)} s${(vm.count ?? 1) > 1 ? " on average" : ""}`, weight: 1000 + vm.down_s });
  share("ready", vm.ready_pct, LIMITS.ready);
  share("co-stop", vm.costop_pct, LIMITS.costop);
  share("waits for swapped memory", known(vm.memory?.["swap_wait_pct"]) ?? 0, LIMITS.swap);
  const queue = vm.run_queue / vm.vcpus;
  if (vm.guest_cpu_pct >= LIMITS.guest && queue > 2)
    found.push({ tone: "bad", text: `guest CPU ${number(vm.guest_cpu_pct)} % with ${number(queue)} processes for each vCPU`, weight: queue / 2 });
  const { p50, p99 } = vm.response_ms;
  if (known(p50) && known(p99) && p99! > TAIL * p50!)
    found.push({ tone: "warn", text: `p99 ${number(p99!)} ms is ${number(p99! / p50!)} times the median`, weight: p99! / p50! / TAIL });
  return found.toSorted((a, b) => b.weight - a.weight);
}

/** How bad it is: a bad sign weighs more than any warning. */
export function severity(found: readonly Sign[]): number {
  return Math.max(0, ...found.map((sign) => sign.weight * (sign.tone === "bad" ? 1000 : 1)));
}

export const isBad = (found: readonly Sign[]) => found.some((sign) => sign.tone === "bad");

/** What a group shows beside the best that it does elsewhere in a sweep. */
export interface Best {
  /** The smallest 99th percentile along the line, and where it is. */
  p99: number | null;
  p99At: string;
  /** The most work for each VM and unit of load up to here, and where it is. */
  work: number | null;
  workAt: string;
}

/** A 99th percentile above this many times the smallest counts as departed. */
export const DEPARTED = 2;
/** A throughput for each VM and unit of load below this part of the best counts as lost. */
export const LOST = 0.8;

export const RULE =
  `A group counts as suffering where its 99th percentile is more than ${DEPARTED} times the smallest along its line, where ` +
  `its throughput for each VM and unit of load is over ${Math.round(100 * (1 - LOST))} % below the best so far, where ready is above ` +
  `${LIMITS.ready.bad} % or co-stop above ${LIMITS.costop.bad} % per vCPU, where the guest's own vCPUs are full, or where VMs were down.`;

/** Throughput for each VM and unit of load: what an unhurt group keeps while others, or more of it, are added. */
export function work(point: Point, group: string, vm: Vm): number | null {
  const load = point.set[`vms.${group}.load`];
  const units = (vm.count ?? 1) * (typeof load === "number" ? load : 1);
  return units > 0 ? vm.throughput_per_s / units : null;
}

/** Signs of a group at a point of a sweep: first what its users notice beside its best, then what is wrong in itself. */
export function signsBeside(point: Point, group: string, vm: Vm, best: Best): Sign[] {
  const found: Sign[] = [];
  const p99 = known(vm.response_ms.p99);
  if (p99 !== null && best.p99 !== null && p99 > DEPARTED * best.p99)
    found.push({
      tone: "bad",
      text: `p99 ${number(p99)} ms, ${number(p99 / best.p99)} times the ${number(best.p99)} ms with ${best.p99At}`,
      weight: p99 / best.p99 / DEPARTED,
    });
  const done = work(point, group, vm);
  if (done !== null && best.work !== null && done < LOST * best.work)
    found.push({
      tone: "bad",
      text: `throughput for each VM and unit of load ${number(100 * (1 - done / best.work))} % below that with ${best.workAt}`,
      weight: (1 - done / best.work) / (1 - LOST),
    });
  return [...found, ...signs(vm)];
}

/** What explains that a group suffers at a point, the likeliest first; one sentence each. */
export function causes(point: Point, group: string, vm: Vm): string[] {
  const found: string[] = [];
  const hosts = new Set(members(point, group).flatMap((name) => point.vms[name]?.host ?? []));
  const host = fullest(point, hosts.size ? hosts : Object.keys(point.hosts));
  const waits = vm.ready_pct > LIMITS.ready.warn || vm.costop_pct > LIMITS.costop.warn;
  const hostText = host ? `${Object.keys(point.hosts).length > 1 ? "the fullest host, " : "host "}${host[0]}${Object.keys(point.hosts).length > 1 ? "," : ""}` : "";
  if (vm.down_s) found.push("Hosts failed, and nothing started their VMs elsewhere.");
  if (vm.limited_pct > LIMITS.limited) found.push(`The VM's own CPU limit holds it back ${number(vm.limited_pct)} % of the time.`);
  if (waits && host && vm.limited_pct < vm.ready_pct / 2) {
    const held = [
      ...(vm.ready_pct > LIMITS.ready.warn ? [`wait ${number(vm.ready_pct)} % of the time for a logical CPU`] : []),
      ...(vm.costop_pct > LIMITS.costop.warn ? [`are held back ${number(vm.costop_pct)} % of the time for their siblings (co-stop)`] : []),
    ];
    found.push(`Its vCPUs ${list(held)}: ${hostText} is at ${number(host[1].usage_pct)} %.`);
  }
  if (!waits && vm.guest_cpu_pct >= LIMITS.guest) found.push(`Its own vCPUs are full: guest CPU is ${number(vm.guest_cpu_pct)} %, and they hardly wait for the host.`);
  const limit = point.bottleneck;
  if (limit?.saturated && hasIo(vm)) found.push(`${limit.station} at ${number(limit.utilization_pct)} % limits its I/O.`);
  if (!waits && host && host[1].usage_pct >= LIMITS.host)
    found.push(`All cores are busy: ${hostText} is at ${number(host[1].usage_pct)} %, and busy second threads slow each other.`);
  if (vm.numa_local_pct < LIMITS.local) found.push(`Only ${number(vm.numa_local_pct)} % of its memory is on the NUMA nodes where it runs.`);
  const failed = Object.entries(point.pools ?? {}).filter(([, pool]) => pool.incidents?.some((incident) => incident.fails));
  if (hasIo(vm))
    for (const [name, pool] of failed)
      found.push(`${count(pool.incidents.filter((incident) => incident.fails).length, "failure")} in ${name} in the run.`);
  return found;
}
