import { expect, test } from "vitest";
import { number, short, withHalfWidth, withUnit } from "./numbers";

test.each([
  [0, "0"],
  [0.36, "0.36"],
  [0.3600001, "0.360"],
  [0.0361, "0.0361"],
  [0.000361, "0.000361"],
  [0.0000361, "3.61e−5"],
  [4, "4"],
  [12.345, "12.3"],
  [9.996, "9.996"],
  [99.94, "99.9"],
  [99.96, "99.96"],
  [123.4, "123"],
  [1234.5, "1,235"],
  [1234567.8, "1,234,568"],
  [-2.5, "−2.5"],
  [-0.00001, "−1.00e−5"],
  [1e15, "1.00e15"],
  [Infinity, "∞"],
])("%d is written %s", (value, text) => expect(number(value)).toBe(text));

test("what is missing is empty", () => {
  expect([number(null), number(undefined), number(NaN), withUnit(null, "ms"), withHalfWidth(null, 1)]).toEqual([
    "",
    "",
    "",
    "",
    "",
  ]);
});

test("units follow, in the singular after 1", () =>
  expect([withUnit(31.41, "ms"), withUnit(1, "ms"), withUnit(1, "VMs"), withUnit(2, "VMs")]).toEqual([
    "31.4 ms",
    "1 ms",
    "1 VM",
    "2 VMs",
  ]));

test.each([
  [12.345, 5.2, "12.3 ±5.2"],
  [12.345, 0.0512, "12.35 ±0.05"],
  [1234, 0.4, "1,234.0 ±0.4"],
  [20, 1, "20 ±1"],
  [0.00001, 0.000001, "1.00e−5 ±1.0e−6"],
  [3, null, "3"],
])("%d ± %d", (value, half, text) => expect(withHalfWidth(value, half)).toBe(text));

test.each([
  [0, "0"],
  [0.5, "0.5"],
  [1200, "1,200"],
  [12000, "12k"],
  [1500000, "1.5M"],
  [0.30000000000000004, "0.3"],
  [100, "100"],
  [0.001, "0.001"],
  [0.0001, "1e−4"],
  [0.00025, "2.5e−4"],
])("a label of %d is %s", (value, text) => expect(short(value)).toBe(text));
