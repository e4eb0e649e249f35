/** Runs: their list, progress, pages, and the comparison of two. */

import { useState } from "preact/hooks";
import { Badge } from "../components/small";
import type { Tone } from "../model/view";
import { ask, pagePath, said, TAB, type Run, type Status } from "./api";

const TONES: Record<Status, Tone> = {
  queued: "plain",
  running: "note",
  done: "good",
  failed: "bad",
  cancelled: "plain",
  interrupted: "warn",
};

export const isActive = (run: Run) => run.status === "queued" || run.status === "running";

/** The question of a run as typed, without what the server adds. */
export function question(run: Run): string {
  const end = run.command.indexOf("--");
  return run.command
    .slice(0, end < 0 ? undefined : end)
    .concat(end < 0 ? [] : run.command.slice(end + 2))
    .filter((word) => !/^--(format|report|cluster)=/.test(word))
    .join(" ");
}

export function Runs({ runs }: { runs: Run[] }) {
  const [chosen, setChosen] = useState<string[]>([]);
  const [error, setError] = useState("");
  const two = chosen.filter((id) => runs.some((run) => run.id === id && run.has_result));
  const attempt = (work: Promise<unknown>) =>
    void work.then(() => setError("")).catch((caught) => setError(said(caught)));
  const compare = async () => {
    const [a, b] = [...two].sort();
    const run = await ask<Run>("POST", "/api/compare", { a, b, tab: TAB, keep: false });
    location.hash = `#/run/${run.id}`;
  };
  if (!runs.length) return <p class="hint">No runs yet. Open a scenario and ask a question.</p>;
  return (
    <>
      <div class="tools">
        <button type="button" disabled={two.length !== 2} onClick={() => attempt(compare())}>
          Compare two runs
        </button>
        <span class="hint">{two.length === 2 ? "" : "Choose two finished runs of one question."}</span>
      </div>
      <p class="problem" role="alert">
        {error}
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Runs">
        <table>
          <caption class="unseen">Runs, the newest first</caption>
          <thead>
            <tr>
              {["Compare", "Question", "File", "Status", "Started", "Time", "Actions"].map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.map((run) => (
              <tr key={run.id}>
                <td class="short narrow">
                  <input
                    type="checkbox"
                    aria-label={`Compare ${question(run)} of ${run.file}, ${clock(run.created)}`}
                    disabled={!run.has_result || (two.length === 2 && !two.includes(run.id))}
                    checked={two.includes(run.id)}
                    onChange={(event) =>
                      setChosen(event.currentTarget.checked ? [...two, run.id] : two.filter((each) => each !== run.id))
                    }
                  />
                </td>
                <td>
                  <a href={`#/run/${run.id}`}>{question(run)}</a>
                </td>
                <td>{run.file}</td>
                <td class="short">
                  <State run={run} />
                </td>
                <td class="short">{clock(run.created)}</td>
                <td class="n">{time(run)}</td>
                <td class="short">
                  <Actions run={run} attempt={attempt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function Actions({ run, attempt }: { run: Run; attempt: (work: Promise<unknown>) => void }) {
  const what = `${question(run)}, ${clock(run.created)}`;
  return (
    <>
      {run.has_page && (
        <a href={`${pagePath(run)}?download`} download="" aria-label={`Download the page of ${what}`}>
          download
        </a>
      )}{" "}
      {isActive(run) ? (
        <button
          type="button"
          class="small"
          aria-label={`Cancel ${what}`}
          onClick={() => attempt(ask("POST", `/api/runs/${run.id}/cancel`))}
        >
          cancel
        </button>
      ) : (
        <button
          type="button"
          class="small"
          aria-label={`Delete ${what}`}
          onClick={() => attempt(ask("DELETE", `/api/runs/${run.id}`))}
        >
          delete
        </button>
      )}
    </>
  );
}

function State({ run }: { run: Run }) {
  return (
    <>
      <Badge badge={{ text: run.status, tone: TONES[run.status] }} /> <Progress run={run} />
    </>
  );
}

function Progress({ run }: { run: Run }) {
  const { label, done = 0, total = 0, unit = "" } = run.progress;
  if (run.status !== "running") return null;
  const share = total ? `${Math.floor(done).toLocaleString("en")} of ${total.toLocaleString("en")} ${unit}` : "";
  return (
    <>
      <progress {...(total ? { value: done, max: total } : {})} aria-label={`Progress of ${question(run)}`} />{" "}
      <span class="hint">{[label, share].filter(Boolean).join(": ")}</span>
    </>
  );
}

const clock = (seconds: number) => new Date(seconds * 1000).toLocaleString();

function time(run: Run): string {
  if (!run.started) return "";
  return `${((run.ended ?? Date.now() / 1000) - run.started).toFixed(1)} s`;
}

export function RunView({ run, keep }: { run: Run; keep: (run: Run, isKept: boolean) => void }) {
  return (
    <>
      <h1 tabIndex={-1}>{question(run)}</h1>
      <p class="hint">
        {run.file}, {clock(run.created)}
      </p>
      <p role="status">
        <State run={run} />
      </p>
      {isActive(run) && (
        <p>
          <label>
            <input type="checkbox" checked={run.is_kept} onChange={(event) => keep(run, event.currentTarget.checked)} />{" "}
            Keep running when this tab is closed
          </label>{" "}
          <button type="button" onClick={() => void ask("POST", `/api/runs/${run.id}/cancel`)}>
            Cancel
          </button>
        </p>
      )}
      {run.said && run.status !== "done" && (
        <pre tabIndex={0} role="region" aria-label="Messages of the command">
          {run.said}
        </pre>
      )}
      {run.has_page && (
        <>
          <p class="tools">
            <a href={pagePath(run)} target="_blank" rel="noreferrer">
              Open in a new tab
            </a>{" "}
            <a href={`${pagePath(run)}?download`} download="">
              Download the page
            </a>
          </p>
          <iframe class="page" src={pagePath(run)} title={`Page of ${question(run)}`} />
        </>
      )}
    </>
  );
}
