/** Requests to the server of `hypertwin serve` (`python/hypertwin/serve/app.py`), and the types of its answers. */

export { said } from "../live/session";

export interface Listed {
  name: string;
  /** `scenario`, or the system of an export. */
  kind: string;
  bytes: number;
  changed: number;
}

export interface Folder {
  name: string;
  version: string;
  read_only: boolean;
  files: Listed[];
}

export interface Mistake {
  code: string;
  path: string;
  line: number | null;
  message: string;
  hint: string;
}

export interface Checked {
  mistakes: Mistake[];
  readings: string[];
  canonical: Record<string, unknown> | null;
}

export interface Opened extends Checked {
  name: string;
  text: string;
  sha256: string;
}

export interface Option {
  name: string;
  help: string;
  metavar: string;
  choices: string[];
  /** Kind of names in the scenario that the value can have. */
  names: string;
  is_flag: boolean;
  is_repeated: boolean;
  is_argument: boolean;
  is_required: boolean;
  default: string;
}

export interface Offer {
  command: string;
  help: string;
  options: Option[];
}

export type Status = "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";

export interface Run {
  id: string;
  command: string[];
  file: string;
  created: number;
  started: number | null;
  ended: number | null;
  status: Status;
  exit_code: number | null;
  said: string;
  is_kept: boolean;
  progress: { label?: string; done?: number; total?: number; unit?: string };
  has_page: boolean;
  has_result: boolean;
}

/** This tab: its runs end when it is closed, unless they are kept. */
export const TAB = Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16)).join("");

export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export async function ask<T>(method: string, path: string, body?: object | Blob, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, ...(signal ? { signal } : {}) };
  if (body instanceof Blob) init.body = body;
  else if (body) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const answer = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Refused(0, "The server does not answer. Is `hypertwin serve` still running?");
  });
  const text = await answer.text();
  const data = text && answer.headers.get("content-type")?.startsWith("application/json") ? JSON.parse(text) : {};
  if (!answer.ok) throw new Refused(answer.status, data.error ?? `The server answered ${answer.status}.`);
  return data as T;
}

export const scenarioPath = (name: string) => `/api/scenario/${encodeURIComponent(name)}`;
export const pagePath = (run: Run) => `/runs/${run.id}/page`;

/** Listen to the runs. Returns the function that ends it. `gone` is called when the server is another one or has ended. */
export function listen(all: (runs: Run[]) => void, one: (run: Run) => void, gone: () => void): () => void {
  const events = new EventSource(`/api/events?tab=${TAB}`);
  events.addEventListener("runs", (event) => all(JSON.parse(event.data) as Run[]));
  events.addEventListener("run", (event) => one(JSON.parse(event.data) as Run));
  events.addEventListener("error", () => {
    if (events.readyState === EventSource.CLOSED) gone();
  });
  return () => events.close();
}

/** A problem without its line, for places that show where it is. */
export const here = (mistake: Mistake) => mistake.message.replace(/^  --> .*\n?/m, "").replace(/^ +/gm, "");
