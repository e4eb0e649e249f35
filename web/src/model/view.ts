/** Content of a result as data, without markup or colours, shown by terminal, workbook and page. A module of `hypertwin.show` builds the view of each kind of result, and the components of the page draw any view. */

// Generated from python/hypertwin/show/view.py by `make docs`: change that.

/** Meaning of a fact. Components choose colours and marks for each tone. */
export type Tone = "good" | "bad" | "warn" | "note" | "plain";

/** A coloured word. */
export interface Badge {
  tone: Tone;
  text: string;
}

/** A number with additional properties. Without `text`, the size of the number determines its digits. */
export interface Figure {
  value: number | null;
  /** Half-width of the 95 % confidence interval. */
  half_width?: number | null;
  /** Ends of the 80% interval with the twin's own error. */
  low?: number;
  high?: number;
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
  /** Definition, shown on hover and in the notes of a printed page. */
  text?: string;
  kind: "words" | "number" | "badge";
  /** True if the column can be dropped first in a narrow table. */
  secondary?: boolean;
}

/** Column and direction of a sort order. */
export interface Sorting {
  column: string;
  descending: boolean;
}

/** A table. */
export interface Table {
  /** Identifier that is unique in a view, and the name of the CSV file. */
  id: string;
  caption: string;
  columns: Column[];
  rows: Row[];
  /** Initial sort column and direction of the table. */
  sorted?: Sorting;
  /** Columns with a filter above the table: cluster, host, verdict. */
  filters?: string[];
  notes?: string[];
}

/** A key figure. */
export interface Card {
  name: string;
  value: string;
  remark?: string;
  tone?: Tone;
}

/** Base of charts. Every chart has a title, and a text alternative for readers who cannot see the chart. */
export interface Titled {
  /** Identifier that is unique in a view. File names of SVG, PNG and CSV begin with the identifier. */
  id: string;
  title: string;
  text?: string;
  /** One sentence with the figures that matter: "Ready rises from 0.1 % at 4 VMs to 22 % at 12.". */
  alternative: string;
}

/** Axis of a chart. `percentile` stretches the tail: 90, 99, 99.9 are evenly spaced steps. `category` takes its labels from `categories`, and x is the index of a category. `ticks` are values to mark, by default chosen by the component. `from` and `to` are fixed ends of the axis. */
export interface Axis {
  name: string;
  unit?: string;
  scale?: "linear" | "log" | "percentile" | "category";
  categories?: string[];
  ticks?: number[];
  from?: number;
  to?: number;
}

/** Values along an axis. A colour is a number in the palette. An entity has the same colour in all charts of a page. */
export interface Series {
  name: string;
  values: (number | null)[];
  /** Half-widths of the 95 % confidence interval, drawn as a band or as whiskers. */
  halfWidths?: (number | null)[];
  /** Ends of the 80% interval with the twin's own error, drawn as a light band. The axis does not extend to them. */
  lows?: (number | null)[];
  highs?: (number | null)[];
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

/** Single points among lines, such as published figures or the chosen answer, in the colour of their series. */
export interface Marks {
  name: string;
  symbol: "star" | "circle" | "diamond";
  /** True to draw a line from each point to the next in a scatter chart. */
  line?: "solid" | "dashed";
  points: MarkedPoint[];
}

/** A numbered line across a chart at the time of an event. */
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
  /** Ascending x values of all series. A series without a value at an x value has null. */
  places: number[];
  series: Series[];
  marks?: Marks[];
  moments?: Moment[];
  limits?: Limit[];
  /** Key of charts that share cursor, zoom and axis width, such as panels over one time axis. */
  sync?: string;
}

/** Bars. */
export interface BarChart extends Titled {
  type: "bars";
  /** Categories of the bars in display order, worst first. */
  categories: string[];
  value: Axis;
  series: Series[];
  stacked?: boolean;
  /** True for horizontal bars, which leave room for long names. */
  horizontal?: boolean;
  /** Positions of categories with hatched bars, such as a failed host. `text` explains the hatching. */
  hatched?: number[];
  limits?: Limit[];
}

