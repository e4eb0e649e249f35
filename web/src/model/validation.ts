/** `hypertwin validate`: published figures beside the twin's; what is missed comes first, with the reason. */

import { badges, figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Badge, Block, Chart, Column, Marks, RangeChart, Row as Cells, Section, Tone, View } from "./view";
import { number } from "./numbers";
import { change, count, list, median, slug, some } from "./words";

/** See `Row` of documents/validation.py. */
export interface Row {
  study: string;
  case: string;
  metric: string;
  published: number;
  twin: number;
  unit: string;
  error: number;
  error_pct: number | null;
  kind: string;
  tolerance: number;
  tolerance_pct: number;
  pass: boolean | null;
  /** Whether the figure was within tolerance when it was recorded, and nobody accepted its loss. */
  promised: boolean;
  range: boolean;
  likelihood_pct?: number;
  published_text: string;
  tolerance_text: string;
  /** Whether the runs behind the figure had settled; null where they do not say. */
  settled?: boolean | null;
  /** Why the figure is not judged, or missed. */
  reason: string;
  note: string;
  /** What the twin shows to limit the case, and which way the figure goes; what the source says; whether that is right. */
  class: string;
  expected_class: string;
  class_right: boolean | null;
  /** The source's own words for the class. */
  words: string;
  /** Free parameters of the source: paths into the scenario, and by which figure each was set. */
  parameters: Record<string, string>;
}

/** What the figures of a source come to; see `Sum` of report/comparison.py. */
interface Sum extends Record<string, number | string> {
  name: string;
  figures: number;
  class_right: number;
  parameters: number;
}

export interface Study {
  name: string;
  title: string;
  source: string;
}

/** Figures of one unit that are worth axes of their own. */
const FEW = 3;
/** Figures of one metric from which a chart shows them by case. */
const MANY = 8;
/** Rows of a chart of intervals; more are in the table. */
const DRAWN = 40;
/** Axes are logarithmic from this ratio of the largest to the smallest figure on. */
const WIDE = 20;
const TOLD = 6;
/** Bands around the diagonal of all figures, in per cent. */
const BANDS = [10, 25];
/** Figures below this are not drawn among those of all sources, whose axes they would stretch. */
const LEAST = 1e-3;
/** Studies beyond which each is closed at first. */
const OPENED = 6;

const WITHIN: Badge = { tone: "good", text: "within tolerance" };
const FAILED: Badge = { tone: "bad", text: "failed" };
const KNOWN: Badge = { tone: "warn", text: "known miss" };
const OPEN: Badge = { tone: "note", text: "not judged" };
const UNSETTLED: Badge = { tone: "warn", text: "not settled" };
const VERDICTS = [WITHIN, FAILED, KNOWN, UNSETTLED, OPEN];

/** A figure that was within tolerance and is missed fails; one of a run that had not settled counts as missed. */
function verdict(row: Row): Badge {
  if (row.pass === null) return OPEN;
  if (row.promised && !row.pass) return FAILED;
  if (row.settled === false) return UNSETTLED;
  return row.pass ? WITHIN : KNOWN;
}

/** The twin's figure with its unit, and how many of the runs agree on it. */
export function twin(row: Row): string {
  const likely = row.likelihood_pct ?? 100;
  return (
    number(row.twin) + (row.unit === "ratio" ? "" : ` ${row.unit}`) + (likely < 100 ? ` (${number(likely)} % of runs)` : "")
  );
}

/** The metric without the number of the outcome, where repeated runs have several. */
const metric = (row: Row): string => row.metric.replace(/, outcome \d+$/, "");

/** How far off a figure is, in tolerances: above 1 it is outside; what failed its promise comes before all else. */
function distance(row: Row): number {
  if (row.pass === null) return -1;
  if (verdict(row) === FAILED) return 1e9 + Math.abs(row.error_pct ?? 0);
  return row.tolerance > 0 ? Math.abs(row.error) / row.tolerance : row.pass ? 0 : Infinity;
}

const worstFirst = (rows: readonly Row[]): Row[] => [...rows].sort((one, other) => distance(other) - distance(one));

