/** Functions that get what is known of the invocations of others. */
import test from 'ava';
import type { EdgeHost } from '../../../src/index.js';
import { ISOLATIONS, newHost, nextInvocation, nextLog, textOf } from '../new-host.js';

/** Logs what it gets as JSON. */
const WATCHER = `export default { tail(events) { console.log(JSON.stringify(events)); } };`;

async function watched(host: EdgeHost, name = 'watcher'): Promise<readonly Record<string, unknown>[]> {
  return JSON.parse(await nextLog(host, name));
}

for (const isolation of ISOLATIONS) {
  test(`exceptions of an item list what promises of waitUntil were rejected with (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    await host.load(WATCHER, { name: 'watcher' });
    const fn = await host.load(
      `export default {
         fetch(request, env, ctx) {
           ctx.waitUntil(Promise.reject(new RangeError('first')));
           ctx.waitUntil(scheduler.wait(5).then(() => { throw 'second'; }));
           if (request.method === 'POST') throw new Error('handler');
           return new Response('fine');
         },
         scheduled(event, env, ctx) {
           ctx.waitUntil(Promise.reject(new RangeError('first')));
           ctx.waitUntil(scheduler.wait(5).then(() => { throw 'second'; }));
         },
       };`,
      { name: 'watched', tails: ['watcher'] },
    );
    const seen = async (run: () => Promise<unknown>): Promise<unknown> => {
      const items = watched(host);
      await run().catch(() => {});
      const [item] = (await items) as readonly { outcome: string; exceptions: { name: string; message: string }[] }[];
      return [item?.outcome, item?.exceptions.map(({ name, message }) => `${name}: ${message}`).sort()];
    };
    const both = ['Error: second', 'RangeError: first'];
    t.deepEqual(await seen(() => textOf(fn.fetch('https://example.com/'))), ['ok', both]);
    const all = ['Error: handler', ...both].sort();
    t.deepEqual(await seen(() => textOf(fn.fetch('https://example.com/', { method: 'POST' }))), ['exception', all]);
    t.deepEqual(await seen(() => fn.scheduled()), ['exception', both]);
  });

  test(`a tail function gets what another has logged and thrown (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    await host.load(WATCHER, { name: 'watcher' });
    const fn = await host.load(
      `export default { async fetch(request) {
         console.log('hello', { a: 1 }); console.error('oh');
         if (request.method === 'POST') throw new RangeError('too far');
         return new Response('fine', { status: 202 });
       } };`,
      { name: 'watched', tails: ['watcher'] },
    );
    const first = watched(host);
    await textOf(fn.fetch('https://example.com/path?a=b', { headers: { 'x-one': '1' } }));
    const [item] = await first;
    t.like(item, {
      scriptName: 'watched',
      scriptVersion: { id: fn.version },
      outcome: 'ok',
      executionModel: 'stateless',
      exceptions: [],
      diagnosticsChannelEvents: [],
      truncated: false,
      event: {
        request: { method: 'GET', url: 'https://example.com/path?a=b', headers: { 'x-one': '1' }, cf: {} },
        response: { status: 202 },
      },
    });
    t.like(item?.logs, [
      { level: 'log', message: ['hello { a: 1 }'] },
      { level: 'error', message: ['oh'] },
    ]);
    for (const key of ['cpuTime', 'wallTime', 'eventTimestamp']) t.is(typeof item?.[key], 'number', key);
    const second = watched(host);
    await t.throwsAsync(fn.fetch('https://example.com/', { method: 'POST' }), { code: 'EDGE_HANDLER_THREW' });
    const [failed] = await second;
    t.is(failed?.outcome, 'exception');
    t.like(failed?.exceptions, [{ name: 'RangeError', message: 'too far' }]);
    t.regex(JSON.stringify(failed?.exceptions), /watched\.js:\d+:\d+/);
  });
}

test('a tail function gets other events, with what they were about', async t => {
  const host = newHost(t);
  await host.load(
    `export default { tail(events) {
       console.log(JSON.stringify(events.map(({ event }) => [event, event.scheduledTime instanceof Date])));
     } };`,
    { name: 'watcher' },
  );
  const fn = await host.load('export default { scheduled() {}, queue() {}, alarm() {}, add() {} };', {
    name: 'watched',
    tails: ['watcher'],
  });
  let next = nextLog(host, 'watcher');
  await fn.scheduled({ cron: '* * * * *', scheduledTime: new Date(1000) });
  t.is(await next, '[[{"cron":"* * * * *","scheduledTime":1000},false]]');
  next = nextLog(host, 'watcher');
  await fn.queue('jobs', [{ body: 1 }, { body: 2 }]);
  t.is(await next, '[[{"queue":"jobs","batchSize":2},false]]');
  next = nextLog(host, 'watcher');
  await fn.alarm({ scheduledTime: new Date(2000) });
  t.is(await next, '[[{"scheduledTime":"1970-01-01T00:00:02.000Z"},true]]');
  next = nextLog(host, 'watcher');
  await fn.rpc.add(1);
  t.is(await next, '[[{"rpcMethod":"add"},false]]');
});

test('what authenticates is redacted, and getUnredacted() gives the request as it was', async t => {
  const host = newHost(t);
  await host.load(
    `export default { tail([{ event: { request } }]) {
       const { url, headers } = request.getUnredacted();
       console.log(JSON.stringify([request.url, request.headers, url, headers, JSON.stringify(request).includes('hunter2')]));
     } };`,
    { name: 'watcher' },
  );
  const fn = await host.load('export default { fetch: () => new Response() };', {
    name: 'watched',
    tails: ['watcher'],
  });
  const next = nextLog(host, 'watcher');
  const id = 'deadbeef-dead-beef-dead-beefdeadbeef';
  const url = `https://example.com/users/${id}/list?key=AbCdEfGh12345678IjKlMn&page=2`;
  await textOf(fn.fetch(url, { headers: { authorization: 'Bearer hunter2', 'x-plain': 'yes' } }));
  t.deepEqual(JSON.parse(await next), [
    'https://example.com/users/REDACTED/list?key=REDACTED&page=2',
    { authorization: 'REDACTED', 'x-plain': 'yes' },
    url,
    { authorization: 'Bearer hunter2', 'x-plain': 'yes' },
    false,
  ]);
});

