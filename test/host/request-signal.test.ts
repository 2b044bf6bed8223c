/** `request.signal` while a response is being sent: it fires when the client goes, before what the client waits for is canceled. */
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHost } from '../../src/index.js';
import { ISOLATIONS, newHost, nextInvocation } from './new-host.js';
import { clientOf, type Exchange, type Protocol, sessionOf } from './protocols.js';

const BODY =
  "new ReadableStream({ async pull(controller) { await scheduler.wait(20); controller.enqueue(new Uint8Array(1)); }, cancel() { console.log('cancel'); } })";
/** Answers with a stream of its own or with that of a fetch, and logs the end of both. */
const STREAMS = `
  const watch = (request, ctx) => request.signal.addEventListener('abort', () => {
    console.log('signal ' + request.signal.reason.name);
    ctx.waitUntil(scheduler.wait(10).then(() => console.log('held')));
  });
  export default { async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === '/before') { watch(request, ctx); console.log('begun'); await scheduler.wait(60_000); }
    if (pathname === '/late') {
      ctx.waitUntil(scheduler.wait(300).then(() => console.log('late ' + request.signal.aborted + ' ' + request.signal.reason?.name)));
      return new Response(${BODY});
    }
    watch(request, ctx);
    return pathname === '/passed' ? fetch('https://up.test/') : new Response(${BODY});
  } };`;

/** Asks for a path and goes when something of the answer has come. */
type Leave = (t: ExecutionContext, host: EdgeHost, fn: EdgeFunction, path: string) => Promise<void>;

function goes(protocol: Protocol, end: (exchange: Exchange, origin: string) => void): Leave {
  const { listen, open } = clientOf(protocol);
  return async (t, host, fn, path) => {
    const origin = await listen(t, host.listener({ function: fn }));
    const exchange = open(origin + path);
    if (path === '/before') await once(host, 'log');
    else await (await exchange.answer).body[Symbol.asyncIterator]().next();
    end(exchange, origin);
  };
}

const WAYS: Readonly<Record<string, Leave>> = {
  'HTTP/1.1': goes('HTTP/1.1', ({ leave }) => leave()),
  'HTTP/2': goes('HTTP/2', ({ leave }) => leave()),
  'a lost connection of HTTP/2': goes('HTTP/2', (_exchange, origin) => sessionOf(origin).destroy()),
  'the signal of fn.fetch()': async (t, host, fn, path) => {
    const controller = new AbortController();
    const answer = fn.fetch(`http://x${path}`, { signal: controller.signal });
    if (path === '/before') {
      await once(host, 'log');
      controller.abort();
      await t.throwsAsync(answer, { any: true });
      return;
    }
    const reader = (await answer).body?.getReader();
    await reader?.read();
    controller.abort();
    await t.throwsAsync(
      async () => {
        while (!(await reader?.read())?.done);
      },
      { any: true },
    );
  },
  'a service binding': async (_t, host, _fn, path) => {
    const caller = await host.load(
      `export default { async fetch(request, env) {
        const controller = new AbortController();
        const answer = env.NEXT.fetch('http://x' + new URL(request.url).pathname, { signal: controller.signal });
        answer.catch(() => {});
        if (request.url.endsWith('/before')) await scheduler.wait(300);
        else await (await answer).body.getReader().read();
        controller.abort();
        return new Response();
      } };`,
      { name: 'caller', services: { NEXT: 'streams' } },
    );
    await caller.fetch(`http://x${path}`);
  },
};

for (const isolation of ISOLATIONS) {
  for (const [way, leave] of Object.entries(WAYS)) {
    for (const path of ['/before', '/own', '/passed', '/late']) {
      test(`request.signal fires when the client goes by ${way}, ${path}, isolation ${isolation}`, async t => {
        const host = newHost(t, { isolation, outbound: () => new Response(endless()) });
        const logs: string[] = [];
        host.on('log', ({ message }) => logs.push(message));
        const fn = await host.load(STREAMS, { name: 'streams' });
        const over = nextInvocation(host, event => event.function === 'streams');
        await leave(t, host, fn, path);
        const { outcome } = await over;
        t.is(outcome, path === '/before' ? 'canceled' : 'responseStreamDisconnected');
        const expected = {
          '/before': ['begun', 'signal AbortError', 'held'],
          '/own': ['signal AbortError', 'cancel', 'held'],
          '/passed': ['signal AbortError', 'held'],
          '/late': ['cancel', 'late true AbortError'],
        };
        t.deepEqual(logs, expected[path as keyof typeof expected]); // one of those above
      });
    }
  }
}

for (const isolation of ISOLATIONS) {
  test(`request.signal fires in a handler whose client has gone before it began (${isolation})`, async t => {
    const host = newHost(t, { isolation, limits: { cpuMs: 5000 } });
    const logs: string[] = [];
    host.on('log', ({ message }) => logs.push(message));
    const fn = await host.load(`export default { fetch(request) {
      if (request.url.endsWith('/busy')) {
        for (let i = 0; i < 5e8; i++);
        return new Response('done');
      }
      console.log(request.signal.aborted);
      return new Promise(resolve => request.signal.addEventListener('abort', () => { console.log('fired'); resolve(new Response()); }));
    } };`);
    await fn.fetch('http://x/busy').then(answer => answer.text());
    const busy = fn.fetch('http://x/busy');
    // The request and its end wait together, until the isolate is no longer busy.
    await new Promise(resolve => setTimeout(resolve, 20));
    const controller = new AbortController();
    const over = nextInvocation(host, ({ url }) => url === 'http://x/gone');
    const gone = fn.fetch('http://x/gone', { signal: controller.signal });
    await new Promise(resolve => setTimeout(resolve, 20));
    controller.abort(new Error('gone'));
    await t.throwsAsync(gone, { name: 'Error', message: 'gone' });
    t.is(await (await busy).text(), 'done');
    t.is((await over).outcome, 'canceled');
    t.deepEqual(logs, ['false', 'fired']);
  });
}

test('request.signal of a function fires when its caller cancels the body that it has answered with', async t => {
  const host = newHost(t);
  const logs: string[] = [];
  host.on('log', ({ message }) => logs.push(message));
  await host.load(STREAMS, { name: 'streams' });
  const over = nextInvocation(host, event => event.function === 'streams');
  const caller = await host.load(
    "export default { async fetch(request, env) { const answer = await env.NEXT.fetch('http://x/own'); await answer.body.cancel(); return new Response(); } };",
    { name: 'caller', services: { NEXT: 'streams' } },
  );
  await caller.fetch('http://x/');
  await over;
  t.deepEqual(logs, ['signal AbortError', 'cancel', 'held']);
});

/** A chunk now and then. */
function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await new Promise(resolve => setTimeout(resolve, 20));
      controller.enqueue(new Uint8Array(1));
    },
  });
}
