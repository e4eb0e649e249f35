/** Charts of a sweep: every figure of every group against the swept value. */

import { bars } from "../columns";
import { number } from "../numbers";
import type { Block, Chart, LineChart, Marks, Section, Series } from "../view";
import { count, slug } from "../words";
import { latencyCurve } from "./curve";
import type { Figure, Published } from "./beside";
import type { Point, Vm } from "./document";
import {
  type Axes,
  axisName,
  clusterNames,
  field,
  fullest,
  groupNames,
  groups,
  hasIo,
  known,
  type Line,
  lines,
  meanUsage,
} from "./points";

/** Groups that share a chart; of more the worst, and the others by choice. */
export const TOGETHER = 8;

/** Lines in a chart up to which each has its interval with the twin's own error. Of more the bands hide one another. */
const BANDED = 2;

/** One figure of a chart: what the legend calls it, how to read it, and its path in a report for published figures. */
interface Read {
  word: string;
  path: string;
  value?: (vm: Vm) => Figure;
  half?: (vm: Vm) => Figure;
  /** Instead of `value`, a figure of the point, the same for all groups. */
  ofPoint?: (point: Point) => Figure;
}

interface Wanted {
  id: string;
  title: string;
  text: string;
  unit: string;
  reads: Read[];
  /** Only where a group does I/O. */
  io?: boolean;
  top?: number;
  /** Left out where no figure reaches this. */
  least?: number;
}

/** Path of the usage of hosts, of which each cluster has its own. */
const HOSTS = "hosts.*.usage_pct";

const host = (word: string, ofPoint: (point: Point) => Figure): Read => ({ word, path: HOSTS, ofPoint });

/** A figure of a VM that is at hand under its own key, with its half-width. */
const plain = (word: string, key: "throughput_per_s" | "ready_pct" | "costop_pct" | "guest_cpu_pct"): Read => ({
  word,
  path: key,
  value: (vm) => vm[key],
  half: (vm) => vm[`${key}_ci95`],
});

const FULLEST = "most loaded host";

/** A figure of all pools of a point. */
const pools = (
  word: string,
  read: (point: Point, pool: string) => Figure,
  join: (values: number[]) => number,
): Read => ({
  word,
  path: "",
  ofPoint: (point) => join(Object.keys(point.space ?? {}).map((pool) => read(point, pool) ?? 0)) || null,
});
/** How busy the busiest member of a station of pools is. */
const busiest = (word: string): Read =>
  pools(
    word,
    (point, pool) => point.storage[`${pool}-${word}`]?.utilization_max_pct,
    (values) => Math.max(0, ...values),
  );
const room = (word: string, key: string): Read =>
  pools(
    word,
    (point, pool) => field(point.space?.[pool], key) as Figure,
    (values) => values.reduce((sum, value) => sum + value, 0),
  );

