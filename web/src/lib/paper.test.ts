import { expect, test } from "vitest";
import type { Column } from "../model/view";
import { chunks } from "./paper";

const columns: Column[] = Array.from({ length: 20 }, (_, index) => ({
  key: `k${index}`,
  name: `column ${index}`,
  kind: "number",
}));
const table = {
  id: "t",
  caption: "",
  columns,
  rows: [Object.fromEntries(columns.map((column) => [column.key, 123456]))],
};

test("every column is on paper once, and each part begins with the name of the row", () => {
  const parts = chunks(table, 300);
  expect(parts.length).toBeGreaterThan(2);
  expect(new Set(parts.map((part) => part[0]!.key))).toEqual(new Set(["k0"]));
  expect(parts.flatMap((part) => part.slice(1)).map((column) => column.key)).toEqual(
    columns.slice(1).map((column) => column.key),
  );
});

test("a column wider than the paper has a part of its own", () => expect(chunks(table, 1)).toHaveLength(19));

test("a table of one column, or of none", () => {
  expect(chunks({ ...table, columns: columns.slice(0, 1) })).toEqual([columns.slice(0, 1)]);
  expect(chunks({ ...table, columns: [] })).toEqual([]);
});
