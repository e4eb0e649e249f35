/** From which value of a sweep on a group suffers: one verdict for each line and group. */

import type { Row, Table } from "../view";
import { some } from "../words";
import type { Point, Vm } from "./document";
import { axisName, type Axes, groups, groupNames, known, type Line, lines, setting } from "./points";
import { type Best, causes, isBad, severity, type Sign, signsBeside, work } from "./signs";

interface Place {
  value: string;
  point: Point;
  vm: Vm;
  signs: Sign[];
}

/** Where along a line a group suffers: from a value on, up to one, at some, everywhere or nowhere. */
export type Pattern = "from" | "up to" | "at" | "everywhere" | "nowhere";

export interface Verdict {
  line: string;
  group: string;
  pattern: Pattern;
  places: Place[];
  /** The places where it suffers. */
  bad: Place[];
  /** The bad place that says most: the first from which on, the last up to which, else the worst. */
  at: Place | null;
  why: string[];
}

/** Verdicts of all lines and groups; those that the sweep does not itself add come first, of them those that suffer soonest and most. */
export function verdicts(points: readonly Point[], layout: Axes): Verdict[] {
  const found = lines(points, layout).flatMap((line) =>
    groupNames(points).flatMap((group) => verdict(line, group, layout) ?? []),
  );
  const swept = [layout.x, ...layout.others].filter((path) => path !== null);
  const isCause = (each: Verdict) => swept.some((path) => path.startsWith(`vms.${each.group}.`));
  const rank = (each: Verdict) => (each.pattern === "nowhere" ? 2 : isCause(each) ? 1 : 0);
  const weight = (each: Verdict) => Math.max(0, ...each.bad.map((place) => severity(place.signs)));
  const start = (each: Verdict) => each.places.findIndex((place) => isBad(place.signs)) / each.places.length;
  return found.toSorted((a, b) => rank(a) - rank(b) || start(a) - start(b) || weight(b) - weight(a));
}

function verdict(line: Line, group: string, layout: Axes): Verdict | null {
  const { x } = layout;
  const own = line.points.flatMap((point) => {
    const vm = groups(point)[group];
    return vm ? [{ value: x === null ? line.label : setting(x, point.set[x], [x, ...layout.others]), point, vm }] : [];
  });
  if (!own.length) return null;
  const best: Best = { p99: null, p99At: "", work: null, workAt: "" };
  for (const { value, vm } of own) {
    const p99 = known(vm.response_ms.p99);
    if (p99 !== null && (best.p99 === null || p99 < best.p99)) [best.p99, best.p99At] = [p99, value];
  }
  const places = own.map((each): Place => {
    const done = work(each.point, group, each.vm);
    if (done !== null && (best.work === null || done > best.work)) [best.work, best.workAt] = [done, each.value];
    return { ...each, signs: signsBeside(each.point, group, each.vm, best) };
  });
  const bad = places.filter((place) => isBad(place.signs));
  const pattern = patternOf(places);
  const worst = bad.reduce<Place | null>((most, place) => (most && severity(most.signs) >= severity(place.signs) ? most : place), null);
  const at = pattern === "from" ? bad[0]! : pattern === "up to" ? bad.at(-1)! : worst;
  return { line: line.label, group, pattern, places, bad, at, why: at ? causes(at.point, group, at.vm) : [] };
}

function patternOf(places: readonly Place[]): Pattern {
  const bad = places.map((place) => isBad(place.signs));
  const first = bad.indexOf(true);
  const last = bad.lastIndexOf(true);
  if (first < 0) return "nowhere";
  if (bad.every(Boolean)) return "everywhere";
  if (bad.slice(first).every(Boolean)) return "from";
  if (bad.slice(0, last + 1).every(Boolean)) return "up to";
  return "at";
}

/** Where it suffers, in words. */
function place(verdict: Verdict): string {
  const values = verdict.bad.map((each) => each.value);
  const words: Record<Pattern, string> = {
    from: `from ${values[0]} on`,
    "up to": `up to ${values.at(-1)}`,
    at: `with ${some(values, 3)}`,
    everywhere: "everywhere",
    nowhere: "nowhere",
  };
  return words[verdict.pattern];
}

/** A row for each line and group: where it suffers, how one sees it, and why. */
export function verdictsTable(all: readonly Verdict[], x: string): Table {
  const hasLines = all.some((each) => each.line);
  const rows = all.map((each): Row => ({
    group: each.group,
    line: each.line,
    suffers: { tone: each.pattern === "nowhere" ? "good" : "bad", text: place(each) },
    signs: each.at?.signs.map((sign) => sign.text).join("; ") ?? "",
    why: each.why[0] ?? "",
  }));
  return {
    id: "where-it-breaks",
    caption: `Where groups suffer along ${axisName(x)}`,
    columns: [
      { key: "group", name: "group", kind: "words" },
      ...(hasLines ? [{ key: "line", name: "with", kind: "words" } as const] : []),
      { key: "suffers", name: "suffers", kind: "badge" },
      { key: "signs", name: "signs", kind: "words", secondary: true },
      { key: "why", name: "why", kind: "words", secondary: true },
    ],
    rows,
    ...(all.length > 8 ? { filters: ["group"] } : {}),
  };
}
