/** Callbacks of the host that fail in spite of everything: the cell that they concern ends, and nothing waits for what they were to do. */
import { Socket } from 'node:net';
import process from 'node:process';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { Router } from '../../src/host/ingress/router.js';
import type { EdgeHost } from '../../src/index.js';
import { WarmCells } from '../../src/pool/host/capacity/warm-cells.js';
import { CellSupervisor, type SupervisorOptions } from '../../src/pool/host/cell-supervisor.js';
import type { CellReader } from '../../src/pool/host/cell-usage/cell-watch.js';
import type { IsolateHandle } from '../../src/pool/host/isolate-handle.js';
import { IsolateSplices } from '../../src/pool/host/isolate-splices.js';
import { ProcessCell } from '../../src/pool/host/process-cell.js';
import { type EdgeError, errorCode, isEdgeErrorCode } from '../../src/quotas/errors.js';
import { listenToFaults } from '../../src/quotas/guarded.js';
import { temporaryDirectory } from '../bindings/bucket/stores.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { FakeCell } from './host/fake-cell.js';
import { fakeIsolate } from './host/fake-isolate.js';

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

/** Has the member fail once, and then be as it was. */
function failOnce(t: ExecutionContext, prototype: object, member: string): void {
  const own = Object.getOwnPropertyDescriptor(prototype, member);
  if (own === undefined) throw new Error(`There is no ${member}`);
  const restore = (): boolean => Reflect.defineProperty(prototype, member, own);
  const fail = (): never => {
    restore();
    return failing();
  };
  Object.defineProperty(prototype, member, {
    configurable: true,
    ...(own.get === undefined ? { value: fail } : { get: fail }),
  });
  t.teardown(restore);
}

const WAITS = handler(
  'if (request.url.endsWith("/wait")) await new Promise(resolve => setTimeout(resolve, 60000)); return new Response("fine")',
);

/** The process of an account. */
function cellOf(host: EdgeHost, account: string): number {
  const cells = host.health().cells.filter(cell => cell.account === account);
  const pid = cells[0]?.pid;
  if (pid === undefined) throw new Error(`There is no cell of ${account}`);
  return pid;
}

test.serial('the end of a cell whose last words cannot be read is heard of, and its neighbour goes on', async t => {
  const reported = faults(t);
  const host = newHost(t, { isolation: 'process' });
  const fn = await host.account('acme').load(WAITS, { name: 'f' });
  const neighbour = await host.account('neighbour').load(WAITS, { name: 'f' });
  const other = cellOf(host, 'neighbour');
  const waiting = t.throwsAsync(fn.fetch('http://x/wait'), { code: 'EDGE_CELL_LOST' });
  const pid = cellOf(host, 'acme');
  const restore = (): boolean => Reflect.deleteProperty(Socket.prototype, 'closed');
  t.teardown(restore);
  // Streams of others ask for it, too.
  Object.defineProperty(Socket.prototype, 'closed', {
    configurable: true,
    get(this: Socket) {
      if (new Error().stack?.includes('whenRead') !== true) return Reflect.get(Readable.prototype, 'closed', this);
      restore();
      return failing();
    },
  });
  process.kill(pid, 'SIGKILL');
  await waiting;
  t.true(reported.length > 0);
  t.is(reported[0]?.code, 'EDGE_INTERNAL');
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
  t.is(await textOf(neighbour.fetch('http://x/')), 'fine');
  t.is(cellOf(host, 'neighbour'), other);
});

test.serial(
  'names that cannot be sent to the backend process end that connection with a warning, and the next one has them',
  async t => {
    t.timeout(60_000);
    const reported = faults(t);
    const storage = await temporaryDirectory(t);
    const host = newHost(t, { storage, backend: 'process', usage: false });
    const warnings: unknown[] = [];
    host.on('warning', error => warnings.push(errorCode(error)));
    const fn = await host.load(handler('return new Response(await env.KV.get("a"))'), { name: 'f', kv: { KV: 'kv' } });
    await host.kv('kv').put('a', 'stored');
    t.is(await textOf(fn.fetch('http://x/')), 'stored');
    let sent = 0;
    const own = Object.getOwnPropertyDescriptor(Router.prototype, 'served');
    Object.defineProperty(Router.prototype, 'served', {
      configurable: true,
      get(this: unknown): unknown {
        return sent++ === 0 ? failing() : own?.get?.call(this);
      },
    });
    t.teardown(() => Reflect.defineProperty(Router.prototype, 'served', own ?? {}));
    await host.load(handler('return new Response("named")'), { name: 'named', routes: ['named.example/*'] });
    await until(() => reported.length > 0);
    t.regex(reported[0]?.message ?? '', /injected/);
    t.true(warnings.includes('EDGE_INTERNAL'));
    // A call that is made in the middle may fail, as after every loss of the backend process.
    let text: string | undefined;
    while (text === undefined) text = await textOf(fn.fetch('http://x/')).catch(() => undefined);
    t.is(text, 'stored');
    t.true(sent > 1, 'nobody has the names');
  },
);

test.serial(
  'an isolate that cannot be told of the loss of the backend process ends with a warning, and the next one is answered',
  async t => {
    t.timeout(60_000);
    const reported = faults(t);
    const storage = await temporaryDirectory(t);
    const host = newHost(t, { storage, backend: 'process', usage: false });
    const source = handler(
      'if (request.url.endsWith("/wait")) await new Promise(resolve => setTimeout(resolve, 60000)); return new Response(await env.KV.get("a"))',
    );
    const fn = await host.load(source, { name: 'f', kv: { KV: 'kv' } });
    await host.kv('kv').put('a', 'stored');
    t.is(await textOf(fn.fetch('http://x/')), 'stored');
    // What goes on in it would wait for what nobody tells it.
    const waiting = t.throwsAsync(fn.fetch('http://x/wait'));
    failOnce(t, IsolateSplices.prototype, 'lose');
    process.kill(host.health().backend?.pid ?? 0, 'SIGKILL');
    t.true(isEdgeErrorCode(errorCode(await waiting) ?? ''));
    await until(() => reported.length > 0);
    t.is(reported[0]?.code, 'EDGE_INTERNAL');
    let text: string | undefined;
    while (text === undefined) text = await textOf(fn.fetch('http://x/')).catch(() => undefined);
    t.is(text, 'stored');
  },
);
