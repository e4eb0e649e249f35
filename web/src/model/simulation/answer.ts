/** The answer that a page of a simulation begins with: who suffers, from which value on, why, and how sure that is. */

import { number } from "../numbers";
import type { Tone, View } from "../view";
import { count, duration, list, some } from "../words";
import { type Verdict, verdicts } from "./breaks";
import type { Point, Simulation, Vm } from "./document";
import { shortages } from "./memory";
import { migrations, told } from "./movement";
import { type Axes, axisName, clusterOf, clusters, copies, fullest, groups, groupOf, isGenerator, known, mean, members, responses, varyingPaths, where, worstFirst } from "./points";
import { atMost, causes, isBad, LIMITS, severity, type Sign, signs } from "./signs";

type Answer = View["answer"];

/** Signs that are named in one sentence. */
const NAMED_SIGNS = 2;
/** Verdicts and groups that the answer names; tables have the rest. */
const NAMED = 4;

/** A mean response this many times that before a failure is told. */
const PEAK = 2;

const said = (found: readonly Sign[]) => found.slice(0, NAMED_SIGNS).map((sign) => sign.text).join("; ");

/** The answer of a sweep. */
export function sweepAnswer(points: readonly Point[], layout: Axes): Answer {
  if (layout.x === null) return comparison(points);
  const all = verdicts(points, layout);
  const broken = all.filter((each) => each.pattern !== "nowhere");
  const fine = all.filter((each) => each.pattern === "nowhere");
  const limits = limitsOfIo(points);
  const first = broken[0];
  if (!first) {
    const text = `No group suffers in this sweep of ${axisName(layout.x)}${limits.length ? `; ${limits.join("; ")}` : ""}.`;
    return { tone: limits.length ? "warn" : "good", text, more: [...all.slice(0, NAMED).flatMap(trend), ...extremes(all)] };
  }
  const more = broken.length - NAMED;
  return {
    tone: "bad",
    text: `${sentence(first)}: ${said(first.at!.signs)}.`,
    more: [
      ...first.why.slice(0, 2),
      ...broken.slice(1, NAMED).map((each) => `${sentence(each)}.`),
      ...(more > 0 ? [`${count(more, "more line")} of the sweep ${more === 1 ? "is" : "are"} in the table “Where it breaks”.`] : []),
      ...(fine.length ? [`Not at any value: ${some(fine.map(named), NAMED)}.`] : []),
    ],
  };
}

/** At how many points a station limits I/O, which is no harm to a workload that asks for all it can get. */
function limitsOfIo(points: readonly Point[]): string[] {
  const found = points.flatMap((point) => (point.bottleneck?.saturated ? [point.bottleneck.station] : []));
  return [...new Set(found)].map((station) => `${station} limits I/O at ${found.filter((each) => each === station).length} of ${count(points.length, "point")}`);
}

/** A group, and its line where the sweep has several. */
export function named(verdict: Verdict): string {
  return verdict.line ? `${verdict.group} with ${verdict.line}` : verdict.group;
}

function sentence(verdict: Verdict): string {
  const values = verdict.bad.map((place) => place.value);
  const before = verdict.places[verdict.places.findIndex((place) => isBad(place.signs)) - 1];
  const who = named(verdict);
  switch (verdict.pattern) {
    case "from":
      return `From ${values[0]} on, ${who} suffers${before ? `, not yet with ${before.value}` : ""}`;
    case "up to":
      return `Up to ${values.at(-1)}, ${who} suffers, and no longer above`;
    case "everywhere":
      return `${who} suffers at every value`;
    default:
      return `${who} suffers with ${list(values)}`;
  }
}

/** What a group does at the ends of its line. */
function trend(verdict: Verdict): string[] {
  const [first, last] = [verdict.places[0], verdict.places.at(-1)];
  if (!first || !last || first === last) return [];
  const p99 = (place: typeof first) => known(place.vm.response_ms.p99);
  const tail = p99(first) !== null && p99(last) !== null ? `, its p99 from ${number(p99(first)!)} to ${number(p99(last)!)} ms` : "";
  return [`From ${first.value} to ${last.value} the throughput of ${named(verdict)} goes from ${number(first.vm.throughput_per_s)} to ${number(last.vm.throughput_per_s)} a second${tail}.`];
}

