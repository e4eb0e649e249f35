/** Tables of a simulation: groups, VMs, hosts, stations and pools of a point, and all points of a sweep. */

import { badges, figures, tabled, words } from "../columns";
import type { Cell, Column, Section, Table } from "../view";
import { type Beside, type Figure, type MeasuredVm, metric, type Metric } from "./beside";
import type { Cluster, ErrorInterval, Host, Point, Pool, Sign, Space, Station, Vm } from "./document";
import {
  clusterNames,
  clusters,
  groupOf,
  groups,
  hasIo,
  known,
  shortPath,
  valueText,
  varyingPaths,
  worstFirst,
} from "./points";
import { judged, RESOLVED, severity, waiting } from "./signs";

/** A column and how to read it of an entity. */
interface Reading<T> {
  key: string;
  name?: string;
  unit?: string;
  secondary?: boolean;
  value: (entity: T) => unknown;
  half?: (entity: T) => Figure;
}

/** A column beside those of figures, and its cell by the name in a row. */
type Pair = readonly [Column, (name: string) => Cell];

/** Columns of figures that are at hand under their own keys, with the half-widths of those that have any. */
const plain = <T extends object>(...keys: (keyof T & string)[]): Reading<T>[] =>
  keys.map((key) => ({
    key,
    value: (entity) => entity[key],
    half: (entity) => (entity as Record<string, Figure>)[`${key}_ci95`] ?? null,
  }));
const second = <T>(readings: Reading<T>[]): Reading<T>[] => readings.map((each) => ({ ...each, secondary: true }));

const OF_VM: Reading<Vm>[] = [
  {
    key: "response_ms_mean",
    name: "Response, mean",
    value: (vm) => vm.response_ms.mean,
    half: (vm) => vm.response_ms.ci95,
  },
  { key: "response_ms_p99", name: "Response, p99", value: (vm) => vm.response_ms.p99 },
  ...plain<Vm>("throughput_per_s", "ready_pct", "costop_pct", "guest_cpu_pct", "down_s"),
  { key: "slow_s", name: "Slowed by its migration", unit: "s", value: (vm) => vm.slow_s },
];

const MORE_OF_VM: Reading<Vm>[] = second([
  ...plain<Vm>("vcpus", "run_queue", "run_pct", "limited_pct", "waiting_pct"),
  { key: "response_ms_p95", name: "Response, p95", value: (vm) => vm.response_ms.p95 },
  ...plain<Vm>("numa_local_pct"),
]);

/** A VM, and what was measured of it. */
type ComparedVm = Vm & { measured?: MeasuredVm };

const MEASURED_OF_VM: Reading<ComparedVm>[] = [
  { key: "measured_ready", name: "Measured ready", unit: "%", value: (vm) => vm.measured?.ready_pct },
  ...plain<Vm>("used_mhz"),
  { key: "measured_cpu", name: "Measured CPU", unit: "MHz", value: (vm) => vm.measured?.cpu_mhz },
];

const OF_IO: Reading<Vm>[] = [
  ...plain<Vm>("iops"),
  { key: "read_iops", name: "Reads", unit: "1/s", value: (vm) => vm.read?.iops },
  { key: "write_iops", name: "Writes", unit: "1/s", value: (vm) => vm.write?.iops },
  ...plain<Vm>("io_mb_per_s"),
  { key: "io_latency_ms_mean", value: (vm) => vm.io_latency_ms?.mean },
  { key: "io_latency_ms_p99", value: (vm) => vm.io_latency_ms?.p99 },
  { key: "read_latency_ms_mean", name: "Read latency, mean", unit: "ms", value: (vm) => vm.read?.latency_ms?.mean },
  { key: "read_latency_ms_p99", name: "Read latency, p99", unit: "ms", value: (vm) => vm.read?.latency_ms?.p99 },
  { key: "write_latency_ms_mean", name: "Write latency, mean", unit: "ms", value: (vm) => vm.write?.latency_ms?.mean },
  { key: "write_latency_ms_p99", name: "Write latency, p99", unit: "ms", value: (vm) => vm.write?.latency_ms?.p99 },
  ...plain<Vm>("copied_mb_per_s", "copy_s"),
  ...second(plain<Vm>("io_cpu_cycles_per_io")),
];

const OF_CLUSTER: Reading<Cluster>[] = [
  ...plain<Cluster>("hosts", "vms"),
  ...second(plain<Cluster>("vcpus")),
  ...plain<Cluster>("vcpu_per_core"),
  {
    key: "usage_pct",
    name: "CPU usage",
    value: (cluster) => cluster.usage_pct,
    half: (cluster) => cluster.usage_pct_ci95,
  },
  ...plain<Cluster>("peak_host", "fullest_host_pct", "ready_pct", "memory_pct", "memory_usage_pct"),
];

