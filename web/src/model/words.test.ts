import { describe, expect, it } from "vitest";
import { amount, byName, change, duration, list, median, size, slug, some, spread } from "./words";

describe("figures", () => {
  it("have units, bytes the power that fits", () => {
    expect(amount(3 * 2 ** 30, "B")).toBe("3 GiB");
    expect(amount(2 ** 21, "B/s")).toBe("2 MiB/s");
    expect(amount(12, "B")).toBe("12 B");
    expect(amount(1.1, "ratio")).toBe("1.1");
    expect(size(1.5e12)).toBe("1.5 TB");
    expect(duration(561_600)).toBe("6.5 d");
    expect(duration(30)).toBe("30 s");
  });

  it("say how sure they are, and when there are none", () => {
    expect(spread(44.13, 0.448, "ms")).toBe("44.1 ±0.4 ms");
    expect(spread(null, null)).toBe("not measured");
    expect(change(14.77)).toBe("+14.8 %");
    expect(change(-3)).toBe("−3 %");
  });
});

describe("names", () => {
  it("are cut, listed and put in the order of their numbers", () => {
    expect(some(["a", "b", "c"], 2)).toBe("a, b and 1 more");
    expect(list(["a", "b", "c"])).toBe("a, b and c");
    expect(["app-10", "app-2"].sort(byName)).toEqual(["app-2", "app-10"]);
    expect(slug("Response ms, p99")).toBe("response-ms-p99");
    expect(slug("æ")).toBe("x");
  });
});

it("takes the middle of a list of any length", () => {
  expect([median([]), median([3]), median([9, 1, 2]), median([1, 2, 3, 10])]).toEqual([null, 3, 2, 2.5]);
});
