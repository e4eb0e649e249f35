import { describe, expect, it } from "vitest";
import type { BarChart, Block, Chart, HeatMap, LineChart, ScatterChart, Section, Table, View } from "../view";
import { SIMULATION } from "../simulation";
import type { Beside } from "./beside";
import type { Break, Cluster, Point, Sign } from "./document";
import { batchSweep, host, page, point, slow, type Some, vm } from "./examples.test.data";
import { axes, groupOf, where } from "./points";
import { NONE } from "./signs";
import { binned } from "./time";

function shown(points: Point[], chosen: Record<string, string> = {}, beside: Beside = {}, notes: string[] = []): View {
  return SIMULATION.view(page(points, beside, notes), chosen);
}

const blocks = (view: View): Block[] => view.sections.flatMap((section) => section.blocks);
const charts = (view: View): Chart[] => blocks(view).flatMap((block) => (block.type === "charts" ? block.charts : []));
const table = (view: View, id: string): Table =>
  blocks(view).flatMap((block) => (block.type === "table" && block.table.id === id ? [block.table] : []))[0]!;
const lines = (view: View, id: string) => charts(view).find((chart) => chart.id === id) as LineChart;
const section = (view: View, id: string) => view.sections.find((each) => each.id === id) as Section;

describe("many groups", () => {
  const times = (p99: number) => ({
    mean: 10,
    p50: 8,
    p95: 30,
    p99,
    max: 90,
    ci95: 0.2,
    curve: [
      [50, 8],
      [99, p99],
    ] as [number, number][],
  });
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`app${index}`, vm({ response_ms: times(50 + ((index * 7) % 30)) })]),
  );

  it("tells apart those that it draws", () => {
    const drawn = lines(shown([point(many)]), "response-curve").series;
    expect(drawn.length).toBe(8);
    expect(new Set(drawn.map((each) => each.colour % 8)).size).toBe(8);
  });
});

describe("waiting", () => {
  it("is no figure below what the model resolves", () => {
    const view = shown([point({ db: vm({ ready_pct: 7e-5, costop_pct: 0.2 }) })]);
    expect(view.cards.map((card) => card.value)).toEqual(expect.arrayContaining(["<0.5 %"]));
    expect(table(view, "vms").rows[0]).toMatchObject({
      ready_pct: { value: 7e-5, text: "<0.5" },
      costop_pct: { value: 0.2, text: "<0.5" },
    });
    expect(JSON.stringify(view)).not.toContain("e−5");
  });

  it("is that of the worst VM of a group, and the group comes first", () => {
    const hurt: Sign = { metric: "ready_pct", severity: "critical", value: 12, weight: 1.2, text: "ready 12%" };
    const swept = [1, 2].map((load) => {
      const made = point({ app: vm({ ready_pct: 9 }), bat: vm({ count: 3, ready_pct: 8 }) }, { set: { load } });
      made.vms["bat-2"]!.ready_pct = 12;
      return { ...made, judgement: { ...NONE, vms: { "bat-2": [hurt] } } };
    });
    const view = shown(swept);
    const card = view.cards.find((each) => each.name.startsWith("Ready"));
    expect(card).toEqual({ name: "Ready per vCPU, at most", value: "12 %", remark: "bat-2, load 1" });
    expect(section(view, "sweep").heading).toBe("Against load, times: bat, app");
  });

  it("is not the time in which free CPUs wake up", () => {
    const of = (waiting_pct: number) => shown([point({ db: vm({ ready_pct: 12, waiting_pct }) })]);
    expect(section(of(0), "vcpu-time").heading).toBe("vCPU time: no VM waits for CPU");
    expect(charts(of(9)).find((chart) => chart.id === "time-split")!.alternative).toContain("db waits most for CPU");
  });
});

