/** Events at the numbered lines of a chart. */

import type { Moment } from "../model/view";

export function Moments({ moments }: { moments: readonly Moment[] }) {
  if (!moments.length) return null;
  return (
    <ol class="moments">
      {moments.map((moment) => (
        <li key={moment.number} value={moment.number} class={moment.tone}>
          {moment.text}
        </li>
      ))}
    </ol>
  );
}
