/** The data of a page. */

// Generated from python/hypertwin/documents/page.py by `make docs`: change that.

/** A file that the command read; `text` is None where it is too large or not text. */
export interface MadeFile {
  name: string;
  sha256: string;
  text: string | null;
}

/** How a page was made, with everything to reproduce it. */
export interface Made {
  version: string;
  /** In UTC, as in RFC 3339, to the second. */
  date: string;
  /** Arguments after `hypertwin`; empty where no command line made the page. */
  command: string[];
  /** Input files of the command. The first is the scenario, if any. */
  files: MadeFile[];
  seed: number | null;
  /** The calibration of the figures, one sentence per source. */
  calibrated: string[];
}

/** The data of a page. */
export interface PageDocument {
  /** Version of this form. */
  page: 1;
  /** Which kind of result `document` is. */
  kind: string;
  title: string;
  /** The output of `--format json` for this kind. */
  document: unknown;
  /** What only the page of a simulation shows: drawings, published figures beside a sweep. */
  beside: Record<string, unknown>;
  /** What the page shows: `View` of `view.ts`. Without it the script makes that of the document of a simulation. */
  view?: unknown;
  /** Sentences that a terminal shows under the table of a simulation. */
  notes: string[];
  made: Made;
}
