/** Kinds of results and the models that turn them into views. A new kind is a file beside this one and a line here. */

import { CALIBRATION } from "./calibration";
import { CAPACITY } from "./capacity";
import { COMPARISON } from "./compare";
import { CONTENTION } from "./contention";
import { DENSITY } from "./density";
import { DIAGNOSIS } from "./diagnosis";
import { DURABILITY } from "./durability";
import { GUESTS } from "./guests";
import type { PageDocument } from "./page";
import { PLACEMENT } from "./placement";
import { SIMULATION } from "./simulation";
import { LAYOUT, SIZING } from "./sizing";
import { VALIDATION } from "./validation";
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

export const KINDS: Record<string, Kind> = {
  simulation: SIMULATION,
  /** A result whose document is a view already. */
  view: { choices: () => [], view: (page) => page.document as View },
  validation: VALIDATION,
  density: DENSITY,
  capacity: CAPACITY,
  durability: DURABILITY,
  placement: PLACEMENT,
  size: SIZING,
  vnuma: LAYOUT,
  calibration: CALIBRATION,
  diagnosis: DIAGNOSIS,
  contention: CONTENTION,
  guests: GUESTS,
  comparison: COMPARISON,
};
