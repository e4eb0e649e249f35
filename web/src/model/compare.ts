/** `hypertwin compare`: two results of one kind; what was set differently, and what changed, the largest first. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import { number } from "./numbers";
import type { PageDocument } from "./page";
import type { Badge, BarChart, Column, Row as Cells, Section, View } from "./view";
import { change as percent, count, list, some, spread } from "./words";

interface Side {
  file: string;
  version: string | null;
  date: string | null;
  command: string | null;
}

interface Change {
  at: string;
  of: string;
  name: string;
  figure: string;
  unit: string;
  a: number;
  b: number;
  a_ci95: number | null;
  b_ci95: number | null;
  change: number;
  change_pct: number | null;
  beyond: boolean | null;
}

/** See `Comparison` of documents/compare.py. */
export interface Comparison {
  kind: string;
  a: Side;
  b: Side;
  settings: { what: string; a: string | null; b: string | null }[];
  scenario_diff: string | null;
  changes: Change[];
  verdicts: { at: string; of: string; name: string; figure: string; a: string; b: string }[];
  missing: { at: string; of: string; name: string; figure: string; only_in: string }[];
  same: number;
}

/** Changes that the chart draws, and that the answer names. */
const DRAWN = 15;
const NAMED = 4;

const where = (each: { at: string; of: string; name: string; figure: string }): string =>
  [`${each.of} ${each.name}`.trim(), each.figure, each.at ? `(${each.at})` : ""].filter(Boolean).join(" ");

function beyond(each: Change): Badge {
  if (each.beyond === null) return { tone: "plain", text: "no interval" };
  return each.beyond ? { tone: "warn", text: "beyond" } : { tone: "plain", text: "within" };
}

const size = (each: Change): string => (each.change_pct === null ? "from 0" : percent(each.change_pct));

/** A change in a sentence. */
const told = (each: Change): string => `${where(each)}: ${spread(each.a, each.a_ci95)} → ${spread(each.b, each.b_ci95, each.unit)} (${size(each)})`;

function chart(changes: readonly Change[]): BarChart {
  const shown = changes.filter((each) => each.change_pct !== null).slice(0, DRAWN);
  return {
    type: "bars",
    id: "largest",
    title: "Largest changes",
    text: "From A to B, in per cent of A.",
    alternative: `${list(shown.slice(0, 3).map((each) => `${where(each)} ${size(each)}`))}.`,
    categories: shown.map(where),
    value: { name: "change", unit: "%" },
    series: [
      { name: "more in B", values: shown.map((each) => (each.change > 0 ? each.change_pct : null)), colour: 0 },
      { name: "less in B", values: shown.map((each) => (each.change > 0 ? null : each.change_pct)), colour: 1 },
    ].filter((each) => each.values.some((value) => value !== null)),
    stacked: true,
    horizontal: true,
  };
}

const CHANGES: Column[] = [
  words("at", "point"),
  words("of", "of"),
  words("name", "name"),
  words("figure", "figure"),
  words("unit", "unit"),
  figures("a", "A"),
  figures("b", "B"),
  figures("change", "change", "%"),
  badges("beyond", "intervals", { text: "Beyond: the 95 % confidence intervals of both do not overlap." }),
];

const cells = (each: Change): Cells => ({
  at: each.at,
  of: each.of,
  name: each.name,
  figure: each.figure,
  unit: each.unit,
  a: { value: each.a, half_width: each.a_ci95 },
  b: { value: each.b, half_width: each.b_ci95 },
  change: each.change_pct === null ? { value: null, text: "from 0" } : each.change_pct,
  beyond: beyond(each),
});

/** Columns of a table of changes, without those that no row fills. */
const used = (columns: readonly Column[], rows: readonly Cells[]): Column[] =>
  columns.filter((column) => rows.some((row) => row[column.key] !== "" && row[column.key] !== undefined));

function settings(found: Comparison): Section[] {
  const differ = found.settings.map((each): Cells => ({ what: each.what, a: each.a ?? "as in the scenario", b: each.b ?? "as in the scenario" }));
  if (!differ.length && !found.scenario_diff) return [];
  return [
    {
      id: "settings",
      heading: "Set differently",
      blocks: [
        ...(differ.length
          ? [
              tabled({
                id: "settings",
                caption: "What was set differently",
                columns: [
                  { key: "what", name: "setting", kind: "words" as const },
                  { key: "a", name: "A", kind: "words" as const },
                  { key: "b", name: "B", kind: "words" as const },
                ],
                rows: differ,
              }),
            ]
          : []),
        ...(found.scenario_diff ? [{ type: "text" as const, name: "scenario.diff", text: found.scenario_diff }] : []),
      ],
    },
  ];
}

