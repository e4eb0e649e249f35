import { expect, test } from "vitest";
import { highest } from "./bins";

test("a short peak stays visible when columns are put together", () => {
  const values = Array.from({ length: 1000 }, (_, index) => (index === 333 ? 99 : 1));
  const binned = highest(values, 10);
  expect(binned).toHaveLength(10);
  expect(binned[3]).toBe(99);
  expect(binned.filter((value) => value === 1)).toHaveLength(9);
});

test("gaps stay gaps, and fewer columns than places stay as they are", () => {
  expect(highest([null, null, 3, null], 2)).toEqual([null, 3]);
  expect(highest([1, null], 5)).toEqual([1, null]);
  expect(highest([-5, -3], 1)).toEqual([-3]);
});
