/** Figures against each other, with the diagonal and the tolerance around it, or joined to a curve. */

import { useContext, useState } from "preact/hooks";
import { ends, scaleOf } from "../lib/scale";
import { number } from "../model/numbers";
import type { ScatterChart } from "../model/view";
import { Look, seriesColour, type Theme } from "../theme";
import { atX, atY, AxisBelow, AxisLeft, type Along, type Box } from "./axes";
import { symbolPath } from "./symbols";
import { Tooltip, type Pointed } from "./tooltip";

interface Props {
  chart: ScatterChart;
  hidden: ReadonlySet<string>;
  width: number;
}

export function Scatter({ chart, hidden, width }: Props) {
  const { theme } = useContext(Look);
  const [at, setAt] = useState<(Pointed & { group: number; point: number }) | null>(null);
  const side = Math.min(width - 88, 380);
  const box: Box = { left: 70, top: 10, width: Math.min(width - 88, side * 1.5), height: side * 0.85 };
  const points = chart.marks.flatMap((group) => group.points);
  // with a diagonal both axes are the same, so that it is one
  const xs = chart.diagonal ? points.flatMap((point) => [point.x, point.y]) : points.map((point) => point.x);
  const ys = chart.diagonal ? xs : points.map((point) => point.y);
  const x: Along = { axis: chart.x, scale: scaleOf(chart.x), ends: ends(chart.x, xs) };
  const y: Along = { axis: chart.y, scale: scaleOf(chart.y), ends: ends(chart.y, ys) };
  const pointed = at && chart.marks[at.group]?.points[at.point];
  return (
    <div class="svg-chart" onPointerLeave={() => setAt(null)}>
      <svg width={width} height={box.top + box.height + 46} role="img" aria-label={chart.alternative}>
        <AxisLeft box={box} along={y} theme={theme} />
        <AxisBelow box={box} along={x} theme={theme} />
        {chart.diagonal && <Diagonal box={box} x={x} y={y} within={chart.diagonal} theme={theme} />}
        {chart.marks.map((group) =>
          group.line && !hidden.has(group.name) ? (
            <path
              key={group.name}
              d={`M${group.points.map((point) => `${atX(box, x, point.x).toFixed(1)},${atY(box, y, point.y).toFixed(1)}`).join("L")}`}
              fill="none"
              stroke={seriesColour(theme, group.points[0]?.colour ?? 0)}
              stroke-width="2"
              stroke-dasharray={group.line === "dashed" ? "6 4" : undefined}
            />
          ) : null,
        )}
        {chart.marks.map((group, index) =>
          hidden.has(group.name)
            ? null
            : group.points.map((point, number) => (
                <path
                  key={`${index}.${number}`}
                  d={symbolPath(
                    group.symbol,
                    atX(box, x, point.x),
                    atY(box, y, point.y),
                    group.symbol === "star" ? 9 : 5,
                  )}
                  fill={point.hollow ? theme.surface : seriesColour(theme, point.colour)}
                  stroke={point.hollow ? seriesColour(theme, point.colour) : theme.surface}
                  stroke-width={point.hollow ? 2 : 0.75}
                  onPointerEnter={() =>
                    setAt({ x: atX(box, x, point.x), y: atY(box, y, point.y), width, group: index, point: number })
                  }
                />
              )),
        )}
      </svg>
      {at && pointed && (
        <Tooltip at={at}>
          <p class="where">{pointed.text}</p>
          <p>
            {chart.x.name} <strong>{number(pointed.x, 4)}</strong> {chart.x.unit}
          </p>
          <p>
            {chart.y.name} <strong>{number(pointed.y, 4)}</strong> {chart.y.unit}
          </p>
        </Tooltip>
      )}
    </div>
  );
}

interface Band {
  box: Box;
  x: Along;
  y: Along;
  within: NonNullable<ScatterChart["diagonal"]>;
  theme: Theme;
}

function Diagonal({ box, x, y, within, theme }: Band) {
  const steps = 40;
  const places = Array.from({ length: steps + 1 }, (_, index) =>
    x.scale.value(x.ends[0] + ((x.ends[1] - x.ends[0]) * index) / steps),
  );
  const clamp = (at: number) => Math.min(Math.max(at, box.top), box.top + box.height);
  const at = (value: number, shifted: number) => {
    const lowest = y.axis.scale === "log" ? Math.max(shifted, Number.MIN_VALUE) : shifted;
    return `${atX(box, x, value).toFixed(1)},${clamp(atY(box, y, lowest)).toFixed(1)}`;
  };
  const band = (share: number) => {
    const edge = (sign: number) =>
      places.map((value) => at(value, value + sign * ((within.within ?? 0) + (Math.abs(value) * share) / 100)));
    return `M${[...edge(1), ...edge(-1).reverse()].join("L")}Z`;
  };
  return (
    <g>
      {(within.within_pct ?? [0]).map((share) => (
        <path key={share} d={band(share)} fill={theme.tone.good} fill-opacity="0.14" />
      ))}
      <path
        d={`M${places.map((value) => at(value, value)).join("L")}`}
        fill="none"
        stroke={theme.muted}
        stroke-dasharray="4 3"
      />
    </g>
  );
}
