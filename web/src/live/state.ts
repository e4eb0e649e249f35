/** State of a page that simulates: what its reader changed, and what is shown for it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageDocument } from "../model/page";
import type { Point, Simulation } from "../model/simulation/document";
import type { Scenario } from "./core";
import { pageOf, statusOf } from "./result";
import { asAddress, changed, ofAddress, ofPoint, type Changes } from "./scenario";
import { Session, type Simulator, type Stage } from "./session";

/** Name under which the page measures the time from a change to its first figures (`performance.getEntriesByName`). */
const REDRAWN = "hypertwin: redrawn";

/** What the page shows instead of the original. */
export interface Shown {
  changes: Changes;
  page: PageDocument;
  stage: Stage;
  status: string;
  sha256: string;
}

export interface LiveState {
  point: number;
  /** The scenario of the point, without changes. */
  original: Scenario;
  /** The scenario as the reader changed it. */
  scenario: Scenario;
  changes: Changes;
  shown: Shown | null;
  /** True while something newer or longer than what is shown is simulated. */
  pending: boolean;
  error: string;
  /** Changes settings; a drag is one change with its end. */
  change(changes: Changes, isEnd?: boolean): void;
  undo: (() => void) | null;
  prepare(): void;
  /** Simulates what may be asked next; returns how to stop that. */
  expect(changes: readonly Changes[]): () => void;
}

/** `chosen` is the point that is looked at; `simulator` prepares what simulates. */
export function useLive(page: PageDocument, chosen: number, simulator: () => Promise<Simulator>): LiveState {
  const live = page.live!;
  const first = useMemo(() => ofAddress(live, location.hash.split("?")[1] ?? ""), [live]);
  const [point, setPoint] = useState(isAny(first.changes) ? first.point : chosen);
  const [history, setHistory] = useState<readonly Changes[]>([first.changes]);
  const [changes, setChanges] = useState(first.changes);
  const [shown, setShown] = useState<Shown | null>(null);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState("");
  const asked = useRef({ changes, since: null as number | null });

  // the point that is looked at, unless another one was changed
  const place = isAny(changes) ? point : chosen;
  const original = useMemo(() => ofPoint(live, place), [live, place]);
  const scenario = useMemo(() => changed(original, changes), [original, changes]);
  const core = useRef<Promise<Simulator> | null>(null);
  const session = useMemo(
    () =>
      new Session(() => (core.current ??= simulator()), original, {
        show(reported, progress, stage) {
          const made = pageOf(page, reported, asked.current.changes, stage);
          const now = (made.document as Simulation).points[0] as Point;
          const { sha256 } = reported;
          const status = statusOf(now, stage, progress);
          setShown({ changes: asked.current.changes, page: made, stage, status, sha256 });
          setError("");
        },
        over(why) {
          setPending(false);
          setError(why);
        },
      }),
    [page, simulator, original],
  );

  useEffect(() => {
    const { since } = asked.current;
    asked.current.since = null;
    // after the frame that draws it
    if (since !== null && shown)
      requestAnimationFrame(() => setTimeout(() => performance.measure(REDRAWN, { start: since })));
  }, [shown]);

  const show = (of: Changes) => {
    asked.current = { changes: of, since: performance.now() };
    setChanges(of);
    setPending(isAny(of));
    setError("");
    if (!isAny(of)) setShown(null);
    session.ask(isAny(of) ? changed(original, of) : null);
  };
  useEffect(() => {
    if (isAny(first.changes)) show(first.changes);
  }, []);
  // links within the page replace the address
  useEffect(() => {
    const kept = () => location.hash.includes("?") || write(asAddress(changes, place));
    addEventListener("hashchange", kept);
    return () => removeEventListener("hashchange", kept);
  }, [changes, place]);

  return {
    point: place,
    original,
    scenario,
    changes,
    shown,
    pending,
    error,
    change(of, isEnd = true) {
      if (!isAny(changes)) setPoint(chosen);
      show(of);
      if (!isEnd) return;
      setHistory((before) => (isSame(before.at(-1), of) ? before : [...before, of]));
      write(asAddress(of, place));
    },
    undo:
      history.length > 1
        ? () => {
            const before = history.at(-2)!;
            setHistory(history.slice(0, -1));
            show(before);
            write(asAddress(before, place));
          }
        : null,
    prepare: () => void session.prepare().catch((problem: unknown) => setError(String(problem))),
    expect: (all) => session.expect(all.map((each) => changed(original, each))),
  };
}

function isAny(changes: Changes): boolean {
  return Object.keys(changes).length > 0;
}

function isSame(one: Changes | undefined, other: Changes): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Puts the changes behind the place in the address. */
function write(address: string): void {
  const place = location.hash.split("?")[0] || "#";
  history.replaceState(null, "", `${place}${address ? `?${address}` : ""}`);
}
