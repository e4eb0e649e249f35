/** Lines over an axis, drawn by uPlot: bands, whiskers, marks, moments, limits, and panels that share one axis. */

import { useContext, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { axisWords, ends, scaleOf, type Scale } from "../lib/scale";
import { number, withEnds, withHalfWidth } from "../model/numbers";
import type { LineChart, Series } from "../model/view";
import { dashOf, Look, seriesColour, type Theme } from "../theme";
import { symbolPath } from "./symbols";
import { FONT, textWidth } from "./text";
import { Moments } from "./moments";
import { Tooltip, type Pointed } from "./tooltip";

const HEIGHT = 270;
/** Width of the axis at the left, the same in all charts so that panels stand under one another. */
const LEFT = 70;
/** Up to this number of places, half-widths are drawn as whiskers, not as a band. */
const FEW = 30;
/** Up to this number of places, points are drawn on the lines. */
const POINTED = 12;
/** Values of a sweep with more characters are not round numbers, which an axis marks instead. */
const ROUND = 6;
/** Lines of a tooltip. */
const NAMED = 12;

interface Props {
  chart: LineChart;
  /** False if the panel above shows the events. */
  told: boolean;
  hidden: ReadonlySet<string>;
  width: number;
}

export function Lines({ chart, told, hidden, width }: Props) {
  const { theme } = useContext(Look);
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<(Pointed & { index: number; mark: string | null }) | null>(null);
  const [zoomed, setZoomed] = useState(false);
  const series = useMemo(() => chart.series.filter((each) => !hidden.has(each.name)), [chart, hidden]);
  const marks = useMemo(() => (chart.marks ?? []).filter((each) => !hidden.has(each.name)), [chart, hidden]);

  useLayoutEffect(() => {
    if (!element.current) return;
    const drawn = { ...chart, series, marks };
    const options = optionsFor(drawn, width, theme, setAt, setZoomed);
    const made = new uPlot(options, dataOf(drawn), element.current);
    plot.current = made;
    const leave = chart.sync ? join(chart.sync, made) : () => {};
    return () => {
      leave();
      made.destroy();
      plot.current = null;
      setAt(null);
    };
  }, [chart, series, marks, width, theme]);

  const step = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!by || !plot.current) return;
    event.preventDefault();
    const index = Math.min(Math.max((at?.index ?? -1) + by, 0), chart.places.length - 1);
    plot.current.setCursor({ left: plot.current.valToPos(plot.current.data[0]![index]!, "x"), top: 20 });
  };
  const reset = () => {
    if (plot.current) zoom(plot.current, chart.sync, null);
  };
  return (
    <div class="lines">
      {told && <Moments moments={chart.moments ?? []} />}
      <div ref={element} tabIndex={0} role="img" aria-label={`${chart.title}. ${chart.alternative}`} onKeyDown={step} />
      {at && <Values chart={{ ...chart, series }} at={at} theme={theme} />}
      {zoomed && (
        <button type="button" class="small reset" onClick={reset}>
          whole range
        </button>
      )}
    </div>
  );
}

function Values({
  chart,
  at,
  theme,
}: {
  chart: LineChart;
  at: Pointed & { index: number; mark: string | null };
  theme: Theme;
}) {
  const named = chart.series
    .map((series) => ({ series, value: series.values[at.index] ?? null, half: series.halfWidths?.[at.index] ?? null }))
    .filter((each) => each.value !== null)
    .sort((a, b) => b.value! - a.value!);
  const place = chart.places[at.index];
  const scale = scaleOf(chart.x);
  const where =
    place === undefined
      ? ""
      : chart.x.scale === "category"
        ? scale.label(place)
        : `${chart.x.name} ${number(place, 5)} ${chart.x.unit ?? ""}`;
  return (
    <Tooltip at={at}>
      <p class="where">{where}</p>
      {at.mark && <p>{at.mark}</p>}
      {named.slice(0, NAMED).map(({ series, value, half }) => (
        <p key={series.name}>
          <svg width="12" height="8" aria-hidden="true">
            <rect width="12" height="4" y="2" fill={seriesColour(theme, series.colour)} />
          </svg>{" "}
          {series.name} <strong>{withHalfWidth(value, half, 4)}</strong>
          {withEnds(series.lows?.[at.index], series.highs?.[at.index])} {chart.y.unit}
        </p>
      ))}
      {named.length > NAMED && <p class="hint">and {named.length - NAMED} more</p>}
    </Tooltip>
  );
}

