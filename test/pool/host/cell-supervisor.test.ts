import test from 'ava';
import { CellSupervisor, type SupervisorOptions } from '../../../src/pool/host/cell-supervisor.js';
import { FakeCell } from './fake-cell.js';

function supervised(
  spares: number,
  more: Partial<SupervisorOptions> = {},
): { readonly supervisor: CellSupervisor; readonly cells: FakeCell[] } {
  const cells: FakeCell[] = [];
  const supervisor = new CellSupervisor({
    account: 'a',
    spares,
    maxThreads: 16,
    heapBytes: 1,
    cellMemoryBytes: 1,
    onFinding() {},
    prepare: async () => {},
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cells.push(cell);
      return cell;
    },
    ...more,
  });
  return { supervisor, cells };
}

const afterRefill = (): Promise<void> => new Promise(resolve => setImmediate(() => setImmediate(resolve)));

for (const spares of [0, 1, 3]) {
  test(`a cell whose leases run out is closed when its last isolate ends, with ${spares} spares`, async t => {
    const { supervisor, cells } = supervised(spares);
    for (let i = 0; i < 42; i++) {
      const handle = await supervisor.acquire();
      await afterRefill();
      handle.end();
    }
    t.true(cells.length > 4);
    const open = cells.filter(cell => !cell.isClosed);
    t.is(open.length, 1);
    t.true((open[0]?.running.size ?? 0) <= spares);
    await supervisor.close();
  });
}

test('a cell that is being replaced is closed when its last isolate ends by itself', async t => {
  const { supervisor, cells } = supervised(0);
  const handle = await supervisor.acquire();
  cells[0]?.events.onTerminationOverdue();
  t.false(cells[0]?.isClosed);
  cells[0]?.events.onLeaseEnd(handle.lease, 'cpu', '');
  t.true(cells[0]?.isClosed);
  await supervisor.close();
});

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setImmediate(resolve));
}

for (const spares of [0, 1]) {
  test(`a cell ends when it has had no isolates for long, with ${spares} spares, and comes back`, async t => {
    const seen: boolean[] = [];
    const { supervisor, cells } = supervised(spares, { idleMs: 1, onIdle: isIdle => seen.push(isIdle) });
    const handle = await supervisor.acquire();
    await new Promise(resolve => setTimeout(resolve, 5));
    t.is(cells[0]?.killedFor, undefined);
    handle.end();
    await until(() => cells[0]?.killedFor !== undefined);
    t.deepEqual(supervisor.cells, []);
    t.deepEqual(seen, [true, false]);
    const next = await supervisor.acquire();
    t.true(next.isUsable);
    t.is(cells.length, 2);
    await supervisor.close();
  });
}

for (const isOnTrial of [true, false]) {
  test(`acquire() ${isOnTrial ? 'starts another cell' : 'rejects'} when one does not start whose sandbox is ${isOnTrial ? 'presumed' : 'tried out'}`, async t => {
    const cells: FakeCell[] = [];
    const { supervisor } = supervised(0, {
      create: (_options, events) => {
        const cell = new FakeCell(events);
        cells.push(cell);
        if (cells.length > 1) return cell;
        const ready = Promise.reject(new Error('exit code 1'));
        ready.catch(() => events.onExit('exit code 1'));
        return Object.defineProperties(cell, { ready: { value: ready }, mayStartElsewhere: { value: isOnTrial } });
      },
    });
    if (isOnTrial) t.true((await supervisor.acquire()).isUsable);
    else await t.throwsAsync(supervisor.acquire(), { code: 'EDGE_CELL_START', message: /exit code 1/ });
    t.is(cells.length, isOnTrial ? 2 : 1);
    await supervisor.close();
  });
}

test('an isolate that is asked for while its cell is ending is in another one', async t => {
  const { supervisor, cells } = supervised(1, { idleMs: 1 });
  (await supervisor.acquire()).end();
  const asked = [];
  while (cells.length < 4) {
    const handle = await supervisor.acquire();
    asked.push(handle);
    t.true(handle.isUsable);
    handle.end();
    await new Promise(resolve => setTimeout(resolve, 1));
  }
  t.true(asked.length >= 3);
  await supervisor.close();
});

