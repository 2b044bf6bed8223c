/** Cells that are killed, stopped or cannot be started: all waiting calls are notified, and none waits indefinitely. */
import { readFileSync } from 'node:fs';
import process from 'node:process';
import test from 'ava';
import type { EdgeHost } from '../../src/index.js';
import { handler, newHost, textOf } from '../host/new-host.js';
import { nextCellEnd } from '../pool/host/cell-events.js';

const FINE = handler('return new Response("fine")');

function pidOf(host: EdgeHost, account = 'default'): number {
  const pid = host.health().cells.find(cell => cell.account === account)?.pid;
  if (pid === undefined) throw new Error(`Account ${account} has no cell`);
  return pid;
}

/** The pid of a cell as soon as there is one: it is starting then. */
async function startingPid(host: EdgeHost): Promise<number> {
  for (;;) {
    const pid = host.health().cells[0]?.pid;
    if (pid !== undefined) return pid;
    await new Promise(resolve => setImmediate(resolve));
  }
}

test('a cell that is killed while it starts is started again, or the load says EDGE_CELL_START', async t => {
  const host = newHost(t);
  const loading = host.load(FINE).then(
    () => 'loaded',
    (error: { code?: string }) => error.code,
  );
  process.kill(await startingPid(host), 'SIGKILL');
  t.true(['loaded', 'EDGE_CELL_START'].includes(String(await loading)));
  t.is(await textOf((await host.load(FINE)).fetch('http://x/')), 'fine');
});

test('a cell that is killed while a function loads is replaced, and the function loaded there', async t => {
  const host = newHost(t, { limits: { startupMs: 5000 } });
  await host.load(FINE);
  const loading = host.load(`let sum = 0; for (let n = 0; n < 3e7; n++) sum += n; ${FINE}`, { name: 'slow' });
  await new Promise(resolve => setImmediate(resolve));
  process.kill(pidOf(host), 'SIGKILL');
  t.is(await textOf((await loading).fetch('http://x/')), 'fine');
});

test('a cell that is killed in the middle of a response breaks its stream with EDGE_CELL_LOST', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`return new Response(new ReadableStream({ start(c) { c.enqueue(new Uint8Array(10)) } }))`),
  );
  const response = await fn.fetch('http://x/');
  const reader = response.body?.getReader();
  t.is((await reader?.read())?.value?.length, 10);
  const rest = t.throwsAsync(async () => reader?.read(), { code: 'EDGE_CELL_LOST' });
  process.kill(pidOf(host), 'SIGKILL');
  await rest;
});

test('a cell that is killed in the middle of a request body lets the sender go', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('return new Response(await request.text())'));
  let isCanceled: () => void = () => {};
  const canceled = new Promise<void>(resolve => {
    isCanceled = resolve;
  });
  const body = new ReadableStream({ start: c => c.enqueue(new Uint8Array(10)), cancel: () => isCanceled() });
  const answer = t.throwsAsync(fn.fetch('http://x/', { method: 'POST', body, duplex: 'half' } as RequestInit), {
    code: 'EDGE_CELL_LOST',
  });
  await new Promise(resolve => setImmediate(resolve));
  process.kill(pidOf(host), 'SIGKILL');
  await answer;
  await canceled;
  t.pass();
});

test('a cell that is killed while it is idle is replaced with the next request', async t => {
  const host = newHost(t);
  const fn = await host.load(FINE);
  const ended = nextCellEnd(t, 'default');
  process.kill(pidOf(host), 'SIGKILL');
  t.regex(await ended, /SIGKILL|exit code/);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('a cell that is stopped holds neither close() nor its callers', async t => {
  const host = newHost(t);
  const fn = await host.load(FINE);
  const pid = pidOf(host);
  process.kill(pid, 'SIGSTOP');
  const answer = t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CLOSED' });
  await host.close({ drainMs: 0 });
  await answer;
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
});

test('a cell that is stopped while it starts holds neither close() nor the load', async t => {
  const host = newHost(t);
  const loading = t.throwsAsync(host.load(FINE), { code: 'EDGE_CLOSED' });
  process.kill(await startingPid(host), 'SIGSTOP');
  await host.close({ drainMs: 0 });
  await loading;
});

test('a cell that is stopped in the middle of a request is given up, and the request with it', async t => {
  const host = newHost(t);
  const fn = await host.load(FINE);
  const ended = nextCellEnd(t, 'default');
  const pid = pidOf(host);
  process.kill(pid, 'SIGSTOP');
  // On a busy machine the signal takes a while to reach all of its threads.
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')))
    await new Promise(resolve => setImmediate(resolve));
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CELL_LOST' });
  t.regex(await ended, /it did not answer for 15 seconds/);
  t.is(await textOf(fn.fetch('http://x/')), 'fine');
});

test('close() while functions load and requests run tells all of them, and leaves no process', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('await scheduler.wait(60_000); return new Response("")'));
  const pid = pidOf(host);
  const running = Array.from({ length: 20 }, () => t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CLOSED' }));
  const loading = Array.from({ length: 10 }, (_, at) =>
    host
      .account(`account-${at % 3}`)
      .load(FINE, { name: `f${at}` })
      .then(
        () => 'loaded',
        (error: { code?: string }) => error.code,
      ),
  );
  await host.close({ drainMs: 0 });
  await Promise.all(running);
  for (const end of await Promise.all(loading)) t.true(['loaded', 'EDGE_CLOSED'].includes(String(end)), String(end));
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  t.is(host.health().cells.length, 0);
});

test('many functions beyond the cap of the host are evicted and come back', async t => {
  const host = newHost(t, { maxIsolates: 4 });
  const fns = [];
  for (let at = 0; at < 18; at++) {
    fns.push(await host.account(`account-${at % 3}`).load(FINE, { name: `f${at}` }));
    t.true(host.health().isolates <= 4);
  }
  for (const fn of fns) t.is(await textOf(fn.fetch('http://x/')), 'fine');
});
