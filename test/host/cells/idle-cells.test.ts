/** Accounts that do nothing have no process, and lose no request over it. */
import process from 'node:process';
import test from 'ava';
import { nextCellEnd } from '../../pool/host/cell-events.js';
import { handler, ISOLATIONS, newHost, textOf } from '../new-host.js';

const COUNTS = `let count = 0; ${handler('return new Response(String(++count))')}`;

for (const isolation of ISOLATIONS) {
  test(`an account whose isolates have ended has no cell after cellIdleMs, and answers again, isolation ${isolation}`, async t => {
    const host = newHost(t, { isolation, idleMs: 1, cellIdleMs: 1, spareIsolates: 1 });
    const ended = nextCellEnd(t, `idle-${isolation}`);
    const fn = await host.account(`idle-${isolation}`).load(COUNTS);
    t.is(await textOf(fn.fetch('http://x/')), '1');
    const pid = host.health().cells[0]?.pid;
    await ended;
    t.deepEqual(host.health().cells, []);
    if (pid !== undefined) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    t.is(await textOf(fn.fetch('http://x/')), '1');
  });
}

test('a cell with an isolate stays, however long ago its last request was', async t => {
  const host = newHost(t, { cellIdleMs: 1 });
  const fn = await host.load(COUNTS);
  await new Promise(resolve => setTimeout(resolve, 10));
  t.is(await textOf(fn.fetch('http://x/')), '1');
  t.is(await textOf(fn.fetch('http://x/')), '2');
});

test('requests that arrive while the cell ends are all answered', async t => {
  const host = newHost(t, { idleMs: 1, cellIdleMs: 1 });
  const fn = await host.load(COUNTS);
  let ends = 0;
  const countEnds = (): void => {
    ends++;
    if (ends < 5) void nextCellEnd(t, 'default').then(countEnds);
  };
  void nextCellEnd(t, 'default').then(countEnds);
  while (ends < 5) {
    const answers = await Promise.all([1, 2, 3].map(() => textOf(fn.fetch('http://x/'))));
    t.true(answers.every(text => Number(text) >= 1));
    await new Promise(resolve => setTimeout(resolve, 2));
  }
});

test('cellIdleMs: Infinity keeps the process of an account', async t => {
  const host = newHost(t, { idleMs: 1, cellIdleMs: Number.POSITIVE_INFINITY });
  const fn = await host.load(COUNTS);
  const pid = host.health().cells[0]?.pid;
  while (host.health().isolates > 0) await new Promise(resolve => setImmediate(resolve));
  t.is(await textOf(fn.fetch('http://x/')), '1');
  t.is(host.health().cells[0]?.pid, pid);
});
