/** Shapes of marks, as paths that both SVG and canvas draw. */

import type { Marks } from "../model/view";

export function symbolPath(symbol: Marks["symbol"], x: number, y: number, size: number): string {
  const at = (angle: number, radius: number) =>
    `${(x + radius * Math.sin(angle)).toFixed(2)},${(y - radius * Math.cos(angle)).toFixed(2)}`;
  switch (symbol) {
    case "star": {
      const points = Array.from({ length: 10 }, (_, index) =>
        at((index * Math.PI) / 5, index % 2 ? size * 0.5 : size * 1.25),
      );
      return `M${points.join("L")}Z`;
    }
    case "diamond":
      return `M${[0, 1, 2, 3].map((index) => at((index * Math.PI) / 2, size * 1.15)).join("L")}Z`;
    case "circle":
      return `M${x - size},${y}a${size},${size} 0 1,0 ${2 * size},0a${size},${size} 0 1,0 ${-2 * size},0Z`;
  }
}
