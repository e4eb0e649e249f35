/** `hypertwin lab cpu`: contention on this machine's CPUs, predicted, then measured. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Column, Row as Cells, ScatterChart, View } from "./view";
import { number } from "./numbers";
import { TWIN, amount, change, count, list } from "./words";

type Figures = Record<string, number>;

interface Group {
  group: string;
  predicted: Figures;
  measured: Figures;
  spread: Figures;
  errors: Figures;
}

interface Experiment {
  experiment: string;
  description: string;
  rows: Group[];
  errors: Figures;
  runs: number;
  runs_counted: number;
  flagged: boolean;
  steal_pct: number;
  foreign_pct: number;
  prediction_unchanged?: boolean;
}

/** See `Contention` of documents/lab.py. */
export interface Contention {
  machine: { processor: { model: string; virtual: boolean }; kernel: { release: string } };
  control_groups: string;
  seconds: number;
  repeat: number;
  experiments: Experiment[];
  skipped: { experiment: string; reason: string }[];
  medians: Record<string, number | null>;
  promised: Figures;
}

interface Compared {
  name: string;
  key: string;
  error: string;
  unit: string;
  /** Unit of the error. */
  of: string;
}

const FIGURES: Compared[] = [
  { name: "throughput", key: "throughput_per_s", error: "throughput_pct", unit: "1/s", of: "%" },
  { name: "mean response", key: "response_ms_mean", error: "response_mean_pct", unit: "ms", of: "%" },
  { name: "p95 response", key: "response_ms_p95", error: "response_p95_pct", unit: "ms", of: "%" },
  { name: "run-queue wait", key: "wait_pct", error: "wait_points", unit: "% of time", of: "points" },
];

function chart(found: Contention, compared: Compared): ScatterChart {
  const rows = found.experiments.flatMap((each) => each.rows.map((row) => ({ each, row })));
  const median = found.medians[compared.error] ?? null;
  const said = (error: number) => (compared.of === "%" ? change(error) : `${error > 0 ? "+" : ""}${number(error)} points`);
  const worst = [...rows].sort((one, other) => Math.abs(other.row.errors[compared.error]!) - Math.abs(one.row.errors[compared.error]!))[0];
  return {
    type: "scatter",
    id: compared.key.replace(/_/g, "-"),
    title: compared.name,
    text: (median === null ? "" : `Median absolute error ${number(median)} ${compared.of}. `) + "Hollow: disturbed by other work.",
    alternative: worst
      ? `Furthest off: ${worst.each.experiment}, ${worst.row.group}, predicted ${amount(worst.row.predicted[compared.key]!, compared.unit)}, measured ${amount(worst.row.measured[compared.key]!, compared.unit)} (${said(worst.row.errors[compared.error]!)}).`
      : "Nothing was measured.",
    x: { name: "measured", unit: compared.unit, from: 0 },
    y: { name: "predicted", unit: compared.unit, from: 0 },
    marks: [
      {
        name: "groups of threads",
        symbol: "circle",
        points: rows.map(({ each, row }) => ({
          x: row.measured[compared.key]!,
          y: row.predicted[compared.key]!,
          colour: TWIN,
          hollow: each.flagged,
          text: `${each.experiment}, ${row.group}: predicted ${amount(row.predicted[compared.key]!, compared.unit)}, measured ${amount(row.measured[compared.key]!, compared.unit)} (${said(row.errors[compared.error]!)})`,
        })),
      },
    ],
    diagonal: {},
  };
}

const COLUMNS: Column[] = [
  words("experiment", "experiment"),
  words("group", "group"),
  ...FIGURES.flatMap((each): Column[] => [
    { key: `${each.key}.measured`, name: `${each.name}, measured`, unit: each.unit, kind: "number" },
    { key: `${each.key}.predicted`, name: "predicted", unit: each.unit, kind: "number" },
    figures(each.error, "off by", each.of),
  ]),
  badges("state", "state"),
  words("runs", "runs", { text: "Counted of made.", secondary: true }),
  figures("steal", "steal", "%", { text: "CPU time of other guests in the worst run.", secondary: true }),
  figures("foreign", "others", "%", { text: "CPU time of other processes in the worst run.", secondary: true }),
];

