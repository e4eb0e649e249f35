/** Scales of axes: where a value lies along an axis, and which values to mark there. */

import { short } from "../model/numbers";
import type { Axis } from "../model/view";

export interface Scale {
  /** From a value to a place that is proportional to pixels. */
  place(value: number): number;
  value(place: number): number;
  /** Values to mark between two places, about `count` of them. */
  ticks(from: number, to: number, count: number): number[];
  label(value: number): string;
}

/** Round steps of a linear axis: 1, 2, 2.5 or 5 times a power of ten. */
export function linearTicks(from: number, to: number, count: number): number[] {
  const span = to - from;
  if (!(span > 0) || count < 1) return [from];
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].find((each) => each * power >= raw * 0.7)! * power;
  const first = Math.ceil(from / step - 1e-9);
  const last = Math.floor(to / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Powers of ten between two logarithms; with few of them also 2 and 5 times each, and beyond `count` only some. */
export function logTicks(from: number, to: number, count: number): number[] {
  const decades = to - from;
  const inner = decades < count / 3 ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const found: number[] = [];
  for (let power = Math.floor(from); power <= Math.ceil(to); power++)
    for (const each of inner) {
      const place = power + Math.log10(each);
      if (power % every === 0 && place >= from - 1e-9 && place <= to + 1e-9)
        found.push(Number((each * 10 ** power).toPrecision(12)));
    }
  return found.length >= 2 ? found : linearTicks(10 ** from, 10 ** to, count).filter((value) => value > 0);
}

const MAIN_PERCENTILES = [50, 90, 99, 99.9, 99.99, 99.999, 99.9999];
const PERCENTILES = [0, ...MAIN_PERCENTILES, 95, 99.5, 99.95, 99.995].sort((a, b) => a - b);
/** Beyond this the tail has no more places. */
const LAST_PERCENTILE = 99.99999;

export function scaleOf(axis: Axis): Scale {
  const marked =
    (ticks: (from: number, to: number, count: number) => number[], place: (value: number) => number) =>
    (from: number, to: number, count: number) =>
      axis.ticks?.filter((value) => place(value) >= from - 1e-9 && place(value) <= to + 1e-9) ?? ticks(from, to, count);
  switch (axis.scale) {
    case "log": {
      const place = (value: number) => Math.log10(Math.max(value, Number.MIN_VALUE));
      return { place, value: (at) => 10 ** at, ticks: marked(logTicks, place), label: short };
    }
    case "percentile": {
      const place = (value: number) => -Math.log10(1 - Math.min(value, LAST_PERCENTILE) / 100);
      const ticks = (from: number, to: number, count: number) => {
        const inside = PERCENTILES.filter((value) => place(value) >= from - 1e-9 && place(value) <= to + 1e-9);
        return inside.length > count ? inside.filter((value) => MAIN_PERCENTILES.includes(value)) : inside;
      };
      return {
        place,
        value: (at) => 100 * (1 - 10 ** -at),
        ticks: marked(ticks, place),
        label: (value) => String(Number(value.toPrecision(8))),
      };
    }
    case "category": {
      const names = axis.categories ?? [];
      const ticks = (from: number, to: number, count: number) => {
        const every = Math.max(1, Math.ceil(names.length / Math.max(1, count)));
        return names.map((_, index) => index).filter((index) => index % every === 0 && index >= from && index <= to);
      };
      return { place: (value) => value, value: (at) => at, ticks, label: (value) => names[value] ?? "" };
    }
    default: {
      const place = (value: number) => value;
      return { place, value: place, ticks: marked(linearTicks, place), label: short };
    }
  }
}

/** The ends of an axis in places: those it names, else those of the values, from 0 where that is near. */
export function ends(axis: Axis, values: Iterable<number>, roomy = true): [number, number] {
  const scale = scaleOf(axis);
  if (axis.scale === "category") return [-0.5, Math.max((axis.categories?.length ?? 1) - 0.5, 0.5)];
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value) || (axis.scale === "log" && value <= 0)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) [low, high] = axis.scale === "log" ? [1, 10] : [0, 1];
  if (roomy && axis.scale !== "log" && axis.scale !== "percentile" && low > 0 && low < 0.6 * high) low = 0;
  let [from, to] = [scale.place(axis.from ?? low), scale.place(axis.to ?? high)];
  const room = roomy ? (to - from) * 0.06 : 0;
  if (to - from < 1e-12) {
    const half = axis.scale === "log" ? 0.5 : Math.abs(to) * 0.1 || 1;
    [from, to] = [
      axis.from === undefined ? (low >= 0 && axis.scale !== "log" ? Math.max(0, from - half) : from - half) : from,
      to + half,
    ];
  } else {
    if (axis.from === undefined && !(low === 0 && from === 0)) from -= room;
    if (axis.to === undefined) to += room;
  }
  return [from, to];
}

/** The words of an axis: `Response, mean (ms)`. */
export function axisWords(axis: Axis): string {
  return axis.unit ? `${axis.name} (${axis.unit})` : axis.name;
}
