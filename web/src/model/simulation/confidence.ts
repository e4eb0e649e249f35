/** Confidence in the figures of a result. */

import { number } from "../numbers";
import type { Tone, View } from "../view";
import { count, some } from "../words";
import type { Point, Simulation } from "./document";
import { groups, known, varyingPaths, where } from "./points";

/** Names in a sentence. */
const NAMED = 4;

/** Why a point is not steady, or why that is unknown. */
function whyUnsteady({ verdict }: Point): string {
  const reason = verdict?.reason;
  if (!reason) return "Not steady.";
  if (verdict.steady === "not-steady") return `Not steady: ${reason.text}.`;
  return `Not known to be steady: ${reason.text}.${reason.needs_s === null ? "" : ` Measure ${number(reason.needs_s)} s to decide (--duration).`}`;
}

/** The measured time of runs, from the shortest to the longest. */
function lengths(points: readonly Point[]): string {
  const seconds = points.map((point) => point.duration_s);
  const ends = [Math.min(...seconds), Math.max(...seconds)].map((each) => number(each));
  return [...new Set(ends)].join(" to ");
}

/** How sure the figures are. */
export function confidence(result: Simulation): View["confidence"] {
  const points = result.points;
  const first = points[0];
  if (!first) return [{ tone: "warn", text: "No point was simulated." }];
  const several = points.every((point) => point.replications > 1);
  const runs = `${count(first.replications, "replication")} of ${lengths(points)} s`;
  const halves = points.flatMap((point) =>
    Object.values(groups(point)).flatMap((vm) => {
      const [value, half] = [known(vm.response_ms.mean), known(vm.response_ms.ci95)];
      return value && half !== null ? [(100 * half) / value] : [];
    }),
  );
  const widest = Math.max(0, ...halves);
  const found: { tone: Tone; text: string }[] = [
    several && !halves.length
      ? { tone: "warn", text: `${runs}: no mean response has a half-width.` }
      : several
        ? {
            tone: widest > 10 ? "warn" : "good",
            text: `${runs}: mean responses are within ±${number(widest)} % (95 % confidence).`,
          }
        : { tone: "warn", text: `${runs}: one run has no half-widths. Run it again with --replications 3 or more.` },
  ];
  const unsteady = points.filter((point) => !point.steady);
  const paths = varyingPaths(points);
  if (!unsteady.length)
    found.push({
      tone: "good",
      text:
        points.length === 1 ? "The run reached a steady state." : `All ${points.length} points reached a steady state.`,
    });
  else if (points.length === 1)
    found.push({
      tone: "warn",
      text: whyUnsteady(first),
    });
  else
    found.push({
      tone: "warn",
      text: `${unsteady.length} of ${points.length} points are not steady, or not known to be: ${some(
        unsteady.map((point) => where(point, paths)),
        NAMED,
      )}.`,
    });
  const bases = points.flatMap((point) => Object.values(point.model_error?.bases ?? {}));
  const [most] = bases.toSorted((a, b) => b.high_factor / b.low_factor - a.high_factor / a.low_factor);
  if (most)
    found.push({
      tone: "note",
      text: `In brackets: the 80% interval with the twin's own error, as factors of the figure. The widest is ${most.text}. ± is chance only. Points that you measured narrow the intervals (hypertwin calibrate).`,
    });
  const none = points.every((point) => point.calibration === null);
  found.push(
    none
      ? { tone: "note", text: "Not calibrated: every figure is predicted from the scenario's parameters." }
      : {
          tone: "good",
          text: `Calibrated on ${some([...new Set(points.map((point) => point.calibration ?? "nothing"))], NAMED)}.`,
        },
  );
  return found;
}
