/** VMs that were down, moved or could not restart: states over time, and tables of the first replication. */

import { figures, tabled, words } from "../columns";
import type { Block, Cell, Column, HeatMap, Row, Section, Table } from "../view";
import { byName, count } from "../words";
import type { Beside } from "./beside";
import type { ErrorInterval, Move, Outage, Point } from "./document";
import { moments } from "./moments";
import { worstFirst } from "./points";

/** Columns of the map of states; VMs and hosts that nothing happened to have no row. */
const COLUMNS = 300;
/** States, the later the worse: if several fall into one column, it shows the worst. */
const STATES = [
  { name: "migrates", colour: 0 },
  { name: "starts elsewhere", colour: 2 },
  { name: "is down", colour: 1 },
];
const [MIGRATES, STARTS, DOWN] = [0, 1, 2];

export const migrations = (point: Point): Move[] => (point.moves ?? []).filter((move) => move.kind === "migration");

export function movementSections(point: Point, place: number, beside: Beside): Section[] {
  const outages = point.outages ?? [];
  const moved = migrations(point);
  const map = statesOf(point, place, beside);
  if (!map) return [];
  const blocks: Block[] = [
    { type: "charts", wide: true, charts: [map] },
    ...(outages.length ? [tabled(outageTable(outages, point))] : []),
    ...(moved.length ? [tabled(moveTable(moved, point))] : []),
  ];
  return [
    {
      id: "moves",
      heading: [
        ...(outages.length || point.failures?.length ? ["Outages"] : []),
        ...(moved.length ? ["migrations"] : []),
      ]
        .join(" and ")
        .replace(/^m/, "M"),
      text: "First replication. Times include the warm-up.",
      blocks,
    },
  ];
}

/** Number of VMs that went down, with or without a restart policy. */
const outagesOf = (point: Point): number =>
  point.outages?.length ? point.outages.length : Object.values(point.vms).filter((vm) => vm.down_s).length;

interface Span {
  from: number;
  to: number;
  state: number;
}

/** A row for each host that failed and each VM that was down or moved, and what it did when. */
function statesOf(point: Point, place: number, beside: Beside): HeatMap | null {
  const end = point.warmup_s + point.duration_s;
  const spans = new Map<string, Span[]>();
  const add = (name: string, from: number, to: number | null | undefined, state: number) =>
    spans.set(name, [...(spans.get(name) ?? []), { from, to: to ?? end, state }]);
  for (const failure of point.failures?.filter((each) => each.fails) ?? []) {
    const back = (name: string, of: "hosts" | "vms") =>
      point.failures!.find((each) => !each.fails && each.time_s > failure.time_s && each[of].includes(name))?.time_s;
    for (const host of failure.hosts) add(host, failure.time_s, back(host, "hosts"), DOWN);
    // VMs that nothing restarts have no outage of their own
    for (const vm of failure.vms)
      if (!point.outages?.some((each) => each.vm === vm)) add(vm, failure.time_s, back(vm, "vms"), DOWN);
  }
  for (const { vm, from_s, restart_s, up_s } of point.outages ?? []) {
    add(vm, from_s, restart_s, DOWN);
    if (restart_s !== null) add(vm, restart_s, up_s, STARTS);
  }
  for (const { vm, at_s, end_s, downtime_ms } of migrations(point)) {
    add(vm, at_s, end_s, MIGRATES);
    if (end_s !== null && downtime_ms) add(vm, end_s - downtime_ms / 1000, end_s, DOWN);
  }
  const vms = [...spans.keys()].filter((name) => !(name in point.hosts));
  if (!vms.length) return null;
  const down = (name: string) =>
    spans
      .get(name)!
      .reduce((sum, { from, to, state }) => sum + (state === MIGRATES ? (to - from) / 1e6 : to - from), 0);
  const rows = [...[...spans.keys()].filter((name) => name in point.hosts).toSorted(byName), ...worstFirst(vms, down)];
  const step = end / COLUMNS;
  const at = (spans: readonly Span[], index: number) =>
    Math.max(
      -1,
      ...spans.filter(({ from, to }) => from < (index + 1) * step && to > index * step).map(({ state }) => state),
    );
  return {
    type: "heat",
    id: "states",
    title: "VM states over time",
    text: "Failed hosts first, then the VMs with the longest downtime. VMs that ran all the time have no row.",
    alternative: `${count(outagesOf(point), "VM")} went down, and ${count(migrations(point).length, "migration")} began.`,
    x: { name: "simulated time", unit: "s" },
    columns: Array.from({ length: COLUMNS }, (_, index) => (index + 0.5) * step),
    rows: rows.map((name) => ({
      name,
      values: Array.from({ length: COLUMNS }, (_, index) => at(spans.get(name)!, index)).map((state) =>
        state < 0 ? null : state,
      ),
    })),
    unit: "",
    states: STATES,
    moments: moments(point, place, beside).marked,
  };
}