/** Tolerances around the diagonal, in per cent of x or in the unit of x. */
export interface Diagonal {
  within_pct?: number[];
  within?: number;
}

/** A scatter chart, such as published against simulated figures. */
export interface ScatterChart extends Titled {
  type: "scatter";
  x: Axis;
  y: Axis;
  marks: Marks[];
  diagonal?: Diagonal;
}

/** A mark on an interval. */
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

/** Meaning of the interval and of each tone of a mark. */
export interface RangeLegend {
  range: string;
  marks: Badge[];
}

/** Intervals with marks, one per row, such as a published figure with its tolerance and the figure of the twin. */
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

/** A possible state of a cell. */
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

/** Cells that differ from others regardless of their value, with the reason. */
export interface HeatMarks {
  name: string;
  tone: Tone;
  points: HeatPoint[];
}

/** Values of many rows over columns, dark for high values. Examples are VMs over time, and hosts by NUMA node. */
export interface HeatMap extends Titled {
  type: "heat";
  x: Axis;
  /** Values of x of the columns, counted from 0 on a `category` axis. */
  columns: number[];
  rows: HeatRow[];
  unit: string;
  /** States of cells, from good to bad, with their colours. Values are positions in this list. */
  states?: HeatState[];
  /** Value with the darkest colour (default: the largest value). */
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

/** A line of a list. An `address` makes the text a link, if it uses https. */
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

/** Key figures within a section. */
export interface Cards {
  type: "cards";
  cards: Card[];
}

/** Charts side by side if they fit. `wide` charts have their own row. */
export interface Charts {
  type: "charts";
  charts: Chart[];
  wide?: boolean;
}

/** Table as a block. A table with `detail` is too long for a terminal. */
export interface Tabled {
  type: "table";
  table: Table;
  detail?: boolean;
}

/** A drawing made in Python: one SVG element without scripts, references and inline styles. */
export interface Drawing {
  type: "drawing";
  caption: string;
  svg: string;
}

/** Text to read, copy or download as `name`. */
export interface Source {
  type: "text";
  name: string;
  text: string;
}

/** Blocks under a separate heading within the section, such as one finding. */
export interface Group {
  type: "group";
  heading: string;
  badge?: Badge;
  /** True if the group is closed at first. Terminals show only its heading. */
  closed?: boolean;
  /** True if terminals omit the group. */
  detail?: boolean;
  blocks: Block[];
}

export type Block = Prose | Listed | Cards | Charts | Tabled | Drawing | Source | Group;

/** A part of a page under a heading. */
export interface Section {
  /** Target of links within the page, unique in a view. */
  id: string;
  heading: string;
  text?: string;
  /** A coloured word before the heading. */
  badge?: Badge;
  /** True if the section is closed at first. Print shows closed sections open. */
  closed?: boolean;
  /** True if the section is hidden in terminals unless requested by its `id`. */
  detail?: boolean;
  blocks: Block[];
}

/** Answer in one or two sentences, before all other content. */
export interface Answer {
  tone: Tone;
  text: string;
  more?: string[];
}

/** Promise or condition with its result, or null if the promise cannot be judged. */
export interface Promise {
  text: string;
  /** `not surely` means met, except at the worse end of the twin's own error. */
  met: boolean | "not surely" | null;
  note?: string;
}

/** Content of a result. */
export interface View {
  title: string;
  answer: Answer;
  promises: Promise[];
  /** Confidence of the figures, by replications, half-widths, steady state and calibration. */
  confidence: Badge[];
  cards: Card[];
  sections: Section[];
  /** Notes that change a decision, most important first: limits, missing data, an unproven result. */
  notes?: string[];
  /** Definitions, assumptions and limits of the model, for the whole result. */
  assumptions: string[];
  /** Default tables of a terminal, by `id`. If absent, the first two tables are shown. */
  brief?: string[];
}
