// Runs the core for pages on scenarios: browser_core.mjs MODULE INTERVALS SCENARIO REPLICATIONS [SCENARIO REPLICATIONS]...
// One line of JSON each: the plain report's digest of one instance, that of islands of two instances given to a third,
// how many islands there are, and what the first instance says with the twin's own error.
import { readFileSync } from "node:fs";

const [file, intervals, ...cases] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(file));

async function instance() {
  const { exports: core } = await WebAssembly.instantiate(module, {});
  return {
    call(name, input, ...args) {
      if (input) {
        const start = core.input(input.length); // it can replace the buffer
        new Uint8Array(core.memory.buffer, start, input.length).set(input);
      }
      const length = core[name](...args);
      return new Uint8Array(core.memory.buffer, core.output(), length).slice();
    },
    text(...call) {
      return new TextDecoder().decode(this.call(...call));
    },
  };
}

const table = readFileSync(intervals);
for (let at = 0; at < cases.length; at += 2) {
  const scenario = readFileSync(cases[at]);
  const seed = BigInt(JSON.parse(scenario).run.seed);
  const instances = await Promise.all([1, 2, 3].map(instance));
  const opened = instances.map((core) => core.text("open", scenario));
  const islands = JSON.parse(opened[0]).islands?.length;
  if (!islands) throw new Error(`${cases[at]}: ${opened[0]}`);
  const [one, two, three] = instances;
  const before = one.text("intervals", table);
  for (let k = 0n; k < BigInt(cases[at + 1]); k++)
    for (let island = 0; island < islands; island++) {
      const own = one.call("run", null, island, seed, k);
      const other = [one, two][island % 2].call("run", null, island, seed, k);
      for (const [core, part] of [[one, own], [three, other]]) {
        const said = core.text("give", part);
        if (said) throw new Error(`${cases[at]}: ${said}`);
      }
    }
  const [report, plain] = [one.text("report"), three.text("report")];
  const digests = [one, three].map((core) => core.text("digest"));
  console.log(JSON.stringify({ before, islands, digests, report, plain, answer: one.text("answer"), build: one.text("build") }));
}
