/** The sign of an entry of a legend. */

import { useContext } from "preact/hooks";
import { symbolPath } from "../charts/symbols";
import type { Entry } from "../lib/legend";
import { dashOf, Look, seriesColour, type Theme } from "../theme";

export function colourOf(entry: Entry, theme: Theme): string {
  if (entry.tone) return theme.tone[entry.tone];
  return entry.colour === undefined ? theme.muted : seriesColour(theme, entry.colour);
}

export function Key({ entry }: { entry: Entry }) {
  const { theme } = useContext(Look);
  const colour = colourOf(entry, theme);
  return (
    <svg width="22" height="12" aria-hidden="true" focusable="false">
      {entry.drawn === "line" && (
        <line
          x1="1"
          x2="21"
          y1="6"
          y2="6"
          stroke={colour}
          stroke-width="2.5"
          stroke-dasharray={dashOf(entry.colour ?? 0, entry.dash).join(" ")}
        />
      )}
      {entry.drawn === "limit" && (
        <line x1="1" x2="21" y1="6" y2="6" stroke={colour} stroke-width="1.5" stroke-dasharray="5 3" />
      )}
      {entry.drawn === "bar" && <rect x="5" y="1" width="12" height="10" fill={colour} />}
      {entry.drawn === "range" && (
        <line x1="2" x2="20" y1="6" y2="6" stroke={colour} stroke-width="5" stroke-opacity="0.45" />
      )}
      {entry.drawn === "tone" && <circle cx="11" cy="6" r="4.5" fill={colour} />}
      {entry.drawn === "mark" && <path d={symbolPath(entry.symbol ?? "circle", 11, 6, 5)} fill={colour} />}
    </svg>
  );
}
