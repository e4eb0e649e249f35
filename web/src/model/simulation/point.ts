/** Charts of a single point: groups side by side, vCPU time, distributions, the I/O path, hosts by NUMA node. */

import { bars } from "../columns";
import { number } from "../numbers";
import type { BarChart, Block, Chart, HeatMap, LineChart, Section, Series } from "../view";
import { count } from "../words";
import { metric, type Metric, type Times } from "./beside";
import type { Point, Vm } from "./document";
import { field, groups, hasIo, hostsInOrder, known, percentiles, worstFirst } from "./points";
import { judged, waiting, worstGroups } from "./signs";

/** Bars of one chart; tables have the rest. */
const MOST_BARS = 12;
/** Lines of a chart of distributions. */
const MOST_LINES = 8;
/** Utilisation at which a station counts as saturated; the core's own threshold. */
const SATURATED = 85;
/** Ready and co-stop in %, below which a VM does not wait for CPU. */
const AT_REST = 0.5;
/** Usage of a NUMA node in %, below which the maps of nodes are folded. */
const BUSY_NODE = 80;
/** Figures of NUMA nodes that are worth a map. */
const NODE_FIGURES = ["usage_pct", "memory_pct", "vcpus", "memory_gb_per_s"];
/** Colours of run, ready, co-stop and idle: the same on all pages. */
const STATES = [
  { key: "run_pct", word: "run", colour: 0 },
  { key: "ready_pct", word: "ready", colour: 1 },
  { key: "costop_pct", word: "co-stop", colour: 4 },
  { key: "wait_pct", word: "idle", colour: 7 },
] as const;

/** `all` are the groups in the order that gives each its colour. */
export function pointSections(point: Point, all: readonly string[], metrics: readonly Metric[]): Section[] {
  const found = groups(point);
  const names = worstGroups(point);
  if (!names.length) return [];
  const atRest = Object.values(point.vms).every((vm) => heldPct(vm) < AT_REST);
  const maps = numaMaps(point, metrics);
  const nodes = Object.values(point.hosts).flatMap((host) => Object.values(host.nodes ?? {}));
  const sections: Section[] = [
    {
      id: "groups",
      heading: names.length > 1 ? "Groups side by side" : `Response and CPU of ${names[0]}`,
      blocks: charts([
        responseCurve(found, names, all),
        ...responseBars(found, names),
        ...(atRest ? [] : [timeSplit(point, names)]),
      ]),
    },
    ...(atRest
      ? [
          {
            id: "vcpu-time",
            heading: "vCPU time: no VM waits for CPU",
            closed: true,
            blocks: charts([timeSplit(point, names)]),
          },
        ]
      : []),
    { id: "io", heading: "I/O", blocks: charts([ioCurve(found, names, all), ioBars(found, names), stations(point)]) },
    {
      id: "numa",
      heading: "Hosts by NUMA node",
      closed: nodes.every((node) => (node.usage_pct ?? 0) < BUSY_NODE),
      blocks: charts(maps),
    },
  ];
  return sections.filter((section) => section.blocks.length);
}

function charts(found: readonly (Chart | null)[]): Block[] {
  const kept = found.filter((chart) => chart !== null);
  return kept.length ? [{ type: "charts", charts: kept }] : [];
}

function curve(
  id: string,
  title: string,
  text: string,
  lines: readonly { name: string; times: Times | undefined; colour: number; dash?: Series["dash"] }[],
): LineChart | null {
  const found = lines
    .map((line) => ({ ...line, points: percentiles(line.times) }))
    .filter((line) => line.points.length > 1);
  if (!found.length) return null;
  const places = [...new Set(found.flatMap((line) => line.points.map(([percentile]) => percentile)))].toSorted(
    (a, b) => a - b,
  );
  const series = found.map(({ name, colour, dash, points }): Series => {
    const at = new Map(points);
    return { name, colour, values: places.map((place) => at.get(place) ?? null), ...(dash ? { dash } : {}) };
  });
  const values = series.flatMap((line) => line.values.filter((value): value is number => value !== null && value > 0));
  const told = found
    .slice(0, 3)
    .map(
      ({ name, times }) =>
        `${name}: half within ${number(times?.p50 ?? 0)} ms, 99 % within ${number(times?.p99 ?? 0)} ms`,
    );
  const isWide = Math.max(...values) > 20 * Math.min(...values);
  return {
    type: "lines",
    id,
    title,
    text,
    alternative: `${told.join("; ")}.`,
    x: { name: "percentile", unit: "%", scale: "percentile", ticks: [50, 90, 99, 99.9] },
    y: { name: title, unit: "ms", ...(isWide ? { scale: "log" as const } : { from: 0 }) },
    places,
    series,
  };
}

