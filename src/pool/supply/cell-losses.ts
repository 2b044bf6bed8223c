/** What the isolates of a cell are told when it ends: who is to blame, and who only lived there. */
import { isOutOfMemory } from '../cell.js';
import type { IsolateHandle, LossReason } from '../isolate-handle.js';
import type { LiveCell } from './live-cell.js';

export interface CellLoss {
  readonly handle: IsolateHandle;
  readonly reason: LossReason;
  /** CPU time that the kernel says was used and nobody has accounted for. */
  readonly unaccountedMs: number;
}

/**
 * Memory and CPU time of a process are those of all of its threads. Where these belong to one account, all that was busy is to blame; where they
 * belong to several, as in a group, nobody is unless it is known who it was: an account does not answer for its neighbours.
 */
export function cellLosses(live: LiveCell, detail: string): CellLoss[] {
  const handles = [...live.handles.values()];
  const { kind, unaccountedMs } = live.finding ?? { kind: 'cell', unaccountedMs: 0 };
  const busy = handles.filter(handle => handle.isBusy);
  const isOnes = countAccounts(busy) <= 1 && countAccounts(handles) <= 1;
  const blamed = isOutOfMemory(detail) ? blamedForMemory(live, busy) : undefined;
  const openInvocations = busy.reduce((sum, handle) => sum + handle.inFlight, 0);
  return handles.map(handle => {
    const isSpent = isOnes && kind === 'cpu' && handle.isBusy;
    const reason = isSpent ? 'cpu' : blamed?.has(handle) === true ? 'memory' : 'cell';
    const shareMs = isOnes ? (unaccountedMs * handle.inFlight) / Math.max(1, openInvocations) : 0;
    return { handle, reason, unaccountedMs: shareMs };
  });
}

function blamedForMemory(live: LiveCell, busy: readonly IsolateHandle[]): ReadonlySet<IsolateHandle> {
  const leases = live.suspects.blamed(busy.map(handle => handle.lease));
  const blamed = busy.filter(handle => leases.has(handle.lease));
  return new Set(countAccounts(blamed) <= 1 ? blamed : []);
}

function countAccounts(handles: readonly IsolateHandle[]): number {
  return new Set(handles.map(({ account }) => account)).size;
}
