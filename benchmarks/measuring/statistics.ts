/** The statistics that describe a series of samples. */

/** The value below which the share `q` (0 to 1) of the samples lies, interpolated. NaN without samples. */
export function percentile(samples: readonly number[], q: number): number {
  const sorted = Float64Array.from(samples).sort();
  const at = (sorted.length - 1) * q;
  const low = sorted[Math.floor(at)] ?? Number.NaN;
  const high = sorted[Math.ceil(at)] ?? Number.NaN;
  return low + (high - low) * (at - Math.floor(at));
}

export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** How far the samples lie apart: (highest - lowest) / median. 0 for a single sample. */
export function spread(samples: readonly number[]): number {
  if (samples.length === 0) return Number.NaN;
  const range = Math.max(...samples) - Math.min(...samples);
  return range === 0 ? 0 : range / Math.abs(median(samples));
}

/** The median of the rounds' own ratios: what slowed a whole round down slowed both sides of it. */
export function medianRatio(subject: readonly number[], floor: readonly number[]): number {
  if (subject.length !== floor.length) {
    throw new RangeError(`Cannot compare ${subject.length} rounds with ${floor.length}`);
  }
  return median(subject.map((value, round) => value / (floor[round] ?? Number.NaN)));
}
