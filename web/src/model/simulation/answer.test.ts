import { describe, expect, it } from "vitest";
import { confidence, pointAnswer, sweepAnswer } from "./answer";
import type { Point, Verdict } from "./document";
import { batchSweep, host, point, slow, vm } from "./examples.test.data";
import { axes } from "./points";

const answer = (points: Point[]) => sweepAnswer(points, axes(points));

describe("the answer of a sweep", () => {
  it("names the group that bears what is added, the value from which on it suffers, and why", () => {
    const { tone, text, more } = answer(batchSweep());
    expect(tone).toBe("bad");
    expect(text).toBe("From 2 batch VMs on, db suffers, not yet with 1 batch VM: p99 133 ms, 2.51 times the 53 ms with no batch VM; co-stop 13 % per vCPU.");
    expect(more?.[0]).toBe("Its vCPUs wait 17 % of the time for a logical CPU and are held back 13 % of the time for their siblings (co-stop): host esx is at 100 %.");
    expect(more?.[1]).toBe("From 2 batch VMs on, batch suffers, not yet with 1 batch VM.");
  });

  it("says where a group stops suffering, and where it suffers in between or everywhere", () => {
    const along = (...p99: number[]) => answer(p99.map((each, index) => point({ db: slow(each) }, { set: { "vms.db.vcpus": 2 ** index } }))).text;
    expect(along(200, 150, 60, 50)).toMatch(/^Up to 2 vCPUs, db suffers, and no longer above: p99 150 ms, 3 times the 50 ms with 8 vCPUs/);
    expect(along(50, 200, 50, 120)).toMatch(/^db suffers with 2 vCPUs and 8 vCPUs: p99 200 ms, 4 times the 50 ms with 1 vCPU/);
    const full = [1, 2].map((load) => point({ db: vm({ ready_pct: 20, throughput_per_s: 100 * load }) }, { set: { "vms.db.load": load } }));
    expect(answer(full).text).toMatch(/^db suffers at every value: ready 20 % per vCPU/);
  });

  it("says that nothing breaks, what comes nearest, and which station limits I/O", () => {
    const points = [1, 2].map((load) => point({ db: vm({ ready_pct: load, throughput_per_s: 100 * load }) }, { set: { "vms.db.load": load } }));
    expect(answer(points)).toEqual({
      tone: "good",
      text: "No group suffers in this sweep of db: load, times.",
      more: ["From load 1 to load 2 the throughput of db goes from 100 to 200 a second, its p99 from 50 to 50 ms.", "Ready is at most 2 % per vCPU (db), and no host is above 40 %."],
    });
    const station = { station: "san-disks", utilization_pct: 97, saturated: true, next_station: null, next_utilization_pct: null, binding_depth: null };
    points[1]!.bottleneck = station;
    expect(answer(points)).toMatchObject({ tone: "warn", text: "No group suffers in this sweep of db: load, times; san-disks limits I/O at 1 of 2 points." });
  });

  it("takes a throughput that no longer follows the load for suffering", () => {
    const points = [1, 2, 3].map((load) => point({ db: vm({ throughput_per_s: [100, 200, 210][load - 1]! }) }, { set: { "vms.db.load": load } }));
    expect(answer(points).text).toBe("From load 3 on, db suffers, not yet with load 2: throughput for each VM and unit of load 30.0 % below that with load 1.");
  });

  it("names the lines that break and those that do not", () => {
    const points = [2, 4].flatMap((vcpus) => [1, 2].map((load) => point({ db: slow(vcpus === 2 && load === 2 ? 300 : 50, { throughput_per_s: 100 * load }) }, { set: { "vms.db.vcpus": vcpus, "vms.db.load": load } })));
    const { text, more } = answer(points);
    expect(text).toMatch(/^From load 2 on, db with 2 vCPUs suffers, not yet with load 1: p99 300 ms/);
    expect(more?.at(-1)).toBe("Not at any value: db with 4 vCPUs.");
  });

  it("compares words instead of ordering them", () => {
    const points = [["esxi-7.0", 250], ["linux-6.12", 160]].map(([name, p99]) => point({ db: slow(p99 as number) }, { set: { "hosts.esx.hypervisor": name } }));
    expect(answer(points).text).toBe("db is fastest with hypervisor linux-6.12 (mean 32 ms), slowest with hypervisor esxi-7.0 (50 ms).");
  });

  it("does not begin with a difference that replications have, too", () => {
    const points = (half: number) => [31.5, 32].map((mean, index) => point({ db: vm({ response_ms: { mean, p50: 30, p95: 40, p99: 50 * (index + 1), max: 90, ci95: half } }) }, { set: { "hosts.esx.hypervisor": `linux-6.${index}` } }));
    expect(answer(points(0.3)).text).toBe("No difference beyond what replications differ by.");
    expect(answer(points(0.2)).text).toMatch(/^db is fastest with hypervisor linux-6.0 /);
  });
});