/** A host, and what was measured of it. */
type Compared = Host & { measured?: { cpu_usage_pct: Figure; memory_usage_pct: Figure } };

const OF_HOST: Reading<Compared>[] = [
  ...plain<Host>("usage_pct"),
  { key: "measured_usage", name: "Measured usage", unit: "%", value: (host) => host.measured?.cpu_usage_pct },
  ...plain<Host>("memory_pct", "memory_usage_pct"),
  { key: "measured_memory", name: "Measured memory", unit: "%", value: (host) => host.measured?.memory_usage_pct },
  ...plain<Host>("utilization_pct"),
  ...second(plain<Host>("core_utilization_pct")),
  ...plain<Host>("ready_pct", "costop_pct", "overhead_pct", "memory_gb_per_s", "down_s"),
  { key: "migration_cpu_pct", name: "CPU of migrations", unit: "%", value: (host) => host.migration_cpu_pct },
];

const STATION_KEYS = [
  "members",
  "utilization_pct",
  "utilization_max_pct",
  "queue",
  "wait_ms",
  "waited_pct",
  "throughput_per_s",
  "mb_per_s",
  "hit_pct",
] as const;
const OF_STATION = plain<Station>(...STATION_KEYS);

const POOL_KEYS: (keyof Pool)[] = [
  "redundancy",
  "read_mb_per_s",
  "write_mb_per_s",
  "cache_hit_pct",
  "device_read_mb_per_s",
  "device_write_mb_per_s",
  "amplification",
  "degraded_pct",
  "rebuilt_gib",
  "rebuild_mb_per_s",
  "time_to_whole_s",
  "lost_gib",
  "suspended_ios",
  "retries",
  "errors",
];
const OF_POOL = plain<Pool>(...POOL_KEYS);
const OF_SPACE: Reading<Space>[] = [
  ...plain<Space>("raw_gib", "full_pct", "room_gib", "stored_gib", "free_gib", "used_pct"),
  { key: "lost_host_used_pct", value: ({ lost_host }) => (lost_host.survives ? lost_host.used_pct : null) },
  { key: "lost_host_room_gib", value: ({ lost_host }) => lost_host.room_gib },
];
/** Figures of pools that are shown even if they are zero. */
const ALWAYS = new Set(["lost_gib", "degraded_pct"]);

/** A table of entities; columns without figures, or with only zeros of rare events, are left out. */
function table<T>(
  metrics: readonly Metric[],
  of: string,
  id: string,
  caption: string,
  names: readonly string[],
  read: (name: string) => T,
  readings: readonly Reading<T>[],
  more: readonly Pair[] = [],
  errors: (name: string) => Record<string, ErrorInterval> | undefined = () => undefined,
): Table {
  const happens = (reading: Reading<T>) =>
    names.some((name) => {
      const value = reading.value(read(name));
      return (
        typeof value === "string" ||
        (known(value) !== null && (value !== 0 || ALWAYS.has(reading.key) || !RARE.has(reading.key)))
      );
    });
  const kept = readings.filter(happens);
  return {
    id,
    caption,
    columns: [
      words("name", "name"),
      ...more.map(([column]) => column),
      ...kept.map((reading): Column => {
        const found = metric(metrics, of, reading.key);
        const unit = reading.unit ?? found?.unit;
        return {
          key: reading.key,
          name: reading.name ?? found?.name ?? reading.key,
          ...(unit ? { unit } : {}),
          ...(found ? { text: found.text } : {}),
          kind: names.every((name) => typeof reading.value(read(name)) === "string") ? "words" : "number",
          ...(reading.secondary ? { secondary: true } : {}),
        };
      }),
    ],
    rows: names.map((name) => ({
      name,
      ...Object.fromEntries(more.map(([{ key }, of]) => [key, of(name)])),
      ...Object.fromEntries(
        kept.map((reading) => [reading.key, cell(reading, read(name), errors(name)?.[reading.key])]),
      ),
    })),
  };
}

/** Columns that are left out where all their figures are zero. */
const RARE = new Set([
  "down_s",
  "slow_s",
  "migration_cpu_pct",
  "limited_pct",
  "waiting_pct",
  "costop_pct",
  "cache_hit_pct",
  "hit_pct",
  "memory_gb_per_s",
  "rebuilt_gib",
  "rebuild_mb_per_s",
  "suspended_ios",
  "retries",
  "errors",
  "iops",
  "read_iops",
  "write_iops",
  "mb_per_s",
]);

/** Shares whose smallest values the model cannot resolve. */
const WAITING = new Set(["ready_pct", "costop_pct"]);