test('a cell that starts is not idle, however long that takes', async t => {
  let cell: FakeCell | undefined;
  let isUp = (): void => {};
  const { supervisor } = supervised(0, {
    idleMs: 1,
    create: (_options, events) => {
      cell = new FakeCell(events);
      const ready = new Promise<void>(resolve => {
        isUp = resolve;
      });
      return Object.defineProperty(cell, 'ready', { value: ready });
    },
  });
  const asked = supervisor.acquire();
  await new Promise(resolve => setTimeout(resolve, 5));
  t.is(supervisor.endIdle().bytes, 0);
  t.is(cell?.killedFor, undefined);
  isUp();
  t.true((await asked).isUsable);
  await supervisor.close();
});

test('endIdle() ends cells without isolates at once, and no others', async t => {
  const { supervisor, cells } = supervised(1);
  const handle = await supervisor.acquire();
  t.is(supervisor.endIdle().bytes, 0);
  handle.end();
  t.true(supervisor.endIdle().bytes > 0);
  t.is(cells[0]?.killedFor, 'it was idle');
  t.is(supervisor.endIdle().bytes, 0);
  await supervisor.close();
});

test('a cell whose process is not open yet gets no spares', async t => {
  const started: string[] = [];
  let up = (): void => {};
  let count = 0;
  const { supervisor } = supervised(3, {
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cells.push(cell);
      if (++count === 1) return cell;
      let isUp = false;
      const ready = new Promise<void>(resolve => {
        up = () => {
          isUp = true;
          resolve();
        };
      });
      const start = cell.start.bind(cell);
      Object.defineProperty(cell, 'ready', { value: ready });
      cell.start = () => {
        started.push(isUp ? 'up' : 'starting');
        if (!isUp) throw new Error('The cell has no socket 4');
        return start();
      };
      return cell;
    },
  });
  const cells: FakeCell[] = [];
  await supervisor.acquire();
  cells[0]?.events.onTerminationOverdue();
  const next = supervisor.acquire();
  // The timer that the first cell has left starts spares in the second one.
  await new Promise(resolve => setTimeout(resolve, 100));
  t.deepEqual(started, []);
  up();
  t.true((await next).isUsable);
  await until(() => started.length >= 4);
  t.false(started.includes('starting'));
  await supervisor.close();
});

test('acquire() shares a new cell among calls at the same time, and no more of it than its leases', async t => {
  let prepared = 0;
  const { supervisor, cells } = supervised(0, { maxThreads: 100, prepare: async () => void prepared++ });
  const handles = await Promise.all(Array.from({ length: 40 }, () => supervisor.acquire()));
  t.true(handles.every(({ isUsable }) => isUsable));
  for (const { leasesLeft } of cells) t.true(leasesLeft >= 0);
  t.is(prepared, cells.length);
  await supervisor.close();
});

test('acquire() rejects with EDGE_CELL_START when what a cell needs cannot be prepared, and goes on later', async t => {
  let fails = true;
  const { supervisor } = supervised(0, {
    prepare: async () => {
      if (fails) throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' });
    },
  });
  await t.throwsAsync(supervisor.acquire(), { code: 'EDGE_CELL_START', message: /EMFILE/ });
  fails = false;
  t.true((await supervisor.acquire()).isUsable);
  await supervisor.close();
});

test('an account that has used up the leases of a cell gets twice as many with the next one', async t => {
  const leases: (number | undefined)[] = [];
  const { supervisor } = supervised(0, {
    create: (options, events) => {
      leases.push(options.leases);
      return new FakeCell(events);
    },
  });
  for (let at = 0; at < 31; at++) (await supervisor.acquire()).end();
  t.deepEqual(leases, [12, 24, 32, 32]);
  await supervisor.close();
});
