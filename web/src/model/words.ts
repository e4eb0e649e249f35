/** Amounts, names and sentences for reading, as all models write them. */

import { number } from "./numbers";

/** Palette numbers of measured or published values, and of simulated ones: the same on all pages. */
export const MEASURED = 0;
export const TWIN = 1;

/** `1 VM`, `2 VMs`. */
export function count(many: number, noun: string, several = `${noun}s`): string {
  return `${number(many)} ${many === 1 ? noun : several}`;
}

/** The first names, and the number of others. */
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

/** Names in natural order: `app-2` before `app-10`. */
export function byName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
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

/** An argument as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}
