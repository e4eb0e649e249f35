/** A kind of page: its choices and its view. */

import type { PageDocument } from "./page";
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
