/** The data of a page. */

// Generated from python/hypertwin/documents/page.py by `make docs`: change that.

/** A file that the command read. `text` is None if the file is too large or not text. */
export interface MadeFile {
  name: string;
  sha256: string;
  text: string | null;
}

/** Origin of a page, with everything needed to reproduce it. */
export interface Made {
  version: string;
  /** Creation time in UTC, in the form of RFC 3339, to the second. */
  date: string;
  /** Arguments after `hypertwin`, or an empty list if no command line made the page. */
  command: string[];
  /** Input files of the command. The first is the scenario, if any. */
  files: MadeFile[];
  seed: number | null;
  /** Calibration of the figures, one sentence per source. */
  calibrated: string[];
}

/** Data of a page. */
export interface PageDocument {
  /** Version of this format. */
  page: 1;
  /** Kind of result in `document`. */
  kind: string;
  title: string;
  /** Output of `--format json` for this kind. */
  document: unknown;
  /** Content only for the page of a simulation: drawings, published figures next to a sweep. */
  beside: Record<string, unknown>;
  /** Content of the page: `View` of `view.ts`. Without it, the script derives a view from the simulation document. */
  view?: unknown;
  /** Sentences that a terminal shows under the table of a simulation. */
  notes: string[];
  made: Made;
}