function responseCurve(found: Record<string, Vm>, names: readonly string[], all: readonly string[]): LineChart | null {
  const lines = names
    .slice(0, MOST_LINES)
    .map((name) => ({ name, times: found[name]!.response_ms, colour: all.indexOf(name) }));
  return curve(
    "response-curve",
    "Response time",
    "Share of transactions up to each response time. The tail is stretched.",
    lines,
  );
}

function ioCurve(found: Record<string, Vm>, names: readonly string[], all: readonly string[]): LineChart | null {
  const lines = names
    .filter((name) => hasIo(found[name]!))
    .slice(0, MOST_LINES)
    .flatMap((name) => {
      const { read, write, io_latency_ms: both } = found[name]!;
      const colour = all.indexOf(name);
      const apart = [
        { name: `${name} · reads`, times: read?.latency_ms, colour, dash: "solid" as const },
        { name: `${name} · writes`, times: write?.latency_ms, colour, dash: "dashed" as const },
      ].filter((line) => percentiles(line.times).length > 1);
      return apart.length ? apart : [{ name, times: both, colour }];
    });
  return curve(
    "io-curve",
    "I/O latency",
    "Share of I/Os up to each latency, from the guest's driver to the interrupt.",
    lines,
  );
}

function responseBars(found: Record<string, Vm>, names: readonly string[]): BarChart[] {
  const measured = names.filter((name) => known(found[name]!.response_ms.mean) !== null);
  if (measured.length < 2) return [];
  const shown = measured.slice(0, MOST_BARS);
  const of = (key: "mean" | "p95" | "p99") => shown.map((name) => known(found[name]!.response_ms[key]));
  const first = found[shown[0]!]!.response_ms;
  return [
    bars({
      id: "response",
      title: "Response time by group",
      text:
        measured.length > shown.length ? `The worst ${shown.length} of ${measured.length} groups.` : "Per transaction.",
      alternative: `The worst, ${shown[0]}, has a mean of ${number(first.mean ?? 0)} ms and a p99 of ${number(first.p99 ?? 0)} ms.`,
      categories: shown,
      value: { name: "response time", unit: "ms", from: 0 },
      series: [
        {
          name: "mean",
          values: of("mean"),
          halfWidths: shown.map((name) => known(found[name]!.response_ms.ci95)),
          colour: 0,
        },
        { name: "p95", values: of("p95"), colour: 2 },
        { name: "p99", values: of("p99"), colour: 1 },
      ],
    }),
  ];
}

/** Time of a vCPU in which other VMs or its limit hold it back: wake-ups are not in it. */
const heldPct = (vm: Vm) => vm.waiting_pct + vm.limited_pct + vm.costop_pct;

/** Where the vCPUs' time goes: of groups, or of the VMs that wait most where there is one group. */
function timeSplit(point: Point, names: readonly string[]): BarChart {
  const vms = names.length > 1 ? groups(point) : point.vms;
  const waits = (name: string) => heldPct(vms[name]!);
  const all = worstFirst(Object.keys(vms), waits);
  const shown = all.slice(0, MOST_BARS);
  const worst = vms[shown[0]!]!;
  const what = names.length > 1 ? "groups" : "VMs";
  return bars({
    id: "time-split",
    title: "vCPU time by state",
    text: `Run + ready + co-stop + idle = 100% per vCPU.${all.length > shown.length ? ` The ${shown.length} ${what} of ${all.length} that wait most.` : ""}`,
    alternative: `${waits(shown[0]!) >= AT_REST ? `${shown[0]} waits most for CPU` : `None waits for CPU; ${shown[0]}`}: run ${number(worst.run_pct)}%, ready ${waiting(worst.ready_pct)}, co-stop ${waiting(worst.costop_pct)}, idle ${number(worst.wait_pct)}%.`,
    categories: shown,
    value: { name: "time of a vCPU", unit: "%", from: 0, to: 100 },
    series: STATES.map(({ key, word, colour }) => ({
      name: word,
      values: shown.map((name) => known(vms[name]![key])),
      colour,
    })),
    stacked: true,
  });
}

