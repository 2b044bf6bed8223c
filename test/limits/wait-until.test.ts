/** What goes on when the client is gone, or the response is complete: what waitUntil holds, for so long, and nothing else. */
import { once } from 'node:events';
import http from 'node:http';
import test from 'ava';
import type { LogEvent } from '../../src/index.js';
import { handler, ISOLATIONS, newHost, nextInvocation } from '../host/new-host.js';
import { listen } from '../servers.js';

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

/** A handler that goes on by itself beside what waitUntil holds, in more than one way. */
const GOES_ON = `
  ctx.waitUntil((async () => {
    await null;
    console.log('held: ' + (await (await fetch(env.ORIGIN + 'held')).text()));
    await scheduler.wait(1);
    await import('./more.js');
    await crypto.subtle.digest('SHA-256', new Uint8Array(1));
    console.log('held: ' + (await (await fetch(env.ORIGIN + 'more')).text()));
  })());
  setTimeout(() => console.log('own timer'), 600_000);
  const own = async () => {
    try {
      await fetch(env.ORIGIN + 'own');
    } catch (error) {
      console.log('own: ' + error.name);
      await fetch(env.ORIGIN + 'again').catch(error => console.log('again: ' + error.name));
      try {
        ctx.waitUntil(scheduler.wait(1));
      } catch (error) {
        console.log('late: ' + error.name);
      }
      await scheduler.wait(1);
      console.log('own goes on');
    }
  };
  await own();
  return new Response('too late');`;

for (const isolation of ISOLATIONS) {
  test(`a disconnect ends what the handler has begun beside a promise of waitUntil, which goes on (${isolation})`, async t => {
    const paths: string[] = [];
    let answerHeld: () => void = () => {};
    let isOwnOver: () => void = () => {};
    const ownOver = new Promise<void>(resolve => {
      isOwnOver = resolve;
    });
    let arrived: () => void = () => {};
    const bothArrived = new Promise<void>(resolve => {
      arrived = resolve;
    });
    const origin = await listen(t, (request, response) => {
      paths.push(request.url ?? '');
      if (request.url === '/held') answerHeld = () => response.end('first');
      else if (request.url === '/own') response.on('close', isOwnOver);
      else response.end('second');
      if (paths.length === 2) arrived();
    });
    const host = newHost(t, { isolation, egress: { allow: ['127.0.0.0/8'] } });
    const main = handler(GOES_ON);
    const source = { main: 'main.js', modules: { 'main.js': main, 'more.js': 'export const more = 1' } };
    const fn = await host.load(source, { vars: { ORIGIN: `${origin}/` } });
    const logs: string[] = [];
    host.on('log', ({ message }) => logs.push(message));
    const event = nextInvocation(host);
    const controller = new AbortController();
    const answer = fn.fetch('http://x/', { signal: controller.signal });
    await bothArrived;
    controller.abort();
    await t.throwsAsync(answer, { any: true });
    await ownOver;
    answerHeld();
    t.like(await event, { outcome: 'canceled' });
    t.deepEqual(logs, ['own: TypeError', 'again: AbortError', 'late: TypeError', 'held: first', 'held: second']);
    t.deepEqual(paths.sort(), ['/held', '/more', '/own']);
  });
}

test('a listener of the abort event may still give waitUntil a promise, and nothing later may', async t => {
  const host = newHost(t, { outbound: () => new Response('stored') });
  const fn = await host.load(
    handler(`console.log('started');
      request.signal.addEventListener('abort', () => {
        ctx.waitUntil(fetch('http://x/').then(r => r.text()).then(text => console.log(text)));
      });
      await scheduler.wait(600_000)`),
  );
  const logs: string[] = [];
  host.on('log', ({ message }) => logs.push(message));
  const started = once(host, 'log');
  const event = nextInvocation(host);
  const controller = new AbortController();
  const answer = fn.fetch('http://x/', { signal: controller.signal });
  await started;
  controller.abort();
  await t.throwsAsync(answer, { any: true });
  t.like(await event, { outcome: 'canceled' });
  t.deepEqual(logs, ['started', 'stored']);
});

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

test('an HTTP invocation has no limit on wall time while its client stays, unless one is set', async t => {
  const host = newHost(t, { limits: { wallMs: { scheduled: 20, queue: 20, alarm: 20 } } });
  const fn = await host.load(handler(`await scheduler.wait(1200); return new Response('done')`));
  t.is(await (await fn.fetch('http://x/')).text(), 'done');
});
