/** The first replication of a point over one time axis: panels that share it, and heat maps of hosts and VMs. */

import { number } from "../numbers";
import type { Axis, Block, HeatMap, LineChart, Moment, Section, Series } from "../view";
import { count, some } from "../words";
import type { Beside, Figure } from "./beside";
import type { Point, Timeline } from "./document";
import { clusterNames, clusterOf, field, hostsInOrder, mean, members, responses, worstFirst } from "./points";
import { shortHosts } from "./memory";
import { moments } from "./moments";
import { worstGroups } from "./signs";

/** Groups and hosts that have lines of their own. */
const MOST_LINES = 6;
/** Columns of a heat map; more samples are averaged. */
const MOST_COLUMNS = 120;
/** Minimum share of waiting time, in %, for a map. */
const VISIBLE = 0.5;

/** Samples of a chart over time; fewer show nothing. */
const FEWEST = 3;

const SYNC = "time";

type Samples = readonly (number | null)[];

/** `all` are the groups in the order that gives each its colour; `place` is that of the point. */
export function timeSections(point: Point, place: number, beside: Beside, all: readonly string[]): Section[] {
  const timeline = point.timeline;
  if (!timeline || timeline.time_s.length < FEWEST) return [];
  // failures count from the start of the run, samples from the end of the warm-up
  const time = timeline.time_s.map((each) => point.warmup_s + each);
  const told = moments(point, place, beside);
  const panels = panelsOf(point, timeline, all).map((panel) => lineChart(panel, time, told.marked));
  const blocks: Block[] = [
    ...(told.more > 0
      ? [
          {
            type: "prose" as const,
            paragraphs: [`${count(told.more, "more moment")} ${told.more === 1 ? "is" : "are"} in the JSON form.`],
          },
        ]
      : []),
    { type: "charts", wide: true, charts: panels },
  ];
  const maps = heatMaps(point, timeline, time, told.marked);
  return [
    {
      id: "time",
      heading: told.marked.length ? "Events over time" : "Over time",
      ...(told.marked.length || point.steady !== true ? {} : { closed: true }),
      text: `First replication. Times include the warm-up of ${number(point.warmup_s)} s. Samples are means over ${number(timeline.interval_s)} s.`,
      blocks,
    },
    ...(maps.length
      ? [
          {
            id: "waiting",
            heading: "Waiting over time",
            text: `One row per VM or host, the worst first.${clusterNames([point]).length ? " Hosts are grouped by cluster." : ""}`,
            blocks: [{ type: "charts" as const, wide: true, charts: maps }],
          },
        ]
      : []),
  ];
}

interface Panel {
  id: string;
  title: string;
  unit: string;
  series: Series[];
  text?: string;
}

function panelsOf(point: Point, timeline: Timeline, all: readonly string[]): Panel[] {
  const names = worstGroups(point);
  const shown = names.slice(0, MOST_LINES);
  const left = names.length > shown.length ? `The worst ${shown.length} of ${names.length} groups.` : undefined;
  const ofGroups = (read: (group: string) => Samples | null): Series[] =>
    shown.flatMap((group) => {
      const values = read(group);
      return values?.some((value) => value !== null)
        ? [{ name: group, values: [...values], colour: all.indexOf(group) }]
        : [];
    });
  const vmsOf = (group: string) =>
    members(point, group)
      .map((name) => timeline.vms[name])
      .filter((vm) => vm !== undefined);
  const over = (group: string, key: string) =>
    across(
      vmsOf(group).map((vm) => (field(vm, key) as Samples | undefined) ?? []),
      mean,
    );
  const panels: Panel[] = [
    {
      id: "time-throughput",
      title: "Throughput",
      unit: "1/s",
      text: left,
      series: ofGroups((group) =>
        across(
          vmsOf(group).map((vm) => vm["throughput_per_s"] ?? []),
          sum,
        ),
      ),
    },
    {
      id: "time-response",
      title: "Response time, mean",
      unit: "ms",
      series: ofGroups((group) => responses(point, group)),
    },
    {
      id: "time-ready",
      title: "Ready",
      unit: "%",
      text: "Mean per vCPU.",
      series: ofGroups((group) => over(group, "ready_pct")),
    },
    {
      id: "time-costop",
      title: "Co-stop",
      unit: "%",
      text: "Mean per vCPU.",
      series: ofGroups((group) => over(group, "costop_pct")),
    },
    { id: "time-guest", title: "Guest CPU", unit: "%", series: ofGroups((group) => over(group, "guest_cpu_pct")) },
    { id: "time-hosts", title: "Host usage", unit: "%", series: hostLines(point, timeline) },
    ...memoryPanels(point, timeline),
    ...poolPanels(timeline),
  ];
  const waits = (panel: Panel) => panel.series.some((line) => line.values.some((value) => (value ?? 0) >= VISIBLE));
  return panels.filter(
    (panel) => panel.series.length && (!["time-ready", "time-costop"].includes(panel.id) || waits(panel)),
  );
}

