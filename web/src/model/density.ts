/** `hypertwin density`: how many VMs meet the objectives, how sure that is, and the curve around it. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Badge, Card, Chart, Column, LineChart, Row as Cells, Series, Tone, View } from "./view";
import { number } from "./numbers";
import { count, list, slug, spread } from "./words";

interface Figure {
  mean: number | null;
  ci95: number | null;
}

interface Objective {
  text: string;
  metric: string;
  sign: string;
  limit: number;
  unit: string;
}

interface Point {
  count: number;
  meets: boolean;
  sure: boolean;
  metrics: Record<string, Figure>;
  throughput_per_s: number | null;
  ready_pct: number | null;
  ready_sum_pct: number | null;
  host_usage_pct: number | null;
  host_memory_pct: number | null;
  bottleneck: { station: string; utilization_pct: number } | null;
  replications: number;
  duration_s: number | null;
  steady: boolean | null;
  reason: string | null;
  /** What there is not enough of, such as `memory of esx-1`, where that is the reason. */
  lacks: string | null;
}

/** See `Density` of documents/plan.py. */
export interface Density {
  scenario: string;
  seed: number;
  duration_s: number;
  vm: string;
  slo: Objective[];
  min: number;
  max: number;
  /** Memory that may be configured on a host, over what it has. */
  memory_overcommit: number;
  answer: {
    count: number;
    sure_count: number;
    at_max: boolean;
    limiting: string | null;
    limited_by: string | null;
    one_more: Record<string, Figure>;
    monotone: boolean;
    exceptions: number[];
    text: string;
    notes: string[];
  };
  points: Point[];
  set: Record<string, unknown>;
}

/** A chart is cut at this multiple of the limit: larger figures would flatten what matters. */
const SHOWN_LIMITS = 4;

/** Whether a figure meets its objective: its mean, and its whole interval. */
function meets(objective: Objective, found: Figure): { mean: boolean; sure: boolean } | null {
  if (found.mean === null) return null;
  const half = found.ci95 ?? 0;
  const ok = (value: number) =>
    objective.sign === "<"
      ? value < objective.limit
      : objective.sign === "<="
        ? value <= objective.limit
        : objective.sign === ">"
          ? value > objective.limit
          : value >= objective.limit;
  return { mean: ok(found.mean), sure: ok(found.mean - half) && ok(found.mean + half) };
}

function badge(point: Point): Badge {
  if (point.reason) return { tone: "bad", text: point.lacks ? "no room" : "impossible" };
  return point.sure
    ? { tone: "good", text: "met" }
    : point.meets
      ? { tone: "warn", text: "met on average" }
      : { tone: "bad", text: "missed" };
}

/** What was promised, at the count of the answer. */
function promises(found: Density, at: Point | undefined): View["promises"] {
  return found.slo.map((objective) => {
    const value = at?.metrics[objective.metric] ?? { mean: null, ci95: null };
    const met = meets(objective, value);
    return {
      text: at ? `${objective.text} at ${count(at.count, "VM")}` : objective.text,
      met: met ? met.mean : at ? null : false,
      note: !at
        ? "no count meets all objectives"
        : spread(value.mean, value.ci95, objective.unit) + (met?.mean && !met.sure ? "; the interval reaches beyond the limit" : ""),
    };
  });
}

function confidence(found: Density, at: Point | undefined): View["confidence"] {
  const { answer } = found;
  const told: View["confidence"] = [];
  const most = answer.at_max ? `at least ${answer.count}` : `${answer.count}`;
  if (answer.count > 0)
    told.push(
      answer.sure_count >= answer.count
        ? { tone: "good", text: `The whole 95 % interval of every objective is met at ${answer.count}.` }
        : {
            tone: "warn",
            text: `On average ${most}; with 95 % confidence ${answer.sure_count ? `only ${answer.sure_count}` : "none"}. Longer runs or more replications narrow that.`,
          },
    );
  if (at?.steady === false)
    told.push({
      tone: "bad",
      text: `The runs with ${count(at.count, "VM")} did not reach a steady state: the answer depends on how long they were.`,
    });
  const unsteady = found.points.filter((point) => point.steady === false && point !== at).map((point) => `${point.count}`);
  if (unsteady.length)
    told.push({ tone: "note", text: `Not steady, overloaded or too short: the runs with ${list(unsteady)} VMs.` });
  if (!answer.monotone)
    told.push({ tone: "warn", text: `The curve is not monotone: ${list(answer.exceptions.map(String))} do not follow it.` });
  if (at) told.push({ tone: "plain", text: `${count(at.replications, "run")} of ${number(at.duration_s ?? found.duration_s)} s at that count, seed ${found.seed}.` });
  return told;
}

