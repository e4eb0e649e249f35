import { expect, it } from "vitest";
import type { View } from "../model/view";
import { asText } from "./head";

it("says the verdict of each promise in the text to copy", () => {
  const verdicts = [true, "not surely", false, null] as const;
  const promises = verdicts.map((met, index) => ({ text: `p${index}`, met }));
  const view: View = {
    title: "t",
    answer: { tone: "good", text: "a" },
    promises,
    confidence: [],
    cards: [],
    sections: [],
    assumptions: [],
  };
  const said = asText(view).split("\n");
  expect(said.slice(-4)).toEqual(["- p0: met", "- p1: met, not surely", "- p2: not met", "- p3: not judged"]);
});
