/** Handlers that can never answer end at once, by a code of their own; those that something can still settle do not. */
import http from 'node:http';
import test from 'ava';
import type { EdgeFunction } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../host/new-host.js';
import { listen } from '../servers.js';

const STALLED = { code: 'EDGE_HANDLER_STALLED', message: /function "function" can never answer/ } as const;

for (const isolation of ISOLATIONS) {
  test(`a handler that waits for nothing ends with EDGE_HANDLER_STALLED, and the isolate serves on (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`if (request.url.endsWith('bad')) await new Promise(() => {}); return new Response('good')`),
    );
    const event = nextInvocation(host);
    await t.throwsAsync(fn.fetch('http://x/bad'), STALLED);
    t.like(await event, { outcome: 'exception', error: { code: 'EDGE_HANDLER_STALLED' } });
    t.is(await textOf(fn.fetch('http://x/')), 'good');
  });
}

for (const [when, body] of [
  ['after a fetch', "await (await fetch('http://x/')).text(); await new Promise(() => {})"],
  ['after a timer', 'await scheduler.wait(1); await new Promise(() => {})'],
  ['after an operation', "await crypto.subtle.digest('SHA-1', new Uint8Array(1)); await new Promise(() => {})"],
  ['with the text of the request read', 'await request.text(); await new Promise(() => {})'],
  ['with a timer that was cleared', 'clearTimeout(setTimeout(() => {}, 600_000)); await new Promise(() => {})'],
  [
    'with a promise of waitUntil that can never settle',
    'ctx.waitUntil(new Promise(() => {})); await new Promise(() => {})',
  ],
  ['when waitUntil is done', 'ctx.waitUntil(scheduler.wait(1)); await new Promise(() => {})'],
  ['when it waits for itself', 'const own = (async () => { await null; await own })(); await own'],
] as const) {
  test(`a handler that can never answer is ended ${when}`, async t => {
    const host = newHost(t, { outbound: () => new Response('text') });
    const fn = await host.load(handler(body));
    await t.throwsAsync(fn.fetch('http://x/', { method: 'POST', body: 'body' }), STALLED);
  });
}

for (const [what, call] of [
  ['scheduled', fn => fn.scheduled()],
  ['queue', fn => fn.queue('q', [{ body: 1 }])],
  ['alarm', fn => fn.alarm()],
] as const satisfies readonly (readonly [string, (fn: EdgeFunction) => Promise<unknown>])[]) {
  test(`${what}() rejects with EDGE_HANDLER_STALLED when the handler waits for nothing`, async t => {
    const host = newHost(t);
    const fn = await host.load(`export default { async ${what}() { await new Promise(() => {}) } }`);
    await t.throwsAsync(call(fn), STALLED);
  });
}

for (const [what, body] of [
  ['timers', 'await scheduler.wait(20)'],
  ['intervals', 'await new Promise(resolve => { const id = setInterval(() => { clearInterval(id); resolve() }, 20) })'],
  ['calls', "await (await fetch('http://x/')).text()"],
  ['operations of other threads', "await crypto.subtle.digest('SHA-512', new Uint8Array(4_000_000))"],
  [
    'decompression',
    "await new Response(new Blob(['x'.repeat(500_000)]).stream().pipeThrough(new CompressionStream('gzip'))).bytes()",
  ],
  ['modules', "await import('./more.js')"],
  ['the body of the request', 'await request.text()'],
] as const) {
  test(`a handler may wait for ${what}`, async t => {
    const slow = async (): Promise<Response> => {
      await new Promise(resolve => setImmediate(resolve));
      return new Response('text');
    };
    const host = newHost(t, { outbound: slow });
    const main = handler(`${body}; return new Response('answer')`);
    const more = 'await null; export const more = 1';
    const fn = await host.load({ main: 'main.js', modules: { 'main.js': main, 'more.js': more } });
    let sent = 0;
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await new Promise(resolve => setTimeout(resolve, 5));
        if (++sent === 3) controller.close();
        else controller.enqueue(new Uint8Array(10));
      },
    });
    t.is(await textOf(fn.fetch(new Request('http://x/', { method: 'POST', body: stream, duplex: 'half' }))), 'answer');
  });
}

test('a handler may wait for what an earlier request has begun, and is ended when that ends without it', async t => {
  const host = newHost(t);
  const fn = await host.load(`
let shared, release;
export default {
  async fetch(request) {
    if (request.url.endsWith('first')) {
      const other = new Promise(resolve => { release = resolve });
      shared = scheduler.wait(30);
      await shared;
      return new Response('first');
    }
    if (request.url.endsWith('second')) {
      await shared;
      return new Response('second');
    }
    await new Promise(resolve => { release = resolve });
    return new Response('third');
  },
};`);
  const first = textOf(fn.fetch('http://x/first'));
  const second = textOf(fn.fetch('http://x/second'));
  const third = t.throwsAsync(fn.fetch('http://x/third'), STALLED);
  t.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  await third;
});

test('a handler may wait for what a later request settles, while that one is open', async t => {
  const host = newHost(t);
  const fn = await host.load(`
let release;
export default {
  async fetch(request) {
    if (request.url.endsWith('later')) {
      await scheduler.wait(30);
      release();
      return new Response('later');
    }
    await new Promise(resolve => { release = resolve });
    return new Response('first');
  },
};`);
  const texts = [fn.fetch('http://x/first'), fn.fetch('http://x/later')].map(textOf);
  t.deepEqual(await Promise.all(texts), ['first', 'later']);
});

test('a handler that can never answer is ended when nothing is pending for any request', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`if (request.url.endsWith('bad')) await new Promise(() => {});
      console.log('busy'); await scheduler.wait(600_000)`),
  );
  const isBusy = new Promise(resolve => host.once('log', resolve));
  const bad = fn.fetch('http://x/bad');
  const controller = new AbortController();
  const busy = t.throwsAsync(fn.fetch('http://x/', { signal: controller.signal }), { any: true });
  await isBusy;
  controller.abort();
  await busy;
  await t.throwsAsync(bad, STALLED);
});

for (const [what, signal] of [
  ['the signal of its request', 'request.signal'],
  ['a signal that follows it', 'AbortSignal.any([request.signal, new AbortController().signal])'],
  ['the signal of a request made from it', 'new Request(request).signal'],
] as const) {
  test(`a handler may wait for ${what} while the client is there`, async t => {
    const host = newHost(t);
    const fn = await host.load(
      handler(`const signal = ${signal};
        setTimeout(() => console.log('waits'), 1);
        await new Promise(resolve => signal.addEventListener('abort', resolve));
        console.log('aborted')`),
    );
    const lines: string[] = [];
    const controller = new AbortController();
    // Some turns of the isolate after the timer is over, in which it would be found to wait for nothing.
    host.on('log', ({ message }) => {
      lines.push(message);
      if (message === 'waits') setTimeout(() => controller.abort(new Error('enough')), 20);
    });
    const event = nextInvocation(host);
    await t.throwsAsync(fn.fetch(new Request('http://x/', { signal: controller.signal })), { message: 'enough' });
    t.like(await event, { outcome: 'canceled' });
    t.deepEqual(lines, ['waits', 'aborted']);
  });
}

test('a handler may wait for AbortSignal.timeout()', async t => {
  const fn = await newHost(t).load(
    handler(`const signal = AbortSignal.any([AbortSignal.timeout(20)]);
      await new Promise(resolve => signal.addEventListener('abort', resolve)); return new Response('answer')`),
  );
  t.is(await textOf(fn.fetch('http://x/')), 'answer');
});

test('listener() answers 500 when the handler can never answer, also to a body that is not read', async t => {
  const host = newHost(t);
  const fn = await host.load(handler('await new Promise(() => {})'));
  const origin = await listen(t, host.listener({ function: fn }));
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = http.request(origin, { method: 'POST' }, response => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on('error', reject);
    request.write('some');
    setImmediate(() => request.end('more'));
  });
  t.is(status, 500);
});
