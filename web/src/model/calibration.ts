/** `hypertwin calibrate`: fitted parameters, how sure each is, and the twin beside what was measured. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Column, Marks, RangeChart, Row as Cells, ScatterChart, View } from "./view";
import { number } from "./numbers";
import { MEASURED, TWIN, amount, change, count, list, slug } from "./words";

interface Parameter {
  path: string;
  unit: string;
  start: number;
  value: number;
  text: string;
  interval: number[] | null;
  identified: boolean;
  low: number;
  high: number;
  at_bound: boolean;
}

interface MetricErrors {
  metric: string;
  unit: string;
  values: number;
  before_pct: number | null;
  fitted_pct: number | null;
  left_out_pct: number | null;
  held_out_pct: number | null;
}

interface Value {
  row: number;
  name: string;
  set: Record<string, unknown>;
  metric: string;
  unit: string;
  measured: number;
  measured_error: number | null;
  twin: number;
  twin_error: number | null;
  error_pct: number;
  before: number | null;
  before_error_pct: number | null;
  left_out_error_pct: number | null;
  held_out: boolean;
}

/** See documents/calibration.py. */
export interface Calibration {
  scenario: string;
  seed: number;
  duration_s: number;
  replications: number;
  measurements: string;
  calibrated_on: string;
  parameters: Parameter[];
  inseparable: { parameters: string[]; text: string }[];
  correlated: { parameters: string[]; correlation: number }[];
  metrics: MetricErrors[];
  points: Value[];
  errors_known: boolean;
  errors_explain: boolean | null;
  converged: boolean;
  evaluations: number;
  runs: number;
  notes: string[];
}

const mean = (values: readonly number[]): number | null =>
  values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : null;
const percent = (value: number | null): string => (value === null ? "none" : `${number(value)} %`);

function interval(each: Parameter): string {
  if (each.interval) return `${number(each.interval[0]!)} to ${amount(each.interval[1]!, each.unit)}`;
  if (!each.identified) return "unbounded";
  return each.at_bound ? "at its bound" : "unknown";
}

/** Fitted values and their intervals as multiples of the start, so that all have one axis. */
function parameterChart(found: Calibration): RangeChart {
  const shown = found.parameters.filter((each) => each.start !== 0);
  return {
    type: "ranges",
    id: "parameters",
    title: "Fitted parameters beside the values of the start",
    text: "1 is the value that the search started from.",
    alternative: `${list(shown.map((each) => `${each.path} ${number(each.value / each.start)} times its start`))}.`,
    value: { name: "times the value of the start" },
    rows: shown.map((each) => ({
      name: each.path,
      low: each.interval ? each.interval[0]! / each.start : null,
      middle: 1,
      high: each.interval ? each.interval[1]! / each.start : null,
      marks: [
        {
          value: each.value / each.start,
          tone: each.identified && !each.at_bound ? ("good" as const) : ("warn" as const),
          text: `${each.text}, 95 % interval ${interval(each)}`,
        },
      ],
    })),
    legend: {
      range: "95 % interval",
      marks: [
        { tone: "good", text: "fitted" },
        ...(shown.some((each) => !each.identified || each.at_bound) ? [{ tone: "warn" as const, text: "not identified, or at its bound" }] : []),
      ],
    },
  };
}