const WORST = { good: 0, plain: 0, note: 0, warn: 1, bad: 2 } as const;

function objectiveChart(found: Density, objective: Objective, measured: readonly Point[]): LineChart {
  const same = found.slo.filter((each) => each.metric === objective.metric);
  const figures = measured.map((point) => point.metrics[objective.metric] ?? { mean: null, ci95: null });
  const highest = Math.max(0, ...figures.map((each) => each.mean ?? 0));
  const top = SHOWN_LIMITS * Math.max(...same.map((each) => each.limit));
  const cut = objective.sign.startsWith("<") && top > 0 && highest > top;
  const at = measured.find((point) => point.count === found.answer.count);
  const value = at?.metrics[objective.metric];
  const next = measured.find((point) => point.count > found.answer.count);
  const beyond = next?.metrics[objective.metric];
  const said = (point: Point | undefined, one: Figure | undefined) =>
    point && one ? [`${spread(one.mean, one.ci95, objective.unit)} with ${count(point.count, "VM")}`] : [];
  return {
    type: "lines",
    id: `objective-${slug(objective.metric)}`,
    title: list(same.map((each) => each.text)),
    text: `The band is the 95 % interval.${cut ? ` The curve goes on to ${number(highest)} ${objective.unit}.` : ""}`,
    alternative: `${objective.metric}: ${list([...said(at, value), ...said(next, beyond)]) || "nothing measured"}.`,
    x: { name: "VMs" },
    y: { name: objective.metric, ...(objective.unit ? { unit: objective.unit } : {}), from: 0, ...(cut ? { to: top } : {}) },
    places: measured.map((point) => point.count),
    series: [
      {
        name: objective.metric,
        values: figures.map((each) => each.mean),
        halfWidths: figures.map((each) => each.ci95),
        colour: 0,
      },
    ],
    marks:
      at && value && value.mean !== null
        ? [
            {
              name: "the answer",
              symbol: "star",
              points: [{ x: at.count, y: value.mean, colour: 0, text: `${count(at.count, "VM")}: ${spread(value.mean, value.ci95, objective.unit)}` }],
            },
          ]
        : [],
    limits: same.map((each) => ({ name: `limit ${number(each.limit)} ${each.unit}`.trim(), value: each.limit, tone: "bad" as Tone })),
  };
}

function lines(
  found: Density,
  measured: readonly Point[],
  chart: { id: string; title: string; text: string; unit: string; series: [string, keyof Point][] },
): LineChart {
  const series: Series[] = chart.series.map(([name, key], colour) => ({
    name,
    values: measured.map((point) => point[key] as number | null),
    colour,
    dash: colour ? "dashed" : "solid",
  }));
  const at = measured.findIndex((point) => point.count === found.answer.count);
  const told = series.map((each) => `${each.name} ${number(each.values[at < 0 ? 0 : at] ?? 0)} ${chart.unit}`);
  return {
    type: "lines",
    id: chart.id,
    title: chart.title,
    text: chart.text,
    alternative: `With ${count(measured[at < 0 ? 0 : at]!.count, "VM")}: ${list(told)}.`,
    x: { name: "VMs" },
    y: { name: chart.title, unit: chart.unit, from: 0 },
    places: measured.map((point) => point.count),
    series,
    ...(at < 0 ? {} : { moments: [{ x: found.answer.count, number: 1, text: `the answer, ${count(found.answer.count, "VM")}`, tone: "note" as Tone }] }),
  };
}

function charts(found: Density): Chart[] {
  const measured = found.points.filter((point) => !point.reason);
  if (!measured.length) return [];
  const placed = found.points.filter((point) => point.host_memory_pct !== null);
  const objectives = [...new Map(found.slo.map((each) => [each.metric, each])).values()];
  return [
    ...objectives.map((each) => objectiveChart(found, each, measured)),
    lines(found, measured, {
      id: "throughput",
      title: "Throughput",
      text: "Of all VMs of the group together. Where it stops growing, something is used up.",
      unit: "1/s",
      series: [["throughput", "throughput_per_s"]],
    }),
    lines(found, measured, {
      id: "host",
      title: "Host usage and ready",
      text: "Usage says 100 when every core has a busy thread; ready tells what follows.",
      unit: "%",
      series: [
        ["usage of the busiest host", "host_usage_pct"],
        [`ready of ${found.vm}`, "ready_pct"],
      ],
    }),
    {
      ...lines(found, placed, {
        id: "memory",
        title: "Host memory",
        text: `Configured memory over that of the fullest host${found.memory_overcommit > 1 ? "; what memory pressure costs above 100 is not simulated" : ""}. What is above the limit is not simulated.`,
        unit: "%",
        series: [["memory of the fullest host", "host_memory_pct"]],
      }),
      limits: [{ name: "limit", value: 100 * found.memory_overcommit, tone: "bad" }],
    },
  ];
}

