/** The panel of a page that simulates: settings of the scenario, and what to do with what they give. */

import { useMemo, useRef, useState } from "preact/hooks";
import { download, fileName } from "../components/hooks";
import { Copy } from "../components/small";
import type { Live } from "../model/page";
import type { Card } from "../model/view";
import { byName } from "../model/words";
import { allowed, asCommand, asYaml, at, end, FAILS, settingsOf, written } from "./scenario";
import type { Section, Setting } from "./scenario";
import type { LiveState } from "./state";

const SECTIONS: Record<Section, string> = { vms: "VMs", hosts: "Hosts", storage: "Storage" };

/** Entries of which all settings are shown; of more, the reader chooses one. */
const FEW = 4;

/** Windows in which the panel is beside the answer, and so open; as in style.css. */
const BESIDE = "(min-width: 1000px)";

interface Entry {
  /** Path of the entry. */
  path: string;
  section: Section;
  name: string;
}

function entriesOf(live: Live, scenario: unknown): Entry[] {
  return (Object.keys(live.controls) as Section[]).flatMap((section) =>
    Object.keys((at(scenario, [section]) as object | undefined) ?? {})
      .toSorted(byName)
      .map((name) => ({ path: `${section}.${name}`, section, name })),
  );
}

interface Props {
  live: Live;
  state: LiveState;
  /** What was set at the point that is changed. */
  set: Record<string, unknown>;
  /** The key figures of what is shown, in sight while a setting changes. */
  cards: readonly Card[];
  compare: boolean;
  setCompare(on: boolean): void;
}

