/** Small parts: badges, marks of a tone, buttons that copy or download. */

import { useState } from "preact/hooks";
import type { Badge as BadgeData, Tone } from "../model/view";

const SIGNS: Record<Tone, string> = { good: "✓", bad: "✕", warn: "!", note: "i", plain: "·" };
const WORDS: Record<Tone, string> = { good: "good: ", bad: "bad: ", warn: "caution: ", note: "", plain: "" };

/** The sign of a tone, so that colour is not the only cue. */
export function Sign({ tone }: { tone: Tone }) {
  return (
    <span class={`sign ${tone}`}>
      <span aria-hidden="true">{SIGNS[tone]}</span>
      <span class="unseen">{WORDS[tone]}</span>
    </span>
  );
}

export function Badge({ badge }: { badge: BadgeData }) {
  return <span class={`badge ${badge.tone}`}>{badge.text}</span>;
}

export function Copy({ text, what, label = "copy" }: { text: string; what: string; label?: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copied(text)) ? "copied" : "not allowed here");
    setTimeout(() => setSaid(""), 2000);
  };
  return (
    <button type="button" class="small" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}

/** Some browsers deny the clipboard to pages opened as files: then a selection is copied. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "unseen";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
