import { describe, expect, it } from "vitest";
import type { Scenario } from "./core";
import { isLarge } from "./scenario";
import { Session, type Simulator, type Stage } from "./session";

const scenario = (name: string, replications = 3) =>
  ({ name, run: { seed: 1, replications, duration: "60 s", warmup: "5 s" } }) as unknown as Scenario;
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** A core that takes 5 ms a replication, and writes down what it simulates. */
function simulator(msPerSecond = 1): { core: Simulator; log: string[] } {
  const log: string[] = [];
  const core: Simulator = {
    async simulate({ name, run }, signal, told, isBrief) {
      if (isBrief) log.push("brief");
      log.push(`${String(name)} ${String(run["duration" as keyof typeof run])} ${run.replications}`);
      for (let done = 1; done <= run.replications; done += 1) {
        await pause(5);
        if (signal.aborted) throw new Error("aborted");
        if (name === "bad") throw new Error("vms.db.vcpus: 99; allowed: 16");
        told?.({ report: String(name), answer: "", sha256: "" }, { done, of: run.replications });
      }
    },
    async cost() {
      return msPerSecond;
    },
  };
  return { core, log };
}

function session(core: Simulator) {
  const shown: string[] = [];
  const over: string[] = [];
  const told = {
    show: ({ name }: Scenario, { report }: { report: string }, { done }: { done: number }, stage: Stage) => {
      expect(name).toBe(report);
      shown.push(`${report} ${stage} ${done}`);
    },
    over: (why: string) => over.push(why),
  };
  const made = new Session(() => Promise.resolve(core), scenario("original"), told, 20);
  return { made, shown, over };
}

describe("a session", () => {
  it("shows a preview, then every replication, and ends", async () => {
    const { core, log } = simulator();
    const { made, shown, over } = session(core);
    made.ask(scenario("a", 2));
    await pause(150);
    expect(shown).toEqual(["a preview 1", "a running 1", "a done 2"]);
    expect(over).toEqual([""]);
    expect(log).toEqual(["original 20 s 1", "a 20 s 1", "a 60 s 2"]);
  });
  it("previews as many seconds as a slow core can", async () => {
    const { core, log } = simulator(14);
    await session(core).made.prepare();
    expect(log).toEqual(["original 2 s 1"]);
  });
  it("tells of which scenario a preview is when another one was asked for meanwhile", async () => {
    const { core } = simulator();
    const { made, shown, over } = session(core);
    await made.prepare();
    made.ask(scenario("a"));
    made.ask(scenario("bad"));
    await pause(100);
    expect(shown).toEqual(["a preview 1"]);
    expect(over).toEqual(["vms.db.vcpus: 99; allowed: 16"]);
  });
  it("simulates the last of many changes, and only that one whole", async () => {
    const { core, log } = simulator();
    const { made, shown } = session(core);
    await made.prepare();
    for (const name of ["a", "b", "c", "d"]) made.ask(scenario(name));
    await pause(200);
    expect(log.slice(1)).toEqual(["a 20 s 1", "d 20 s 1", "d 60 s 3"]);
    expect(shown.at(-1)).toBe("d done 3");
  });
  it("ends a whole run that a change follows", async () => {
    const { core } = simulator();
    const { made, shown } = session(core);
    await made.prepare();
    made.ask(scenario("a", 50));
    await pause(60);
    made.ask(scenario("b", 1));
    await pause(120);
    expect(shown).toContain("a running 1");
    expect(shown.filter((each) => each.startsWith("a done"))).toEqual([]);
    expect(shown.at(-1)).toBe("b done 1");
  });
  it("asks for a brief preview of many VMs, and for the whole run in full", async () => {
    const { core, log } = simulator();
    const { made } = session(core);
    const many = { ...scenario("many", 1), vms: { a: { count: 40 }, b: { count: 20 }, c: {} } } as Scenario;
    made.ask(many);
    await pause(100);
    expect(log.slice(1)).toEqual(["brief", "many 20 s 1", "many 60 s 1"]);
    expect(isLarge({ ...many, vms: { a: { count: 60 } } } as Scenario)).toBe(false);
  });
  it("says what is wrong, and simulates it once", async () => {
    const { core, log } = simulator();
    const { made, shown, over } = session(core);
    made.ask(scenario("bad"));
    await pause(120);
    expect(over).toEqual(["vms.db.vcpus: 99; allowed: 16"]);
    expect(shown).toEqual([]);
    expect(log.filter((each) => each.startsWith("bad"))).toHaveLength(1);
  });
  it("shows nothing for what was taken back", async () => {
    const { core, log } = simulator();
    const { made, shown, over } = session(core);
    await made.prepare();
    made.ask(scenario("a"));
    made.ask(null);
    await pause(100);
    expect([shown, over]).toEqual([[], []]);
    expect(log).toHaveLength(2);
  });
  it("gives up a preview that takes long when something else is asked", async () => {
    const { core } = simulator();
    const { made, shown } = session({
      ...core,
      simulate: (of, signal, told) =>
        of["name"] === "endless"
          ? new Promise((_, failed) => signal.addEventListener("abort", () => failed(new Error("aborted"))))
          : core.simulate(of, signal, told),
    });
    made.ask(scenario("endless"));
    await pause(50);
    made.ask(scenario("a", 1));
    await pause(450);
    expect(shown).toEqual(["a preview 1", "a done 1"]);
  });
  it("gives up what it expected when something is asked", async () => {
    const { core } = simulator();
    const { made, shown } = session(core);
    await made.prepare();
    made.expect([scenario("x"), scenario("y")]);
    made.ask(scenario("a", 1));
    await pause(100);
    expect(shown.at(-1)).toBe("a done 1");
  });
});
