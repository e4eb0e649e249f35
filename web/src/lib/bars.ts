/** Where bars begin and end: beside one another, or stacked. */

import type { BarChart } from "../model/view";

export interface Bar {
  series: number;
  category: number;
  from: number;
  to: number;
  value: number;
  half: number | null;
  /** Which of the bars that stand beside one another it is. */
  lane: number;
}

export function barsOf(chart: BarChart, hidden: ReadonlySet<string>): { bars: Bar[]; lanes: number } {
  const shown = chart.series
    .map((series, index) => ({ series, index }))
    .filter(({ series }) => !hidden.has(series.name));
  const bars: Bar[] = [];
  for (let category = 0; category < chart.categories.length; category++) {
    let top = 0;
    shown.forEach(({ series, index }, lane) => {
      const value = series.values[category];
      if (value === null || value === undefined) return;
      const from = chart.stacked ? top : 0;
      top += value;
      bars.push({
        series: index,
        category,
        from,
        to: from + value,
        value,
        half: series.halfWidths?.[category] ?? null,
        lane: chart.stacked ? 0 : lane,
      });
    });
  }
  return { bars, lanes: chart.stacked ? 1 : Math.max(1, shown.length) };
}
