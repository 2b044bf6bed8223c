/** CPU time through a real host: who pays for what, what is forgiven, and what is stopped. */
import test from 'ava';
import type { InvocationEvent } from '../../src/index.js';
import { errorCode } from '../../src/quotas/errors.js';
import { emptyOutbound, handler, ISOLATIONS, newHost, nextInvocation, textOf } from '../host/new-host.js';

/** By rounds: the clock that a function sees does not move while it computes. */
const SPIN = `function spin(rounds) { let sum = 0; for (let at = 0; at < rounds; at++) sum = (sum * 31 + at) % 1000003; return sum; }`;

for (const isolation of ISOLATIONS) {
  test(`CPU time is that of the invocation that used it, however many interleave (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    const fn = await host.load(
      `${SPIN} export default { async fetch(request) {
        const isHeavy = request.url.endsWith('heavy');
        for (let step = 0; step < 4; step++) { if (isHeavy) spin(4_000_000); await scheduler.wait(1); }
        return new Response('');
      } }`,
    );
    const events: InvocationEvent[] = [];
    const isFinished = new Promise<void>(resolve => {
      host.on('invocation', event => {
        events.push(event);
        if (events.length === 8) resolve();
      });
    });
    const paths = ['heavy', 'light', 'light', 'light', 'light', 'light', 'light', 'light'];
    await Promise.all(paths.map(async path => (await fn.fetch(`http://x/${path}`)).text()));
    await isFinished;
    const heavy = events.find(({ url }) => url?.endsWith('heavy'))?.cpuMs ?? 0;
    const light = events.filter(({ url }) => url?.endsWith('light')).reduce((sum, { cpuMs }) => sum + cpuMs, 0);
    t.true(heavy > light, `heavy ${heavy} ms, all light ones ${light} ms`);
  });
}

test('a loop ends the invocation that runs it with exceededCpu, and those that share its isolate and have made a call with isolateLost', async t => {
  const { outbound, isCalled } = emptyOutbound();
  const host = newHost(t, { limits: { cpuMs: 50 }, outbound });
  const fn = await host.load(
    handler(
      `if (request.url.endsWith('loop')) for (;;); await fetch('http://y/'); await scheduler.wait(600_000); return new Response('')`,
    ),
  );
  const waiting = t.throwsAsync(fn.fetch('http://x/wait'), {
    code: 'EDGE_ISOLATE_LOST',
    message: /other work of the function used more CPU time or memory/,
  });
  await isCalled;
  const looped = nextInvocation(host, ({ url }) => url?.endsWith('loop') === true);
  const lost = nextInvocation(host, ({ url }) => url?.endsWith('wait') === true);
  await t.throwsAsync(fn.fetch('http://x/loop'), { code: 'EDGE_CPU_LIMIT', message: /option limits.cpuMs/ });
  await waiting;
  const { outcome, cpuMs } = await looped;
  t.is(outcome, 'exceededCpu');
  t.true(cpuMs >= 50);
  // Of the loop it pays nothing.
  const bystander = await lost;
  t.is(bystander.outcome, 'isolateLost');
  t.true(bystander.cpuMs < 50);
});

for (const [when, body] of [
  ['in the turn of its answer', 'queueMicrotask(burn); return new Response("answered")'],
  ['in waitUntil', 'ctx.waitUntil(scheduler.wait(1).then(burn)); return new Response("answered")'],
] as const) {
  test(`CPU time past the limit ${when} is seen as exceededCpu, though the answer has gone out`, async t => {
    const host = newHost(t, { limits: { cpuMs: 20, cpuOverrunMs: 0 } });
    // What is asked of another thread costs more than is left, so that nothing has to burn.
    const fn = await host.load(`const text = new TextEncoder().encode('password');
      let key;
      const burn = () =>
        crypto.subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-512', salt: text, iterations: 100_000 }, key, 4096);
      const prepare = async () => {
        key = await crypto.subtle.importKey('raw', text, 'PBKDF2', false, ['deriveBits']);
        return new Response('ready');
      };
      export default { fetch(request, env, ctx) { if (key === undefined) return prepare(); ${body} } }`);
    t.is(await (await fn.fetch('http://x/ready')).text(), 'ready');
    const event = nextInvocation(host, ({ url }) => url?.endsWith('burn') === true);
    t.is(await (await fn.fetch('http://x/burn')).text(), 'answered');
    t.like(await event, { outcome: 'exceededCpu', status: 200, error: { code: 'EDGE_CPU_LIMIT' } });
  });
}

