/** Numbered events of the first replication of a point: failures and returns of hosts and storage, and load changes. */

import { number } from "../numbers";
import type { Moment, Tone } from "../view";
import type { Beside } from "./beside";
import type { Point } from "./document";

/** Moments that are marked; more would hide the curves. */
const MOST = 40;

interface Happening {
  time: number;
  text: string;
  tone: Tone;
}

/** The moments of a point in the order of time, what happens at once as one, and how many more there were. */
export function moments(point: Point, place: number, beside: Beside): { marked: Moment[]; more: number } {
  const all = [
    ...ofHosts(point, beside.failures?.[place] ?? []),
    ...ofPools(point, beside.incidents?.[place] ?? {}),
    ...ofLoad(beside),
  ].toSorted((a, b) => a.time - b.time);
  const together = all.reduce<Happening[]>((found, each) => {
    const last = found.at(-1);
    if (last?.time !== each.time) return [...found, each];
    const text = `${last.text} ${each.text.replace(/^[\d.,]+ s: /, "")}`;
    return [...found.slice(0, -1), { time: each.time, text, tone: last.tone === "bad" ? "bad" : each.tone }];
  }, []);
  const marked = together
    .slice(0, MOST)
    .map(({ time, text, tone }, index) => ({ x: time, number: index + 1, text, tone }));
  return { marked, more: together.length - marked.length };
}

/** Failures of hosts, in the words of the terminal. */
function ofHosts(point: Point, told: readonly string[]): Happening[] {
  return (point.failures ?? []).map((failure, index) => ({
    time: failure.time_s,
    tone: failure.fails ? "bad" : "good",
    text: told[index] ?? plain(failure),
  }));
}

const plain = ({ time_s, what, fails }: { time_s: number; what: string; fails: boolean }) =>
  `${number(time_s)} s: ${what} ${fails ? "fails" : "returns"}.`;

/** Incidents of pools, in those words. */
function ofPools(point: Point, told: Record<string, string[]>): Happening[] {
  const pools = Object.entries(point.pools ?? {});
  return pools.flatMap(([name, pool]) =>
    pool.incidents.map((incident, index): Happening => {
      const text = told[name]?.[index] ?? plain(incident);
      return {
        time: incident.time_s,
        tone: incident.fails ? "bad" : "good",
        text: pools.length > 1 ? `${name}: ${text}` : text,
      };
    }),
  );
}

function ofLoad(beside: Beside): Happening[] {
  return (beside.load_steps ?? []).map((step) => ({
    time: step.at_s,
    tone: "note",
    text: `${number(step.at_s)} s: ${step.text}.`,
  }));
}
