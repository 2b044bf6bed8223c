/** The bounds of messages, each at the bound and past it, for functions and for the application. */
import test from 'ava';
import { QUEUE_LIMITS } from '../../src/bindings/queue/limits.js';
import { LIMITS } from '../../src/quotas/limits.js';
import { handler, newHost } from '../host/new-host.js';

const { messageBytes, batchBytes, batchMessages, delaySeconds } = QUEUE_LIMITS;

/** Runs code of a function that has `env.JOBS`, and answers what each step was refused with; null where it was not. */
const STEPS = `const out = []; const step = async call => { try { await call(); out.push(null) } catch (error) { out.push([error.name, error.message, error.code ?? null]) } };`;

test('send() takes a message of the bound, and not one byte more', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`${STEPS}
      await step(() => env.JOBS.send('x'.repeat(${messageBytes}), { contentType: 'text' }));
      await step(() => env.JOBS.send('x'.repeat(${messageBytes} + 1), { contentType: 'text' }));
      await step(() => env.JOBS.send(new Uint8Array(${messageBytes} + 1), { contentType: 'bytes' }));
      return Response.json(out)`),
    { queues: { JOBS: 'jobs' } },
  );
  const [fits, text, bytes] = JSON.parse(await (await fn.fetch('http://x/')).text());
  const refusal = [
    'Error',
    `Queue send failed: message length of ${messageBytes + 1} bytes exceeds limit of ${messageBytes} (10201)`,
    10201,
  ];
  t.deepEqual([fits, text, bytes], [null, refusal, refusal]);
  t.like(await host.queue('jobs').metrics(), { backlogCount: 1, backlogBytes: messageBytes });
  const own = host.queue('own');
  await own.send('x'.repeat(messageBytes), { contentType: 'text' });
  await t.throwsAsync(own.send('x'.repeat(messageBytes + 1), { contentType: 'text' }), { message: /10201/ });
});

test('sendBatch() takes as many messages and bytes as the bounds say, and all or none', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`${STEPS}
      const batch = (count, bytes) => Array.from({ length: count }, () => ({ body: 'x'.repeat(bytes), contentType: 'text' }));
      await step(() => env.JOBS.sendBatch(batch(${batchMessages}, 1)));
      await step(() => env.JOBS.sendBatch(batch(${batchMessages} + 1, 1)));
      await step(() => env.JOBS.sendBatch(batch(2, ${batchBytes / 2})));
      await step(() => env.JOBS.sendBatch([...batch(2, ${batchBytes / 2}), { body: '1' }]));
      await step(() => env.JOBS.sendBatch([]));
      await step(() => env.JOBS.sendBatch(new Set([{ body: 1 }])));
      return Response.json(out)`),
    { queues: { JOBS: 'jobs' } },
  );
  const out = JSON.parse(await (await fn.fetch('http://x/')).text());
  t.deepEqual(
    out.map((refused: readonly unknown[] | null) => refused?.at(-1)),
    [undefined, 10203, undefined, 10202, null, undefined],
  );
  t.is(out[4][1], 'sendBatch() requires at least one message');
  t.like(await host.queue('jobs').metrics(), {
    backlogCount: batchMessages + 3,
    backlogBytes: batchMessages + batchBytes + 1,
  });
  const own = host.queue('own');
  const batch = (count: number) => Array.from({ length: count }, () => ({ body: 1 }));
  await own.sendBatch(batch(batchMessages));
  await t.throwsAsync(own.sendBatch(batch(batchMessages + 1)), { message: /10203/ });
  await t.throwsAsync(own.sendBatch([]), { message: 'sendBatch() requires at least one message' });
});

test('delays are from 0 to the bound', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`${STEPS}
      for (const delaySeconds of [0, ${delaySeconds}, -1, ${delaySeconds + 1}, NaN]) {
        await step(() => env.JOBS.send(1, { delaySeconds }));
        await step(() => env.JOBS.sendBatch([{ body: 1, delaySeconds }]));
        await step(() => env.JOBS.sendBatch([{ body: 1 }], { delaySeconds }));
      }
      return Response.json(out.map(refused => refused === null))`),
    { queues: { JOBS: { queue: 'jobs', deliveryDelaySeconds: 5 } } },
  );
  const taken = JSON.parse(await (await fn.fetch('http://x/')).text());
  t.deepEqual(taken, [...Array(6).fill(true), ...Array(9).fill(false)]);
  t.is((await host.queue('jobs').pull()).length, 3);
  const own = host.queue('own');
  await t.throwsAsync(own.send(1, { delaySeconds: delaySeconds + 1 }), { instanceOf: Error });
  await t.throwsAsync(own.send(1, { delaySeconds: -1 }), { instanceOf: Error });
});

