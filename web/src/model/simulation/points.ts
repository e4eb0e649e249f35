/** Common and differing settings of points, and the axes of a sweep. */

import type { Figure, Times } from "./beside";
import type { Cluster, Host, Point, Vm } from "./document";
import { byName } from "../words";

/** The VM groups of a point by name; its VMs where there are no groups. */
export function groups(point: Point): Record<string, Vm> {
  return Object.keys(point.groups ?? {}).length ? point.groups : point.vms;
}

/** All groups of all points, in the order in which they come first. */
export function groupNames(points: readonly Point[]): string[] {
  return [...new Set(points.flatMap((point) => Object.keys(groups(point))))];
}

/** The VMs of a group, by name: `db`, or `web-1`, `web-2` ... */
export function members(point: Point, group: string): string[] {
  const count = groups(point)[group]?.count ?? 1;
  const names = count === 1 ? [group] : Array.from({ length: count }, (_, index) => `${group}-${index + 1}`);
  return names.filter((name) => name in point.vms);
}

/** The group of each VM. */
export function groupOf(point: Point): Map<string, string> {
  return new Map(
    Object.keys(groups(point)).flatMap((group) => members(point, group).map((vm) => [vm, group] as const)),
  );
}

/** Paths whose value is not the same in every point, in the order in which they were given. */
export function varyingPaths(points: readonly Point[]): string[] {
  const paths = [...new Set(points.flatMap((point) => Object.keys(point.set)))];
  return paths.filter((path) => new Set(points.map((point) => JSON.stringify(point.set[path]))).size > 1);
}

/** The last part of a path; with the entity's name in front where that is needed to tell paths apart. */
export function shortPath(path: string, others: readonly string[]): string {
  const parts = path.split(".");
  const alike = others.filter((other) => other.split(".").at(-1) === parts.at(-1)).length > 1;
  return parts.slice(alike ? -2 : -1).join(".");
}

/** A value that was set, in words. */
export function valueText(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "not set" : JSON.stringify(value);
}

/** A path and its value as one says it: `2 batch VMs`, `4 vCPUs`, `load 3`; the others tell whether its owner is needed. */
export function setting(path: string, value: unknown, others: readonly string[]): string {
  const [last, owner] = [path.split(".").at(-1), path.split(".").at(-2)];
  const name = shortPath(path, others);
  if (typeof value === "number" && path.startsWith("vms.") && path.split(".").length === 3) {
    if (last === "count") return `${value === 0 ? "no" : value} ${owner} VM${value === 1 || value === 0 ? "" : "s"}`;
    if (last === "vcpus") return `${value} vCPU${value === 1 ? "" : "s"}${name === last ? "" : ` in ${owner}`}`;
  }
  return `${name.replaceAll("_", " ")} ${valueText(value)}`;
}

/** What sets a point apart, in words: `load 2, 4 vCPUs`. */
export function where(point: Point, paths: readonly string[]): string {
  return paths.map((path) => setting(path, point.set[path], paths)).join(", ");
}

/** How a sweep is laid out: one path along x (null without a swept amount), the others tell lines apart. */
export interface Axes {
  x: string | null;
  others: string[];
}

const isAmount = (value: unknown) => typeof value === "string" && /^\d/.test(value);

/** A swept load goes along x, else the path with most values: numbers, or amounts such as `8KiB` in the order swept. */
export function axes(points: readonly Point[]): Axes {
  const paths = varyingPaths(points);
  const all = (test: (value: unknown) => boolean) =>
    paths.filter((path) => points.every((point) => test(point.set[path])));
  const candidates = [...all((value) => typeof value === "number"), ...all(isAmount)];
  const rank = (path: string) =>
    new Set(points.map((point) => point.set[path])).size + (path.endsWith(".load") ? 1e6 : 0);
  const x = candidates.reduce<string | null>(
    (best, path) => (best === null || rank(path) > rank(best) ? path : best),
    null,
  );
  return { x, others: paths.filter((path) => path !== x) };
}

/** Points that differ only in what lies along x, in its order. */
export interface Line {
  /** Values of the other swept paths; empty where there are none. */
  label: string;
  points: Point[];
}

export function lines(points: readonly Point[], layout: Axes): Line[] {
  const found = new Map<string, Point[]>();
  const paths = [...(layout.x ? [layout.x] : []), ...layout.others];
  for (const point of points) {
    const label = layout.others.map((path) => setting(path, point.set[path], paths)).join(", ");
    found.set(label, [...(found.get(label) ?? []), point]);
  }
  const place = (point: Point) => (layout.x === null ? undefined : point.set[layout.x]);
  return [...found].map(([label, own]) => ({
    label,
    points: own.every((point) => typeof place(point) === "number")
      ? own.toSorted((a, b) => Number(place(a)) - Number(place(b)))
      : own,
  }));
}

