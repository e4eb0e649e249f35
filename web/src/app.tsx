/** The page: finds the kind of its document, shows its view, and lets the reader choose what to look at. */

import { useCallback, useMemo, useState } from "preact/hooks";
import { Body } from "./components/body";
import { ThemeSwitch, useLook } from "./components/look";
import { Core } from "./live/core";
import { LivePage } from "./live/page";
import type { Choice as Choosable } from "./model/kind";
import type { PageDocument } from "./model/page";
import { kindOf } from "./model/registry";
import { Look } from "./theme";

export function App({ page }: { page: PageDocument }) {
  const kind = useMemo(() => kindOf(page), [page]);
  if (!kind) throw new Error(`the script of this page does not support results of kind ${page.kind}`);
  const choices = useMemo(() => kind.choices(page), [page]);
  const [chosen, setChosen] = useState<Record<string, string>>(() => firsts(choices));
  const view = useMemo(() => kind.view(page, chosen), [page, chosen]);
  const look = useLook();
  const simulator = useCallback(() => Core.of(document, JSON.stringify(page.live?.intervals)), [page]);
  const choose = <Choices choices={choices} chosen={chosen} choose={setChosen} />;
  const top = (title: string) => (
    <header class="top">
      <p class="brand">
        hypertwin <span class="hint">{page.made.date.slice(0, 10)}</span>
      </p>
      <ThemeSwitch theme={look.choice} choose={look.choose} />
      <h1>{title}</h1>
    </header>
  );
  return (
    <Look.Provider value={look}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      {page.live ? (
        <LivePage
          page={page}
          live={page.live}
          view={view}
          point={Number(chosen["point"] ?? 0)}
          choices={choose}
          top={top}
          simulator={simulator}
        />
      ) : (
        <>
          {top(view.title)}
          <Body page={page} view={view} choices={choose} />
        </>
      )}
    </Look.Provider>
  );
}

function firsts(choices: readonly Choosable[]): Record<string, string> {
  return Object.fromEntries(choices.map((choice) => [choice.key, choice.initial ?? choice.options[0]?.value ?? ""]));
}

interface Choosing {
  choices: readonly Choosable[];
  chosen: Record<string, string>;
  choose: (chosen: Record<string, string>) => void;
}

function Choices({ choices, chosen, choose }: Choosing) {
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
