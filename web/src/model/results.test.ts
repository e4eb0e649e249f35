/** The models of all results but the simulation's, on documents that the commands printed. */

import { describe, expect, it } from "vitest";
import calibration from "../../../tests/data/documents/calibration.json";
import capacity from "../../../tests/data/documents/capacity.json";
import contention from "../../../tests/data/documents/contention.json";
import density from "../../../tests/data/documents/density.json";
import diagnosis from "../../../tests/data/documents/diagnosis.json";
import durability from "../../../tests/data/documents/durability.json";
import pool from "../../../tests/data/documents/durability-of-a-pool.json";
import guests from "../../../tests/data/documents/guests.json";
import plan from "../../../tests/data/documents/placement.json";
import evacuate from "../../../tests/data/documents/placement-evacuate.json";
import infeasible from "../../../tests/data/documents/placement-infeasible.json";
import survive from "../../../tests/data/documents/placement-survive.json";
import size from "../../../tests/data/documents/size.json";
import validation from "../../../tests/data/documents/validation.json";
import vnuma from "../../../tests/data/documents/vnuma.json";
import { KINDS } from "./kinds";
import type { PageDocument } from "./page";
import type { BarChart, Block, Chart, HeatMap, LineChart, RangeChart, Row, ScatterChart, Section, Table, View } from "./view";

function view(kind: string, document: unknown, beside: Record<string, unknown> = {}, notes: string[] = []): View {
  const made = { version: "1", date: "", command: [], files: [], seed: null, calibrated: [] };
  const page: PageDocument = { page: 1, kind, title: "", document, beside, notes, made };
  expect(KINDS[kind]!.choices(page)).toEqual([]);
  return KINDS[kind]!.view(page, {});
}

/** A copy to change. */
const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const blocksOf = (blocks: readonly Block[]): Block[] => blocks.flatMap((each) => (each.type === "group" ? [each, ...blocksOf(each.blocks)] : [each]));
const blocks = (shown: { sections: readonly Section[] }): Block[] => shown.sections.flatMap((each) => blocksOf(each.blocks));
const charts = (shown: View): Chart[] => blocks(shown).flatMap((each) => (each.type === "charts" ? each.charts : []));
const tables = (shown: View): Table[] => blocks(shown).flatMap((each) => (each.type === "table" ? [each.table] : []));
const chart = <T extends Chart>(shown: View, id: string): T => charts(shown).find((each) => each.id === id) as T;
const table = (shown: View, id: string): Table => tables(shown).find((each) => each.id === id)!;
const column = (rows: readonly Row[], key: string) => rows.map((row) => row[key]);

const EXAMPLES: [string, unknown][] = [
  ["calibration", calibration],
  ["capacity", capacity],
  ["contention", contention],
  ["density", density],
  ["diagnosis", diagnosis],
  ["durability", durability],
  ["durability", pool],
  ["guests", guests],
  ["placement", plan],
  ["placement", evacuate],
  ["placement", infeasible],
  ["placement", survive],
  ["size", size],
  ["validation", validation],
  ["vnuma", vnuma],
];

describe.each(EXAMPLES)("the view of %s", (kind, document) => {
  const shown = view(kind, document, { answer: "All is well." }, ["A note."]);

  it("begins with an answer and keeps the notes", () => {
    expect(shown.title).not.toBe("");
    expect(shown.answer.text).not.toMatch(/undefined|NaN|null/);
    expect(shown.remarks).toContain("A note.");
    expect(shown.confidence.length).toBeGreaterThan(0);
  });

  it("has names that are unique, in charts, tables, sections and cards", () => {
    for (const names of [charts(shown).map((each) => each.id), tables(shown).map((each) => each.id), shown.sections.map((each) => each.id), shown.cards.map((each) => each.name)])
      expect(new Set(names).size).toBe(names.length);
  });

  it("has words for each chart, and a value for each place", () => {
    for (const each of charts(shown)) {
      expect(each.alternative).toMatch(/\.$/);
      expect(each.alternative).not.toMatch(/undefined|NaN/);
      if (each.type === "lines") for (const series of each.series) expect(series.values.length).toBe(each.places.length);
      if (each.type === "bars") for (const series of each.series) expect(series.values.length).toBe(each.categories.length);
    }
  });

  it("has a name for each column and a cell for each row", () => {
    for (const { columns, rows, filters, sorted } of tables(shown)) {
      const keys = columns.map((each) => each.key);
      expect(columns.every((each) => each.name)).toBe(true);
      for (const row of rows) for (const key of keys) expect(row[key], key).not.toBeUndefined();
      expect(keys).toEqual(expect.arrayContaining([...(filters ?? []), ...(sorted ? [sorted.column] : [])]));
    }
  });
});

describe("what stands on guesses", () => {
  const guess = "The host of 3 of 9 VMs is a guess.";

  it("says so first, and is neither good nor met", () => {
    const certificate = Object.fromEntries(Object.entries(survive.certificate).map(([name, each]) => [name, { ...each, unplaced: [] }]));
    const survived = { ...survive, feasible: true, certificate, guessed: 0, failover: { survives: true, text: "" } };
    const said = "prod survives all 4 host failures.";
    expect(view("placement", survived).answer.tone).toBe("good");
    const shown = view("placement", { ...survived, guessed: 3, failover: { survives: null, text: "" } }, { guess, answer: said });
    expect(shown.answer.tone).toBe("warn");
    expect(shown.answer.text).toMatch(/^The host of 3 of 9 VMs is a guess\. prod survives/);
    expect(shown.promises.every((each) => each.met !== true)).toBe(true);
    expect(view("capacity", capacity, { guess }).answer.text.startsWith(guess)).toBe(true);
    expect(view("capacity", capacity, { guess: "" }).answer).toEqual(view("capacity", capacity).answer);
  });
});

