/** The page: finds the kind of its document, shows its view, and lets the reader choose what to look at. */

import { options, type ComponentChildren } from "preact";
import { useContext, useMemo, useRef, useState } from "preact/hooks";
import { Folding, usePaper } from "./components/blocks";
import { Head } from "./components/head";
import { Made } from "./components/made";
import { Panel } from "./live/panel";
import { comparison, told } from "./live/result";
import { useLive } from "./live/state";
import { kindOf, type Choice as Choosable } from "./model/kinds";
import type { Live, PageDocument } from "./model/page";
import { head, SIMULATION } from "./model/simulation";
import type { Simulation } from "./model/simulation/document";
import { groups } from "./model/simulation/points";
import type { Section, View } from "./model/view";
import { Look, readTheme, type Choice } from "./theme";

/** Sections from which on a page has a list of them. */
const LONG = 4;

/** Groups of VMs up to which every preview draws all sections. */
const MAX_REDRAWN = 60;

export function App({ page }: { page: PageDocument }) {
  const kind = useMemo(() => kindOf(page), [page]);
  if (!kind) throw new Error(`the script of this page does not support results of kind ${page.kind}`);
  const choices = useMemo(() => kind.choices(page), [page]);
  const [chosen, setChosen] = useState<Record<string, string>>(() => firsts(choices));
  const view = useMemo(() => kind.view(page, chosen), [page, chosen]);
  const look = useLook();
  const choose = <Choices choices={choices} chosen={chosen} choose={setChosen} />;
  return (
    <Look.Provider value={look}>
      {page.live ? (
        <LivePage page={page} live={page.live} view={view} point={Number(chosen["point"] ?? 0)} choices={choose} />
      ) : (
        <Shown page={page} view={view} choices={choose} />
      )}
    </Look.Provider>
  );
}

/** A page that simulates: what its reader asks, beside what the core gives for it. */
function LivePage({
  page,
  live,
  view,
  point,
  choices,
}: {
  page: PageDocument;
  live: Live;
  view: View;
  point: number;
  choices: ComponentChildren;
}) {
  const state = useLive(page, point);
  const [compare, setCompare] = useState(true);
  const { shown } = state;
  const before = (page.document as Simulation).points[state.point]!;
  const drawn = useRef(view.sections);
  const asked = useMemo(() => {
    if (!shown) return view;
    const [now] = (shown.page.document as Simulation).points;
    // of many groups, a preview shows what changed most; the other sections follow at rest, dimmed until then
    const isBrief = shown.stage === "preview" && Object.keys(groups(now!)).length > MAX_REDRAWN;
    if (!isBrief) drawn.current = SIMULATION.view(shown.page, {}).sections;
    const sections = compare ? [comparison(before, now!, shown.stage), ...drawn.current] : drawn.current;
    return { ...view, ...head(shown.page), title: `${page.title}, with ${told(shown.changes)}`, sections };
  }, [shown, view, compare, before]);
  const set = before.set as Record<string, unknown>;
  return (
    <Shown
      page={shown?.page ?? page}
      view={asked}
      choices={shown ? null : choices}
      look={state.pending ? (shown?.stage === "preview" ? "preview pending" : "pending") : ""}
      panel={
        <Panel live={live} state={state} set={set} cards={asked.cards} compare={compare} setCompare={setCompare} />
      }
    />
  );
}

function Shown({
  page,
  view,
  choices,
  panel,
  look = "",
}: {
  page: PageDocument;
  view: View;
  choices: ComponentChildren;
  panel?: ComponentChildren;
  look?: string;
}) {
  const theme = useContext(Look);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <p class="brand">
          hypertwin <span class="hint">{page.made.date.slice(0, 10)}</span>
        </p>
        <ThemeSwitch theme={theme.choice} choose={theme.choose} />
        <h1>{view.title}</h1>
      </header>
      <div class={panel ? "asking" : view.sections.length >= LONG ? "long" : ""}>
        {panel}
        <main id="content" tabIndex={-1} class={look}>
          <Head view={view} />
          {view.sections.length >= LONG && <Contents view={view} />}
          {choices}
          {view.sections.map((section) => (
            <Part key={section.id} section={section} />
          ))}
          <Made page={page} assumptions={view.assumptions} />
        </main>
      </div>
    </>
  );
}

/** A section, drawn again only if it changed. */
function Part({ section }: { section: Section }) {
  return useMemo(
    () => (
      <section id={section.id} class="section" aria-label={section.heading}>
        <Folding
          heading={section.heading}
          badge={section.badge}
          closed={section.closed}
          text={section.text}
          blocks={section.blocks}
          level={2}
        />
      </section>
    ),
    [section],
  );
}

function firsts(choices: readonly Choosable[]): Record<string, string> {
  return Object.fromEntries(choices.map((choice) => [choice.key, choice.initial ?? choice.options[0]?.value ?? ""]));
}

/** The theme, and whether paper is drawn: that is light, whole and at once, because the printer does not wait. */
function useLook() {
  const [choice, setChoice] = useState<Choice>("auto");
  const [printing, setPrinting] = useState(false);
  const [system, setSystem] = useState(() => window.matchMedia("(prefers-color-scheme: dark)").matches);
  const root = document.documentElement;
  const dark = !printing && (choice === "auto" ? system : choice === "dark");
  root.dataset["theme"] = dark ? "dark" : "light";
  useMemo(() => {
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => setSystem(event.matches));
  }, []);
  const atOnce = (now: boolean) => () => {
    const before = options.debounceRendering;
    options.debounceRendering = (render) => render();
    setPrinting(now);
    options.debounceRendering = before;
  };
  usePaper(atOnce(true), atOnce(false));
  const theme = useMemo(readTheme, [dark]);
  return useMemo(() => ({ theme, printing, choice, choose: setChoice }), [theme, printing, choice]);
}

function ThemeSwitch({ theme, choose }: { theme: Choice; choose: (theme: Choice) => void }) {
  return (
    <label class="theme">
      <span>Colours</span>
      <select value={theme} onChange={(event) => choose(event.currentTarget.value as Choice)}>
        <option value="auto">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

function Contents({ view }: { view: View }) {
  return (
    <nav class="contents" aria-label="Contents">
      <ol>
        {view.sections.map((section) => (
          <li key={section.id}>
            <a href={`#${section.id}`}>{section.heading}</a>
          </li>
        ))}
        <li>
          <a href="#made">How this page was made</a>
        </li>
      </ol>
    </nav>
  );
}

function Choices({
  choices,
  chosen,
  choose,
}: {
  choices: readonly Choosable[];
  chosen: Record<string, string>;
  choose: (chosen: Record<string, string>) => void;
}) {
  const real = choices.filter((choice) => choice.options.length > 1);
  if (!real.length) return null;
  return (
    <div class="choices" role="group" aria-label="What to look at">
      {real.map((choice) => (
        <label key={choice.key}>
          <span>{choice.name}</span>
          <select
            value={chosen[choice.key] ?? ""}
            onChange={(event) => choose({ ...chosen, [choice.key]: event.currentTarget.value })}
          >
            {choice.options.map((option) => (
              <option key={option.value} value={option.value}>
                {option.name}
              </option>
            ))}
          </select>
        </label>
      ))}
    </div>
  );
}
