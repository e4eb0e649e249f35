/** Bars beside one another or stacked, standing or lying. */

import { useContext, useState } from "preact/hooks";
import { barsOf, type Bar } from "../lib/bars";
import { ends, scaleOf } from "../lib/scale";
import { withHalfWidth } from "../model/numbers";
import type { BarChart } from "../model/view";
import { Look, seriesColour, type Theme } from "../theme";
import { atX, atY, AxisBelow, AxisLeft, LABEL, Limits, type Along, type Box } from "./axes";
import { cut, textWidth } from "./text";
import { Tooltip, type Pointed } from "./tooltip";

/** Categories drawn at first if bars are horizontal; the model sorts the worst first. */
const FIRST = 20;
const HEIGHT = 270;

interface Props {
  chart: BarChart;
  hidden: ReadonlySet<string>;
  width: number;
}

export function Bars({ chart, hidden, width }: Props) {
  const { theme } = useContext(Look);
  const [all, setAll] = useState(false);
  const [at, setAt] = useState<(Pointed & { category: number }) | null>(null);
  const count = all || !chart.horizontal ? chart.categories.length : Math.min(chart.categories.length, FIRST);
  const part = { ...chart, categories: chart.categories.slice(0, count) };
  const point = (category: number, event: PointerEvent) => {
    const box = (event.currentTarget as Element).closest("svg")!.getBoundingClientRect();
    setAt({ x: event.clientX - box.left, y: event.clientY - box.top, width, category });
  };
  const Drawing = chart.horizontal ? Lying : Standing;
  return (
    <div class="svg-chart" onPointerLeave={() => setAt(null)}>
      <Drawing chart={part} hidden={hidden} width={width} theme={theme} point={point} />
      {at && (
        <Tooltip at={at}>
          <p class="where">{part.categories[at.category]}</p>
          {chart.series
            .filter((series) => !hidden.has(series.name))
            .map((series) => (
              <p key={series.name}>
                {series.name}{" "}
                <strong>{withHalfWidth(series.values[at.category], series.halfWidths?.[at.category], 4) || "–"}</strong>{" "}
                {chart.value.unit}
              </p>
            ))}
        </Tooltip>
      )}
      {count < chart.categories.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show all {chart.categories.length}
        </button>
      )}
    </div>
  );
}

type Drawn = Props & { theme: Theme; point: (category: number, event: PointerEvent) => void };

function along(chart: BarChart, bars: readonly Bar[]): Along {
  const values = bars.flatMap((bar) => [bar.from, bar.to, bar.to + (bar.half ?? 0), bar.to - (bar.half ?? 0)]);
  const log = chart.value.scale === "log";
  const axis = log ? chart.value : { from: Math.min(0, ...values), ...chart.value };
  const all = [...values, ...(chart.limits ?? []).map((limit) => limit.value)];
  return { axis, scale: scaleOf(axis), ends: ends(axis, log ? all.filter((value) => value > 0) : all) };
}

/** Where a bar begins: at 0, or where the axis begins if it has no 0. */
function start(value: Along, bar: Bar): number {
  return value.axis.scale === "log" && bar.from <= 0 ? value.scale.value(value.ends[0]) : bar.from;
}

