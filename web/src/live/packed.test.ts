import { expect, it } from "vitest";
import { ofBase85, packedCore } from "./packed";

it("reads base85 as git and Python write it, but for the comma", () => {
  // base64.b85encode(bytes, pad=True).decode().replace("<", ",")
  expect([...ofBase85("g%bZf|NsC0000000RjU6")]).toEqual([133, 18, 255, 60, 255, 255, 255, 255, 0, 0, 0, 0, 1, 2, 3, 0]);
  expect([...ofBase85("1w6,H")]).toEqual([5, 60, 200, 7]);
});

it("refuses other letters", () => {
  for (const text of ["aaa<a", "aaaa ", "aaaa\u00e9"]) expect(() => ofBase85(text)).toThrow("damaged");
});

it("says that a page has no core, or a damaged one", async () => {
  const root = (element: unknown) => ({ getElementById: () => element }) as unknown as Document;
  await expect(packedCore(root(null))).rejects.toThrow("holds no core");
  const cut = { textContent: "g%bZf|NsC0", dataset: { bytes: "8" } };
  await expect(packedCore(root(cut))).rejects.toThrow("damaged");
});