describe("a sweep", () => {
  it("has the intervals with the twin's own error in its charts and tables, for few lines", () => {
    const ends = (low: number, high: number) => ({ low, high, basis: "cpu latency" });
    const swept = (...groups: string[]) =>
      [1, 2, 3].map((load) =>
        point(Object.fromEntries(groups.map((name) => [name, vm()])), {
          set: { "vms.db.load": load },
          model_error: {
            ...{ hosts: {}, clusters: {}, pools: {}, bases: {} },
            groups: Object.fromEntries(groups.map((name) => [name, { response_ms_mean: ends(load, 10 * load) }])),
          },
        }),
      );
    const view = shown(swept("db"));
    const [series] = lines(view, "response-mean").series;
    expect([series!.lows, series!.highs]).toEqual([
      [1, 2, 3],
      [10, 20, 30],
    ]);
    expect(lines(view, "response-p99").series[0]!.lows).toBeUndefined();
    expect(table(view, "points").rows[1]!["response_ms_mean"]).toEqual({
      value: 10,
      half_width: 0.2,
      low: 2,
      high: 20,
    });
    const many = lines(shown(swept("a", "b", "c", "d", "e")), "response-mean").series;
    expect(many.map((each) => each.lows)).toEqual([undefined, undefined, undefined, undefined, undefined]);
  });

  it("draws all groups by name, those that are not swept too, with their half-widths", () => {
    const view = shown(batchSweep());
    expect(section(view, "sweep").heading).toBe("Against batch: number of VMs: batch, db");
    const p99 = lines(view, "response-p99");
    expect(p99.places).toEqual([0, 1, 2, 3]);
    expect(p99.series.map(({ name, values }) => [name, values])).toEqual([
      ["batch", [null, 314, 545, 750]],
      ["db", [53, 68, 133, 252]],
    ]);
    expect(lines(view, "throughput").series[1]!.halfWidths).toEqual([1, 1, 1, 1]);
    expect(lines(view, "run-queue").text).toBe("Running and runnable guest processes of all VMs of the group.");
    expect(lines(view, "ready-costop").series.map((each) => each.name)).toEqual([
      "batch · ready",
      "db · ready",
      "batch · co-stop",
      "db · co-stop",
    ]);
    expect(lines(view, "cpu").series.at(-1)).toMatchObject({ name: "host usage", values: [44, 100, 100, 100] });
  });

  it("sets pools side by side: what may be stored, and what is busiest", () => {
    const station = (utilization_max_pct: number) => ({ utilization_max_pct }) as never;
    const swept = (
      [
        ["ceph", 20, 90],
        ["vsan", 40, 30],
      ] as const
    ).map(([preset, room_gib, busy]) =>
      point(
        { db: vm() },
        {
          set: { "storage.pool.preset": preset },
          storage: { "pool-devices": station(busy), "pool-services": station(12) },
          space: {
            pool: { room_gib, stored_gib: 10, lost_host: { survives: true, heals: true, room_gib: 1, used_pct: 2 } },
          },
        },
      ),
    );
    const found = charts(shown(swept)) as BarChart[];
    const series = (id: string) =>
      found.find((chart) => chart.id === `${id}-db`)!.series.map(({ name, values }) => [name, values]);
    expect(series("room")).toEqual([
      ["usable", [20, 40]],
      ["stored", [10, 10]],
    ]);
    expect(series("limits")).toEqual([
      ["devices", [90, 30]],
      ["services", [12, 12]],
    ]);
  });

  it("shows where groups suffer, and nothing where none does", () => {
    const suffers: Break = {
      group: "db",
      line: "",
      where: "from 2 batch VMs on",
      suffers: true,
      set: { "vms.batch.count": 2 },
      signs: ["p99 133 ms"],
      why: "esx is at 100 %",
    };
    const view = SIMULATION.view(page(batchSweep(), {}, [], { breaks: [suffers] }), {});
    expect(table(view, "where-it-breaks").rows).toEqual([
      {
        group: "db",
        line: "",
        suffers: { tone: "bad", text: "from 2 batch VMs on" },
        signs: "p99 133 ms",
        why: "esx is at 100 %",
      },
    ]);
    const nowhere = { ...suffers, suffers: false, where: "nowhere", set: null };
    expect(section(SIMULATION.view(page(batchSweep(), {}, [], { breaks: [nowhere] }), {}), "breaks")).toBeUndefined();
    const [choice] = SIMULATION.choices(page(batchSweep(), {}, [], { breaks: [nowhere, suffers] }));
    expect(choice).toMatchObject({ key: "point", initial: "2" });
  });

  it("opens at its last point where nothing breaks, and shows the chosen one", () => {
    const [choice] = SIMULATION.choices(page(batchSweep()));
    expect(choice).toMatchObject({ key: "point", initial: "3" });
    expect(choice!.options.map((each) => each.name)).toEqual([
      "no batch VM",
      "1 batch VM",
      "2 batch VMs",
      "3 batch VMs",
    ]);
    expect(section(shown(batchSweep(), { point: "3" }), "groups").heading).toBe("Groups side by side (3 batch VMs)");
    expect(section(shown(batchSweep(), { point: "7000" }), "groups").heading).toContain("3 batch VMs");
  });

  it("puts a load along x and other paths into lines, for each group apart", () => {
    const points = [2, 4].flatMap((vcpus) =>
      [3, 1].map((load) =>
        point({ db: slow(load * 10), web: vm() }, { set: { "vms.db.vcpus": vcpus, "vms.db.load": load } }),
      ),
    );
    const view = shown(points);
    expect(axes(points)).toEqual({ x: "vms.db.load", others: ["vms.db.vcpus"] });
    const mean = lines(view, "response-mean-db");
    expect(mean.series.map(({ name, values }) => [name, values])).toEqual([
      ["2 vCPUs", [2, 6]],
      ["4 vCPUs", [2, 6]],
    ]);
    expect(section(view, "sweep-web").heading).toBe("web against db: load, times");
  });

  it("marks published figures of exactly its settings", () => {
    const points = [1, 2].map((load) => point({ db: vm() }, { set: { "vms.db.load": load } }));
    const published = [
      { set: { "vms.db.load": 2 }, path: "vms.db.guest_cpu_pct", value: 76 },
      { set: { "vms.db.load": 2, "vms.web.count": 1 }, path: "vms.db.guest_cpu_pct", value: 60 },
      { set: { "vms.db.load": 9 }, path: "vms.db.guest_cpu_pct", value: 70 },
      { set: { "vms.db.load": 1 }, path: "hosts.esx.usage_pct", value: 85 },
    ];
    const view = shown(points, {}, { published });
    expect(lines(view, "cpu").marks?.[0]?.points.map(({ x, y }) => [x, y])).toEqual([
      [2, 76],
      [1, 85],
    ]);
    expect(lines(view, "response-mean").marks).toBeUndefined();
  });

  it("draws the worst of many groups, and any by choice", () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`g${index}`, vm({ ready_pct: index })]));
    const sign = (weight: number): Sign[] =>
      weight > 5 ? [{ metric: "ready_pct", severity: "warning", value: weight, weight, text: "ready" }] : [];
    const judgement = {
      tone: "warn" as const,
      text: "",
      more: [],
      vms: {},
      groups: Object.fromEntries(Object.entries(many).map(([name, each]) => [name, sign(each.ready_pct)])),
      limits: {},
    };
    const points = [1, 2].map((load) => point(many, { set: { "run.load": load }, judgement }));
    const chosen = SIMULATION.choices(page(points))[0]!;
    expect(chosen.options.slice(0, 2)).toEqual([
      { value: "", name: "the 8 worst" },
      { value: "=g11", name: "g11" },
    ]);
    expect(lines(shown(points), "response-mean").series.map((each) => each.name)).toEqual([
      "g11",
      "g10",
      "g9",
      "g8",
      "g7",
      "g6",
      "g0",
      "g1",
    ]);
    expect(lines(shown(points, { group: "=g3" }), "response-mean").series.map((each) => each.name)).toEqual(["g3"]);
  });

  it("lays the path with most values along x, numbers or amounts", () => {
    const swept = (sizes: string[], counts: number[]) =>
      sizes.flatMap((memory) =>
        counts.map((count) => point({ db: vm() }, { set: { "vms.db.memory": memory, "vms.db.count": count } })),
      );
    expect(axes(swept(["96 GiB", "128 GiB", "160 GiB"], [12, 13]))).toEqual({
      x: "vms.db.memory",
      others: ["vms.db.count"],
    });
    expect(axes(swept(["96 GiB", "128 GiB"], [12, 13]))).toEqual({ x: "vms.db.count", others: ["vms.db.memory"] });
  });

  it("draws bars where nothing swept is an amount, and categories of amounts", () => {
    const words = ["esxi-7.0", "linux-6.12"].map((name) =>
      point({ db: vm() }, { set: { "hosts.esx.hypervisor": name } }),
    );
    expect(charts(shown(words)).find((chart) => chart.id === "response-mean-db")).toMatchObject({
      type: "bars",
      categories: ["hypervisor esxi-7.0", "hypervisor linux-6.12"],
    });
    const sizes = ["8 KiB", "64 KiB"].map((block) => point({ db: vm() }, { set: { "workloads.oltp.block": block } }));
    expect(lines(shown(sizes), "response-mean")).toMatchObject({
      places: [0, 1],
      x: { scale: "category", categories: ["8 KiB", "64 KiB"] },
    });
  });

  it("lists every point and group with the swept values first", () => {
    const all = table(shown(batchSweep()), "points");
    expect(all.columns.slice(0, 3).map((column) => column.name)).toEqual(["count", "group", "Most loaded host"]);
    expect(all.rows).toHaveLength(7);
    expect(all.rows.at(-1)).toMatchObject({
      "set.vms.batch.count": 3,
      name: "db",
      host: 100,
      throughput_per_s: { value: 245, half_width: 1 },
    });
  });
});