const CHARTS: Wanted[] = [
  {
    id: "response-mean",
    title: "Response time, mean",
    text: "From the start of a transaction to its end.",
    unit: "ms",
    reads: [
      { word: "mean", path: "response_ms_mean", value: (vm) => vm.response_ms.mean, half: (vm) => vm.response_ms.ci95 },
    ],
  },
  {
    id: "response-p99",
    title: "Response time, 99th percentile",
    text: "One transaction in a hundred takes longer.",
    unit: "ms",
    reads: [{ word: "p99", path: "response_ms_p99", value: (vm) => vm.response_ms.p99 }],
  },
  {
    id: "throughput",
    title: "Throughput",
    text: "Transactions completed per second.",
    unit: "1/s",
    reads: [plain("throughput", "throughput_per_s")],
  },
  {
    id: "ready-costop",
    title: "Ready and co-stop",
    text: "Ready: a vCPU waits for a logical CPU. Co-stop: it waits for its siblings. Per vCPU.",
    unit: "%",
    least: 0.1,
    reads: [plain("ready", "ready_pct"), plain("co-stop", "costop_pct")],
  },
  {
    id: "cpu",
    title: "Guest CPU and host usage",
    text: "CPU as the guest and the host measure it. If they differ, guest figures mislead.",
    unit: "%",
    top: 100,
    reads: [
      plain("guest CPU", "guest_cpu_pct"),
      host("host usage", meanUsage),
      host(FULLEST, (point) => (Object.keys(point.hosts).length > 1 ? fullest(point)?.[1].usage_pct : null)),
    ],
  },
  {
    id: "run-queue",
    title: "Run queue",
    text: "Running and runnable guest processes of all VMs of the group.",
    unit: "processes",
    reads: [{ word: "run queue", path: "run_queue", value: (vm) => vm.run_queue }],
  },
  {
    id: "iops",
    title: "I/O operations",
    text: "Completed per second.",
    unit: "1/s",
    io: true,
    reads: [
      { word: "all", path: "iops", value: (vm) => (vm.read || vm.write ? null : vm.iops) },
      { word: "reads", path: "read_iops", value: (vm) => vm.read?.iops },
      { word: "writes", path: "write_iops", value: (vm) => vm.write?.iops },
    ],
  },
  {
    id: "io-latency",
    title: "I/O latency, mean",
    text: "From the guest's driver to the interrupt.",
    unit: "ms",
    io: true,
    reads: [
      { word: "all", path: "io_latency_ms_mean", value: (vm) => (vm.read || vm.write ? null : vm.io_latency_ms?.mean) },
      { word: "reads", path: "read_latency_ms_mean", value: (vm) => vm.read?.latency_ms?.mean },
      { word: "writes", path: "write_latency_ms_mean", value: (vm) => vm.write?.latency_ms?.mean },
    ],
  },
  {
    id: "io-latency-p99",
    title: "I/O latency, 99th percentile",
    text: "One I/O in a hundred takes longer.",
    unit: "ms",
    io: true,
    reads: [
      { word: "all", path: "io_latency_ms_p99", value: (vm) => (vm.read || vm.write ? null : vm.io_latency_ms?.p99) },
      { word: "reads", path: "read_latency_ms_p99", value: (vm) => vm.read?.latency_ms?.p99 },
      { word: "writes", path: "write_latency_ms_p99", value: (vm) => vm.write?.latency_ms?.p99 },
    ],
  },
  {
    id: "io-bandwidth",
    title: "I/O bandwidth",
    text: "Payload of completed I/Os.",
    unit: "MB/s",
    io: true,
    reads: [
      { word: "all", path: "io_mb_per_s", value: (vm) => (vm.read || vm.write ? null : vm.io_mb_per_s) },
      { word: "reads", path: "read_mb_per_s", value: (vm) => vm.read?.mb_per_s },
      { word: "writes", path: "write_mb_per_s", value: (vm) => vm.write?.mb_per_s },
    ],
  },
  {
    id: "limits",
    title: "Busiest stations of pools",
    text: "The busiest member of each.",
    unit: "%",
    top: 100,
    reads: ["devices", "services", "messengers", "shards", "commit", "network", "gateways", "flash"].map(busiest),
  },
  {
    id: "room",
    title: "Pool capacity",
    text: "Usable with a host lost.",
    unit: "GiB",
    reads: [room("usable", "room_gib"), room("stored", "stored_gib")],
  },
  {
    id: "cpu-per-io",
    title: "CPU per I/O",
    text: "Cycles of guest and hypervisor, at the nominal clock.",
    unit: "cycles",
    io: true,
    reads: [{ word: "cycles", path: "io_cpu_cycles_per_io", value: (vm) => vm.io_cpu_cycles_per_io }],
  },
];

/** The usage of all hosts; of several clusters that of each, so that none is hidden in a mean with others. */
function ofClusters(points: readonly Point[], read: Read): Read[] {
  const names = clusterNames(points);
  if (read.path !== HOSTS || !names.length) return [read];
  return read.word === FULLEST
    ? []
    : names.map((name) => host(`${read.word} of ${name}`, (point) => point.clusters?.[name]?.usage_pct));
}

/** A line of a chart: a group along one line of the sweep. */
interface Drawn {
  name: string;
  group: string;
  line: Line;
  colour: number;
}

/**
 * The charts of a sweep. Along one path all groups share each chart; with several paths each group has charts of its
 * own, in which the lines are the values of the other paths. `shown` are the groups to draw.
 */
export function sweepSections(
  points: readonly Point[],
  layout: Axes,
  shown: readonly string[],
  published: readonly Published[],
): Section[] {
  const found = lines(points, layout);
  const names = groupNames(points);
  if (found.length === 1 && layout.x !== null) {
    const drawn = shown.map((group) => ({
      name: group,
      group,
      line: found[0]!,
      colour: (names.length > TOGETHER ? shown : names).indexOf(group),
    }));
    const left = names.length - shown.length;
    return [
      {
        id: "sweep",
        heading: `Against ${axisName(layout.x)}: ${shown.join(", ")}`,
        text: left > 0 ? `${count(left, "more group")} can be chosen at the top.` : undefined,
        blocks: chartBlocks(points, layout, drawn, published, ""),
      },
    ];
  }
  return shown.map((group) => {
    const own = found.filter((line) => line.points.some((point) => groups(point)[group]));
    const drawn = own.map((line, index) => ({ name: line.label || group, group, line, colour: index }));
    return {
      id: `sweep-${slug(group)}`,
      heading: layout.x ? `${group} against ${axisName(layout.x)}` : `${group} in each point`,
      blocks: chartBlocks(points, layout, drawn, published, `-${slug(group)}`),
    };
  });
}

