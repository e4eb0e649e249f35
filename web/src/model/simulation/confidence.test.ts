import { expect, it } from "vitest";
import { confidence } from "./confidence";
import type { Verdict } from "./document";
import { batchSweep, point, result, type Some, vm } from "./examples.test.data";

it("says why a run is not steady, or why that is not known", () => {
  const said = (verdict: Some<Verdict>) => confidence(result([point({}, { steady: false, verdict })]))[1]!.text;
  const reason = {
    condition: "grows" as const,
    of: "san",
    text: "the cache of san receives 31.0 MB/s more than its disks write",
    needs_s: null,
  };
  expect(said({ steady: "not-steady", reason })).toBe(`Not steady: ${reason.text}.`);
  const short = { condition: "window" as const, of: "db", text: "2.00 s are measured", needs_s: 10 };
  expect(said({ steady: "not-known", reason: short })).toBe(
    "Not known to be steady: 2.00 s are measured. Measure 10 s to decide (--duration).",
  );
});

it("knows no mean to ±0 % where there is no interval", () => {
  const none = vm({ response_ms: { ...vm().response_ms, ci95: null } });
  const [said] = confidence(result([point({ db: none }, { replications: 3, steady: false })]));
  expect(said).toEqual({ tone: "warn", text: "3 replications of 60 s: no mean response has a half-width." });
});

it("names the widest interval with the twin's own error, and how to narrow it", () => {
  const basis = (text: string, low_factor: number, high_factor: number) => ({ text, low_factor, high_factor });
  const bases = { a: basis("narrow", 0.9, 1.1), b: basis("pools, tail: ×0.87 to ×11.61, from 7 sources", 0.87, 11.61) };
  const told = confidence(result([point({ db: vm() }, { model_error: { bases } })]));
  const found = told.find((each) => each.text.includes("own error"))!;
  expect(found.tone).toBe("note");
  expect(found.text).toContain("The widest is pools, tail: ×0.87 to ×11.61, from 7 sources.");
  expect(found.text).not.toContain("narrow,");
  expect(confidence(result([point({ db: vm() })])).some((each) => each.text.includes("own error"))).toBe(false);
});

it("says how sure the figures are", () => {
  const points = batchSweep();
  points[3]!.steady = false;
  const told = confidence(result(points));
  expect(told.map((each) => each.tone)).toEqual(["good", "warn", "note"]);
  expect(told[0]!.text).toBe("3 replications of 60 s: mean responses are within ±1.00 % (95 % confidence).");
  expect(told[1]!.text).toContain("1 of 4 points are not steady, or not known to be: 3 batch VMs");
  points[2]!.duration_s = 1000;
  expect(confidence(result(points))[0]!.text).toMatch(/^3 replications of 60 to 1,000 s: /);
  const [alone] = confidence(result([point({}, { replications: 1 })]));
  expect(alone).toEqual({
    tone: "warn",
    text: "1 replication of 60 s: one run has no half-widths. Run it again with --replications 3 or more.",
  });
});
