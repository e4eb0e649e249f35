/** `hypertwin lab vm`: guests that share host CPUs, as the guest, the host and the twin see them. */

import { tabled, words } from "./columns";
import type { Kind } from "./kinds";
import type { PageDocument } from "./page";
import type { BarChart, Chart, Column, LineChart, Row as Cells, View } from "./view";
import { number } from "./numbers";
import { MEASURED, TWIN, count, list } from "./words";

type Figures = Record<string, number>;

interface Guest {
  name: string;
  guest: Figures;
  host: Figures & { vcpus: unknown };
  twin: Figures;
  error: Figures;
  differ: boolean;
  story: string;
  series: { time_s: number; cpu_pct: number; run_pct: number; wait_pct: number }[];
}

/** See `Guests` of documents/lab.py. */
export interface Guests {
  accelerator: string;
  accelerator_note: string;
  host: { cpu: string; logical_cpus: number; cpus: string; kernel: string };
  plan: { guests: number; vcpus: number; sessions: number };
  calibration: { burst_ms: number; think_ms: number };
  measurement: { started_at: string; seconds: number; steal_pct: number; foreign_pct: number; load1: number; disturbed: boolean };
  guests: Guest[];
  errors: Figures;
}

const ACCELERATORS: Record<string, string> = { kvm: "KVM (hardware virtualisation)", tcg: "TCG (software emulation)" };
/** Guests that are drawn over time. */
const DRAWN = 4;

/** Side that says a figure, its key there and in the twin's prediction. */
const FIGURES: { name: string; unit: string; side: "guest" | "host"; key: string }[] = [
  { name: "guest: CPU", unit: "%", side: "guest", key: "cpu_pct" },
  { name: "guest: run queue", unit: "", side: "guest", key: "run_queue" },
  { name: "guest: steal", unit: "%", side: "guest", key: "steal_pct" },
  { name: "host: run", unit: "%", side: "host", key: "run_pct" },
  { name: "host: wait", unit: "%", side: "host", key: "wait_pct" },
  { name: "throughput", unit: "1/s", side: "guest", key: "throughput_per_s" },
  { name: "response", unit: "ms", side: "guest", key: "response_ms" },
];

const ERRORS: { name: string; key: string; unit: string }[] = [
  { name: "throughput", key: "throughput_pct", unit: "%" },
  { name: "response", key: "response_pct", unit: "%" },
  { name: "guest CPU", key: "cpu_points", unit: "points" },
  { name: "run", key: "run_points", unit: "points" },
  { name: "wait", key: "wait_points", unit: "points" },
];

/** What the host gave: two bars a guest, measured and predicted. */
function shares(found: Guests): BarChart {
  const sides = found.guests.flatMap((each) => [
    { name: `${each.name}, measured`, figures: each.host as Figures },
    { name: `${each.name}, twin`, figures: each.twin },
  ]);
  const [first] = found.guests;
  return {
    type: "bars",
    id: "shares",
    title: "What the host gave",
    text: "Time that the vCPUs ran, and that they could run and had no host CPU.",
    alternative: first
      ? `${first.name} ran ${number(first.host["run_pct"]!)} % and waited ${number(first.host["wait_pct"]!)} % of the time; the twin said ${number(first.twin["run_pct"]!)} and ${number(first.twin["wait_pct"]!)} %.`
      : "No guests.",
    categories: sides.map((each) => each.name),
    value: { name: "time", unit: "%", from: 0, to: 100 },
    series: [
      { name: "run", values: sides.map((each) => each.figures["run_pct"]!), colour: 2 },
      { name: "wait", values: sides.map((each) => each.figures["wait_pct"]!), colour: 3 },
    ],
    stacked: true,
    horizontal: true,
  };
}

function beside(found: Guests, id: string, title: string, text: string, key: string, unit: string): BarChart {
  const [first] = found.guests;
  return {
    type: "bars",
    id,
    title,
    text,
    alternative: first ? `${first.name}: ${number(first.guest[key]!)} ${unit} measured, ${number(first.twin[key]!)} ${unit} in the twin.` : "No guests.",
    categories: found.guests.map((each) => each.name),
    value: { name: title, unit, from: 0, ...(unit === "%" ? { to: 100 } : {}) },
    series: [
      { name: "measured", values: found.guests.map((each) => each.guest[key]!), colour: MEASURED },
      { name: "twin", values: found.guests.map((each) => each.twin[key]!), colour: TWIN },
    ],
    horizontal: true,
  };
}