/** Shares of a host's memory: above 100 it is overcommitted. */
const MEMORY = new Set(["memory_pct", "memory_usage_pct"]);

function cell<T>(reading: Reading<T>, entity: T, error?: ErrorInterval): Cell {
  const value = reading.value(entity);
  if (typeof value === "string") return value;
  if (MEMORY.has(reading.key) && typeof value === "number" && value > 100) return { value, tone: "warn" };
  if (WAITING.has(reading.key) && typeof value === "number" && waiting(value).startsWith("<"))
    return { value, text: `<${RESOLVED}` };
  const half = reading.half?.(entity);
  if (typeof half !== "number" && !error) return known(value);
  return {
    value: known(value),
    ...(typeof half === "number" ? { half_width: half } : {}),
    ...(error ? { low: error.low, high: error.high } : {}),
  };
}

function vmReadings(vms: readonly Vm[]): Reading<Vm>[] {
  return [...OF_VM, ...(vms.some(hasIo) ? OF_IO : []), ...MORE_OF_VM];
}

const bySeverity = (vms: Record<string, Vm>, signs: Record<string, Sign[]>) =>
  worstFirst(Object.keys(vms), (name) => severity(signs[name]) * 1e6 + vms[name]!.ready_pct + vms[name]!.costop_pct);

/** Columns of hosts or clusters without memory in use where the scenario does not say what VMs have touched: it is then all that they have. */
function withoutGuess<T>(point: Point, readings: readonly Reading<T>[]): readonly Reading<T>[] {
  const isSaid = Object.values(point.hosts).some((host) => host.memory_usage_pct !== host.memory_pct);
  return isSaid ? readings : readings.filter((reading) => reading.key !== "memory_usage_pct");
}

/** A row for each cluster. */
export function clusterTable(point: Point, names: readonly string[], metrics: readonly Metric[]): Table {
  return table(
    metrics,
    "cluster",
    "clusters-table",
    "All clusters",
    names,
    (name) => point.clusters![name]!,
    withoutGuess(point, OF_CLUSTER),
    undefined,
    (name) => point.model_error?.clusters[name],
  );
}

/** The entities of one point. */
export function pointTables(
  point: Point,
  metrics: readonly Metric[],
  { measured = {}, measured_vms = {} }: Beside,
): Section[] {
  const found = groups(point);
  const of = groupOf(point);
  const vms = Object.values(point.vms);
  const isGrouped = vms.length > Object.keys(found).length;
  const hasHosts = vms.some((vm) => vm.host);
  const hasClusters = Object.keys(clusters(point)).length > 0;
  const inClusters = (entities: Record<string, { cluster?: string | null }>): Pair[] =>
    hasClusters ? [[words("cluster", "cluster", { secondary: true }), (name) => entities[name]!.cluster ?? ""]] : [];
  const places: Pair[] = [
    ...(isGrouped ? [[words("group", "group"), (name) => of.get(name) ?? ""] satisfies Pair] : []),
    ...(hasHosts ? [[words("host", "host"), (name) => point.vms[name]!.host ?? ""] satisfies Pair] : []),
    ...inClusters(point.vms),
  ];
  const hostTable = table(
    metrics,
    "host",
    "hosts",
    "Hosts, the most loaded first",
    worstFirst(Object.keys(point.hosts), (name) => point.hosts[name]!.usage_pct),
    (name): Compared => ({ ...point.hosts[name]!, ...(measured[name] ? { measured: measured[name] } : {}) }),
    withoutGuess(point, OF_HOST),
    inClusters(point.hosts),
    (name) => point.model_error?.hosts[name],
  );
  const vmTable = table(
    metrics,
    "vm",
    "vms",
    "VMs, the worst first",
    bySeverity(point.vms, judged(point).vms),
    (name): ComparedVm => ({ ...point.vms[name]!, ...(measured_vms[name] ? { measured: measured_vms[name] } : {}) }),
    [...vmReadings(vms), ...(Object.keys(measured_vms).length ? MEASURED_OF_VM : [])],
    places,
    (name) => point.model_error?.groups[name], // a VM that is a group of its own
  );
  const tables: Table[] = [
    ...(isGrouped
      ? [
          table(
            metrics,
            "group",
            "groups-table",
            "Groups, the worst first",
            bySeverity(found, judged(point).groups),
            (name) => found[name]!,
            vmReadings(vms),
            [[figures("count", "VMs"), (name) => found[name]!.count ?? 1]],
            (name) => point.model_error?.groups[name],
          ),
        ]
      : []),
    { ...vmTable, filters: places.map(([column]) => column.key) },
    { ...hostTable, filters: hasClusters ? ["cluster"] : [] },
  ];
  const stations = point.storage ?? {};
  if (Object.keys(stations).length)
    tables.push(
      table(
        metrics,
        "storage",
        "stations-table",
        "Stations of the I/O path, the busiest first",
        worstFirst(Object.keys(stations), (name) => stations[name]!.utilization_pct),
        (name) => stations[name]!,
        OF_STATION,
      ),
    );
  const pools = point.pools ?? {};
  const space = point.space ?? {};
  if (Object.keys(space).length)
    tables.push(table(metrics, "space", "room", "Pool capacity", Object.keys(space), (name) => space[name]!, OF_SPACE));
  if (Object.keys(pools).length)
    tables.push(
      table(
        metrics,
        "pool",
        "pools",
        "Distributed storage",
        Object.keys(pools),
        (name) => pools[name]!,
        OF_POOL,
        undefined,
        (name) => point.model_error?.pools[name],
      ),
    );
  return [
    {
      id: "tables",
      heading: "Groups, VMs, hosts and storage",
      blocks: tables.filter((each) => each.rows.length).map((each) => tabled(each)),
    },
  ];
}

