/** An account does not answer for what its neighbours in a process have used. */
import test from 'ava';
import { cellLosses } from '../../../../src/pool/host/capacity/cell-losses.js';
import { LiveCell } from '../../../../src/pool/host/capacity/live-cell.js';
import { HostOpens } from '../../../../src/protocol/messages.js';
import { HostBudget, type HostShare } from '../../../../src/quotas/host/host-share.js';
import { FakeCell } from '../fake-cell.js';
import { IGNORES_ALL } from '../fake-isolate.js';

function shareOf(account: string): HostShare {
  const bounds = { hostBytes: 1e6, openInvocations: 10, openDescriptors: 10 };
  return new HostBudget({ heapBytes: 1e9, bufferBytes: 1e9 }).share(account, bounds, () => {});
}

/** A cell with a busy isolate of each account. */
function cellOf(...accounts: string[]): { readonly live: LiveCell; readonly fake: FakeCell } {
  let fake: FakeCell | undefined;
  const owner = { onTerminationOverdue() {}, onExit() {}, onRemoved() {} };
  const create = (_options: unknown, events: ConstructorParameters<typeof FakeCell>[0]): FakeCell => {
    fake = new FakeCell(events);
    return fake;
  };
  const live = new LiveCell(create, { maxThreads: 9, heapBytes: 1, cellMemoryBytes: 1 }, owner);
  for (const account of accounts) {
    live.start(shareOf(account)).invoke(HostOpens.Fetch, 'GET\nhttp://x/', false, null, true, IGNORES_ALL);
  }
  if (fake === undefined) throw new Error('The cell was not made');
  return { live, fake };
}

function reasons(live: LiveCell, detail: string): unknown[] {
  return cellLosses(live, detail).map(({ handle, reason, unaccountedMs }) => [handle.account, reason, unaccountedMs]);
}

test('CPU time that nobody accounts for is that of the account, when its process has no other', t => {
  const { live } = cellOf('a');
  live.finding = { kind: 'cpu', detail: '', unaccountedMs: 1000 };
  t.deepEqual(reasons(live, ''), [['a', 'cpu', 1000]]);
});

test('CPU time that nobody accounts for is charged to no account of a group', t => {
  const { live } = cellOf('a', 'b');
  live.finding = { kind: 'cpu', detail: '', unaccountedMs: 1000 };
  t.deepEqual(reasons(live, ''), [
    ['a', 'cell', 0],
    ['b', 'cell', 0],
  ]);
});

test('memory ends the process of a group: who was in a long turn is to blame, and nobody when it may have been several accounts', t => {
  const { live, fake } = cellOf('a', 'b');
  t.deepEqual(reasons(live, 'SIGABRT, out of memory'), [
    ['a', 'cell', 0],
    ['b', 'cell', 0],
  ]);
  fake.events.onLongTurn(2, true);
  t.deepEqual(reasons(live, 'SIGABRT, out of memory'), [
    ['a', 'cell', 0],
    ['b', 'memory', 0],
  ]);
  fake.events.onLongTurn(1, true);
  t.deepEqual(reasons(live, 'SIGABRT, out of memory'), [
    ['a', 'cell', 0],
    ['b', 'cell', 0],
  ]);
});
