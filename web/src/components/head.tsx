/** The head of a page: the answer, what was promised and whether it is met, how sure the figures are. */

import type { View } from "../model/view";
import { Cards } from "./blocks";
import { Copy, Sign } from "./small";

const VERDICT = { true: "met", "not surely": "met, not surely", false: "not met", null: "not judged" } as const;
const TONE = { true: "good", "not surely": "warn", false: "bad", null: "warn" } as const;

/** The head of a page as text, for a message or a ticket. */
export function asText(view: View): string {
  const promises = view.promises.map(({ text, met, note }) => {
    const verdict = VERDICT[String(met) as keyof typeof VERDICT];
    return `- ${text}: ${verdict}${note ? ` (${note})` : ""}`;
  });
  const lines = [view.title, "", view.answer.text, ...(view.answer.more ?? []), ...(view.notes ?? [])];
  const sure = view.confidence.map(({ text }) => `- ${text}`);
  const cards = view.cards.map(({ name, value, remark }) => `- ${name}: ${value}${remark ? ` (${remark})` : ""}`);
  return [lines, promises, cards, sure]
    .filter((part) => part.length)
    .map((part) => part.join("\n"))
    .join("\n\n");
}

export function Head({ view }: { view: View }) {
  return (
    <section class="head" aria-label="Answer">
      <div class={`answer ${view.answer.tone}`}>
        <p class="first">{view.answer.text}</p>
        {view.answer.more?.map((sentence, index) => (
          <p key={index}>{sentence}</p>
        ))}
        {view.notes?.map((note) => (
          <p key={note}>{note}</p>
        ))}
        <p class="tools">
          <Copy text={asText(view)} what="the answer as text" label="copy as text" />
        </p>
      </div>
      <div class="sides">
        {view.promises.length > 0 && (
          <div>
            <h2>Promised</h2>
            <ul class="promises">
              {view.promises.map((promise, index) => {
                const verdict = String(promise.met) as keyof typeof VERDICT;
                return (
                  <li key={index} class="signed">
                    <Sign tone={TONE[verdict]} />
                    <span>
                      {promise.text} <strong class={`verdict ${TONE[verdict]}`}>{VERDICT[verdict]}</strong>
                      {promise.note && <span class="hint"> {promise.note}</span>}
                    </span>
                  </li>
                );
              })}
            </ul>
          </div>
        )}
        {view.confidence.length > 0 && (
          <div>
            <h2>How sure</h2>
            <ul class="promises">
              {view.confidence.map((fact, index) => (
                <li key={index} class="signed">
                  <Sign tone={fact.tone} />
                  <span>{fact.text}</span>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
      <Cards cards={view.cards} />
    </section>
  );
}