const after = (then: number | null, start: number) => (then === null ? null : then - start);

function outageTable(outages: readonly Outage[], point: Point): Table {
  const columns: Column[] = [
    figures("at", "at", "s"),
    words("vm", "VM"),
    words("host", "host"),
    words("on", "up on"),
    figures("noticed", "noticed after", "s", { secondary: true }),
    figures("started", "started after", "s", { text: "Powered on elsewhere." }),
    figures("up", "up after", "s", { text: "Guest and application started." }),
    ...(point.replications > 1
      ? [
          figures("least", "shortest", "s", { text: "Shortest time until up in all replications.", secondary: true }),
          figures("most", "longest", "s", { text: "Longest time until up in all replications." }),
        ]
      : []),
  ];
  const row = (each: Outage): Row => ({
    at: each.from_s,
    vm: each.vm,
    host: each.host,
    on: each.up_on ?? { tone: "bad", text: "not up again" },
    noticed: after(each.detected_s, each.from_s),
    started: after(each.restart_s, each.from_s),
    up: after(each.up_s, each.from_s),
    ...(point.replications > 1
      ? { least: point.downtimes?.[each.vm]?.min_s ?? null, most: point.downtimes?.[each.vm]?.max_s ?? null }
      : {}),
  });
  return {
    id: "outages",
    caption: "VMs that went down with their host",
    columns,
    rows: outages.map(row),
    filters: ["host", "on"],
  };
}

/** A time of a move with the interval of the model error. */
function withError(value: number | null, error: ErrorInterval | undefined): Cell {
  return error && value !== null ? { value, low: error.low, high: error.high } : value;
}

function moveTable(moved: readonly Move[], point: Point): Table {
  const errors = new Map(point.moves?.map((move, index) => [move, point.model_error?.moves[index]]));
  const columns: Column[] = [
    figures("at", "at", "s"),
    words("vm", "VM"),
    words("from", "from"),
    words("to", "to"),
    words("why", "why"),
    figures("took", "took", "s"),
    figures("downtime", "downtime", "ms", { text: "Pause of the VM at the end of its migration." }),
    figures("rounds", "rounds", "", { secondary: true }),
    figures("sent", "sent", "GiB", { secondary: true }),
    words("outcome", "outcome"),
  ];
  const row = (move: Move): Row => ({
    at: move.at_s,
    vm: move.vm,
    from: move.from,
    to: move.to,
    why: move.why,
    took: withError(after(move.end_s, move.at_s), errors.get(move)?.["seconds"]),
    downtime: withError(move.downtime_ms, errors.get(move)?.["downtime_ms"]),
    rounds: move.rounds,
    sent: move.sent_bytes / 2 ** 30,
    outcome: move.outcome === "done" ? "done" : { tone: "warn", text: move.outcome },
  });
  return {
    id: "migrations",
    caption: "Live migrations",
    columns,
    rows: moved.map(row),
    filters: ["from", "to", "why", "outcome"],
  };
}
