/** Isolates in threads of this process: the contract of a cell, as a host uses it. */
import test, { type ExecutionContext } from 'ava';
import { ThreadCell } from '../../../src/pool/host/thread-cell.js';

const MEBIBYTE = 1024 * 1024;

interface Ended {
  readonly lease: number;
  readonly end: string;
}

interface Rig {
  readonly cell: ThreadCell;
  /** Leases that are over, in order. */
  readonly ends: readonly Ended[];
  readonly exits: readonly string[];
  nextEnd(): Promise<Ended>;
}

function rig(t: ExecutionContext): Rig {
  const ends: Ended[] = [];
  const exits: string[] = [];
  const waiting: ((ended: Ended) => void)[] = [];
  const cell = new ThreadCell(
    { maxThreads: 4, heapBytes: 64 * MEBIBYTE, cellMemoryBytes: 512 * MEBIBYTE },
    {
      onLeaseEnd(lease, end) {
        ends.push({ lease, end });
        waiting.shift()?.({ lease, end });
      },
      onLongTurn: () => t.fail(),
      onTerminationOverdue: () => t.fail(),
      onExit: detail => exits.push(detail),
    },
  );
  t.teardown(() => cell.close());
  return { cell, ends, exits, nextEnd: () => new Promise(resolve => waiting.push(resolve)) };
}

test('leases have numbers of their own, and end one by one', async t => {
  const { cell, ends, nextEnd } = rig(t);
  const [first, second] = [cell.start(), cell.start()];
  t.not(first.lease, second.lease);
  cell.end(first.lease);
  t.deepEqual(await nextEnd(), { lease: first.lease, end: 'closed' });
  cell.end(second.lease);
  t.deepEqual(await nextEnd(), { lease: second.lease, end: 'closed' });
  t.is(ends.length, 2);
});

test('end() of a lease that is over, ending, or was never there does nothing', async t => {
  const { cell, ends, nextEnd } = rig(t);
  const { lease } = cell.start();
  cell.end(lease);
  cell.end(lease);
  await nextEnd();
  cell.end(lease);
  cell.end(99);
  await cell.close();
  t.deepEqual(ends, [{ lease, end: 'closed' }]);
});

test('close() ends all leases, tells of its exit once, and is the same promise each time', async t => {
  const { cell, ends, exits } = rig(t);
  const leases = [cell.start().lease, cell.start().lease];
  const closing = cell.close();
  t.is(cell.close(), closing);
  cell.kill();
  await closing;
  t.deepEqual(ends.map(({ lease }) => lease).sort(), leases);
  t.deepEqual(exits, ['closed']);
});

test('a cell of threads is this process: always ready, answering, and not to be read from outside', async t => {
  const { cell } = rig(t);
  await cell.ready;
  t.true(cell.ping());
  t.is(cell.pid, undefined);
  t.is(cell.reader(), undefined);
  t.is(cell.leasesLeft, Number.POSITIVE_INFINITY);
});
