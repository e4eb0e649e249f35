/** A table that can be sorted, searched, filtered and downloaded; paper has the rows and columns that are shown. */

import { useContext, useMemo, useState } from "preact/hooks";
import { found, shown, sorted, valuesOf } from "../lib/cells";
import { tableCsv } from "../lib/csv";
import { chunks } from "../lib/paper";
import type { Column, Row, Table as TableData } from "../model/view";
import { Look } from "../theme";
import { download, fileName } from "./hooks";

/** Rows drawn at first, so that a table of hundreds opens at once. */
const FIRST = 50;
/** From this number of rows on, a table has a search field. */
const MANY = 12;

/** Above this number of rows a table scrolls, so that its heads stay visible. */
const TALL = 40;
/** Words up to this length stay on one line. */
const SHORT = 22;

type Order = { column: string; descending: boolean } | undefined;

export function Table({ table }: { table: TableData }) {
  const { printing } = useContext(Look);
  const [order, setOrder] = useState<Order>(table.sorted);
  const [search, setSearch] = useState("");
  const [filters, setFilters] = useState<Record<string, string>>({});
  const [all, setAll] = useState(false);
  const [wide, setWide] = useState(false);
  const kept = useMemo(() => found(table.rows, table.columns, search, filters), [table, search, filters]);
  const rows = useMemo(() => (order ? sorted(kept, order.column, order.descending) : kept), [kept, order]);
  const drawn = all || rows.length <= FIRST + 10 ? rows : rows.slice(0, FIRST);
  const short = useMemo(() => shortColumns(table), [table]);
  const secondary = table.columns.some((column) => column.secondary);
  const onPaper = table.columns.filter((column, index) => wide || index === 0 || !column.secondary);
  const heads = printing ? chunks({ ...table, columns: onPaper }) : [table.columns];
  return (
    <div class={`table ${wide ? "all-columns" : ""}`}>
      <div class="bar">
        <p class="caption" id={`${table.id}-caption`}>
          {table.caption}
          <span class="count" role="status">
            {kept.length < table.rows.length
              ? `${kept.length} of ${table.rows.length} rows`
              : table.rows.length > MANY
                ? `${table.rows.length} rows`
                : ""}
          </span>
        </p>
        <div class="tools">
          {(table.filters ?? []).map((key) => (
            <Filter
              key={key}
              table={table}
              column={key}
              value={filters[key] ?? ""}
              choose={(value) => setFilters({ ...filters, [key]: value })}
            />
          ))}
          {table.rows.length > MANY && (
            <input
              type="search"
              placeholder="Search"
              aria-label={`Search in ${table.caption}`}
              value={search}
              onInput={(event) => setSearch(event.currentTarget.value)}
            />
          )}
          {secondary && (
            <button type="button" class="small narrow-only" aria-pressed={wide} onClick={() => setWide(!wide)}>
              all columns
            </button>
          )}
          <button
            type="button"
            class="small"
            onClick={() => download(fileName(table.id, "csv"), tableCsv(table, rows), "text/csv")}
          >
            CSV
          </button>
        </div>
      </div>
      {heads.map((columns, index) => (
        <div
          class={`scroll ${drawn.length > TALL ? "tall" : ""}`}
          key={index}
          role="region"
          aria-labelledby={`${table.id}-caption`}
          tabIndex={0}
        >
          <table aria-labelledby={`${table.id}-caption`}>
            <thead>
              <tr>
                {columns.map((column) => (
                  <Head key={column.key} column={column} order={order} choose={setOrder} />
                ))}
              </tr>
            </thead>
            <tbody>
              {drawn.map((row, number) => (
                <Line key={number} columns={columns} row={row} short={short} />
              ))}
            </tbody>
          </table>
        </div>
      ))}
      {rows.length === 0 && <p class="hint">No row {table.rows.length ? "matches." : "to show."}</p>}
      {printing && drawn.length < rows.length && (
        <p class="hint">
          {rows.length - drawn.length} of {rows.length} rows are not printed: show all rows first.
        </p>
      )}
      {drawn.length < rows.length && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show all {rows.length} rows
        </button>
      )}
      {table.notes?.map((note) => (
        <p class="hint" key={note}>
          {note}
        </p>
      ))}
      <Definitions columns={table.columns} />
    </div>
  );
}

interface Filtering {
  table: TableData;
  column: string;
  value: string;
  choose: (value: string) => void;
}

function Filter({ table, column, value, choose }: Filtering) {
  const values = useMemo(() => valuesOf(table.rows, column), [table, column]);
  const name = table.columns.find((each) => each.key === column)?.name ?? column;
  if (values.length < 2) return null;
  return (
    <label class="filter">
      <span>{name}</span>
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">all</option>
        {values.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

function Head({ column, order, choose }: { column: Column; order: Order; choose: (order: Order) => void }) {
  const current = order?.column === column.key;
  const direction = current ? (order.descending ? "descending" : "ascending") : undefined;
  // figures open with the largest, words with the first
  const next = { column: column.key, descending: current ? !order.descending : column.kind === "number" };
  return (
    <th scope="col" class={classOf(column)} aria-sort={direction}>
      <button type="button" title={column.text} onClick={() => choose(next)}>
        {column.name || <span class="unseen">{column.text ?? column.key}</span>}{" "}
        {column.unit && <span class="unit">{column.unit}</span>}
        <span class="arrow" aria-hidden="true">
          {direction ? (order?.descending ? "▼" : "▲") : ""}
        </span>
      </button>
    </th>
  );
}

function Line({ columns, row, short }: { columns: readonly Column[]; row: Row; short: ReadonlySet<string> }) {
  return (
    <tr>
      {columns.map((column, index) => {
        const cell = shown(row[column.key]);
        const inside = cell.badge ? <span class={`badge ${cell.tone ?? "plain"}`}>{cell.text}</span> : cell.text;
        const classes = `${classOf(column)} ${short.has(column.key) ? "short" : ""} ${cell.tone && !cell.badge ? `tone ${cell.tone}` : ""}`;
        const Tag = index === 0 ? "th" : "td";
        return (
          <Tag key={column.key} scope={index === 0 ? "row" : undefined} class={classes}>
            {inside}
          </Tag>
        );
      })}
    </tr>
  );
}

function shortColumns(table: TableData): ReadonlySet<string> {
  return new Set(
    table.columns
      .map((column) => column.key)
      .filter((key) => table.rows.every((row) => shown(row[key]).text.length <= SHORT)),
  );
}

function classOf(column: Column): string {
  return `${column.kind === "number" ? "n" : ""} ${column.secondary ? "secondary" : ""}`.trim();
}

/** Definitions of the columns for touch and keyboard, where a head has no tooltip; printed if they are open. */
function Definitions({ columns }: { columns: readonly Column[] }) {
  const [open, setOpen] = useState(false);
  const defined = columns.filter((column) => column.text);
  if (!defined.length) return null;
  return (
    <details
      class={`definitions ${open ? "" : "folded"}`}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>Column definitions</summary>
      <dl>
        {defined.map((column) => (
          <div key={column.key}>
            <dt>
              {column.name} {column.unit && <span class="unit">{column.unit}</span>}
            </dt>
            <dd>{column.text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
