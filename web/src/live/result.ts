/** Reports of the core as the page of a simulation shows them, and their comparison with the original. */

import { tabled, words } from "../model/columns";
import type { PageDocument } from "../model/page";
import type { Answer, Point, Simulation } from "../model/simulation/document";
import { groups } from "../model/simulation/points";
import { number, withUnit } from "../model/numbers";
import { count } from "../model/words";
import type { Row, Section } from "../model/view";
import type { Progress } from "./core";
import { FAILS, type Changes } from "./scenario";
import type { Stage } from "./session";
import type { Reported } from "./worker";

/** Rows of the comparison. */
const MAX_ROWS = 24;

/** Relative change below which a figure counts as unchanged. */
const UNCHANGED = 0.01;

/** The page of a report. */
export function pageOf(original: PageDocument, reported: Reported, changes: Changes, stage: Stage): PageDocument {
  const before = original.document as Simulation;
  const own = JSON.stringify(original.live!.own_policy);
  const point = JSON.parse(reported.report.replaceAll('"policy":null', `"policy":${own}`)) as Point;
  const shown: Point = { ...(stage === "preview" ? unjudged(point) : point), set: changes as Point["set"] };
  const answer: Answer =
    stage === "preview"
      ? { tone: "note", text: `Preview of ${number(point.duration_s)} s, without a verdict.`, more: [] }
      : (JSON.parse(reported.answer) as Answer);
  const document: Simulation = { ...before, answer, breaks: [], causes: [], points: [shown] };
  const { metrics, load_steps } = original.beside;
  const made = { ...original.made, command: [] }; // that of the original gives other figures
  return {
    ...original,
    made,
    document,
    beside: { ...(metrics ? { metrics } : {}), ...(load_steps ? { load_steps } : {}) },
  };
}

/** A point without what only a settled run can say. */
function unjudged({ model_error: _, ...point }: Point): Point {
  const none = Object.fromEntries(Object.keys(point.judgement.groups).map((group) => [group, []]));
  const limits = Object.fromEntries(
    Object.entries(point.judgement.limits).map(([group, limit]) => [group, { ...limit, kind: "nothing", text: "" }]),
  );
  return {
    ...point,
    judgement: { ...point.judgement, tone: "note", text: "", more: [], groups: none, limits },
  } as Point;
}

/** Status of what is shown, in words. */
export function statusOf(point: Point, stage: Stage, { done, of }: Progress): string {
  const times = `${count(of, "replication")} of ${number(point.duration_s)} s`;
  if (stage === "preview") return `Preview: one replication of ${number(point.duration_s)} s.`;
  if (stage === "running") return `Simulated ${done} of ${times}.`;
  return `Simulated ${times}.`;
}

type Read = (point: Point) => number | null | undefined;

/** Figures that are compared. */
function figures(points: readonly Point[]): { of: string; name: string; unit: string; read: Read }[] {
  const names = [...new Set(points.flatMap((point) => Object.keys(groups(point))))];
  const hosts = [...new Set(points.flatMap((point) => Object.keys(point.hosts)))];
  return [
    ...names.flatMap((name) => {
      const of = (read: (vm: ReturnType<typeof groups>[string]) => number | null | undefined): Read => {
        return (point) => {
          const vm = groups(point)[name];
          return vm && read(vm);
        };
      };
      return [
        { of: name, name: "Throughput", unit: "/s", read: of((vm) => vm.throughput_per_s) },
        { of: name, name: "Response, mean", unit: "ms", read: of((vm) => vm.response_ms.mean) },
        { of: name, name: "Response, p99", unit: "ms", read: of((vm) => vm.response_ms.p99) },
        { of: name, name: "Ready per vCPU", unit: "%", read: of((vm) => vm.ready_pct) },
        { of: name, name: "Co-stop per vCPU", unit: "%", read: of((vm) => vm.costop_pct) },
        { of: name, name: "Guest CPU", unit: "%", read: of((vm) => vm.guest_cpu_pct) },
        { of: name, name: "I/O latency, p99", unit: "ms", read: of((vm) => vm.io_latency_ms?.p99) },
      ];
    }),
    ...hosts.map((host) => ({
      of: host,
      name: "CPU usage",
      unit: "%",
      read: ((point) => point.hosts[host]?.usage_pct) as Read,
    })),
  ];
}

/** The figures that changed most, before and after. */
export function comparison(before: Point, now: Point, stage: Stage): Section {
  const changed = figures([before, now]).flatMap(({ of, name, unit, read }) => {
    const [old, other] = [read(before) ?? null, read(now) ?? null];
    if (old === null && other === null) return [];
    const size = Math.max(Math.abs(old ?? 0), Math.abs(other ?? 0));
    // per cent are told apart by points, others by their ratio
    const moved = Math.abs((other ?? 0) - (old ?? 0)) / (unit === "%" ? Math.max(size, 5) : size || 1);
    return moved < UNCHANGED ? [] : [{ of, name, unit, old, other, moved }];
  });
  const most = changed.toSorted((a, b) => b.moved - a.moved).slice(0, MAX_ROWS);
  const rows = most.map(({ of, name, unit, old, other }): Row => ({
    of,
    figure: name,
    before: old === null ? "" : withUnit(old, unit),
    now: other === null ? "" : withUnit(other, unit),
    change: old && other !== null ? `${other >= old ? "+" : "−"}${number((100 * Math.abs(other - old)) / old)} %` : "",
  }));
  const left = changed.length - rows.length;
  return {
    id: "compared",
    heading: "Compared with the original",
    ...(stage === "preview" ? { badge: { tone: "note", text: "preview" } } : {}),
    blocks: rows.length
      ? [
          tabled({
            id: "compared",
            caption: "Figures that changed most",
            columns: [
              words("of", "Of"),
              words("figure", "Figure"),
              words("before", "Original"),
              words("now", "Now"),
              words("change", "Change"),
            ],
            rows,
            ...(left > 0 ? { notes: [`${count(left, "smaller change")} not shown.`] } : {}),
          }),
        ]
      : [{ type: "prose", paragraphs: ["No figure changed by more than 1%."] }],
  };
}

/** Changes in words, for the title. */
export function told(changes: Changes): string {
  return Object.entries(changes)
    .map(([path, value]) => (path === FAILS ? `${value} fails` : `${path.split(".").slice(1).join(".")} ${value}`))
    .join(", ");
}
