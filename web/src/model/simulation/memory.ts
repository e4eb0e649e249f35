/** Memory of hosts that were short of it, and of their VMs. */

import { bars, figures, tabled, words } from "../columns";
import { number } from "../numbers";
import type { BarChart, Cell, Column, Row, Section, Table, Tone } from "../view";
import type { HostMemory, Point } from "./document";
import { known, worstFirst } from "./points";

/** States of a host's memory, the better first. */
const STATES = ["high", "clear", "soft", "hard", "low"];
const GIB = 2 ** 30;
/** VMs that the table has; the JSON form has all. */
const MOST = 200;

const toneOf = (state: string): Tone =>
  STATES.indexOf(state) > 2 ? "bad" : STATES.indexOf(state) > 1 ? "warn" : "note";

const isTaken = (memory: object) =>
  ["ballooned_bytes", "compressed_bytes", "swapped_bytes", "swap_wait_pct"].some(
    (key) => (memory as Record<string, unknown>)[key],
  );

/** Hosts that were short of memory, the worst first. */
export function shortHosts(point: Point): [string, HostMemory][] {
  const found = Object.fromEntries(
    Object.entries(point.hosts).flatMap(([name, { memory }]) =>
      memory && (memory.state !== STATES[0] || isTaken(memory)) ? [[name, memory]] : [],
    ),
  );
  const weight = (name: string) => STATES.indexOf(found[name]!.state) * 1e18 + found[name]!.swapped_bytes;
  return worstFirst(Object.keys(found), weight).map((name) => [name, found[name]!]);
}

function taken(memory: HostMemory): string {
  const parts = (["ballooned", "compressed", "swapped"] as const).flatMap((what) =>
    memory[`${what}_bytes`] ? [`${number(memory[`${what}_bytes`] / GIB)} GiB ${what}`] : [],
  );
  return parts.join(", ") || "nothing reclaimed from VMs on average";
}

export function memorySections(point: Point): Section[] {
  const hosts = shortHosts(point);
  if (!hosts.length) return [];
  const vms = vmTable(point);
  return [
    {
      id: "memory",
      heading: "Memory",
      text: "Hosts that were short of memory at any time. Memory state: the worst that a host reached. Amounts are means over time.",
      blocks: [
        { type: "charts", charts: [parts(point, hosts)] },
        tabled(hostTable(hosts)),
        ...(vms.rows.length ? [tabled(vms)] : []),
      ],
    },
  ];
}

/** Consumed, reclaimed and free memory of each host. */
function parts(point: Point, hosts: readonly [string, HostMemory][]): BarChart {
  const series = (name: "free" | "ballooned" | "compressed" | "swapped" | "shared", colour: number) => ({
    name,
    colour,
    values: hosts.map(([, memory]) => memory[`${name}_bytes`] / GIB),
  });
  const consumed = (host: string) =>
    Object.values(point.vms).reduce(
      (sum, vm) => sum + (vm.host === host ? (known(vm.memory?.["consumed_bytes"]) ?? 0) : 0),
      0,
    );
  return bars({
    id: "memory-hosts",
    title: "Memory by use",
    alternative: `${hosts[0]![0]}, state ${hosts[0]![1].state}: ${taken(hosts[0]![1])}, ${number(hosts[0]![1].free_bytes / GIB)} GiB free.`,
    categories: hosts.map(([name, { state }]) => `${name} · ${state}`),
    value: { name: "memory", unit: "GiB", from: 0 },
    series: [
      { name: "consumed", colour: 0, values: hosts.map(([name]) => consumed(name) / GIB) },
      series("swapped", 1),
      series("compressed", 4),
      series("ballooned", 7),
      series("shared", 3),
      series("free", 2),
    ].filter(({ values }) => values.some((value) => value)),
    stacked: true,
  });
}

/** Columns of amounts in GiB and of rates in MB/s, by what comes before `_bytes` and `_bytes_per_s` in their keys. */
const amounts = (names: readonly string[], secondary: readonly string[] = []): Column[] =>
  [...names, ...secondary].map((name) =>
    figures(
      `${name}_bytes`,
      name.replace("min_free", "minimum"),
      "GiB",
      secondary.includes(name) ? { secondary: true } : {},
    ),
  );
const RATES = [
  figures("swap_in_bytes_per_s", "swap-in", "MB/s"),
  figures("swap_out_bytes_per_s", "swap-out", "MB/s", { secondary: true }),
];

function cells(memory: object): Row {
  const scaled = (key: string, value: unknown): Cell =>
    typeof value === "number" ? value / (key.endsWith("_bytes") ? GIB : key.endsWith("_bytes_per_s") ? 1e6 : 1) : null;
  return Object.fromEntries(Object.entries(memory).map(([key, value]) => [key, scaled(key, value)]));
}

function hostTable(hosts: readonly [string, HostMemory][]): Table {
  return {
    id: "memory-of-hosts",
    caption: "Memory of hosts, the worst state first",
    columns: [
      words("name", "host"),
      { key: "state", name: "state", kind: "badge" },
      figures("overcommit_pct", "overcommitted", "%"),
      ...amounts(["free", "min_free", "ballooned", "compressed", "swapped"], ["shared"]),
      ...RATES,
    ],
    rows: hosts.map(([name, memory]) => ({
      ...cells(memory),
      name,
      state: { tone: toneOf(memory.state), text: memory.state },
    })),
    filters: ["state"],
  };
}

function vmTable(point: Point): Table {
  const names = Object.keys(point.vms).filter((name) => isTaken(point.vms[name]!.memory ?? {}));
  const weight = (name: string) =>
    (known(point.vms[name]!.memory!["swap_wait_pct"]) ?? 0) * 1e15 +
    (known(point.vms[name]!.memory!["swapped_bytes"]) ?? 0);
  const shown = worstFirst(names, weight).slice(0, MOST);
  return {
    id: "memory-of-vms",
    caption: "Memory of VMs, the longest swap waits first",
    columns: [
      words("name", "VM"),
      words("host", "host"),
      figures("swap_wait_pct", "swap wait", "%", {
        text: "Per vCPU: time spent waiting for swapped-out memory (%SWPWT).",
      }),
      ...amounts(
        ["active", "consumed", "ballooned", "compressed", "swapped"],
        ["granted", "target", "shared", "overhead"],
      ),
      ...RATES,
    ],
    rows: shown.map((name) => ({ ...cells(point.vms[name]!.memory!), name, host: point.vms[name]!.host ?? "" })),
    filters: ["host"],
    ...(names.length > MOST ? { notes: [`${names.length - MOST} more VMs are in the JSON form.`] } : {}),
  };
}
