/** Sources of views: most results include theirs; that of a simulation is made here. */

import type { PageDocument } from "./page";
import { SIMULATION } from "./simulation";
import type { View } from "./view";

/** Something to choose at the top of a page: the point of a sweep, the pool to look at. */
export interface Choice {
  key: string;
  name: string;
  options: { value: string; name: string }[];
  /** The option that a page opens with; the first where it says none. */
  initial?: string;
}

export interface Kind {
  /** What a reader can choose; none for most results. */
  choices(page: PageDocument): Choice[];
  /** What the page shows; `chosen` has a value for each of `choices`. */
  view(page: PageDocument, chosen: Record<string, string>): View;
}

/** The kind of a page; undefined for one that this script does not know. */
export const kindOf = (page: PageDocument): Kind | undefined =>
  page.view
    ? { choices: () => [], view: () => page.view as View }
    : page.kind === "simulation"
      ? SIMULATION
      : undefined;
