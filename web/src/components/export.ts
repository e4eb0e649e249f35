/** A chart as a picture with its title and legend, in the colours it has on the page. */

import { FAMILY, textWidth } from "../charts/text";
import type { Entry } from "../lib/legend";
import type { Chart } from "../model/view";
import type { Theme } from "../theme";
import { download, fileName } from "./hooks";
import { colourOf } from "./legend";

const MARGIN = 12;
const SVG = "http://www.w3.org/2000/svg";

interface Placed {
  entry: Entry;
  x: number;
  y: number;
}

/** Entries of a legend in lines that fit the width. */
function placedIn(entries: readonly Entry[], width: number): Placed[] {
  let [x, y] = [0, 0];
  return entries.map((entry) => {
    const wide = textWidth(entry.name) + 34;
    if (x > 0 && x + wide > width) [x, y] = [0, y + 18];
    const placed = { entry, x, y };
    x += wide;
    return placed;
  });
}

/** The picture as SVG text; a canvas becomes an image inside. */
function picture(
  plot: HTMLElement,
  chart: Chart,
  entries: readonly Entry[],
  theme: Theme,
): { text: string; width: number; height: number } {
  const svg = plot.querySelector<SVGSVGElement>(".svg-chart > svg");
  const canvas = plot.querySelector("canvas");
  const drawn = (svg ?? canvas)!.getBoundingClientRect();
  const root = document.createElementNS(SVG, "svg");
  const add = (name: string, attributes: Record<string, string | number>, text = "") => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    element.textContent = text;
    return root.appendChild(element);
  };
  const legend = placedIn(entries, drawn.width);
  const top = MARGIN + 24 + (legend.length ? legend.at(-1)!.y + 24 : 0);
  const [width, height] = [Math.ceil(drawn.width + 2 * MARGIN), Math.ceil(top + drawn.height + MARGIN)];
  for (const [key, value] of Object.entries({
    xmlns: SVG,
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "font-family": FAMILY,
  }))
    root.setAttribute(key, String(value));
  add("rect", { width, height, fill: theme.surface });
  add("text", { x: MARGIN, y: MARGIN + 14, "font-size": 15, "font-weight": 600, fill: theme.ink }, chart.title);
  for (const { entry, x, y } of legend) {
    const colour = colourOf(entry, theme);
    add("rect", { x: MARGIN + x, y: MARGIN + 28 + y, width: 14, height: entry.drawn === "bar" ? 10 : 4, fill: colour });
    add("text", { x: MARGIN + x + 19, y: MARGIN + 37 + y, "font-size": 12, fill: theme.ink }, entry.name);
  }
  if (svg) {
    const copy = svg.cloneNode(true) as SVGSVGElement;
    copy.setAttribute("x", String(MARGIN));
    copy.setAttribute("y", String(top));
    root.append(copy);
  } else if (canvas) {
    add("image", { x: MARGIN, y: top, width: drawn.width, height: drawn.height, href: canvas.toDataURL("image/png") });
  }
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

export function savePicture(
  plot: HTMLElement,
  kind: "svg" | "png",
  chart: Chart,
  entries: readonly Entry[],
  theme: Theme,
): void {
  const { text, width, height } = picture(plot, chart, entries, theme);
  if (kind === "svg") return download(fileName(chart.id, "svg"), text, "image/svg+xml");
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * 2, height * 2];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => blob && download(fileName(chart.id, "png"), blob));
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}
