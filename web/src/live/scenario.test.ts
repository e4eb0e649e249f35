import { describe, expect, it } from "vitest";
import type { Control, Live } from "../model/page";
import type { Scenario } from "./core";
import { allowed, asAddress, asCommand, asYaml, brief, changed, end, ofAddress, ofPoint, put } from "./scenario";
import { settingsOf, written } from "./scenario";

const control = (key: string, more: Partial<Control>): Control => ({
  key: [key],
  name: key,
  text: "",
  form: "number",
  unit: "",
  low: 0,
  high: 1e6,
  step: 1,
  span: 4,
  reach: 4,
  default: null,
  values: [],
  ...more,
});
const LOAD = control("load", { step: 0.05, default: 1 });
const VCPUS = control("vcpus", { form: "integer", low: 1, high: 768, reach: 16, span: 1 });
const MEMORY = control("memory", { form: "quantity", unit: "GiB", low: 1 / 1024, high: 2 ** 20 });
const SHARES = control("shares", { form: "choice", values: ["low", "normal", "high"], default: "normal" });
const SCENARIO = {
  name: "two",
  run: { seed: 7, replications: 3, warmup: "10 s", duration: "60 s" },
  vms: {
    db: { vcpus: 4, cores_per_socket: 4, memory: "512 MiB", load: 1.5 },
    web: { vcpus: 3, memory: "8 GiB", shares: "high" },
  },
} as unknown as Scenario;
const LIVE: Live = {
  build: "",
  scenario: SCENARIO,
  points: [
    [],
    [
      [["vms", "db", "load"], 2],
      [["vms", "web", "shares"], null],
    ],
  ] as Live["points"],
  intervals: {},
  controls: { vms: [LOAD, VCPUS, MEMORY, SHARES] },
  hosts: ["esx-1", "esx-2"],
  own_policy: "-",
  file: "my cluster.yaml",
  options: ["--calibration", "own.yaml"],
};

describe("changes", () => {
  it("make the scenario of each point, and leave that of the page as it is", () => {
    const point = ofPoint(LIVE, 1) as unknown as { vms: Record<string, Record<string, unknown>> };
    expect(point.vms["db"]!["load"]).toBe(2);
    expect(point.vms["web"]).toEqual({ vcpus: 3, memory: "8 GiB" });
    expect(ofPoint(LIVE, 0)).toEqual(SCENARIO);
  });
  it("set values below what does not exist yet, and remove them", () => {
    expect(put({ a: 1 }, ["b", "c"], 2)).toEqual({ a: 1, b: { c: 2 } });
    expect(put({ a: 1, b: 2 }, ["b"], null)).toEqual({ a: 1 });
  });
  it("let a host fail after the failures of the scenario", () => {
    const before = { ...SCENARIO, failures: [{ at: "5 s", fails: ["esx-2"] }] } as unknown as Scenario;
    expect(changed(before, { fails: "esx-1" })["failures"]).toEqual([
      { at: "5 s", fails: ["esx-2"] },
      { at: "0 s", fails: ["esx-1"] },
    ]);
  });
  it("are previewed in one short replication", () => {
    expect(brief(SCENARIO, 10).run).toEqual({ seed: 7, replications: 1, warmup: "2 s", duration: "10 s" });
  });
});

describe("settings", () => {
  const settings = settingsOf(LIVE, SCENARIO, "vms", "db");
  it("have the values of the scenario, or the defaults, in the unit of the control", () => {
    expect(settings.map((each) => each.value)).toEqual([1.5, 4, 0.5, "normal"]);
  });
  it("keep whole sockets", () => {
    const { control } = settings[1]!;
    expect([allowed(control, 6.4), allowed(control, 1), allowed(control, 1e9)]).toEqual([8, 4, 768]);
  });
  it("have sliders that reach what is likely, within what is allowed", () => {
    expect([end(LOAD, 0.5), end(LOAD, 3), end(VCPUS, 2)]).toEqual([4, 12, 16]);
    expect(end({ ...VCPUS, high: 8 }, 2)).toBe(8);
  });
  it("are written with their unit", () => {
    expect([written(MEMORY, 12.5), written(LOAD, 2)]).toEqual(["12.5 GiB", 2]);
  });
});

describe("an address", () => {
  it("gives the same changes again", () => {
    const changes = { "vms.db.load": 2.5, "vms.db.memory": "12.5 GiB", "vms.web.shares": "low", fails: "esx-2" };
    expect(ofAddress(LIVE, asAddress(changes, 1))).toEqual({ changes, point: 1 });
    expect(asAddress({}, 1)).toBe("");
  });
  it("cannot give what no control of the page allows", () => {
    const hostile =
      "point=99&vms.db.load=-5&vms.db.vcpus=1e99&vms.web.shares=root&run.seed=4&vms.nobody.load=2" +
      "&vms.__proto__.load=2&__proto__.x.load=1&fails=elsewhere&vms.db.memory=much";
    expect(ofAddress(LIVE, hostile)).toEqual({ changes: { "vms.db.load": 0, "vms.db.vcpus": 768 }, point: 1 });
    expect(ofAddress(LIVE, "")).toEqual({ changes: {}, point: 0 });
  });
});

describe("to take along", () => {
  it("a command has all values, the times and the seed, and is safe in a shell", () => {
    const command = asCommand(LIVE, { "vms.db.load": 2 }, SCENARIO, { "vms.db.memory": "12 GiB", fails: "esx-1" });
    expect(command).toBe(
      `hypertwin simulate 'my cluster.yaml' --calibration own.yaml --set vms.db.load=2 --set 'vms.db.memory=12 GiB'` +
        ` --set 'failures=[{"at":"0 s","fails":["esx-1"]}]' --warmup '10 s' --duration '60 s' --replications 3 --seed 7`,
    );
  });
  it("YAML has every value", () => {
    expect(asYaml({ name: "a: b", run: { seed: 1, empty: {} }, list: [], more: [{ at: "0 s" }, 2] })).toBe(
      `name: "a: b"\nrun:\n  seed: 1\n  empty: {}\nlist: []\nmore:\n  - {"at":"0 s"}\n  - 2\n`,
    );
  });
});
