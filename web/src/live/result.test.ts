import { describe, expect, it } from "vitest";
import type { Live } from "../model/page";
import type { Point, Simulation } from "../model/simulation/document";
import { host, page, point, vm } from "../model/simulation/examples.test.data";
import { comparison, pageOf, statusOf, told } from "./result";

const JUDGED = {
  tone: "bad",
  text: "db suffers.",
  more: [],
  groups: { db: [{ metric: "ready_pct", severity: "critical", value: 20, weight: 2, text: "ready 20 %" }] },
  limits: { db: { kind: "cpu", text: "esx is at 100 % CPU", stations: [] } },
} as unknown as Point["judgement"];
const NOW = point({ db: vm({ ready_pct: 20 }) }, { judgement: JUDGED as never, model_error: { bases: {} } as never });
const ORIGINAL = {
  ...page([point({ db: vm() })], { metrics: [], drawings: [{ caption: "old", svg: "" }] } as never, ["A note."]),
  made: { version: "1", date: "", command: ["simulate", "x.yaml"], files: [], seed: 1, calibrated: [] },
  live: { own_policy: "the pool's own" } as Live,
};
const reported = (report: unknown) => ({
  report: JSON.stringify(report),
  answer: JSON.stringify({ tone: "bad", text: "db suffers.", more: ["Why."] }),
  sha256: "",
});
const shown = (stage: "preview" | "done") =>
  pageOf(ORIGINAL, reported(NOW), { "vms.db.load": 2 }, stage).document as Simulation;

describe("the page of a report", () => {
  it("has the answer of the core's judge when the whole run is done", () => {
    const { answer, points } = shown("done");
    expect(answer).toEqual({ tone: "bad", text: "db suffers.", more: ["Why."] });
    expect(points[0]!.judgement).toEqual(JUDGED);
    expect(points[0]!.set).toEqual({ "vms.db.load": 2 });
  });
  it("judges no preview: neither in words, nor in badges, nor with intervals", () => {
    const { answer, points } = shown("preview");
    expect(answer).toEqual({ tone: "note", text: "Preview of 60 s, without a verdict.", more: [] });
    expect(points[0]!.judgement.groups).toEqual({ db: [] });
    expect(points[0]!.judgement.limits["db"]!.kind).toBe("nothing");
    expect(points[0]!.model_error).toBeUndefined();
    expect(points[0]!.groups["db"]!.ready_pct).toBe(20);
  });
  it("has nothing beside it that is of the original only", () => {
    const made = pageOf(ORIGINAL, reported(NOW), {}, "done");
    expect(Object.keys(made.beside)).toEqual(["metrics"]);
    expect(made.notes).toEqual(["A note."]);
    expect(made.made.command).toEqual([]);
  });
  it("names the data of a pool without a policy as the command does", () => {
    const pool = { ...NOW, pools: { p: { policies: [{ policy: null }] } } };
    const made = pageOf(ORIGINAL, reported(pool), {}, "done").document as Simulation;
    expect(made.points[0]!.pools!["p"]!.policies![0]!.policy).toBe("the pool's own");
  });
});

describe("the comparison", () => {
  const rows = (before: Point, now: Point) => {
    const [block] = comparison(before, now, "done").blocks;
    return block?.type === "table" ? block.table.rows : block;
  };
  it("has the figures that changed, most first, and no others", () => {
    const before = point({ db: vm({ throughput_per_s: 100 }), web: vm() }, { hosts: { esx: host(40) } });
    const now = point({ db: vm({ throughput_per_s: 150 }), web: vm() }, { hosts: { esx: host(40.2) } });
    now.groups["db"]!.response_ms.p99 = 500;
    expect(rows(before, now)).toEqual([
      { of: "db", figure: "Response, p99", before: "50 ms", now: "500 ms", change: "+900 %" },
      { of: "db", figure: "Throughput", before: "100 /s", now: "150 /s", change: "+50 %" },
    ]);
  });
  it("has groups and hosts that only one side has", () => {
    const before = point({ db: vm() }, { hosts: { "esx-1": host(40), "esx-2": host(30) } });
    const now = point({ db: vm() }, { hosts: { "esx-1": host(70) } });
    expect(rows(before, now)).toEqual([
      { of: "esx-2", figure: "CPU usage", before: "30 %", now: "", change: "" },
      { of: "esx-1", figure: "CPU usage", before: "40 %", now: "70 %", change: "+75 %" },
    ]);
  });
  it("says that nothing changed", () => {
    const same = point({ db: vm() });
    expect(rows(same, same)).toEqual({ type: "prose", paragraphs: ["No figure changed by more than 1%."] });
  });
});

it("says how far a run is", () => {
  const at = (stage: "preview" | "running" | "done", done: number) => statusOf(NOW, stage, { done, of: 3 });
  expect(at("preview", 1)).toBe("Preview: one replication of 60 s.");
  expect(at("running", 2)).toBe("Simulated 2 of 3 replications of 60 s.");
  expect(at("done", 3)).toBe("Simulated 3 replications of 60 s.");
  expect(told({ "vms.db.load": 2, fails: "esx-1" })).toBe("db.load 2, esx-1 fails");
});