/** A figure in a sentence, as a chart shows it under the pointer. */
const told = (row: Row): string =>
  `${row.case}, ${row.metric}: ${row.published_text} published, ${twin(row)} twin (${off(row)}${row.kind}, ${verdict(row).text})`;

const off = (row: Row): string => (row.error_pct === null ? "" : `${change(row.error_pct)}, `);

/** A missed figure in a sentence, with its reason. */
const missed = (row: Row): string =>
  `${row.case}, ${row.metric}: ${row.published_text} published, ${twin(row)} in the twin (${off(row)}tolerance ${row.tolerance_text})` +
  (row.reason ? `: ${row.reason}` : "");

function errors(rows: readonly Row[]): string | null {
  const judged = rows.filter((row) => row.kind === "predicted" && row.pass !== null && row.error_pct !== null);
  const middle = median(judged.map((row) => Math.abs(row.error_pct!)));
  if (middle === null) return null;
  const worst = judged.reduce((one, other) => (Math.abs(other.error_pct!) > Math.abs(one.error_pct!) ? other : one));
  const largest = worst.error ? `, largest ${number(Math.abs(worst.error_pct!))} % (${worst.case}, ${worst.metric})` : "";
  return `${count(judged.length, "predicted figure")}: median error ${number(middle)} %${largest}.`;
}

const tally = (rows: readonly Row[]) => ({
  within: rows.filter((row) => row.pass === true).length,
  outside: rows.filter((row) => row.pass === false).length,
  failed: rows.filter((row) => verdict(row) === FAILED).length,
  open: rows.filter((row) => row.pass === null).length,
});

function groupBy(rows: readonly Row[], key: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return [...groups];
}

/** Predicted against published: a chart for each unit with several figures, and one for all others. */
function scatters(rows: readonly Row[], prefix: string): Chart[] {
  const byUnit = groupBy(
    rows.filter((row) => !row.range),
    (row) => row.unit,
  );
  const common = byUnit.filter(([, same]) => same.length >= FEW);
  const rare = byUnit.filter(([, same]) => same.length < FEW).flatMap(([, same]) => same);
  const panels: [string, Row[]][] = [...common, ...(rare.length ? [["", rare] as [string, Row[]]] : [])];
  return panels.map(([unit, same]) => scatter(same, unit, `${prefix}-${slug(unit || "others")}`));
}

const point = (row: Row, colour: number, text: string) => ({ x: row.published, y: row.twin, colour, hollow: row.kind === "calibrated", text });

