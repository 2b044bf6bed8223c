/** The reasons that the isolates of a cell get when it ends: those that caused the end, and the others. */
import { isOutOfMemory } from '../cell.js';
import type { IsolateHandle } from '../isolate-handle.js';
import type { LossReason } from '../isolate-loss.js';
import type { LiveCell } from './live-cell.js';

export interface CellLoss {
  readonly handle: IsolateHandle;
  readonly reason: LossReason;
  /** CPU time reported by the kernel that no invocation accounts for. */
  readonly unaccountedMs: number;
}

/**
 * The memory and CPU time of a process include all of its threads. If these belong to one account, all busy isolates count as the cause; if they belong to
 * several, as in a group, only known causes count: an account is not charged for its neighbours.
 */
export function cellLosses(live: LiveCell, detail: string): CellLoss[] {
  const handles = [...live.handles.values()];
  const { kind, unaccountedMs } = live.finding ?? { kind: 'cell', unaccountedMs: 0 };
  const busy = handles.filter(handle => handle.isBusy);
  const isOnes = countAccounts(busy) <= 1 && countAccounts(handles) <= 1;
  const culprits = isOutOfMemory(detail) ? memoryCulprits(live, busy) : undefined;
  const openInvocations = busy.reduce((sum, handle) => sum + handle.inFlight, 0);
  return handles.map(handle => {
    const isSpent = isOnes && kind === 'cpu' && handle.isBusy;
    const reason = isSpent ? 'cpu' : culprits?.has(handle) === true ? 'memory' : 'cell';
    const shareMs = isOnes ? (unaccountedMs * handle.inFlight) / Math.max(1, openInvocations) : 0;
    return { handle, reason, unaccountedMs: shareMs };
  });
}

function memoryCulprits(live: LiveCell, busy: readonly IsolateHandle[]): ReadonlySet<IsolateHandle> {
  const leases = live.suspects.culprits(busy.map(handle => handle.lease));
  const culprits = busy.filter(handle => leases.has(handle.lease));
  return new Set(countAccounts(culprits) <= 1 ? culprits : []);
}

function countAccounts(handles: readonly IsolateHandle[]): number {
  return new Set(handles.map(({ account }) => account)).size;
}
