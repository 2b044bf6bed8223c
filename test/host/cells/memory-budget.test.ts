/** The memory of all accounts together, through the public API. */
import test from 'ava';
import { handler, newHost, textOf } from '../new-host.js';

const MEBIBYTE = 1024 * 1024;
const WAITS = handler(`
  if (request.url.endsWith('/wait')) { console.log('waiting'); await scheduler.wait(60_000); }
  return new Response('fine');
`);

test('more accounts than there is memory for are all answered, those that were used least recently making room', async t => {
  const host = newHost(t, { memoryBytes: 150 * MEBIBYTE });
  const fns = [];
  for (let at = 0; at < 7; at++) {
    fns.push(await host.account(`account-${at}`).load(WAITS));
    t.true(host.health().cells.length < 6);
  }
  for (const fn of fns) t.is(await textOf(fn.fetch('http://x/')), 'fine');
  t.is(host.health().memory?.limitBytes, 150 * MEBIBYTE);
  t.true((host.health().memory?.usedBytes ?? 0) > 0);
});

test('where all memory is busy new work waits, and goes on when some is over', async t => {
  const host = newHost(t, { memoryBytes: 64 * MEBIBYTE });
  const running = new Map<string, AbortController>();
  let mostCells = 0;
  host.on('log', ({ account }) => {
    mostCells = Math.max(mostCells, host.health().cells.length);
    running.get(account)?.abort();
  });
  const accounts = Array.from({ length: 6 }, (_, at) => `account-${at}`);
  await Promise.all(
    accounts.map(async id => {
      const fn = await host.account(id).load(WAITS);
      const controller = new AbortController();
      running.set(id, controller);
      await t.throwsAsync(fn.fetch('http://x/wait', { signal: controller.signal }), { any: true });
    }),
  );
  t.is(running.size, 6);
  t.true(mostCells <= 3, String(mostCells));
});

test('memoryBytes that would not hold one process is refused', t => {
  t.throws(() => newHost(t, { memoryBytes: MEBIBYTE }), { instanceOf: RangeError, message: /memoryBytes/ });
});
