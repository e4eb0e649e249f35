/** Amounts, names and sentences for reading, as all models write them. */

import { number, withHalfWidth, withUnit } from "./numbers";

/** Palette numbers of what is measured or published, and of what the twin says: the same on all pages. */
export const MEASURED = 0;
export const TWIN = 1;

const POWERS: [string, number][] = [
  ["TiB", 2 ** 40],
  ["GiB", 2 ** 30],
  ["MiB", 2 ** 20],
  ["KiB", 2 ** 10],
];

/** A value with its unit; bytes in the power of 1,024 that fits. `ratio` is no unit. */
export function amount(value: number, unit: string): string {
  if (unit === "B" || unit === "B/s") {
    const [name, size] = POWERS.find(([, each]) => Math.abs(value) >= each) ?? ["B", 1];
    return `${number(value / size)} ${name}${unit.slice(1)}`;
  }
  return withUnit(value, unit === "ratio" ? "" : unit);
}

/** A mean with the half-width of its confidence interval, where there is one, and its unit. */
export function spread(value: number | null, halfWidth: number | null | undefined, unit = ""): string {
  if (value === null) return "not measured";
  return `${withHalfWidth(value, halfWidth)}${unit && unit !== "ratio" ? ` ${unit}` : ""}`;
}

/** A change in per cent, with its sign. */
export function change(percent: number): string {
  return `${percent > 0 ? "+" : ""}${number(percent)} %`;
}

/** `1 VM`, `2 VMs`. */
export function count(many: number, noun: string, several = `${noun}s`): string {
  return `${number(many)} ${many === 1 ? noun : several}`;
}

/** The first names, and how many more there are. */
export function some(names: readonly string[], most = 5): string {
  return names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "");
}

/** `a, b and c`. */
export function list(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`;
}

const SPANS: [string, number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

/** A time in the largest unit that it reaches. */
export function duration(seconds: number): string {
  const [name, length] = SPANS.find(([, each]) => seconds >= each) ?? ["s", 1];
  return `${number(seconds / length)} ${name}`;
}

const SIZES: [string, number][] = [
  ["EB", 1e18],
  ["PB", 1e15],
  ["TB", 1e12],
  ["GB", 1e9],
  ["MB", 1e6],
  ["kB", 1e3],
];

/** Bytes in the largest power of 1,000 that they reach. */
export function size(bytes: number): string {
  const [name, each] = SIZES.find(([, one]) => bytes >= one) ?? ["B", 1];
  return `${number(bytes / each)} ${name}`;
}

/** Names in the order people expect: `app-2` before `app-10`. */
export function byName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

/** The middle value; null of none. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  if (!sorted.length) return null;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Text as part of an `id`: letters, digits and hyphens. */
export function slug(text: string): string {
  return (
    text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "") || "x"
  );
}