/** What comes nearest to suffering, where nothing does. */
function extremes(all: readonly Verdict[]): string[] {
  const places = all.flatMap((each) => each.places.map((place) => ({ ...place, group: each.group })));
  const ready = places.toSorted((a, b) => b.vm.ready_pct - a.vm.ready_pct)[0];
  const hosts = places.map((place) => fullest(place.point)).filter((host) => host !== null);
  const usage = Math.max(0, ...hosts.map(([, host]) => host.usage_pct));
  return ready ? [`Ready is ${atMost(ready.vm.ready_pct)} per vCPU (${ready.group}), and no host is above ${number(usage)} %.`] : [];
}

/** Of a sweep over words, such as hypervisors: which value is best and which is worst for each group, by more than chance. */
function comparison(points: readonly Point[]): Answer {
  const paths = varyingPaths(points);
  const names = [...new Set(points.flatMap((point) => Object.keys(groups(point))))];
  const sentences = names.flatMap((name) => {
    const own = points.flatMap((point) => {
      const response = groups(point)[name]?.response_ms;
      const mean = known(response?.mean);
      return mean === null ? [] : [{ point, mean, half: response?.ci95 ?? 0 }];
    });
    const sorted = own.toSorted((a, b) => a.mean - b.mean);
    const [low, high] = [sorted[0], sorted.at(-1)];
    if (!low || !high || high.mean - low.mean <= low.half + high.half) return [];
    return [{ ratio: high.mean / low.mean, text: `${name} is fastest with ${where(low.point, paths)} (mean ${number(low.mean)} ms), slowest with ${where(high.point, paths)} (${number(high.mean)} ms).` }];
  });
  const told = sentences.toSorted((a, b) => b.ratio - a.ratio).map((each) => each.text);
  const bad = points.filter((point) => Object.values(groups(point)).some((vm) => isBad(signs(vm))));
  return {
    tone: bad.length ? "warn" : "note",
    text: told[0] ?? "No difference beyond what replications differ by.",
    more: [...told.slice(1, NAMED), ...(bad.length ? [`VMs suffer with ${some(bad.map((point) => where(point, paths)), NAMED)}.`] : [])],
  };
}

interface Sufferer {
  name: string;
  group: string;
  vm: Vm;
  signs: Sign[];
}

/** The VMs of a point with signs of suffering, the worst first. */
export function sufferers(point: Point): Sufferer[] {
  const of = groupOf(point);
  const found = Object.entries(point.vms).map(([name, vm]) => ({ name, group: of.get(name) ?? name, vm, signs: signs(vm) }));
  const marked = new Map(found.filter((each) => each.signs.length).map((each) => [each.name, each]));
  return worstFirst([...marked.keys()], (name) => severity(marked.get(name)!.signs)).map((name) => marked.get(name)!);
}

/** The answer of a single point. */
export function pointAnswer(point: Point): Answer {
  const found = sufferers(point);
  const bad = found.filter((each) => isBad(each.signs));
  // who migrated is told with who was down, where anybody was
  const moved = migrations(point).length && !point.outages?.length ? [told(point)] : [];
  const isLate = migrations(point).some((move) => move.outcome !== "done");
  const happened = [...shortages(point), ...(isLate ? moved : []), ...aroundFailures(point), ...storageSentences(point)];
  if (found.some((each) => each.vm.down_s)) return outage(point, found, happened);
  const shown = bad.length ? bad : found;
  const worst = shown[0];
  if (!worst) return calm(point, happened, isLate ? [] : moved);
  const all = Object.keys(point.vms).length;
  const where = worst.vm.host ? ` on ${worst.vm.host}` : "";
  const others = shown.length > 1 ? ` ${bad.length ? "In all," : "So are others:"} ${shown.length} of ${count(all, "VM")}${bad.length ? " suffer" : ""}: ${byGroup(point, shown)}.` : "";
  return {
    tone: bad.length ? "bad" : "warn",
    text: `${worst.name}${where} ${bad.length ? `suffers${shown.length > 1 ? " most" : ""}` : "is worth a look"}: ${said(worst.signs)}.${others}`,
    more: [...causes(point, worst.group, worst.vm).slice(0, 3), ...happened, ...(isLate ? [] : moved), ...summaries(point)],
  };
}