function fitChart(found: Calibration, metric: MetricErrors): ScatterChart {
  const same = found.points.filter((each) => each.metric === metric.metric);
  const said = (each: Value, word: string, value: number, error: number | null) =>
    `${each.name}: measured ${amount(each.measured, each.unit)}, ${word} ${amount(value, each.unit)}` +
    (error === null ? "" : ` (${change(error)})`);
  const twins = (held: boolean): Marks["points"] =>
    same
      .filter((each) => each.held_out === held)
      .map((each) => ({ x: each.measured, y: each.twin, colour: TWIN, hollow: held, text: said(each, "twin", each.twin, each.error_pct) }));
  const marks: Marks[] = [
    {
      name: "before",
      symbol: "diamond",
      points: same
        .filter((each) => each.before !== null)
        .map((each) => ({ x: each.measured, y: each.before!, colour: MEASURED, hollow: true, text: said(each, "before", each.before!, each.before_error_pct) })),
    },
    { name: "fitted", symbol: "circle", points: twins(false) },
    { name: "held out", symbol: "circle", points: twins(true) },
  ];
  const axis = (name: string) => ({ name, ...(metric.unit && metric.unit !== "ratio" ? { unit: metric.unit } : {}) });
  const also = [
    ...(metric.left_out_pct === null ? [] : [`${percent(metric.left_out_pct)} for rows left out`]),
    ...(metric.held_out_pct === null ? [] : [`${percent(metric.held_out_pct)} for rows held out`]),
  ];
  const text = `Mean error ${percent(metric.fitted_pct)}, before ${percent(metric.before_pct)}${also.length ? `; ${list(also)}` : ""}.`;
  return {
    type: "scatter",
    id: `fit-${slug(metric.metric)}`,
    title: metric.metric,
    alternative: text,
    x: axis("measured"),
    y: axis("twin"),
    marks: marks.filter((each) => each.points.length),
    diagonal: {},
  };
}

const OUTSTANDING = /\.io\.outstanding$/;
const WAYS = [
  { latency: ".io_latency_ms.mean", word: "" },
  { latency: ".read_latency_ms_mean", word: " · reads" },
  { latency: ".write_latency_ms_mean", word: " · writes" },
] as const;

interface Curve {
  name: string;
  places: { outstanding: number; iops: Value; latency: Value }[];
}

/** Points of one load at several depths, each with throughput and one mean latency. */
function curves(found: Calibration): Curve[] {
  const made = new Map<string, Curve>();
  for (const iops of found.points.filter((each) => each.metric.endsWith(".iops"))) {
    const depth = Object.entries(iops.set).find(([path, value]) => OUTSTANDING.test(path) && typeof value === "number");
    for (const { latency, word } of WAYS) {
      const mean = found.points.find((each) => each.row === iops.row && each.metric === iops.metric.replace(/\.iops$/, latency));
      if (!depth || !mean) continue;
      const rest = Object.entries(iops.set).filter(([path]) => !/\.io\.(outstanding|workers)$/.test(path));
      const key = JSON.stringify([rest, iops.metric, word]);
      const curve = made.get(key) ?? { name: iops.name.replace(/(, )?\d+ outstanding/, "") + word, places: [] };
      curve.places.push({ outstanding: depth[1] as number, iops, latency: mean });
      made.set(key, curve);
    }
  }
  return [...made.values()].map((each) => ({ ...each, places: [...each.places].sort((one, other) => one.outstanding - other.outstanding) }));
}

/** Latency against IOPS at growing depth, measured and in the twin; nothing where no load has two depths. */
function curveChart(found: Calibration): ScatterChart[] {
  const drawn = curves(found).filter((each) => each.places.length > 1);
  if (!drawn.length) return [];
  const side = (curve: Curve, colour: number, of: "measured" | "twin"): Marks => ({
    name: `${curve.name} · ${of}`,
    symbol: of === "measured" ? "circle" : "diamond",
    line: of === "measured" ? "solid" : "dashed",
    points: curve.places.map(({ outstanding, iops, latency }) => ({
      x: iops[of],
      y: latency[of],
      colour,
      hollow: of === "twin",
      text: `${curve.name}, ${outstanding} outstanding, ${of}: ${amount(iops[of], "1/s")} in ${amount(latency[of], "ms")}`,
    })),
  });
  const latencies = drawn.flatMap(({ places }) => places.flatMap(({ latency }) => [latency.measured, latency.twin]));
  const isWide = Math.max(...latencies) > 10 * Math.min(...latencies);
  const ends = ({ name, places }: Curve) => {
    const last = places.at(-1)!;
    return `${name}, ${last.outstanding} outstanding: measured ${number(last.iops.measured)} IOPS in ${number(last.latency.measured)} ms, twin ${number(last.iops.twin)} in ${number(last.latency.twin)} ms.`;
  };
  return [
    {
      type: "scatter",
      id: "io-curve",
      title: "Latency against IOPS",
      text: "Each curve is one load, with more outstanding from point to point.",
      alternative: drawn.slice(0, 3).map(ends).join(" "),
      x: { name: "I/O operations", unit: "1/s", from: 0 },
      y: { name: "mean latency", unit: "ms", ...(isWide ? { scale: "log" as const } : { from: 0 }) },
      marks: drawn.flatMap((curve, index) => [side(curve, index, "measured"), side(curve, index, "twin")]),
    },
  ];
}

