/**
 * What is simulated for a reader's changes: a preview at once, the whole run at rest, and only what was asked last. A
 * preview has the same short time and random streams at each value. Only a whole run has half-widths and a verdict.
 */

import { Core, type Progress, type Scenario } from "./core";
import { brief, isLarge } from "./scenario";
import type { Reported } from "./worker";

/** Milliseconds that a preview may simulate: with what the page needs to draw it, the reader waits about 100. */
const PREVIEW_MS = 30;

/** Milliseconds from a preview to the whole run, unless another change comes. */
const REST_MS = 350;

/** Milliseconds that a preview of what is asked no more may still take. */
const PATIENCE_MS = 300;

/** Simulated seconds of previews: the same for all, so that curves do not jitter. */
const PREVIEWS_S = [1, 2, 5, 10, 20, 50];

/** Runs of a second before the page knows how fast the core is: the browser compiles better code meanwhile. */
const WARM_RUNS = 6;

/** How much a shown result may be trusted: only one that has its full times is judged. */
export type Stage = "preview" | "running" | "done";

/** What a session needs of the core. */
export type Simulator = Pick<Core, "simulate" | "cost">;

export interface Told {
  /** `scenario` is the one that was simulated: while a preview runs, another one may be asked for. */
  show(scenario: Scenario, reported: Reported, progress: Progress, stage: Stage): void;
  /** Nothing more follows for what was asked; `why` says what is wrong with it. */
  over(why: string): void;
}

export class Session {
  private ready: Promise<{ core: Simulator; seconds: number }> | null = null;
  private asked: Scenario | null = null;
  private previewing: AbortController | null = null;
  private running = new AbortController();
  private expecting = new AbortController();
  private rest: ReturnType<typeof setTimeout> | undefined;

  /** `original` is simulated first, so that later only islands that differ are. */
  constructor(
    private readonly make: () => Promise<Simulator>,
    private readonly original: Scenario,
    private readonly told: Told,
    private readonly restMs = REST_MS,
  ) {}

  /** Prepares the core, so that the first change is shown at once. */
  prepare(): Promise<{ core: Simulator; seconds: number }> {
    return (this.ready ??= this.prepared());
  }

  private async prepared(): Promise<{ core: Simulator; seconds: number }> {
    const core = await this.make();
    const { signal } = new AbortController();
    let ms = Infinity;
    for (let run = 0; run < WARM_RUNS; run += 1)
      ms = Math.min(ms, await core.cost(brief(this.original, PREVIEWS_S[0]!), signal));
    const seconds = PREVIEWS_S.findLast((each) => ms * each <= PREVIEW_MS * PREVIEWS_S[0]!) ?? PREVIEWS_S[0]!;
    await core.simulate(brief(this.original, seconds), signal);
    return { core, seconds };
  }

  /** Simulates a scenario; null ends what runs. */
  ask(scenario: Scenario | null): void {
    this.running.abort();
    this.expecting.abort();
    clearTimeout(this.rest);
    this.asked = scenario;
    const { previewing } = this;
    if (previewing) setTimeout(() => previewing.abort(), PATIENCE_MS);
    else if (scenario) void this.preview(scenario);
  }

  /** Simulates previews that may be asked for next; returns how to stop that. */
  expect(scenarios: readonly Scenario[]): () => void {
    const controller = new AbortController();
    this.expecting.abort();
    this.expecting = controller;
    const all = async () => {
      const { core, seconds } = await this.prepare();
      for (const each of scenarios) await core.simulate(brief(each, seconds), controller.signal);
    };
    all().catch(() => undefined); // what is wrong with it is told when it is asked for
    return () => controller.abort();
  }

  /** Previews are short, so one that has begun may end; then comes what was asked last. */
  private async preview(scenario: Scenario): Promise<void> {
    const { signal } = (this.previewing = new AbortController());
    let why = "";
    try {
      const { core, seconds } = await this.prepare();
      const show = (reported: Reported, progress: Progress) => {
        if (this.asked) this.told.show(scenario, reported, progress, "preview");
      };
      await core.simulate(brief(scenario, seconds), signal, show, isLarge(scenario));
    } catch (problem) {
      why = said(problem);
    }
    this.previewing = null;
    if (!this.asked) return;
    if (this.asked !== scenario) return this.preview(this.asked);
    if (why) this.told.over(why);
    else this.rest = setTimeout(() => void this.whole(scenario), this.restMs);
  }

  private async whole(scenario: Scenario): Promise<void> {
    const { signal } = (this.running = new AbortController());
    try {
      const { core } = await this.prepare();
      await core.simulate(scenario, signal, (reported, progress) => {
        const stage = progress.done < progress.of ? "running" : "done";
        if (!signal.aborted) this.told.show(scenario, reported, progress, stage);
      });
      if (!signal.aborted) this.told.over("");
    } catch (problem) {
      if (!signal.aborted) this.told.over(said(problem));
    }
  }
}

/** A problem in words. */
export function said(problem: unknown): string {
  return problem instanceof Error ? problem.message : String(problem);
}