/** The name of an axis: `vms.batch.count` in full, since the page has room for it. */
export function axisName(path: string): string {
  const last = path.split(".").at(-1) ?? path;
  const owner = path.split(".").slice(1, -1).join(".");
  const words: Record<string, string> = {
    vcpus: "vCPUs",
    load: "load, times",
    count: "number of VMs",
    cores_per_socket: "cores per socket",
  };
  return `${owner ? `${owner}: ` : ""}${words[last] ?? last.replaceAll("_", " ")}`;
}

/** The host with the highest usage among `names`, or among all. */
export function fullest(point: Point, names: Iterable<string> = Object.keys(point.hosts)): [string, Host] | null {
  let found: [string, Host] | null = null;
  for (const name of names) {
    const host = point.hosts[name];
    if (host && (!found || host.usage_pct > found[1].usage_pct)) found = [name, host];
  }
  return found;
}

/** The clusters of a point by name, where there are several: of one nothing is said that its hosts do not say. */
export function clusters(point: Point): Record<string, Cluster> {
  const found = point.clusters ?? {};
  return Object.keys(found).length > 1 ? found : {};
}

/** Names of all clusters of points, as far as a point has several. */
export function clusterNames(points: readonly Point[]): string[] {
  return [...new Set(points.flatMap((point) => Object.keys(clusters(point))))].toSorted(byName);
}

/** The cluster of a host; empty where it has none. */
export function clusterOf(point: Point, host: string): string {
  return point.hosts[host]?.cluster ?? "";
}

/** Hosts by cluster if there are several, the most loaded first; and the name of each in a list of all. */
export function hostsInOrder(
  point: Point,
  hosts: readonly string[],
  weight: (name: string) => number,
): { name: string; title: string }[] {
  const several = Object.keys(clusters(point)).length > 0;
  const sorted = worstFirst(hosts, weight);
  if (!several) return sorted.map((name) => ({ name, title: name }));
  return sorted
    .toSorted((a, b) => byName(clusterOf(point, a), clusterOf(point, b)))
    .map((name) => ({ name, title: `${clusterOf(point, name)} · ${name}` }));
}

/** Mean usage over the hosts. */
export function meanUsage(point: Point): number | null {
  return mean(Object.values(point.hosts).map((host) => host.usage_pct));
}

export function mean(values: readonly Figure[]): number | null {
  const numbers = values.filter((value): value is number => typeof value === "number");
  return numbers.length ? numbers.reduce((sum, value) => sum + value, 0) / numbers.length : null;
}

/** A field under a key that is not known as it is written; undefined where there is none. */
export const field = (of: object | undefined, key: string): unknown =>
  (of as Record<string, unknown> | undefined)?.[key];

/** A number or null: JSON has neither NaN nor undefined, and a chart wants null. */
export function known(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Percentiles of a distribution: its curve without its ends, which are no percentiles, or what the document says of it. */
export function percentiles(times: Times | undefined): [number, number][] {
  const curve = times?.curve?.filter(([percentile]) => percentile > 0 && percentile < 100) ?? [];
  if (curve.length) return curve;
  const ends: [number, number | null | undefined][] = [
    [50, times?.p50],
    [95, times?.p95],
    [99, times?.p99],
  ];
  return ends.filter((each): each is [number, number] => known(each[1]) !== null);
}

/** Whether any VM of the point does I/O on an array or a pool. */
export function hasIo(vm: Vm): boolean {
  return vm.io_latency_ms !== undefined;
}

/** True if its transactions are single I/Os, as with fio. */
export function isGenerator(vm: Vm): boolean {
  return hasIo(vm) && (copies(vm) || Math.abs((vm.iops ?? 0) - vm.throughput_per_s) <= 0.01 * vm.throughput_per_s);
}

/** Whether a VM copies from one storage to another. */
export function copies(vm: Vm): boolean {
  return vm.copied_mb_per_s !== undefined;
}

/** Names with the largest figure first; equal ones by name. */
export function worstFirst(names: readonly string[], weight: (name: string) => number): string[] {
  const weights = new Map(names.map((name) => [name, weight(name)]));
  return names.toSorted((a, b) => weights.get(b)! - weights.get(a)! || byName(a, b));
}

/** The mean response of a group's VMs at each sample, weighted by what each completed. */
export function responses(point: Point, group: string): (number | null)[] {
  const vms = members(point, group)
    .map((name) => point.timeline?.vms[name])
    .filter((vm) => vm !== undefined);
  return (vms[0]?.["response_ms_mean"] ?? []).map((_, index) => {
    let [total, weights] = [0, 0];
    for (const vm of vms) {
      const [value, weight] = [vm["response_ms_mean"]?.[index], vm["throughput_per_s"]?.[index]];
      if (typeof value === "number" && typeof weight === "number" && weight > 0)
        [total, weights] = [total + value * weight, weights + weight];
    }
    return weights > 0 ? total / weights : null;
  });
}
