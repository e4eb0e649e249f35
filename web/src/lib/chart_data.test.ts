import { expect, test } from "vitest";
import { barsOf } from "./bars";
import { listing } from "./chart_data";
import { entriesOf } from "./legend";

const words = { id: "c", title: "c", alternative: "" };

test("lines list their places, half-widths and marks", () => {
  const chart = {
    ...words,
    type: "lines" as const,
    x: { name: "VMs" },
    y: { name: "ready", unit: "%" },
    places: [1, 2],
    series: [
      { name: "db", colour: 0, values: [3, null], halfWidths: [0.5, null] },
      { name: "web", colour: 1, values: [4, 5], lows: [1, null], highs: [9, null] },
    ],
    marks: [{ name: "published", symbol: "star" as const, points: [{ x: 2, y: 7, colour: 0, text: "seven" }] }],
    limits: [{ name: "5 %", value: 5, tone: "bad" as const }],
  };
  expect(listing(chart)).toEqual({
    heads: ["VMs", "db (%)", "db ± (%)", "web (%)", "web low (%)", "web high (%)", "mark", "value (%)"],
    rows: [
      [1, 3, 0.5, 4, 1, 9, null, null],
      [2, null, null, 5, null, null, null, null],
      [2, null, null, null, null, null, "published: seven", 7],
    ],
  });
  expect(entriesOf(chart).map((entry) => entry.name)).toEqual(["db", "web", "published", "5 %"]);
});

test("a heat map lists a row for each of its rows", () => {
  const chart = {
    ...words,
    type: "heat" as const,
    x: { name: "node", scale: "category" as const, categories: ["n0", "n1"] },
    columns: [0, 1],
    rows: [{ name: "esx1", values: [1, null] }],
    unit: "%",
  };
  expect(listing(chart)).toEqual({ heads: ["", "n0", "n1"], rows: [["esx1", 1, null]] });
});

test("stacked bars begin where the last one ends, others at 0 beside it", () => {
  const chart = {
    ...words,
    type: "bars" as const,
    categories: ["db"],
    value: { name: "time" },
    series: [
      { name: "run", colour: 0, values: [60] },
      { name: "ready", colour: 1, values: [14] },
      { name: "wait", colour: 2, values: [null] },
    ],
  };
  const ends = (stacked: boolean, hidden: string[] = []) =>
    barsOf({ ...chart, stacked }, new Set(hidden)).bars.map((bar) => [bar.from, bar.to, bar.lane]);
  expect(ends(true)).toEqual([
    [0, 60, 0],
    [60, 74, 0],
  ]);
  expect(ends(false)).toEqual([
    [0, 60, 0],
    [0, 14, 1],
  ]);
  expect(ends(true, ["run"])).toEqual([[0, 14, 0]]);
});
