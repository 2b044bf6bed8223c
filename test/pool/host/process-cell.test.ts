/** The connections of a cell: how many it has, and how those come back that no lease has used. */
import test from 'ava';
import { FIRST_LEASES } from '../../../src/pool/host/cell.js';
import { ProcessCell } from '../../../src/pool/host/process-cell.js';
import { sandboxFor } from '../../../src/pool/sandbox/sandbox.js';

const OPTIONS = { maxThreads: 4, heapBytes: 32 * 1024 * 1024, cellMemoryBytes: 512 * 1024 * 1024 };
const NO_EVENTS = { onLeaseEnd() {}, onLongTurn() {}, onTerminationOverdue() {}, onExit() {} };

test('trim() closes the connections that no lease has used, but for some, and those start leases', async t => {
  const cell = new ProcessCell(OPTIONS, NO_EVENTS, await sandboxFor('auto'));
  t.teardown(() => cell.close());
  await cell.ready;
  t.is(cell.leasesLeft, FIRST_LEASES);
  cell.start();
  const before = cell.descriptors;
  t.is(cell.trim(1), FIRST_LEASES - 2);
  t.is(cell.descriptors, before - (FIRST_LEASES - 2));
  t.is(cell.trim(1), 0);
  t.is(cell.leasesLeft, 1);
  cell.start();
  t.is(cell.leasesLeft, 0);
  t.throws(() => cell.start(), { message: /no lease left/ });
  t.is(cell.descriptors, before - (FIRST_LEASES - 2));
});

test('a cell that has ended holds no descriptors and no tasks', async t => {
  const cell = new ProcessCell({ ...OPTIONS, leases: 4 }, NO_EVENTS, await sandboxFor('auto'));
  t.is(cell.leasesLeft, 4);
  await cell.ready;
  await cell.close();
  t.is(cell.descriptors, 0);
  t.is(cell.tasks, 0);
  t.is(cell.trim(0), 0);
});
