import { expect, it } from "vitest";
import { kindOf, meant, placeholder, range, resolved, starter, type Schema } from "./schema";

const SCHEMA: Schema = {
  $defs: {
    Bytes: { type: ["string", "integer"], "x-quantity": "bytes", minimum: 0, maximum: 0, examples: ["64 GiB"] },
    Vm: {
      type: "object",
      required: ["vcpus", "memory"],
      properties: {
        vcpus: { type: "integer", minimum: 1, maximum: 768, examples: [4] },
        memory: { $ref: "#/$defs/Bytes", description: "Memory.", "x-minimum": "1 MiB", "x-maximum": "1 PiB" },
        count: { type: "integer", default: 1, minimum: 0 },
      },
    },
  },
};

it("a reference is resolved, and own keys take priority", () => {
  const memory = resolved(SCHEMA, SCHEMA.$defs["Vm"]!.properties!["memory"]!);
  expect(memory.description).toBe("Memory.");
  expect(memory.examples).toEqual(["64 GiB"]);
  expect(range(memory)).toBe("1 MiB to 1 PiB");
  expect(range(SCHEMA.$defs["Bytes"]!)).toBe("");
});

it("digits are a number only where one is allowed", () => {
  expect(meant({ type: "integer" }, " 4 ")).toBe(4);
  expect(meant({ type: "string" }, "4")).toBe("4");
  expect(meant({ type: ["string", "integer"] }, "4 GiB")).toBe("4 GiB");
  expect(meant({ type: "number" }, "1e3")).toBe(1000);
  expect(meant({ type: "integer" }, "four")).toBe("four");
});

it("a new entry has its required keys", () => {
  expect(starter(SCHEMA, { $ref: "#/$defs/Vm" })).toEqual({ vcpus: 4, memory: "64 GiB" });
});

it("kinds, ranges and placeholders follow the schema", () => {
  expect(kindOf(SCHEMA.$defs["Vm"]!)).toBe("object");
  expect(kindOf({ type: "object", additionalProperties: { type: "string" } })).toBe("map");
  expect(kindOf({ type: "string", enum: ["a"] })).toBe("choice");
  expect(range({ minimum: 1, maximum: 768 })).toBe("1 to 768");
  expect(range({ minimum: 1 })).toBe("at least 1");
  expect(placeholder({ default: 1 })).toBe("default: 1");
  expect(placeholder({ examples: ["x"] })).toBe("such as x");
  expect(placeholder({ default: {} })).toBe("");
});
