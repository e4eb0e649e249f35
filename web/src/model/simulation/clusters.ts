/** Clusters side by side, and the hosts of each: CPU, memory, and measured values beside simulated ones. */

import { bars, tabled } from "../columns";
import { number } from "../numbers";
import type { BarChart, Card, Chart, Section, Series } from "../view";
import { byName, count, MEASURED, slug, TWIN } from "../words";
import type { Beside, MeasuredHost, Metric } from "./beside";
import type { Cluster, Point } from "./document";
import { clusterOf, clusters, known, worstFirst } from "./points";
import { clusterTable } from "./tables";
import { waiting } from "./signs";

/** Minimum ready time for a chart of clusters. */
const VISIBLE = 0.1;
/** Clusters that have a card. */
const MOST_CARDS = 6;
/** Clusters whose hosts are drawn; tables have all. */
const MOST_CHARTS = 12;

/** Clusters of a point where there are several, and the hosts of each where there are several. */
export function clusterSections(point: Point, beside: Beside, metrics: readonly Metric[]): Section[] {
  const found = clusters(point);
  const names = Object.keys(found).toSorted(byName);
  const several: Section[] = names.length
    ? [
        {
          id: "clusters",
          heading: "Clusters",
          blocks: [
            tabled(clusterTable(point, names, metrics)),
            { type: "charts", charts: clusterCharts(found, names) },
          ],
        },
      ]
    : [];
  return [hostSection(point, beside), ...several];
}

function clusterCharts(found: Record<string, Cluster>, names: readonly string[]): Chart[] {
  const worst = (key: "fullest_host_pct" | "memory_pct" | "vcpu_per_core" | "ready_pct") =>
    worstFirst(names, (name) => found[name]![key]);
  const values = (order: readonly string[], key: keyof Cluster) => order.map((name) => known(found[name]![key]));
  const [byUsage, byMemory, byRatio, byReady] = [
    worst("fullest_host_pct"),
    worst("memory_pct"),
    worst("vcpu_per_core"),
    worst("ready_pct"),
  ];
  const top = found[byUsage[0]!]!;
  const used = values(byMemory, "memory_usage_pct");
  const configured = values(byMemory, "memory_pct");
  const inUse: Series[] = used.some((value, index) => value !== configured[index])
    ? [{ name: "in use", values: used, colour: 2 }]
    : [];
  return [
    bars({
      id: "clusters-usage",
      title: "CPU usage by cluster",
      text: "A mean over hosts hides the most loaded one.",
      alternative: `The most loaded host is ${top.peak_host} of ${byUsage[0]} at ${number(top.fullest_host_pct)} %; all of ${byUsage[0]} is at ${number(top.usage_pct)} %.`,
      categories: byUsage,
      value: { name: "CPU usage", unit: "%", from: 0, to: 100 },
      series: [
        {
          name: "all hosts",
          values: values(byUsage, "usage_pct"),
          halfWidths: values(byUsage, "usage_pct_ci95"),
          colour: 0,
        },
        { name: "most loaded host", values: values(byUsage, "fullest_host_pct"), colour: 2 },
      ],
    }),
    bars({
      id: "clusters-memory",
      title: "Memory by cluster",
      text: "In % of the memory of all hosts: configured, and touched by VMs if the scenario gives it.",
      alternative: `${byMemory[0]} is highest: ${number(found[byMemory[0]!]!.memory_pct)} % configured.`,
      categories: byMemory,
      value: { name: "memory", unit: "%", from: 0 },
      series: [{ name: "configured", values: configured, colour: 0 }, ...inUse],
      limits: [{ name: "memory of all hosts", value: 100, tone: "bad" }],
    }),
    bars({
      id: "clusters-ratio",
      title: "vCPUs per core by cluster",
      alternative: `${byRatio[0]} is highest: ${number(found[byRatio[0]!]!.vcpu_per_core)}.`,
      categories: byRatio,
      value: { name: "vCPUs per core", from: 0 },
      series: [{ name: "vCPUs per core", values: values(byRatio, "vcpu_per_core"), colour: 0 }],
    }),
    ...(found[byReady[0]!]!.ready_pct >= VISIBLE
      ? [
          bars({
            id: "clusters-ready",
            title: "Ready by cluster",
            text: "Mean over the vCPUs of its VMs.",
            alternative: `${byReady[0]} waits most: ${waiting(found[byReady[0]!]!.ready_pct)} per vCPU.`,
            categories: byReady,
            value: { name: "ready", unit: "%", from: 0 },
            series: [{ name: "ready", values: values(byReady, "ready_pct"), colour: 1 }],
          }),
        ]
      : []),
  ];
}