describe("a single point", () => {
  it("draws distributions by percentile, with a logarithmic axis for a long tail", () => {
    const curve: [number, number][] = [
      [0, 0.5],
      [50, 1],
      [99, 30],
      [99.9, 400],
      [100, 900],
    ];
    const view = shown([point({ a: vm({ response_ms: { mean: 2, p50: 1, p95: 9, p99: 30, curve } }), b: vm() })]);
    const found = lines(view, "response-curve");
    expect(found.places).toEqual([50, 95, 99, 99.9]);
    expect(found.series.map((each) => each.values)).toContainEqual([1, null, 30, 400]);
    expect([found.x.scale, found.y.scale]).toEqual(["percentile", "log"]);
  });

  it("shows reads and writes apart where the document has them", () => {
    const ios = (iops: number) => ({ iops, mb_per_s: iops / 100, latency_ms: { mean: 1, p50: 1, p95: 2, p99: 3 } });
    const view = shown([
      point({
        db: vm({ iops: 500, io_latency_ms: { mean: 1, p50: 1, p95: 2, p99: 3 }, read: ios(400), write: ios(100) }),
      }),
    ]);
    expect(lines(view, "io-curve").series.map((each) => each.name)).toEqual(["db · reads", "db · writes"]);
    expect(table(view, "vms").rows[0]).toMatchObject({ read_iops: 400, write_iops: 100, read_latency_ms_p99: 3 });
  });

  it("has what a group copies, and how long it takes", () => {
    const ios = { iops: 250, mb_per_s: 250, latency_ms: { mean: 4, p50: 4, p95: 5, p99: 6 } };
    const copying = vm({
      iops: 500,
      throughput_per_s: 250,
      io_latency_ms: ios.latency_ms,
      read: ios,
      write: ios,
      copied_mb_per_s: 250,
      copy_s: 7200,
    });
    const view = shown([point({ backup: copying })]);
    expect(table(view, "vms").rows[0]).toMatchObject({ copied_mb_per_s: 250, copy_s: 7200 });
  });

  it("names the bottleneck and puts the busiest station first", () => {
    const station = (utilization_pct: number) => ({
      members: 2,
      utilization_pct,
      utilization_max_pct: utilization_pct,
      queue: 0,
      wait_ms: 0,
      waited_pct: 0,
      throughput_per_s: 1,
    });
    const bottleneck = {
      station: "san-disks",
      utilization_pct: 97,
      saturated: true,
      next_station: "san-cache",
      next_utilization_pct: 5,
      binding_depth: "db-ring",
    };
    const storage = { "san-cache": station(5), "san-disks": station(97) };
    const drawn = (full_station?: string) => {
      const judgement = { ...NONE, ...(full_station && { full_station }) };
      const view = shown([point({ db: vm() }, { storage, bottleneck, judgement })]);
      return charts(view).find((chart) => chart.id === "stations");
    };
    expect(drawn("san-disks")).toMatchObject({
      categories: ["san-disks", "san-cache"],
      alternative: expect.stringContaining("san-disks limits I/O at 97 %. The"),
      text: expect.stringContaining("I/Os wait for db-ring"),
    });
    expect(drawn("san-cache")!.alternative).toContain(
      "san-disks is the busiest, and not saturated at 97 %; san-cache limits I/O",
    );
    expect(drawn()!.alternative).toContain("san-disks is the busiest, and not saturated at 97 %. The");
  });

  it("maps hosts by NUMA node, the most loaded first, and no map of one node", () => {
    const nodes = (...usage: number[]) =>
      Object.fromEntries(
        usage.map((usage_pct, index) => [String(index), { usage_pct, memory_mb: 5, memory_gb_per_s: 0 }]),
      );
    const view = shown([
      point({ db: vm() }, { hosts: { a: host(40, { nodes: nodes(10, 70) }), b: host(60, { nodes: nodes(90, 30) }) } }),
    ]);
    const maps = charts(view).filter((chart): chart is HeatMap => chart.id.startsWith("numa-"));
    expect(maps.map((map) => map.rows)).toEqual([
      [
        { name: "b", values: [90, 30] },
        { name: "a", values: [10, 70] },
      ],
    ]);
    expect(
      charts(shown([point({ db: vm() }, { hosts: { a: host(40, { nodes: nodes(40) }) } })])).some(
        (chart) => chart.type === "heat",
      ),
    ).toBe(false);
  });

  it("puts failures, load and samples on one axis of time, and maps who waits", () => {
    const incident = { time_s: 7, what: "node-4", fails: true, degraded_pct: 10, lost_gib: 0, whole_after_s: 3 };
    const pool = {
      redundancy: "replicas-3",
      raw_gib: 1,
      usable_gib: 1,
      stored_gib: 1,
      lost_gib: 0,
      suspended_ios: 0,
      errors: 0,
      incidents: [incident],
    };
    const samples = (ready: number) => ({
      throughput_per_s: [10, 20, 20],
      response_ms_mean: [1, 4, 4],
      ready_pct: [ready, ready, ready],
      costop_pct: [0, 0, 0],
      guest_cpu_pct: [1, 1, 1],
    });
    const one = point(
      { web: vm({ count: 2, vcpus: 8 }) },
      {
        pools: { pool },
        failures: [{ time_s: 7, what: "node-4", fails: true, hosts: ["node-4"], vms: ["web-2"] }],
        timeline: {
          interval_s: 1,
          time_s: [1, 2, 3],
          hosts: { esx: { usage_pct: [50, 60, 60] } },
          vms: { "web-1": samples(1), "web-2": samples(9) },
          pools: { pool: { degraded_pct: [0, 10, 10], due_gib: [0, 0, 0] } },
        },
      },
    );
    one.vms["web-2"]!.ready_pct = 9;
    const view = shown(
      [one],
      {},
      {
        failures: { 0: ["7 s: node-4 fails; 1 VM stands still: web-2."] },
        incidents: { 0: { pool: ["7 s: node-4 fails; 10 % of the groups lack a copy."] } },
        load_steps: [{ at_s: 6, text: "load of web × 2" }],
      },
    );
    const panels = charts(view).filter((chart): chart is LineChart => chart.type === "lines" && chart.sync === "time");
    expect(panels.map((panel) => panel.id)).toEqual([
      "time-throughput",
      "time-response",
      "time-ready",
      "time-guest",
      "time-hosts",
      "time-degraded",
    ]);
    expect(section(view, "time").text).toContain("Samples are means over 1 s.");
    expect(panels[0]).toMatchObject({ places: [6, 7, 8], series: [{ name: "web", values: [20, 40, 40] }] });
    const told = [
      "6 s: load of web × 2.",
      "7 s: node-4 fails; 1 VM stands still: web-2. node-4 fails; 10 % of the groups lack a copy.",
    ];
    for (const panel of panels)
      expect(panel.moments?.map(({ number, text }) => [number, text])).toEqual(
        told.map((text, index) => [index + 1, text]),
      );
    const map = charts(view).find((chart) => chart.id === "heat-ready") as HeatMap;
    expect(map.rows.map((row) => row.name)).toEqual(["web-2", "web-1"]);
    expect(charts(view).some((chart) => chart.id === "heat-costop")).toBe(false);
  });
});