/** Panels that share an axis, by key: a range chosen in one holds for all. */
const panels = new Map<string, Set<uPlot>>();

function join(key: string, plot: uPlot): () => void {
  const members = panels.get(key) ?? new Set();
  panels.set(key, members.add(plot));
  return () => members.delete(plot);
}

const whole = new WeakMap<uPlot, [number, number]>();

function zoom(plot: uPlot, key: string | undefined, range: [number, number] | null): void {
  for (const each of key ? (panels.get(key) ?? [plot]) : [plot]) {
    const [min, max] = range ?? whole.get(each) ?? [0, 1];
    each.setScale("x", { min, max });
  }
}

function placed(scale: Scale, value: number | null): number | null {
  return value === null || !Number.isFinite(scale.place(value)) ? null : scale.place(value);
}

/** The chart in places of its axes; each series with half-widths is followed by its upper and lower edge. */
function dataOf(chart: LineChart): uPlot.AlignedData {
  const [x, y] = [scaleOf(chart.x), scaleOf(chart.y)];
  const columns: (number | null)[][] = chart.series.flatMap((series) => {
    const values = series.values.map((value) => placed(y, value));
    return banded(chart, series) ? [values, edge(series, y, 1), edge(series, y, -1)] : [values];
  });
  return [chart.places.map((value) => x.place(value)), ...columns] as uPlot.AlignedData;
}

function banded(chart: LineChart, series: Series): boolean {
  return (
    chart.places.length > FEW &&
    chart.x.scale !== "category" &&
    (series.halfWidths?.some((each) => each !== null) ?? false)
  );
}

function edge(series: Series, y: Scale, sign: 1 | -1): (number | null)[] {
  return series.values.map((value, index) => {
    const half = series.halfWidths?.[index] ?? null;
    return value === null ? null : placed(y, value + sign * (half ?? 0));
  });
}

function valuesOf(chart: LineChart): number[] {
  const own = chart.series.flatMap((series) =>
    series.values.flatMap((value, index) => {
      const half = series.halfWidths?.[index] ?? 0;
      return value === null ? [] : [value + (half ?? 0), value - (half ?? 0)];
    }),
  );
  const points = (chart.marks ?? []).flatMap((group) => group.points.map((point) => point.y));
  return [...own, ...points, ...(chart.limits ?? []).map((limit) => limit.value)];
}