describe("capacity", () => {
  const shown = view("capacity", capacity);
  const of = (...names: string[]) => copy({ ...capacity, clusters: Object.fromEntries(Object.entries(capacity.clusters).filter(([name]) => names.includes(name))) });

  it("names the clusters that do not bear a failure, by what, and those that cannot be judged", () => {
    expect(shown.answer.tone).toBe("bad");
    expect(shown.answer.text).toBe("2 of 3 clusters cannot lose a host within their limits: database, general. No room for another VM without the largest hosts.");
    expect(shown.answer.more![0]).toMatch(/^database survives no host failure\. .* Over its limits without its largest host: CPU 101 %, memory configured 117 % and memory consumed 112 %\.$/);
    expect(shown.promises.map((each) => each.met)).toEqual([false, null, false]);
    const fine = { ...copy(capacity.clusters.database!), cpu_usage_degraded_pct: 50, memory_configured_degraded_pct: 50, memory_consumed_degraded_pct: 40, failover: { survives: true, text: "database survives all 3 host failures." } };
    const one = view("capacity", { ...capacity, clusters: { ...capacity.clusters, database: fine } });
    expect(one.answer.text).toMatch(/^1 of 3 clusters cannot lose a host within their limits: general\./);
  });

  it("tells what may be powered on apart from what will perform", () => {
    expect(table(shown, "failover").rows.map((row) => [row.cluster, row.power_on, row.perform])).toEqual([
      ["database", { tone: "good", text: "yes" }, { tone: "bad", text: "no: CPU and consumed memory" }],
      ["edge", { tone: "bad", text: "no" }, { tone: "bad", text: "no" }],
      ["general", { tone: "good", text: "yes" }, { tone: "good", text: "yes" }],
    ]);
  });

  it("is good where every cluster stays within its limits", () => {
    const found = of("general");
    found.clusters.general!.memory_configured_degraded_pct = 89;
    found.clusters.general!.failover = { survives: true, text: "general survives all 6 host failures." } as never;
    found.clusters.general!.vms_left!.count = 1;
    found.total.vms_left.count = 1;
    const good = view("capacity", found);
    expect(good.answer).toMatchObject({ tone: "good", text: "general survives all 6 host failures. Room for 1 more VM without the largest hosts." });
    expect(good.promises[0]!.met).toBe(true);
    const nobody = of("general");
    nobody.clusters.general!.memory_configured_degraded_pct = 89;
    nobody.clusters.general!.failover = { survives: null, text: "Whether general survives a host failure is not known." } as never;
    for (const unknown of [view("capacity", of("edge")), view("capacity", nobody)]) {
      expect(unknown.answer.tone).toBe("warn");
      expect(unknown.answer.text).toContain("not known");
      expect(unknown.promises[0]!.met).toBe(null);
    }
  });

  it("draws the worst cluster first, now and without its largest hosts, with the limit that all share", () => {
    const drawn = chart<BarChart>(shown, "configured");
    expect(drawn.categories).toEqual(["database", "general", "edge"]);
    expect(drawn.series[1]!.values[0]).toBeCloseTo(117.19, 1);
    expect(drawn.series[1]!.values[2]).toBeNull();
    expect(drawn.limits).toEqual([{ name: "limit 90 %", value: 90, tone: "bad" }]);
    const differ = copy(capacity);
    differ.clusters.edge.limits.memory_pct = 80;
    expect(chart<BarChart>(view("capacity", differ), "configured").limits).toEqual([]);
  });

  it("says what is not known as nothing, not as zero", () => {
    const row = table(shown, "room").rows.find((each) => each["cluster"] === "edge")!;
    expect([row["left"], row["cpu"], row["restart"], row["binds"]]).toEqual([null, null, "", ""]);
    expect(table(shown, "use").rows.find((each) => each["cluster"] === "edge")!["cpu"]).toMatchObject({ text: "22 → –" });
    expect(column(table(shown, "basis").rows, "source")).toContainEqual({ tone: "note", text: "not known" });
  });

  it("has what VMs take of storage where any says it, with or without datastores", () => {
    const rows = table(shown, "stored").rows;
    expect(rows.map((row) => [row["cluster"], row["vms_provisioned_gib"], row["vms_used_gib"], row["vms_in_guest_gib"], row["swap_gib"]])).toEqual([
      ["database", 15200, 9000, 7100, 1200],
      ["edge", null, null, null, 40],
      ["general", 33684, 16620, 12020, 1872],
      ["all", 48884, 25620, 19120, 3112],
    ]);
    const shownAs = (found: unknown) => view("capacity", found).sections.find((each) => each.id === "storage")?.blocks.map((each) => (each.type === "table" ? each.table.id : each.type));
    expect(shownAs({ ...copy(capacity), datastores: [] })).toEqual(["stored", "pools"]);
    const without = { ...copy(capacity), datastores: [], pools: {} };
    expect(shownAs(without)).toEqual(["stored"]);
    expect(shownAs(of("edge"))).toContain("datastores");
    for (const each of [without.total, ...Object.values(without.clusters)]) Object.assign(each, { storage: null });
    expect(shownAs(without)).toBeUndefined();
  });

  it("keeps what one moment shows apart from what is proven", () => {
    const found = copy(capacity);
    const unused = found.clusters.database.reclaimable as { proven: unknown; moment: unknown };
    [unused.moment, unused.proven] = [unused.proven, null];
    const rows = table(view("capacity", found), "unused").rows;
    expect(rows.map((each) => [each["cluster"], (each["by"] as { tone: string }).tone])).toEqual([
      ["database", "note"],
      ["general", "good"],
      ["all", "good"],
    ]);
  });

  it("says how a faster processor corrects the ratio", () => {
    const found = copy(capacity);
    Object.assign(found.clusters.general, { vcpu_per_core_corrected: 2.25, vcpu_per_core_corrected_degraded: 2.7 });
    found.clusters.general.limits.speed = 1.3;
    const texts = blocks(view("capacity", found)).flatMap((each) => (each.type === "list" ? each.items.map((item) => item.text) : []));
    expect(texts).toContain("general: a core counts as 1.3; vCPUs per core are 2.25 → 2.7 then.");
  });
});

