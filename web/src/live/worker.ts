/** What a worker does with the core. Its text becomes the script of the worker, so it uses nothing outside itself. */

/** The functions of `crates/browser`. */
interface Exports {
  memory: WebAssembly.Memory;
  input(length: number): number;
  output(): number;
  open(): number;
  run(island: number, seed: bigint, replication: bigint): number;
  give(): number;
  report(): number;
  preview(): number;
  digest(): number;
  answer(): number;
  intervals(): number;
}

/** A scenario as the core takes it; `text` is only for workers that have not opened it. */
interface OfScenario {
  id: number;
  scenario: number;
  text?: string;
  /** The twin's own error by area and kind, as the core takes it. */
  intervals?: string;
}

export type Request =
  | ({ op: "open" } & OfScenario)
  | ({ op: "run"; island: number; seed: number; replication: number } & OfScenario)
  | ({ op: "report"; parts: Uint8Array[]; isBrief: boolean } & OfScenario);

export interface Island {
  key: string;
  vcpus: number;
}

export interface Reported {
  /** The core's report, and the answer of its judge, as JSON; a brief one has no single VMs and no answer. */
  report: string;
  answer: string;
  /** SHA-256 of the core's report. */
  sha256: string;
}

/** Answers; `why` where the core has none. */
export type Answer =
  | { id: number; islands: Island[] }
  | { id: number; part: Uint8Array; ms: number }
  | ({ id: number } & Reported)
  | { id: number; why: string; isBroken: boolean };

export interface Start {
  op: "start";
  module: WebAssembly.Module;
}

export function worker(): void {
  const scope = globalThis as unknown as {
    onmessage: (event: MessageEvent<Request | Start>) => void;
    postMessage(answer: Answer, transfer?: Transferable[]): void;
  };
  const waiting: Request[] = [];
  let core: Exports | undefined;
  let absent = "";
  let opened = -1;
  let known: Island[] = [];

  const put = (bytes: Uint8Array) => {
    const place = core!.input(bytes.length);
    new Uint8Array(core!.memory.buffer, place, bytes.length).set(bytes);
  };
  const take = (length: number) => new Uint8Array(core!.memory.buffer, core!.output(), length).slice();
  const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  /** The answer of the core, unless that says what is wrong. */
  const good = (length: number): Uint8Array => {
    const bytes = take(length);
    const head = textOf(bytes.subarray(0, 12));
    if (!head.startsWith('{"error":') && !head.startsWith('{"mistakes":')) return bytes;
    const said = JSON.parse(textOf(bytes)) as { error?: string; mistakes?: Record<string, string>[] };
    const mistakes = (said.mistakes ?? []).map(
      (each) => `${each["path"]}: ${each["value"]}; allowed: ${each["allowed"]}`,
    );
    throw new Error(said.error ?? mistakes.slice(0, 3).join("; "));
  };
  const open = (request: Request) => {
    if (opened === request.scenario) return;
    if (request.intervals !== undefined) {
      put(new TextEncoder().encode(request.intervals));
      good(core!.intervals());
    }
    put(new TextEncoder().encode(request.text));
    opened = -1;
    known = (JSON.parse(textOf(good(core!.open()))) as { islands: Island[] }).islands;
    opened = request.scenario;
  };
  const answer = (request: Request): void => {
    const { id } = request;
    if (!core) throw new Error(absent);
    open(request);
    if (request.op === "open") return scope.postMessage({ id, islands: known });
    if (request.op === "run") {
      const began = performance.now();
      const part = good(core!.run(request.island, BigInt(request.seed), BigInt(request.replication)));
      return scope.postMessage({ id, part, ms: performance.now() - began }, [part.buffer]);
    }
    for (const part of request.parts) {
      put(part);
      good(core!.give());
    }
    if (request.isBrief)
      return scope.postMessage({ id, report: textOf(good(core!.preview())), sha256: "", answer: "" });
    const report = textOf(good(core!.report()));
    const sha256 = textOf(take(core!.digest()));
    scope.postMessage({ id, report, sha256, answer: textOf(good(core!.answer())) });
  };
  const handle = (request: Request): void => {
    try {
      answer(request);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      scope.postMessage({ id: request.id, why, isBroken: !core || error instanceof WebAssembly.RuntimeError });
    }
  };
  scope.onmessage = ({ data }) => {
    if (data.op !== "start") return core || absent ? handle(data) : void waiting.push(data);
    void WebAssembly.instantiate(data.module, {})
      .then(
        (instance) => (core = instance.exports as unknown as Exports),
        (error: unknown) => (absent = `it does not start (${String(error)})`), // for example without memory
      )
      .then(() => waiting.splice(0).forEach(handle));
  };
}
