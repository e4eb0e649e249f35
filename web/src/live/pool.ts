/** Workers with the core: each request goes to one that is free. */

import { worker, type Answer, type Request, type Start } from "./worker";

/** Milliseconds after which a request that is needed no more is ended with its worker. */
const PATIENCE_MS = 150;

/** Workers at most: more gain little, and each has a copy of the scenario. */
const MAX_WORKERS = 8;

/** A scenario for the core, with a number by which workers know it. */
export interface Opened {
  number: number;
  text: string;
  intervals: string;
}

export type Asked =
  | { op: "open" }
  | { op: "run"; island: number; seed: number; replication: number }
  | { op: "report"; parts: Uint8Array[]; isBrief: boolean };

interface Waiting {
  asked: Asked;
  scenario: Opened;
  signal: AbortSignal;
  done(answer: Answer): void;
  failed(error: Error): void;
}

interface Hand {
  worker: Worker;
  scenario: number;
  knowsIntervals: boolean;
  busy: (Waiting & { id: number; since: number }) | null;
}

/** Thrown for what was asked and is needed no more. */
export class Aborted extends Error {}

export class Pool {
  private readonly hands: Hand[] = [];
  private readonly queue: Waiting[] = [];
  private readonly script: string;
  private ids = 0;
  readonly size: number;

  constructor(private readonly module: WebAssembly.Module) {
    this.script = URL.createObjectURL(new Blob([`(${worker.toString()})()`], { type: "text/javascript" }));
    this.size = Math.min(Math.max(navigator.hardwareConcurrency || 1, 1), MAX_WORKERS);
  }

  ask(asked: Asked, scenario: Opened, signal: AbortSignal): Promise<Answer> {
    return new Promise((done, failed) => {
      if (signal.aborted) return failed(new Aborted());
      const waiting = { asked, scenario, signal, done, failed };
      this.queue.push(waiting);
      signal.addEventListener("abort", () => this.end(waiting), { once: true });
      this.next();
    });
  }

  /** Drops a request; a worker that would be busy with it for long is replaced. */
  private end(waiting: Waiting): void {
    const place = this.queue.indexOf(waiting);
    if (place >= 0) this.queue.splice(place, 1);
    for (const hand of this.hands) {
      if (hand.busy?.asked !== waiting.asked) continue;
      const left = PATIENCE_MS - (performance.now() - hand.busy.since);
      const { id } = hand.busy;
      setTimeout(() => hand.busy?.id === id && this.dismiss(hand), Math.max(0, left));
    }
    waiting.failed(new Aborted());
  }

  private dismiss(hand: Hand): void {
    hand.worker.terminate();
    this.hands.splice(this.hands.indexOf(hand), 1);
    this.next();
  }

  private next(): void {
    while (this.queue.length) {
      const free = this.hands.filter((hand) => !hand.busy);
      // one that has the scenario open, if any
      const of = this.queue[0]!.scenario.number;
      const hand = free.find(({ scenario }) => scenario === of) ?? free[0] ?? this.hire();
      if (!hand) return;
      this.give(hand, this.queue.shift()!);
    }
  }

  private hire(): Hand | undefined {
    if (this.hands.length >= this.size) return undefined;
    const hand: Hand = { worker: new Worker(this.script), scenario: -1, knowsIntervals: false, busy: null };
    hand.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.take(hand, data);
    hand.worker.onerror = (event) => {
      const { busy } = hand;
      hand.busy = null;
      this.dismiss(hand);
      busy?.failed(new Error(event.message || "the worker of this page ended"));
    };
    const start: Start = { op: "start", module: this.module };
    hand.worker.postMessage(start);
    this.hands.push(hand);
    return hand;
  }

  private give(hand: Hand, waiting: Waiting): void {
    const { asked, scenario } = waiting;
    const id = ++this.ids;
    hand.busy = { ...waiting, id, since: performance.now() };
    const request: Request = { ...asked, id, scenario: scenario.number };
    if (hand.scenario !== scenario.number) request.text = scenario.text;
    if (!hand.knowsIntervals) request.intervals = scenario.intervals;
    hand.scenario = scenario.number;
    hand.knowsIntervals = true;
    hand.worker.postMessage(request);
  }

  private take(hand: Hand, answer: Answer): void {
    const { busy } = hand;
    hand.busy = null;
    if ("why" in answer) {
      hand.scenario = -1;
      busy?.failed(new Error(answer.isBroken ? `the core stopped: ${answer.why}` : answer.why));
      if (answer.isBroken) return this.dismiss(hand);
    } else {
      busy?.done(answer);
    }
    this.next();
  }
}
