/** Questions about a scenario: a command with its options, from the table of the command line. */

import { useId, useState } from "preact/hooks";
import { Code } from "./code";
import { ask, said, TAB, type Offer, type Option, type Run } from "./api";

type Given = Record<string, string | boolean>;

interface Props {
  offers: Offer[];
  file: string;
  text: string;
  canonical: Record<string, unknown> | null;
  isWrong: boolean;
}

export function Questions({ offers, file, text, canonical, isWrong }: Props) {
  const [command, setCommand] = useState(offers[0]?.command ?? "");
  const [given, setGiven] = useState<Record<string, Given>>({});
  const [keep, setKeep] = useState(false);
  const [error, setError] = useState("");
  const offer = offers.find((each) => each.command === command);
  const values = given[command] ?? {};
  const set = (name: string, value: string | boolean) =>
    setGiven({ ...given, [command]: { ...values, [name]: value } });
  const start = async (event: Event) => {
    event.preventDefault();
    if (!offer) return;
    try {
      const options = Object.fromEntries(offer.options.flatMap((option) => asked(option, values[option.name])));
      const run = await ask<Run>("POST", "/api/runs", { command, file, text, options, keep, tab: TAB });
      setError("");
      location.hash = `#/run/${run.id}`;
    } catch (caught) {
      setError(said(caught));
    }
  };
  if (!offer) return null;
  const frequent = offer.options.filter((option) => isFrequent(option, offer));
  const others = offer.options.filter((option) => !frequent.includes(option));
  const fields = (options: Option[]) =>
    options.map((option) => (
      <Input
        key={`${command} ${option.name}`}
        option={option}
        value={values[option.name]}
        set={set}
        canonical={canonical}
      />
    ));
  return (
    <form class="questions" onSubmit={(event) => void start(event)}>
      <label class="command-choice">
        Question{" "}
        <select value={command} onChange={(event) => setCommand(event.currentTarget.value)}>
          {offers.map((each) => (
            <option key={each.command} value={each.command}>
              {each.command}
            </option>
          ))}
        </select>
      </label>
      <p>{offer.help}</p>
      <div class="fields">{fields(frequent)}</div>
      {others.length > 0 && (
        <details class="rest">
          <summary>{others.length} more options</summary>
          <div class="fields">{fields(others)}</div>
        </details>
      )}
      <p>
        <label>
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} /> Keep
          running when this tab is closed
        </label>
      </p>
      <button type="submit" class="main" disabled={isWrong}>
        Run {command}
      </button>
      {isWrong && <p class="hint">Correct the errors of the scenario first.</p>}
      <p class="problem" role="alert">
        {error}
      </p>
    </form>
  );
}

const FREQUENT = 6;
const isFrequent = (option: Option, offer: Offer) =>
  option.is_required || option.name === "--set" || offer.options.indexOf(option) < FREQUENT;

/** The value of an option for the server; nothing for an option that is not set. */
function asked(option: Option, value: string | boolean | undefined): [string, unknown][] {
  if (value === undefined) return [];
  if (option.is_flag) return value === (option.default === "True") ? [] : [[option.name, value]];
  const lines = String(value)
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  if (!lines.length) return [];
  return [[option.name, option.is_repeated ? lines : lines[0]]];
}

interface Field {
  option: Option;
  value: string | boolean | undefined;
  set: (name: string, value: string | boolean) => void;
  canonical: Record<string, unknown> | null;
}

function Input({ option, value, set, canonical }: Field) {
  const id = useId();
  const names = offered(option, canonical);
  const shared = { id, "aria-describedby": `${id}-help`, required: option.is_required };
  const label = option.name.replace(/^--/, "");
  const hint = (
    <p id={`${id}-help`} class="hint">
      <Code text={option.help} />
      {option.is_repeated ? " One on each line." : ""}
    </p>
  );
  if (option.is_flag)
    return (
      <div class="field">
        <label for={id}>
          <input
            id={id}
            type="checkbox"
            aria-describedby={`${id}-help`}
            checked={value === undefined ? option.default === "True" : value === true}
            onChange={(event) => set(option.name, event.currentTarget.checked)}
          />{" "}
          <span class="key">{label}</span>
        </label>
        {hint}
      </div>
    );
  const typed = value === undefined ? "" : String(value);
  const hole = option.default ? `default: ${option.default}` : option.metavar;
  return (
    <div class="field">
      <label for={id}>
        <span class="key">{label}</span>
        {option.is_required && <span class="hint"> required</span>}
      </label>
      {option.choices.length ? (
        <select {...shared} value={typed} onChange={(event) => set(option.name, event.currentTarget.value)}>
          <option value="">{option.default ? `default: ${option.default}` : "not set"}</option>
          {option.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : option.is_repeated ? (
        <textarea
          {...shared}
          rows={2}
          value={typed}
          placeholder={hole}
          onInput={(event) => set(option.name, event.currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          value={typed}
          placeholder={hole}
          list={names.length ? `${id}-names` : undefined}
          onInput={(event) => set(option.name, event.currentTarget.value)}
        />
      )}
      {names.length > 0 && (
        <datalist id={`${id}-names`}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      {hint}
    </div>
  );
}

const SECTIONS: Record<string, string> = {
  groups: "vms",
  vms: "vms",
  hosts: "hosts",
  clusters: "clusters",
  pools: "storage",
};

function offered(option: Option, canonical: Record<string, unknown> | null): string[] {
  const section = canonical?.[SECTIONS[option.names] ?? ""];
  return section && typeof section === "object" ? Object.keys(section).slice(0, 500) : [];
}
