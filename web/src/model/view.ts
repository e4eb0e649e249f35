/** The content of a result as data: no markup, no colours. Terminal, workbook and page are drawn from it. A module of `hypertwin.report` makes the view of each kind of result, and the components of the page draw any. */

// Generated from python/hypertwin/report/view.py by `make docs`: change that.

/** How a fact is to be taken; components choose colours and marks for it. */
export type Tone = "good" | "bad" | "warn" | "note" | "plain";

/** A coloured word. */
export interface Badge {
  tone: Tone;
  text: string;
}

/** A number with more than its value. Without `text` it is written with digits by its size. */
export interface Figure {
  value: number | null;
  /** Of the 95 % confidence interval. */
  half_width?: number | null;
  text?: string;
  tone?: Tone;
}

export type Cell = string | number | Figure | Badge | null;

export type Row = Record<string, Cell>;

/** A column of a table. */
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

/** A column and a direction. */
export interface Sorting {
  column: string;
  descending: boolean;
}

/** A table. */
export interface Table {
  /** Unique in a view: the name of the CSV file. */
  id: string;
  caption: string;
  columns: Column[];
  rows: Row[];
  /** Column and direction in which the table opens. */
  sorted?: Sorting;
  /** Columns that a choice above the table can filter by: cluster, host, verdict. */
  filters?: string[];
  notes?: string[];
}

/** A figure to see at a glance. */
export interface Card {
  name: string;
  value: string;
  remark?: string;
  tone?: Tone;
}

/** Every chart has words: what it shows and, for those who cannot see it, what is to be seen in it. */
export interface Titled {
  /** Unique in a view: file names of SVG, PNG and CSV come from it. */
  id: string;
  title: string;
  text?: string;
  /** One sentence with the figures that matter: "Ready rises from 0.1 % at 4 VMs to 22 % at 12.". */
  alternative: string;
}

/** `percentile` stretches the tail: 90, 99, 99.9 are evenly spaced steps. `category` takes its places from `categories`, and x counts them from 0. `ticks` are values to mark; the component chooses where there are none. `from` and `to` are ends that are not left to the data. */
export interface Axis {
  name: string;
  unit?: string;
  scale?: "linear" | "log" | "percentile" | "category";
  categories?: string[];
  ticks?: number[];
  from?: number;
  to?: number;
}

/** Values along an axis. Colours are numbers into the palette: an entity has one colour in all charts of a page. */
export interface Series {
  name: string;
  values: (number | null)[];
  /** Half-widths of the 95 % confidence interval, drawn as a band or as whiskers. */
  halfWidths?: (number | null)[];
  colour: number;
  dash?: "solid" | "dashed" | "dotted";
}

/** One point among marks. */
export interface MarkedPoint {
  x: number;
  y: number;
  colour: number;
  hollow?: boolean;
  text: string;
}

/** Single points among lines: published figures, the chosen answer. They take the colour of their series. */
export interface Marks {
  name: string;
  symbol: "star" | "circle" | "diamond";
  /** In a scatter: a line from each point to the next. */
  line?: "solid" | "dashed";
  points: MarkedPoint[];
}

/** A numbered line across a chart at a time when something happened. */
export interface Moment {
  x: number;
  number: number;
  text: string;
  tone: Tone;
}

/** A line across a chart, such as an objective. */
export interface Limit {
  name: string;
  value: number;
  tone: Tone;
}

/** Lines over an axis. */
export interface LineChart extends Titled {
  type: "lines";
  x: Axis;
  y: Axis;
  /** Places of all series along x, ascending; a series without a value there has null. */
  places: number[];
  series: Series[];
  marks?: Marks[];
  moments?: Moment[];
  limits?: Limit[];
  /** Charts with the same key share cursor, zoom and width of their axes: panels over one time axis. */
  sync?: string;
}

/** Bars. */
export interface BarChart extends Titled {
  type: "bars";
  /** The parts of the bars, in the order to show them: the worst first. */
  categories: string[];
  value: Axis;
  series: Series[];
  stacked?: boolean;
  /** Bars lie, so that long names can be read. */
  horizontal?: boolean;
  /** Places of categories whose bars are hatched, such as a failed host; `text` says what that means. */
  hatched?: number[];
  limits?: Limit[];
}

/** Tolerances around the diagonal: shares of x in per cent, or an amount in the unit of x. */
export interface Diagonal {
  within_pct?: number[];
  within?: number;
}

/** Figures against each other, such as published against twin. */
export interface ScatterChart extends Titled {
  type: "scatter";
  x: Axis;
  y: Axis;
  marks: Marks[];
  diagonal?: Diagonal;
}