function cells(each: Experiment, row: Group): Cells {
  return {
    experiment: each.experiment,
    group: row.group,
    ...Object.fromEntries(
      FIGURES.flatMap(({ key, error }) => [
        [`${key}.measured`, { value: row.measured[key]!, half_width: row.spread[key] ?? null }],
        [`${key}.predicted`, row.predicted[key]!],
        [error, row.errors[error]!],
      ]),
    ),
    state: each.flagged ? { tone: "warn", text: "disturbed" } : { tone: "good", text: "undisturbed" },
    runs: `${each.runs_counted} of ${each.runs}`,
    steal: each.steal_pct,
    foreign: each.foreign_pct,
  };
}

function view(page: PageDocument): View {
  const found = page.document as Contention;
  const flagged = found.experiments.filter((each) => each.flagged);
  const altered = found.experiments.filter((each) => each.prediction_unchanged === false);
  const judged = FIGURES.map((each) => {
    const median = found.medians[each.error] ?? null;
    const most = found.promised[each.error] ?? null;
    return { ...each, median, most, met: median === null || most === null ? null : median <= most };
  });
  const beyond = judged.filter((each) => each.met === false);
  const names = (each: { name: string; median: number | null; of: string }) => `${each.name} ${number(each.median!)} ${each.of}`;
  return {
    title: "Predicted, then measured",
    answer: {
      tone: !found.experiments.length ? "warn" : beyond.length ? "bad" : flagged.length ? "warn" : "good",
      text: !found.experiments.length
        ? "No experiment was made."
        : `The twin's median error over ${count(found.experiments.length, "experiment")} is ${list(judged.filter((each) => each.median !== null).map(names))}: ` +
          (beyond.length ? `${list(beyond.map((each) => each.name))} beyond what is promised.` : "all within what is promised."),
      more: flagged.length
        ? [`${count(flagged.length, "experiment")} of ${found.experiments.length} were disturbed by other work in every run: measure again when the machine is idle.`]
        : [],
    },
    promises: judged.map((each) => ({
      text: `Median error of ${each.name} at most ${number(each.most ?? 0)} ${each.of}`,
      met: each.met,
      note: each.median === null ? "not measured" : `${number(each.median)} ${each.of}`,
    })),
    confidence: [
      { tone: "plain", text: `Each experiment ran ${count(found.repeat, "time")} for ${number(found.seconds)} s; predictions were written down before.` },
      ...(flagged.length ? [{ tone: "warn" as const, text: `Disturbed: ${list(flagged.map((each) => each.experiment))}.` }] : []),
      ...(altered.length ? [{ tone: "bad" as const, text: `The prediction was changed after it was made: ${list(altered.map((each) => each.experiment))}.` }] : []),
      ...(found.machine.processor.virtual ? [{ tone: "note" as const, text: "The machine is itself virtual: its CPUs are shared with others." }] : []),
    ],
    cards: [
      ...judged.map((each) => ({
        name: each.name,
        value: each.median === null ? "not measured" : `${number(each.median)} ${each.of}`,
        remark: each.most === null ? "" : `promised ${number(each.most)}`,
        tone: each.met === false ? ("bad" as const) : each.met ? ("good" as const) : ("plain" as const),
      })),
      { name: "CPU", value: found.machine.processor.model, remark: `Linux ${found.machine.kernel.release}` },
    ],
    sections: [
      {
        id: "charts",
        heading: "Predicted against measured",
        blocks: [{ type: "charts", charts: found.experiments.length ? FIGURES.map((each) => chart(found, each)) : [] }],
      },
      {
        id: "experiments",
        heading: "Experiments",
        blocks: [
          tabled({
            id: "experiments",
            caption: "Each group of threads, ± half the range over the runs",
            columns: COLUMNS,
            rows: found.experiments.flatMap((each) => each.rows.map((row) => cells(each, row))),
            filters: ["experiment", "state"],
          }),
          { type: "list", items: found.experiments.map((each) => ({ text: `${each.experiment}: ${each.description}` })) },
        ],
      },
      ...(found.skipped.length
        ? [
            {
              id: "skipped",
              heading: "Skipped",
              blocks: [{ type: "list" as const, items: found.skipped.map((each) => ({ text: `${each.experiment}: ${each.reason}`, tone: "note" as const })) }],
            },
          ]
        : []),
    ],
    remarks: page.notes,
  };
}

export const CONTENTION: Kind = { choices: () => [], view };
