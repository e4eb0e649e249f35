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

/** Setting that a reader can change, of every entry of a section. */
export interface Control {
  /** Keys below the entry of the section. */
  key: string[];
  name: string;
  /** Definition of the key. */
  text: string;
  form: "integer" | "number" | "quantity" | "choice";
  /** Unit in which the page writes a quantity, otherwise an empty string. */
  unit: string;
  /** Lowest allowed value, in the unit. */
  low: number;
  /** Highest allowed value, in the unit. */
  high: number;
  step: number;
  /** Slider range, as a multiple of the original value. */
  span: number;
  /** Minimum upper end of the slider. */
  reach: number;
  /** Value of an entry without the key, or None. */
  default: unknown;
  /** Values of a choice. */
  values: unknown[];
}

/** Data with which a page simulates the scenario with other values. */
export interface Live {
  /** Version and source hash of the core in the page. */
  build: string;
  /** Scenario of the first point in canonical form, with all times. */
  scenario: Record<string, unknown>;
  /** Values by path that turn that scenario into the scenario of each point. None removes a key. */
  points: [string[], unknown][][];
  /** The twin's own error by area and kind, as the core takes it. */
  intervals: Record<string, unknown>;
  controls: Record<string, Control[]>;
  /** Hosts that can fail. */
  hosts: string[];
  /** Name that stands for the data of a pool without a policy. */
  own_policy: string;
  /** Scenario file of the command. */
  file: string;
  /** Options of the command that a run with other values needs as well. */
  options: string[];
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
  /** Data to simulate in the page. The core is a separate element of the page. */
  live?: Live;
}
