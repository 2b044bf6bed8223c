import { once } from 'node:events';
import test from 'ava';
import { handler, ISOLATIONS, newHost, nextLog, textOf } from '../new-host.js';

const MIB = 2 ** 20;
/** Answers with as many bytes as the path says. */
const BYTES = handler(`return new Response('x'.repeat(Number(new URL(request.url).pathname.slice(1))));`);

for (const isolation of ISOLATIONS) {
  test(`update() gives new invocations the new limits, and what runs ends under the old ones (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const account = host.account('acme', { limits: { responseBytes: 100 } });
    const source = handler(`
      const size = Number(new URL(request.url).pathname.slice(1));
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      console.log('begun');
      ctx.waitUntil((async () => {
        await request.text();
        await writer.write(new TextEncoder().encode('x'.repeat(size)));
        await writer.close();
      })().catch(() => {}));
      return new Response(readable);`);
    const fn = await account.load(source, { name: 'slow' });
    let finish = (): void => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        finish = () => controller.close();
      },
    });
    const begun = nextLog(host, 'slow');
    const running = fn.fetch('http://x/100', { method: 'POST', body, duplex: 'half' });
    await begun;
    await account.update({ limits: { responseBytes: 10 } });
    t.is(account.limits.responseBytes, 10);
    finish();
    t.is((await textOf(running)).length, 100);
    t.is(await textOf(fn.fetch('http://x/10', { method: 'POST' })), 'x'.repeat(10));
    await t.throwsAsync(textOf(fn.fetch('http://x/11', { method: 'POST' })));
    await account.update({ limits: {} });
    t.is((await textOf(fn.fetch('http://x/1000', { method: 'POST' }))).length, 1000);
    t.is(host.account('acme').function('slow'), fn);
  });
}

test('update() keeps the counts of requests, and statistics, routes and handles of functions', async t => {
  const host = newHost(t);
  const account = host.account('acme', { plan: 'free', limits: { requestsPerDay: 2 } });
  const fn = await account.load(BYTES, { name: 'hello', routes: ['acme.example/*'] });
  for (let n = 0; n < 2; n++) await (await fn.fetch('http://x/1')).text();
  await t.throwsAsync(fn.fetch('http://x/1'), { code: 'EDGE_DAILY_LIMIT' });
  await account.update({ plan: 'standard', limits: { requestsPerDay: 3 } });
  t.is(await textOf(host.fetch('http://acme.example/3')), 'xxx');
  await t.throwsAsync(fn.fetch('http://x/1'), { code: 'EDGE_DAILY_LIMIT' });
  t.is(fn.stats().invocations, 3);
  t.like(account.usage(), { plan: 'standard' });
  t.like(
    account.usage().quotas.find(({ id }) => id === 'requestsPerDay'),
    { used: 3, limit: 3 },
  );
});

test('update() gives functions more memory in new isolates, and takes it away', async t => {
  const account = newHost(t, { isolation: 'process' }).account('acme', { limits: { memoryBytes: 32 * MIB } });
  const source = handler(`
    const held = [];
    for (let n = 0; n < 48; n++) { held.push(new Uint8Array(1 << 20).fill(n)); await scheduler.wait(0); }
    return new Response(String(held.length));`);
  const fn = await account.load(source, { name: 'large' });
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_MEMORY_LIMIT' });
  await account.update({ limits: { memoryBytes: 128 * MIB } });
  t.is(await textOf(fn.fetch('http://x/')), '48');
  await account.update({ limits: { memoryBytes: 32 * MIB } });
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_MEMORY_LIMIT' });
});

test('update() lowers what caps no longer allow, with a warning, and a later load is refused', async t => {
  const host = newHost(t);
  const account = host.account('acme', { limits: { subrequests: 100 } });
  const fn = await account.load(BYTES, { name: 'hello', limits: { responseBytes: 1000, memoryBytes: 64 * MIB } });
  const warned = once(host, 'warning');
  await account.update({ caps: { responseBytes: 10 } });
  t.regex(String((await warned)[0]), /"hello" is loaded with less than it asks for.*caps\.responseBytes/);
  await t.throwsAsync(textOf(fn.fetch('http://x/11')));
  t.is(account.limits.subrequests, 100);
  await t.throwsAsync(account.load(BYTES, { limits: { responseBytes: 11 } }), { code: 'EDGE_LIMIT_EXCEEDED' });
});

test('update() reaches buckets that the application and functions have open', async t => {
  const account = newHost(t).account('acme', { limits: { storageBytes: 10 } });
  const bucket = account.bucket('files');
  const source = handler(`await env.FILES.put('f', 'x'.repeat(20)); return new Response('ok');`);
  const fn = await account.load(source, { buckets: { FILES: 'files' } });
  await bucket.put('a', 'x'.repeat(10));
  await t.throwsAsync(fn.fetch('http://x/'), { message: /limit storageBytes is 10/ });
  await account.update({ limits: { storageBytes: 35 } });
  await bucket.put('a', 'x'.repeat(15));
  t.is(await textOf(fn.fetch('http://x/')), 'ok');
  await account.update({ limits: { storageBytes: 5 } });
  await t.throwsAsync(bucket.put('b', 'x'), { code: 'EDGE_STORAGE_QUOTA' });
  await bucket.put('a', 'x');
});

test('a function that starts while update() changes the limits serves with the new ones', async t => {
  const account = newHost(t).account('acme');
  const loading = account.load(BYTES, { name: 'hello' });
  await account.update({ limits: { responseBytes: 5 } });
  const fn = await loading;
  await t.throwsAsync(textOf(fn.fetch('http://x/6')));
  t.is(await textOf(fn.fetch('http://x/5')), 'xxxxx');
});

test('update() gives other zones and frees those before', async t => {
  const host = newHost(t);
  const acme = host.account('acme', { zones: ['acme.example', 'shop.example'] });
  const other = host.account('other');
  await acme.load(BYTES, { name: 'a', routes: ['www.acme.example/*'] });
  await t.throwsAsync(other.update({ zones: ['shop.example'] }), { code: 'EDGE_NAME_TAKEN' });
  await acme.update({ zones: ['*.acme.example', 'new.example'] });
  await other.update({ zones: ['shop.example', 'acme.example'] });
  await other.load(BYTES, { name: 'b', routes: ['shop.example/*', 'acme.example/*'] });
  t.is(await textOf(host.fetch('http://shop.example/2')), 'xx');
  t.is(await textOf(host.fetch('http://www.acme.example/3')), 'xxx');
  await acme.load(BYTES, { name: 'c', routes: ['new.example/*'] });
});

test('update() that fails changes nothing', async t => {
  const host = newHost(t);
  const acme = host.account('acme', { plan: 'free', zones: ['acme.example'], limits: { responseBytes: 10 } });
  host.account('other', { zones: ['other.example'] });
  const fn = await acme.load(BYTES, { name: 'a', routes: ['acme.example/*'] });
  const limits = { responseBytes: 1000 };
  const plan = 'standard';
  await t.throwsAsync(acme.update({ plan, limits, zones: ['acme.example', 'other.example'] }), {
    code: 'EDGE_NAME_TAKEN',
  });
  await t.throwsAsync(acme.update({ plan, limits, zones: ['co.uk'] }), { instanceOf: RangeError });
  await t.throwsAsync(acme.update({ plan, limits, zones: ['*.acme.example'] }), {
    code: 'EDGE_NAME_DENIED',
    message: /route "acme\.example\/\*" outside of them/,
  });
  // @ts-expect-error there is no such plan
  await t.throwsAsync(acme.update({ plan: 'gold', limits }), { instanceOf: TypeError, message: /update\(\)/ });
  await t.throwsAsync(acme.update({ limits: { responseBytes: -1 } }), { instanceOf: RangeError });
  // @ts-expect-error it is an option of account() alone
  await t.throwsAsync(acme.update({ hostBytes: 2 ** 30 }), { message: /has no option "hostBytes"/ });
  t.is(acme.limits.plan, 'free');
  await t.throwsAsync(textOf(fn.fetch('http://x/11')));
  t.is(await textOf(host.fetch('http://acme.example/10')), 'x'.repeat(10));
  await t.throwsAsync(acme.load(BYTES, { name: 'b', routes: ['elsewhere.example/*'] }), { code: 'EDGE_NAME_DENIED' });
});
