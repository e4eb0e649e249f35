/** State of a page that simulates: what its reader changed, and what is shown for it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { PageDocument } from "../model/page";
import type { Point, Simulation } from "../model/simulation/document";
import type { Scenario } from "./core";
import { pageOf, statusOf } from "./result";
import { asAddress, changed, ofAddress, ofPoint, type Changes } from "./scenario";
import { said, Session, type Simulator, type Stage } from "./session";

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
  const since = useRef<number | null>(null);
  const made = useRef(new WeakMap<Scenario, Changes>());

  // the point that is looked at, unless another one was changed
  const place = isAny(changes) ? point : chosen;
  const original = useMemo(() => ofPoint(live, place), [live, place]);
  const scenario = useMemo(() => changed(original, changes), [original, changes]);
  const core = useRef<Promise<Simulator> | null>(null);
  const session = useMemo(
    () =>
      new Session(() => (core.current ??= simulator()), original, {
        show(of, reported, progress, stage) {
          const its = made.current.get(of)!;
          const shownPage = pageOf(page, reported, its, stage);
          const now = (shownPage.document as Simulation).points[0] as Point;
          const { sha256 } = reported;
          const status = statusOf(now, stage, progress);
          setShown({ changes: its, page: shownPage, stage, status, sha256 });
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
    const start = since.current;
    since.current = null;
    // after the frame that draws it
    if (start !== null && shown) requestAnimationFrame(() => setTimeout(() => performance.measure(REDRAWN, { start })));
  }, [shown]);

  const show = (of: Changes) => {
    since.current = performance.now();
    if (!isAny(changes)) setPoint(place); // also before an undo: another point may have been chosen since
    setChanges(of);
    setPending(isAny(of));
    setError("");
    if (!isAny(of)) setShown(null);
    const next = changed(original, of);
    made.current.set(next, of);
    session.ask(isAny(of) ? next : null);
  };
  useEffect(() => {
    if (isAny(first.changes)) show(first.changes);
  }, []);
  // links within the page replace the address
  useEffect(() => {
    const kept = () => {
      const [, typed] = location.hash.split("?");
      if (typed === undefined) write(asAddress(changes, place));
      else if (typed !== asAddress(changes, place)) location.reload(); // the reader typed other changes
    };
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
    prepare: () => void session.prepare().catch((problem: unknown) => setError(said(problem))),
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
