import test from 'ava';
import { WarmCells, type WarmCellsOptions } from '../../../../src/pool/host/capacity/warm-cells.js';
import type { CellOptions } from '../../../../src/pool/host/cell.js';
import { CellSupervisor } from '../../../../src/pool/host/cell-supervisor.js';
import type { EdgeError } from '../../../../src/quotas/errors.js';
import { HostBudget, type HostShare } from '../../../../src/quotas/host/host-share.js';
import { FakeCell } from '../fake-cell.js';

const CELL: CellOptions = { maxThreads: 4, heapBytes: 1, cellMemoryBytes: 1 };
const SOON = { firstMs: 0, refillMs: 0, backoffMs: 0, maxBackoffMs: 0, noRoomMs: 0 };
const NEVER_AGAIN = { ...SOON, backoffMs: 3_600_000, maxBackoffMs: 3_600_000 };

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
}

function pool(options: Partial<WarmCellsOptions> = {}): {
  readonly warm: WarmCells;
  readonly cells: FakeCell[];
  readonly losses: EdgeError[];
} {
  const cells: FakeCell[] = [];
  const losses: EdgeError[] = [];
  const warm = new WarmCells({
    count: 1,
    cell: CELL,
    prepare: async () => {},
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cells.push(cell);
      return cell;
    },
    hasRoom: () => true,
    onLost: error => losses.push(error),
    pace: SOON,
    ...options,
  });
  return { warm, cells, losses };
}

function shareOf(account: string): HostShare {
  const bounds = { hostBytes: 1e6, openInvocations: 10, openDescriptors: 10 };
  return new HostBudget({ heapBytes: 1e9, bufferBytes: 1e9 }).share(account, bounds, () => {});
}

function accountOf(warm: WarmCells, account = 'a'): { readonly supervisor: CellSupervisor; readonly own: FakeCell[] } {
  const own: FakeCell[] = [];
  const supervisor = new CellSupervisor({
    ...CELL,
    account,
    share: shareOf(account),
    spares: 0,
    prepare: async () => {},
    onFinding() {},
    create: (_options, events) => {
      const cell = new FakeCell(events);
      own.push(cell);
      return cell;
    },
    takeWarm: options => warm.take(options),
  });
  return { supervisor, own };
}

test('nothing is started before a cell was asked for, then as many as are to be kept', async t => {
  const { warm, cells } = pool({ count: 2 });
  await new Promise(resolve => setImmediate(resolve));
  t.is(cells.length, 0);
  t.is(warm.take(CELL), undefined);
  await until(() => cells.length === 2 && cells.every(({ running }) => running.size === 1));
  t.is(warm.size, 2);
  await warm.close();
  t.true(cells.every(({ isClosed }) => isClosed));
});

test('the isolate of a warm cell is the first one of the account that takes it, and the cell is replaced', async t => {
  const { warm, cells } = pool();
  warm.take(CELL);
  await until(() => cells[0]?.running.size === 1);
  const { supervisor, own } = accountOf(warm);
  const isolate = await supervisor.acquire();
  t.is(own.length, 0);
  t.is(isolate.account, 'a');
  t.deepEqual([...(cells[0]?.running ?? [])], [isolate.lease]);
  await until(() => warm.size === 1);
  t.is(cells.length, 2);
  await supervisor.close();
  await warm.close();
});

test('an account whose isolates need other memory does not get a warm cell', async t => {
  const { warm, cells } = pool();
  warm.take(CELL);
  await until(() => cells.length === 1);
  for (const other of [{ heapBytes: 2 }, { cellMemoryBytes: 2 }, { maxThreads: 5 }, { guestBundle: '' }]) {
    t.is(warm.take({ ...CELL, ...other }), undefined);
  }
  t.is(warm.size, 1);
  await warm.close();
});

test('a cell that was given is never given again', async t => {
  const { warm, cells } = pool();
  warm.take(CELL);
  await until(() => cells.length === 1);
  const live = warm.take(CELL);
  const owner = { onTerminationOverdue() {}, onExit() {}, onRemoved() {} };
  t.true(live?.give(owner, undefined));
  t.throws(() => live?.give(owner, undefined), { message: /belongs to an account already/ });
  t.not(warm.take(CELL), live);
  await warm.close();
});

