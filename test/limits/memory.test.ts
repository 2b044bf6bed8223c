/**
 * Memory beside the heap, by every route: the invocation ends with exceededMemory, a fresh isolate takes over, and other functions are not
 * affected.
 */
import test from 'ava';
import { emptyOutbound, handler, newHost, nextInvocation, textOf } from '../host/new-host.js';

const ROUTES: readonly (readonly [string, string])[] = [
  ['ArrayBuffers', 'const all = []; for (;;) all.push(new Uint8Array(4 << 20).fill(1));'],
  ['Blobs', 'const all = []; for (let n = 0; ; n++) all.push(new Blob([new Uint8Array(4 << 20).fill(n)]));'],
  [
    'a stream that is queued',
    'new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(4 << 20).fill(1)) } });',
  ],
  ['clones', 'const all = [new Uint8Array(4 << 20).fill(1)]; for (;;) all.push(structuredClone(all[0]));'],
  ['random values', 'const all = []; for (;;) all.push(crypto.getRandomValues(new Uint8Array(65536)));'],
];

for (const [name, body] of ROUTES) {
  test(`memory by ${name} ends with exceededMemory, and a fresh isolate answers`, async t => {
    const host = newHost(t, { limits: { cpuMs: 20_000 } });
    const fn = await host.load(handler(`if (request.url.endsWith('bad')) { ${body} } return new Response('fine')`));
    const neighbour = await host.load(handler('return new Response("here")'), { name: 'neighbour' });
    const event = nextInvocation(host, ({ url }) => url?.endsWith('bad') === true);
    await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_MEMORY_LIMIT', message: /option limits.memoryBytes/ });
    const { outcome, peakMemoryBytes, warnings } = await event;
    t.is(outcome, 'exceededMemory');
    t.true(peakMemoryBytes >= 128 * 1024 * 1024);
    t.true(warnings.some(({ limit }) => limit === 'memoryBytes'));
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
    t.is(await textOf(neighbour.fetch('http://x/')), 'here');
  });
}

test('memory kept over many requests ends the isolate when it passes the limit, and its globals begin anew', async t => {
  const host = newHost(t, { limits: { cpuMs: 20_000 } });
  const fn = await host.load(
    `const kept = []; export default { async fetch() {
      kept.push(new Uint8Array(16 << 20).fill(1)); await scheduler.wait(1); return new Response(String(kept.length)) } }`,
  );
  let most = 0;
  let last = 0;
  for (let n = 0; n < 30 && last >= most; n++) {
    last = Number(await textOf(fn.fetch('http://x/')).catch(() => '0'));
    most = Math.max(most, last);
  }
  t.true(most <= 20, `${most} times 16 MB were kept`);
  t.true(Number(await textOf(fn.fetch('http://x/'))) <= most);
});

for (const isolation of ['process', 'thread'] as const) {
  test(`memory that is taken at once and answered in the same turn is on the bill of its request alone (${isolation})`, async t => {
    const { outbound, isCalled } = emptyOutbound();
    const host = newHost(t, { isolation, limits: { cpuMs: 20_000 }, outbound });
    const fn = await host.load(`let kept; export default { async fetch(request) {
      if (request.url.endsWith('take')) { kept = new Uint8Array(220 << 20); return new Response('taken'); }
      if (request.url.endsWith('wait')) {
        await fetch('http://y/');
        await scheduler.wait(600_000);
      }
      return new Response(String(kept));
    } }`);
    const waiting = t.throwsAsync(fn.fetch('http://x/wait'), { code: 'EDGE_ISOLATE_LOST', message: /other work/ });
    await isCalled;
    const taken = nextInvocation(host, ({ url }) => url?.endsWith('take') === true);
    const lost = nextInvocation(host, ({ url }) => url?.endsWith('wait') === true);
    await t.throwsAsync(fn.fetch('http://x/take'), { code: 'EDGE_MEMORY_LIMIT', message: /option limits.memoryBytes/ });
    t.is((await taken).outcome, 'exceededMemory');
    await waiting;
    t.is((await lost).outcome, 'isolateLost');
    t.is(await textOf(fn.fetch('http://x/')), 'undefined');
    t.is(fn.stats().outcomes.exceededMemory, 1);
  });
}

test('requests that share an isolate with one that takes too much memory begin anew, with one event each', async t => {
  const host = newHost(t, { limits: { cpuMs: 20_000 } });
  const fn = await host.load(`let kept, isReleased = false; export default { async fetch(request) {
    if (request.url.endsWith('take')) kept = new Uint8Array(220 << 20);
    else if (request.url.endsWith('release')) isReleased = true;
    else {
      console.log('begun');
      while (!isReleased) await scheduler.wait(5);
    }
    return new Response(request.method);
  } }`);
  const events: string[] = [];
  host.on('invocation', ({ method, outcome }) => events.push(`${method} ${outcome}`));
  let begun = 0;
  const haveBegun = (count: number): Promise<void> =>
    new Promise(resolve => {
      host.on('log', () => {
        if (begun === count) resolve();
      });
    });
  host.on('log', () => begun++);
  const isBegun = haveBegun(2);
  const isBegunAnew = haveBegun(4);
  const texts = ['GET', 'PUT'].map(method => textOf(fn.fetch('http://x/', { method })));
  await isBegun;
  await t.throwsAsync(fn.fetch('http://x/take', { method: 'DELETE' }), { code: 'EDGE_MEMORY_LIMIT' });
  await isBegunAnew;
  t.is(await textOf(fn.fetch('http://x/release', { method: 'POST' })), 'POST');
  t.deepEqual(await Promise.all(texts), ['GET', 'PUT']);
  t.is(begun, 4);
  t.deepEqual(events.sort(), ['DELETE exceededMemory', 'GET ok', 'POST ok', 'PUT ok']);
});

test('a request that loses its isolate to others twice ends with EDGE_ISOLATE_LOST', async t => {
  const host = newHost(t, { limits: { cpuMs: 20_000 } });
  const fn = await host.load(`let kept; export default { async fetch(request) {
    if (request.url.endsWith('take')) { kept = new Uint8Array(220 << 20); return new Response('taken'); }
    console.log('begun');
    await scheduler.wait(600_000);
  } }`);
  const taken: Promise<unknown>[] = [];
  host.on('log', () => taken.push(t.throwsAsync(fn.fetch('http://x/take'), { code: 'EDGE_MEMORY_LIMIT' })));
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_ISOLATE_LOST' });
  t.is(taken.length, 2);
  await Promise.all(taken);
});

test('memory that is taken behind the answer is seen as exceededMemory, too', async t => {
  const host = newHost(t, { limits: { cpuMs: 20_000 } });
  const fn = await host.load(`let kept; export default { async fetch(request, env, ctx) {
    ctx.waitUntil((async () => { await scheduler.wait(1); kept = new Uint8Array(220 << 20); })());
    return new Response('answered');
  } }`);
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/')), 'answered');
  t.is((await event).outcome, 'exceededMemory');
});
