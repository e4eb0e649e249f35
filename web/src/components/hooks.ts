/** Shared by components: their width, and downloads. */

import type { RefObject } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Look } from "../theme";

/** Pixels of a printed page between its margins, on A4 and on letter paper. */
export const PAPER = 680;

/** The width of an element, kept up to date; that of the paper while printing. */
export function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const { printing } = useContext(Look);
  useLayoutEffect(() => {
    const watched = element.current;
    if (!watched) return;
    const measure = () => setWidth(Math.floor(watched.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(watched);
    return () => observer.disconnect();
  }, []);
  return [element, printing ? PAPER : width];
}

/** Download a file. */
export function download(name: string, content: Blob | string, type = "text/plain"): void {
  const blob = typeof content === "string" ? new Blob([content], { type: `${type};charset=utf-8` }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A safe file name. */
export function fileName(text: string, ending: string): string {
  return `${
    text
      .normalize("NFKD")
      .replace(/[^\w.-]+/g, "-")
      .replace(/^[-.]+|-+$/g, "")
      .slice(0, 80) || "hypertwin"
  }.${ending}`;
}
