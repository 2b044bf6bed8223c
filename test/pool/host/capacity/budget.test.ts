import test from 'ava';
import { Budget } from '../../../../src/pool/host/capacity/budget.js';
import { CELL_BYTES, ISOLATE_BYTES } from '../../../../src/pool/host/capacity/resources.js';

/** A host with so many idle cells, idle isolates and warm cells, whose memory comes back a moment later. */
function budgetOf(bytes: number, usedBytes: number, idle: { cells?: number; isolates?: number; warm?: number }) {
  const steps: string[] = [];
  const host = { usedBytes, endingBytes: 0 };
  const end = (what: string, freed: number): number => {
    steps.push(what);
    host.endingBytes += freed;
    return freed;
  };
  const left = { cells: 0, isolates: 0, warm: 0, ...idle };
  const budget = new Budget({
    free: () => bytes - host.usedBytes,
    ending: () => host.endingBytes,
    isolate: ISOLATE_BYTES,
    endIdleCell: () => (left.cells-- > 0 ? end('cell', CELL_BYTES) : 0),
    evict: idleForMs => left.isolates-- > 0 && end(idleForMs > 0 ? 'old isolate' : 'isolate', 0) === 0,
    endWarmCell: () => (left.warm-- > 0 ? end('warm', CELL_BYTES) : 0),
  });
  return { budget, steps, host };
}

test('hasRoom() ends nothing while there is memory', t => {
  const { budget, steps } = budgetOf(10 * CELL_BYTES, 8 * CELL_BYTES, { cells: 1, isolates: 1, warm: 1 });
  t.true(budget.hasRoom(CELL_BYTES));
  t.deepEqual(steps, []);
});

test('hasRoom() ends what is used least: cells without isolates, then idle isolates, then warm cells', t => {
  const { budget, steps, host } = budgetOf(10 * CELL_BYTES, 10 * CELL_BYTES, { cells: 1, isolates: 2, warm: 1 });
  t.false(budget.hasRoom(2 * CELL_BYTES));
  t.deepEqual(steps, ['cell', 'isolate', 'isolate', 'warm']);
  host.usedBytes -= 2 * CELL_BYTES;
  host.endingBytes = 0;
  t.true(budget.hasRoom(2 * CELL_BYTES));
});

test('hasRoom() waits for what is ending before it ends more', t => {
  const { budget, steps } = budgetOf(10 * CELL_BYTES, 10 * CELL_BYTES, { cells: 5 });
  t.false(budget.hasRoom(CELL_BYTES));
  t.false(budget.hasRoom(CELL_BYTES));
  t.deepEqual(steps, ['cell']);
});

test('hasRoom() counts what is reserved for isolates that are starting', t => {
  const { budget } = budgetOf(10 * CELL_BYTES, 9 * CELL_BYTES, {});
  budget.reserve(CELL_BYTES);
  t.false(budget.hasRoom(ISOLATE_BYTES));
  t.false(budget.fits(ISOLATE_BYTES));
  budget.release(CELL_BYTES);
  t.true(budget.hasRoom(ISOLATE_BYTES));
  t.true(budget.fits(ISOLATE_BYTES));
});

test('hasRoomForWarm() ends no isolate that was used just now, and no warm cell', t => {
  const { budget, steps } = budgetOf(CELL_BYTES, CELL_BYTES, { isolates: 1, warm: 1 });
  t.false(budget.hasRoomForWarm(CELL_BYTES));
  t.deepEqual(steps, ['old isolate']);
});

test('check() ends what is idle when the memory has grown past the budget', t => {
  const { budget, steps } = budgetOf(CELL_BYTES, 2 * CELL_BYTES, { cells: 3 });
  budget.check();
  t.deepEqual(steps, ['cell']);
});

test('hasRoom() takes back what is not used before it ends anything', t => {
  const steps: string[] = [];
  let free = 2;
  let unused = 10;
  const budget = new Budget({
    free: () => free,
    ending: () => 0,
    takeBack: wanted => {
      steps.push(`take back ${wanted}`);
      const taken = unused;
      unused = 0;
      free += taken;
      return taken;
    },
    endIdleCell: () => {
      steps.push('cell');
      return 8;
    },
    evict: () => false,
    isolate: 1,
    endWarmCell: () => 0,
  });
  t.true(budget.hasRoom(8));
  t.deepEqual(steps, ['take back 6']);
  t.false(budget.hasRoom(18));
  t.deepEqual(steps, ['take back 6', 'take back 6', 'cell']);
});
