/** Wide tables on paper: columns in parts that fit, each beginning with the first column, which names the row. */

import type { Column, Table } from "../model/view";
import { shown } from "./cells";

/** Pixels of a letter in print, of the space around a cell and a badge, and of the paper. */
const LETTER = 7;
const PADDING = 10;
const AROUND_BADGE = 18;
const WIDTH = 680;
/** Words longer than this wrap. */
const LONGEST = 34;

/** The width that a column needs, estimated by its letters. */
export function widthOf(column: Column, table: Table): number {
  const head = Math.max(...column.name.split(" ").map((word) => word.length), (column.unit ?? "").length);
  const cells = table.rows.reduce((most, row) => Math.max(most, shown(row[column.key]).text.length), 0);
  return Math.max(head, Math.min(cells, LONGEST)) * LETTER + PADDING + (column.kind === "badge" ? AROUND_BADGE : 0);
}

export function chunks(table: Table, width = WIDTH): Column[][] {
  const [first, ...others] = table.columns;
  if (!first) return [];
  const start = widthOf(first, table);
  const parts: Column[][] = [];
  let used = Infinity;
  for (const column of others) {
    const own = widthOf(column, table);
    if (used + own > width) {
      parts.push([first]);
      used = start;
    }
    parts.at(-1)!.push(column);
    used += own;
  }
  return parts.length ? parts : [[first]];
}
