/** `hypertwin durability`: which scheme of redundancy is durable enough, and what it costs. */

import { figures, tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { Cell, Column, LineChart, Marks, Row as Cells, ScatterChart, View } from "./view";
import { number } from "./numbers";
import { count, duration, size } from "./words";

interface Loss {
  annual_loss: number;
  nines: number;
  /** Whether that is smaller than a model of independent failures can say. */
  beyond_model: boolean;
  pool_annual_loss: number;
  expected_bytes_lost_per_year: number;
}

interface Scheme {
  scheme: string;
  width: number;
  overhead: {
    raw_per_usable: number;
    survives: number;
    overwrite_reads: number;
    overwrite_writes: number;
    degraded_reads: number;
  };
  backblaze: Loss;
  markov: Loss;
  mttdl_years: number;
}

interface Twin {
  scenario: string;
  pool: string;
  failed: string;
  rebuilt_gib: number;
  due_gib: number;
  rebuild_mb_per_s: number;
  is_measured: boolean;
  replications: number;
}

/** See `DurabilityDocument` of documents/plan.py. */
export interface Durability {
  annual_failure_rate: number;
  repair: { seconds: number; source: string; serial: boolean };
  groups: number;
  usable_bytes: number | null;
  schemes: Scheme[];
  twin?: Twin;
}

interface LossAt {
  repair_s: number;
  backblaze: number;
  markov: number;
}

const DAY_S = 86_400;
/** Nines that storage is asked for, as buyers do. */
const LEVELS = [4, 6, 9, 11];
/** More nines than this no model of independent failures can promise: fire, flood and mistakes are likelier. */
const MOST_NINES = 12;

const nines = (loss: number): number => (loss > 0 ? Math.floor(-Math.log10(loss) + 1e-9) : Infinity);
const BEYOND = "beyond";
/** A probability; below what a model can say only that it is. */
const loss = (value: number): Cell => (nines(value) > MOST_NINES ? { value, text: `<1e${number(-MOST_NINES - 1)}` } : value);
const shown = (loss: number): string => (nines(loss) > MOST_NINES ? `more than ${MOST_NINES}` : `${nines(loss)}`);
const raw = (scheme: Scheme): number => 100 * scheme.overhead.raw_per_usable;
const copies = (scheme: string): boolean => scheme.startsWith("replicas");
/** The more pessimistic of both models. */
const pool = (scheme: Scheme): number => Math.max(scheme.markov.pool_annual_loss, scheme.backblaze.pool_annual_loss);
const ofPool = (found: Durability): string => (found.groups > 1 ? `any of ${count(found.groups, "group")}` : "a group");

/** The scheme with the least raw capacity that has so many nines by both models. */
function cheapest(found: Durability, level: number): Scheme | undefined {
  const enough = found.schemes.filter((each) => nines(pool(each)) >= level);
  return enough.sort((one, other) => raw(one) - raw(other) || pool(one) - pool(other))[0];
}

function colours(found: Durability): Map<string, number> {
  return new Map(found.schemes.map((each, place) => [each.scheme, place]));
}

function costChart(found: Durability): ScatterChart {
  const colour = colours(found);
  const marks = found.schemes
    .filter((each) => each.markov.pool_annual_loss > 0)
    .map(
      (each): Marks => ({
        name: each.scheme,
        symbol: copies(each.scheme) ? "diamond" : "circle",
        points: [
          {
            x: raw(each),
            y: each.markov.pool_annual_loss,
            colour: colour.get(each.scheme)!,
            text: `${each.scheme}: ${number(raw(each))} GB raw per 100 GB, annual loss ${number(each.markov.pool_annual_loss)}`,
          },
        ],
      }),
    );
  const best = [...found.schemes].sort((one, other) => raw(one) - raw(other))[0]!;
  const safest = [...found.schemes].sort((one, other) => pool(one) - pool(other))[0]!;
  return {
    type: "scatter",
    id: "cost",
    title: "What durability costs",
    text: `By the Markov model, for ${ofPool(found)}. Down and left is better. Diamonds: copies.`,
    alternative: `Cheapest: ${best.scheme} with ${number(raw(best))} GB raw per 100 GB. Safest: ${safest.scheme}, annual loss ${number(pool(safest))}.`,
    x: { name: "raw GB per 100 GB usable", from: 90 },
    y: { name: "annual loss", scale: "log" },
    marks,
  };
}

function lossChart(found: Durability, curves: Record<string, LossAt[]>): LineChart {
  const places = [...new Set(Object.values(curves).flatMap((points) => points.map((point) => point.repair_s)))].sort((one, other) => one - other);
  const colour = colours(found);
  return {
    type: "lines",
    id: "repair",
    title: "Annual loss against repair time",
    text: `By the Markov model, for ${ofPool(found)}. Dashed: copies. The line across: the repair time of this page.`,
    alternative: `The faster a lost part is there again, the less is lost: ${Object.entries(curves)
      .slice(0, 3)
      .map(([name, points]) => `${name} from ${number(points[0]?.markov ?? 0)} to ${number(points[points.length - 1]?.markov ?? 0)}`)
      .join(", ")}.`,
    x: { name: "repair time", unit: "days", scale: "log" },
    y: { name: "annual loss", scale: "log" },
    places: places.map((seconds) => seconds / DAY_S),
    series: Object.entries(curves).map(([name, points], place) => {
      const by = new Map(points.map((point) => [point.repair_s, point.markov]));
      return {
        name,
        values: places.map((seconds) => by.get(seconds) || null),
        colour: colour.get(name) ?? place,
        dash: copies(name) ? "dashed" : "solid",
      };
    }),
    moments: [{ x: found.repair.seconds / DAY_S, number: 1, text: `repair time ${duration(found.repair.seconds)}`, tone: "note" }],
  };
}

function columns(found: Durability): Column[] {
  return [
    words("scheme", "scheme"),
    found.usable_bytes === null ? figures("raw", "raw per 100 GB", "GB") : figures("raw", "raw"),
    figures("survives", "survives", "", { text: "Lost parts of a group that data outlive." }),
    figures("overwrite", "small overwrite", "", { text: "Disk reads + writes, of an erasure code by parity delta." }),
    figures("degraded", "degraded read", "", { text: "Disk reads while a part is missing.", secondary: true }),
    figures("backblaze", "loss/year, Backblaze", "", { text: "Of one group: more failures within a repair than the scheme survives." }),
    figures("backblaze_nines", "nines, Backblaze"),
    figures("markov", "loss/year, Markov", "", { text: "Of one group: failures and repairs as a birth-death chain." }),
    figures("markov_nines", "nines, Markov"),
    figures("mttdl", "MTTDL", "years", { text: "Mean time to data loss of one group; far beyond the age of any disk it is a rate.", secondary: true }),
    ...(found.groups > 1 ? [figures("pool_backblaze", "any group, Backblaze"), figures("pool_markov", "any group, Markov")] : []),
    ...(found.usable_bytes === null ? [] : [figures("lost", "bytes lost/year, Markov", "", { secondary: true })]),
  ];
}

function cells(found: Durability, each: Scheme): Cells {
  const { overhead, backblaze, markov } = each;
  return {
    scheme: each.scheme,
    raw: found.usable_bytes === null ? raw(each) : { value: found.usable_bytes * overhead.raw_per_usable, text: size(found.usable_bytes * overhead.raw_per_usable) },
    survives: overhead.survives,
    overwrite: { value: overhead.overwrite_reads + overhead.overwrite_writes, text: `${overhead.overwrite_reads} + ${overhead.overwrite_writes}` },
    degraded: overhead.degraded_reads,
    backblaze: loss(backblaze.annual_loss),
    backblaze_nines: { value: Math.min(nines(backblaze.annual_loss), 99), text: shown(backblaze.annual_loss) },
    markov: loss(markov.annual_loss),
    markov_nines: { value: Math.min(nines(markov.annual_loss), 99), text: shown(markov.annual_loss) },
    mttdl: { value: each.mttdl_years, text: markov.beyond_model ? BEYOND : each.mttdl_years < 1e6 ? number(each.mttdl_years) : each.mttdl_years.toExponential(2).replace("e+", "e") },
    pool_backblaze: loss(backblaze.pool_annual_loss),
    pool_markov: loss(markov.pool_annual_loss),
    lost: { value: markov.expected_bytes_lost_per_year, text: markov.beyond_model ? BEYOND : size(markov.expected_bytes_lost_per_year) },
  };
}

/** The answer: of a pool how durable it is; of schemes which is the cheapest with so many nines. */
function answer(found: Durability): View["answer"] {
  const { twin } = found;
  const [only] = found.schemes;
  if (only && (twin || found.schemes.length === 1))
    return {
      tone: nines(pool(only)) > MOST_NINES ? "warn" : "plain",
      text: `${twin ? `Pool ${twin.pool} (${only.scheme})` : only.scheme}: within a year data are lost with a probability of ${number(pool(only))}, ${shown(pool(only))} nines, for ${number(raw(only))} GB raw per 100 GB.`,
      more: [
        `A lost part is there again after ${duration(found.repair.seconds)}${twin?.is_measured ? `, as the twin measured when ${twin.failed} failed` : ""}.`,
      ],
    };
  const levels = LEVELS.map((level) => [level, cheapest(found, level)] as const);
  const told = levels.filter(([, scheme]) => scheme);
  const top = told[told.length - 1];
  return {
    tone: "plain",
    text: top
      ? `For ${top[0]} nines a year ${top[1]!.scheme} needs the least capacity: ${number(raw(top[1]!))} GB raw per 100 GB, of ${count(found.schemes.length, "scheme")}.`
      : `None of ${count(found.schemes.length, "scheme")} reaches ${LEVELS[0]} nines.`,
    more: [
      ...told.slice(0, -1).map(([level, scheme]) => `For ${level} nines: ${scheme!.scheme}, ${number(raw(scheme!))} GB raw per 100 GB.`),
      ...levels.filter(([, scheme]) => !scheme).slice(0, 1).map(([level]) => `No scheme here has ${level} nines or more.`),
      `Nines are those of one minus the probability that ${ofPool(found)} loses data within a year, by the more pessimistic model.`,
    ],
  };
}

function view(page: PageDocument): View {
  const found = page.document as Durability;
  const curves = (page.beside["curves"] ?? {}) as Record<string, LossAt[]>;
  const { repair, twin } = found;
  return {
    title: twin ? `Durability of ${twin.pool} in ${twin.scenario}` : "Durability of redundant storage",
    answer: answer(found),
    promises: [],
    confidence: [
      ...((page.beside["warnings"] ?? []) as string[]).map((text) => ({ tone: "warn" as const, text })),
      {
        tone: twin && !twin.is_measured ? "warn" : "plain",
        text: twin
          ? `Repair time of a failed disk: ${repair.source}.${twin.is_measured ? "" : " It was not seen to its end."}`
          : `Repair time and failure rate are assumptions: ${duration(repair.seconds)} and ${number(100 * found.annual_failure_rate)} % of the disks a year.`,
      },
      { tone: "note", text: "Failures are taken as independent: a bad batch, a fire or an operator's mistake is not in these figures." },
    ],
    cards: [
      { name: "Disks that fail in a year", value: `${number(100 * found.annual_failure_rate)} %` },
      { name: "Repair", value: duration(repair.seconds), remark: repair.serial ? "one lost part after the other" : "lost parts in parallel" },
      { name: "Groups", value: found.groups.toLocaleString("en-US"), remark: "of copies or fragments" },
      ...(found.usable_bytes === null ? [] : [{ name: "Usable", value: size(found.usable_bytes), remark: "the user's data" }]),
      ...(twin ? [{ name: "Rebuilt", value: `${number(twin.rebuilt_gib)} GiB`, remark: `at ${number(twin.rebuild_mb_per_s)} MB/s, mean of ${count(twin.replications, "run")}` }] : []),
    ],
    sections: [
      {
        id: "charts",
        heading: "Cost, failures and repair",
        blocks: [{ type: "charts", charts: [costChart(found), ...(Object.keys(curves).length ? [lossChart(found, curves)] : [])] }],
      },
      {
        id: "schemes",
        heading: found.schemes.length === 1 ? "The scheme" : "All schemes",
        blocks: [
          tabled({
            id: "schemes",
            caption: "Cost and durability of each scheme",
            columns: columns(found),
            rows: found.schemes.map((each) => cells(found, each)),
            sorted: { column: "raw", descending: false },
          }),
        ],
      },
    ],
    remarks: page.notes,
  };
}

export const DURABILITY: Kind = { choices: () => [], view };
