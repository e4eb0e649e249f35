/** Entries of a legend: every series, marks, limits and events. */

import type { Chart, Marks, Series, Tone } from "../model/view";

export interface Entry {
  name: string;
  /** How it is drawn. */
  drawn: "line" | "bar" | "mark" | "limit" | "range" | "tone";
  colour?: number;
  dash?: "solid" | "dashed" | "dotted";
  tone?: Tone;
  symbol?: Marks["symbol"];
  /** Can be hidden. */
  toggles: boolean;
}

function limits(chart: { limits?: { name: string; tone: Tone }[] }): Entry[] {
  return (chart.limits ?? []).map((limit) => ({ name: limit.name, drawn: "limit", tone: limit.tone, toggles: false }));
}

function marks(groups: readonly Marks[]): Entry[] {
  return groups
    .filter((group) => group.points.length)
    .map((group) => {
      const colours = new Set(group.points.map((point) => point.colour));
      const own = colours.size === 1 ? { colour: group.points[0]!.colour } : {};
      return { name: group.name, drawn: "mark", symbol: group.symbol, ...own, toggles: true };
    });
}

function series(all: readonly Series[], drawn: "line" | "bar"): Entry[] {
  return all.map(({ name, colour, dash }) => ({
    name,
    drawn,
    colour,
    ...(dash ? { dash } : {}),
    toggles: all.length > 1,
  }));
}

export function entriesOf(chart: Chart): Entry[] {
  switch (chart.type) {
    case "lines":
      return [...series(chart.series, "line"), ...marks(chart.marks ?? []), ...limits(chart)];
    case "bars":
      return [...series(chart.series, "bar"), ...limits(chart)];
    case "scatter":
      return marks(chart.marks);
    case "ranges":
      return [
        { name: chart.legend.range, drawn: "range", toggles: false },
        ...chart.legend.marks.map((mark): Entry => ({
          name: mark.text,
          drawn: "tone",
          tone: mark.tone,
          toggles: false,
        })),
      ];
    case "heat":
      return [
        ...(chart.states ?? []).map(({ name, colour }): Entry => ({ name, drawn: "bar", colour, toggles: false })),
        ...(chart.marks
          ? [{ name: chart.marks.name, drawn: "tone" as const, tone: chart.marks.tone, toggles: false }]
          : []),
      ];
  }
}
