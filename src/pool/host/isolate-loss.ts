/** The loss of invocations with their isolate. */
import type { LeaseEnd } from '../cell/thread-pool.js';

/** Why invocations ended with their isolate. */
export type LossReason = LeaseEnd | 'bystander' | 'cell' | 'hoard' | 'protocol' | 'removed' | 'unresponsive';

/** The known usage of an invocation that was lost; unknown values are zero. */
export interface LossUsage {
  readonly cpuMs: number;
  readonly memoryBytes: number;
}

export const NOTHING_KNOWN: LossUsage = { cpuMs: 0, memoryBytes: 0 };

/** The isolate ended before it answered. */
export class IsolateGone extends Error {
  readonly reason: LossReason;
  /** Its usage when it ended. */
  readonly usage: LossUsage;

  constructor(reason: LossReason, detail: string, usage: LossUsage) {
    super(detail);
    this.reason = reason;
    this.usage = usage;
  }
}
