/** The CPU time and the memory of one invocation, as far as it has come. */

export interface CpuBudget {
  usedMs: number;
  /** The CPU time that it had used when its time was renewed. */
  earlierMs: number;
  readonly limitMs: number;
  peakBytes: number;
  /** The most by which the isolate has grown in one of its turns. */
  grownBytes: number;
  /** CPU time of work that was refused because it exceeded the budget. */
  refusedMs: number;
  /** It is past its limit. If that was seen before its answer, it ends with the running turn. */
  isSpent: boolean;
}

export function budgetOf(limitMs: number): CpuBudget {
  return { usedMs: 0, earlierMs: 0, limitMs, peakBytes: 0, grownBytes: 0, refusedMs: 0, isSpent: false };
}
