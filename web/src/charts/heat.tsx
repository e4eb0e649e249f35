/** A heat map on canvas. Only the rows in sight are drawn, so hundreds of rows of hundreds of columns stay quick. */

import { useContext, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { highest } from "../lib/bins";
import { axisWords, scaleOf } from "../lib/scale";
import { number, withUnit } from "../model/numbers";
import type { HeatMap } from "../model/view";
import { between, Look, seriesColour, type Theme } from "../theme";
import { Moments } from "./moments";
import { cut, FONT, textWidth } from "./text";
import { Tooltip, type Pointed } from "./tooltip";

const ROW = 16;
/** Rows in sight; the others are reached by scrolling. */
const SEEN = 24;
/** Rows on paper, where nothing scrolls. */
const PRINTED = 60;
const BELOW = 40;
const ABOVE = 20;

interface Layout {
  named: number;
  width: number;
  rows: { name: string; values: (number | null)[] }[];
  bins: number;
  top: number;
}

export function Heat({ chart, width }: { chart: HeatMap; width: number }) {
  const { theme, printing } = useContext(Look);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const [from, setFrom] = useState(0);
  const [at, setAt] = useState<(Pointed & { row: number; column: number }) | null>(null);
  const layout = useMemo(() => layoutOf(chart, width), [chart, width]);
  const count = chart.rows.length;
  const seen = Math.min(count, printing ? PRINTED : SEEN);
  const height = ABOVE + seen * ROW + BELOW;
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, chart, layout, theme, printing ? 0 : from, seen, width, height);
  }, [chart, layout, theme, from, seen, width, height, printing]);
  const pointed = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const row = from + Math.floor((y - ABOVE) / ROW);
    const bin = Math.floor(((x - layout.named) / (layout.width || 1)) * layout.bins);
    const inside = y >= ABOVE && y < ABOVE + seen * ROW && bin >= 0 && bin < layout.bins && row < count;
    setAt(inside ? { x, y, width, row, column: bin } : null);
  };
  const scale = scaleOf(chart.x);
  const first = at ? Math.ceil((at.column * chart.columns.length) / layout.bins) : 0;
  const value = at ? layout.rows[at.row]?.values[at.column] : null;
  return (
    <div class="heat">
      {!chart.states && <Ramp chart={chart} top={layout.top} theme={theme} />}
      <div
        class={`rows ${count > seen ? "scrolls" : ""}`}
        ref={scroller}
        tabIndex={count > seen ? 0 : undefined}
        role={count > seen ? "region" : undefined}
        aria-label={count > seen ? `Rows of ${chart.title}` : undefined}
        style={{ height: `${height}px` }}
        onScroll={(event) => setFrom(Math.min(Math.round(event.currentTarget.scrollTop / ROW), count - seen))}
      >
        <canvas
          ref={canvas}
          role="img"
          aria-label={chart.alternative}
          onPointerMove={pointed}
          onPointerLeave={() => setAt(null)}
        />
        <div style={{ height: `${(count - seen) * ROW}px` }} />
      </div>
      {at && (
        <Tooltip at={{ ...at, y: at.y + 24 }}>
          <p class="where">{chart.rows[at.row]?.name}</p>
          <p>
            {chart.x.scale === "category"
              ? scale.label(chart.columns[first] ?? 0)
              : `${chart.x.name} ${number(chart.columns[first], 5)} ${chart.x.unit ?? ""}`}
          </p>
          <p>
            <strong>
              {value === null || value === undefined
                ? "–"
                : (chart.states?.[value]?.name ?? withUnit(value, chart.unit))}
            </strong>
          </p>
          {marked(chart, layout, at.row)
            .filter((mark) => mark.bin === at.column)
            .map((mark) => (
              <p>{mark.text}</p>
            ))}
        </Tooltip>
      )}
      {count > seen && (
        <p class="hint">
          {printing
            ? `The first ${seen} of ${count} rows; all are in the CSV file of the page.`
            : `${count} rows: scroll for more.`}
        </p>
      )}
      <Moments moments={chart.moments ?? []} />
    </div>
  );
}