test('bodies that a content type does not take are refused', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`${STEPS}
      const cycle = {}; cycle.self = cycle;
      await step(() => env.JOBS.send(undefined));
      await step(() => env.JOBS.send(1n));
      await step(() => env.JOBS.send(cycle));
      await step(() => env.JOBS.send(() => {}));
      await step(() => env.JOBS.send(() => {}, { contentType: 'v8' }));
      await step(() => env.JOBS.send(1, { contentType: 'text' }));
      await step(() => env.JOBS.send(new ArrayBuffer(1), { contentType: 'bytes' }));
      await step(() => env.JOBS.send(1, { contentType: 'xml' }));
      const sent = new Uint8Array(8), kept = new Uint8Array(8);
      await step(() => env.JOBS.send(sent, { contentType: 'bytes' }));
      await step(() => env.JOBS.sendBatch([{ body: kept, contentType: 'bytes' }]));
      return Response.json([out, sent.byteLength, kept.byteLength])`),
    { queues: { JOBS: 'jobs' }, compatibilityDate: '2024-03-18' },
  );
  const [out, sentLength, keptLength] = JSON.parse(await (await fn.fetch('http://x/')).text());
  t.deepEqual(
    out.map((refused: readonly unknown[] | null) => refused?.[0] ?? null),
    [
      'TypeError',
      'TypeError',
      'TypeError',
      'DataCloneError',
      'DataCloneError',
      'TypeError',
      'TypeError',
      'TypeError',
      null,
      null,
    ],
  );
  t.is(out[0][1], 'Message body cannot be undefined');
  t.is(out[6][1], 'Content Type "bytes" requires a value of type ArrayBufferView, but received: ArrayBuffer');
  t.is(out[7][1], 'Unsupported queue message content type: xml');
  t.deepEqual([sentLength, keptLength], [0, 8]);
});

test('a content type is taken in any case, from functions and from the application', async t => {
  const host = newHost(t);
  const fn = await host.load(
    handler(`await env.JOBS.send({ a: 1 }, { contentType: 'JSON' });
      await env.JOBS.sendBatch([{ body: 'b', contentType: 'Text' }, { body: new Uint8Array(1), contentType: 'BYTES' }]);
      return Response.json(null)`),
    { queues: { JOBS: 'jobs' } },
  );
  await (await fn.fetch('http://x/')).text();
  // What a program in JavaScript passes.
  const contentType = 'V8' as 'v8';
  await host.queue('jobs').send('own', { contentType });
  await host.queue('jobs').sendBatch([{ body: 'two', contentType }]);
  const claimed = await host.queue('jobs').pull();
  t.deepEqual(claimed.map(({ contentType: type }) => type).sort(), ['bytes', 'json', 'text', 'v8', 'v8']);
});

test('the content type of messages that name none follows the compatibility date', async t => {
  const host = newHost(t);
  const sends = handler('await env.JOBS.send(new Map([[1, 2]])); return new Response()');
  for (const [compatibilityDate, compatibilityFlags, type] of [
    ['2024-03-17', [], 'v8'],
    ['2024-03-17', ['queues_json_messages'], 'json'],
    ['2024-03-18', [], 'json'],
  ] as const) {
    const fn = await host.load(sends, {
      name: 'sender',
      queues: { JOBS: 'jobs' },
      compatibilityDate,
      compatibilityFlags,
    });
    await fn.fetch('http://x/');
    const [message] = await host.queue('jobs').pull();
    t.is(message?.contentType, type);
    t.deepEqual(message?.body, type === 'v8' ? new Map([[1, 2]]) : {});
  }
});

test(`a queue may be called ${LIMITS.internalSubrequests.values.free} times, and not once more`, async t => {
  const most = LIMITS.internalSubrequests.values.free;
  const host = newHost(t, { plan: 'free', limits: { cpuMs: 10_000 } });
  const fn = await host.load(
    handler(`let done = 0, message = '';
      try { for (let n = 0; n <= ${most}; n++) { await (n % 2 ? env.JOBS.send(1) : env.JOBS.sendBatch([{ body: 1 }, { body: 2 }])); done++ } }
      catch (error) { message = error.message }
      return Response.json({ done, message })`),
    { queues: { JOBS: 'jobs' } },
  );
  const { done, message } = JSON.parse(await (await fn.fetch('http://x/')).text());
  t.is(done, most);
  t.regex(message, /limit internalSubrequests is/);
  t.is((await host.queue('jobs').metrics()).backlogCount, most * 1.5);
});

test('messages and objects share the bounds of what an account stores', async t => {
  const host = newHost(t, { limits: { storageBytes: 100, storageObjects: 4 } });
  const account = host.account('acme');
  const queue = account.queue('jobs');
  await account.bucket('files').put('a', 'x'.repeat(60));
  await queue.send('x'.repeat(40), { contentType: 'text' });
  t.deepEqual(await account.storage(), { bytes: 100, objects: 2 });
  const quota = { code: 'EDGE_STORAGE_QUOTA' };
  await t.throwsAsync(queue.send('x', { contentType: 'text' }), { ...quota, message: /storageBytes/ });
  await t.throwsAsync(account.bucket('files').put('b', 'x'), quota);
  await queue.sendBatch([1, 2].map(() => ({ body: '', contentType: 'text' as const })));
  await t.throwsAsync(queue.send('', { contentType: 'text' }), { ...quota, message: /storageObjects/ });
  const leases = (await queue.pull()).map(({ leaseId }) => leaseId);
  await queue.settle({ acks: leases });
  t.deepEqual(await account.storage(), { bytes: 60, objects: 1 });
  await queue.send('x', { contentType: 'text' });
});