function verdicts(found: Comparison): Section[] {
  if (!found.verdicts.length) return [];
  const rows = found.verdicts.map((each): Cells => ({ ...each }));
  const columns: Column[] = ["at", "of", "name", "figure", "a", "b"].map((key) => ({
    key,
    name: key === "at" ? "point" : key.length === 1 ? key.toUpperCase() : key,
    kind: "words",
  }));
  return [
    {
      id: "verdicts",
      heading: "Verdicts that changed",
      blocks: [tabled({ id: "verdicts", caption: "What is judged otherwise", columns: used(columns, rows), rows })],
    },
  ];
}

function missing(found: Comparison): Section[] {
  if (!found.missing.length) return [];
  const rows = found.missing.map((each): Cells => ({ ...each, only_in: each.only_in.toUpperCase() }));
  const columns: Column[] = ["only_in", "at", "of", "name", "figure"].map((key) => ({
    key,
    name: key === "only_in" ? "only in" : key === "at" ? "point" : key,
    kind: "words",
  }));
  return [
    {
      id: "missing",
      heading: "Only in one of both",
      blocks: [
        tabled({ id: "missing", caption: "What only one of both has", columns: used(columns, rows), rows, filters: ["only_in", "of"] }),
      ],
    },
  ];
}

function view(page: PageDocument): View {
  const found = page.document as Comparison;
  const { changes } = found;
  const sure = changes.filter((each) => each.beyond);
  const judged = changes.filter((each) => each.beyond !== null);
  const total = changes.length + found.same;
  const rows = changes.map(cells);
  const summary = page.beside["summary"];
  const only = (side: string) => found.missing.filter((each) => each.only_in === side);
  const sides = [found.a, found.b].map((side, place) => ({
    name: "AB"[place]!,
    value: side.file.split("/").pop()!,
    remark: [side.version ? `hypertwin ${side.version}` : "", side.date ?? "", side.command ? `hypertwin ${side.command}` : ""].filter(Boolean).join(", "),
  }));
  return {
    title: `Two results of ${found.kind} compared`,
    answer: {
      tone: sure.length || found.verdicts.length ? "warn" : changes.length ? "note" : "good",
      text: String(summary),
      more: (judged.length ? sure : changes).slice(0, NAMED).map(told),
    },
    promises: [],
    confidence: [
      found.settings.length || found.scenario_diff
        ? { tone: "note", text: `Set differently: ${some(found.settings.map((each) => each.what), 6) || "lines of the scenario"}.` }
        : { tone: "good", text: "Nothing was set differently." },
      ...["a", "b"]
        .filter((side) => only(side).length)
        .map((side) => ({ tone: "warn" as const, text: `Only in ${side.toUpperCase()}: ${some(only(side).map(where), 6)}.` })),
      judged.length
        ? {
            tone: "plain",
            text: `${count(judged.length, "changed figure")} ${judged.length === 1 ? "has" : "have"} 95 % intervals on both sides; ${sure.length} changed by more than those.`,
          }
        : { tone: "note", text: "No changed figure has intervals on both sides: whether a change is more than chance cannot be said." },
    ],
    cards: [
      ...sides,
      { name: "Changed", value: `${number(changes.length)}`, remark: `of ${count(total, "figure")}` },
      { name: "Beyond their intervals", value: number(sure.length), remark: `of ${judged.length} with intervals`, tone: sure.length ? "warn" : "plain" },
      { name: "Only in one of both", value: number(found.missing.length), tone: found.missing.length ? "warn" : "plain" },
    ],
    sections: [
      ...settings(found),
      ...verdicts(found),
      ...(changes.length
        ? [
            {
              id: "changes",
              heading: "What changed",
              blocks: [
                ...(changes.some((each) => each.change_pct !== null) ? [{ type: "charts" as const, charts: [chart(changes)], wide: true }] : []),
                tabled({ id: "changes", caption: "Every figure that changed, the largest change first", columns: used(CHANGES, rows), rows, filters: ["of", "figure", "beyond"] }),
              ],
            },
          ]
        : []),
      ...missing(found),
    ],
    remarks: page.notes,
  };
}

export const COMPARISON: Kind = { choices: () => [], view };
