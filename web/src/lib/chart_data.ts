/** The figures of a chart as rows: for its table, which readers without sight use, and for its CSV file. */

import type { Axis, Chart, LineChart, Marks } from "../model/view";
import type { Field } from "./csv";
import { axisWords } from "./scale";

export interface Listing {
  heads: string[];
  rows: Field[][];
}

function place(axis: Axis, value: number): Field {
  return axis.scale === "category" ? (axis.categories?.[value] ?? value) : value;
}

function marked(marks: readonly Marks[], x: Axis): Field[][] {
  return marks.flatMap((group) => group.points.map((point) => [group.name, point.text, place(x, point.x), point.y]));
}

function lines(chart: LineChart): Listing {
  const columns = chart.series.flatMap((series) => [
    { name: series.name, values: series.values },
    ...(series.halfWidths?.some((each) => each !== null)
      ? [{ name: `${series.name} ±`, values: series.halfWidths }]
      : []),
    ...(series.lows ? [{ name: `${series.name} low`, values: series.lows }] : []),
    ...(series.highs ? [{ name: `${series.name} high`, values: series.highs }] : []),
  ]);
  const unit = chart.y.unit ? ` (${chart.y.unit})` : "";
  const rows = chart.places.map((at, index) => [
    place(chart.x, at),
    ...columns.map((each) => each.values[index] ?? null),
  ]);
  for (const [name, text, x, y] of marked(chart.marks ?? [], chart.x))
    rows.push([x ?? null, ...columns.map(() => null), `${name}: ${text}`, y ?? null]);
  const heads = [axisWords(chart.x), ...columns.map((each) => `${each.name}${unit}`)];
  if (chart.marks?.some((group) => group.points.length)) heads.push("mark", `value${unit}`);
  return { heads, rows: rows.map((row) => [...row, ...new Array<Field>(heads.length - row.length).fill(null)]) };
}

export function listing(chart: Chart): Listing {
  switch (chart.type) {
    case "lines":
      return lines(chart);
    case "bars": {
      const unit = chart.value.unit ? ` (${chart.value.unit})` : "";
      const columns = chart.series.flatMap((series) =>
        series.halfWidths
          ? [
              { name: `${series.name}${unit}`, values: series.values },
              { name: `${series.name} ±`, values: series.halfWidths },
            ]
          : [{ name: `${series.name}${unit}`, values: series.values }],
      );
      return {
        heads: ["", ...columns.map((each) => each.name)],
        rows: chart.categories.map((name, index) => [name, ...columns.map((each) => each.values[index] ?? null)]),
      };
    }
    case "scatter":
      return { heads: ["", "mark", axisWords(chart.x), axisWords(chart.y)], rows: marked(chart.marks, chart.x) };
    case "ranges":
      return {
        heads: ["", "low", "middle", "high", "mark", axisWords(chart.value)],
        rows: chart.rows.flatMap((row) => {
          const start: Field[] = [row.name, row.low, row.middle, row.high];
          return row.marks.length
            ? row.marks.map((mark) => [...start, mark.text, mark.value])
            : [[...start, null, null]];
        }),
      };
    case "heat":
      return {
        heads: ["", ...chart.columns.map((at) => String(place(chart.x, at)))],
        rows: chart.rows.map((row) => [
          row.name,
          ...row.values.map((value) => (value === null ? null : (chart.states?.[value]?.name ?? value))),
        ]),
      };
  }
}