test('a cell that has sent something before it was given is ended, and the account gets another', async t => {
  const { warm, cells, losses } = pool({ pace: NEVER_AGAIN });
  warm.take(CELL);
  await until(() => cells[0]?.running.size === 1);
  if (cells[0] !== undefined) cells[0].isAssignable = false;
  const { supervisor, own } = accountOf(warm);
  const isolate = await supervisor.acquire();
  t.true(isolate.isUsable);
  t.is(own.length, 1);
  t.regex(cells[0]?.killedFor ?? '', /before it belonged to an account/);
  t.is(losses.length, 1);
  await supervisor.close();
  await warm.close();
});

test('a warm cell that ends is replaced later and later, and each end is told', async t => {
  const { warm, cells, losses } = pool({ pace: { ...SOON, backoffMs: 1, maxBackoffMs: 4 } });
  warm.take(CELL);
  for (let at = 0; at < 4; at++) {
    await until(() => cells.length === at + 1 && warm.size === 1);
    cells[at]?.kill('by a test');
  }
  t.deepEqual(
    losses.map(({ code, message }) => [code, /in (\d+) ms$/.exec(message)?.[1]]),
    ['1', '2', '4', '4'].map(ms => ['EDGE_CELL_START', ms]),
  );
  await warm.close();
});

test('a warm cell that burns is ended, and not replaced at once', async t => {
  let cpuMs = 10;
  const { warm, cells, losses } = pool({
    pace: NEVER_AGAIN,
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cell.kernel = {
        source: 'processes',
        glance: () => ({ cpuMs, residentBytes: 1, threads: 1 }),
        tally: () => ({ processes: 1, descriptors: 1 }),
        memory: async () => 1,
        survey: () => ({
          processes: 1,
          descriptors: 1,
          threads: 1,
          residentBytes: 1,
          fileBytes: 0,
          writtenBytes: 0,
        }),
        close() {},
      };
      cells.push(cell);
      return cell;
    },
  });
  warm.take(CELL);
  await until(() => warm.size === 1);
  cpuMs = 100_000;
  await until(() => losses.length === 1);
  t.regex(cells[0]?.killedFor ?? '', /CPU time that its invocations do not account for/);
  t.is(warm.size, 0);
  t.is(cells.length, 1);
  t.is(warm.take(CELL), undefined);
  t.is(cells.length, 1);
  await warm.close();
});

test('a warm cell that fails to come up after it was taken loses no isolate: another cell is started', async t => {
  const { warm, cells } = pool({
    create: (_options, events) => {
      const cell = new FakeCell(events, false);
      cells.push(cell);
      return cell;
    },
  });
  warm.take(CELL);
  await until(() => cells.length === 1);
  const { supervisor, own } = accountOf(warm);
  const acquired = supervisor.acquire();
  await new Promise(resolve => setImmediate(resolve));
  t.is(own.length, 0);
  // No other is on its way.
  await warm.close();
  cells[0]?.fail(new Error('exit code 1'));
  cells[0]?.kill();
  t.true((await acquired).isUsable);
  t.is(own.length, 1);
  await supervisor.close();
});

test('where there is no memory for one, none is started until there is', async t => {
  let hasRoom = false;
  let asked = 0;
  const { warm, cells } = pool({
    hasRoom: () => {
      asked++;
      return hasRoom;
    },
  });
  warm.take(CELL);
  await until(() => asked === 3);
  t.is(cells.length, 0);
  hasRoom = true;
  await until(() => warm.size === 1);
  t.true((warm.endOne()?.bytes ?? 0) > 0);
  t.true(cells[0]?.isClosed);
  t.is(warm.endOne(), undefined);
  await warm.close();
});

test('a closed host starts none, and those that are starting end', async t => {
  const { warm, cells } = pool({ count: 2 });
  warm.take(CELL);
  await until(() => cells.length === 1);
  await warm.close();
  t.true(cells[0]?.isClosed);
  t.is(warm.take(CELL), undefined);
  const before = cells.length;
  await new Promise(resolve => setTimeout(resolve, 0));
  t.is(cells.length, before);
});
