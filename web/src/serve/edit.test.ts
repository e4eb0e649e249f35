import { describe, expect, it } from "vitest";
import { at } from "../live/scenario";
import { parsed, renamed, withValue } from "./edit";

const TEXT = `# A cluster.
name: small   # its name

hosts:
  esx: {sockets: 2, memory: 64 GiB}  # two sockets
vms:
  # the database
  db:
    vcpus: 4
    workload: oltp   # heavy
`;

describe("a value is replaced", () => {
  it("without any other change", () => {
    expect(withValue(TEXT, ["vms", "db", "vcpus"], 8)).toBe(TEXT.replace("vcpus: 4", "vcpus: 8"));
    expect(withValue(TEXT, ["hosts", "esx", "memory"], "96 GiB")).toBe(TEXT.replace("64 GiB", "96 GiB"));
    expect(withValue(TEXT, ["name"], "large")).toBe(TEXT.replace("small", "large"));
  });
  it("as text that stays text", () => {
    for (const value of ["a, b", "x: y", "# no", "4", "true", "{", "", "- a", "two\nlines", "*a", "é"])
      for (const path of [
        ["hosts", "esx", "memory"],
        ["vms", "db", "workload"],
      ])
        expect(at(parsed(withValue(TEXT, path, value)).data, path), value).toBe(value);
  });
});

describe("a key is added or removed", () => {
  it("with all comments", () => {
    const more = withValue(TEXT, ["vms", "db", "numa", "prefer_ht"], true);
    expect(at(parsed(more).data, ["vms", "db", "numa"])).toEqual({ prefer_ht: true });
    for (const comment of ["# A cluster.", "# its name", "# two sockets", "# the database", "# heavy"])
      expect(more).toContain(comment);
    const less = withValue(more, ["vms", "db", "numa", "prefer_ht"], undefined);
    expect(parsed(less).data).toEqual(parsed(TEXT).data);
    expect(less).toContain("# the database");
  });
  it("in a new section, in an empty text, and under a key without a value", () => {
    expect(parsed(withValue(TEXT, ["workloads", "oltp", "bursts"], 2)).data["workloads"]).toEqual({
      oltp: { bursts: 2 },
    });
    expect(parsed(withValue("", ["name"], "x")).data).toEqual({ name: "x" });
    expect(parsed(withValue("vms:\n", ["vms", "a", "vcpus"], 1)).data).toEqual({ vms: { a: { vcpus: 1 } } });
  });
  it("of a value that is an alias, without a change of its anchor", () => {
    const text = "vms:\n  a: &one {vcpus: 1}\n  b: *one\n";
    expect(parsed(withValue(text, ["vms", "b", "vcpus"], 2)).data).toEqual({
      vms: { a: { vcpus: 1 }, b: { vcpus: 2 } },
    });
  });
  it("but not of an entry whose last key is removed", () => {
    expect(parsed(withValue("vms:\n  a:\n    vcpus: 1\n", ["vms", "a", "vcpus"], undefined)).data).toEqual({
      vms: { a: {} },
    });
  });
});

it("no edit changes what is no YAML", () => {
  expect(withValue("a: [", ["a"], 1)).toBe("a: [");
  expect(parsed("a: [").error).not.toBe("");
  expect(parsed("- a").error).not.toBe("");
});

it("an entry is renamed at its place", () => {
  expect(renamed(TEXT, ["vms", "db"], "sql")).toBe(TEXT.replace("  db:", "  sql:"));
  expect(renamed(TEXT, ["vms", "none"], "sql")).toBe(TEXT);
});
