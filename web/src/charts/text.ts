/** How wide words are in a drawing, and words cut to what fits. */

export const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
export const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

let context: CanvasRenderingContext2D | null = null;

export function textWidth(text: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 7;
  context.font = FONT;
  return context.measureText(text).width;
}

/** The words, with an ellipsis in the middle where they are too wide: names differ most at their ends. */
export function cut(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let keep = text.length - 1;
  let short = "…";
  while (keep > 1) {
    short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
    if (textWidth(short) <= width) break;
    keep--;
  }
  return short;
}
