import { expect, test } from "vitest";
import { ends, linearTicks, logTicks, scaleOf } from "./scale";

test("linear ticks are round", () => {
  expect(linearTicks(0, 97, 5)).toEqual([0, 20, 40, 60, 80]);
  expect(linearTicks(-0.13, 0.31, 4)).toEqual([-0.1, 0, 0.1, 0.2, 0.3]);
  expect(linearTicks(3, 3, 5)).toEqual([3]);
});

test("logarithmic ticks are powers of ten, finer where there are few", () => {
  expect(logTicks(0, 6, 6)).toEqual([1, 10, 100, 1e3, 1e4, 1e5, 1e6]);
  expect(logTicks(0, 1, 6)).toEqual([1, 2, 5, 10]);
  expect(logTicks(Math.log10(31), Math.log10(38), 6)).toEqual([31, 32, 33, 34, 35, 36, 37, 38]);
  expect(logTicks(-12, 12, 5).length).toBeLessThanOrEqual(6);
});

test("a percentile axis stretches the tail evenly", () => {
  const { place, value, ticks } = scaleOf({ name: "", scale: "percentile" });
  expect(place(99) - place(90)).toBeCloseTo(1);
  expect(place(99.9) - place(99)).toBeCloseTo(1);
  expect(value(place(99.95))).toBeCloseTo(99.95);
  expect(place(100)).toBeLessThan(8);
  expect(ticks(place(50), place(99.9), 6)).toEqual([50, 90, 95, 99, 99.5, 99.9]);
  expect(ticks(place(50), place(99.9), 3)).toEqual([50, 90, 99, 99.9]);
});

test("categories are thinned out, not written over one another", () => {
  const axis = {
    name: "",
    scale: "category" as const,
    categories: Array.from({ length: 10 }, (_, index) => `c${index}`),
  };
  expect(scaleOf(axis).ticks(-0.5, 9.5, 5)).toEqual([0, 2, 4, 6, 8]);
  expect(scaleOf(axis).label(3)).toBe("c3");
  expect(ends(axis, [])).toEqual([-0.5, 9.5]);
});

test("given ticks are kept where they are in sight", () => {
  expect(scaleOf({ name: "", ticks: [1, 4, 16] }).ticks(0, 10, 5)).toEqual([1, 4]);
});

test("an axis begins at 0 where that is near, and holds what it names", () => {
  expect(ends({ name: "" }, [10, 40])[0]).toBe(0);
  expect(ends({ name: "" }, [95, 100])[0]).toBeGreaterThan(90);
  expect(ends({ name: "", from: 0, to: 100 }, [40, 50])).toEqual([0, 100]);
  expect(ends({ name: "", scale: "log" }, [0, 1, 100])[0]).toBeLessThan(0);
});

test("an axis without figures, or of one, has a length", () => {
  for (const scale of ["linear", "log"] as const)
    for (const values of [[], [0], [5], [-5], [NaN]]) {
      const [from, to] = ends({ name: "", scale }, values);
      expect(to).toBeGreaterThan(from);
    }
});
