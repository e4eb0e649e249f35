/** The served folder: scenarios, exports to import, and a place to drop files. */

import { useId, useState } from "preact/hooks";
import { ask, said, type Folder } from "./api";

interface Imported {
  name: string;
  notes: string[];
}

const scenarioLink = (name: string) => `#/scenario/${encodeURIComponent(name)}`;

export function FolderView({ folder, reload }: { folder: Folder; reload: () => Promise<void> }) {
  const scenarios = folder.files.filter((each) => each.kind === "scenario");
  const exports = folder.files.filter((each) => each.kind !== "scenario");
  const [made, setMade] = useState<Imported | null>(null);
  const [state, setState] = useState("");
  const [error, setError] = useState("");
  const work = async (what: string, request: () => Promise<Imported>) => {
    setState(what);
    setError("");
    try {
      setMade(await request());
      await reload();
    } catch (caught) {
      setError(said(caught));
    }
    setState("");
  };
  const upload = (file: File) =>
    work(`Importing ${file.name} ...`, () => {
      const target = free(file.name, folder);
      return /\.ya?ml$/i.test(file.name) ? copied(file, target) : imported(file, target);
    });
  return (
    <>
      <section class="section" aria-label="Scenarios">
        <h2>Scenarios</h2>
        {scenarios.length ? (
          <ul class="list">
            {scenarios.map((each) => (
              <li key={each.name}>
                <a href={scenarioLink(each.name)}>{each.name}</a>{" "}
                <span class="hint">{new Date(each.changed * 1000).toLocaleString()}</span>
              </li>
            ))}
          </ul>
        ) : (
          <p class="hint">
            No scenario in {folder.name}. Import an export of your cluster, or begin with hypertwin init.
          </p>
        )}
      </section>
      {!folder.read_only && (
        <section class="section" aria-label="Import">
          <h2>Import</h2>
          <Drop accept={(file) => void upload(file)} />
          <p role="status">{state}</p>
          <p class="problem" role="alert">
            {error}
          </p>
          {made && (
            <div class="answer good">
              <p class="first">
                Made <a href={scenarioLink(made.name)}>{made.name}</a>
              </p>
              {made.notes.map((each, index) => (
                <p key={index}>{each}</p>
              ))}
            </div>
          )}
          {exports.length > 0 && <h3>Exports in {folder.name}</h3>}
          <ul class="list">
            {exports.map((each) => (
              <li key={each.name}>
                {each.name} <span class="hint">{each.kind}</span>{" "}
                <button
                  type="button"
                  onClick={() =>
                    void work(`Importing ${each.name} ...`, () =>
                      ask("POST", importPath(each.name, free(each.name, folder), true)),
                    )
                  }
                >
                  Import {each.name}
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function importPath(name: string, target: string, isInFolder = false): string {
  const query = new URLSearchParams({ to: target, ...(isInFolder ? { from: name } : {}) });
  return `/api/import/${encodeURIComponent(name.replace(/[/\\]/g, "-"))}?${query.toString()}`;
}

const imported = (file: File, target: string) => ask<Imported>("POST", importPath(file.name, target), file);

async function copied(file: File, target: string): Promise<Imported> {
  await ask("PUT", `/api/scenario/${encodeURIComponent(target)}`, { text: await file.text(), opened: null });
  return { name: target, notes: [] };
}

/** A name of a new scenario that no file has. */
function free(name: string, folder: Folder): string {
  const stem =
    name
      .replace(/\.[^.]*$/, "")
      .normalize("NFKD")
      .replace(/[^A-Za-z0-9._-]+/g, "-")
      .replace(/^[^A-Za-z0-9]+/, "")
      .slice(0, 60) || "cluster";
  const taken = new Set(folder.files.map((each) => each.name));
  let number = 1;
  const named = () => `${stem}${number > 1 ? `-${number}` : ""}.yaml`;
  while (taken.has(named())) number += 1;
  return named();
}

function Drop({ accept }: { accept: (file: File) => void }) {
  const [over, setOver] = useState(false);
  const id = useId();
  return (
    <div
      class={`drop${over ? " over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file) accept(file);
      }}
    >
      <label for={id}>
        Drop an export here, or choose a file: RVTools .xlsx, Proxmox VE, Nutanix, Hyper-V, a scenario
      </label>
      <input
        id={id}
        type="file"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) accept(file);
          event.currentTarget.value = "";
        }}
      />
    </div>
  );
}