/** The cluster at a glance: CPU and memory of each host, a chart for each cluster, the most loaded cluster first. */
function hostSection(point: Point, { measured = {} }: Beside): Section {
  const byCluster = new Map<string, string[]>();
  for (const name of worstFirst(Object.keys(point.hosts), (host) => point.hosts[host]!.usage_pct))
    byCluster.set(clusterOf(point, name), [...(byCluster.get(clusterOf(point, name)) ?? []), name]);
  const left = byCluster.size - MOST_CHARTS;
  return {
    id: "hosts-usage",
    heading: byCluster.size > 1 ? "Hosts by cluster" : "Hosts at a glance",
    ...(left > 0 ? { text: `The ${MOST_CHARTS} clusters with the most loaded hosts; the table has all.` } : {}),
    blocks: [
      {
        type: "charts",
        charts: [...byCluster]
          .slice(0, MOST_CHARTS)
          .map(([cluster, hosts]) => hostChart(point, cluster, hosts, byCluster.size > 1, measured)),
      },
    ],
  };
}

function hostChart(
  point: Point,
  cluster: string,
  hosts: readonly string[],
  named: boolean,
  measured: Record<string, MeasuredHost>,
): BarChart {
  const real = hosts.map((name) => known(measured[name]?.cpu_usage_pct));
  const compared = real.some((value) => value !== null);
  const halves = hosts.map((name) => known(point.hosts[name]!.usage_pct_ci95));
  const memory = hosts.map((name) => known(point.hosts[name]!.memory_pct));
  const down = hosts.flatMap((name, index) => ((point.hosts[name]!.down_s ?? 0) > 0 ? [index] : []));
  return bars({
    id: `hosts-usage-${slug(cluster)}`,
    title: named ? `Hosts of ${cluster}: CPU and memory` : "CPU and memory of the hosts",
    text: `CPU usage, and configured memory of VMs, in % of each host.${down.length ? " Hatched: the host failed." : ""}`,
    ...(down.length ? { hatched: down } : {}),
    alternative: `The most loaded of ${count(hosts.length, "host")} is ${hosts[0]} at ${number(point.hosts[hosts[0]!]!.usage_pct)} %${real[0] === null || real[0] === undefined ? "" : `, measured ${number(real[0])} %`}.`,
    categories: [...hosts],
    value: { name: "of the host", unit: "%", from: 0, to: Math.max(100, ...memory.map((each) => each ?? 0)) },
    series: [
      {
        name: compared ? "CPU, twin" : "CPU",
        values: hosts.map((name) => point.hosts[name]!.usage_pct),
        halfWidths: halves,
        colour: TWIN,
      },
      ...(compared ? [{ name: "CPU, measured", values: real, colour: MEASURED }] : []),
      { name: "memory", values: memory, colour: 2 },
    ],
  });
}

interface Difference {
  mean: number;
  worst: number;
  host: string;
  hosts: number;
}

/** Difference between simulated and measured host usage; null without measurements. */
export function differences(point: Point, measured: Record<string, MeasuredHost>): Difference | null {
  const off = Object.entries(point.hosts).flatMap(([name, host]) => {
    const real = known(measured[name]?.cpu_usage_pct);
    return real === null ? [] : [{ name, by: Math.abs(host.usage_pct - real) }];
  });
  const first = off.toSorted((a, b) => b.by - a.by)[0];
  if (!first) return null;
  const mean = off.reduce((sum, each) => sum + each.by, 0) / off.length;
  return { mean, worst: first.by, host: first.name, hosts: off.length };
}

/** A card for each of several clusters, those with the most loaded hosts. */
export function clusterCards(point: Point): Card[] {
  const found = clusters(point);
  return worstFirst(Object.keys(found), (name) => found[name]!.fullest_host_pct)
    .slice(0, MOST_CARDS)
    .map((name) => {
      const { hosts, usage_pct, peak_host, fullest_host_pct, memory_pct } = found[name]!;
      return {
        name: `CPU of ${name}`,
        value: `${number(usage_pct)} %`,
        remark: `${count(hosts, "host")}, the most loaded, ${peak_host}, at ${number(fullest_host_pct)} %; memory configured ${number(memory_pct)} %`,
        ...(memory_pct > 100 ? { tone: "warn" as const } : {}),
      };
    });
}
