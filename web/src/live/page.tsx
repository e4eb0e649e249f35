/** A page that simulates: what its reader asks, beside what the core gives for it. */

import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Body } from "../components/body";
import type { Live, PageDocument } from "../model/page";
import { head, SIMULATION } from "../model/simulation";
import type { Simulation } from "../model/simulation/document";
import type { View } from "../model/view";
import { Panel } from "./panel";
import { comparison, told } from "./result";
import { isLarge } from "./scenario";
import type { Simulator } from "./session";
import { useLive } from "./state";

interface Props {
  page: PageDocument;
  live: Live;
  view: View;
  point: number;
  choices: ComponentChildren;
  /** What is above, under the title of what is shown. */
  top(title: string): ComponentChildren;
  simulator(): Promise<Simulator>;
  /** As for `Body`. */
  isInside?: boolean;
}

export function LivePage({ page, live, view, point, choices, top, simulator, isInside = false }: Props) {
  const state = useLive(page, point, simulator);
  const [compare, setCompare] = useState(true);
  const { shown } = state;
  const before = (page.document as Simulation).points[state.point]!;
  const drawn = useRef(view.sections);
  const asked = useMemo(() => {
    if (!shown) return view;
    const [now] = (shown.page.document as Simulation).points;
    // of many VMs, a preview shows what changed most; the other sections follow at rest, dimmed until then
    const isBrief = shown.stage === "preview" && isLarge(state.scenario);
    if (!isBrief) drawn.current = SIMULATION.view(shown.page, {}).sections;
    const sections = compare ? [comparison(before, now!, shown.stage), ...drawn.current] : drawn.current;
    return { ...view, ...head(shown.page), title: `${page.title}, with ${told(shown.changes)}`, sections };
  }, [shown, view, compare, before]);
  const set = before.set as Record<string, unknown>;
  return (
    <>
      {top(asked.title)}
      <Body
        isInside={isInside}
        page={shown?.page ?? page}
        view={asked}
        choices={shown ? null : choices}
        look={[shown?.stage === "preview" ? "preview" : "", state.pending ? "pending" : ""].join(" ").trim()}
        panel={
          <Panel live={live} state={state} set={set} cards={asked.cards} compare={compare} setCompare={setCompare} />
        }
      />
    </>
  );
}
