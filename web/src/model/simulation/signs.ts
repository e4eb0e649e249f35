/** Severity for a VM or group, by the signs of the core (`judgement` of each point). */

import { number } from "../numbers";
import type { Judgement, Point, Sign } from "./document";
import { groups, known, members, worstFirst } from "./points";

/** Smallest ready and co-stop, in %, that the model resolves, as in terminal tables. */
export const RESOLVED = 0.5;

/** A share of ready or co-stop: below what the model resolves it is not a figure. */
export function waiting(share: number): string {
  return share < RESOLVED ? `<${RESOLVED} %` : `${number(share)} %`;
}

/** The judgement of a point that has none. */
export const NONE: Judgement = { tone: "good", text: "", more: [], vms: {}, groups: {}, limits: {} };

/** What the core judged of a point; nothing in results of older versions. */
export const judged = (point: Point): Judgement => point.judgement ?? NONE;

/** How bad signs are together: what hurts weighs more than anything else. */
export function severity(signs: readonly Sign[] = []): number {
  return Math.max(0, ...signs.map((sign) => sign.weight * (sign.severity === "critical" ? 1e6 : 1)));
}

/** How bad the signs of a group are, or those of its worst VM. */
export function groupSeverity(point: Point, group: string): number {
  const found = judged(point);
  return Math.max(severity(found.groups[group]), ...members(point, group).map((name) => severity(found.vms[name])));
}

/** The groups of a point, those that suffer most first, then those with the slowest transactions. */
export function worstGroups(point: Point): string[] {
  const found = groups(point);
  return worstFirst(
    Object.keys(found),
    (name) => groupSeverity(point, name) * 1e9 + (known(found[name]!.response_ms.p99) ?? 0),
  );
}