const PARAMETERS: Column[] = [
  words("path", "parameter"),
  figures("start", "start"),
  figures("value", "fitted"),
  words("interval", "95 % interval"),
  words("bounds", "bounds", { secondary: true }),
  badges("state", "state"),
];

const METRICS: Column[] = [
  words("metric", "metric"),
  words("unit", "unit", { secondary: true }),
  figures("values", "values"),
  figures("before", "before", "%", { text: "Mean size of the errors with the parameters of the start." }),
  figures("fitted", "fitted", "%", { text: "The same with the fitted parameters." }),
  figures("left_out", "left out", "%", { text: "Each row predicted from the others, with the twin taken as linear around the fit." }),
  figures("held_out", "held out", "%", { text: "Rows that the fit never saw." }),
];

const VALUES: Column[] = [
  figures("row", "row"),
  words("name", "point"),
  words("metric", "metric"),
  figures("measured", "measured", "", { text: "± 1.96 of the standard deviation that the measurements give." }),
  figures("twin", "twin"),
  figures("error", "error", "%"),
  figures("left_out", "left out", "%", { secondary: true }),
  words("use", "used to"),
];

const half = (error: number | null): number | null => (error === null ? null : 1.96 * error);

function tables(found: Calibration): { parameters: Cells[]; metrics: Cells[]; values: Cells[] } {
  return {
    parameters: found.parameters.map((each) => ({
      path: each.path,
      start: { value: each.start, text: amount(each.start, each.unit) },
      value: { value: each.value, text: amount(each.value, each.unit) },
      interval: interval(each),
      bounds: `${number(each.low)} to ${amount(each.high, each.unit)}`,
      state: each.identified
        ? each.at_bound
          ? { tone: "warn", text: "at its bound" }
          : { tone: "good", text: "identified" }
        : { tone: "bad", text: "not identified" },
    })),
    metrics: found.metrics.map((each) => ({
      metric: each.metric,
      unit: each.unit,
      values: each.values,
      before: each.before_pct,
      fitted: each.fitted_pct,
      left_out: each.left_out_pct,
      held_out: each.held_out_pct,
    })),
    values: [...found.points]
      .sort((one, other) => Math.abs(other.error_pct) - Math.abs(one.error_pct))
      .map((each) => ({
        row: each.row,
        name: each.name,
        metric: each.metric,
        measured: { value: each.measured, half_width: half(each.measured_error), text: amount(each.measured, each.unit) },
        twin: { value: each.twin, half_width: half(each.twin_error), text: amount(each.twin, each.unit) },
        error: each.error_pct,
        left_out: each.left_out_error_pct,
        use: each.held_out ? "held out" : "fit",
      })),
  };
}

