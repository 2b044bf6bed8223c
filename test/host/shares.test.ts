/** What an account may take of the host, with real functions: bytes held, CPU time of the host, open invocations, time without progress. */
import test, { type ExecutionContext } from 'ava';
import type { EdgeFunction, EdgeHost, EdgeHostOptions } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from './new-host.js';

const MEBIBYTE = 1024 * 1024;
const GOOD = handler('return new Response("fine")');
const URL_OF = 'https://example.com/';

async function answers(t: ExecutionContext, fn: EdgeFunction): Promise<void> {
  t.is(await (await fn.fetch(URL_OF)).text(), 'fine');
}

/** The next warning of the host that has this code. */
function nextWarning(host: EdgeHost, code: string): Promise<Error> {
  return new Promise(resolve => {
    const listener = (error: Error & { code?: unknown }): void => {
      if (error.code !== code) return;
      host.off('warning', listener);
      resolve(error);
    };
    host.on('warning', listener);
  });
}

/** Answers every outgoing request with a body of so many bytes. */
function withSource(mebibytes: number): EdgeHostOptions {
  return {
    outbound: () => {
      let left = mebibytes * 16;
      const body = new ReadableStream({
        pull(controller) {
          if (left-- > 0) controller.enqueue(new Uint8Array(MEBIBYTE / 16));
          else controller.close();
        },
      });
      return new Response(body);
    },
  };
}

for (const isolation of ISOLATIONS) {
  test(`an account whose calls wait for connections without end loses its isolates, and nobody else theirs (${isolation})`, async t => {
    const host = newHost(t, { isolation, hostBytes: 2 * MEBIBYTE });
    const good = await host.account('good').load(GOOD);
    const bad = await host.account('bad').load(
      handler(`
const stall = () => new ReadableStream({ pull: () => new Promise(() => {}) });
for (let i = 0; i < 6; i++) env.FILES.put('s' + i, stall()).catch(() => {});
for (let i = 0; i < 200; i++) env.FILES.put('k' + i, stall(), { customMetadata: { x: 'あ'.repeat(9000) } }).catch(() => {});
await new Promise(() => {});`),
      { buckets: { FILES: 'files' } },
    );
    const warning = nextWarning(host, 'EDGE_MEMORY_LIMIT');
    const ended = Promise.all(
      [1, 2, 3].map(async () => t.throwsAsync(bad.fetch(URL_OF), { message: /that did not fall|hostBytes/ })),
    );
    await answers(t, good);
    t.regex((await warning).message, /account "bad" was ended: .*option hostBytes is 2097152/);
    for (const error of await ended) t.regex(String(Reflect.get(error, 'code')), /^EDGE_(MEMORY_LIMIT|OVERLOADED)$/);
    await answers(t, good);
  });
}

test('CPU time that the host uses for a body that is passed on is billed to the invocation', async t => {
  const host = newHost(t, withSource(32));
  const fn = await host.load(handler('return fetch("https://source.example/")'));
  const event = nextInvocation(host);
  const body = await (await fn.fetch(URL_OF)).arrayBuffer();
  t.is(body.byteLength, 32 * MEBIBYTE);
  const { cpuMs, outcome } = await event;
  t.is(outcome, 'ok');
  t.true(cpuMs > 10, String(cpuMs));
});

test('an invocation ends when the host has used its CPU time for it', async t => {
  const host = newHost(t, { ...withSource(4096), plan: 'free', limits: { cpuOverrunMs: 0 } });
  const fn = await host.load(handler('return fetch("https://source.example/")'));
  const event = nextInvocation(host);
  await t.throwsAsync((await fn.fetch(URL_OF)).arrayBuffer(), { code: 'EDGE_CPU_LIMIT' });
  const { cpuMs, outcome, error } = await event;
  t.is(outcome, 'exceededCpu');
  t.true(cpuMs > 10);
  t.regex(error?.message ?? '', /CPU time is .* limit cpuMs is 10 ms/);
});

test('an invocation that waits is billed no CPU time of the host', async t => {
  const host = newHost(t, {
    outbound: () => new Promise(resolve => setTimeout(() => resolve(new Response('late')), 200)),
  });
  const fn = await host.load(handler('return fetch("https://source.example/")'));
  await (await fn.fetch(URL_OF)).text();
  const event = nextInvocation(host);
  await (await fn.fetch(URL_OF)).text();
  const { cpuMs, wallMs } = await event;
  t.true(wallMs > 150);
  t.true(cpuMs < 50, String(cpuMs));
});

test('an account has as many open invocations as openInvocations, and is told so', async t => {
  const host = newHost(t, { openInvocations: 2 });
  const waiting = handler(
    'await new Promise(resolve => request.signal.addEventListener("abort", resolve)); return new Response()',
  );
  const account = host.account('busy', { openInvocations: 3 });
  const [one, other] = [await account.load(waiting, { name: 'one' }), await account.load(waiting, { name: 'other' })];
  const controller = new AbortController();
  const open = [one, other, one].map(fn => fn.fetch(URL_OF, { signal: controller.signal }).catch(() => {}));
  await t.throwsAsync(other.fetch(URL_OF), {
    code: 'EDGE_OVERLOADED',
    message: /3 are open, option openInvocations is 3/,
  });
  await answers(t, await host.account('another').load(GOOD));
  controller.abort();
  await Promise.all(open);
});

test('an HTTP invocation of which nothing moves is ended with EDGE_WALL_TIME_LIMIT after idleHttpMs', async t => {
  const host = newHost(t, { idleHttpMs: 1000 });
  const fn = await host.load(handler('await new Promise(() => setInterval(() => {}, 100))'));
  const event = nextInvocation(host);
  await t.throwsAsync(fn.fetch(URL_OF), {
    code: 'EDGE_WALL_TIME_LIMIT',
    message: /nothing of it has moved for 1000 ms \(option idleHttpMs/,
  });
  t.is((await event).outcome, 'exceededWallTime');
});

test('an HTTP invocation of which something moves has all the time it takes', async t => {
  const host = newHost(t, { idleHttpMs: 1000 });
  const fn = await host.load(
    handler(`
const { readable, writable } = new TransformStream();
ctx.waitUntil((async () => {
  const writer = writable.getWriter();
  for (let i = 0; i < 12; i++) { await writer.write(new Uint8Array(1)); await scheduler.wait(250); }
  await writer.close();
})());
return new Response(readable);`),
  );
  t.is((await (await fn.fetch(URL_OF)).arrayBuffer()).byteLength, 12);
});

for (const [name, value, most] of [
  ['hostBytes', 1000, /from 1048576 to 4294967296/],
  ['hostHeapBytes', 0, /from 1048576/],
  ['hostBufferBytes', 1.5, /whole number/],
  ['openInvocations', 0, /from 1 to 1000000/],
  ['openDescriptors', -1, /from 1 to 1000000/],
  ['idleHttpMs', 10, /from 1000 on, or Infinity/],
] as const) {
  test(`new EdgeHost() refuses ${name} of ${value}`, t => {
    t.throws(() => newHost(t, { [name]: value }), {
      instanceOf: RangeError,
      message: new RegExp(`${name} .*${most.source}`),
    });
  });
}

test('account() refuses bounds that are out of bounds', t => {
  const host = newHost(t);
  t.throws(() => host.account('a', { hostBytes: 12 }), {
    instanceOf: RangeError,
    message: /hostBytes of account\(\) is the number 12/,
  });
});