describe("the answer of a single point", () => {
  it("names the worst VM, where it is, how many suffer, and why", () => {
    const one = point({ web: vm({ count: 3, vcpus: 12 }) }, { hosts: { a: host(30), b: host(99) } });
    Object.assign(one.vms["web-2"]!, { ready_pct: 31, host: "b" });
    Object.assign(one.vms["web-3"]!, { ready_pct: 12, host: "b" });
    const { tone, text } = pointAnswer(one);
    expect(tone).toBe("bad");
    expect(text).toBe("web-2 on b suffers most: ready 31 % per vCPU. In all, 2 of 3 VMs suffer: 2 of 3 of web.");
  });

  it("says which VMs stood still because their host failed", () => {
    const one = point({ app: vm({ count: 2, vcpus: 8 }) });
    Object.assign(one.vms["app-2"]!, { down_s: 41, host: "node-4" });
    expect(pointAnswer(one)).toMatchObject({ tone: "bad", text: "1 of 2 VMs stood still for up to 41 s of 60 s, because node-4 failed: app-2." });
  });

  it("says what limits I/O where nothing waits for CPU", () => {
    const station = { station: "db-controllers", utilization_pct: 100, saturated: true, next_station: null, next_utilization_pct: null, binding_depth: null };
    expect(pointAnswer(point({ db: vm() }, { bottleneck: station }))).toMatchObject({ tone: "warn", text: "db-controllers at 100 % limits I/O; no VM waits for CPU." });
  });

  it("says that nothing suffers, with the figures that show it", () => {
    expect(pointAnswer(point({ db: vm({ ready_pct: 0.3 }) }))).toEqual({
      tone: "good",
      text: "No VM suffers: ready is below 0.5 % and co-stop below 0.5 % per vCPU, and esx is at 40 %.",
      more: ["db completes 100 transactions a second in 10 ms on average; 99 % take at most 50 ms."],
    });
  });

  it("does not call hosts relaxed that are full", () => {
    const { tone, text } = pointAnswer(point({ db: vm() }, { hosts: { a: host(100), b: host(60) } }));
    expect([tone, text]).toEqual(["warn", "No VM waits yet, but 1 of 2 hosts is full, and the fullest host, a, is at 100 %; ready is below 0.5 % and co-stop below 0.5 % per vCPU."]);
  });

  it("tells how much a failure of storage cost", () => {
    const incident = { time_s: 7, what: "node-4", fails: true, degraded_pct: 10, lost_gib: 0, whole_after_s: 3 };
    const pool = { redundancy: "replicas-3", raw_gib: 1, usable_gib: 1, stored_gib: 1, lost_gib: 2, suspended_ios: 5, errors: 0, incidents: [incident] };
    const samples = { response_ms_mean: [2, 2, 90, 3], throughput_per_s: [5, 5, 5, 5] };
    const one = point({ app: vm() }, { pools: { pool }, timeline: { interval_s: 1, time_s: [1, 2, 3, 4], hosts: {}, vms: { app: samples } } });
    expect(pointAnswer(one).more).toEqual([
      "After node-4 failed, the mean response of app rose to 90 ms (at 8 s); it was 2 ms before the first failure.",
      "pool lost 2 GiB of data.",
      "At the end 5 I/Os to pool still wait for enough of it to come back.",
      expect.stringMatching(/^app completes/),
    ]);
  });
});

it("says why a run is not steady, or why that is not known", () => {
  const said = (verdict: Verdict) => confidence({ version: "1", scenario: "x", seed: 1, points: [point({}, { steady: false, verdict })] })[1]!.text;
  const reason = { condition: "grows", of: "san", text: "the cache of san takes 31.0 MB/s more than its disks write", needs_s: null };
  expect(said({ steady: "not-steady", reason })).toBe(`Not steady: ${reason.text}.`);
  const short = { condition: "window", of: "db", text: "2.00 s are measured", needs_s: 10 };
  expect(said({ steady: "not-known", reason: short })).toBe("Not known to be steady: 2.00 s are measured. Measure 10 s to tell.");
});

it("knows no mean to ±0 % where there is no interval", () => {
  const none = vm({ response_ms: { ...vm().response_ms, ci95: null } });
  const [said] = confidence({ version: "1", scenario: "x", seed: 1, points: [point({ db: none }, { replications: 3, steady: false })] });
  expect(said).toEqual({ tone: "warn", text: "3 replications of 60 s: no mean response has a half-width." });
});

it("says how sure the figures are", () => {
  const points = batchSweep();
  points[3]!.steady = false;
  const told = confidence({ version: "1", scenario: "x", seed: 1, points });
  expect(told.map((each) => each.tone)).toEqual(["good", "warn", "note"]);
  expect(told[0]!.text).toBe("3 replications of 60 s: mean responses are known to ±1.00 % or better, with 95 % confidence.");
  expect(told[1]!.text).toContain("1 of 4 points are not steady, or not known to be: 3 batch VMs");
  const [alone] = confidence({ version: "1", scenario: "x", seed: 1, points: [point({}, { replications: 1 })] });
  expect(alone).toEqual({ tone: "warn", text: "1 replication of 60 s: one run has no half-widths. Run it again with --replications 3 or more." });
});