export function Panel({ live, state, set, cards, compare, setCompare }: Props) {
  const { changes, original, scenario, shown } = state;
  const entries = useMemo(() => entriesOf(live, original), [live, original]);
  const [chosen, setChosen] = useState(entries[0]?.path ?? "");
  const isChanged = (entry: Entry) => Object.keys(changes).some((path) => path.startsWith(`${entry.path}.`));
  const open = entries.length <= FEW ? entries : entries.filter((each) => each.path === chosen || isChanged(each));
  const many = Object.keys(changes).length;
  const [isOpen, setOpen] = useState(() => many > 0 || matchMedia(BESIDE).matches);
  return (
    <aside class="live" aria-label="Ask this report" onPointerEnter={state.prepare} onFocusIn={state.prepare}>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <h2>Ask this report</h2>
        </summary>
        <p class="hint">Change a setting: this page simulates the cluster again.</p>
        {entries.length > FEW && <Chooser entries={entries} chosen={chosen} choose={setChosen} />}
        {open.map((entry) => (
          <fieldset key={entry.path}>
            <legend>
              {SECTIONS[entry.section]}: {entry.name}
            </legend>
            {settingsOf(live, scenario, entry.section, entry.name).map((setting) => (
              <Line key={setting.path} setting={setting} state={state} />
            ))}
          </fieldset>
        ))}
        {live.hosts.length > 0 && <Fails hosts={live.hosts} state={state} />}
        <div class="seen-always">
          <p class="status" role="status" aria-live="polite">
            {state.error ? (
              <strong class="bad">{state.error}</strong>
            ) : (
              <>
                {shown?.status ?? (many ? "" : "The figures of the command.")}
                {state.pending && <span class="hint"> Simulating.</span>}
              </>
            )}
          </p>
          <dl>
            {cards.slice(0, FEW).map(({ name, value }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </div>
        <p class="tools">
          <button type="button" disabled={!state.undo} onClick={() => state.undo?.()}>
            Undo
          </button>{" "}
          <button type="button" disabled={!many} onClick={() => state.change({})}>
            Original
          </button>{" "}
          <label>
            <input type="checkbox" checked={compare} onChange={(event) => setCompare(event.currentTarget.checked)} />
            Compare with the original
          </label>
        </p>
        {many > 0 && !state.error && (
          <p class="tools">
            <Copy
              text={asCommand(live, set, original, changes)}
              what="the command of this change"
              label="copy as command"
            />{" "}
            <Copy text={location.href} what="the address of this page with these changes" label="copy address" />{" "}
            <button
              type="button"
              class="small"
              onClick={() => download(fileName(`${String(scenario["name"])}-changed`, "yaml"), asYaml(scenario))}
            >
              download as YAML
            </button>
          </p>
        )}
        {shown && shown.stage === "done" && !state.pending && !state.error && (
          <p class="hash">
            SHA-256 of the core's report, as the command prints with <code>-v</code>: {shown.sha256}
          </p>
        )}
      </details>
    </aside>
  );
}

function Chooser({
  entries,
  chosen,
  choose,
}: {
  entries: readonly Entry[];
  chosen: string;
  choose(path: string): void;
}) {
  const sections = Object.keys(SECTIONS) as Section[];
  const drawn = () => (
    <div class="setting">
      <label for="live-entry">Settings of</label>
      <select id="live-entry" value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
        {sections.map((section) => {
          const own = entries.filter((entry) => entry.section === section);
          return own.length ? (
            <optgroup key={section} label={`${SECTIONS[section]} (${own.length})`}>
              {own.map(({ path, name }) => (
                <option key={path} value={path}>
                  {name}
                </option>
              ))}
            </optgroup>
          ) : null;
        })}
      </select>
    </div>
  );
  return useMemo(drawn, [entries, chosen]);
}

function Line({ setting, state }: { setting: Setting; state: LiveState }) {
  const { path, control, value } = setting;
  const stop = useRef<(() => void) | null>(null);
  const id = `live-${path.replaceAll(".", "-")}`;
  const isChanged = path in state.changes;
  const give = (next: string | number, isFinal: boolean) =>
    state.change({ ...state.changes, [path]: written(control, next) }, isFinal);
  const reset = () => {
    const { [path]: _, ...others } = state.changes;
    state.change(others);
  };
  const isNumber = control.form !== "choice" && typeof value === "number";
  const neighbours = (around: number) =>
    [around + control.step, around - control.step]
      .map((next) => allowed(control, next))
      .filter((next) => next !== around)
      .map((next) => ({ ...state.changes, [path]: written(control, next) }));
  const take = (input: HTMLInputElement, isFinal: boolean) => {
    const next = input.valueAsNumber;
    if (Number.isFinite(next)) give(allowed(control, next), isFinal);
  };
  return (
    <div class={`setting ${isChanged ? "changed" : ""}`} title={control.text}>
      <label for={id}>
        {control.name}
        {control.unit && <span class="hint"> {control.unit}</span>}
      </label>
      {isNumber ? (
        <>
          <input
            id={id}
            type="range"
            min={Math.min(Math.floor(control.low / control.step) * control.step, value)}
            max={Math.max(end(control, value), value)}
            step={control.step}
            value={value}
            onPointerEnter={() => {
              stop.current?.();
              stop.current = state.expect(neighbours(value));
            }}
            onPointerLeave={() => stop.current?.()}
            onInput={(event) => take(event.currentTarget, false)}
            onChange={(event) => take(event.currentTarget, true)}
          />
          <input
            type="number"
            aria-label={`${control.name}${control.unit ? ` in ${control.unit}` : ""}`}
            min={control.low}
            max={control.high}
            step={control.form === "integer" ? control.step : "any"}
            value={Number(value.toPrecision(6))}
            onChange={(event) => take(event.currentTarget, true)}
          />
        </>
      ) : (
        <select
          id={id}
          value={String(value)}
          onChange={(event) => {
            const next = control.values.find((each) => String(each) === event.currentTarget.value);
            if (next !== undefined) give(next as string | number, true);
          }}
        >
          {[...new Set([...control.values, value])].map((each) => (
            <option key={String(each)} value={String(each)}>
              {String(each)}
            </option>
          ))}
        </select>
      )}
      {isChanged && (
        <button type="button" class="small" aria-label={`Original ${control.name}`} onClick={reset}>
          ×
        </button>
      )}
    </div>
  );
}

function Fails({ hosts, state }: { hosts: readonly string[]; state: LiveState }) {
  return (
    <fieldset>
      <legend>Failure</legend>
      <div class={`setting ${FAILS in state.changes ? "changed" : ""}`}>
        <label for="live-fails">Host that fails</label>
        <select
          id="live-fails"
          value={String(state.changes[FAILS] ?? "")}
          onChange={(event) => {
            const { [FAILS]: _, ...others } = state.changes;
            const host = event.currentTarget.value;
            state.change(host ? { ...others, [FAILS]: host } : others);
          }}
        >
          <option value="">none</option>
          {hosts.map((host) => (
            <option key={host}>{host}</option>
          ))}
        </select>
      </div>
    </fieldset>
  );
}
