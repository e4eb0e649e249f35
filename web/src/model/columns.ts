/** Tables and their columns, in a word each. */

import type { Block, Column, Table } from "./view";

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

export const tabled = (table: Table): Block => ({ type: "table", table });
