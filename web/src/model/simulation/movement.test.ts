import { expect, it } from "vitest";
import { SIMULATION } from "../simulation";
import type { BarChart, Chart, HeatMap, Table, View } from "../view";
import type { ErrorInterval, HostMemory, Move, Outage, Point } from "./document";
import { host, page, point, vm } from "./examples.test.data";

const outage = (vm: string, up_s: number | null): Outage => ({
  vm,
  host: "esx-1",
  from_s: 15,
  detected_s: 33,
  restart_s: up_s && 33,
  up_s,
  up_on: up_s ? "esx-2" : null,
});
const move = (vm: string, given: Partial<Move> = {}): Move => ({
  at_s: 20,
  end_s: 30,
  vm,
  from: "esx-3",
  to: "esx-2",
  kind: "migration",
  why: "event",
  outcome: "done",
  rounds: 3,
  sent_bytes: 2 ** 32,
  downtime_ms: 500,
  ...given,
});

/** 60 s after 5 s of warm-up: esx-1 fails at 15 s with web-1 and web-2; web-3 and web-4 migrate. */
function failed(vms = 6): Point {
  const one = point(
    { web: vm({ count: vms, vcpus: vms }) },
    {
      steady: false,
      hosts: { "esx-1": host(20, { down_s: 50 }), "esx-2": host(60), "esx-3": host(30) },
      failures: [{ time_s: 15, what: "esx-1", fails: true, hosts: ["esx-1"], vms: ["web-1", "web-2"] }],
      outages: [outage("web-1", 48), outage("web-2", null)],
      moves: [
        move("web-3"),
        move("web-4", { end_s: null, outcome: "running", downtime_ms: null }),
        move("web-1", { kind: "restart" }),
      ],
      unplaced: [],
    },
  );
  Object.assign(one.vms["web-1"]!, { down_s: 33, host: "esx-2", cluster: "east" });
  Object.assign(one.vms["web-2"]!, { down_s: 50, host: "esx-1", cluster: "east" });
  return one;
}

const shown = (one: Point): View => SIMULATION.view(page([one]), {});
const blocks = (view: View) => view.sections.flatMap((section) => section.blocks);
const chart = (view: View, id: string) =>
  blocks(view)
    .flatMap((block): Chart[] => (block.type === "charts" ? block.charts : []))
    .find((each) => each.id === id);
const table = (view: View, id: string) =>
  blocks(view)
    .flatMap((block): Table[] => (block.type === "table" ? [block.table] : []))
    .find((each) => each.id === id);

it("maps what VMs did when, those without a row ran all the time", () => {
  const map = chart(shown(failed(800)), "states") as HeatMap;
  expect(map.rows.map((row) => row.name)).toEqual(["esx-1", "web-2", "web-1", "web-3", "web-4"]);
  const at = (name: string, time: number) => {
    const state = map.rows.find((row) => row.name === name)!.values[map.columns.findIndex((each) => each >= time)];
    return state === null ? "runs" : map.states![state!]!.name;
  };
  expect([10, 20, 40, 50].map((time) => at("web-1", time))).toEqual(["runs", "is down", "starts elsewhere", "runs"]);
  expect([10, 20, 40, 64].map((time) => at("web-2", time))).toEqual(["runs", "is down", "is down", "is down"]);
  expect([10, 25, 29.8, 40].map((time) => at("web-3", time))).toEqual(["runs", "migrates", "is down", "runs"]);
  expect(at("web-4", 64)).toBe("migrates");
  const none = chart(
    shown({ ...failed(), moves: [], outages: [outage("web-1", null), outage("web-2", null)] }),
    "states",
  );
  expect(none?.alternative).toBe("2 VMs went down, and 0 migrations began.");
  expect(map.moments?.map((each) => each.x)).toEqual([15]);
  expect(map.alternative).toBe("2 VMs went down, and 2 migrations began.");
});

