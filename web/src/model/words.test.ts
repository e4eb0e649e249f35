import { expect, it } from "vitest";
import { byName, duration, list, slug, some } from "./words";

it("cuts and lists names, and puts them in the order of their numbers", () => {
  expect(some(["a", "b", "c"], 2)).toBe("a, b and 1 more");
  expect(list(["a", "b", "c"])).toBe("a, b and c");
  expect(["app-10", "app-2"].sort(byName)).toEqual(["app-2", "app-10"]);
  expect(slug("Response ms, p99")).toBe("response-ms-p99");
  expect(slug("æ")).toBe("x");
  expect([duration(561_600), duration(30)]).toEqual(["6.5 d", "30 s"]);
});