test('many short turns past the limit end the invocation with exceededCpu', async t => {
  const host = newHost(t, { limits: { cpuMs: 20, cpuOverrunMs: 0 } });
  const fn = await host.load(
    `${SPIN} export default { async fetch() {
      for (;;) { spin(300_000); await scheduler.wait(0); }
    } }`,
  );
  const event = nextInvocation(host);
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CPU_LIMIT' });
  t.is((await event).outcome, 'exceededCpu');
});

const STOPPED: readonly (readonly [string, string])[] = [
  ['JSON.parse of a huge text', "const text = '[' + '1,'.repeat(3e6) + '1]'; for (;;) JSON.parse(text);"],
  ['a sort whose comparison never agrees', 'for (;;) Array.from({ length: 1e5 }, (_, n) => n).sort(() => 1);'],
  ['a chain of generators', 'function* more() { for (;;) yield 1; } for (const one of more());'],
];

for (const [name, body] of STOPPED) {
  test(`${name} is stopped, and the function answers again`, async t => {
    const host = newHost(t, { limits: { cpuMs: 100 } });
    const fn = await host.load(handler(`if (request.url.endsWith('bad')) { ${body} } return new Response('fine')`));
    await t.throwsAsync(fn.fetch('http://x/bad'), { code: 'EDGE_CPU_LIMIT' });
    t.is(await (await fn.fetch('http://x/')).text(), 'fine');
  });
}

test('compression, which works in other threads, is charged to the invocation', async t => {
  const host = newHost(t, { limits: { cpuMs: 50, cpuOverrunMs: 0 } });
  const fn = await host.load(
    handler(`const { readable, writable } = new CompressionStream('gzip');
      const writer = writable.getWriter();
      const chunk = new Uint8Array(65536);
      (async () => { for (;;) await writer.write(chunk) })();
      const reader = readable.getReader();
      for (;;) await reader.read();`),
  );
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CPU_LIMIT' });
});

test('a custom limit of the function replaces that of the plan, and by kind', async t => {
  const host = newHost(t, { plan: 'standard' });
  const fn = await host.load('export default { fetch() { for (;;); }, scheduled() { for (;;); } }', {
    limits: { cpuMs: { fetch: 30, scheduled: 60 } },
  });
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_CPU_LIMIT', message: /limit cpuMs is 30 ms/ });
  await t.throwsAsync(fn.scheduled(), { code: 'EDGE_CPU_LIMIT', message: /limit cpuMs is 60 ms/ });
});

test('an invocation that used 80 % of its CPU time has a warning', async t => {
  const host = newHost(t, { limits: { cpuMs: 40, cpuOverrunMs: 40 } });
  const fn = await host.load(`${SPIN} export default { async fetch() { spin(12_000_000); return new Response('') } }`);
  const event = nextInvocation(host);
  await fn.fetch('http://x/').catch(() => {});
  t.true((await event).warnings.some(({ limit }) => limit === 'cpuMs'));
});

test('consistent overruns end, also those that are over before the watchdog looks', async t => {
  const host = newHost(t, { limits: { cpuMs: 2, cpuOverrunMs: 0 } });
  const fn = await host.load(`${SPIN} export default { fetch() { spin(5_000_000); return new Response('answered') } }`);
  const codes = new Set<unknown>();
  for (let n = 0; n < 20; n++) codes.add(await textOf(fn.fetch('http://x/')).catch(errorCode));
  t.deepEqual([...codes], ['EDGE_CPU_LIMIT']);
});

test('a function that takes more than its limit the first time in each isolate is answered', async t => {
  const host = newHost(t, { limits: { cpuMs: 5, cpuOverrunMs: 5 } });
  const fn = await host.load(
    `${SPIN} let isWarm = false; export default { fetch(request) {
      if (request.url.endsWith('loop')) for (;;);
      if (!isWarm) { isWarm = true; spin(6_000_000); }
      return new Response('answered');
    } }`,
  );
  for (let n = 0; n < 5; n++) t.is(await textOf(fn.fetch('http://x/')), 'answered');
  // The isolate that replaces it is as cold.
  await t.throwsAsync(fn.fetch('http://x/loop'), { code: 'EDGE_CPU_LIMIT' });
  for (let n = 0; n < 5; n++) t.is(await textOf(fn.fetch('http://x/')), 'answered');
});

test('a function that takes more than its limit every time is answered by no more than the first isolates', async t => {
  const host = newHost(t, { limits: { cpuMs: 5, cpuOverrunMs: 5 } });
  const fn = await host.load(`${SPIN} export default { fetch() { spin(6_000_000); return new Response('answered') } }`);
  const answers: unknown[] = [];
  for (let n = 0; n < 40; n++) answers.push(await textOf(fn.fetch('http://x/')).catch(errorCode));
  t.true(answers.filter(answer => answer === 'answered').length <= 3, answers.join());
  t.is(new Set(answers).size, 2);
});
