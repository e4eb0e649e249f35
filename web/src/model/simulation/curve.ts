/**
 * Latency against IOPS at increasing load, and the knee of the curve. Only generators of I/O have that curve, because
 * their response is the latency. Unlike a bend, the knee does not depend on the scale of the axes.
 */

import { number } from "../numbers";
import type { Marks, ScatterChart } from "../view";
import type { Point, Vm } from "./document";
import { groups, isGenerator, known, type Line, setting } from "./points";
import { judged } from "./signs";

/** Paths along which a group requests more I/O: outstanding I/Os, load, rate, workers, VMs. */
const ASKS = /\.(outstanding|load|rate|workers|population|count)$/;
const ID = "io-knee";
/** Points that make a curve. */
const LEAST = 3;

interface Place {
  at: string;
  point: Point;
  iops: number;
  mean: number;
  p99: number | null;
}

/** Along one line of a sweep of `x`; null where it is no curve. */
export function latencyCurve(
  x: string,
  drawn: readonly { name: string; group: string; line: Line; colour: number }[],
  suffix: string,
): ScatterChart | null {
  const found = ASKS.test(x)
    ? drawn
        .map((each) => ({ ...each, places: placesOf(x, each.group, each.line) }))
        .filter((each) => each.places.length >= LEAST)
    : [];
  if (!found.length) return null;
  const marks = found.flatMap(({ name, colour, places }): Marks[] => {
    const best = knee(places);
    const of = (place: Place, y: number, word: string) => ({
      x: place.iops,
      y,
      colour,
      text: `${name}, ${place.at}: ${word}`,
    });
    return [
      {
        name: `${name} · mean`,
        symbol: "circle",
        line: "solid",
        points: places.map((place) => of(place, place.mean, "mean")),
      },
      {
        name: `${name} · p99`,
        symbol: "diamond",
        line: "dashed",
        points: places.flatMap((place) =>
          place.p99 === null ? [] : [{ ...of(place, place.p99, "p99"), hollow: true }],
        ),
      },
      { name: `${name} · knee`, symbol: "star", points: best ? [of(best, best.mean, "knee")] : [] },
    ];
  });
  const latencies = found.flatMap(({ places }) => places.flatMap((place) => [place.mean, place.p99 ?? place.mean]));
  const isWide = Math.max(...latencies) > 10 * Math.min(...latencies);
  return {
    type: "scatter",
    id: ID + suffix,
    title: "Latency against IOPS",
    text: "The load grows from point to point. At the knee IOPS over mean latency is highest: beyond it latency grows faster than IOPS.",
    alternative: found
      .slice(0, 3)
      .map(({ name, places }) => told(name, places))
      .join(" "),
    x: { name: "I/O operations", unit: "1/s", from: 0 },
    y: { name: "I/O latency", unit: "ms", ...(isWide ? { scale: "log" as const } : { from: 0 }) },
    marks: marks.filter((each) => each.points.length),
  };
}

function placesOf(x: string, group: string, line: Line): Place[] {
  return line.points.flatMap((point) => {
    const vm: Vm | undefined = groups(point)[group];
    const [iops, mean] = [known(vm?.iops), known(vm?.io_latency_ms?.mean)];
    return vm && isGenerator(vm) && iops && mean
      ? [{ at: setting(x, point.set[x], [x]), point, iops, mean, p99: known(vm.io_latency_ms?.p99) }]
      : [];
  });
}

/** Where the ratio of throughput to response, the power of a queueing system (Kleinrock 1979), is highest; null if it still grows. */
function knee(places: readonly Place[]): Place | null {
  const best = places.reduce((most, place) => (place.iops / place.mean > most.iops / most.mean ? place : most));
  return best === places.at(-1) ? null : best;
}

function told(name: string, places: readonly Place[]): string {
  const best = knee(places);
  const figures = (place: Place) => `${place.at}, ${number(place.iops)} IOPS in ${number(place.mean)} ms`;
  const first = best === places[0] ? "at or before" : "at";
  const full = places.find((place) => judged(place.point).full_station);
  const limit = full
    ? `; from ${full.at} on ${judged(full.point).full_station} limits, ${number(full.iops)} IOPS in ${number(full.mean)} ms`
    : "";
  return `${name}: the knee is ${best ? `${first} ${figures(best)}` : `beyond ${figures(places.at(-1)!)}`}${limit}.`;
}
