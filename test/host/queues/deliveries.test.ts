/** Messages from a function or the application to the queue handler of a function, through the disk. */
import { once } from 'node:events';
import test from 'ava';
import { newHost } from '../new-host.js';
import { consumer, deferred } from './consumers.js';

test('queue() delivers what a function sends, of every content type', async t => {
  const host = newHost(t);
  const seen = deferred<unknown[]>();
  await host
    .load(
      `export default {
      async fetch(request, env) {
        await env.JOBS.send({ a: [1, null] });
        await env.JOBS.send('text', { contentType: 'text' });
        await env.JOBS.send(new Uint8Array([1, 2, 255]), { contentType: 'bytes' });
        const map = new Map([['date', new Date(5)], ['big', 7n]]);
        map.set('self', map);
        await env.JOBS.send(map, { contentType: 'v8' });
        return new Response('sent');
      }
    }`,
      { name: 'producer', queues: { JOBS: 'jobs' } },
    )
    .then(fn => fn.fetch('http://x/'));
  await host.load(
    `export default {
      async queue(batch, env) {
        const [a, b, c, d] = batch.messages.map(message => message.body);
        await env.APP.seen([batch.queue, a, b, [...c], c.constructor === Uint8Array, d.get('date').getTime(), d.get('big') === 7n, d.get('self') === d,
          batch.messages.every(({ id, attempts, timestamp }) => /^[0-9a-f]{32}$/.test(id) && attempts === 1 && timestamp instanceof Date)]);
      }
    }`,
    { name: 'consumer', consumers: [consumer('jobs', { maxBatchSize: 4 })], bindings: { APP: { seen: seen.resolve } } },
  );
  t.deepEqual(await seen.promise, ['jobs', { a: [1, null] }, 'text', [1, 2, 255], true, 5, true, true, true]);
});

test('queue() gets a message again when it throws, but not what it has acknowledged before', async t => {
  const host = newHost(t);
  const batches: unknown[] = [];
  const done = deferred<void>();
  await host.queue('jobs').sendBatch(['a', 'b', 'c'].map(body => ({ body })));
  await host.load(
    `export default {
      async queue(batch, env) {
        await env.APP.seen(batch.messages.map(({ body, attempts }) => [body, attempts]));
        if (batch.messages.length > 1) {
          batch.messages[1].ack();
          throw new Error('no');
        }
      }
    }`,
    {
      consumers: [consumer('jobs', { maxBatchSize: 3 })],
      bindings: {
        APP: {
          seen: (batch: unknown) => {
            batches.push(batch);
            if (batches.length === 3) done.resolve();
          },
        },
      },
    },
  );
  await done.promise;
  t.deepEqual(batches[0], [
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ]);
  t.deepEqual(batches[1], [
    ['a', 2],
    ['c', 2],
  ]);
  t.deepEqual(batches[2], [['a', 3]]);
});

test('queue() moves a message to the dead letters after its retries', async t => {
  const host = newHost(t);
  const dead = deferred<unknown>();
  await host.queue('jobs').send({ n: 1 });
  await host.load(`export default { queue() { throw new Error('never') } }`, {
    name: 'failing',
    consumers: [consumer('jobs', { maxRetries: 2, deadLetterQueue: 'dead' })],
  });
  await host.load(
    `export default { queue: (batch, env) => env.APP.dead(batch.messages.map(({ body, attempts }) => [batch.queue, body, attempts])) }`,
    { name: 'undertaker', consumers: [consumer('dead')], bindings: { APP: { dead: dead.resolve } } },
  );
  t.deepEqual(await dead.promise, [['dead', { n: 1 }, 1]]);
  t.is((await host.queue('jobs').metrics()).backlogCount, 0);
});

test('queue() keeps what was acknowledged when its isolate is ended for CPU time', async t => {
  const host = newHost(t, { limits: { cpuMs: 50 } });
  await host.queue('jobs').sendBatch([{ body: 'a' }, { body: 'b' }, { body: 'c' }]);
  await host.load(`export default { queue(batch) { batch.messages[0].ack(); batch.messages[2].ack(); for (;;); } }`, {
    consumers: [consumer('jobs', { maxBatchSize: 3, maxRetries: 0, deadLetterQueue: 'dead' })],
  });
  const [event] = await once(host, 'invocation');
  t.is(event.outcome, 'exceededCpu');
  const dead = deferred<unknown>();
  await host.load(`export default { queue: (batch, env) => env.APP.dead(batch.messages.map(({ body }) => body)) }`, {
    name: 'undertaker',
    consumers: [consumer('dead')],
    bindings: { APP: { dead: dead.resolve } },
  });
  t.deepEqual(await dead.promise, ['b']);
  t.is((await host.queue('jobs').metrics()).backlogCount, 0);
});

test('pull() claims messages, and settle() says what becomes of them', async t => {
  const host = newHost(t);
  const queue = host.queue('jobs');
  await queue.send('later', { delaySeconds: 1 });
  await queue.send('now');
  t.like(await queue.metrics(), { backlogCount: 2, backlogBytes: 12 });
  const [message, ...others] = await queue.pull();
  t.is(message?.body, 'now');
  t.deepEqual(others, []);
  t.deepEqual(await queue.pull(), []);
  t.like(await queue.settle({ retries: [{ leaseId: String(message?.leaseId) }] }), { retried: 1 });
  const [again] = await queue.pull();
  t.is(again?.attempts, 2);
  t.is(again?.id, message?.id);
  t.like(await queue.settle({ acks: [String(again?.leaseId), 'made up'] }), { acked: 1, unknown: ['made up'] });
  t.is((await queue.metrics()).backlogCount, 1);
  t.is(await queue.purge(), 1);
  t.deepEqual(await queue.metrics(), { backlogCount: 0, backlogBytes: 0 });
  t.deepEqual(await host.account('default').storage(), { bytes: 0, objects: 0 });
});
