/** CSV as in RFC 4180, in which no text is a formula to a spreadsheet. */

import type { Column, Row, Table } from "../model/view";
import { keyOf } from "./cells";

export type Field = string | number | null;

/** The same rule as `hypertwin.show.files.inert`: OWASP, CSV injection. */
const FORMULA = /^(?![-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?$)[=+\-@\t\r]/;

function field(value: Field): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(heads: readonly string[], rows: readonly (readonly Field[])[]): string {
  return [heads, ...rows].map((row) => row.map(field).join(",") + "\r\n").join("");
}

/** What a figure has besides its value, and the end of the name of its column. */
const MORE = [
  ["half_width", "±"],
  ["low", "low"],
  ["high", "high"],
] as const;

function more(row: Row, column: Column, key: (typeof MORE)[number][0]): number | null {
  const cell = row[column.key];
  return cell !== null && typeof cell === "object" && "value" in cell ? (cell[key] ?? null) : null;
}

/** A table as CSV: figures in full, and half-widths and ends of intervals in columns of their own. */
export function tableCsv(table: Table, rows: readonly Row[]): string {
  const fields = table.columns.flatMap((column) => {
    const name = column.unit ? `${column.name} (${column.unit})` : column.name;
    const values = { name, of: (row: Row): Field => keyOf(row[column.key]) };
    const beside = MORE.filter(([key]) => rows.some((row) => more(row, column, key) !== null));
    return [
      values,
      ...beside.map(([key, word]) => ({ name: `${name} ${word}`, of: (row: Row): Field => more(row, column, key) })),
    ];
  });
  return csv(
    fields.map((each) => each.name),
    rows.map((row) => fields.map((each) => each.of(row))),
  );
}
