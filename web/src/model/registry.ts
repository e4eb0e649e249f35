/** Sources of views: most results include theirs; that of a simulation is made here. */

import type { Kind } from "./kind";
import type { PageDocument } from "./page";
import { SIMULATION } from "./simulation";
import type { View } from "./view";

/** The kind of a page; undefined for one that this script does not know. */
export const kindOf = (page: PageDocument): Kind | undefined =>
  page.view
    ? { choices: () => [], view: () => page.view as View }
    : page.kind === "simulation"
      ? SIMULATION
      : undefined;
