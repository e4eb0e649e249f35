import { expect, test } from "vitest";
import type { Row } from "../model/view";
import { found, shown, sorted, valuesOf } from "./cells";

const rows: Row[] = [
  { vm: "app-10", ready: { value: 5, half_width: 0.2 } },
  { vm: "app-2", ready: null },
  { vm: "db", ready: 14.25 },
  { vm: "app-1", ready: { value: null, text: "off" } },
];
const columns = [
  { key: "vm", name: "VM", kind: "words" as const },
  { key: "ready", name: "ready", kind: "number" as const },
];
const names = (of: readonly Row[]) => of.map((row) => row["vm"]);

test("cells are read as they are written", () => {
  expect(shown(0.36)).toEqual({ text: "0.36" });
  expect(shown({ value: 12.34, half_width: 0.5, tone: "bad" })).toEqual({ text: "12.3 ±0.5", tone: "bad" });
  expect(shown({ value: 12.34, half_width: 0.5, low: 9, high: 35 })).toEqual({ text: "12.3 ±0.5 (9 – 35)" });
  expect(shown({ value: 3, text: "three" })).toEqual({ text: "three" });
  expect(shown({ tone: "good", text: "fine" })).toEqual({ text: "fine", tone: "good", badge: true });
  expect(shown(undefined)).toEqual({ text: "" });
});

test("names sort by their numbers, figures by size, and what is empty comes last both ways", () => {
  expect(names(sorted(rows, "vm", false))).toEqual(["app-1", "app-2", "app-10", "db"]);
  expect(names(sorted(rows, "ready", true))).toEqual(["db", "app-10", "app-1", "app-2"]);
  expect(names(sorted(rows, "ready", false))).toEqual(["app-10", "db", "app-1", "app-2"]);
});

test("every word is searched for, in any column, and filters hold", () => {
  expect(names(found(rows, columns, "app 5", {}))).toEqual(["app-10"]);
  expect(names(found(rows, columns, "OFF", {}))).toEqual(["app-1"]);
  expect(names(found(rows, columns, "", { vm: "db" }))).toEqual(["db"]);
  expect(found(rows, columns, "nothing", {})).toEqual([]);
});

test("a column offers each of its values once", () => {
  expect(valuesOf([{ h: "b" }, { h: "a" }, { h: "b" }, { h: null }], "h")).toEqual(["a", "b"]);
});
