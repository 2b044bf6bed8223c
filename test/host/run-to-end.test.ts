/** scheduled() and alarm() end with all of their event; fetch() ends when its caller waits no longer. */
import { once } from 'node:events';
import test from 'ava';
import type { EdgeFunction } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation, textOf } from './new-host.js';

const CALLS: readonly (readonly ['scheduled' | 'alarm', (fn: EdgeFunction) => Promise<unknown>])[] = [
  ['scheduled', fn => fn.scheduled()],
  ['alarm', fn => fn.alarm()],
];

const module = (kind: string, body: string): string => `export default { async ${kind}(event, env, ctx) { ${body} } }`;

for (const [kind, call] of CALLS) {
  for (const isolation of ISOLATIONS) {
    test(`${kind}() resolves when waitUntil is over (${isolation})`, async t => {
      const host = newHost(t, { isolation });
      const fn = await host.load(module(kind, "ctx.waitUntil(scheduler.wait(30).then(() => console.log('done')))"));
      const logs: string[] = [];
      host.on('log', ({ message }) => logs.push(message));
      await call(fn);
      t.deepEqual(logs, ['done']);
    });
  }

  test(`waitUntil of ${kind}() has the time of its invocation, and not waitUntilMs`, async t => {
    const host = newHost(t, { limits: { waitUntilMs: 30 } });
    const fn = await host.load(module(kind, "ctx.waitUntil(scheduler.wait(300).then(() => console.log('done')))"));
    const event = nextInvocation(host);
    await call(fn);
    t.like(await event, { outcome: 'ok', logLines: 1, warnings: [] });
  });

  test(`${kind}() rejects with EDGE_WALL_TIME_LIMIT when waitUntil takes longer than wallMs`, async t => {
    const host = newHost(t, { limits: { wallMs: { [kind]: 50 } } });
    const fn = await host.load(module(kind, 'ctx.waitUntil(scheduler.wait(600_000))'));
    await t.throwsAsync(call(fn), { code: 'EDGE_WALL_TIME_LIMIT' });
  });

  test(`${kind}() rejects with EDGE_CPU_LIMIT when waitUntil uses more CPU time than its limit`, async t => {
    const host = newHost(t, { limits: { cpuMs: 30, cpuOverrunMs: 0 } });
    const fn = await host.load(module(kind, 'ctx.waitUntil(scheduler.wait(5).then(() => { for (;;); }))'));
    await t.throwsAsync(call(fn), { code: 'EDGE_CPU_LIMIT' });
  });

  test(`${kind}() rejects with EDGE_CLOSED when the host is closed before waitUntil is over`, async t => {
    const host = newHost(t);
    const fn = await host.load(module(kind, "console.log('on'); ctx.waitUntil(scheduler.wait(600_000))"));
    const started = once(host, 'log');
    const ended = t.throwsAsync(call(fn), { code: 'EDGE_CLOSED' });
    await started;
    await host.close({ drainMs: 0 });
    await ended;
  });
}

const WAITS = handler(`await scheduler.wait(600_000); return new Response('late')`);

for (const isolation of ISOLATIONS) {
  test(`fetch() rejects with EDGE_WALL_TIME_LIMIT after limits.wallMs (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(WAITS, { limits: { wallMs: { fetch: 50 } } });
    const event = nextInvocation(host);
    await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_WALL_TIME_LIMIT', message: /limit wallMs is 50 ms/ });
    const { outcome, warnings } = await event;
    t.is(outcome, 'exceededWallTime');
    t.true(warnings.some(({ limit }) => limit === 'wallMs'));
  });

  test(`fetch() rejects with EDGE_TIMEOUT after timeoutMs, and waitUntil goes on (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      handler(`ctx.waitUntil(scheduler.wait(100).then(() => console.log('held')));
        await scheduler.wait(600_000)`),
    );
    await fn.fetch('http://x/', { timeoutMs: 60_000, signal: AbortSignal.abort() }).catch(() => {});
    const log = once(host, 'log');
    const event = nextInvocation(host);
    await t.throwsAsync(fn.fetch('http://x/', { timeoutMs: 50 }), {
      code: 'EDGE_TIMEOUT',
      message: /within 50 ms \(option timeoutMs\)/,
    });
    t.like((await log)[0], { message: 'held' });
    t.like(await event, { outcome: 'exceededWallTime' });
  });
}

test('timeoutMs bounds the body of the response, too', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`return new Response(new ReadableStream({
      async pull(c) { c.enqueue(new Uint8Array(10)); await scheduler.wait(600_000); }
    }))`),
  );
  const response = await fn.fetch('http://x/', { timeoutMs: 300 });
  await t.throwsAsync(response.text(), { code: 'EDGE_TIMEOUT' });
});

test('timeoutMs does not bound waitUntil of a response that has ended', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`ctx.waitUntil(scheduler.wait(120).then(() => console.log('held'))); return new Response('now')`),
  );
  const event = nextInvocation(host);
  t.is(await textOf(fn.fetch('http://x/', { timeoutMs: 100_000 })), 'now');
  t.like(await event, { outcome: 'ok', logLines: 1 });
});

test('timeoutMs bounds the wait for a function that has to be started again', async t => {
  const host = newHost(t, { maxIsolates: 1 });
  const fn = await host.load(`for (let n = 0; n < 2e7; n++); export default { fetch: () => new Response('here') };`, {
    name: 'slow',
  });
  const other = await host.load(handler(`return new Response('other')`), { name: 'other' });
  t.is(await textOf(other.fetch('http://x/')), 'other');
  const event = nextInvocation(host);
  await t.throwsAsync(fn.fetch('http://x/', { timeoutMs: 1 }), { code: 'EDGE_TIMEOUT' });
  t.like(await event, { outcome: 'exceededWallTime' });
  t.is(await textOf(fn.fetch('http://x/', { timeoutMs: 60_000 })), 'here');
});

for (const [timeoutMs, expected] of [
  [0, { instanceOf: RangeError, message: /timeoutMs is 0, expected .* from 1 on/ }],
  [Number.NaN, { instanceOf: RangeError, message: /timeoutMs is NaN/ }],
  ['5', { instanceOf: TypeError, message: /timeoutMs is string/ }],
] as const) {
  test(`fetch() refuses a timeoutMs of ${JSON.stringify(timeoutMs)}`, async t => {
    const host = newHost(t);
    const fn = await host.load(WAITS);
    const init: object = { timeoutMs };
    await t.throwsAsync(fn.fetch('http://x/', init), expected);
  });
}
