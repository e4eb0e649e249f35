/** Number formats in tables, charts and sentences: digits by size, so that 0.36 ms is not 0. */

const MINUS = "−";
/** Below this a figure is written with an exponent. */
const SMALL = 1e-4;

/** Digits after the point that leave `significant` of them, none of them for what is large. */
export function decimals(value: number, significant = 3): number {
  const size = Math.abs(value);
  if (size === 0 || !Number.isFinite(size)) return 0;
  const exponent = Math.floor(Math.log10(size));
  const digits = Math.max(0, significant - 1 - exponent);
  // 99.96 % is not 100 %
  return Number(size.toFixed(digits)) >= 10 ** (exponent + 1) ? digits + 1 : digits;
}

/** A figure with this number of decimals, thousands separators and a real minus sign. */
export function fixed(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(Math.min(digits, 20));
  const [whole = "", part] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  const sign = value < 0 && /[1-9]/.test(text) ? MINUS : "";
  return sign + grouped + (part === undefined ? "" : `.${part}`);
}

/** A figure for reading, with at most this number of significant digits; empty if there is none. */
export function number(value: number | null | undefined, significant = 3): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return fixed(value, 0);
  if (Math.abs(value) < SMALL || Math.abs(value) >= 1e15) return exponential(value, significant);
  const digits = decimals(value, significant);
  const text = fixed(value, digits);
  // 0.5 as it is: zeros would only claim that it was measured so
  return Number(value.toFixed(digits)) === value ? text.replace(/\.?0+$/, "") : text;
}

function exponential(value: number, significant: number): string {
  return value
    .toExponential(significant - 1)
    .replace(/-/g, MINUS)
    .replace("e+", "e");
}

/** A figure with its unit: `12.3 ms`, `45 %`, `1 VM`. */
export function withUnit(value: number | null | undefined, unit = "", significant = 3): string {
  const text = number(value, significant);
  const singular = value === 1 ? unit.replace(/(VM|I\/O)s$/, "$1") : unit;
  return text && unit ? `${text} ${singular}` : text;
}

/** A figure with the half-width of its confidence interval, as many digits as the interval makes sense of. */
export function withHalfWidth(
  value: number | null | undefined,
  halfWidth: number | null | undefined,
  significant = 3,
): string {
  if (value === null || value === undefined || halfWidth === null || halfWidth === undefined)
    return number(value, significant);
  if (Math.max(Math.abs(value), halfWidth) < SMALL) return `${number(value, significant)} ±${number(halfWidth, 2)}`;
  const digits =
    Number.isInteger(value) && Number.isInteger(halfWidth)
      ? 0
      : Math.max(decimals(value, significant), decimals(halfWidth, 1));
  return `${fixed(value, Math.min(digits, 6))} ±${fixed(halfWidth, Math.min(digits, 6))}`;
}

/** A label of an axis, short: 1,200 but 12k and 1.5M. */
export function short(value: number): string {
  const size = Math.abs(value);
  for (const [from, unit, letter] of [
    [1e12, 1e12, "T"],
    [1e9, 1e9, "G"],
    [1e6, 1e6, "M"],
    [1e4, 1e3, "k"],
  ] as const)
    if (size >= from) return trimmed(number(clean(value / unit), 6)) + letter;
  return trimmed(size > 0 && size < 1e-3 ? exponential(clean(value), 6) : number(clean(value), 6));
}

/** Without the last digits, in which 0.1 + 0.2 is not 0.3. */
function clean(value: number): number {
  return Number(value.toPrecision(6));
}

function trimmed(text: string): string {
  return text.replace(/(\.\d*?)0+(?=$|e)/, "$1").replace(/\.(?=$|e)/, "");
}

/** The ends of an interval in brackets, after the figure that it is of; empty without an interval. */
export function withEnds(low: number | null | undefined, high: number | null | undefined): string {
  return typeof low === "number" && typeof high === "number" ? ` (${number(low)} – ${number(high)})` : "";
}