it("lists outages and migrations, restarts among the outages", () => {
  const view = shown(failed());
  expect(table(view, "outages")!.rows).toMatchObject([
    { vm: "web-1", on: "esx-2", noticed: 18, started: 18, up: 33 },
    { vm: "web-2", on: { text: "not up again" }, up: null },
  ]);
  expect(table(view, "migrations")!.rows).toMatchObject([
    { vm: "web-3", took: 10, downtime: 500, sent: 4, outcome: "done" },
    { vm: "web-4", took: null, outcome: { text: "running" } },
  ]);
  const point = failed();
  const moves = point.moves!.map((move): Record<string, ErrorInterval> =>
    move.vm === "web-3" ? { seconds: { low: 8, high: 20, basis: "movement duration" } } : {},
  );
  const errors = { hosts: {}, clusters: {}, pools: {}, groups: {}, bases: {}, responses: {}, level_pct: 80, moves };
  expect(table(shown({ ...point, model_error: errors }), "migrations")!.rows[0]).toMatchObject({
    took: { value: 10, low: 8, high: 20 },
    downtime: 500,
  });
});

it("shows the spread of downtime over several replications", () => {
  const one = { ...failed(), replications: 1 };
  expect(table(shown(one), "outages")!.columns.map((each) => each.key)).not.toContain("most");
  const several = { ...one, replications: 3, downtimes: { "web-1": { mean_s: 34, min_s: 33, max_s: 36 } } };
  expect(table(shown(several), "outages")!.rows).toMatchObject([
    { vm: "web-1", least: 33, most: 36 },
    { vm: "web-2", least: null, most: null },
  ]);
});

it("maps VMs that stand still with their host", () => {
  const still = { ...failed(), outages: [], moves: [] };
  expect((chart(shown(still), "states") as HeatMap).rows.map((row) => row.name)).toEqual(["esx-1", "web-1", "web-2"]);
});

it("shows migrations where nothing was down, and nothing of a run without any", () => {
  const moved = point({ web: vm() }, { moves: [move("web")], outages: [], unplaced: [] });
  expect(shown(moved).sections.find((each) => each.id === "moves")?.heading).toBe("Migrations");
  expect(shown(moved).sections.map((each) => each.id)).toContain("moves");
  const calm = shown(point({ web: vm() })).sections.map((each) => each.id);
  expect(calm).not.toContain("moves");
  expect(calm).not.toContain("memory");
});

it("shows where the memory of hosts is that were short of it, the worst state first", () => {
  const gib = 2 ** 30;
  const memory = (state: HostMemory["state"], swapped: number) => ({
    state,
    free_bytes: 2 * gib,
    min_free_bytes: gib,
    ballooned_bytes: 3 * gib,
    swapped_bytes: swapped * gib,
    compressed_bytes: 0,
    shared_bytes: 0,
    overcommit_pct: 20,
    swap_in_bytes_per_s: 4e6,
    swap_out_bytes_per_s: 0,
  });
  const one = point(
    { web: vm({ count: 2, vcpus: 2 }) },
    {
      hosts: { a: host(10), b: host(10, { memory: memory("soft", 0) }), c: host(10, { memory: memory("low", 1) }) },
      timeline: {
        interval_s: 5,
        time_s: [5, 10, 15],
        hosts: {
          c: {
            free_bytes: [gib, 2 * gib, 2 * gib],
            ballooned_bytes: [0, gib, gib],
            compressed_bytes: [0, 0, 0],
            swapped_bytes: [0, gib, gib],
          },
        },
        vms: {},
      },
    },
  );
  Object.assign(one.vms["web-1"]!, {
    host: "c",
    memory: { consumed_bytes: 5 * gib, swapped_bytes: gib, swap_wait_pct: 7 },
  });
  const view = shown(one);
  const bars = chart(view, "memory-hosts") as BarChart;
  expect(bars.categories).toEqual(["c · low", "b · soft"]);
  expect(bars.series.map(({ name, values }) => [name, values])).toEqual([
    ["consumed", [5, 0]],
    ["swapped", [1, 0]],
    ["ballooned", [3, 3]],
    ["free", [2, 2]],
  ]);
  expect(table(view, "memory-of-hosts")!.rows[0]).toMatchObject({
    name: "c",
    state: { tone: "bad", text: "low" },
    swapped_bytes: 1,
    swap_in_bytes_per_s: 4,
  });
  expect(table(view, "memory-of-vms")!.rows).toMatchObject([
    { name: "web-1", host: "c", swap_wait_pct: 7, consumed_bytes: 5 },
  ]);
  expect(chart(view, "time-free")).toMatchObject({ series: [{ name: "c", values: [1, 2, 2] }] });
  expect(chart(view, "time-reclaimed")).toMatchObject({ series: [{ name: "c", values: [0, 2, 2] }] });
});
