/** What goes on when the client is gone, or the response is complete: what waitUntil holds, for so long, and nothing else. */
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import type { LogEvent } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from '../host/new-host.js';
import { listen } from './ports.js';

for (const isolation of ISOLATIONS) {
  test(`a disconnect ends timers and fetches at once when waitUntil holds nothing (${isolation})`, async t => {
    let isFetchOver: Promise<unknown> = Promise.resolve();
    let fetched: () => void = () => {};
    const isFetched = new Promise<void>(resolve => {
      fetched = resolve;
    });
    const origin = await listen(t, request => {
      isFetchOver = new Promise(resolve => request.on('error', resolve));
      fetched();
    });
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const fn = await host.load(
      handler(`setTimeout(() => console.log('late'), 600_000); await fetch('${origin}/'); return new Response('')`),
    );
    const logs: LogEvent[] = [];
    host.on('log', event => logs.push(event));
    const event = nextInvocation(host);
    const controller = new AbortController();
    const answer = fn.fetch('http://x/', { signal: controller.signal });
    await isFetched;
    controller.abort();
    await t.throwsAsync(answer, { any: true });
    t.like(await event, { outcome: 'canceled' });
    await isFetchOver;
    t.deepEqual(logs, []);
  });

  test(`a disconnect leaves waitUntil its time, and its timers and fetches go on (${isolation})`, async t => {
    let hold: () => void = () => {};
    const origin = await listen(t, (_request, response) => {
      hold = () => response.end('fetched');
      started();
    });
    let started: () => void = () => {};
    const isStarted = new Promise<void>(resolve => {
      started = resolve;
    });
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const fn = await host.load(
      handler(`ctx.waitUntil(fetch('${origin}/').then(r => r.text()).then(async text => { await scheduler.wait(5); console.log(text) }));
        await new Promise(() => {})`),
    );
    const log = once(host, 'log');
    const event = nextInvocation(host);
    const controller = new AbortController();
    const answer = fn.fetch('http://x/', { signal: controller.signal });
    await isStarted;
    controller.abort();
    await t.throwsAsync(answer, { any: true });
    hold();
    t.like((await log)[0], { message: 'fetched' });
    t.like(await event, { outcome: 'canceled' });
  });
}

test('waitUntil ends at its limit after a disconnect', async t => {
  const host = newHost(t, { limits: { waitUntilMs: 50 } });
  const fn = await host.load(handler(`ctx.waitUntil(scheduler.wait(600_000)); await new Promise(() => {})`));
  const event = nextInvocation(host);
  const controller = new AbortController();
  const answer = fn.fetch('http://x/', { signal: controller.signal });
  setImmediate(() => controller.abort());
  await t.throwsAsync(answer, { any: true });
  t.like(await event, { outcome: 'canceled' });
});

test('waitUntil ends at its limit after the response is complete', async t => {
  const host = newHost(t, { limits: { waitUntilMs: 50 } });
  const fn = await host.load(handler(`ctx.waitUntil(scheduler.wait(600_000)); return new Response('now')`));
  const event = nextInvocation(host);
  t.is(await (await fn.fetch('http://x/')).text(), 'now');
  t.like(await event, { outcome: 'ok', status: 200 });
});

test('waitUntil ends at its limit after the handler failed', async t => {
  const host = newHost(t, { limits: { waitUntilMs: 50 } });
  const fn = await host.load(handler(`ctx.waitUntil(scheduler.wait(600_000)); throw new Error('no')`));
  const event = nextInvocation(host);
  await t.throwsAsync(fn.fetch('http://x/'), { code: 'EDGE_HANDLER_THREW' });
  t.like(await event, { outcome: 'exception' });
});

test('what nothing holds ends with the response', async t => {
  const host = newHost(t);
  const fn = await host.load(handler(`setTimeout(() => console.log('late'), 600_000); return new Response('now')`));
  const event = nextInvocation(host);
  t.is(await (await fn.fetch('http://x/')).text(), 'now');
  t.like(await event, { outcome: 'ok', logLines: 0 });
});

test('a client that closes its connection ends the invocation', async t => {
  const host = newHost(t);
  const fn = await host.load(handler(`console.log('started'); await scheduler.wait(600_000)`));
  const origin = await listen(t, host.listener({ function: fn }));
  const event = nextInvocation(host);
  const started = once(host, 'log');
  const request = http.get(origin).on('error', () => {});
  await started;
  request.destroy();
  t.is((await event).outcome, 'canceled');
});

test('an HTTP invocation has no limit on wall time while its client stays', async t => {
  const host = newHost(t, { limits: { wallMs: 20 } });
  const fn = await host.load(handler(`await scheduler.wait(1200); return new Response('done')`));
  t.is(await (await fn.fetch('http://x/')).text(), 'done');
});
