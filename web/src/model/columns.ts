/** Tables, their columns, and lying bars, in a word each. */

import type { BarChart, Block, Column, Table } from "./view";

type More = Pick<Column, "text" | "secondary">;

export const words = (key: string, name: string, more: More = {}): Column => ({ key, name, kind: "words", ...more });

export const badges = (key: string, name: string, more: More = {}): Column => ({ key, name, kind: "badge", ...more });

/** A column of numbers in `unit`; empty for none. */
export const figures = (key: string, name: string, unit = "", more: More = {}): Column => ({
  key,
  name,
  kind: "number",
  ...(unit && { unit }),
  ...more,
});

/** Bars that lie, as they have room for long names. */
export const bars = (chart: Omit<BarChart, "type" | "horizontal">): BarChart => ({
  type: "bars",
  horizontal: true,
  ...chart,
});

export const tabled = (table: Table): Block => ({ type: "table", table });
