/** Texts of table cells; sorting, searching and filtering of rows. */

import { number, withEnds, withHalfWidth } from "../model/numbers";
import type { Badge, Cell, Column, Row, Tone } from "../model/view";

export interface Shown {
  text: string;
  tone?: Tone;
  badge?: boolean;
}

function isBadge(cell: object): cell is Badge {
  return !("value" in cell);
}

/** A cell as it is read. */
export function shown(cell: Cell | undefined): Shown {
  if (cell === null || cell === undefined) return { text: "" };
  if (typeof cell === "string") return { text: cell };
  if (typeof cell === "number") return { text: number(cell) };
  if (isBadge(cell)) return { text: cell.text, tone: cell.tone, badge: true };
  const text = (cell.text ?? withHalfWidth(cell.value, cell.half_width)) + withEnds(cell.low, cell.high);
  return cell.tone ? { text, tone: cell.tone } : { text };
}

/** Sort key of a cell: its figure, or else its words; null for an empty one. */
export function keyOf(cell: Cell | undefined): number | string | null {
  if (cell === null || cell === undefined || cell === "") return null;
  if (typeof cell !== "object") return cell;
  return isBadge(cell) ? cell.text : (cell.value ?? (cell.text || null));
}

/** Order of figures, words and empty cells in one column. */
const KINDS: string[] = ["number", "string", "object"];
const WORDS = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Rows in order of a column; equal ones keep theirs. Words among figures, then empty cells, come last both ways. */
export function sorted(rows: readonly Row[], column: string, descending: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row[column]) }));
  const sign = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (typeof a.key === "number" && typeof b.key === "number") return sign * (a.key - b.key);
    if (typeof a.key === "string" && typeof b.key === "string") return sign * WORDS.compare(a.key, b.key);
    return KINDS.indexOf(typeof a.key) - KINDS.indexOf(typeof b.key);
  });
  return keyed.map((each) => each.row);
}

/** Rows that have every word of `search` in some column, and the chosen value in each filtered column. */
export function found(
  rows: readonly Row[],
  columns: readonly Column[],
  search: string,
  filters: Record<string, string>,
): Row[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = Object.entries(filters).filter(([, value]) => value !== "");
  return rows.filter((row) => {
    if (wanted.some(([key, value]) => shown(row[key]).text !== value)) return false;
    if (!words.length) return true;
    const text = columns
      .map((column) => shown(row[column.key]).text)
      .join("\u0000")
      .toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The values to filter a column by. */
export function valuesOf(rows: readonly Row[], column: string): string[] {
  return [...new Set(rows.map((row) => shown(row[column]).text))].filter(Boolean).sort(WORDS.compare);
}
