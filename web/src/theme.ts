/** Colours for what is drawn. style.css holds them, once for each theme; drawings read them from there. */

import { createContext } from "preact";
import type { Tone } from "./model/view";

export interface Theme {
  ink: string;
  muted: string;
  grid: string;
  surface: string;
  series: string[];
  tone: Record<Tone, string>;
  /** From low to high. */
  heat: string[];
}

export type Choice = "auto" | "light" | "dark";

const TONES: Tone[] = ["good", "bad", "warn", "note", "plain"];
export const PALETTE = 8;
const HEAT = 5;

export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    ink: colour("ink"),
    muted: colour("muted"),
    grid: colour("grid"),
    surface: colour("surface"),
    series: Array.from({ length: PALETTE }, (_, index) => colour(`series-${index}`)),
    tone: Object.fromEntries(TONES.map((tone) => [tone, colour(tone)])) as Record<Tone, string>,
    heat: Array.from({ length: HEAT }, (_, index) => colour(`heat-${index}`)),
  };
}

/** What all parts of the page draw with: the theme, whether they draw for paper, and the reader's choice of a theme. */
export const Look = createContext<{
  theme: Theme;
  printing: boolean;
  choice: Choice;
  choose(choice: Choice): void;
}>({
  theme: {
    ink: "",
    muted: "",
    grid: "",
    surface: "",
    series: [],
    tone: { good: "", bad: "", warn: "", note: "", plain: "" },
    heat: [],
  },
  printing: false,
  choice: "auto",
  choose: () => undefined,
});

export function seriesColour(theme: Theme, colour: number): string {
  return theme.series[((colour % PALETTE) + PALETTE) % PALETTE] ?? theme.ink;
}

/** Beyond the palette colours come again, with another dash. */
export function dashOf(colour: number, dash: "solid" | "dashed" | "dotted" | undefined): number[] {
  const used = dash ?? (["solid", "dashed", "dotted"] as const)[Math.floor(Math.abs(colour) / PALETTE) % 3];
  return used === "dashed" ? [7, 4] : used === "dotted" ? [2, 3] : [];
}

/** A colour between those of a ramp; `share` is from 0 to 1. */
export function between(ramp: readonly string[], share: number): string {
  const at = Math.min(Math.max(share, 0), 1) * (ramp.length - 1);
  const [low, high] = [rgb(ramp[Math.floor(at)]), rgb(ramp[Math.ceil(at)])];
  const part = at - Math.floor(at);
  return `rgb(${low.map((each, index) => Math.round(each + (high[index]! - each) * part)).join(",")})`;
}

function rgb(colour = "#000000"): number[] {
  return [1, 3, 5].map((from) => parseInt(colour.slice(from, from + 2), 16));
}
