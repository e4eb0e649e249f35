/** The app of `hypertwin serve`: the folder, a scenario or a run, by the address after `#`. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ThemeSwitch, useLook } from "../components/look";
import { Look } from "../theme";
import { ask, listen, said, type Folder, type Offer, type Run } from "./api";
import { FolderView } from "./folder";
import { Runs, RunView } from "./runs";
import { ScenarioView, type Draft } from "./scenario";
import type { Schema } from "./schema";

interface Loaded {
  folder: Folder;
  schema: Schema;
  offers: Offer[];
}

export function App() {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState("");
  const [runs, setRuns] = useState<Run[]>([]);
  const [drafts, setDrafts] = useState<Record<string, Draft>>({});
  const route = useRoute();
  useTitle(route, loaded?.folder.name ?? "");
  const reload = async () => {
    const folder = await ask<Folder>("GET", "/api/folder");
    setLoaded((before) => before && { ...before, folder });
  };
  useEffect(() => {
    Promise.all([
      ask<Folder>("GET", "/api/folder"),
      ask<Schema>("GET", "/api/schema"),
      ask<Offer[]>("GET", "/api/questions"),
    ])
      .then(([folder, schema, offers]) => setLoaded({ folder, schema, offers }))
      .catch((caught: unknown) => setError(said(caught)));
    return listen(
      setRuns,
      (run) => setRuns((before) => [run, ...before.filter((each) => each.id !== run.id)].sort(newest)),
      () => setError("The server has ended. Start `hypertwin serve` again, and open the address that it prints."),
    );
  }, []);
  useEffect(() => {
    if (loaded && route[0] === "") void reload().catch((caught: unknown) => setError(said(caught)));
  }, [route[0]]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (Object.values(drafts).some((each) => each.text !== each.saved)) event.preventDefault();
    };
    window.addEventListener("beforeunload", warn);
    return () => window.removeEventListener("beforeunload", warn);
  }, [drafts]);
  const look = useLook();
  return (
    <Look.Provider value={look}>
      <a
        class="skip"
        href="#content"
        onClick={(event) => (event.preventDefault(), document.getElementById("content")?.focus())}
      >
        Skip to the content
      </a>
      <header class="top">
        <p class="brand">
          <a href="#/">hypertwin</a> <span class="hint">{loaded?.folder.version}</span>
        </p>
        <ThemeSwitch theme={look.choice} choose={look.choose} />
      </header>
      <main id="content" tabIndex={-1}>
        {error && (
          <p class="failed" role="alert">
            {error}
          </p>
        )}
        {loaded && <View {...loaded} route={route} runs={runs} drafts={drafts} setDrafts={setDrafts} reload={reload} />}
      </main>
    </Look.Provider>
  );
}

const newest = (a: Run, b: Run) => b.created - a.created || (a.id < b.id ? 1 : -1);

interface Shown extends Loaded {
  route: string[];
  runs: Run[];
  drafts: Record<string, Draft>;
  setDrafts: (change: (before: Record<string, Draft>) => Record<string, Draft>) => void;
  reload: () => Promise<void>;
}

function View({ folder, schema, offers, route, runs, drafts, setDrafts, reload }: Shown) {
  const [place, name = ""] = route;
  if (place === "scenario")
    return (
      <ScenarioView
        key={name}
        name={name}
        schema={schema}
        offers={offers}
        isReadOnly={folder.read_only}
        draft={drafts[name]}
        keep={(named, change) => setDrafts((before) => ({ ...before, [named]: change(before[named]) }))}
      />
    );
  const run = runs.find((each) => each.id === name);
  if (place === "run" && run)
    return (
      <RunView
        key={run.id}
        run={run}
        keep={(kept, isKept) => void ask("PATCH", `/api/runs/${kept.id}`, { keep: isKept })}
      />
    );
  return (
    <>
      <h1 tabIndex={-1}>{folder.name}</h1>
      {folder.read_only && <p class="hint">This server only reads the folder.</p>}
      <FolderView folder={folder} reload={reload} />
      <section class="section" aria-label="Runs">
        <h2>Runs</h2>
        <Runs runs={runs} />
      </section>
    </>
  );
}

function useRoute(): string[] {
  const read = () => {
    const [place = "", ...rest] = location.hash
      .replace(/^#\/?/, "")
      .replace(/\?.*$/, "") // settings of a live page
      .split("/");
    try {
      return [place, decodeURIComponent(rest.join("/"))];
    } catch {
      return ["", ""];
    }
  };
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const change = () => setRoute(read());
    window.addEventListener("hashchange", change);
    return () => window.removeEventListener("hashchange", change);
  }, []);
  return route;
}

/** The title follows the view, and a new view gets the focus. */
function useTitle(route: string[], folder: string): void {
  const first = useRef(true);
  useEffect(() => {
    document.title = [route[1] || folder, "hypertwin"].filter(Boolean).join(" · ");
    if (!first.current) document.querySelector<HTMLElement>("h1")?.focus();
    first.current = false;
  }, [route.join("/"), folder]);
}
