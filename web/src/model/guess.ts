/** Answers that stand on guesses: where VMs are, their source does not say. */

import type { PageDocument } from "./page";
import type { View } from "./view";

/** The answer with the guess, as Python says it, before it, and never good then. */
export const guessed = ({ beside }: PageDocument, answer: View["answer"]): View["answer"] =>
  beside["guess"] ? { ...answer, tone: answer.tone === "bad" ? "bad" : "warn", text: `${beside["guess"]} ${answer.text}` } : answer;