/** A mark in an interval. */
export interface RangeMark {
  value: number;
  tone: Tone;
  text: string;
}

/** An interval. */
export interface RangeRow {
  name: string;
  low: number | null;
  middle: number | null;
  high: number | null;
  marks: RangeMark[];
}

/** The meaning of the interval and of each tone of a mark. */
export interface RangeLegend {
  range: string;
  marks: Badge[];
}

/** Intervals with marks in them, one a row: a published figure with its tolerance, and the twin's. */
export interface RangeChart extends Titled {
  type: "ranges";
  value: Axis;
  rows: RangeRow[];
  legend: RangeLegend;
}

/** A row of a heat map. */
export interface HeatRow {
  name: string;
  values: (number | null)[];
}

/** One of several states that a cell may have. */
export interface HeatState {
  name: string;
  colour: number;
}

/** A marked cell. */
export interface HeatPoint {
  row: number;
  column: number;
  text: string;
}

/** Cells that are not as the others whatever their value, and why. */
export interface HeatMarks {
  name: string;
  tone: Tone;
  points: HeatPoint[];
}

/** Values of many rows over columns, dark where they are high: VMs over time, hosts by NUMA node. */
export interface HeatMap extends Titled {
  type: "heat";
  x: Axis;
  /** Places of the columns along x; of a `category` axis 0, 1, 2 ... */
  columns: number[];
  rows: HeatRow[];
  unit: string;
  /** Values are places in this list, the later the worse, and have its colours instead of a ramp. */
  states?: HeatState[];
  /** The value drawn darkest; the largest where there is none. */
  top?: number;
  marks?: HeatMarks;
  moments?: Moment[];
}

export type Chart = LineChart | BarChart | ScatterChart | RangeChart | HeatMap;

/** Paragraphs. */
export interface Prose {
  type: "prose";
  paragraphs: string[];
  tone?: Tone;
}

/** A line of a list. An `address` makes the text a link; only https is followed. */
export interface Item {
  text: string;
  tone?: Tone;
  address?: string;
}

/** A list. */
export interface Listed {
  type: "list";
  items: Item[];
}

/** Figures to see at a glance, within a section. */
export interface Cards {
  type: "cards";
  cards: Card[];
}

/** Charts side by side where there is room; `wide` ones have a row of their own. */
export interface Charts {
  type: "charts";
  charts: Chart[];
  wide?: boolean;
}

/** A table; one with `detail` is too much for a terminal. */
export interface Tabled {
  type: "table";
  table: Table;
  detail?: boolean;
}

/** A drawing that Python made: one SVG element without scripts, references and inline styles. */
export interface Drawing {
  type: "drawing";
  caption: string;
  svg: string;
}

/** Text to read, copy or download under `name`. */
export interface Source {
  type: "text";
  name: string;
  text: string;
}

/** Blocks under a heading of their own within the section, such as one finding. */
export interface Group {
  type: "group";
  heading: string;
  badge?: Badge;
  /** Closed at first; terminals show its heading only. */
  closed?: boolean;
  /** Terminals leave it out. */
  detail?: boolean;
  blocks: Block[];
}

export type Block = Prose | Listed | Cards | Charts | Tabled | Drawing | Source | Group;

/** A part of a page under a heading. */
export interface Section {
  /** For links within the page; unique in a view. */
  id: string;
  heading: string;
  text?: string;
  /** A coloured word before the heading. */
  badge?: Badge;
  /** Closed at first; paper has what is open. */
  closed?: boolean;
  /** Terminals leave it out unless it is asked for by its `id`. */
  detail?: boolean;
  blocks: Block[];
}

/** The answer in one or two sentences, before anything else. */
export interface Answer {
  tone: Tone;
  text: string;
  more?: string[];
}

/** A promise or condition, with its result; null where it cannot be judged. */
export interface Promise {
  text: string;
  met: boolean | null;
  note?: string;
}

/** The content of a result. */
export interface View {
  title: string;
  answer: Answer;
  promises: Promise[];
  /** How sure the figures are: replications, half-widths, steady state, calibration. */
  confidence: Badge[];
  cards: Card[];
  sections: Section[];
  /** Notes that change a decision, the most important first: limits, missing data, an unproven result. */
  notes?: string[];
  /** Definitions, assumptions and limits of the model, for the whole result. */
  assumptions: string[];
  /** Tables that a terminal shows unless all are asked for, by `id`; the first two where it is left out. */
  brief?: string[];
}
