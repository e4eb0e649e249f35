import { afterEach, describe, expect, it } from "vitest";
import { worker, type Answer } from "./worker";

const scope = globalThis as unknown as {
  onmessage: ((event: { data: unknown }) => void) | null;
  postMessage: unknown;
};
const { postMessage } = scope;

describe("a worker", () => {
  afterEach(() => Object.assign(scope, { onmessage: null, postMessage }));
  it("answers before and after a core that does not start", async () => {
    const answers: Answer[] = [];
    scope.postMessage = (answer: Answer) => answers.push(answer);
    worker();
    scope.onmessage!({ data: { op: "start", module: "no module" } });
    scope.onmessage!({ data: { op: "open", id: 1, scenario: 1, text: "{}" } });
    await new Promise((done) => setTimeout(done, 50));
    scope.onmessage!({ data: { op: "open", id: 2, scenario: 1, text: "{}" } });
    expect(answers).toEqual(
      [1, 2].map((id) => ({ id, isBroken: true, why: expect.stringContaining("it does not start") as string })),
    );
  });
});
