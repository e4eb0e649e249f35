/** The head of a page: the answer, what was promised and whether it is met, how sure the figures are. */

import type { View } from "../model/view";
import { Cards } from "./blocks";
import { Sign } from "./small";

const VERDICT = { true: "met", false: "not met", null: "not judged" } as const;
const TONE = { true: "good", false: "bad", null: "warn" } as const;

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
