/** Values of a sweep at which groups suffer: a row for each line and group, with signs and cause. */

import { tabled, words, badges } from "../columns";
import type { Row, Section } from "../view";
import type { Break, Simulation } from "./document";
import { axes, axisName } from "./points";

const row = (each: Break): Row => ({
  group: each.group,
  line: each.line,
  suffers: { tone: each.suffers ? "bad" : "good", text: each.where },
  signs: each.signs.join("; "),
  why: each.why,
});

/** Lines and groups that suffer, and from which value on; empty if none does. */
export function breaksSection(result: Simulation): Section[] {
  const { x } = axes(result.points);
  const breaks = result.breaks ?? [];
  if (x === null || !breaks.some((each) => each.suffers)) return [];
  const table = {
    id: "where-it-breaks",
    caption: `Values of ${axisName(x)} at which groups suffer`,
    columns: [
      words("group", "group"),
      ...(breaks.some((each) => each.line) ? [words("line", "with")] : []),
      badges("suffers", "suffers"),
      words("signs", "signs", { secondary: true }),
      words("why", "why", { secondary: true }),
    ],
    rows: breaks.map(row),
    ...(breaks.length > 8 ? { filters: ["group"] } : {}),
  };
  return [{ id: "breaks", heading: "Where it breaks", blocks: [tabled(table)] }];
}
