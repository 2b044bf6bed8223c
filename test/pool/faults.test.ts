/** Callbacks of the host that fail in spite of everything: the cell that they concern ends, and nothing waits for what they were to do. */
import process from 'node:process';
import test, { type ExecutionContext } from 'ava';
import { CellSupervisor, type SupervisorOptions } from '../../src/pool/cell-supervisor.js';
import type { IsolateHandle } from '../../src/pool/isolate-handle.js';
import { ProcessCell } from '../../src/pool/process-cell.js';
import { WarmCells } from '../../src/pool/supply/warm-cells.js';
import type { CellReader } from '../../src/pool/watch/cell-watch.js';
import type { EdgeError } from '../../src/quotas/errors.js';
import { listenToFaults } from '../../src/quotas/guarded.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { FakeCell } from './fake-cell.js';
import { fakeIsolate } from './fake-isolate.js';

const CELL = { maxThreads: 16, heapBytes: 1, cellMemoryBytes: 1 };
const INJECTED = 'injected';
const FAULT = 'a callback of the host failed';

const failing = (): never => {
  throw new Error(INJECTED);
};

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 1));
}

/** Resolves with the reason; a timer keeps the process alive in the meantime. */
async function goneOf(handle: IsolateHandle): Promise<string> {
  let gone: string | undefined;
  handle.whenGone(reason => {
    gone = reason;
  });
  await until(() => gone !== undefined);
  return gone ?? '';
}

/** What is reported until the end of the test. None of it may reach Node. */
function faults(t: ExecutionContext): EdgeError[] {
  const reported: EdgeError[] = [];
  const uncaught: unknown[] = [];
  const onUncaught = (error: unknown): number => uncaught.push(error);
  process.on('uncaughtException', onUncaught);
  const forget = listenToFaults(error => reported.push(error));
  t.teardown(() => {
    forget();
    process.off('uncaughtException', onUncaught);
    if (uncaught.length > 0) throw uncaught[0];
  });
  return reported;
}

function supervised(
  t: ExecutionContext,
  more: Partial<SupervisorOptions> = {},
): { readonly supervisor: CellSupervisor; readonly cells: FakeCell[] } {
  const cells: FakeCell[] = [];
  const supervisor = new CellSupervisor({
    ...CELL,
    account: 'a',
    spares: 0,
    onFinding() {},
    prepare: async () => {},
    create: (_options, events) => {
      const cell = new FakeCell(events);
      cells.push(cell);
      return cell;
    },
    ...more,
  });
  t.teardown(() => supervisor.close());
  return { supervisor, cells };
}

/** Can be read while the cell starts, and then no more. */
function failingReader(): CellReader {
  let reads = 0;
  const survey = { processes: 1, descriptors: 1, threads: 1, residentBytes: 1, fileBytes: 0, writtenBytes: 0 };
  return {
    source: 'processes',
    glance: () => (reads++ === 0 ? { cpuMs: 0, residentBytes: 1, threads: 1 } : failing()),
    tally: () => survey,
    survey: () => survey,
    memory: async () => 1,
    close() {},
  };
}

test.serial('a timer that cannot start a spare ends the cell, and the next isolate is in another one', async t => {
  const reported = faults(t);
  const { supervisor, cells } = supervised(t, { spares: 1 });
  const handle = await supervisor.acquire();
  const gone = goneOf(handle);
  const [cell] = cells;
  if (cell === undefined) throw new Error('No cell');
  cell.start = failing;
  t.is(await gone, 'cell');
  t.is(cell.killedFor, FAULT);
  t.is(reported[0]?.code, 'EDGE_INTERNAL');
  t.true((await supervisor.acquire()).isUsable);
  t.is(cells.length, 2);
});

test.serial('a check of the cells that fails for one ends that one, and checks the others', async t => {
  const reported = faults(t);
  const { supervisor, cells } = supervised(t, { isGroup: true, maxThreads: 1 });
  const first = await supervisor.acquire();
  const second = await supervisor.acquire();
  t.is(cells.length, 2);
  let checks = 0;
  first.checkProgress = failing;
  second.checkProgress = () => void checks++;
  const gone = goneOf(first);
  await gone;
  await until(() => checks > 0);
  t.true(reported.length > 0);
  t.true(second.isUsable);
});

