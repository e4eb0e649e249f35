/** A scenario: form, YAML and questions, all of one text. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, Refused, said, scenarioPath, type Checked, type Offer, type Opened } from "./api";
import { Questions } from "./ask";
import { Editor } from "./editor";
import { ScenarioForm } from "./form";
import type { Schema } from "./schema";
import { WhatIf } from "./what_if";

/** Milliseconds after the last key until the text is checked. */
const PAUSE = 250;
const TABS = ["Form", "YAML", "What if", "Questions"] as const;
type Tab = (typeof TABS)[number];
const idOf = (tab: Tab) => `tab-${tab.replace(" ", "-")}`;

export interface Draft {
  text: string;
  /** The text as saved, and its hash; null for a text that has no file. */
  saved: string;
  sha256: string | null;
}

interface Props {
  name: string;
  schema: Schema;
  offers: Offer[];
  isReadOnly: boolean;
  draft: Draft | undefined;
  keep: (name: string, change: (before: Draft | undefined) => Draft) => void;
}

export function ScenarioView({ name, schema, offers, isReadOnly, draft, keep }: Props) {
  const [checked, setChecked] = useState<Checked>({ mistakes: [], readings: [], canonical: null });
  const [tab, setTab] = useState<Tab>("Form");
  const [note, setNote] = useState("");
  const [error, setError] = useState("");
  const load = async () => {
    try {
      const opened = await ask<Opened>("GET", scenarioPath(name));
      keep(name, () => ({ text: opened.text, saved: opened.text, sha256: opened.sha256 }));
      setChecked(opened);
      setError("");
      setNote("");
    } catch (caught) {
      setError(said(caught));
    }
  };
  useEffect(() => {
    if (!draft) void load();
  }, [name]);
  const text = draft?.text;
  useEffect(() => {
    if (text === undefined) return;
    const given = new AbortController();
    const later = setTimeout(() => {
      ask<Checked>("POST", "/api/check", { name, text }, given.signal)
        .then(setChecked)
        .catch((caught: unknown) => {
          if (!given.signal.aborted) setError(said(caught));
        });
    }, PAUSE);
    return () => {
      clearTimeout(later);
      given.abort();
    };
  }, [text]);
  const change = (next: string) => keep(name, (before) => ({ saved: "", sha256: null, ...before, text: next }));
  const save = async (target: string, opened: string | null) => {
    if (!draft) return;
    try {
      const answer = await ask<{ sha256: string }>("PUT", scenarioPath(target), { text: draft.text, opened });
      setError("");
      setNote(`Saved ${target}.`);
      const saved = { saved: draft.text, sha256: answer.sha256 };
      if (target === name) keep(name, (before) => ({ text: draft.text, ...before, ...saved }));
      else {
        keep(name, () => ({ ...draft, text: draft.saved }));
        keep(target, () => ({ text: draft.text, ...saved }));
        location.hash = `#/scenario/${encodeURIComponent(target)}`;
      }
    } catch (caught) {
      setError(said(caught) + (caught instanceof Refused && caught.status === 409 ? " Nothing was lost here." : ""));
    }
  };
  if (!draft)
    return (
      <>
        <h1 tabIndex={-1}>{name}</h1>
        <p role="status">{error || "Opening ..."}</p>
      </>
    );
  const isChanged = draft.text !== draft.saved;
  const count = checked.mistakes.length;
  return (
    <>
      <h1 tabIndex={-1}>{name}</h1>
      <div class="tools">
        {!isReadOnly && (
          <button type="button" class="main" disabled={!isChanged} onClick={() => void save(name, draft.sha256)}>
            Save
          </button>
        )}
        {!isReadOnly && <SaveAs save={(target) => void save(target, null)} />}
        <button type="button" onClick={() => void load()}>
          {isChanged ? "Discard changes and reload" : "Reload"}
        </button>
        <span class="hint" role="status">
          {isChanged ? "changed, not saved" : note}
        </span>
      </div>
      <p class="problem" role="alert">
        {error}
      </p>
      <p role="status" class="checked">
        {count ? (
          <span class="badge bad">{count === 1 ? "1 error" : `${count} errors`}</span>
        ) : (
          <span class="badge good">no errors</span>
        )}
      </p>
      {checked.readings.map((each) => (
        <p key={each} class="hint">
          {each}
        </p>
      ))}
      <Tabs chosen={tab} choose={setTab} />
      <div role="tabpanel" id="panel" aria-labelledby={idOf(tab)}>
        {tab === "Form" && (
          <>
            <Unplaced checked={checked} />
            <ScenarioForm schema={schema} text={draft.text} change={change} mistakes={checked.mistakes} />
          </>
        )}
        {tab === "YAML" && (
          <>
            <Editor name={name} text={draft.text} change={change} mistakes={checked.mistakes} />
            <All checked={checked} />
          </>
        )}
        {tab === "What if" &&
          (count ? <p class="hint">Correct the errors first.</p> : <WhatIf name={name} text={draft.text} />)}
        {tab === "Questions" && (
          <Questions offers={offers} file={name} text={draft.text} canonical={checked.canonical} isWrong={count > 0} />
        )}
      </div>
    </>
  );
}

/** Tabs as WAI-ARIA has them: arrows move, and one tab is in the order of the Tab key. */
function Tabs({ chosen, choose }: { chosen: Tab; choose: (tab: Tab) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (TABS.indexOf(chosen) + step + TABS.length) % TABS.length;
    choose(TABS[next]!);
    list.current?.querySelectorAll("button")[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views of the scenario" ref={list} onKeyDown={move}>
      {TABS.map((tab) => (
        <button
          key={tab}
          type="button"
          role="tab"
          id={idOf(tab)}
          aria-controls="panel"
          aria-selected={tab === chosen}
          tabIndex={tab === chosen ? 0 : -1}
          onClick={() => choose(tab)}
        >
          {tab}
        </button>
      ))}
    </div>
  );
}

function SaveAs({ save }: { save: (name: string) => void }) {
  const [name, setName] = useState("");
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault();
        save(/\.ya?ml$/.test(name) ? name : `${name}.yaml`);
      }}
    >
      <label>
        Save as{" "}
        <input
          value={name}
          required
          placeholder="new-name.yaml"
          onInput={(event) => setName(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Save as new file</button>
    </form>
  );
}

/** Problems without a place in the form. */
function Unplaced({ checked }: { checked: Checked }) {
  const found = useMemo(() => checked.mistakes.filter((each) => !each.path.includes(".")), [checked]);
  return (
    <>
      {found.map((each, index) => (
        <p key={index} class="problem">
          {each.message}
        </p>
      ))}
    </>
  );
}

function All({ checked }: { checked: Checked }) {
  if (!checked.mistakes.length) return null;
  return (
    <ol class="problems" aria-label="Errors">
      {checked.mistakes.map((each, index) => (
        <li key={index} class="problem">
          {each.message}
        </li>
      ))}
    </ol>
  );
}
