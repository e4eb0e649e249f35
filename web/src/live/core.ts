/**
 * The core in the page: scenarios in, reports out. A live page holds the core, not a table of results, so its reports
 * are those of the command line, byte for byte. The parts of an island's result are kept by the island's key, so only
 * islands that changed are simulated.
 */

import { packedCore } from "./packed";
import { Pool, type Opened } from "./pool";
import type { Island, Reported } from "./worker";

/** Bytes of replications that are kept. */
const MAX_KEPT = 96 << 20;

/** Bytes of replications up to which a report after each of them costs little. */
const CHEAP = 1 << 20;

/** Islands that a change of a setting concerns, as previews expect. */
const CHANGED = 4;

/** A scenario for the core. */
export type Scenario = Record<string, unknown> & { run: { seed: number; replications: number } };

/** How far a run is: replications done, of how many. */
export interface Progress {
  done: number;
  of: number;
}

export class Core {
  private readonly kept = new Map<string, Uint8Array>();
  private readonly islands = new Map<string, { opened: Opened; islands: Promise<Island[]> }>();
  private bytes = 0;
  private numbers = 0;

  private constructor(
    private readonly pool: Pool,
    private readonly intervals: string,
  ) {}

  /** Compiles the core that the page holds. `intervals` is the twin's own error, as the core takes it. */
  static async of(root: Document, intervals: string): Promise<Core> {
    return new Core(new Pool(await WebAssembly.compile(await packedCore(root))), intervals);
  }

  /**
   * Simulates a scenario. `told` gets the report of the replications that are done: after the first, after all, and after each where that
   * costs little.
   * A brief report has no single VMs. Throws `Aborted`, or an error with what is wrong with the scenario.
   */
  async simulate(
    scenario: Scenario,
    signal: AbortSignal,
    told: (reported: Reported, progress: Progress) => void = () => undefined,
    isBrief = false,
  ): Promise<void> {
    const { opened, islands } = await this.opened(scenario, signal);
    const of = scenario.run.replications;
    const parts: Uint8Array[][] = [];
    const order = islands.map((_, index) => index).toSorted((a, b) => islands[b]!.vcpus - islands[a]!.vcpus);
    const all = Array.from({ length: of }, (_, replication) => {
      const own: Uint8Array[] = [];
      parts.push(own);
      return Promise.all(
        order.map(async (island) => {
          own[island] = await this.part(opened, islands[island]!, island, scenario.run.seed, replication, signal);
        }),
      );
    });
    all.forEach((each) => each.catch(() => undefined)); // the first that fails is thrown below
    for (let done = 1; done <= of; done += 1) {
      await all[done - 1];
      const own = parts.slice(0, done).flat();
      const isCheap = own.reduce((bytes, part) => bytes + part.length, 0) < CHEAP;
      if (done === 1 || done === of || isCheap) told(await this.report(opened, own, isBrief, signal), { done, of });
    }
  }

  /** Milliseconds that the islands of a usual change take for the first replication, of what is simulated now. */
  async cost(scenario: Scenario, signal: AbortSignal): Promise<number> {
    const { opened, islands } = await this.opened(scenario, signal);
    const heaviest = islands.reduce((most, each, index) => (each.vcpus > islands[most]!.vcpus ? index : most), 0);
    const run = { op: "run" as const, island: heaviest, seed: scenario.run.seed, replication: 0 };
    const answer = await this.pool.ask(run, opened, signal);
    const rounds = Math.ceil(Math.min(CHANGED, islands.length) / this.pool.size);
    return "ms" in answer ? answer.ms * rounds : 0;
  }

  private async opened(scenario: Scenario, signal: AbortSignal): Promise<{ opened: Opened; islands: Island[] }> {
    const text = JSON.stringify(scenario);
    let known = this.islands.get(text);
    if (!known) {
      const opened = { number: (this.numbers += 1), text, intervals: this.intervals };
      const islands = this.pool.ask({ op: "open" }, opened, signal).then((answer) => {
        if (!("islands" in answer)) throw new Error("the core opened nothing");
        return answer.islands;
      });
      known = { opened, islands };
      this.islands.set(text, known);
      if (this.islands.size > 64) this.islands.delete(this.islands.keys().next().value!);
      islands.catch(() => this.islands.delete(text));
    }
    return { opened: known.opened, islands: await known.islands };
  }

  private async part(
    opened: Opened,
    island: Island,
    number: number,
    seed: number,
    replication: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const key = `${island.key} ${seed} ${replication}`;
    const kept = this.kept.get(key);
    if (kept) return kept;
    const answer = await this.pool.ask({ op: "run", island: number, seed, replication }, opened, signal);
    if (!("part" in answer)) throw new Error("the core simulated nothing");
    this.keep(key, answer.part);
    return answer.part;
  }

  private keep(key: string, part: Uint8Array): void {
    this.kept.set(key, part);
    this.bytes += part.length;
    while (this.bytes > MAX_KEPT) {
      const [oldest, bytes] = this.kept.entries().next().value!;
      this.kept.delete(oldest);
      this.bytes -= bytes.length;
    }
  }

  private async report(opened: Opened, parts: Uint8Array[], isBrief: boolean, signal: AbortSignal): Promise<Reported> {
    const answer = await this.pool.ask({ op: "report", parts, isBrief }, opened, signal);
    if (!("report" in answer)) throw new Error("the core reported nothing");
    return answer;
  }
}
