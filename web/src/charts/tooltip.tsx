/** The values under the pointer. */

import type { ComponentChildren } from "preact";

export interface Pointed {
  x: number;
  y: number;
  /** Pixels of the drawing, so that the words stay inside. */
  width: number;
}

export function Tooltip({ at, children }: { at: Pointed; children: ComponentChildren }) {
  const right = at.x > at.width / 2;
  const style = right
    ? { right: `${at.width - at.x + 14}px`, top: `${at.y + 8}px` }
    : { left: `${at.x + 14}px`, top: `${at.y + 8}px` };
  return (
    <div class="tooltip" style={style} aria-hidden="true">
      {children}
    </div>
  );
}