test('a tail function is not watched by tail functions, itself included', async t => {
  const host = newHost(t);
  let tails = 0;
  host.on('invocation', ({ kind }) => {
    if (kind === 'tail') tails++;
  });
  const source = 'export default { fetch: () => new Response(), tail() { console.log("tail"); } };';
  const one = await host.load(source, { name: 'one', tails: ['two'] });
  await host.load(source, { name: 'two', tails: ['one'] });
  const ended = nextInvocation(host, ({ kind }) => kind === 'tail');
  await textOf(one.fetch('http://x/'));
  t.is((await ended).function, 'two');
  // An invocation of each, one after the other: what the tail had begun would be over.
  const again = nextInvocation(host, ({ kind }) => kind === 'tail');
  await textOf(one.fetch('http://x/'));
  await again;
  t.is(tails, 2);
  await t.throwsAsync(host.load(source, { name: 'self', tails: ['self'] }), {
    instanceOf: TypeError,
    message: /Option tails of load\(\) has the function itself, "self"/,
  });
});

test('functions that fetch each other through their tails come to an end', async t => {
  const host = newHost(t);
  await host.load(`export default { async tail() { await fetch('http://watched.example/'); } };`, { name: 'watcher' });
  let count = 0;
  const over = new Promise<void>(resolve => {
    host.on('warning', error => {
      if (/misses events: 16 invocations/.test(error.message)) resolve();
    });
  });
  await host.load('export default { fetch: () => new Response() };', {
    name: 'watched',
    tails: ['watcher'],
    routes: [{ pattern: 'watched.example/*', customDomain: true }],
  });
  host.on('invocation', ({ kind }) => {
    if (kind === 'tail') count++;
  });
  await (await host.fetch(new Request('http://watched.example/'))).text();
  await over;
  t.true(count < 16, `${count}`);
});

test('a tail function that throws, is missing or has no handler concerns nobody', async t => {
  const host = newHost(t);
  const warnings: string[] = [];
  host.on('warning', ({ message }) => warnings.push(message));
  await host.load('export default { fetch: () => new Response() };', { name: 'deaf' });
  await host.load('export default { tail() { throw new Error("no") } };', { name: 'angry' });
  await host.load(WATCHER, { name: 'watcher' });
  const fn = await host.load('export default { fetch: () => new Response("fine") };', {
    name: 'watched',
    tails: ['missing', 'deaf', 'angry', 'watcher'],
  });
  for (let i = 0; i < 2; i++) {
    const next = watched(host);
    const failed = nextInvocation(host, ({ function: name }) => name === 'angry');
    t.is(await textOf(fn.fetch('http://x/')), 'fine');
    t.is((await next)[0]?.scriptName, 'watched');
    t.is((await failed).outcome, 'exception');
  }
  t.deepEqual(warnings.sort(), [
    'Tail function "deaf" of account "default" misses events: it has no handler tail',
    'Tail function "missing" of account "default" misses events: it is not loaded',
  ]);
});

test('what goes beyond logBytes is not recorded, and the item says so', async t => {
  const host = newHost(t);
  await host.load(
    `export default { tail([{ logs, truncated, event }]) {
       console.log(JSON.stringify([truncated, logs.length, logs.reduce((sum, { message }) => sum + message[0].length, 0), Object.keys(event.request.headers).length]));
     } };`,
    { name: 'watcher' },
  );
  const fn = await host.load(
    `export default { fetch() { for (let i = 0; i < 40; i++) console.log('x'.repeat(4096)); return new Response(); } };`,
    { name: 'watched', tails: ['watcher'] },
  );
  const next = nextLog(host, 'watcher');
  await textOf(fn.fetch('http://x/', { headers: { a: 'b' } }));
  const [truncated, lines, characters, headers]: readonly number[] = JSON.parse(await next);
  t.deepEqual([truncated, headers], [true, 1] as never);
  t.true((lines ?? 0) >= 32 && (lines ?? 0) <= 34);
  t.true((characters ?? 0) > 120 * 1024 && (characters ?? 0) < 129 * 1024);
});

test('invocations that end together are delivered together', async t => {
  const host = newHost(t);
  await host.load(`export default { tail(events) { console.log(String(events.length)); } };`, { name: 'watcher' });
  const fn = await host.load('export default { fetch: () => new Response() };', {
    name: 'watched',
    tails: ['watcher'],
  });
  let total = 0;
  let batches = 0;
  const all = new Promise<void>(resolve => {
    host.on('log', ({ message }) => {
      batches++;
      total += Number(message);
      if (total === 50) resolve();
    });
  });
  await Promise.all(Array.from({ length: 50 }, () => textOf(fn.fetch('http://x/'))));
  await all;
  t.true(batches < 50, `${batches} batches`);
});

test('load() refuses tails that are no names of functions, and more than ten', async t => {
  const host = newHost(t);
  const source = 'export default { fetch() {} };';
  await t.throwsAsync(host.load(source, { tails: ['a b'] }), { instanceOf: TypeError, message: /tails/ });
  await t.throwsAsync(host.load(source, { tails: Array.from({ length: 11 }, (_, i) => `t${i}`) }), {
    message: /tails/,
  });
});