test.serial('a cell whose usage cannot be read ends', async t => {
  const reported = faults(t);
  const { supervisor, cells } = supervised(t, {
    create: (_options, events) => {
      const cell = new FakeCell(events);
      if (cells.length === 0) cell.kernel = failingReader();
      cells.push(cell);
      return cell;
    },
  });
  const handle = await supervisor.acquire();
  const gone = goneOf(handle);
  t.is(await gone, 'cell');
  t.is(cells[0]?.killedFor, FAULT);
  t.is(reported.length, 1);
  t.true((await supervisor.acquire()).isUsable);
});

test.serial('a cell that could not be ended for being idle is killed', async t => {
  const reported = faults(t);
  const { supervisor, cells } = supervised(t, { idleMs: 1 });
  const handle = await supervisor.acquire();
  const [cell] = cells;
  if (cell === undefined) throw new Error('No cell');
  const close = cell.close.bind(cell);
  cell.close = failing;
  handle.end();
  await until(() => cell.killedFor !== undefined);
  cell.close = close;
  t.is(cell.killedFor, FAULT);
  t.true(reported.length > 0);
  t.true((await supervisor.acquire()).isUsable);
});

test.serial('isolates hear of the end of their cell also when its owner fails at it', async t => {
  const reported = faults(t);
  const { supervisor, cells } = supervised(t, {
    onCell: state => {
      if (state === 'ended') failing();
    },
  });
  const handle = await supervisor.acquire();
  const gone = goneOf(handle);
  cells[0]?.kill('it was killed');
  t.is(await gone, 'cell');
  t.is(reported.length, 1);
  t.true((await supervisor.acquire()).isUsable);
});

test.serial('every invocation hears of the end of its isolate, also behind one that fails at it', t => {
  const reported = faults(t);
  const { handle, begin } = fakeIsolate();
  const lost: string[] = [];
  begin({ onLost: failing });
  begin({ onLost: reason => void lost.push(reason) });
  handle.whenGone(failing);
  handle.whenGone(reason => lost.push(`gone: ${reason}`));
  handle.leaseEnded('memory', 'out of memory');
  t.deepEqual(lost, ['memory', 'gone: memory']);
  t.is(reported.length, 2);
});

for (const what of ['checked', 'given a spare']) {
  test.serial(`a warm cell that cannot be ${what} ends, and another one is started`, async t => {
    const reported = faults(t);
    const cells: FakeCell[] = [];
    const losses: EdgeError[] = [];
    const warm = new WarmCells({
      count: 1,
      cell: CELL,
      prepare: async () => {},
      create: (_options, events) => {
        const cell = new FakeCell(events);
        if (cells.length === 0 && what === 'checked') cell.kernel = failingReader();
        else if (cells.length === 0) cell.start = failing;
        cells.push(cell);
        return cell;
      },
      hasRoom: () => true,
      onLost: error => losses.push(error),
      pace: { firstMs: 0, refillMs: 0, backoffMs: 0, maxBackoffMs: 0, noRoomMs: 0 },
    });
    t.teardown(() => warm.close());
    warm.take(CELL);
    await until(() => cells.length === 2);
    t.not(cells[0]?.killedFor, undefined);
    t.is(reported.length, 1);
    t.is(losses[0]?.code, 'EDGE_CELL_START');
  });
}

/** Callbacks for a cell of a host, in each of which something fails once. */
const PLACES: readonly (readonly [string, 'ping' | 'movedBytes'])[] = [
  ['the heartbeat', 'ping'],
  ['the check of its usage', 'movedBytes'],
];

for (const [what, member] of PLACES) {
  test.serial(`when ${what} of a cell fails its calls fail with a code, and the next call is answered`, async t => {
    const reported = faults(t);
    const host = newHost(t, { isolation: 'process' });
    const fn = await host.load(
      handler(
        'if (request.url.endsWith("/wait")) await new Promise(resolve => setTimeout(resolve, 60000)); return new Response("fine")',
      ),
    );
    const waiting = t.throwsAsync(fn.fetch('http://x/wait'), { code: 'EDGE_CELL_LOST', message: new RegExp(FAULT) });
    const own = Object.getOwnPropertyDescriptor(ProcessCell.prototype, member);
    if (own === undefined) throw new Error(`A cell has no ${member}`);
    Object.defineProperty(ProcessCell.prototype, member, {
      configurable: true,
      ...(own.get === undefined ? { value: failing } : { get: failing }),
    });
    try {
      await waiting;
    } finally {
      Object.defineProperty(ProcessCell.prototype, member, own);
    }
    t.true(reported.length > 0);
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
  });
}
