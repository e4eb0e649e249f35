/**
 * What a page shows, as data: no markup, no colours, no DOM.
 *
 * A kind of result turns its document into a `View` (see `kinds.ts`), and the components draw any `View`. So every rule
 * about what is worth showing can be tested without a browser.
 */

/** How a fact is to be taken; components choose colours and marks for it. */
export type Tone = "good" | "bad" | "warn" | "note" | "plain";

export interface View {
  title: string;
  /** The answer in one or two sentences, before anything else. */
  answer: { tone: Tone; text: string; more?: string[] };
  /** What was promised or asked for, and whether it is met; null where it cannot be judged. */
  promises: { text: string; met: boolean | null; note?: string }[];
  /** How sure the figures are: replications, half-widths, steady state, calibration. */
  confidence: { tone: Tone; text: string }[];
  /** Figures to see at a glance. */
  cards: Card[];
  sections: Section[];
  /** What is not modelled, and other remarks that hold for the whole page. */
  remarks: string[];
}

export interface Card {
  name: string;
  value: string;
  remark?: string;
  tone?: Tone;
}

export interface Section {
  /** For links within the page; unique in a view. */
  id: string;
  heading: string;
  text?: string;
  /** A coloured word before the heading. */
  badge?: Badge;
  /** Closed at first; print opens it. */
  closed?: boolean;
  blocks: Block[];
}

export interface Badge {
  tone: Tone;
  text: string;
}

export type Block =
  | { type: "prose"; paragraphs: string[]; tone?: Tone }
  /** An `address` makes the text a link; only https is followed. */
  | { type: "list"; items: { text: string; tone?: Tone; address?: string }[] }
  | { type: "cards"; cards: Card[] }
  /** Charts side by side where there is room; `wide` ones have a row of their own. */
  | { type: "charts"; charts: Chart[]; wide?: boolean }
  | { type: "table"; table: Table }
  /** A drawing that Python made: one SVG element without scripts, references and inline styles. */
  | { type: "drawing"; caption: string; svg: string }
  /** Text to read, copy or download under `name`. */
  | { type: "text"; name: string; text: string }
  /** Blocks under a heading of their own within the section, such as one finding of a diagnosis. */
  | { type: "group"; heading: string; badge?: Badge; closed?: boolean; blocks: Block[] };

/** Every chart has words: what it shows and, for those who cannot see it, what is to be seen in it. */
interface Titled {
  /** Unique in a view: file names of SVG, PNG and CSV come from it. */
  id: string;
  title: string;
  text?: string;
  /** One sentence with the figures that matter: "Ready rises from 0.1 % at 4 VMs to 22 % at 12." */
  alternative: string;
}

export interface Axis {
  name: string;
  unit?: string;
  /**
   * `percentile` stretches the tail: 90, 99, 99.9 are evenly spaced steps. `category` takes its places from
   * `categories`, and x counts them from 0.
   */
  scale?: "linear" | "log" | "percentile" | "category";
  categories?: string[];
  /** Values to mark; the component chooses where there are none. */
  ticks?: number[];
  /** Ends that are not left to the data. */
  from?: number;
  to?: number;
}

/** Colours are numbers into the palette, so that an entity has one colour in all charts of a page. */
export interface Series {
  name: string;
  values: (number | null)[];
  /** Half-widths of the 95 % confidence interval, drawn as a band or as whiskers. */
  halfWidths?: (number | null)[];
  colour: number;
  dash?: "solid" | "dashed" | "dotted";
}

/** Single points among lines: published figures, the chosen answer. They take the colour of their series. */
export interface Marks {
  name: string;
  symbol: "star" | "circle" | "diamond";
  /** In a scatter: a line from each point to the next. */
  line?: "solid" | "dashed";
  points: { x: number; y: number; colour: number; hollow?: boolean; text: string }[];
}

/** A numbered line across a chart at a time when something happened. */
export interface Moment {
  x: number;
  number: number;
  text: string;
  tone: Tone;
}

export interface LineChart extends Titled {
  type: "lines";
  x: Axis;
  y: Axis;
  /** Places of all series along x, ascending; a series without a value there has null. */
  places: number[];
  series: Series[];
  marks?: Marks[];
  moments?: Moment[];
  /** Horizontal limits, such as an objective. */
  limits?: { name: string; value: number; tone: Tone }[];
  /** Charts with the same key share cursor, zoom and width of their axes: panels over one time axis. */
  sync?: string;
}

export interface BarChart extends Titled {
  type: "bars";
  /** What the bars stand for, in the order to show them: the worst first. */
  categories: string[];
  value: Axis;
  series: Series[];
  stacked?: boolean;
  /** Bars lie, so that long names can be read. */
  horizontal?: boolean;
  limits?: { name: string; value: number; tone: Tone }[];
}

/** Figures against each other, such as published against twin. */
export interface ScatterChart extends Titled {
  type: "scatter";
  x: Axis;
  y: Axis;
  marks: Marks[];
  /** The diagonal, with tolerances around it: shares of x in per cent, or an amount in the unit of x. */
  diagonal?: { within_pct?: number[]; within?: number };
}

/** Intervals with marks in them, one a row: a published figure with its tolerance, and the twin's. */
export interface RangeChart extends Titled {
  type: "ranges";
  value: Axis;
  rows: { name: string; low: number | null; middle: number | null; high: number | null; marks: { value: number; tone: Tone; text: string }[] }[];
  /** What the interval and each tone of a mark stand for. */
  legend: { range: string; marks: { tone: Tone; text: string }[] };
}

/** Values of many rows over columns, dark where they are high: VMs over time, hosts by NUMA node. */
export interface HeatMap extends Titled {
  type: "heat";
  x: Axis;
  /** Places of the columns along x; of a `category` axis 0, 1, 2 ... */
  columns: number[];
  rows: { name: string; values: (number | null)[] }[];
  unit: string;
  /** Values are places in this list, the later the worse, and have its colours instead of a ramp. */
  states?: { name: string; colour: number }[];
  /** The value drawn darkest; the largest where there is none. */
  top?: number;
  /** Cells that are not as the others whatever their value, and why. */
  marks?: { name: string; tone: Tone; points: { row: number; column: number; text: string }[] };
  moments?: Moment[];
}

export type Chart = LineChart | BarChart | ScatterChart | RangeChart | HeatMap;

export interface Table {
  /** Unique in a view: the name of the CSV file. */
  id: string;
  caption: string;
  columns: Column[];
  rows: Row[];
  /** Column and direction in which the table opens. */
  sorted?: { column: string; descending: boolean };
  /** Columns that a choice above the table can filter by: cluster, host, verdict. */
  filters?: string[];
  notes?: string[];
}

export interface Column {
  key: string;
  name: string;
  unit?: string;
  /** The definition, shown on hover and in the notes of a printed page. */
  text?: string;
  kind: "words" | "number" | "badge";
  /** Can be left out first where there is little room. */
  secondary?: boolean;
}

export type Row = Record<string, Cell>;

/** A number is written with digits by its size. `half_width` is that of the 95 % confidence interval. */
export type Cell = null | string | number | { value: number | null; half_width?: number | null; text?: string; tone?: Tone } | Badge;