function optionsFor(
  chart: LineChart,
  width: number,
  theme: Theme,
  point: (at: (Pointed & { index: number; mark: string | null }) | null) => void,
  setZoomed: (zoomed: boolean) => void,
): uPlot.Options {
  const [x, y] = [scaleOf(chart.x), scaleOf(chart.y)];
  const xs = [...chart.places, ...(chart.marks ?? []).flatMap((group) => group.points.map((each) => each.x))];
  const rangeX = ends(chart.x, xs, chart.places.length <= 1);
  const filled = chart.places.map((value) => x.place(value));
  const all: [number, number] = [Math.min(...filled), Math.max(...filled)]; // what uPlot asks for first, and no zoom
  const values = valuesOf(chart);
  const rangeY = ends(chart.y, chart.y.scale === "log" ? values.filter((value) => value > 0) : values);
  const axis = {
    stroke: theme.muted,
    font: FONT,
    labelFont: FONT,
    grid: { stroke: theme.grid, width: 1 },
    ticks: { show: false },
  };
  const count = Math.max(2, Math.floor((width - LEFT) / 80));
  const at = placesAsTicks(chart, x, rangeX, width - LEFT);
  const drawn: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  for (const series of chart.series) {
    const colour = seriesColour(theme, series.colour);
    const few = chart.places.length <= POINTED;
    const lonely = series.values.filter((value) => value !== null).length <= 1;
    drawn.push({
      stroke: colour,
      width: 2,
      dash: dashOf(series.colour, series.dash),
      points: { show: few || lonely, size: 6, fill: colour, stroke: colour },
    });
    if (banded(chart, series)) {
      bands.push({ series: [drawn.length, drawn.length + 1], fill: `${colour}33` });
      drawn.push(
        { stroke: "transparent", points: { show: false } },
        { stroke: "transparent", points: { show: false } },
      );
    }
  }
  return {
    width,
    height: HEIGHT,
    padding: [14, 14, 0, 0],
    legend: { show: false },
    series: drawn,
    bands,
    scales: {
      x: {
        time: false,
        range: (_, from, to) =>
          Number.isFinite(from) && from !== to && zoomedIn(from, to, rangeX) && zoomedIn(from, to, all)
            ? [from, to]
            : rangeX,
      },
      y: { range: () => rangeY },
    },
    axes: [
      {
        ...axis,
        label: axisWords(chart.x),
        labelSize: 18,
        size: 26,
        splits: (_, __, from, to) => (at ?? x.ticks(from, to, count)).map((value) => x.place(value)),
        values: (_, places) => places.map((each) => x.label(clean(x.value(each)))),
      },
      {
        ...axis,
        label: axisWords(chart.y),
        labelSize: 18,
        size: LEFT - 18,
        splits: (_, __, from, to) => y.ticks(from, to, 6).map((value) => y.place(value)),
        values: (_, places) => places.map((each) => y.label(clean(y.value(each)))),
      },
    ],
    cursor: {
      ...(chart.sync ? { sync: { key: chart.sync, setSeries: false } } : {}),
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
    },
    hooks: {
      ready: [(plot) => whole.set(plot, rangeX)],
      setSelect: [
        (plot) => {
          const [from, to] = [
            plot.posToVal(plot.select.left, "x"),
            plot.posToVal(plot.select.left + plot.select.width, "x"),
          ];
          if (plot.select.width > 4) zoom(plot, chart.sync, [from, to]);
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      setScale: [
        (plot, key) => key === "x" && setZoomed(zoomedIn(plot.scales["x"]!.min!, plot.scales["x"]!.max!, rangeX)),
      ],
      setCursor: [
        (plot) => {
          const { left = -10, top = -10, idx } = plot.cursor;
          if (left < 0 || idx === null || idx === undefined) return point(null);
          const edge = plot.over.getBoundingClientRect();
          const outside = plot.root.getBoundingClientRect();
          point({
            x: left + edge.left - outside.left,
            y: Math.max(top, 0) + edge.top - outside.top,
            width: outside.width,
            index: idx,
            mark: near(plot, chart, x, y, left, top),
          });
        },
      ],
      draw: [(plot) => overlay(plot, chart, theme, x, y)],
    },
  };
}

/** The values of a sweep themselves, where there are few and their labels have room. */
function placesAsTicks(chart: LineChart, x: Scale, [from, to]: [number, number], width: number): number[] | null {
  if (chart.x.ticks || chart.sync || chart.x.scale === "category" || chart.places.length > 10) return null;
  if (chart.places.some((value) => x.label(value).length > ROUND)) return null;
  const middles = chart.places.map((value) => ({
    at: ((x.place(value) - from) / (to - from)) * width,
    half: textWidth(x.label(value)) / 2 + 4,
  }));
  const apart = middles.every(
    (each, index) => index === 0 || each.at - each.half > middles[index - 1]!.at + middles[index - 1]!.half,
  );
  return apart ? chart.places : null;
}

function clean(value: number): number {
  return Number(value.toPrecision(10));
}

function zoomedIn(from: number, to: number, [low, high]: [number, number]): boolean {
  return from - low > (high - low) * 1e-3 || high - to > (high - low) * 1e-3;
}

/** The words of the mark within reach of the pointer. */
function near(plot: uPlot, chart: LineChart, x: Scale, y: Scale, left: number, top: number): string | null {
  for (const group of chart.marks ?? [])
    for (const point of group.points)
      if (Math.hypot(plot.valToPos(x.place(point.x), "x") - left, plot.valToPos(y.place(point.y), "y") - top) < 10)
        return `${group.name}: ${point.text}`;
  return null;
}

/** Limits, events, whiskers and marks, which uPlot does not draw. */
function overlay(plot: uPlot, chart: LineChart, theme: Theme, x: Scale, y: Scale): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const atX = (value: number) => plot.valToPos(x.place(value), "x", true);
  const atY = (value: number) => plot.valToPos(y.place(value), "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left - 8 * ratio, bbox.top - 14 * ratio, bbox.width + 16 * ratio, bbox.height + 14 * ratio);
  ctx.clip();
  const line = (x1: number, y1: number, x2: number, y2: number, colour: string, width: number, dash: number[] = []) => {
    ctx.beginPath();
    ctx.setLineDash(dash.map((each) => each * ratio));
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * ratio;
    ctx.moveTo(x1, y1);
    ctx.lineTo(x2, y2);
    ctx.stroke();
  };
  errors(ctx, chart, theme, bbox, atX, atY);
  for (const limit of chart.limits ?? [])
    line(bbox.left, atY(limit.value), bbox.left + bbox.width, atY(limit.value), theme.tone[limit.tone], 1.5, [5, 3]);
  ctx.font = `600 ${11 * ratio}px sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const moment of chart.moments ?? []) {
    const at = atX(moment.x);
    if (at < bbox.left - 1 || at > bbox.left + bbox.width + 1) continue;
    line(at, bbox.top, at, bbox.top + bbox.height, theme.tone[moment.tone], 1.5);
    ctx.beginPath();
    ctx.fillStyle = theme.tone[moment.tone];
    ctx.arc(at, bbox.top - 5 * ratio, 8 * ratio, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = theme.surface;
    ctx.fillText(String(moment.number), at, bbox.top - 4.5 * ratio);
  }
  for (const series of chart.series) {
    if (banded(chart, series)) continue;
    series.halfWidths?.forEach((half, index) => {
      const value = series.values[index];
      if (half === null || value === null || value === undefined) return;
      const [at, low, high] = [
        atX(chart.places[index]!),
        atY(Math.max(value - half, chart.y.scale === "log" ? value / 100 : -Infinity)),
        atY(value + half),
      ];
      const colour = seriesColour(theme, series.colour);
      line(at, low, at, high, colour, 1.5);
      for (const end of [low, high]) line(at - 3 * ratio, end, at + 3 * ratio, end, colour, 1.5);
    });
  }
  ctx.setLineDash([]);
  for (const group of chart.marks ?? [])
    for (const point of group.points) {
      const path = new Path2D(symbolPath(group.symbol, atX(point.x), atY(point.y), 5.5 * ratio));
      const colour = seriesColour(theme, point.colour);
      ctx.fillStyle = point.hollow ? theme.surface : colour;
      ctx.strokeStyle = point.hollow ? colour : theme.surface;
      ctx.lineWidth = (point.hollow ? 2 : 1) * ratio;
      ctx.fill(path);
      ctx.stroke(path);
    }
  ctx.restore();
}

/** Intervals with the twin's own error, behind all else: a light band over an axis, or a light bar at each point. */
function errors(
  ctx: CanvasRenderingContext2D,
  chart: LineChart,
  theme: Theme,
  bbox: { left: number; top: number; width: number; height: number },
  atX: (value: number) => number,
  atY: (value: number) => number,
): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const isLog = chart.y.scale === "log";
  for (const series of chart.series) {
    const ends = chart.places.flatMap((place, index) => {
      const [value, low, high] = [series.values[index], series.lows?.[index], series.highs?.[index]];
      if (typeof value !== "number" || typeof low !== "number" || typeof high !== "number") return [];
      return [{ x: atX(place), low: atY(isLog ? Math.max(low, value / 100) : low), high: atY(high) }];
    });
    ctx.fillStyle = `${seriesColour(theme, series.colour)}1f`;
    if (ends.length > 1 && chart.x.scale !== "category") {
      ctx.beginPath();
      ends.forEach(({ x, high }, index) => (index ? ctx.lineTo(x, high) : ctx.moveTo(x, high)));
      for (const { x, low } of ends.toReversed()) ctx.lineTo(x, low);
      ctx.closePath();
      ctx.fill();
    } else {
      for (const { x, low, high } of ends) ctx.fillRect(x - 5, high, 10, low - high);
    }
  }
  ctx.restore();
}