/** Usage of each of few hosts; of many the most loaded and the mean; of several clusters the mean of each. */
function hostLines(point: Point, timeline: Timeline): Series[] {
  const names = clusterNames([point]);
  const hosts = Object.entries(timeline.hosts).flatMap(([name, samples]) =>
    samples["usage_pct"] ? [{ name, values: samples["usage_pct"] }] : [],
  );
  if (hosts.length <= MOST_LINES)
    return hosts.map(({ name, values }, colour) => ({ name, values, colour, dash: "dashed" as const }));
  if (names.length) {
    const fullest = worstFirst(names, (name) => point.clusters![name]!.fullest_host_pct).slice(0, MOST_LINES);
    const of = (cluster: string) =>
      hosts.filter((host) => clusterOf(point, host.name) === cluster).map((host) => host.values);
    return fullest.map((name) => ({
      name: `mean of ${name}`,
      values: across(of(name), mean),
      colour: names.indexOf(name),
    }));
  }
  const all = hosts.map((host) => host.values);
  return [
    {
      name: "most loaded host",
      values: across(all, (values) => Math.max(...values.map((value) => value ?? 0))),
      colour: 0,
    },
    { name: `mean of ${hosts.length} hosts`, values: across(all, mean), colour: 1, dash: "dashed" },
  ];
}

/** Free memory of hosts short of it, and memory reclaimed from their VMs. */
function memoryPanels(point: Point, timeline: Timeline): Panel[] {
  const hosts = shortHosts(point).slice(0, MOST_LINES);
  const lines = (...keys: string[]): Series[] =>
    hosts.flatMap(([name], colour) => {
      const rows = keys
        .map((key) => (field(timeline.hosts[name], `${key}_bytes`) as number[] | undefined) ?? [])
        .filter((row) => row.length);
      return rows.length ? [{ name, values: across(rows, (values) => sum(values) / 2 ** 30), colour }] : [];
    });
  return [
    {
      id: "time-free",
      title: "Free memory",
      unit: "GiB",
      text: "Of hosts short of memory.",
      series: lines("free"),
    },
    {
      id: "time-reclaimed",
      title: "Reclaimed memory",
      unit: "GiB",
      text: "Ballooned, compressed and swapped.",
      series: lines("ballooned", "compressed", "swapped"),
    },
  ];
}

function poolPanels(timeline: Timeline): Panel[] {
  const pools = Object.entries(timeline.pools ?? {});
  const name = (pool: string, word: string) => (pools.length > 1 ? `${pool} · ${word}` : word);
  const lines = (key: string, word: string, dash: "solid" | "dashed" = "solid"): Series[] =>
    pools.flatMap(([pool, samples], colour) => {
      const values = field(samples, key) as (number | null)[] | undefined;
      return values?.some((value) => value)
        ? [{ name: name(pool, word), values, colour: colour + (dash === "dashed" ? 1 : 0), dash }]
        : [];
    });
  return [
    {
      id: "time-degraded",
      title: "Degraded",
      unit: "%",
      text: "Degraded placement groups.",
      series: lines("degraded_pct", "degraded"),
    },
    {
      id: "time-rebuild",
      title: "Rebuild",
      unit: "GiB",
      series: [...lines("due_gib", "to rebuild"), ...lines("rebuilt_gib", "rebuilt", "dashed")],
    },
    {
      id: "time-suspended",
      title: "Waiting I/Os",
      unit: "I/Os",
      text: "Suspended until enough of the pool returns.",
      series: lines("suspended_ios", "suspended"),
    },
  ];
}

