/** How many isolates an account may have at once, and what goes when there are more. */
import test from 'ava';
import { handler, ISOLATIONS, newHost } from '../host/new-host.js';

for (const isolation of ISOLATIONS) {
  test(`an account with more functions than isolates serves all of them, however many are loaded at once (${isolation})`, async t => {
    const host = newHost(t, { isolation, maxIsolatesPerAccount: 2, limits: { startupMs: 5000 } });
    const fns = await Promise.all(
      Array.from({ length: 7 }, (_, n) => host.load(handler(`return new Response('${n}')`), { name: `f${n}` })),
    );
    t.true(host.health().isolates <= 2);
    const texts = await Promise.all(fns.map(async fn => (await fn.fetch('http://x/')).text()));
    t.deepEqual(texts, ['0', '1', '2', '3', '4', '5', '6']);
  });
}

for (const [option, accounts] of [
  ['maxIsolates', ['a', 'b', 'c', 'd']],
  ['maxIsolatesPerAccount', ['a', 'a', 'a', 'a']],
] as const) {
  test(`${option} isolates are alive at once and no more, while more functions than that are busy`, async t => {
    const host = newHost(t, { [option]: 2, limits: { startupMs: 5000 } });
    const source = handler(`console.log('busy'); await scheduler.wait(20); return new Response('done')`);
    const fns = [];
    for (const [at, account] of accounts.entries())
      fns.push(await host.account(account).load(source, { name: `f${at}` }));
    const seen: number[] = [];
    host.on('log', () => seen.push(host.health().isolates));
    const texts = await Promise.all(fns.map(async fn => (await fn.fetch('http://x/')).text()));
    t.deepEqual(texts, ['done', 'done', 'done', 'done']);
    t.is(seen.length, 4);
    t.is(Math.max(...seen), 2);
  });
}

test('an isolate of a full account is not ended in the middle of an invocation', async t => {
  const host = newHost(t, { maxIsolatesPerAccount: 1, spareIsolates: 0, limits: { startupMs: 5000 } });
  const source = handler(`await scheduler.wait(200); return new Response('done')`);
  const a = await host.load(source, { name: 'a' });
  const b = await host.load(source, { name: 'b' });
  const c = await host.load(source, { name: 'c' });
  const texts = await Promise.all([a, b, c].map(async fn => (await fn.fetch('http://x/')).text()));
  t.deepEqual(texts, ['done', 'done', 'done']);
});

test('globals of a function persist between requests, and there is one instance of it', async t => {
  const host = newHost(t);
  const fn = await host.load(
    'let n = 0; export default { async fetch() { const mine = ++n; await scheduler.wait(1); return new Response(String(mine)) } }',
  );
  const texts = await Promise.all(Array.from({ length: 20 }, async () => (await fn.fetch('http://x/')).text()));
  t.is(new Set(texts).size, 20);
});