function scatter(rows: readonly Row[], unit: string, id: string): Chart {
  const names = [...new Set(rows.map(metric))];
  const values = rows.flatMap((row) => [row.published, row.twin]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const scale = low > 0 && high / low >= WIDE ? "log" : "linear";
  const shown = unit === "ratio" ? undefined : unit;
  const axis = (name: string) => ({ name, scale, ...(shown ? { unit: shown } : {}) }) as const;
  const first = rows[0]!;
  const share = rows.every((row) => Math.abs(row.tolerance_pct - first.tolerance_pct) < 1e-9);
  const alike = rows.every((row) => row.tolerance === first.tolerance);
  const marks: Marks[] = names.map((name, colour) => ({
    name,
    symbol: "circle",
    points: rows.filter((row) => metric(row) === name).map((row) => point(row, colour, told(row))),
  }));
  const { within, outside } = tally(rows);
  return {
    type: "scatter",
    id: `scatter-${id}`,
    title: names.length <= 3 ? list(names) : some(names, 3),
    text: "Filled: predicted. Hollow: calibrated. On the diagonal the twin says what was published.",
    alternative: `${count(rows.length, "figure")}: ${within} within tolerance, ${outside} outside. ${errors(rows) ?? ""}`.trim(),
    x: axis("published"),
    y: axis("twin"),
    marks,
    diagonal: share ? { within_pct: [first.tolerance_pct] } : alike ? { within: first.tolerance } : {},
  };
}

/** All sources at once: the twin's figures against the published ones, how far off those of each are, and what they come to. */
function together(rows: readonly Row[], sums: readonly Sum[]): Section {
  const drawn = rows.filter((row) => !row.range && Math.min(row.published, row.twin) >= LEAST);
  const text = (row: Row) => `${row.study}, ${told(row)}` + (row.reason ? `: ${row.reason}` : "");
  const axis = (name: string) => ({ name, scale: "log" }) as const;
  const all = sums.find((each) => each.name === "all")!;
  const alternative = `${all["within_10"]} of ${rows.length} figures within 10 %, ${all["within_25"]} within 25 %.`;
  return {
    id: "together",
    heading: "All sources",
    blocks: [
      {
        type: "charts",
        wide: true,
        charts: [
          {
            type: "scatter",
            id: "scatter-all",
            title: "Every figure, in its own unit",
            text: `Around the diagonal, 10 and 25 %. Filled: predicted. Hollow: calibrated. ${rows.length - drawn.length} bounds and figures near 0 are only in the table.`,
            alternative,
            x: axis("published"),
            y: axis("twin"),
            marks: VERDICTS.map((each, place) => ({
              name: each.text,
              symbol: "circle" as const,
              points: drawn.filter((row) => verdict(row) === each).map((row) => point(row, [2, 1, 3, 0][place]!, text(row))), // as their tones
            })).filter((each) => each.points.length),
            diagonal: { within_pct: BANDS },
          },
          {
            type: "ranges",
            id: "errors",
            title: "Errors by source",
            text: "Larger ones are drawn at 100 %.",
            alternative,
            value: { name: "error", unit: "%", from: -100, to: 100 },
            rows: groupBy(rows, (row) => row.study).map(([name, own]) => ({
              name,
              low: -BANDS[0]!,
              middle: 0,
              high: BANDS[0]!,
              marks: own.map((row) => ({ value: Math.max(-100, Math.min(100, row.error_pct ?? 0)), tone: verdict(row).tone, text: text(row) })),
            })),
            legend: { range: "within 10 %", marks: VERDICTS.map((each) => ({ tone: each.tone, text: each.text })) },
          },
        ],
      },
      tabled({
        id: "sums",
        caption: "What the figures of each source come to; all count, those not judged too",
        columns: SUMS,
        rows: sums.map((each) => ({
          ...each,
          class_right: { value: each.class_right, text: `${each.class_right} of ${each["class_named"]}` },
          parameters: 4 * each.parameters > each.figures && each !== all ? { value: each.parameters, tone: "warn" as Tone, text: `${each.parameters}, over a quarter` } : each.parameters,
        })),
      }),
    ],
  };
}

/** Published figures with their tolerance and the twin's in them, a row for each case: where a metric has many. */
function intervals(rows: readonly Row[], prefix: string): RangeChart[] {
  const numbers = groupBy(
    rows.filter((row) => !row.range),
    (row) => `${metric(row)}\n${row.unit}`,
  );
  // what is met exactly, such as a count of nodes, needs no chart
  const drawn = numbers.filter(([, same]) => same.length > MANY && same.some((row) => row.tolerance > 0 || row.pass === false));
  return drawn.map(([, same]) => interval(same, prefix));
}

function interval(rows: readonly Row[], prefix: string): RangeChart {
  const first = rows[0]!;
  const shown = worstFirst(rows).slice(0, DRAWN);
  const name = metric(first);
  const worst = shown[0]!;
  return {
    type: "ranges",
    id: `cases-${prefix}-${slug(name)}-${slug(first.unit)}`,
    title: `${name} by case`,
    text:
      "The furthest off comes first." +
      (rows.length > DRAWN ? ` ${rows.length - DRAWN} closer ones are only in the table.` : ""),
    alternative: `Furthest off: ${worst.case}, ${worst.published_text} published, ${twin(worst)} twin, tolerance ${worst.tolerance_text}.`,
    value: { name, ...(first.unit === "ratio" ? {} : { unit: first.unit }) },
    rows: shown.map((row) => ({
      name: row.case + row.metric.slice(name.length),
      low: row.published - row.tolerance,
      middle: row.published,
      high: row.published + row.tolerance,
      marks: [{ value: row.twin, tone: verdict(row).tone, text: `twin ${twin(row)} (${off(row)}${verdict(row).text})` }],
    })),
    legend: {
      range: "published, with tolerance",
      marks: VERDICTS.filter((each) => shown.some((row) => verdict(row) === each)).map((each) => ({ tone: each.tone, text: `twin, ${each.text}` })),
    },
  };
}

const COLUMNS: Column[] = [
  badges("verdict", "verdict"),
  words("study", "study"),
  words("case", "case"),
  words("metric", "figure"),
  figures("published", "published"),
  figures("twin", "twin"),
  figures("error", "error", "%"),
  words("tolerance", "tolerance"),
  words("kind", "kind", { text: "Calibrated: the figure set a parameter.", secondary: true }),
  badges("class", "class", { text: "What limits the case, and which way the figure goes, as the twin shows it." }),
  words("reason", "reason", { text: "Why it is missed, or not judged." }),
  words("note", "note", { secondary: true }),
];

const SUMS: Column[] = [
  words("name", "source"),
  figures("figures", "figures"),
  figures("calibrated", "calibrated"),
  figures("class_right", "class right"),
  ...[10, 15, 25].map((most) => figures(`within_${most}`, `within ${most} %`)),
  figures("not_judged", "not judged"),
  figures("parameters", "free parameters", "", { text: "Set by the source's figures. A source should have at least four figures for each." }),
];

/** The class that the twin shows, and what the source says where that is something else. */
const shown = (row: Row): Badge =>
  row.class_right === false
    ? { tone: "bad", text: `${row.class}, not ${row.expected_class}` }
    : { tone: row.class_right ? "good" : "plain", text: row.class };

function cells(row: Row): Cells {
  return {
    verdict: verdict(row),
    study: row.study,
    case: row.case,
    metric: row.metric,
    published: { value: row.published, text: row.published_text },
    twin: { value: row.twin, text: twin(row) },
    error: row.error_pct,
    tolerance: row.tolerance_text,
    kind: row.kind,
    class: shown(row),
    reason: row.reason,
    note: (row.words && `“${row.words}” `) + row.note,
  };
}

/** Figures, the furthest off first, without some columns. */
function table(id: string, caption: string, rows: readonly Row[], without: string[], filters: string[] = []): Section {
  const columns = COLUMNS.filter((column) => !without.includes(column.key));
  return { id, heading: caption, blocks: [tabled({ id, caption, columns, rows: worstFirst(rows).map(cells), filters })] };
}

function study(one: Study, rows: readonly Row[], of: number): Section {
  const { within, failed, outside, open } = tally(rows);
  const cases = intervals(rows, slug(one.name));
  const blocks: Block[] = [{ type: "charts", charts: scatters(rows, slug(one.name)) }];
  if (cases.length) blocks.push({ type: "charts", charts: cases, wide: true });
  const free = Object.entries(rows[0]?.parameters ?? {});
  if (free.length) blocks.push({ type: "list", items: free.map(([path, by]) => ({ text: `Set by the source: ${path}, by ${by}` })) });
  return {
    id: slug(one.name),
    heading: of > 1 ? one.title : "Published against twin",
    closed: of > OPENED,
    badge: failed
      ? { tone: "bad", text: `${failed} failed` }
      : { tone: !within || outside ? "warn" : "good", text: `${within} of ${rows.length}` },
    text:
      `Source: ${one.source}. ${within} of ${rows.length} within tolerance` + (open ? `, ${open} not judged.` : ".") +
      (errors(rows) ? ` ${errors(rows)}` : ""),
    blocks,
  };
}

/** What is published, and how the twin meets it; also for a page of one study beside its simulation. */
export function judged(rows: readonly Row[], studies: readonly Study[], sums: readonly Sum[] = []): Section[] {
  const outside = rows.filter((row) => row.pass === false);
  const several = studies.length > 1;
  const alone = several ? [] : ["study"];
  return [
    // with room for the reasons
    ...(outside.length ? [table("outside", "Outside the tolerance, the furthest first", outside, [...alone, "kind", "note"])] : []),
    ...(several && sums.length ? [together(rows, sums)] : []),
    ...studies.map((one) => study(one, rows.filter((row) => row.study === one.name), studies.length)).filter((each) => each.blocks.length),
    table("figures", "All figures, the furthest off first", rows, alone, [...(several ? ["study"] : []), "verdict", "kind"]),
  ];
}

/** The title of a study, then what the page calls it where no title is known. */
function known(page: PageDocument, rows: readonly Row[]): Study[] {
  const told = (page.beside["studies"] ?? []) as Study[];
  const names = [...new Set(rows.map((row) => row.study))];
  return names.map((name) => told.find((each) => each.name === name) ?? { name, title: name, source: name });
}

function view(page: PageDocument): View {
  const rows = page.document as Row[];
  const studies = known(page, rows);
  const { within, outside, failed, open } = tally(rows);
  const summary = page.beside["summary"];
  const misses = worstFirst(rows.filter((row) => row.pass === false));
  const predicted = rows.filter((row) => row.kind === "predicted" && row.pass !== null);
  const unlikely = rows.filter((row) => (row.likelihood_pct ?? 100) < 100);
  const error = errors(rows);
  const named = rows.filter((row) => row.expected_class);
  return {
    title: studies.length === 1 ? studies[0]!.title : "Published measurements against the twin",
    answer: {
      tone: failed ? "bad" : !within || outside ? "warn" : "good",
      text: typeof summary === "string" ? summary : `${within} of ${count(rows.length, "published figure")} are within tolerance.`,
      more: [
        ...misses.slice(0, TOLD).map(missed),
        ...(misses.length > TOLD ? [`${misses.length - TOLD} more are outside; the table below has them all.`] : []),
      ],
    },
    promises: studies.map((one) => {
      const own = rows.filter((row) => row.study === one.name);
      const of = tally(own);
      const promised = own.filter((row) => row.promised).length;
      return {
        text: `${one.title}: no figure falls out of its tolerance`,
        met: promised ? of.failed === 0 : null,
        note:
          (promised ? `${promised - of.failed} of ${promised}` : "nothing is recorded") +
          (of.outside > of.failed ? `, ${of.outside - of.failed} known to be missed` : "") +
          (of.open ? `, ${of.open} not judged` : ""),
      };
    }),
    confidence: [
      ...(error ? [{ tone: "plain" as Tone, text: error }] : []),
      {
        tone: predicted.length ? "plain" : "warn",
        text: `${predicted.length} of ${within + outside} judged figures are predictions: no parameter was set by them.`,
      },
      ...(unlikely.length
        ? [{ tone: "note" as Tone, text: `${count(unlikely.length, "figure")} of the twin ${unlikely.length === 1 ? "is" : "are"} what only some of the repeated runs end in.` }]
        : []),
    ],
    cards: [
      { name: "Within tolerance", value: `${within}`, tone: "good" },
      { name: "Regressions", value: `${failed}`, tone: failed ? "bad" : "plain" },
      { name: "Known misses", value: `${outside - failed}`, remark: "each with its reason", tone: outside > failed ? "warn" : "plain" },
      { name: "Not judged", value: `${open}`, remark: open ? "each with its reason" : "" },
      ...(named.length ? [{ name: "Class right", value: `${named.filter((row) => row.class_right).length} of ${named.length}`, remark: "what limits, and which way figures go" }] : []),
      { name: "Median error", value: predicted.length ? `${number(median(predicted.map((row) => Math.abs(row.error_pct ?? 0)))!)} %` : "none", remark: "of the predicted figures" },
    ],
    sections: judged(rows, studies, page.beside["sums"] as Sum[] | undefined),
    remarks: [
      "Calibrated figures set a parameter of the twin; every predicted one was left alone.",
      "Not judged: the model cannot give the figure, for the reason beside it. Known miss: the study says why the twin misses it.",
      ...page.notes,
    ],
  };
}

export const VALIDATION: Kind = { choices: () => [], view };