function lineChart(panel: Panel, time: readonly number[], marked: readonly Moment[]): LineChart {
  return {
    type: "lines",
    id: panel.id,
    title: panel.title,
    ...(panel.text ? { text: panel.text } : {}),
    alternative: `${panel.series
      .slice(0, 4)
      .map((line) => extent(line, panel.unit))
      .join("; ")}${panel.series.length > 4 ? `; and ${panel.series.length - 4} more` : ""}.`,
    x: timeAxis(time),
    y: { name: panel.title, unit: panel.unit, from: 0 },
    places: [...time],
    series: panel.series,
    moments: [...marked],
    sync: SYNC,
  };
}

function extent(line: Series, unit: string): string {
  const values = line.values.filter((value) => value !== null);
  return values.length
    ? `${line.name}: ${number(Math.min(...values))} to ${number(Math.max(...values))} ${unit}`
    : `${line.name}: none`;
}

function timeAxis(time: readonly number[]): Axis {
  return { name: "simulated time", unit: "s", from: time[0]!, to: time.at(-1)! };
}

function heatMaps(point: Point, timeline: Timeline, time: readonly number[], marked: readonly Moment[]): HeatMap[] {
  const map = (
    id: string,
    title: string,
    what: string,
    of: Record<string, object>,
    key: string,
    worstOf: (name: string) => number,
    least: number,
    inOrder?: typeof hostsInOrder,
  ): HeatMap[] => {
    const names = worstFirst(
      Object.keys(of).filter((name) => field(of[name], key)),
      worstOf,
    );
    const titled = inOrder?.(point, names, worstOf) ?? names.map((name) => ({ name, title: name }));
    const rows = titled.map(({ name, title }) => ({ name: title, values: binned(field(of[name], key) as Samples) }));
    const highest = Math.max(0, ...rows.map((row) => Math.max(0, ...row.values.map((value) => value ?? 0))));
    if (rows.length < 2 || highest < least) return [];
    const worst = names.slice(0, 3).map((name) => `${name} (${number(worstOf(name))} % on average)`);
    return [
      {
        type: "heat",
        id,
        title,
        text: what,
        alternative: `The worst of ${count(rows.length, "row")}: ${some(worst, 3)}. The highest sample is ${number(highest)} %.`,
        x: timeAxis(time),
        columns: binned(time).map((value) => value ?? 0),
        rows,
        unit: "%",
        moments: [...marked],
      },
    ];
  };
  const ofVm = (key: "ready_pct" | "costop_pct") => (name: string) => point.vms[name]?.[key] ?? 0;
  return [
    ...map(
      "heat-ready",
      "Ready by VM",
      "Per vCPU: time ready to run without a free logical CPU (%RDY).",
      timeline.vms,
      "ready_pct",
      ofVm("ready_pct"),
      VISIBLE,
    ),
    ...map(
      "heat-costop",
      "Co-stop by VM",
      "Per vCPU: time stopped because it was too far ahead of its siblings (%CSTP).",
      timeline.vms,
      "costop_pct",
      ofVm("costop_pct"),
      VISIBLE,
    ),
    ...(Object.keys(timeline.hosts).length > MOST_LINES
      ? map(
          "heat-hosts",
          "Usage by host",
          "CPU used, in % of cores times nominal clock.",
          timeline.hosts,
          "usage_pct",
          (name) => point.hosts[name]?.usage_pct ?? 0,
          0,
          hostsInOrder,
        )
      : []),
  ];
}

const sum = (values: readonly Figure[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);

/** One figure of several rows of samples, sample by sample. */
function across(rows: readonly Samples[], of: (values: readonly Figure[]) => number | null): (number | null)[] {
  return (rows[0] ?? []).map((_, index) => of(rows.map((row) => row[index])));
}

/** At most MOST_COLUMNS samples: means of neighbours where there are more. */
export function binned(values: Samples): (number | null)[] {
  const width = Math.ceil(values.length / MOST_COLUMNS);
  if (width <= 1) return [...values];
  return Array.from({ length: Math.ceil(values.length / width) }, (_, index) =>
    mean(values.slice(index * width, (index + 1) * width)),
  );
}