describe("any result", () => {
  it("has tables with the worst first, filters, units, definitions and half-widths", () => {
    const one = point({ web: vm({ count: 3, vcpus: 12 }), db: vm() });
    for (const [index, name] of Object.keys(one.vms).entries())
      Object.assign(one.vms[name]!, { host: `esx-${index}`, ready_pct: index });
    const metrics = [
      {
        key: "ready_pct",
        of: ["host", "vm"],
        name: "Ready",
        unit: "%",
        text: "no hardware thread was free",
        called: { esxtop: "%RDY" },
      },
    ];
    const view = shown([one], {}, { metrics });
    const vms = table(view, "vms");
    expect(table(view, "definitions-table").rows).toEqual([
      { name: "Ready", unit: "%", text: "no hardware thread was free", key: "ready_pct", esxtop: "%RDY" },
    ]);
    expect(vms.filters).toEqual(["group", "host"]);
    expect(vms.rows.map((row) => [row["name"], row["group"], row["host"]])).toEqual([
      ["db", "db", "esx-3"],
      ["web-3", "web", "esx-2"],
      ["web-2", "web", "esx-1"],
      ["web-1", "web", "esx-0"],
    ]);
    expect(vms.columns.find((column) => column.key === "ready_pct")).toMatchObject({
      name: "Ready",
      unit: "%",
      text: expect.stringContaining("no hardware thread"),
    });
    expect(vms.columns.some((column) => column.key === "costop_pct")).toBe(false);
    expect(vms.rows[0]!["ready_pct"]).toEqual({ value: 3, half_width: 0.1 });
  });

  it("can be shown without VMs, without figures, without points and with any name", () => {
    expect(shown([]).answer.text).toBe("The result has no points.");
    const none = { mean: null, p50: null, p95: null, p99: null };
    const hostile = "</script><img src=x onerror=alert(1)>";
    const names = {
      [hostile]: vm({ response_ms: none, throughput_per_s: 0 }),
      مجموعة: vm(),
      ["x".repeat(200)]: vm({ io_latency_ms: none, iops: null }),
    };
    for (const points of [
      [point(names)],
      [1, 2].map((load) => point(names, { set: { "vms.x.load": load }, steady: false, replications: 1 })),
    ]) {
      const text = JSON.stringify(shown(points));
      expect(text).toContain(JSON.stringify(hostile).slice(1, -1));
      expect(text).not.toMatch(/NaN|undefined|Infinity/);
    }
  });

  it("gives sections, charts and tables names that occur once", () => {
    const view = shown(batchSweep());
    const ids = [
      ...view.sections.map((each) => each.id),
      ...charts(view).map((chart) => chart.id),
      ...blocks(view).flatMap((block) => (block.type === "table" ? [block.table.id] : [])),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("puts the figures of a study beside its sweep, and what they promise", () => {
    const judged = [{ id: "outside", heading: "Outside", blocks: [] }];
    const view = shown(batchSweep(), {}, { judged, promises: [{ text: "All is kept", met: false }] });
    expect(view.promises.map((each) => each.met)).toEqual([false]);
    expect(view.sections.map((each) => each.id)).toContain("outside");
  });

  it("shows drawings and the notes of the terminal", () => {
    const view = shown([point({ db: vm() })], {}, { drawings: [{ caption: "db on esx", svg: "<svg/>" }] }, ["A note."]);
    expect([view.title, view.assumptions]).toEqual(["example", ["A note."]]);
    expect(section(view, "topology").blocks).toEqual([{ type: "drawing", caption: "db on esx", svg: "<svg/>" }]);
  });
});

describe("clusters", () => {
  const cluster = (given: Partial<Cluster> = {}): Cluster => ({
    hosts: 2,
    vms: 4,
    vcpus: 8,
    cores: 16,
    vcpu_per_core: 0.5,
    usage_pct: 40,
    usage_pct_ci95: 1,
    peak_host: "a1",
    fullest_host_pct: 50,
    ready_pct: 0,
    memory_pct: 60,
    memory_usage_pct: 30,
    ...given,
  });
  const timeline = {
    interval_s: 1,
    time_s: [1, 2, 3],
    vms: {},
    hosts: Object.fromEntries(
      ["a1", "a2", "a10", "b1"].map((name, index) => [name, { usage_pct: [10 * index, 20 * index, 20 * index] }]),
    ),
  };
  const hosts = {
    b1: host(20, { cluster: "beta", memory_pct: 117, memory_usage_pct: 40 }),
    a1: host(50, { cluster: "alpha", memory_pct: 60, memory_usage_pct: 30 }),
    a10: host(30, { cluster: "alpha", memory_pct: 60, memory_usage_pct: 30 }),
    a2: host(40, { cluster: "alpha", memory_pct: 60, memory_usage_pct: 30 }),
  };
  const two = (given: Some<Point> = {}): Point => {
    const made = point(
      { web: vm({ count: 2 }) },
      {
        hosts,
        clusters: {
          beta: cluster({
            hosts: 1,
            peak_host: "b1",
            fullest_host_pct: 20,
            usage_pct: 20,
            memory_pct: 117,
            ready_pct: 3,
            vcpu_per_core: 6,
          }),
          alpha: cluster({ hosts: 3 }),
        },
        timeline,
        ...given,
      },
    );
    Object.assign(made.vms["web-1"]!, { host: "a1", cluster: "alpha" });
    Object.assign(made.vms["web-2"]!, { host: "b1", cluster: "beta" });
    return made;
  };
  const bars = (view: View, id: string) => charts(view).find((chart) => chart.id === id) as BarChart;

  it("have a table and charts before all else, each chart with its worst first", () => {
    const view = shown([two()]);
    expect(view.sections.slice(0, 2).map((each) => each.id)).toEqual(["hosts-usage", "clusters"]);
    expect(table(view, "clusters-table").rows.map((row) => [row["name"], row["hosts"], row["memory_pct"]])).toEqual([
      ["alpha", 3, 60],
      ["beta", 1, { value: 117, tone: "warn" }],
    ]);
    expect(bars(view, "clusters-usage")).toMatchObject({
      categories: ["alpha", "beta"],
      series: [{ values: [40, 20] }, { values: [50, 20] }],
    });
    expect(bars(view, "clusters-memory")).toMatchObject({
      categories: ["beta", "alpha"],
      series: [{ values: [117, 60] }, { values: [30, 30] }],
      limits: [{ value: 100 }],
    });
    expect(bars(view, "clusters-ratio").series[0]!.values).toEqual([6, 0.5]);
    expect(bars(view, "clusters-ready").categories[0]).toBe("beta");
    expect(view.cards.slice(0, 2)).toMatchObject([
      { name: "CPU of alpha", value: "40 %", remark: expect.stringContaining("3 hosts, the most loaded, a1, at 50 %") },
      { name: "CPU of beta", tone: "warn" },
    ]);
    expect(view.cards.map((card) => card.name)).not.toContain("Most loaded host");
  });

  it("keep their hosts together in charts, maps and tables", () => {
    const nodes = { 0: { usage_pct: 5 }, 1: { usage_pct: 6 } };
    const view = shown([
      two({
        hosts: Object.fromEntries(
          Object.entries(hosts).map(([name, each]) => [name, host(each.usage_pct, { ...each, nodes })]),
        ),
        timeline: {
          ...timeline,
          hosts: {
            ...timeline.hosts,
            ...Object.fromEntries(
              ["c1", "c2", "c3"].map((name) => [name, { usage_pct: [1, 1, 1], utilization_pct: [1, 1, 1] }]),
            ),
          },
        },
      }),
    ]);
    expect(bars(view, "hosts-usage-alpha").categories).toEqual(["a1", "a2", "a10"]);
    expect(bars(view, "hosts-usage-beta").categories).toEqual(["b1"]);
    expect(
      (charts(view).find((chart) => chart.id === "numa-usage-pct") as HeatMap).rows.map((row) => row.name),
    ).toEqual(["alpha · a1", "alpha · a2", "alpha · a10", "beta · b1"]);
    expect(
      (charts(view).find((chart) => chart.id === "heat-hosts") as HeatMap).rows.map((row) => row.name).slice(-4),
    ).toEqual(["alpha · a1", "alpha · a2", "alpha · a10", "beta · b1"]);
    expect(lines(view, "time-hosts").series.map(({ name, values }) => [name, values])).toEqual([
      ["mean of alpha", [10, 20, 20]],
      ["mean of beta", [30, 60, 60]],
    ]);
    expect(table(view, "hosts").filters).toEqual(["cluster"]);
    expect(table(view, "hosts").rows.map((row) => [row["name"], row["cluster"]])).toEqual([
      ["a1", "alpha"],
      ["a2", "alpha"],
      ["a10", "alpha"],
      ["b1", "beta"],
    ]);
    expect(table(view, "vms").filters).toEqual(["group", "host", "cluster"]);
    expect(table(view, "vms").rows.map((row) => row["cluster"])).toEqual(["alpha", "beta"]);
  });

  it("are not told of one, nor of results of older versions", () => {
    for (const clusters of [{ default: cluster() }, undefined]) {
      const view = shown(
        [two({ ...(clusters ? { clusters } : {}), hosts: { esx: host(40, { cluster: "default" }) } })].map((each) => ({
          ...each,
          clusters,
        })) as Point[],
      );
      expect(view.sections.map((each) => each.id)).not.toContain("clusters");
      expect(view.sections[0]!.heading).toBe("Hosts at a glance");
      expect(table(view, "hosts").filters).toEqual([]);
      expect(view.cards[0]!.name).toBe("Most loaded host");
    }
  });

  it("hatch the bars of a host that failed", () => {
    const whole = bars(shown([two()]), "hosts-usage-alpha");
    const failed = two({ hosts: { ...hosts, a2: { ...hosts.a2, down_s: 12 } } });
    const drawn = bars(shown([failed]), "hosts-usage-alpha");
    expect([whole.hatched, drawn.hatched]).toEqual([undefined, [drawn.categories.indexOf("a2")]]);
  });

  it("make the axis long enough for memory beyond the host's", () => {
    const over = two({ hosts: { ...hosts, a2: { ...hosts.a2, memory_pct: 116 } } });
    expect([two(), over].map((point) => bars(shown([point]), "hosts-usage-alpha").value.to)).toEqual([100, 116]);
  });

  it("draw nothing over time of fewer than three samples", () => {
    const few = two({ timeline: { ...timeline, time_s: [1, 2] } as Point["timeline"] });
    expect(shown([few]).sections.map((each) => each.id)).not.toContain("time");
  });

  it("never share a line or a column of usage in a sweep", () => {
    const swept = [1, 2].map((load) => two({ set: { "vms.web.load": load } }));
    const view = shown(swept);
    expect(lines(view, "cpu").series.map((each) => each.name)).toEqual(
      expect.arrayContaining(["host usage of alpha", "host usage of beta"]),
    );
    expect(lines(view, "cpu").series.some((each) => each.name.includes("min-peak"))).toBe(false);
    expect(table(view, "points").columns.map((column) => column.name)).toEqual(
      expect.arrayContaining(["Most loaded host of alpha", "Most loaded host of beta"]),
    );
    expect(table(view, "points").rows[0]).toMatchObject({ "host.alpha": 50, "host.beta": 20 });
  });

  it("have no pools in a sweep but those of the points", () => {
    const sweep = (given: Some<Point> = {}) =>
      shown([1, 2].map((load) => two({ set: { "vms.web.load": load }, ...given })));
    const ids = charts(sweep()).map((chart) => chart.id);
    expect([ids.includes("cpu"), ids.includes("limits"), ids.includes("room")]).toEqual([true, false, false]);
    const pools = sweep({
      storage: { "san-devices": { utilization_max_pct: 70 } },
      space: {
        san: { room_gib: 20, stored_gib: 10, lost_host: { survives: true, heals: true, room_gib: 1, used_pct: 2 } },
      },
    });
    expect(lines(pools, "limits").series.map(({ name, values }) => [name, values])).toEqual([["devices", [70, 70]]]);
    expect(lines(pools, "room").series[0]).toMatchObject({ name: "usable", values: [20, 20] });
  });
});

describe("what was measured", () => {
  const measured = {
    a: { cpu_usage_pct: 41, memory_usage_pct: 55, at: null, over_s: null },
    gone: { cpu_usage_pct: 99, memory_usage_pct: null, at: null, over_s: null },
  };
  const one = () => point({ db: vm() }, { hosts: { a: host(40), b: host(60) } });

  it("stands beside the twin's hosts, with how far the twin is off", () => {
    const view = shown([one()], {}, { measured });
    expect((charts(view).find((chart) => chart.id === "hosts-usage-x") as BarChart).series).toMatchObject([
      { name: "CPU, twin", values: [60, 40] },
      { name: "CPU, measured", values: [null, 41] },
      { name: "memory" },
    ]);
    expect(
      table(view, "hosts").rows.map((row) => [row["name"], row["measured_usage"], row["measured_memory"]]),
    ).toEqual([
      ["b", null, null],
      ["a", 41, 55],
    ]);
    expect(view.cards).toContainEqual({
      name: "Deviation from measurements",
      value: "1.0 points",
      remark: "usage of 1 host on average; at most 1.0 (a)",
    });
  });

  it("stands beside the twin's VMs", () => {
    const two = point({ db: vm({ used_mhz: 900 }), web: vm({ used_mhz: 100 }) });
    const view = shown([two], {}, { measured_vms: { db: { cpu_mhz: 850, ready_pct: 0.18 } } });
    expect(
      table(view, "vms").rows.map((row) => [row["name"], row["used_mhz"], row["measured_cpu"], row["measured_ready"]]),
    ).toEqual([
      ["db", 900, 850, 0.18],
      ["web", 100, null, null],
    ]);
    expect(table(shown([two]), "vms").columns.map((column) => column.key)).not.toContain("used_mhz");
  });

  it("is no column and no card where nothing was", () => {
    const view = shown([one()]);
    expect(table(view, "hosts").columns.map((column) => column.key)).not.toContain("measured_usage");
    expect(JSON.stringify(view)).not.toContain("easured");
  });
});

describe("memory that is not there", () => {
  it("of what VMs have touched is shown only where the scenario says that", () => {
    const memory = (memory_usage_pct: number) =>
      table(shown([point({ db: vm() }, { hosts: { esx: host(40, { memory_pct: 120, memory_usage_pct }) } })]), "hosts");
    expect(memory(120).columns.map((column) => column.key)).not.toContain("memory_usage_pct");
    expect(memory(90).rows[0]).toMatchObject({ memory_pct: { value: 120, tone: "warn" }, memory_usage_pct: 90 });
  });
});

it("knows the group of each VM and says settings as people do", () => {
  expect([...groupOf(point({ db: vm(), web: vm({ count: 2 }) }))]).toEqual([
    ["db", "db"],
    ["web-1", "web"],
    ["web-2", "web"],
  ]);
  const one = point({}, { set: { "vms.a.vcpus": 1, "vms.b.vcpus": 4, "run.seed": 7 } });
  expect(where(one, Object.keys(one.set))).toBe("1 vCPU in a, 4 vCPUs in b, seed 7");
});

it("averages samples where there are more than a map has columns", () => {
  expect(binned([1, null, 3])).toEqual([1, null, 3]);
  const found = binned(Array.from({ length: 1000 }, (_, index) => index));
  expect([found.length, found[0], found.at(-1)]).toEqual([112, 4, 999]);
});

describe("I/O", () => {
  const times = (mean: number, p99: number) => ({ mean, p50: mean, p95: p99, p99 });
  const generator = (iops: number, mean: number) =>
    vm({
      throughput_per_s: iops,
      iops,
      io_mb_per_s: iops / 250,
      io_latency_ms: times(mean, 2 * mean),
      response_ms: times(mean, 2 * mean),
      read: { iops, latency_ms: times(mean, 2 * mean) },
      write: { iops: 0, latency_ms: times(mean / 2, mean) },
    });
  const depths = [
    [1, 20_000, 0.05],
    [2, 38_000, 0.052],
    [4, 70_000, 0.057],
    [8, 90_000, 0.09],
    [16, 90_100, 0.178],
    [32, 90_000, 0.356],
  ] as const;
  const path = "workloads.fio.arrivals.io.outstanding";
  const sweep = depths.map(([depth, iops, mean]) =>
    point(
      { db: generator(iops, mean) },
      {
        set: { [path]: depth },
        judgement: { ...NONE, ...(depth >= 8 && { full_station: "san-disks" }) },
      },
    ),
  );

  it("is drawn as latency against IOPS, in the order of the sweep, with the knee", () => {
    const view = shown(sweep.toReversed());
    const chart = charts(view).find((each) => each.id === "io-knee") as ScatterChart;
    expect(chart.marks.map(({ name, line, points }) => [name, line, points.length])).toEqual([
      ["db · mean", "solid", 6],
      ["db · p99", "dashed", 6],
      ["db · knee", undefined, 1],
    ]);
    expect(chart.marks[0]!.points.map((each) => each.x)).toEqual(depths.map(([, iops]) => iops));
    expect(chart.marks[2]!.points[0]).toMatchObject({ x: 70_000, y: 0.057 });
    expect(chart.y.scale).toBe("log");
    const told =
      "db: the knee is at outstanding 4, 70,000 IOPS in 0.057 ms; from outstanding 8 on san-disks limits, 90,000 IOPS in 0.09 ms.";
    expect(chart.alternative).toBe(told);
    expect(lines(view, "iops").x.scale).toBe("log");
  });

  it("has its knee before what is swept, or beyond it", () => {
    const told = (points: Point[]) =>
      (charts(shown(points)).find((chart) => chart.id === "io-knee") as ScatterChart).alternative;
    expect(told(sweep.slice(0, 3))).toBe("db: the knee is beyond outstanding 4, 70,000 IOPS in 0.057 ms.");
    expect(told(sweep.slice(3))).toMatch(/^db: the knee is at or before outstanding 8, 90,000 IOPS in 0.09 ms;/);
    const app = sweep.map((each) => ({ ...each, groups: { db: { ...each.groups["db"]!, throughput_per_s: 10 } } }));
    expect(charts(shown(app)).some((chart) => chart.id === "io-knee")).toBe(false);
  });

  it("is no curve against what is not asked for, nor of two points", () => {
    const blocks = sweep.map((each, index) => ({ ...each, set: { "workloads.fio.block": `${2 ** index}KiB` } }));
    for (const points of [blocks, sweep.slice(0, 2)])
      expect(charts(shown(points)).some((chart) => chart.id === "io-knee")).toBe(false);
    expect(lines(shown(batchSweep()), "throughput").x.scale).toBeUndefined();
  });
});