/** A row for each point and group of a sweep. */
export function pointsTable(points: readonly Point[], metrics: readonly Metric[]): Section {
  const paths = varyingPaths(points);
  const rows = points.flatMap((point) => Object.entries(groups(point)).map(([group, vm]) => ({ point, group, vm })));
  const column = (path: string) => `set.${path}`;
  const isNumber = (path: string) => points.every((point) => typeof point.set[path] === "number");
  const fullest = {
    key: "host",
    name: "Most loaded host",
    of: (point: Point): number | null => Math.max(0, ...Object.values(point.hosts).map((host) => host.usage_pct)),
  };
  const ofClusters = clusterNames(points).map((name) => ({
    key: `host.${name}`,
    name: `Most loaded host of ${name}`,
    of: (point: Point) => known(point.clusters?.[name]?.fullest_host_pct),
  }));
  const hosts = ofClusters.length ? ofClusters : [fullest];
  const usage = metric(metrics, "host", "usage_pct");
  const at = (row: string) => rows[Number(row)]!;
  const steadiness = (row: string): Cell => {
    const { steady, verdict } = at(row).point;
    if (steady) return { tone: "good", text: "yes" };
    return { tone: "warn", text: verdict?.steady === "not-known" ? "not known" : "no" };
  };
  const all = table(
    metrics,
    "group",
    "points",
    "Every point and group of the sweep",
    rows.map((_, index) => String(index)),
    (row) => at(row).vm,
    vmReadings(rows.map((row) => row.vm)),
    [
      ...paths.map((path): Pair =>
        isNumber(path)
          ? [
              figures(column(path), shortPath(path, paths), "", { text: path }),
              (row) => at(row).point.set[path] as number,
            ]
          : [words(column(path), shortPath(path, paths), { text: path }), (row) => valueText(at(row).point.set[path])],
      ),
      ...hosts.map(({ key, name, of }): Pair => [
        figures(key, name, "%", usage && { text: usage.text }),
        (row) => of(at(row).point),
      ]),
      ...(points.every((point) => point.steady) ? [] : [[badges("steady", "steady"), steadiness] satisfies Pair]),
    ],
    (row) => at(row).point.model_error?.groups[at(row).group],
  );
  // a name in a row stands for its group here; the swept values come first
  const [name, ...others] = all.columns;
  const columns = [...others.slice(0, paths.length), { ...name!, name: "group" }, ...others.slice(paths.length)];
  const named = all.rows.map((row, index) => ({ ...row, name: rows[index]!.group }));
  return {
    id: "all-points",
    heading: "All points",
    blocks: [tabled({ ...all, columns, rows: named, filters: ["name", ...paths.map(column)] })],
  };
}

/** Definitions of the figures, and what other tools call them. */
export function definitions(metrics: readonly Metric[]): Section[] {
  if (!metrics.length) return [];
  const tools = [...new Set(metrics.flatMap((each) => Object.keys(each.called)))];
  return [
    {
      id: "definitions",
      heading: "Definitions",
      closed: true,
      blocks: [
        tabled({
          id: "definitions-table",
          caption: "Definitions, and names in other tools",
          columns: [
            words("name", "figure"),
            words("unit", "unit"),
            words("text", "definition"),
            words("key", "key in JSON and CSV", { secondary: true }),
            ...tools.map((tool) => words(tool, tool, { secondary: true })),
          ],
          rows: metrics.map((each) => ({
            name: each.name,
            unit: each.unit,
            text: each.text,
            key: each.key,
            ...Object.fromEntries(tools.map((tool) => [tool, each.called[tool] ?? ""])),
          })),
        }),
      ],
    },
  ];
}