/** VMs were down because their hosts were: that comes before all else. */
function outage(point: Point, found: readonly Sufferer[], happened: readonly string[]): Answer {
  const down = found.filter((each) => each.vm.down_s);
  const longest = Math.max(...down.map((each) => each.vm.down_s!));
  const restarted = new Map((point.outages ?? []).map((each) => [each.vm, each.host]));
  const stuck = down.filter((each) => !restarted.has(each.name));
  const hosts = [...new Set(down.flatMap((each) => restarted.get(each.name) ?? each.vm.host ?? []))];
  const clusters = [...new Set(stuck.map((each) => each.vm.cluster ?? "default"))];
  const others = found.filter((each) => !each.vm.down_s && isBad(each.signs));
  return {
    tone: "bad",
    text: `${down.length} of ${count(Object.keys(point.vms).length, "VM")} ${stuck.length ? "stood still" : "were down"} for up to ${number(longest)} s of ${number(point.duration_s)} s, because ${hosts.length ? some(hosts, NAMED) : "their host"} failed: ${some(down.map((each) => each.name), NAMED)}.`,
    more: [
      ...(stuck.length ? [`No HA policy in cluster ${list(clusters)} restarts ${stuck.length === down.length ? "them" : some(stuck.map((each) => each.name), NAMED)} elsewhere; their averages count that time as idle.`] : []),
      ...(restarted.size ? [told(point), "Averages of VMs that were powered off are over the time that they were up; their throughput is over all of it."] : []),
      ...(others[0] ? [`${others[0].name} suffers: ${said(others[0].signs)}.`] : []),
      ...happened,
      ...summaries(point),
    ],
  };
}

/** Nothing suffers; what is full, and what has happened, is said all the same. */
function calm(point: Point, happened: readonly string[], moved: readonly string[]): Answer {
  const limit = point.bottleneck?.saturated ? point.bottleneck : null;
  const full = Object.values(point.hosts).filter((host) => host.usage_pct >= LIMITS.host).length;
  const figures = `ready is ${atMost(most(point, "ready_pct"))} and co-stop ${atMost(most(point, "costop_pct"))} per vCPU`;
  const text = limit
    ? `${limit.station} at ${number(limit.utilization_pct)} % limits I/O; no VM waits for CPU.`
    : full
      ? `No VM waits yet, but ${full} of ${count(Object.keys(point.hosts).length, "host")} ${full === 1 ? "is" : "are"} full${hostText(point)}; ${figures}.`
      : `No VM suffers: ${figures}${hostText(point)}.`;
  return { tone: happened.length || limit || full ? "warn" : "good", text, more: [...happened, ...moved, ...summaries(point)] };
}

const most = (point: Point, key: "ready_pct" | "costop_pct") => Math.max(0, ...Object.values(point.vms).map((vm) => vm[key]));

function hostText(point: Point): string {
  const host = fullest(point);
  const cluster = host && Object.keys(clusters(point)).length ? ` of ${clusterOf(point, host[0])}` : "";
  return host ? `, and ${Object.keys(point.hosts).length > 1 ? "the fullest host, " : ""}${host[0]}${cluster}${Object.keys(point.hosts).length > 1 ? "," : ""} is at ${number(host[1].usage_pct)} %` : "";
}

function byGroup(point: Point, found: readonly Sufferer[]): string {
  const counts = new Map<string, number>();
  for (const { group } of found) counts.set(group, (counts.get(group) ?? 0) + 1);
  return some(
    [...counts].map(([group, many]) => {
      const all = members(point, group).length;
      return all === 1 ? group : many === all ? `all ${all} of ${group}` : `${many} of ${all} of ${group}`;
    }),
    NAMED,
  );
}

/** Lost data and I/O that stands still, which no figure of a VM shows. */
function storageSentences(point: Point): string[] {
  return Object.entries(point.pools ?? {}).flatMap(([name, pool]) => [
    ...(pool.lost_gib > 0 ? [`${name} lost ${number(pool.lost_gib)} GiB of data.`] : []),
    ...(pool.suspended_ios > 0 ? [`At the end ${count(Math.round(pool.suspended_ios), "I/O")} to ${name} still wait${Math.round(pool.suspended_ios) === 1 ? "s" : ""} for enough of it to come back.`] : []),
  ]);
}

/** How much slower each group was at its worst after the first failure of the run than before it. */
function aroundFailures(point: Point): string[] {
  const failures = [...(point.failures ?? []), ...Object.values(point.pools ?? {}).flatMap((pool) => pool.incidents)].filter((each) => each.fails);
  const first = Math.min(...failures.map((each) => each.time_s));
  const { timeline } = point;
  if (!failures.length || !timeline) return [];
  const time = timeline.time_s.map((each) => point.warmup_s + each);
  return Object.keys(groups(point)).flatMap((group) => {
    const samples = responses(point, group);
    const calm = mean(samples.filter((_, index) => time[index]! <= first));
    const after = samples.map((value, index) => (time[index]! > first ? (value ?? -1) : -1));
    const peak = Math.max(...after);
    if (calm === null || peak <= PEAK * calm) return [];
    const at = time[after.indexOf(peak)]!;
    const cause = failures.filter((each) => each.time_s <= at).toSorted((a, b) => b.time_s - a.time_s)[0];
    return [`After ${cause?.what ?? "the failure"} failed, the mean response of ${group} rose to ${number(peak)} ms (at ${number(at)} s); it was ${number(calm)} ms before the first failure.`];
  });
}