function confidence(found: Calibration): View["confidence"] {
  const held = mean(found.points.filter((each) => each.held_out).map((each) => Math.abs(each.error_pct)));
  return [
    ...(held === null
      ? [{ tone: "note" as const, text: "No rows were held out: how well the fit predicts what it has not seen is only estimated by leaving rows out." }]
      : [{ tone: "plain" as const, text: `Values that the fit never saw: mean error ${number(held)} %.` }]),
    ...found.inseparable.map((each) => ({ tone: "bad" as const, text: each.text })),
    ...found.correlated.map((each) => ({ tone: "warn" as const, text: `${list(each.parameters)} are hard to tell apart: correlation ${number(each.correlation)}.` })),
    ...(found.errors_explain === null
      ? []
      : found.errors_explain
        ? [{ tone: "good" as const, text: "What is left of the errors is no more than the errors of measurement." }]
        : [{ tone: "warn" as const, text: "What is left of the errors is more than the errors of measurement explain: something is not in the model." }]),
    { tone: "plain", text: `${count(found.runs, "run")} of ${number(found.duration_s)} s, ${count(found.evaluations, "set")} of parameters, seed ${found.seed}.` },
  ];
}

function view(page: PageDocument): View {
  const found = page.document as Calibration;
  const used = found.points.filter((each) => !each.held_out);
  const before = mean(used.flatMap((each) => (each.before_error_pct === null ? [] : [Math.abs(each.before_error_pct)])));
  const now = mean(used.map((each) => Math.abs(each.error_pct)));
  const unsure = found.parameters.filter((each) => !each.identified);
  const bound = found.parameters.filter((each) => each.at_bound);
  const apart = !unsure.length && !found.inseparable.length;
  const { parameters, metrics, values } = tables(found);
  const told = page.beside["summary"];
  return {
    title: `Calibration of ${found.scenario}`,
    answer: {
      tone: found.converged && apart ? "good" : "warn",
      text: typeof told === "string" ? told : `Mean error ${percent(before)} before, ${percent(now)} now.`,
      more: found.parameters.slice(0, 8).map((each) => `${each.path}: ${amount(each.value, each.unit)} (95 % interval ${interval(each)}), from ${amount(each.start, each.unit)}`),
    },
    promises: [
      { text: "The search converged", met: found.converged, note: count(found.evaluations, "set") + " of parameters tried" },
      {
        text: "The data tell every parameter",
        met: apart,
        note: unsure.length ? `not ${list(unsure.map((each) => each.path))}` : found.inseparable.length ? "some cannot be told apart" : "",
      },
      { text: "No parameter ended at its bound", met: !bound.length, note: list(bound.map((each) => each.path)) },
    ],
    confidence: confidence(found),
    cards: [
      { name: "Parameters", value: `${found.parameters.length}` },
      { name: "Mean error", value: percent(now), remark: `${percent(before)} before` },
      { name: "Values", value: `${used.length}`, remark: `of ${count(new Set(used.map((each) => each.row)).size, "row")} used for the fit` },
      { name: "Measurements", value: found.measurements.split("/").pop()!, remark: found.errors_known ? "with errors of their own" : "without errors of their own" },
    ],
    sections: [
      {
        id: "parameters",
        heading: "Fitted parameters",
        blocks: [
          ...(found.notes.length ? [{ type: "list" as const, items: found.notes.map((text) => ({ text })) }] : []),
          { type: "charts", charts: [parameterChart(found)], wide: true },
          tabled({ id: "fitted", caption: "Fitted parameters with their intervals", columns: PARAMETERS, rows: parameters }),
        ],
      },
      {
        id: "fit",
        heading: "Twin against measured",
        blocks: [
          { type: "charts", charts: [...curveChart(found), ...found.metrics.map((each) => fitChart(found, each))] },
          tabled({ id: "errors", caption: "Errors by metric", columns: METRICS, rows: metrics }),
        ],
      },
      {
        id: "values",
        heading: "All values",
        blocks: [
          tabled({ id: "values", caption: "Every measured value beside the twin's, the furthest off first", columns: VALUES, rows: values, filters: ["metric", "use"] }),
        ],
      },
    ],
    remarks: page.notes,
  };
}

export const CALIBRATION: Kind = { choices: () => [], view };