function ioBars(found: Record<string, Vm>, names: readonly string[]): BarChart | null {
  const shown = names.filter((name) => hasIo(found[name]!)).slice(0, MOST_BARS);
  if (shown.length < 2) return null;
  const apart = shown.some((name) => found[name]!.read ?? found[name]!.write);
  const values = (read: (vm: Vm) => unknown) => shown.map((name) => known(read(found[name]!)));
  const series: Series[] = apart
    ? [
        { name: "reads", values: values((vm) => vm.read?.iops), colour: 0 },
        { name: "writes", values: values((vm) => vm.write?.iops), colour: 1 },
      ]
    : [{ name: "I/Os", values: values((vm) => vm.iops), colour: 0 }];
  const first = found[shown[0]!]!;
  return bars({
    id: "iops",
    title: "I/O operations by group",
    text: "Completed per second.",
    alternative: `${shown[0]}: ${number(first.iops ?? 0)} a second, with a mean latency of ${number(first.io_latency_ms?.mean ?? 0)} ms.`,
    categories: shown,
    value: { name: "I/O operations", unit: "1/s", from: 0 },
    series,
    stacked: apart,
  });
}

function stations(point: Point): BarChart | null {
  const all = worstFirst(Object.keys(point.storage ?? {}), (name) => point.storage[name]!.utilization_pct);
  const shown = all.slice(0, MOST_BARS);
  if (!shown.length) return null;
  const limit = point.bottleneck;
  const full = judged(point).full_station;
  const partly = full && full !== limit?.station ? `; ${full} limits I/O` : "";
  const told = limit
    ? `${limit.station} ${limit.station === full ? "limits I/O" : "is the busiest, and not saturated"} at ${number(limit.utilization_pct)} %${partly}`
    : `${shown[0]} is the busiest`;
  return bars({
    id: "stations",
    title: "Stations of the I/O path",
    text: `Utilisation: busy time, or occupied slots.${limit?.binding_depth ? ` I/Os wait for ${limit.binding_depth}.` : ""}${all.length > shown.length ? ` The busiest ${shown.length} of ${all.length}.` : ""}`,
    alternative: `${told}. The busiest: ${shown
      .slice(0, 3)
      .map((name) => `${name} ${number(point.storage[name]!.utilization_pct)} %`)
      .join(", ")}.`,
    categories: shown,
    value: { name: "utilisation", unit: "%", from: 0, to: 100 },
    series: [
      {
        name: "mean of its members",
        values: shown.map((name) => known(point.storage[name]!.utilization_pct)),
        colour: 0,
      },
      {
        name: "busiest member",
        values: shown.map((name) => known(point.storage[name]!.utilization_max_pct)),
        colour: 2,
      },
    ],
    limits: [{ name: "saturated", value: SATURATED, tone: "bad" }],
  });
}

/** A map for each figure that hosts have of their NUMA nodes; none where every host has one node. */
function numaMaps(point: Point, metrics: readonly Metric[]): HeatMap[] {
  const hosts = Object.keys(point.hosts).filter((name) => Object.keys(point.hosts[name]!.nodes ?? {}).length);
  const nodesOf = (name: string) => point.hosts[name]!.nodes!;
  const numbers = [...new Set(hosts.flatMap((name) => Object.keys(nodesOf(name))))].toSorted(
    (a, b) => Number(a) - Number(b),
  );
  if (numbers.length < 2) return [];
  return NODE_FIGURES.flatMap((key) => {
    const at = (name: string, node: string) => known(field(nodesOf(name)[node], key));
    const highest = (name: string) => Math.max(0, ...numbers.map((node) => at(name, node) ?? 0));
    const most = worstFirst(hosts, highest)[0];
    if (most === undefined || highest(most) === 0) return [];
    const rows = hostsInOrder(point, hosts, highest);
    const told = metric(metrics, "host", `nodes_N_${key}`);
    const heading = (told?.name ?? key.replaceAll("_", " ")).replace(/ of a NUMA node$/, "");
    const unit = told?.unit ?? "";
    return [
      {
        type: "heat" as const,
        id: `numa-${key.replaceAll("_", "-")}`,
        title: heading,
        text: told?.text,
        alternative: `The highest of ${count(rows.length, "host")} is ${number(highest(most))} ${unit} on ${most}.`,
        x: { name: "NUMA node", scale: "category" as const, categories: numbers.map((number) => `node ${number}`) },
        columns: numbers.map((_, index) => index),
        rows: rows.map(({ name, title }) => ({ name: title, values: numbers.map((node) => at(name, node)) })),
        unit,
        ...(unit === "%" ? { top: 100 } : {}),
      },
    ];
  });
}