describe("plans", () => {
  const shown = view("placement", plan);
  const cards = (of: View) => Object.fromEntries(of.cards.map((each) => [each.name, each.value]));
  const words = (of: View) => blocks(of).flatMap((each) => (each.type === "list" ? each.items.map((item) => item.text) : each.type === "prose" ? each.paragraphs : []));

  it("answers with the moves and their proof, and counts VMs that are parked once", () => {
    expect(shown.answer).toMatchObject({ tone: "good", text: "4 moves of 3 VMs in 3 steps, about 4 min: no host is above its limits then, and every rule holds. Proven: no plan has fewer moves, parking aside." });
    expect(cards(shown)).toMatchObject({ Plan: "feasible", Moves: "4", "Fullest host": "98 → 72 %", Bound: "3 moves", "Failures survived": "4 of 4" });
    expect(shown.promises.map((each) => each.met)).toEqual([true, true, true]);
    const open = view("placement", { ...plan, proven: false, bound: 2, gap_pct: 50 });
    expect(open.answer.text).toMatch(/Not proven: a plan may exist with 2 moves; the gap is at most 50 %\.$/);
    expect(open.confidence[0]!.tone).toBe("warn");
  });

  it("compares hosts with their limits, which may differ", () => {
    const drawn = chart<BarChart>(shown, "hosts-cpu");
    expect(drawn.categories[0]).toBe("esx-1");
    expect(drawn.series.map((each) => [each.name, each.values[0]])).toEqual([["before", 78.3654], ["after", 41.1058]]);
    expect(drawn.limits![0]!.value).toBe(80);
    const differ = copy(plan);
    differ.hosts[0]!.limit_pct.cpu = 40;
    const parts = view("placement", differ);
    expect(chart<BarChart>(parts, "hosts-cpu")).toMatchObject({ limits: [{ value: 100 }], text: expect.stringContaining("limits differ") });
    expect(chart<BarChart>(parts, "hosts-cpu").series[1]!.values[0]).toBeCloseTo((100 * 41.1058) / 40, 2);
    expect(table(parts, "hosts-table").rows[0]).toMatchObject({ host: "esx-1", full: { tone: "bad" } });
    expect(parts.promises[0]).toMatchObject({ met: false, note: "esx-1" });
  });

  it("marks parking and ways back, and moves that never end but not new VMs", () => {
    const kinds = (of: View, id: string) => column(table(of, id).rows, "kind").map((each) => (each as { text: string } | null)?.text);
    expect(kinds(shown, "moves-table")).toEqual([undefined, "parking", undefined, undefined]);
    expect(chart<BarChart>(shown, "steps-chart").series.map((each) => [each.name.split(":")[0], each.values])).toEqual([
      ["moves", [null, 84.4351, 71.8149]],
      ["with parking", [97.9567, null, null]],
    ]);
    const rolling = view("placement", evacuate);
    expect(rolling.answer.text).toMatch(/^esx-3, esx-4 can be emptied: 20 moves of 10 VMs in 6 steps/);
    expect(kinds(rolling, "steps")).toEqual([undefined, undefined, "back", undefined, undefined, "back"]);
    expect(column(table(rolling, "steps").rows, "empty")).toEqual(["", "esx-3", "esx-3", "", "esx-4", "esx-4"]);
    const bare = view("placement", { ...evacuate, certificate: survive.certificate });
    expect(bare.answer).toMatchObject({ tone: "warn", more: ["Without esx-3, dwh-2 finds no host: it lacks 59.2 GiB of memory on esx-4."] });
    const endless = copy(plan);
    const made = endless.moves as { from: string | null; seconds: number | null }[];
    for (const move of made) Object.assign(move, { from: null, seconds: null });
    const created = view("placement", { ...endless, command: "place" });
    expect(created.answer.text).toMatch(/^4 new VMs have a place; 4 hosts have VMs then\./);
    expect(column(table(created, "moves-table").rows, "from")).toEqual(["new", "new", "new", "new"]);
    expect(column(table(created, "moves-table").rows, "seconds")).toEqual([null, null, null, null]);
    made[2]!.from = "esx-1";
    const never = view("placement", endless);
    expect(never.answer.text).toContain("of which some never end");
    expect(table(never, "moves-table").rows[2]!["seconds"]).toMatchObject({ text: "never ends", tone: "bad" });
    expect(table(never, "steps").rows.map((row) => (row["seconds"] as { tone?: string }).tone)).toEqual([undefined, "bad", undefined]);
  });

  it("names what finds no host, what it lacks and what would help", () => {
    const lost = view("placement", { ...survive, failover: { survives: false, text: "" } }, { answer: "prod survives 3 of 4 host failures." });
    expect(lost.answer).toMatchObject({ tone: "bad", text: "prod survives 3 of 4 host failures." });
    expect(lost.answer.more).toEqual(["Would help: dwh-2 with 200 GiB of memory in place of 256 GiB.", "Would help: one more host like esx-1."]);
    const grid = chart<HeatMap>(lost, "grid");
    expect(grid.x.categories).toEqual(["no host", "esx-1", "esx-2", "esx-3", "esx-4"]);
    expect(grid.rows.map((row) => row.name)).toEqual(["esx-3", "esx-1", "esx-2", "esx-4"]);
    expect(grid.rows[0]!.values[0]).toBe(1);
    expect(grid.rows[0]!.values[3]).toBeNull();
    expect(grid.rows[1]!.values[0]).toBeNull();
    expect(grid.marks!.points).toEqual([{ row: 0, column: 0, text: "dwh-2 lacks 59.2 GiB of memory on esx-4" }]);
    expect(table(lost, "nowhere").rows[0]).toMatchObject({ vm: "dwh-2", failed: "esx-3", kind: { tone: "bad" } });
    expect(table(lost, "restarts").rows).toHaveLength(Object.values(survive.certificate).reduce((sum, each) => sum + Object.keys(each.placed).length, 0));
    expect(lost.sections.map((each) => each.id)).toEqual(["hosts", "failures", "decisions"]);
    const safe = copy(survive) as Record<string, any>;
    safe["certificate"]["esx-3"].unplaced = [];
    expect(view("placement", { ...safe, failover: { survives: true, text: "" } }, { answer: "all" }).answer).toMatchObject({ tone: "good", text: "all" });
    expect(chart<HeatMap>(view("placement", safe), "grid").marks).toBeUndefined();
    expect(view("placement", { ...safe, certificate: {}, failover: { survives: null, text: "" } }, { answer: "none" }).answer).toMatchObject({ tone: "warn" });
  });

  it("says that nothing has to move, and that there is no plan and why", () => {
    const still = view("placement", { ...plan, moves: [], steps: [], commands: {}, explained: [] });
    expect(still.answer.text).toMatch(/^Nothing to gain: no VM has to move\. Proven/);
    expect(words(still)).toContain("No VM has to move.");
    const none = view("placement", infeasible);
    expect(none.answer).toMatchObject({ tone: "bad", text: "There is no such plan, and that is proven. What binds: memory, rule db-apart, failure of esx-2." });
    expect(none.answer.more![0]).toBe("There is one without rule db-apart and new-3; nothing less will do.");
    expect(cards(none)["Plan"]).toBe("none exists");
    expect(words(none)).toContain("without rule erp-apart: does not help");
    expect(view("placement", { ...infeasible, proven: false }).answer.text).toMatch(/^No plan was found; that there is none is not proven\./);
  });

  it("puts the twin's worst failure first, and says when it misses or is not sure", () => {
    expect(chart<RangeChart>(shown, "objective-0").rows.map((row) => row.name)).toEqual(["before", "after", "without esx-2", "without esx-4", "without esx-1", "without esx-3"]);
    expect(chart<RangeChart>(shown, "objective-0").rows[0]).toMatchObject({ low: expect.closeTo(8.63), middle: 9.84, high: expect.closeTo(11.05), marks: [{ value: 5 }] });
    expect(shown.confidence.map((each) => each.text)).toContain("Met on average, but intervals reach beyond limits: without esx-2.");
    const missed = copy(plan);
    Object.assign(missed.verified.failures["esx-1"], { meets: false, sure: false });
    const bad = view("placement", missed);
    expect(bad.answer.tone).toBe("warn");
    expect(bad.promises.at(-1)).toEqual({ text: "Objectives, by the twin", met: false, note: "without esx-1" });
    const unknown = copy(plan);
    unknown.verified.failures["esx-3"].metrics["ready_pct<5"].mean = null as never;
    expect(chart<RangeChart>(view("placement", unknown), "objective-0").rows[2]).toMatchObject({ name: "without esx-3", low: null, middle: null });
    const low = JSON.parse(JSON.stringify(plan).replaceAll("ready_pct<5", "throughput>5"));
    expect(chart<RangeChart>(view("placement", low), "objective-0").rows[2]!.name).toBe("without esx-3");
  });

  it("tells policies, the ratio, other demands, and commands to paste", () => {
    expect(table(shown, "policies").rows.map((row) => [row["policy"], (row["on"] as { text: string }).text, row["decided"]])).toEqual([
      ["monsters-apart", "on", "db-1 and db-2 are kept apart"],
      ["room-for-the-largest", "on", "dwh restarts on esx-4"],
      ["no-hyper-threads", "off", ""],
    ]);
    expect(words(shown)).toContain("all is well: at most 1.25 vCPUs per core, on esx-2, and 4 are allowed");
    expect(words(shown)).toContain(plan.ratio.twin);
    const rows = table(shown, "basis").rows.map((row) => `${row["what"]}, ${row["name"]}: ${row["says"]}`);
    expect(rows).toContain("fullest host by another demand, mean: esx-2 at 71.3 % of what may be used: mean of 2,016 samples of 5 min");
    expect(rows).toContain("fullest host by another demand, peak: no peak was measured");
    expect(rows).toContain("vCPUs per core, after: 1.25");
    expect(rows).toContain("limit, CPU: 80 %");
    const texts = blocks(shown).flatMap((each) => (each.type === "text" ? [each.name] : []));
    expect(texts).toEqual(["moves.ps1", "moves.sh"]);
  });

  it("stays small for 64 hosts and 2,000 VMs", () => {
    const names = Array.from({ length: 64 }, (_, at) => `esx-${at + 1}`);
    const vms = (host: number) => Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`vm-${host}-${at}`, names[(host + at + 1) % 64]!]));
    const certificate = Object.fromEntries(names.map((name, at) => [name, { ...plan.certificate["esx-1"], failed: [name], placed: vms(at) }]));
    const large = view("placement", { ...plan, certificate, hosts: names.map((name) => ({ ...plan.hosts[0], name })) });
    const grid = chart<HeatMap>(large, "grid");
    expect([grid.rows.length, grid.columns.length, grid.top]).toEqual([64, 65, 1]);
    expect(table(large, "restarts").rows).toHaveLength(64 * 31);
    const groups = blocks(large).filter((each) => each.type === "group");
    expect(groups.find((each) => each.heading === "Where every VM restarts")!.closed).toBe(true);
  });
});