function chartBlocks(
  points: readonly Point[],
  layout: Axes,
  drawn: readonly Drawn[],
  published: readonly Published[],
  suffix: string,
): Block[] {
  const charts = CHARTS.flatMap((each) => {
    const wanted = { ...each, reads: each.reads.flatMap((read) => ofClusters(points, read)) };
    const io = drawn.some((each) =>
      each.line.points.some((point) => groups(point)[each.group] && hasIo(groups(point)[each.group]!)),
    );
    if (wanted.io && !io) return [];
    return chart(points, layout, wanted, drawn, published, suffix) ?? [];
  });
  const curve = layout.x === null ? null : latencyCurve(layout.x, drawn, suffix);
  const all = [...(curve ? [curve] : []), ...charts];
  return all.length ? [{ type: "charts", charts: all }] : [];
}

const DASHES = ["solid", "dashed", "dotted"] as const;
/** The colour of figures that belong to the point and not to a group. */
const OF_POINT = 7;

/** Places along x of all points: numbers as they are, words by their order. */
function placesOf(
  points: readonly Point[],
  x: string,
): { places: number[]; categories?: string[]; place: (point: Point) => number } {
  const values = [...new Set(points.map((point) => point.set[x]))];
  if (values.every((value) => typeof value === "number"))
    return { places: values.toSorted((a, b) => a - b), place: (point) => point.set[x] as number };
  const place = (point: Point) => values.indexOf(point.set[x]);
  return { places: values.map((_, index) => index), categories: values.map(String), place };
}

function chart(
  points: readonly Point[],
  layout: Axes,
  wanted: Wanted,
  drawn: readonly Drawn[],
  published: readonly Published[],
  suffix: string,
): Chart | null {
  if (layout.x === null) return barChart(wanted, drawn, suffix);
  const { places, categories, place } = placesOf(points, layout.x);
  const along = (line: Line, figureOf: (point: Point) => Figure) => {
    const values = places.map((): number | null => null);
    for (const point of line.points) values[places.indexOf(place(point))] = known(figureOf(point));
    return values;
  };
  const isOneLine = drawn.every((each) => each.line === drawn[0]?.line);
  const found = wanted.reads.map((read, index) =>
    (read.ofPoint ? oncePerLine(drawn) : drawn).flatMap((each) => {
      const values = along(each.line, (point) => figureAt(read, point, each.group));
      if (values.every((value) => value === null)) return [];
      const errorsOf = ({ path, ofPoint }: Read, { line, group }: Drawn) => {
        const at = (point: Point) => (ofPoint ? undefined : point.model_error?.groups[group]?.[path]);
        const lows = along(line, (point) => at(point)?.low);
        return lows.some((value) => value !== null) ? { lows, highs: along(line, (point) => at(point)?.high) } : {};
      };
      const halves = read.half ? along(each.line, (point) => halfAt(read, point, each.group)) : [];
      const name = read.ofPoint && isOneLine ? "" : each.name;
      const colour = read.ofPoint && isOneLine ? OF_POINT : each.colour;
      return [
        {
          name,
          word: read.word,
          values,
          colour,
          dash: DASHES[index % 3]!,
          ...(halves.some((value) => value) ? { halfWidths: halves } : {}),
          ...(drawn.length <= BANDED ? errorsOf(read, each) : {}),
        },
      ];
    }),
  );
  const several = found.filter((each) => each.length).length > 1;
  const series = found.flat().map(({ name, word, ...drawing }): Series => ({
    name: several || !name ? [name, word].filter(Boolean).join(" · ") : name,
    ...drawing,
  }));
  const highest = Math.max(0, ...series.flatMap((each) => each.values.map((value) => value ?? 0)));
  if (!series.length || highest < (wanted.least ?? 0)) return null;
  const marks = marksOf(published, layout, wanted, drawn, points, place);
  const ticks = places.length <= 12 ? places : undefined;
  return {
    type: "lines",
    id: wanted.id + suffix,
    title: wanted.title,
    text: wanted.text,
    alternative: alternative(
      wanted,
      series,
      places.map((each, index) => categories?.[index] ?? String(each)),
    ),
    x: {
      name: axisName(layout.x),
      ...(categories ? { scale: "category", categories } : isDoubled(places) ? { scale: "log" } : {}),
      ...(ticks ? { ticks } : {}),
    },
    // noise below 1 % should not fill a chart
    y: {
      name: wanted.title,
      unit: wanted.unit,
      from: 0,
      ...(wanted.top ? { to: wanted.top } : wanted.unit === "%" && highest < 1 ? { to: 1 } : {}),
    },
    places,
    series,
    ...(marks ? { marks: [marks] } : {}),
  } satisfies LineChart;
}

