import { expect, test } from "vitest";
import { csv, tableCsv } from "./csv";

test.each([
  ["plain", "plain"],
  ["a,b", '"a,b"'],
  ['say "no"', '"say ""no"""'],
  ["two\nlines", '"two\nlines"'],
  ["=1+1", "'=1+1"],
  ["+x", "'+x"],
  ["-x", "'-x"],
  ["@SUM(A1)", "'@SUM(A1)"],
  ["\tx", "'\tx"],
  ["-12.5e3", "-12.5e3"],
])("%j is written %j", (text, field) => expect(csv([], [[text]])).toBe(`\r\n${field}\r\n`));

test("figures are written in full, half-widths beside them", () => {
  const columns = [
    { key: "vm", name: "VM", kind: "words" as const },
    { key: "p99", name: "p99", unit: "ms", kind: "number" as const },
  ];
  const rows = [
    { vm: "db", p99: { value: 31.4159, half_width: 1.25, low: 20.5, high: 90 } },
    { vm: "web", p99: 4 },
    { vm: "off", p99: null },
  ];
  expect(tableCsv({ id: "t", caption: "", columns, rows }, rows)).toBe(
    "VM,p99 (ms),p99 (ms) ±,p99 (ms) low,p99 (ms) high\r\ndb,31.4159,1.25,20.5,90\r\nweb,4,,,\r\noff,,,,\r\n",
  );
});