/** What the slowest groups do, in one sentence each. */
function summaries(point: Point): string[] {
  const found = groups(point);
  const names = worstFirst(Object.keys(found), (name) => known(found[name]!.response_ms.p99) ?? 0);
  return names.slice(0, NAMED - 1).flatMap((name) => {
    const vm = found[name]!;
    const { response_ms: response, throughput_per_s: done } = vm;
    const io = known(vm.io_latency_ms?.mean) === null ? [] : [ioSentence(name, vm)];
    if (known(response.mean) === null || isGenerator(vm)) return io;
    return [...io, `${name} completes ${number(done)} transactions a second in ${number(response.mean!)} ms on average; 99 % take at most ${number(response.p99!)} ms.`];
  });
}

/** I/Os of a group, reads and writes apart where both are there. */
function ioSentence(name: string, vm: Vm): string {
  const apart = ([["reads", vm.read?.latency_ms], ["writes", vm.write?.latency_ms]] as const).filter(([, times]) => known(times?.mean) !== null);
  const told = (apart.length ? apart : [["they", vm.io_latency_ms] as const]).map(([what, times]) => `${what} take ${number(times!.mean!)} ms on average, 99 % at most ${number(times!.p99!)} ms`);
  if (copies(vm) && known(vm.copy_s) !== null) {
    return `${name} copies ${number(vm.copied_mb_per_s!)} MB/s, all of its disks in ${duration(vm.copy_s!)}: ${told.join("; ")}.`;
  }
  return `${name} does ${number(vm.iops!)} I/Os a second (${number(vm.io_mb_per_s ?? 0)} MB/s): ${told.join("; ")}.`;
}

/** Why a point is not steady, or why that is not known. */
function whyUnsteady({ verdict }: Point): string {
  const reason = verdict?.reason;
  if (!reason) return "Not steady.";
  if (verdict.steady === "not-steady") return `Not steady: ${reason.text}.`;
  return `Not known to be steady: ${reason.text}.${reason.needs_s === null ? "" : ` Measure ${number(reason.needs_s)} s to tell.`}`;
}

/** How sure the figures are. */
export function confidence(result: Simulation): View["confidence"] {
  const points = result.points;
  const first = points[0];
  if (!first) return [{ tone: "warn", text: "No point was simulated." }];
  const several = points.every((point) => point.replications > 1);
  const runs = `${count(first.replications, "replication")} of ${number(first.duration_s)} s`;
  const halves = points.flatMap((point) =>
    Object.values(groups(point)).flatMap((vm) => {
      const [value, half] = [known(vm.response_ms.mean), known(vm.response_ms.ci95)];
      return value && half !== null ? [(100 * half) / value] : [];
    }),
  );
  const widest = Math.max(0, ...halves);
  const found: { tone: Tone; text: string }[] = [
    several && !halves.length
      ? { tone: "warn", text: `${runs}: no mean response has a half-width.` }
      : several
      ? { tone: widest > 10 ? "warn" : "good", text: `${runs}: mean responses are known to ±${number(widest)} % or better, with 95 % confidence.` }
      : { tone: "warn", text: `${runs}: one run has no half-widths. Run it again with --replications 3 or more.` },
  ];
  const unsteady = points.filter((point) => !point.steady);
  const paths = varyingPaths(points);
  if (!unsteady.length) found.push({ tone: "good", text: points.length === 1 ? "The run reached a steady state." : `All ${points.length} points reached a steady state.` });
  else if (points.length === 1)
    found.push({
      tone: "warn",
      text: whyUnsteady(first),
    });
  else
    found.push({ tone: "warn", text: `${unsteady.length} of ${points.length} points are not steady, or not known to be: ${some(unsteady.map((point) => where(point, paths)), NAMED)}.` });
  const none = points.every((point) => point.calibration === null);
  found.push(
    none
      ? { tone: "note", text: "Calibrated on nothing: every figure is predicted from the scenario's parameters." }
      : { tone: "good", text: `Calibrated on ${some([...new Set(points.map((point) => point.calibration ?? "nothing"))], NAMED)}.` },
  );
  return found;
}

