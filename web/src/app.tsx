/** The page: finds the kind of its document, shows its view, and lets the reader choose what to look at. */

import { options } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Folding, usePaper } from "./components/blocks";
import { Head } from "./components/head";
import { Made } from "./components/made";
import { kindOf, type Choice as Choosable } from "./model/kinds";
import type { PageDocument } from "./model/page";
import type { View } from "./model/view";
import { Look, readTheme, type Choice } from "./theme";

/** Sections from which on a page has a list of them. */
const LONG = 4;

export function App({ page }: { page: PageDocument }) {
  const kind = useMemo(() => kindOf(page), [page]);
  if (!kind) throw new Error(`the script of this page does not support results of kind ${page.kind}`);
  const choices = useMemo(() => kind.choices(page), [page]);
  const [chosen, setChosen] = useState<Record<string, string>>(() => firsts(choices));
  const view = useMemo(() => kind.view(page, chosen), [page, chosen]);
  const look = useLook();
  return (
    <Look.Provider value={look}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <p class="brand">
          hypertwin <span class="hint">{page.made.date.slice(0, 10)}</span>
        </p>
        <ThemeSwitch theme={look.choice} choose={look.choose} />
        <h1>{view.title}</h1>
      </header>
      <div class={view.sections.length >= LONG ? "long" : ""}>
        <main id="content" tabIndex={-1}>
          <Head view={view} />
          {view.sections.length >= LONG && <Contents view={view} />}
          <Choices choices={choices} chosen={chosen} choose={setChosen} />
          {view.sections.map((section) => (
            <section key={section.id} id={section.id} class="section" aria-label={section.heading}>
              <Folding
                heading={section.heading}
                badge={section.badge}
                closed={section.closed}
                text={section.text}
                blocks={section.blocks}
                level={2}
              />
            </section>
          ))}
          <Made page={page} assumptions={view.assumptions} />
        </main>
      </div>
    </Look.Provider>
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