function columns(found: Density): Column[] {
  const objectives = [...new Map(found.slo.map((each) => [each.metric, each])).values()];
  return [
    figures("count", "VMs"),
    badges("verdict", "objectives"),
    ...objectives.map((each) => figures(each.metric, each.metric, each.unit)),
    figures("throughput", "throughput", "1/s"),
    figures("ready", "ready", "%"),
    figures("ready_sum", "ready sum", "%", { secondary: true }),
    figures("usage", "host usage", "%"),
    figures("memory", "host memory", "%"),
    ...(found.points.some((point) => point.bottleneck)
      ? [words("station", "busiest station", { secondary: true })]
      : []),
    figures("runs", "runs", "", { secondary: true }),
    words("note", "note"),
  ];
}

function cells(found: Density, point: Point): Cells {
  const measured = found.slo.map((each) => {
    const value = point.metrics[each.metric];
    const met = value ? meets(each, value) : null;
    return [each.metric, value ? { value: value.mean, half_width: value.ci95, tone: met && !met.mean ? ("bad" as Tone) : ("plain" as Tone) } : null] as const;
  });
  const notes = [
    ...(point.count === found.answer.count ? ["the answer"] : []),
    ...(point.reason ? [point.reason] : []),
    ...(point.steady === false ? ["not steady"] : []),
  ];
  return {
    count: point.count,
    verdict: badge(point),
    ...Object.fromEntries(measured),
    throughput: point.throughput_per_s,
    ready: point.ready_pct,
    ready_sum: point.ready_sum_pct,
    usage: point.host_usage_pct,
    memory: { value: point.host_memory_pct, tone: (point.host_memory_pct ?? 0) > 100 ? (point.lacks ? "bad" : "warn") : "plain" },
    station: point.bottleneck ? `${point.bottleneck.station} ${number(point.bottleneck.utilization_pct)} %` : "",
    runs: point.replications,
    note: notes.join("; "),
  };
}

/** What the first count beyond the answer misses or lacks. */
function missedFirst({ answer, points }: Density): Card {
  const lacking = points.find((point) => !point.meets && point.lacks);
  if (lacking && lacking.lacks === answer.limited_by) return { name: "Runs out first", value: lacking.lacks!, remark: `with ${count(lacking.count, "VM")}: ${lacking.reason}` };
  return { name: "Missed first", value: answer.limiting ?? "no room", remark: answer.limited_by ? `limited by ${answer.limited_by}` : "" };
}

function view(page: PageDocument): View {
  const found = page.document as Density;
  const { answer } = found;
  const at = answer.count ? found.points.find((point) => point.count === answer.count) : undefined;
  const sure = confidence(found, at);
  const full = (at?.host_memory_pct ?? 0) > 100;
  const worst = Math.max(0, ...sure.map((each) => WORST[each.tone]));
  const drawn = charts(found);
  const step = Object.entries(answer.one_more).filter(([, each]) => each.mean !== null);
  return {
    title: `How many VMs of ${found.vm}?`,
    answer: {
      tone: !answer.count ? "bad" : worst || full ? "warn" : "good",
      text: answer.text,
      more: answer.notes,
    },
    promises: promises(found, at),
    confidence: sure,
    cards: [
      {
        name: `VMs of ${found.vm}`,
        value: `${answer.at_max ? "≥ " : ""}${answer.count}`,
        remark: answer.at_max ? "the largest count that was looked at" : "meet the objectives on average",
      },
      {
        name: "With 95 % confidence",
        value: `${answer.sure_count}`,
        remark: "the whole interval meets them",
        tone: answer.sure_count < answer.count ? "warn" : "plain",
      },
      ...(answer.at_max ? [] : [missedFirst(found)]),
      ...step.map(([name, each]) => ({
        name: `One more VM: ${name}`,
        value: `${each.mean! > 0 ? "+" : ""}${spread(each.mean, each.ci95, found.slo.find((one) => one.metric === name)?.unit)}`,
        remark: "with the same random numbers",
      })),
    ],
    sections: [
      ...(drawn.length ? [{ id: "curve", heading: "The curve", blocks: [{ type: "charts" as const, charts: drawn }] }] : []),
      {
        id: "counts",
        heading: "All counts",
        blocks: [
          tabled({
            id: "counts",
            caption: `Counts of ${found.vm} that were looked at, of ${found.min} to ${found.max}`,
            columns: columns(found),
            rows: found.points.map((point) => cells(found, point)),
            sorted: { column: "count", descending: false },
          }),
        ],
      },
    ],
    remarks: page.notes,
  };
}

export const DENSITY: Kind = { choices: () => [], view };