function overTime(each: Guest): LineChart {
  const most = Math.max(0, ...each.series.map((point) => point.cpu_pct));
  return {
    type: "lines",
    id: `time-${each.name}`,
    title: `${each.name} over time`,
    text: "What the guest says of its CPU, and what the host gave its vCPUs.",
    alternative: `The guest sees itself up to ${number(most)} % busy; on average the host ran it ${number(each.host["run_pct"]!)} % of the time.`,
    x: { name: "time", unit: "s" },
    y: { name: "time", unit: "%", from: 0, to: 100 },
    places: each.series.map((point) => point.time_s),
    series: [
      { name: "guest: CPU", values: each.series.map((point) => point.cpu_pct), colour: MEASURED },
      { name: "host: run", values: each.series.map((point) => point.run_pct), colour: 2 },
      { name: "host: wait", values: each.series.map((point) => point.wait_pct), colour: 3, dash: "dashed" },
    ],
    sync: "guests",
  };
}

const COLUMNS: Column[] = [
  words("guest", "guest"),
  words("by", "by"),
  ...FIGURES.map((each): Column => ({ key: each.key, name: each.name, kind: "number", ...(each.unit ? { unit: each.unit } : {}) })),
];

function cells(each: Guest): Cells[] {
  const measured = FIGURES.map(({ side, key }) => [key, (each[side] as Figures)[key]!]);
  const predicted = FIGURES.map(({ key }) => [key, each.twin[key]!]);
  return [
    { guest: each.name, by: "measured", ...Object.fromEntries(measured) },
    { guest: each.name, by: "twin", ...Object.fromEntries(predicted) },
  ];
}

function view(page: PageDocument): View {
  const found = page.document as Guests;
  const { host, plan, measurement: measured } = found;
  const differ = found.guests.filter((each) => each.differ);
  const errors = ERRORS.map((each) => `${each.name} ${number(found.errors[each.key]!)} ${each.unit}`);
  const charts: Chart[] = found.guests.length
    ? [
        shares(found),
        beside(found, "cpu", "Guest CPU", "How busy each guest says it is.", "cpu_pct", "%"),
        beside(found, "throughput", "Throughput", "Transactions of each guest.", "throughput_per_s", "1/s"),
        beside(found, "response", "Response", "End of think time to end of burst.", "response_ms", "ms"),
      ]
    : [];
  return {
    title: "Guests that share host CPUs",
    answer: {
      tone: measured.disturbed ? "warn" : "plain",
      text: `Predicted before it was measured: the twin's median error is ${list(errors)}.`,
      more: found.guests.slice(0, 6).map((each) => each.story),
    },
    promises: [],
    confidence: [
      ...(measured.disturbed
        ? [{ tone: "bad" as const, text: "Disturbed: other work or another hypervisor took CPU time during the measurement; measure again when idle." }]
        : [{ tone: "good" as const, text: "Other work took no CPU time that would matter." }]),
      { tone: "plain", text: `Steal ${number(measured.steal_pct)} %, other work ${number(measured.foreign_pct)} % of the host CPUs, load ${number(measured.load1)}, measured for ${number(measured.seconds)} s.` },
      ...(found.accelerator_note ? [{ tone: "note" as const, text: found.accelerator_note }] : []),
    ],
    cards: [
      { name: "Guests", value: `${plan.guests}`, remark: `of ${count(plan.vcpus, "vCPU")} on CPU ${host.cpus}` },
      { name: "Tell another story", value: `${differ.length}`, remark: "guests that see themselves busier than the host does", tone: differ.length ? "warn" : "plain" },
      { name: "Run by", value: found.accelerator.toUpperCase(), remark: ACCELERATORS[found.accelerator] ?? "" },
      { name: "Load", value: count(plan.sessions * plan.vcpus, "session"), remark: `a guest, bursts of ${number(found.calibration.burst_ms)} ms, think time ${number(found.calibration.think_ms)} ms` },
      { name: "Host", value: host.cpu, remark: `${host.logical_cpus} logical CPUs, Linux ${host.kernel}` },
    ],
    sections: [
      { id: "charts", heading: "Guest and host", blocks: [{ type: "charts", charts }] },
      {
        id: "time",
        heading: "Over time",
        ...(found.guests.length > DRAWN ? { text: `The first ${DRAWN} of ${found.guests.length} guests.` } : {}),
        blocks: [{ type: "charts", charts: found.guests.filter((each) => each.series.length).slice(0, DRAWN).map(overTime) }],
      },
      {
        id: "figures",
        heading: "All figures",
        blocks: [
          tabled({ id: "figures", caption: "Each guest as measured and as predicted", columns: COLUMNS, rows: found.guests.flatMap(cells), filters: ["by"] }),
        ],
      },
    ],
    remarks: page.notes,
  };
}

export const GUESTS: Kind = { choices: () => [], view };
