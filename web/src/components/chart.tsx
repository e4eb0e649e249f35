/** A chart with its texts: title, description, legend, and its figures as picture, CSV and table. */

import { useContext, useRef, useState } from "preact/hooks";
import { Bars } from "../charts/bars";
import { Heat } from "../charts/heat";
import { Lines } from "../charts/lines";
import { Ranges } from "../charts/ranges";
import { Scatter } from "../charts/scatter";
import { listing } from "../lib/chart_data";
import { csv } from "../lib/csv";
import { entriesOf, type Entry } from "../lib/legend";
import { number } from "../model/numbers";
import type { Chart as ChartData } from "../model/view";
import { Look } from "../theme";
import { savePicture } from "./export";
import { download, fileName, useWidth } from "./hooks";
import { Key } from "./legend";

/** Rows and cells of figures that a chart shows below its picture; the CSV file has all. */
const LISTED = 200;
const CELLS = 20_000;

/** `above` is the chart before it: of panels over one axis only the first shows the events. */
export function Chart({ chart, above }: { chart: ChartData; above?: ChartData | undefined }) {
  const { theme } = useContext(Look);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [listed, setListed] = useState(false);
  const [plot, width] = useWidth();
  const figure = useRef<HTMLElement>(null);
  const entries = entriesOf(chart);
  const toggle = (name: string) => {
    const next = new Set(hidden);
    if (!next.delete(name)) next.add(name);
    setHidden(next);
  };
  const save = (kind: "svg" | "png") => {
    if (plot.current)
      savePicture(
        plot.current,
        kind,
        chart,
        entries.filter((entry) => !hidden.has(entry.name)),
        theme,
      );
  };
  const data = () => {
    const { heads, rows } = listing(chart);
    return csv(heads, rows);
  };
  return (
    <figure
      class="chart"
      id={chart.id}
      ref={figure}
      aria-labelledby={`${chart.id}-title`}
      aria-describedby={`${chart.id}-words`}
    >
      <figcaption>
        <div class="bar">
          <h4 id={`${chart.id}-title`}>{chart.title}</h4>
          <div class="tools">
            {drawnAsSvg(chart) && (
              <button type="button" class="small" onClick={() => save("svg")} aria-label={`Save ${chart.title} as SVG`}>
                SVG
              </button>
            )}
            <button type="button" class="small" onClick={() => save("png")} aria-label={`Save ${chart.title} as PNG`}>
              PNG
            </button>
            <button
              type="button"
              class="small"
              onClick={() => download(fileName(chart.id, "csv"), data(), "text/csv")}
              aria-label={`Save the figures of ${chart.title} as CSV`}
            >
              CSV
            </button>
            <button
              type="button"
              class="small"
              aria-expanded={listed}
              onClick={() => setListed(!listed)}
              aria-label={`Figures of ${chart.title} as a table`}
            >
              table
            </button>
          </div>
        </div>
        <p class="seen" id={`${chart.id}-words`}>
          {chart.alternative}
        </p>
        {chart.text && <p class="hint">{chart.text}</p>}
      </figcaption>
      <Legend entries={entries} hidden={hidden} toggle={toggle} />
      <div class="plot" ref={plot}>
        {width > 0 && <Plot chart={chart} told={!sharesAxis(chart, above)} hidden={hidden} width={width} />}
      </div>
      {listed && <Listed chart={chart} />}
    </figure>
  );
}

/** True for charts that can be saved as SVG; curves of thousands of points and heat maps are pictures. */
function drawnAsSvg(chart: ChartData): boolean {
  return chart.type !== "lines" && chart.type !== "heat";
}

function sharesAxis(chart: ChartData, above: ChartData | undefined): boolean {
  return chart.type === "lines" && above?.type === "lines" && chart.sync !== undefined && chart.sync === above.sync;
}

interface Drawing {
  chart: ChartData;
  told: boolean;
  hidden: ReadonlySet<string>;
  width: number;
}

function Plot({ chart, told, hidden, width }: Drawing) {
  switch (chart.type) {
    case "lines":
      return <Lines chart={chart} told={told} hidden={hidden} width={width} />;
    case "bars":
      return <Bars chart={chart} hidden={hidden} width={width} />;
    case "scatter":
      return <Scatter chart={chart} hidden={hidden} width={width} />;
    case "ranges":
      return <Ranges chart={chart} width={width} />;
    case "heat":
      return <Heat chart={chart} width={width} />;
  }
}

interface Entries {
  entries: Entry[];
  hidden: ReadonlySet<string>;
  toggle: (name: string) => void;
}

function Legend({ entries, hidden, toggle }: Entries) {
  if (!entries.length) return null;
  return (
    <ul class="legend">
      {entries.map((entry) => (
        <li key={entry.name}>
          {entry.toggles ? (
            <button
              type="button"
              class="entry"
              aria-pressed={!hidden.has(entry.name)}
              onClick={() => toggle(entry.name)}
            >
              <Key entry={entry} />
              {entry.name}
            </button>
          ) : (
            <span class="entry">
              <Key entry={entry} />
              {entry.name}
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function Listed({ chart }: { chart: ChartData }) {
  const { heads, rows } = listing(chart);
  const most = Math.min(LISTED, Math.ceil(CELLS / heads.length));
  return (
    <div class="scroll" role="region" aria-label={`Figures of ${chart.title}`} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head, index) => (
              <th key={index} scope="col" class={index ? "n" : ""}>
                {head || "name"}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, most).map((row, line) => (
            <tr key={line}>
              {row.map((field, index) => (
                <td key={index} class={typeof field === "number" ? "n" : ""}>
                  {typeof field === "number" ? number(field, 4) : field}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && <p class="hint">{rows.length - most} more rows are in the CSV file.</p>}
    </div>
  );
}