function Lying({ chart, hidden, width, theme, point }: Drawn) {
  const { bars, lanes } = barsOf(chart, hidden);
  const thick = lanes === 1 ? 14 : Math.max(5, Math.min(9, 30 / lanes));
  const row = thick * lanes + 8;
  const named = Math.min(Math.max(...chart.categories.map(textWidth), 20), width * 0.38);
  const box: Box = {
    left: named + 12,
    top: 6,
    width: width - named - 34,
    height: Math.max(1, chart.categories.length) * row,
  };
  const value = along(chart, bars);
  return (
    <svg width={width} height={box.top + box.height + 46} role="img" aria-label={chart.alternative}>
      {chart.hatched?.length ? (
        <defs>
          <pattern id={`hatch-${chart.id}`} width="6" height="6" patternUnits="userSpaceOnUse">
            <path d="M-1 1 l2 -2 M0 6 l6 -6 M5 7 l2 -2" stroke={theme.ink} stroke-width="1.5" />
          </pattern>
        </defs>
      ) : null}
      <AxisBelow box={box} along={value} theme={theme} />
      {chart.categories.map((name, index) => (
        <g key={index} onPointerMove={(event) => point(index, event)}>
          <rect x={0} y={box.top + index * row} width={width} height={row} fill="transparent" />
          <text {...LABEL} x={named + 5} y={box.top + index * row + row / 2 + 4} text-anchor="end" fill={theme.ink}>
            {cut(name, named)}
          </text>
          {bars
            .filter((bar) => bar.category === index)
            .map((bar) => {
              const [from, to] = [atX(box, value, start(value, bar)), atX(box, value, bar.to)];
              const y = box.top + index * row + 4 + bar.lane * thick;
              return (
                <g key={bar.series}>
                  <rect
                    x={Math.min(from, to)}
                    y={y}
                    width={Math.max(Math.abs(to - from), 0.5)}
                    height={thick - 1}
                    fill={seriesColour(theme, chart.series[bar.series]!.colour)}
                  />
                  {chart.hatched?.includes(index) && (
                    <rect
                      x={Math.min(from, to)}
                      y={y}
                      width={Math.max(Math.abs(to - from), 24)}
                      height={thick - 1}
                      fill={`url(#hatch-${chart.id})`}
                    />
                  )}
                  {bar.half !== null && (
                    <line
                      x1={atX(box, value, bar.to - bar.half)}
                      x2={atX(box, value, bar.to + bar.half)}
                      y1={y + thick / 2}
                      y2={y + thick / 2}
                      stroke={theme.ink}
                      stroke-width="1.5"
                    />
                  )}
                </g>
              );
            })}
        </g>
      ))}
      <Limits box={box} along={value} lying limits={chart.limits ?? []} theme={theme} />
    </svg>
  );
}

function Standing({ chart, hidden, width, theme, point }: Drawn) {
  const { bars, lanes } = barsOf(chart, hidden);
  const count = Math.max(1, chart.categories.length);
  const step = (width - 84) / count;
  const widest = Math.max(...chart.categories.map(textWidth), 0);
  const tilted = widest > step - 6 && count > 1;
  const below = tilted ? Math.min(widest * 0.72 + 16, 110) : 24;
  const box: Box = { left: 70, top: 8, width: width - 84, height: HEIGHT - 40 };
  const value = along(chart, bars);
  const thick = Math.min((step * 0.8) / lanes, 46);
  const every = Math.max(1, Math.ceil(16 / step));
  return (
    <svg width={width} height={box.top + box.height + below + 4} role="img" aria-label={chart.alternative}>
      <AxisLeft box={box} along={value} theme={theme} />
      {chart.categories.map((name, index) => {
        const middle = box.left + (index + 0.5) * step;
        const label = tilted
          ? { transform: `rotate(-40 ${middle} ${box.top + box.height + 14})`, "text-anchor": "end" }
          : { "text-anchor": "middle" };
        return (
          <g key={index} onPointerMove={(event) => point(index, event)}>
            <rect x={middle - step / 2} y={box.top} width={step} height={box.height} fill="transparent" />
            {bars
              .filter((bar) => bar.category === index)
              .map((bar) => {
                const [from, to] = [atY(box, value, start(value, bar)), atY(box, value, bar.to)];
                const x = middle + (bar.lane - lanes / 2) * thick;
                return (
                  <g key={bar.series}>
                    <rect
                      x={x}
                      y={Math.min(from, to)}
                      width={Math.max(thick - 1, 1)}
                      height={Math.max(Math.abs(to - from), 0.5)}
                      fill={seriesColour(theme, chart.series[bar.series]!.colour)}
                    />
                    {bar.half !== null && (
                      <line
                        x1={x + thick / 2}
                        x2={x + thick / 2}
                        y1={atY(box, value, bar.to - bar.half)}
                        y2={atY(box, value, bar.to + bar.half)}
                        stroke={theme.ink}
                        stroke-width="1.5"
                      />
                    )}
                  </g>
                );
              })}
            {index % every === 0 && (
              <text {...LABEL} {...label} x={middle} y={box.top + box.height + 17} fill={theme.ink}>
                {cut(name, tilted ? 130 : Math.max(step, 30))}
              </text>
            )}
          </g>
        );
      })}
      <Limits box={box} along={value} lying={false} limits={chart.limits ?? []} theme={theme} />
    </svg>
  );
}
