/** The form of a scenario, made from its JSON Schema. Each change edits the YAML text. */

import { createContext } from "preact";
import { useContext, useId, useMemo, useState } from "preact/hooks";
import { at } from "../live/scenario";
import { here, type Mistake } from "./api";
import { Code } from "./code";
import { parsed, renamed, withValue, type Path } from "./edit";
import { kindOf, meant, placeholder, range, resolved, starter, type Node, type Schema } from "./schema";

/** Sections of a scenario in the order of the form; the others follow. */
const FIRST = ["hosts", "vms", "workloads", "storage", "run"];
/** Sections whose names a key refers to. */
const REFERS: Record<string, string> = {
  workload: "workloads",
  host: "hosts",
  array: "arrays",
  storage: "storage",
  cluster: "clusters",
  device: "devices",
};
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

interface Form {
  schema: Schema;
  data: Record<string, unknown>;
  mistakes: Mistake[];
  set: (path: Path, value: unknown) => void;
  rename: (path: Path, name: string) => void;
}

const Context = createContext<Form>(null as unknown as Form);

interface Props {
  schema: Schema;
  text: string;
  change: (text: string) => void;
  mistakes: Mistake[];
}

export function ScenarioForm({ schema, text, change, mistakes }: Props) {
  const { data, error } = useMemo(() => parsed(text), [text]);
  if (error) return <p class="failed">The form needs valid YAML. Correct it on the YAML tab: {error}</p>;
  const form: Form = {
    schema,
    data,
    mistakes,
    set: (path, value) => change(withValue(text, path, value)),
    rename: (path, name) => change(renamed(text, path, name)),
  };
  const all = Object.keys(schema.properties ?? {});
  const sections = [...FIRST, ...all.filter((key) => !FIRST.includes(key) && kindAt(schema, key) !== "value")];
  const plain = all.filter((key) => kindAt(schema, key) === "value");
  return (
    <Context.Provider value={form}>
      <fieldset class="form">
        <legend class="unseen">Scenario</legend>
        <div class="fields">
          {plain.map((key) => (
            <Field key={key} path={[key]} node={schema.properties![key]!} isRequired={isNeeded(schema, key)} />
          ))}
        </div>
        {sections.map((key) => (
          <Section key={key} name={key} node={schema.properties![key]!} isOpen={FIRST.includes(key)} />
        ))}
      </fieldset>
    </Context.Provider>
  );
}

const kindAt = (schema: Schema, key: string) => kindOf(resolved(schema, schema.properties![key]!));
const isNeeded = (node: Node, key: string) => (node.required ?? []).includes(key);
const pathText = (path: Path) => path.join(".");
const under = (mistakes: Mistake[], path: Path) => {
  const start = pathText(path);
  return mistakes.filter((each) => each.path === start || each.path.startsWith(`${start}.`));
};

function Hint({ text }: { text: string | undefined }) {
  return (
    <p class="hint">
      <Code text={text} />
    </p>
  );
}

function Count({ path }: { path: Path }) {
  const count = under(useContext(Context).mistakes, path).length;
  if (!count) return null;
  return <span class="badge bad">{count === 1 ? "1 error" : `${count} errors`}</span>;
}

function Section({ name, node, isOpen }: { name: string; node: Node; isOpen: boolean }) {
  const { schema, data, mistakes } = useContext(Context);
  const full = resolved(schema, node);
  const there = data[name];
  const size = there && typeof there === "object" ? Object.keys(there).length : 0;
  const open = (isOpen && (size > 0 || kindOf(full) === "object")) || under(mistakes, [name]).length > 0;
  return (
    <details class="section" open={open}>
      <summary>
        <h2>{name}</h2> <span class="hint">{kindOf(full) === "object" ? "" : size || "none"}</span>
        <Count path={[name]} />
      </summary>
      <Hint text={full.description} />
      <Inner path={[name]} node={full} />
    </details>
  );
}

/** Content of a mapping, list or object. */
function Inner({ path, node }: { path: Path; node: Node }) {
  const kind = kindOf(node);
  if (kind === "object") return <Fields path={path} node={node} />;
  if (kind === "list") return <List path={path} node={node} />;
  return <Entries path={path} node={node} />;
}