function Ramp({ chart, top, theme }: { chart: HeatMap; top: number; theme: Theme }) {
  const steps = 24;
  return (
    <p class="ramp">
      <span>0</span>
      <svg width={steps * 6} height="10" aria-hidden="true">
        {Array.from({ length: steps }, (_, index) => (
          <rect key={index} x={index * 6} width="6.5" height="10" fill={between(theme.heat, index / (steps - 1))} />
        ))}
      </svg>
      <span>{withUnit(top, chart.unit)}</span>
    </p>
  );
}

/** The marks in a row, and the drawn columns that they are in. */
function marked(chart: HeatMap, layout: Layout, row: number) {
  const inRow = chart.marks?.points.filter((mark) => mark.row === row) ?? [];
  return inRow.map((mark) => ({ ...mark, bin: Math.floor((mark.column * layout.bins) / chart.columns.length) }));
}

function layoutOf(chart: HeatMap, width: number): Layout {
  const widest = chart.rows.reduce((most, row) => Math.max(most, row.name.length > 60 ? 999 : textWidth(row.name)), 20);
  const named = Math.min(widest, width * 0.3) + 10;
  const inside = Math.max(width - named - 16, 10);
  const bins = Math.min(chart.columns.length, Math.floor(inside / 2));
  const rows = chart.rows.map((row) => ({ name: row.name, values: highest(row.values, bins) }));
  const top =
    chart.top ??
    rows.reduce((most, row) => row.values.reduce<number>((high, value) => Math.max(high, value ?? 0), most), 0);
  return { named, width: inside, rows, bins, top };
}

function draw(
  canvas: HTMLCanvasElement,
  chart: HeatMap,
  layout: Layout,
  theme: Theme,
  from: number,
  seen: number,
  width: number,
  height: number,
): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  const step = layout.width / layout.bins;
  for (let line = 0; line < seen; line++) {
    const row = layout.rows[from + line];
    if (!row) continue;
    const y = ABOVE + line * ROW;
    ctx.fillStyle = theme.ink;
    ctx.textAlign = "right";
    ctx.fillText(cut(row.name, layout.named - 10), layout.named - 6, y + ROW / 2);
    row.values.forEach((value, column) => {
      if (value === null) return;
      const state = chart.states?.[value];
      ctx.fillStyle = state
        ? seriesColour(theme, state.colour)
        : between(theme.heat, layout.top > 0 ? value / layout.top : 0);
      ctx.fillRect(layout.named + column * step, y, step + (state ? 1 : step > 4 ? -1 : 0.3), ROW - 1);
    });
    ctx.textAlign = "center";
    for (const { bin } of marked(chart, layout, from + line)) {
      ctx.fillStyle = theme.tone[chart.marks!.tone];
      ctx.fillRect(layout.named + bin * step, y, Math.max(step - 1, 3), ROW - 1);
      ctx.fillStyle = theme.surface;
      if (step > 12) ctx.fillText("✕", layout.named + (bin + 0.5) * step, y + ROW / 2);
    }
  }
  const bottom = ABOVE + seen * ROW;
  const scale = scaleOf(chart.x);
  const [low, high] = [chart.columns[0] ?? 0, chart.columns.at(-1) ?? 1];
  const spacing = chart.columns.length > 1 ? (high - low) / (chart.columns.length - 1) : 1;
  const placeOf = (value: number) =>
    layout.named + ((value - low + spacing / 2) / (high - low + spacing)) * layout.width;
  ctx.fillStyle = theme.muted;
  ctx.textAlign = "center";
  const wide = Math.max(80, ...(chart.x.categories ?? []).map((name) => textWidth(name) + 12));
  for (const tick of scale.ticks(low, high, Math.max(2, Math.floor(layout.width / wide))))
    ctx.fillText(cut(scale.label(tick), layout.width / 2), placeOf(tick), bottom + 10);
  ctx.fillText(axisWords(chart.x), layout.named + layout.width / 2, bottom + 28);
  ctx.font = "600 11px sans-serif";
  for (const moment of chart.moments ?? []) {
    const x = placeOf(moment.x);
    ctx.strokeStyle = ctx.fillStyle = theme.tone[moment.tone];
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.moveTo(x, ABOVE - 2);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, 9, 8, 0, 2 * Math.PI);
    ctx.fill();
    ctx.fillStyle = theme.surface;
    ctx.fillText(String(moment.number), x, 9.5);
  }
}