/** Whether each value is at least twice the one before, as queue depths often are: the first would lie on one another. */
function isDoubled(places: readonly number[]): boolean {
  return (
    places.length > 3 &&
    places[0]! > 0 &&
    places.every((value, index) => index === 0 || value >= 2 * places[index - 1]!)
  );
}

function figureAt(read: Read, point: Point, group: string): Figure {
  const vm = groups(point)[group];
  return read.ofPoint ? read.ofPoint(point) : vm && read.value?.(vm);
}

function halfAt(read: Read, point: Point, group: string): Figure {
  const vm = groups(point)[group];
  return vm && read.half?.(vm);
}

function oncePerLine(drawn: readonly Drawn[]): Drawn[] {
  return drawn.filter((each, index) => drawn.findIndex((one) => one.line === each.line) === index);
}

/** Points side by side where nothing swept is an amount. */
function barChart(wanted: Wanted, drawn: readonly Drawn[], suffix: string): Chart | null {
  const rows = drawn.flatMap((each) =>
    each.line.points.flatMap((point) => {
      const vm = groups(point)[each.group];
      return vm ? [{ name: each.name, group: each.group, point }] : [];
    }),
  );
  const series = wanted.reads.flatMap((read, index) => {
    const values = rows.map(({ point, group }) => known(figureAt(read, point, group)));
    return values.some((value) => value !== null) ? [{ name: read.word, values, colour: index }] : [];
  });
  if (!series.length) return null;
  return bars({
    id: wanted.id + suffix,
    title: wanted.title,
    text: wanted.text,
    alternative: alternative(
      wanted,
      series,
      rows.map((row) => row.name),
    ),
    categories: rows.map((row) => row.name),
    value: { name: wanted.title, unit: wanted.unit, from: 0 },
    series,
  });
}

/** In words how each line goes: where it begins, ends and is highest. */
function alternative(wanted: Wanted, series: readonly Series[], places: readonly string[]): string {
  const told = series.slice(0, 4).flatMap((each) => {
    const measured = each.values.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
    const [first, last] = [measured[0], measured.at(-1)];
    if (!first || !last) return [];
    return [
      first === last
        ? `${each.name}: ${number(first.value)} ${wanted.unit} at ${places[first.index]}`
        : `${each.name}: ${number(first.value)} ${wanted.unit} at ${places[first.index]}, ${number(last.value)} at ${places[last.index]}`,
    ];
  });
  const more = series.length - told.length;
  return `${told.join("; ")}${more > 0 ? `; and ${more} more` : ""}.`;
}

function marksOf(
  published: readonly Published[],
  layout: Axes,
  wanted: Wanted,
  drawn: readonly Drawn[],
  points: readonly Point[],
  place: (point: Point) => number,
): Marks | null {
  const found = published.flatMap((each) => {
    const point = points.find((one) => sameSettings(one.set, each.set, layout));
    const line =
      point &&
      drawn.find(
        (one) => one.line.points.includes(point) && wanted.reads.some((read) => isAt(read, each.path, one.group)),
      );
    return point && line
      ? [
          {
            x: place(point),
            y: each.value,
            colour: line.colour,
            text: `published: ${number(each.value)} ${wanted.unit}`,
          },
        ]
      : [];
  });
  return found.length ? { name: "published", symbol: "star", points: found } : null;
}

/** Whether a published figure is of exactly the settings that tell points apart. */
function sameSettings(of: Record<string, unknown>, published: Record<string, unknown>, layout: Axes): boolean {
  const paths = [layout.x, ...layout.others].filter((path) => path !== null);
  return (
    Object.keys(published).length === paths.length &&
    paths.every((path) => path in published && published[path] === of[path])
  );
}

function isAt(read: Read, path: string, group: string): boolean {
  if (read.path === HOSTS) return /^hosts\.[^.]+\.usage_pct$/.test(path);
  return (
    path.replace(/(response_ms|io_latency_ms)\./, "$1_") === `vms.${group}.${read.path}` ||
    path === `groups.${group}.${read.path}`
  );
}