describe("validation", () => {
  const row = validation[0]!;
  const rows = [
    { ...row, case: "near", published: 100, twin: 101, error: 1, error_pct: 1, tolerance: 5, tolerance_pct: 5, pass: true, promised: true, kind: "predicted", range: false, unit: "ms", metric: "p95", reason: "" },
    { ...row, case: "known", published: 100, twin: 150, error: 50, error_pct: 50, tolerance: 5, tolerance_pct: 5, pass: false, promised: false, kind: "predicted", range: false, unit: "ms", metric: "p95", reason: "a cold cache" },
    { ...row, case: "broken", published: 100, twin: 110, error: 10, error_pct: 10, tolerance: 5, tolerance_pct: 5, pass: false, promised: true, kind: "calibrated", range: false, unit: "ms", metric: "p95", reason: "" },
    { ...row, case: "open", published: 100, twin: 1, error: -99, error_pct: -99, tolerance: 0, tolerance_pct: 0, pass: null, promised: false, kind: "predicted", range: true, unit: "ms", metric: "p95", reason: "no physics" },
  ];

  it("names what failed its promise first, then known misses with their reason", () => {
    const shown = view("validation", rows);
    expect(shown.answer.tone).toBe("bad");
    expect(shown.answer.more![0]).toMatch(/^broken, p95: .*\(\+10 %, tolerance/);
    expect(shown.answer.more![1]).toMatch(/^known, p95: .*: a cold cache$/);
    expect(column(table(shown, "outside").rows, "case")).toEqual(["broken", "known"]);
    expect(column(table(shown, "figures").rows, "case")).toEqual(["broken", "known", "near", "open"]);
    expect(column(table(shown, "figures").rows, "verdict").map((each) => (each as { text: string }).text)).toEqual(["failed", "known miss", "within tolerance", "not judged"]);
    expect(shown.promises).toMatchObject([{ met: false, note: "1 of 2, 1 known to be missed, 1 not judged" }]);
  });

  it("is good where nothing is missed, and judges nothing where nothing is promised", () => {
    expect(view("validation", [rows[0]]).answer.tone).toBe("good");
    expect(view("validation", [rows[1]])).toMatchObject({ answer: { tone: "warn" }, promises: [{ met: null }] });
    expect(view("validation", []).answer.tone).toBe("warn");
  });

  it("draws numbers with their tolerance, calibrated ones hollow, ranges not at all", () => {
    const drawn = charts(view("validation", rows)).find((each) => each.type === "scatter") as ScatterChart;
    expect(drawn.diagonal).toEqual({ within_pct: [5] });
    expect(drawn.marks[0]!.points.map((each) => [each.x, each.y, each.hollow])).toEqual([
      [100, 101, false],
      [100, 150, false],
      [100, 110, true],
    ]);
    expect(drawn.x.scale).toBe("linear");
    const wide = charts(view("validation", [...rows, { ...rows[0], published: 9000, twin: 9000 }]))[0] as ScatterChart;
    expect(wide.x.scale).toBe("log");
  });

  it("says which class the twin shows, and what the source says where that is something else", () => {
    const classes = [
      { ...rows[0], class: "memory", expected_class: "memory", class_right: true, words: "it stalls", note: "by hand" },
      { ...rows[0], class: "memory", expected_class: "host-cpu", class_right: false },
      { ...rows[3], class: "memory", expected_class: "devices", class_right: null },
      { ...rows[0], class: "latency", expected_class: "", class_right: null },
    ];
    const drawn = view("validation", classes);
    const made = table(drawn, "figures").rows.map((each) => each["class"]);
    expect(made).toEqual([
      { tone: "good", text: "memory" },
      { tone: "bad", text: "memory, not host-cpu" },
      { tone: "plain", text: "latency" },
      { tone: "plain", text: "memory" },
    ]);
    expect(table(drawn, "figures").rows[0]!["note"]).toBe("“it stalls” by hand");
    expect(drawn.cards.find((each) => each.name === "Class right")!.value).toBe("1 of 3");
    expect(view("validation", [classes[3]!]).cards.map((each) => each.name)).not.toContain("Class right");
  });

  it("draws the figures of all sources at once, with what those of each come to", () => {
    const both = [...rows, { ...rows[0], study: "other", published: 9000, twin: 90, error_pct: -99, pass: false, promised: false, reason: "too slow" }, { ...rows[0], study: "other", published: 1e-12, twin: 1e-12 }];
    const sum = (name: string, figures: number, parameters: number) => ({ name, figures, calibrated: 1, class_right: 2, class_named: 3, within_10: 3, within_15: 3, within_25: 4, not_judged: 1, parameters });
    const beside = { studies: [{ name: "other", title: "Another", source: "s" }], sums: [sum("monster-vm", 4, 1), sum("other", 2, 1), sum("all", 6, 2)] };
    const drawn = view("validation", both, beside);
    expect(drawn.sections.map((each) => each.id).slice(0, 2)).toEqual(["outside", "together"]);
    const all = chart<ScatterChart>(drawn, "scatter-all");
    expect([all.x.scale, all.diagonal]).toEqual(["log", { within_pct: [10, 25] }]);
    expect(all.text).toContain("2 bounds and figures near 0");
    expect(all.alternative).toBe("3 of 6 figures within 10 %, 4 within 25 %.");
    expect(all.marks.map((each) => [each.name, each.points.length])).toEqual([
      ["within tolerance", 1],
      ["failed", 1],
      ["known miss", 2],
    ]);
    expect(all.marks[2]!.points[1]).toMatchObject({ x: 9000, y: 90, text: expect.stringMatching(/^other, near, p95: .*: too slow$/) });
    const errors = chart<RangeChart>(drawn, "errors");
    expect(errors.rows.map((each) => [each.name, each.low, each.high, each.marks.length])).toEqual([
      ["monster-vm", -10, 10, 4],
      ["other", -10, 10, 2],
    ]);
    expect(errors.rows[1]!.marks[0]).toMatchObject({ value: -99, tone: "warn" });
    expect(table(drawn, "sums").rows.map((each) => each["parameters"])).toEqual([1, { value: 1, tone: "warn", text: "1, over a quarter" }, 2]);
    expect(table(drawn, "sums").rows[0]!["class_right"]).toEqual({ value: 2, text: "2 of 3" });
    expect(view("validation", rows, { sums: [] }).sections.map((each) => each.id)).not.toContain("together");
  });

  it("lists free parameters, and closes studies where there are many", () => {
    const many = Array.from({ length: 7 }, (_, place) => ({ ...rows[0]!, study: `study ${place}`, parameters: { "hosts.esx.smt_yield": "the pair" } }));
    const drawn = view("validation", many);
    expect(drawn.sections.filter((each) => each.closed).length).toBe(7);
    const items = blocks(drawn).flatMap((each) => (each.type === "list" ? each.items : []));
    expect(items[0]).toEqual({ text: "Set by the source: hosts.esx.smt_yield, by the pair" });
    expect(view("validation", many.slice(1)).sections.some((each) => each.closed)).toBe(false);
  });

  it("draws a metric with many figures by case, the furthest off first", () => {
    const many = Array.from({ length: 50 }, (_, place) => ({ ...rows[0]!, case: `case ${place}`, error: place / 20, twin: 100 + place / 20 }));
    const drawn = charts(view("validation", many)).find((each) => each.type === "ranges") as RangeChart;
    expect(drawn.rows.length).toBe(40);
    expect(drawn.rows[0]).toMatchObject({ name: "case 49", low: 95, middle: 100, high: 105 });
    expect(drawn.text).toContain("10 closer ones");
    expect(charts(view("validation", many.map((each) => ({ ...each, tolerance: 0 })))).filter((each) => each.type === "ranges")).toEqual([]);
  });
});

describe("density", () => {
  it("says what is met at the answer, and by how much the first miss misses", () => {
    const shown = view("density", density);
    expect(shown.answer).toMatchObject({ tone: "good", text: density.answer.text });
    expect(shown.promises.map((each) => [each.text, each.met])).toEqual([
      ["response_ms.p95<40ms at 9 VMs", true],
      ["groups.db.response_ms.p99<50 at 9 VMs", true],
    ]);
    const drawn = chart<LineChart>(shown, "objective-response-ms-p95");
    expect(drawn.limits).toMatchObject([{ value: 40, tone: "bad" }]);
    expect(drawn.y.to).toBe(160);
    expect(drawn.marks![0]!.points).toMatchObject([{ x: 9 }]);
    expect(drawn.alternative).toContain("with 10 VMs");
    expect(column(table(shown, "counts").rows, "count")).toEqual(density.points.map((each) => each.count));
  });

  it("does not call an answer sure that is not", () => {
    const unsure = copy(density);
    unsure.answer.sure_count = 8;
    unsure.points.find((each) => each.count === 9)!.steady = false;
    const shown = view("density", unsure);
    expect(shown.answer.tone).toBe("warn");
    expect(shown.confidence.map((each) => each.tone).slice(0, 2)).toEqual(["warn", "bad"]);
    expect(shown.confidence[0]!.text).toBe("On average 9; with 95 % confidence only 8. Longer runs or more replications narrow that.");
    expect(shown.confidence[1]!.text).toContain("9 VMs did not reach a steady state");
  });

  it("warns where the answer overcommits memory", () => {
    const full = copy(density);
    full.memory_overcommit = 1.5;
    full.points.find((each) => each.count === 9)!.host_memory_pct = 140;
    const shown = view("density", full);
    expect(shown.answer.tone).toBe("warn");
    expect(chart<LineChart>(shown, "memory")).toMatchObject({ limits: [{ value: 150 }], text: expect.stringContaining("above 100 is not simulated") });
  });

  it("shows counts without memory as such, and draws how full hosts would be", () => {
    const shown = view("density", density);
    const memory = chart<LineChart>(shown, "memory");
    expect([memory.places.at(-1), memory.series[0]!.values.at(-1)]).toEqual([18, 137.5]);
    expect(memory.limits).toMatchObject([{ value: 100, tone: "bad" }]);
    expect(chart<LineChart>(shown, "throughput").places.at(-1)).toBe(12);
    expect(table(shown, "counts").rows.at(-1)).toMatchObject({ verdict: { tone: "bad", text: "no room" }, note: "memory of esx would be exceeded (176 GiB of 128 GiB, 137.5 %)" });
  });

  it("names the memory that runs out first", () => {
    const bound = copy(density);
    bound.answer = { ...bound.answer, limiting: "memory of esx", limited_by: "memory of esx" };
    for (const each of bound.points) if (each.count > 9 && each.count < 16) Object.assign(each, { meets: false, sure: false, reason: "memory of esx would be exceeded", lacks: "memory of esx" });
    expect(view("density", bound).cards[2]).toEqual({ name: "Runs out first", value: "memory of esx", remark: "with 10 VMs: memory of esx would be exceeded" });
    expect(view("density", density).cards[2]).toMatchObject({ name: "Missed first", value: "response_ms.p95" });
  });

  it("has an answer of none", () => {
    const none = copy(density);
    none.answer.count = none.answer.sure_count = 0;
    const shown = view("density", none);
    expect(shown.answer.tone).toBe("bad");
    expect(shown.promises.map((each) => each.met)).toEqual([false, false]);
    const impossible = { ...none, points: none.points.map((each) => ({ ...each, reason: "no host has room", lacks: null })) };
    expect(charts(view("density", impossible))).toEqual([]);
    expect(tables(view("density", impossible))[0]!.rows.every((row) => (row["verdict"] as { text: string }).text === "impossible")).toBe(true);
  });
});

describe("durability", () => {
  it("names the cheapest scheme for the most nines that any has", () => {
    expect(view("durability", durability).answer.text).toMatch(/^For 6 nines a year ec-17\+3 needs the least capacity: 118 GB/);
    const { answer } = view("durability", { ...durability, schemes: durability.schemes.filter((each) => each.scheme === "replicas-2" || each.scheme === "ec-3+1") });
    expect(answer.text).toBe("None of 2 schemes reaches 4 nines.");
  });

  it("does not promise more nines than a model can", () => {
    const shown = view("durability", pool);
    expect(shown.answer).toMatchObject({ tone: "warn", text: expect.stringContaining("more than 12 nines") as string });
    expect(table(shown, "schemes").rows[0]).toMatchObject({ markov_nines: { text: "more than 12" }, markov: { text: "<1e−13" }, mttdl: { text: "beyond" } });
    expect(view("durability", pool, { warnings: ["How full?"] }).confidence[0]).toEqual({ tone: "warn", text: "How full?" });
  });

  it("draws loss over repair time with the repair time of the page", () => {
    const curves = { "ec-17+3": [{ repair_s: 86_400, backblaze: 1e-12, markov: 2e-12 }, { repair_s: 864_000, backblaze: 1e-9, markov: 0 }] };
    const drawn = chart<LineChart>(view("durability", durability, { curves }), "repair");
    expect(drawn.places).toEqual([1, 10]);
    expect(drawn.series[0]!.values, "no place on a logarithmic axis for zero").toEqual([2e-12, null]);
    expect(drawn.moments).toMatchObject([{ x: 6.5, text: "repair time 6.5 d" }]);
  });
});

describe("calibration", () => {
  it("says what was fitted and what the data do not tell", () => {
    const shown = view("calibration", calibration, { summary: "2 parameters fitted." });
    expect(shown.answer).toMatchObject({ tone: "good", text: "2 parameters fitted." });
    expect(shown.promises.every((each) => each.met)).toBe(true);
    const unsure = copy(calibration) as unknown as { parameters: { identified: boolean; interval: number[] | null }[] };
    Object.assign(unsure.parameters[1]!, { identified: false, interval: null });
    const doubtful = view("calibration", unsure);
    expect(doubtful.answer.tone).toBe("warn");
    expect(doubtful.promises[1]).toMatchObject({ met: false, note: "not workloads.oltp.delay.mean" });
    expect(chart<RangeChart>(doubtful, "parameters").rows[1]).toMatchObject({ low: null, high: null, marks: [{ tone: "warn" }] });
  });

  it("draws measured against twin, before and after, what was held out hollow", () => {
    const drawn = chart<ScatterChart>(view("calibration", calibration), "fit-groups-db-response-ms-mean");
    expect(drawn.marks.map((each) => [each.name, each.points.length, each.points[0]!.hollow])).toEqual([
      ["before", 6, true],
      ["fitted", 6, false],
      ["held out", 2, true],
    ]);
  });
});

describe("a measured curve", () => {
  const value = (row: number, depth: number, metric: string, measured: number, twin: number) => ({
    ...calibration.points[0]!,
    ...{ row, metric, measured, twin, name: `reads of 4 KiB, random, ${depth} outstanding` },
    set: { "workloads.w.arrivals.io.outstanding": depth, "workloads.w.arrivals.io.workers": Math.min(depth, 2), "workloads.w.read_pct": 100 },
  });
  const deep = [value(1, 16, "groups.db.iops", 90_000, 80_000), value(1, 16, "groups.db.io_latency_ms.mean", 0.17, 0.2)];
  const single = [value(2, 1, "groups.db.iops", 10_000, 11_000), value(2, 1, "groups.db.io_latency_ms.mean", 0.1, 0.09)];

  it("is drawn from shallow to deep, measured and in the twin", () => {
    const drawn = chart<ScatterChart>(view("calibration", { ...calibration, points: [...deep, ...single] }), "io-curve");
    expect(drawn.marks.map((each) => [each.name, each.line, each.points.map(({ x, y }) => [x, y])])).toEqual([
      ["reads of 4 KiB, random · measured", "solid", [[10_000, 0.1], [90_000, 0.17]]],
      ["reads of 4 KiB, random · twin", "dashed", [[11_000, 0.09], [80_000, 0.2]]],
    ]);
    expect(drawn.alternative).toContain("16 outstanding: measured 90,000 IOPS in 0.17 ms");
  });

  it("is none with one depth, or without latency", () => {
    const shown = view("calibration", { ...calibration, points: [...deep, single[0]!] });
    expect(JSON.stringify(shown)).not.toContain("io-curve");
  });
});

describe("contention", () => {
  it("holds the medians against what is promised", () => {
    const shown = view("contention", contention);
    expect(shown.promises.map((each) => each.met)).toEqual([false, false, true, true]);
    expect(shown.answer).toMatchObject({ tone: "bad", text: expect.stringMatching(/throughput and mean response beyond what is promised\.$/) as string });
    const good = view("contention", { ...contention, medians: contention.promised, experiments: contention.experiments.map((each) => ({ ...each, flagged: false })) });
    expect(good.answer.tone).toBe("good");
    expect(view("contention", { ...contention, experiments: [], medians: {} })).toMatchObject({ answer: { tone: "warn" }, promises: [{ met: null }, { met: null }, { met: null }, { met: null }] });
  });

  it("marks what other work disturbed", () => {
    const points = chart<ScatterChart>(view("contention", contention), "throughput-per-s").marks[0]!.points;
    const flagged = contention.experiments.flatMap((each) => each.rows.map(() => each.flagged));
    expect(points.map((each) => each.hollow)).toEqual(flagged);
    expect(flagged).toContain(true);
  });
});

describe("guests", () => {
  it("draws what the host gave beside the twin", () => {
    const drawn = chart<BarChart>(view("guests", guests), "shares");
    const [first] = guests.guests;
    expect(drawn.categories.slice(0, 2)).toEqual(["guest-1, measured", "guest-1, twin"]);
    expect(drawn.series[0]!.values.slice(0, 2)).toEqual([first!.host.run_pct, first!.twin.run_pct]);
  });

  it("warns of a disturbed measurement, and draws four guests over time at most", () => {
    const many = Array.from({ length: 9 }, (_, place) => ({ ...guests.guests[0]!, name: `guest-${place}` }));
    const shown = view("guests", { ...guests, guests: many, measurement: { ...guests.measurement, disturbed: true } });
    expect(shown.answer.tone).toBe("warn");
    expect(charts(shown).filter((each) => each.type === "lines").length).toBe(4);
    expect(charts(view("guests", { ...guests, guests: [] }))).toEqual([]);
  });
});

describe("diagnosis", () => {
  const places = diagnosis.findings.map((_, place) => place);
  const root = diagnosis.findings.findIndex((each) => each.code === "hidden-host-saturation");
  const follows = places.filter((place) => diagnosis.findings[place]!.cause !== null);
  const stories = [[root, ...follows], ...places.filter((place) => place !== root && !follows.includes(place)).map((place) => [place])];

  it("tells causes with what follows from them, worst first", () => {
    const shown = view("diagnosis", diagnosis, { summary: "Much is wrong.", stories, evidence: places.map((place) => [`figure ${place}`]) });
    expect(shown.answer).toMatchObject({ tone: "bad", text: "Much is wrong." });
    const rows = table(shown, "glance").rows;
    expect(rows.filter((row) => row["cause"] === "hidden-host-saturation").length).toBeGreaterThan(0);
    const section = shown.sections.find((each) => each.id === "hidden-host-saturation")!;
    expect(blocksOf(section.blocks).filter((each) => each.type === "group" && each.heading.startsWith("follows: ")).length).toBeGreaterThan(0);
    const told = blocksOf(section.blocks).flatMap((each) => (each.type === "list" ? each.items : []));
    expect(told.map((each) => each.text)).toContain(`figure ${root}`);
    expect(told.some((each) => each.address?.startsWith("https://"))).toBe(true);
  });

  it("keeps hundreds of findings behind lines, and has all of them in a table", () => {
    const finding = diagnosis.findings.find((each) => each.code === "cpu-limit")!;
    const findings = Array.from({ length: 300 }, (_, place) => ({ ...finding, name: `vm-${place}`, entity: `vm/${place}`, title: `vm-${place} is limited` }));
    const shown = view("diagnosis", { ...diagnosis, findings });
    const section = shown.sections.find((each) => each.id === "cpu-limit")!;
    expect(section.blocks.length).toBe(4);
    expect(section.blocks[3]).toMatchObject({ type: "group", closed: true, heading: expect.stringMatching(/^297 more: vm-3, /) as string });
    expect(section.blocks.map((each) => each.type === "group" && each.closed)).toEqual([false, true, true, true]);
    expect(column(table(shown, "findings").rows, "name").slice(0, 3)).toEqual(["vm-0", "vm-1", "vm-2"]);
    expect(table(shown, "findings").filters).toContain("severity");
  });

  it("draws figures over time with their limits", () => {
    const series = [{ what: "ready, per vCPU", unit: "%", x: ["2026-01-01 10:00:00", "2026-01-01 10:05:00"].map((each) => `${each}Z`), mean: [1, 8], most: [2, 9], band: { direction: "above", warning: 5, critical: 100 } }];
    const drawn = charts(view("diagnosis", { ...diagnosis, findings: [diagnosis.findings[0]] }, { series: [series] }))[0] as LineChart;
    expect(drawn.places).toEqual([0, 5]);
    expect(drawn.x).toEqual({ name: "since 2026-01-01 10:00 UTC", unit: "min" });
    expect(drawn.limits).toMatchObject([{ value: 5, name: "warning" }]);
    expect(drawn.series.map((each) => each.values)).toEqual([[1, 8], [2, 9]]);
  });

  it("says that nothing was found only with what was not checked", () => {
    const shown = view("diagnosis", { ...diagnosis, findings: [] }, { summary: "Nothing found.", not_checked: ["a: needs b"] });
    expect(shown.answer.tone).toBe("warn");
    expect(shown.sections.map((each) => each.id)).toEqual(["clusters", "not-checked"]);
  });

  it("has a row for each cluster and host, and says what is not known", () => {
    const shown = view("diagnosis", diagnosis);
    expect(table(shown, "clusters").rows).toMatchObject([{ cluster: "default", vms: 13, cpu: 69.3, used: null }]);
    expect(column(table(shown, "hosts").rows, "name")).toEqual(["esx-1", "esx-2"]);
    expect(table(shown, "hosts").rows[0]).toMatchObject({ memory: 256, critical: { tone: "bad" } });
    const told = blocks(shown).flatMap((each) => (each.type === "prose" ? each.paragraphs : []));
    expect(told).toContain("default: of 2 VMs the host is not known; they count in the cluster only.");
    expect(told).toContain("CPU and memory used: telemetry.");
    const alone = { ...diagnosis, clusters: [{ ...diagnosis.clusters[0]!, key: null, hosts: [diagnosis.clusters[0]!.hosts[0]] }] };
    expect(view("diagnosis", alone).sections.map((each) => each.id)).not.toContain("clusters");
  });
});

describe("size and vnuma", () => {
  it("show the drawing, the candidates and what to paste", () => {
    const drawings = [{ caption: "a host", svg: "<svg/>" }];
    const shown = view("size", size, { drawings });
    expect(shown.answer.tone).toBe("good");
    expect(blocks(shown).find((each) => each.type === "drawing")).toMatchObject(drawings[0]!);
    expect(column(table(shown, "candidates").rows, "name")[0]).toBe("advised");
    expect(blocks(shown).flatMap((each) => (each.type === "text" ? [each.name] : []))).toEqual(["machine.vmx", "machine.ps1", "machine.govc.sh"]);
  });

  it("warn of a layout that is wrong", () => {
    const wrong = { ...vnuma, warnings: [{ code: "odd-wide", text: "uneven" }], collapsed: true };
    expect(view("vnuma", wrong)).toMatchObject({ answer: { tone: "warn", more: ["uneven", expect.any(String)] }, promises: [{ met: false }, { met: false }] });
  });
});

describe("comparison", () => {
  const change = { at: "", of: "group", name: "db", figure: "response_ms.p99", unit: "ms", a: 10, b: 20, a_ci95: 1, b_ci95: 1, change: 10, change_pct: 100, beyond: true };
  const side = { file: "x/a.json", version: "1", date: null, command: null };
  const found = { kind: "simulation", a: side, b: side, settings: [], scenario_diff: null, changes: [] as (typeof change)[], verdicts: [], missing: [], same: 7 };

  it("says that nothing changed", () => {
    const shown = view("comparison", found, { summary: "All 7 figures are the same." });
    expect(shown.answer).toMatchObject({ tone: "good", text: "All 7 figures are the same." });
    expect(shown.sections).toEqual([]);
  });

  it("begins with no change that replications explain, and with what is known where none has intervals", () => {
    const more = (...changes: (typeof change | object)[]) => view("comparison", { ...found, changes }, { summary: "said" }).answer.more;
    const within = { ...change, b: 10.5, beyond: false };
    const unknown = { ...change, figure: "used_mhz", b_ci95: null, beyond: null };
    expect(more(unknown, within)).toEqual([]);
    expect(more(change, unknown, within)).toHaveLength(1);
    expect(more(unknown)).toHaveLength(1);
  });

  it("shows changes, settings, verdicts and what is missing", () => {
    const shown = view("comparison", {
      ...found,
      changes: [change, { ...change, figure: "iops", a: 0, change_pct: null, beyond: null, a_ci95: null }],
      settings: [{ what: "seed", a: "1", b: null }],
      verdicts: [{ at: "", of: "figure", name: "m", figure: "pass", a: "yes", b: "no" }],
      missing: [{ at: "", of: "VM", name: "web-2", figure: "", only_in: "b" }],
    });
    expect(shown.answer).toMatchObject({ tone: "warn", more: [expect.stringContaining("+100 %")] });
    expect(shown.sections.map((each) => each.id)).toEqual(["settings", "verdicts", "changes", "missing"]);
    expect(chart<BarChart>(shown, "largest").categories).toEqual(["group db response_ms.p99"]);
    expect(table(shown, "changes").columns.map((each) => each.key)).not.toContain("at");
    expect(column(table(shown, "settings").rows, "b")).toEqual(["as in the scenario"]);
    expect(shown.confidence.map((each) => each.text)).toEqual([
      "Set differently: seed.",
      "Only in B: VM web-2.",
      "1 changed figure has 95 % intervals on both sides; 1 changed by more than those.",
    ]);
  });
});
