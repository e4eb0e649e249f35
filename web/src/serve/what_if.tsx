/** A scenario that the server simulates while its settings change: the panel and the page of live pages. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Scenario } from "../live/core";
import { LivePage } from "../live/page";
import type { Simulator } from "../live/session";
import { kindOf } from "../model/registry";
import type { PageDocument } from "../model/page";
import type { Simulation } from "../model/simulation/document";
import { ask, said } from "./api";

/** The core of the server. */
export class ServerCore implements Simulator {
  private runs = 0;

  constructor(private readonly name: string) {}

  async simulate(
    scenario: Scenario,
    signal: AbortSignal,
    told: Parameters<Simulator["simulate"]>[2] = () => undefined,
  ): Promise<void> {
    const body = { file: this.name, text: JSON.stringify(scenario) };
    const { document, sha256 } = await ask<{ document: Simulation; sha256: string }>(
      "POST",
      "/api/simulate",
      body,
      signal,
    );
    const of = scenario.run.replications;
    const [point] = document.points;
    told({ report: JSON.stringify(point), answer: JSON.stringify(document.answer), sha256 }, { done: of, of });
  }

  /** Each run has another seed, because the server keeps results. */
  async cost(scenario: Scenario, signal: AbortSignal): Promise<number> {
    this.runs += 1;
    const began = performance.now();
    await this.simulate({ ...scenario, run: { ...scenario.run, seed: scenario.run.seed + this.runs } }, signal);
    return performance.now() - began;
  }
}

export function WhatIf({ name, text }: { name: string; text: string }) {
  const [page, setPage] = useState<PageDocument | null>(null);
  const [error, setError] = useState("");
  useEffect(() => {
    const given = new AbortController();
    setPage(null);
    setError("");
    ask<PageDocument>("POST", "/api/live", { file: name, text }, given.signal)
      .then(setPage)
      .catch((caught: unknown) => given.signal.aborted || setError(said(caught)));
    return () => given.abort();
  }, [name, text]);
  const view = useMemo(() => page && kindOf(page)!.view(page, {}), [page]);
  const simulator = useMemo(() => () => Promise.resolve(new ServerCore(name)), [name]);
  if (error)
    return (
      <p class="problem" role="alert">
        {error}
      </p>
    );
  if (!page?.live || !view) return <p role="status">Simulating the scenario as it is ...</p>;
  return (
    <LivePage
      page={page}
      live={page.live}
      view={view}
      point={0}
      choices={null}
      top={(title) => <h2>{title}</h2>}
      simulator={simulator}
      isInside
    />
  );
}
