/** The document that a page is made from; `python/hypertwin/documents/page.py` is its type in Python. */

export interface PageDocument {
  /** Version of this form. */
  page: 1;
  /** Which kind of result `document` is: a key of `KINDS`. */
  kind: string;
  /** Of the scenario, the study, the question; also the title of the browser's tab. */
  title: string;
  /** What `--format json` prints for this kind. */
  document: unknown;
  /** What only the page shows, by kind: drawings, published figures beside a sweep. */
  beside: Record<string, unknown>;
  /** What the page shows: `View`; without it the script makes that of the document. */
  view?: unknown;
  /** Sentences that a terminal shows under the table of this result. */
  notes: string[];
  made: Made;
}

/** How the page was made: all that it takes to make it again. */
export interface Made {
  version: string;
  /** In UTC, as in RFC 3339, to the second. */
  date: string;
  /** Arguments after `hypertwin`; empty where no command line made the page. */
  command: string[];
  /** What the command read, as text; `null` where it is too large or not text. The first is the scenario, if there is one. */
  files: { name: string; sha256: string; text: string | null }[];
  seed: number | null;
  /** What the figures were calibrated on, a sentence for each source. */
  calibrated: string[];
}
