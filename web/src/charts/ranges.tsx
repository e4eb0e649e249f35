/** Intervals with marks in them, one a row. */

import { useContext } from "preact/hooks";
import { ends, scaleOf } from "../lib/scale";
import type { RangeChart } from "../model/view";
import { Look } from "../theme";
import { atX, AxisBelow, LABEL, type Along, type Box } from "./axes";
import { cut, textWidth } from "./text";

const ROW = 22;

export function Ranges({ chart, width }: { chart: RangeChart; width: number }) {
  const { theme } = useContext(Look);
  const named = Math.min(Math.max(...chart.rows.map((row) => textWidth(row.name)), 20), width * 0.42);
  const box: Box = {
    left: named + 12,
    top: 4,
    width: width - named - 34,
    height: Math.max(1, chart.rows.length) * ROW,
  };
  const values = chart.rows
    .flatMap((row) => [row.low, row.middle, row.high, ...row.marks.map((mark) => mark.value)])
    .filter((value) => value !== null);
  const along: Along = { axis: chart.value, scale: scaleOf(chart.value), ends: ends(chart.value, values) };
  const at = (value: number) => Math.min(Math.max(atX(box, along, value), box.left), box.left + box.width);
  return (
    <div class="svg-chart">
      <svg width={width} height={box.top + box.height + 46} role="img" aria-label={chart.alternative}>
        <AxisBelow box={box} along={along} theme={theme} />
        {chart.rows.map((row, index) => {
          const y = box.top + (index + 0.5) * ROW;
          return (
            <g key={index}>
              <title>{`${row.name}: ${row.marks.map((mark) => mark.text).join("; ")}`}</title>
              <rect x={0} y={y - ROW / 2} width={width} height={ROW} fill="transparent" />
              <text {...LABEL} x={named + 5} y={y + 4} text-anchor="end" fill={theme.ink}>
                {cut(row.name, named)}
              </text>
              {row.low !== null && row.high !== null && (
                <rect
                  x={at(row.low)}
                  y={y - 4}
                  width={Math.max(at(row.high) - at(row.low), 1.5)}
                  height={8}
                  rx={2}
                  fill={theme.muted}
                  fill-opacity="0.35"
                />
              )}
              {row.middle !== null && (
                <line
                  x1={at(row.middle)}
                  x2={at(row.middle)}
                  y1={y - 7}
                  y2={y + 7}
                  stroke={theme.ink}
                  stroke-width="1.5"
                />
              )}
              {row.marks.map((mark, number) => (
                <circle
                  key={number}
                  cx={at(mark.value)}
                  cy={y}
                  r={4.5}
                  fill={theme.tone[mark.tone]}
                  stroke={theme.surface}
                >
                  <title>{mark.text}</title>
                </circle>
              ))}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
