/** Milliseconds to the microsecond: what clocks say beyond it is the noise of floating point. */
export function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
