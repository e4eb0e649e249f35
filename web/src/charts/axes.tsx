/** Axes of charts that are drawn as SVG: grid, labels, words. Colours are attributes, so that a saved drawing keeps them. */

import { axisWords, type Scale } from "../lib/scale";
import type { Axis, Tone } from "../model/view";
import type { Theme } from "../theme";
import { FAMILY } from "./text";

export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

export interface Along {
  axis: Axis;
  scale: Scale;
  ends: [number, number];
}

export function atX(box: Box, along: Along, value: number): number {
  return box.left + ((along.scale.place(value) - along.ends[0]) / (along.ends[1] - along.ends[0])) * box.width;
}

export function atY(box: Box, along: Along, value: number): number {
  return (
    box.top + box.height - ((along.scale.place(value) - along.ends[0]) / (along.ends[1] - along.ends[0])) * box.height
  );
}

export const LABEL = { "font-size": 12, "font-family": FAMILY } as const;

/** Lines and labels of an axis of figures below the box. */
export function AxisBelow({ box, along, theme }: { box: Box; along: Along; theme: Theme }) {
  const ticks = along.scale.ticks(along.ends[0], along.ends[1], Math.max(2, Math.floor(box.width / 80)));
  const bottom = box.top + box.height;
  return (
    <g>
      {ticks.map((tick) => (
        <g key={tick}>
          <line x1={atX(box, along, tick)} x2={atX(box, along, tick)} y1={box.top} y2={bottom} stroke={theme.grid} />
          <text {...LABEL} x={atX(box, along, tick)} y={bottom + 17} fill={theme.muted} text-anchor="middle">
            {along.scale.label(tick)}
          </text>
        </g>
      ))}
      <text {...LABEL} x={box.left + box.width / 2} y={bottom + 37} fill={theme.muted} text-anchor="middle">
        {axisWords(along.axis)}
      </text>
    </g>
  );
}

/** Lines and labels of an axis of figures at the left of the box. */
export function AxisLeft({ box, along, theme }: { box: Box; along: Along; theme: Theme }) {
  const ticks = along.scale.ticks(along.ends[0], along.ends[1], Math.max(2, Math.floor(box.height / 45)));
  const middle = box.top + box.height / 2;
  return (
    <g>
      {ticks.map((tick) => (
        <g key={tick}>
          <line
            x1={box.left}
            x2={box.left + box.width}
            y1={atY(box, along, tick)}
            y2={atY(box, along, tick)}
            stroke={theme.grid}
          />
          <text {...LABEL} x={box.left - 7} y={atY(box, along, tick) + 4} fill={theme.muted} text-anchor="end">
            {along.scale.label(tick)}
          </text>
        </g>
      ))}
      <text {...LABEL} x={12} y={middle} fill={theme.muted} text-anchor="middle" transform={`rotate(-90 12 ${middle})`}>
        {axisWords(along.axis)}
      </text>
    </g>
  );
}

interface Drawn {
  box: Box;
  along: Along;
  lying: boolean;
  limits: readonly { name: string; value: number; tone: Tone }[];
  theme: Theme;
}

/** Limits as dashed lines across the box: over an axis at the left, or one below. */
export function Limits({ box, along, lying, limits, theme }: Drawn) {
  return (
    <g>
      {limits.map((limit) => {
        const at = lying ? atX(box, along, limit.value) : atY(box, along, limit.value);
        const ends = lying
          ? { x1: at, x2: at, y1: box.top, y2: box.top + box.height }
          : { x1: box.left, x2: box.left + box.width, y1: at, y2: at };
        return (
          <line key={limit.name} {...ends} stroke={theme.tone[limit.tone]} stroke-width="1.5" stroke-dasharray="5 3">
            <title>{limit.name}</title>
          </line>
        );
      })}
    </g>
  );
}
