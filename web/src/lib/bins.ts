/** Columns of a heat map put together where there are more than pixels, so that the worst stays visible. */

/** The highest of each run of values; null where none of them has one. */
export function highest(values: readonly (number | null)[], bins: number): (number | null)[] {
  if (bins >= values.length) return [...values];
  const found: (number | null)[] = new Array(bins).fill(null);
  values.forEach((value, index) => {
    const bin = Math.floor((index * bins) / values.length);
    const before = found[bin] ?? null;
    if (value !== null && (before === null || value > before)) found[bin] = value;
  });
  return found;
}
