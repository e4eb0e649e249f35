import { expect, test } from "vitest";
import css from "./style.css?raw";
import { between } from "./theme";

/** Colours of a rule of the style, by name. */
function colours(selector: string): Record<string, string> {
  const rule = css.slice(css.indexOf(`${selector} {`)).split("}")[0]!;
  return Object.fromEntries([...rule.matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, value]) => [name, value]));
}

/** Contrast as in WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [low, high] = [one, other].map(luminance).sort((a, b) => a - b) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour: string): number {
  const [red, green, blue] = linear(colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(colour: string): [number, number, number] {
  return [1, 3, 5].map((from) => {
    const share = parseInt(colour.slice(from, from + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
}

/** A colour as readers without red or without green cones see it (Vienot, Brettel, Mollon 1999), in CIE L*a*b*. */
function seen([red, green, blue]: [number, number, number], lacking: "red" | "green" | null): [number, number, number] {
  const mix = lacking === "red" ? 0.1124 * red + 0.8876 * green : 0.2927 * red + 0.7073 * green;
  const third = lacking === "red" ? 0.004 * red - 0.004 * green + blue : -0.0223 * red + 0.0223 * green + blue;
  const [r, g, b] = lacking ? [mix, mix, third] : [red, green, blue];
  const f = (value: number) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const [x, y, z] = [
    f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505),
    f(0.2126 * r + 0.7152 * g + 0.0722 * b),
    f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089),
  ];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const LIGHT = colours(":root");
const DARK = { ...LIGHT, ...colours(':root[data-theme="dark"]') };

test.each([
  ["light", LIGHT],
  ["dark", DARK],
])("colours of the %s theme can be told from the page and from one another", (_, theme) => {
  for (const name of ["ink", "muted", "accent", "good", "bad", "warn", "note", "plain"])
    for (const paper of ["surface", "page"])
      expect(contrast(theme[name]!, theme[paper]!), `${name} on ${paper}`).toBeGreaterThanOrEqual(4.5);
  const series = Array.from({ length: 8 }, (_, index) => theme[`series-${index}`]!);
  for (const [index, colour] of series.entries())
    expect(contrast(colour, theme["surface"]!), `series ${index}`).toBeGreaterThanOrEqual(3);
  for (const lacking of [null, "red", "green"] as const)
    for (let one = 0; one < 8; one++)
      for (let other = 0; other < one; other++) {
        const [a, b] = [seen(linear(series[one]!), lacking), seen(linear(series[other]!), lacking)];
        const apart = Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        expect(apart, `series ${other} and ${one} without ${lacking}`).toBeGreaterThan(10);
      }
});

test("a ramp is dark where values are high, or bright on a dark page", () => {
  for (const [theme, sign] of [
    [LIGHT, -1],
    [DARK, 1],
  ] as const) {
    const ramp = Array.from({ length: 5 }, (_, index) => luminance(theme[`heat-${index}`]!));
    for (let index = 1; index < 5; index++) expect(sign * (ramp[index]! - ramp[index - 1]!)).toBeGreaterThan(0);
  }
});

test("colours between those of a ramp", () => {
  expect(between(["#000000", "#ffffff"], 0.5)).toBe("rgb(128,128,128)");
  expect(between(["#000000", "#ffffff"], 7)).toBe("rgb(255,255,255)");
  expect(between(["#000000", "#ffffff"], -1)).toBe("rgb(0,0,0)");
});