function Entries({ path, node }: { path: Path; node: Node }) {
  const { schema, data, set } = useContext(Context);
  const [name, setName] = useState("");
  const [problem, setProblem] = useState("");
  const id = useId();
  const there = at(data, path);
  const entries = there && typeof there === "object" ? Object.keys(there) : [];
  const inner = typeof node.additionalProperties === "object" ? resolved(schema, node.additionalProperties) : {};
  const add = () => {
    if (!NAME.test(name)) setProblem("A name has 1 to 64 letters, digits, - and _, and begins with a letter or digit.");
    else if (entries.includes(name)) setProblem(`${name} exists already.`);
    else {
      set([...path, name], starter(schema, inner));
      setName("");
      setProblem("");
    }
  };
  return (
    <>
      {entries.map((key) => (
        <Entry key={key} path={[...path, key]} node={inner} isOpen={entries.length < 4} />
      ))}
      <div class="add">
        <label for={id}>New entry of {pathText(path)}</label>
        <input
          id={id}
          value={name}
          placeholder="name"
          aria-invalid={problem !== ""}
          aria-describedby={problem ? `${id}-problem` : undefined}
          onInput={(event) => setName(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && add()}
        />
        <button type="button" onClick={add}>
          Add
        </button>
        {problem && (
          <p id={`${id}-problem`} class="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </>
  );
}

function Entry({ path, node, isOpen }: { path: Path; node: Node; isOpen: boolean }) {
  const { mistakes } = useContext(Context);
  const [open, setOpen] = useState(isOpen);
  const name = String(path.at(-1));
  const kind = kindOf(node);
  if (kind !== "object" && kind !== "map" && kind !== "list")
    return (
      <div class="fields">
        <Field path={path} node={node} isRequired={false} />
      </div>
    );
  const shown = open || under(mistakes, path).length > 0;
  return (
    <details class="group" open={shown} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <h3>{name}</h3> <Count path={path} />
      </summary>
      {shown && <EntryContent path={path} node={node} name={name} />}
    </details>
  );
}

function EntryContent({ path, node, name }: { path: Path; node: Node; name: string }) {
  const { set, rename } = useContext(Context);
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <>
      <div class="tools">
        <label>
          Name{" "}
          <input
            value={typed ?? name}
            onInput={(event) => setTyped(event.currentTarget.value)}
            onChange={(event) => {
              if (NAME.test(event.currentTarget.value)) rename(path, event.currentTarget.value);
              setTyped(null);
            }}
          />
        </label>
        <button type="button" onClick={() => set(path, undefined)}>
          Remove {name}
        </button>
      </div>
      <Problems path={path} />
      <Inner path={path} node={node} />
    </>
  );
}

function List({ path, node }: { path: Path; node: Node }) {
  const { schema, data, set } = useContext(Context);
  const there = at(data, path);
  const items = Array.isArray(there) ? there : [];
  const inner = resolved(schema, node.items ?? {});
  return (
    <>
      {items.map((_, index) => (
        <div key={index} class="item">
          {kindOf(inner) === "object" ? (
            <fieldset>
              <legend>
                {pathText(path)} {index + 1}
              </legend>
              <Problems path={[...path, index]} />
              <Fields path={[...path, index]} node={inner} />
            </fieldset>
          ) : (
            <Field path={[...path, index]} node={inner} isRequired={true} />
          )}
          <button type="button" onClick={() => set([...path, index], undefined)}>
            Remove {pathText(path)} {index + 1}
          </button>
        </div>
      ))}
      <button type="button" onClick={() => set([...path, items.length], starter(schema, inner))}>
        Add to {pathText(path)}
      </button>
    </>
  );
}

function Fields({ path, node }: { path: Path; node: Node }) {
  const { schema, data, mistakes } = useContext(Context);
  const [all, setAll] = useState(false);
  const there = at(data, path);
  const given = there && typeof there === "object" ? Object.keys(there) : [];
  const known = Object.keys(node.properties ?? {});
  const first = known.filter(
    (key) => isNeeded(node, key) || given.includes(key) || under(mistakes, [...path, key]).length,
  );
  const rest = known.filter((key) => !first.includes(key));
  const odd = given.filter((key) => !known.includes(key));
  const few = first.length + rest.length < 8;
  const shown = (keys: string[]) => {
    const flat = keys.filter((key) => isFlat(resolved(schema, node.properties![key]!)));
    const deep = keys.filter((key) => !flat.includes(key));
    return (
      <>
        <div class="fields">
          {flat.map((key) => (
            <Field key={key} path={[...path, key]} node={node.properties![key]!} isRequired={isNeeded(node, key)} />
          ))}
        </div>
        {deep.map((key) => (
          <Nested key={key} path={[...path, key]} node={resolved(schema, node.properties![key]!)} />
        ))}
      </>
    );
  };
  return (
    <>
      {shown(few ? [...first, ...rest] : first)}
      {odd.map((key) => (
        <Odd key={key} path={[...path, key]} />
      ))}
      {!few && rest.length > 0 && (
        <details class="rest" open={all} onToggle={(event) => setAll(event.currentTarget.open)}>
          <summary>{rest.length} more keys</summary>
          {all && shown(rest)}
        </details>
      )}
    </>
  );
}

const isFlat = (node: Node) => ["value", "choice", "boolean"].includes(kindOf(node));

function Nested({ path, node }: { path: Path; node: Node }) {
  const { data, mistakes, set } = useContext(Context);
  const there = at(data, path) !== undefined;
  const [open, setOpen] = useState(false);
  const shown = open || under(mistakes, path).length > 0;
  const key = String(path.at(-1));
  return (
    <details class="nested" open={shown} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="key">{key}</span> <span class="hint">{there ? "" : "not set"}</span> <Count path={path} />
      </summary>
      {shown && (
        <>
          <Hint text={node.description} />
          <Problems path={path} />
          <Inner path={path} node={node} />
          {there && (
            <button type="button" onClick={() => set(path, undefined)}>
              Remove {key}
            </button>
          )}
        </>
      )}
    </details>
  );
}

/** A key that the schema lacks. */
function Odd({ path }: { path: Path }) {
  const { set } = useContext(Context);
  return (
    <div class="field odd">
      <span class="key">{String(path.at(-1))}</span>
      <Problems path={path} />
      <button type="button" onClick={() => set(path, undefined)}>
        Remove {String(path.at(-1))}
      </button>
    </div>
  );
}

function Problems({ path }: { path: Path }) {
  const found = useContext(Context).mistakes.filter((each) => each.path === pathText(path));
  return (
    <>
      {found.map((each, index) => (
        <p key={index} class="problem">
          {here(each)}
        </p>
      ))}
    </>
  );
}

function Field({ path, node, isRequired }: { path: Path; node: Node; isRequired: boolean }) {
  const { schema, data, mistakes, set } = useContext(Context);
  const id = useId();
  const full = resolved(schema, node);
  const value = at(data, path);
  const found = mistakes.filter((each) => each.path === pathText(path));
  const key = typeof path.at(-1) === "number" ? pathText(path) : String(path.at(-1));
  const limits = [range(full), full["x-family"] && `only ${full["x-family"]}`].filter(Boolean).join("; ");
  const shared = {
    id,
    "aria-invalid": found.length > 0,
    "aria-describedby": `${id}-help${found.length ? ` ${id}-problem` : ""}`,
    required: isRequired && value === undefined,
  };
  const kind = kindOf(full);
  const section = data[REFERS[key] ?? ""];
  const names = section && typeof section === "object" ? Object.keys(section).slice(0, 500) : [];
  const choices = kind === "boolean" ? ["true", "false"] : (full.enum ?? []).map(String);
  const shown =
    value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return (
    <div class={`field${found.length ? " wrong" : ""}`}>
      <label for={id}>
        <span class="key">{key}</span>
        {isRequired && <span class="hint"> required</span>}
      </label>
      {choices.length ? (
        <select
          {...shared}
          value={shown}
          onChange={(event) => {
            const picked = event.currentTarget.value;
            set(path, picked === "" ? undefined : kind === "boolean" ? picked === "true" : picked);
          }}
        >
          <option value="">{full.default === undefined ? "not set" : `default: ${String(full.default)}`}</option>
          {!choices.includes(shown) && shown && <option value={shown}>{shown}</option>}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...shared}
          value={shown}
          placeholder={placeholder(full)}
          list={names.length ? `${id}-names` : undefined}
          onChange={(event) => {
            const typed = event.currentTarget.value;
            if (typed !== shown) set(path, typed.trim() === "" ? undefined : meant(full, typed));
          }}
        />
      )}
      {names.length > 0 && (
        <datalist id={`${id}-names`}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      <p id={`${id}-help`} class="hint">
        <Code text={full.description} /> {limits && <span class="limits">({limits})</span>}
      </p>
      {found.length > 0 && (
        <p id={`${id}-problem`} class="problem">
          {found.map(here).join("\n")}
        </p>
      )}
    </div>
  );
}
