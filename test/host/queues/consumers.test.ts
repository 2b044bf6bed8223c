/** How the consumers of queues behave while functions, queues and hosts change. */
import { once } from 'node:events';
import test from 'ava';
import { EdgeHost } from '../../../src/index.js';
import { temporaryFolder } from '../../bindings/queue/temporary-folder.js';
import { ISOLATIONS, newHost, nextInvocation } from '../new-host.js';
import { consumer, deferred } from './consumers.js';

const SEES = `export default { queue: (batch, env) => env.APP.seen(batch.messages.map(({ body }) => body)) }`;

for (const isolation of ISOLATIONS) {
  test(`a new version of the function gets what comes after it was loaded (${isolation})`, async t => {
    const host = newHost(t, { isolation });
    let seen = deferred<unknown>();
    const load = (word: string) =>
      host.load(
        `export default { queue: (batch, env) => env.APP.seen(['${word}', ...batch.messages.map(({ body }) => body)]) }`,
        {
          name: 'worker',
          consumers: [consumer('jobs')],
          bindings: { APP: { seen: (value: unknown) => seen.resolve(value) } },
        },
      );
    await load('first');
    await host.queue('jobs').send(1);
    t.deepEqual(await seen.promise, ['first', 1]);
    await load('second');
    seen = deferred();
    await host.queue('jobs').send(2);
    t.deepEqual(await seen.promise, ['second', 2]);
  });
}

test('a queue has one consumer', async t => {
  const host = newHost(t);
  await host.load(SEES, { name: 'a', consumers: [consumer('jobs')], bindings: { APP: { seen() {} } } });
  const refused = host.load(SEES, { name: 'b', consumers: [consumer('jobs')] });
  await t.throwsAsync(refused, {
    code: 'EDGE_LIMIT_EXCEEDED',
    message: /function "a" does, and a queue has one consumer/,
  });
  await t.throwsAsync(host.load('export default { fetch() {} }', { consumers: [consumer('other')] }), {
    code: 'EDGE_SCRIPT_NO_HANDLER',
    message: /the consumed queues "other" need the handler queue/,
  });
  await t.throwsAsync(host.load(SEES, { consumers: [consumer('own', { deadLetterQueue: 'own' })] }), {
    instanceOf: TypeError,
    message: /is its own dead-letter queue/,
  });
  host.account('default').function('a')?.unload();
  await host.load(SEES, { name: 'b', consumers: [consumer('jobs')], bindings: { APP: { seen() {} } } });
});

test('pause() keeps messages from consumers until resume()', async t => {
  const host = newHost(t);
  const seen = deferred<unknown>();
  await host.queue('jobs').pause();
  await host.load(SEES, { consumers: [consumer('jobs')], bindings: { APP: { seen: seen.resolve } } });
  await host.queue('jobs').send('a');
  const [pulled] = await host.queue('jobs').pull();
  t.is(pulled?.body, 'a');
  await host.queue('jobs').settle({ retries: [{ leaseId: String(pulled?.leaseId) }] });
  await host.queue('jobs').resume();
  t.deepEqual(await seen.promise, ['a']);
});

test('a promise of waitUntil that is rejected fails the batch, unless the flag says otherwise', async t => {
  const host = newHost(t);
  const script = `export default { queue(batch, env, ctx) { ctx.waitUntil(scheduler.wait(1).then(() => { throw new Error('late') })) } }`;
  await host.load(script, { name: 'waits', consumers: [consumer('jobs', { maxRetries: 0, deadLetterQueue: 'dead' })] });
  const failed = nextInvocation(host);
  await host.queue('jobs').send('a');
  t.like(await failed, { kind: 'queue', outcome: 'exception' });
  const fn = await host.load(script, { name: 'free', compatibilityFlags: ['queue_consumer_no_wait_for_wait_until'] });
  t.deepEqual(await fn.queue('q', [{ body: 1 }]), { ackAll: true, retries: [] });
  const dead = deferred<unknown>();
  await host.load(SEES, { name: 'dead', consumers: [consumer('dead')], bindings: { APP: { seen: dead.resolve } } });
  t.deepEqual(await dead.promise, ['a']);
});

test('a consumer that always fails keeps no other queue waiting', async t => {
  const host = newHost(t);
  const seen = deferred<unknown>();
  await host.load(`export default { queue() { throw new Error('always') } }`, {
    name: 'failing',
    consumers: [consumer('bad', { maxRetries: 100 })],
  });
  await host.load(SEES, { name: 'good', consumers: [consumer('good')], bindings: { APP: { seen: seen.resolve } } });
  await host.queue('bad').sendBatch(Array.from({ length: 100 }, (_, body) => ({ body })));
  await nextInvocation(host, ({ outcome }) => outcome === 'exception');
  await host.queue('good').send('b');
  t.deepEqual(await seen.promise, ['b']);
  t.is((await host.queue('bad').metrics()).backlogCount, 100);
});

test('close() lets a batch end, and what it has done is on disk', async t => {
  const storage = temporaryFolder(t);
  const host = new EdgeHost({ storage, spareIsolates: 0, warmCells: 0 });
  const begun = deferred<void>();
  await host.load(
    `export default { async queue(batch, env) { await env.APP.begun(); batch.messages[0].ack(); await scheduler.wait(50); batch.messages[1].retry({ delaySeconds: 100 }) } }`,
    { consumers: [consumer('jobs', { maxBatchSize: 3 })], bindings: { APP: { begun: () => begun.resolve() } } },
  );
  await host.queue('jobs').sendBatch(['a', 'b', 'c'].map(body => ({ body })));
  await begun.promise;
  await host.close();
  const again = newHost(t, { storage });
  t.like(await again.queue('jobs').metrics(), { backlogCount: 1 });
  t.deepEqual(await again.queue('jobs').pull(), []);
});

test('a batch that the end of the host cuts short comes again, and was no attempt', async t => {
  const storage = temporaryFolder(t);
  const host = new EdgeHost({ storage, spareIsolates: 0, warmCells: 0 });
  const begun = deferred<void>();
  await host.load(
    `export default { async queue(batch, env) { batch.messages[0].ack(); await env.APP.begun(); await scheduler.wait(1e6) } }`,
    {
      consumers: [consumer('jobs', { maxBatchSize: 2, maxRetries: 0 })],
      bindings: { APP: { begun: () => begun.resolve() } },
    },
  );
  await host.queue('jobs').sendBatch(['a', 'b'].map(body => ({ body })));
  await begun.promise;
  await host.close({ drainMs: 0 });
  const again = newHost(t, { storage });
  const left = await again.queue('jobs').pull();
  t.deepEqual(
    left.map(({ body, attempts }) => [body, attempts]),
    [['b', 1]],
  );
});

test('removeAccount() ends consumers, and an account of the same id has empty queues', async t => {
  const host = newHost(t);
  const acme = host.account('acme');
  await acme.load(SEES, { consumers: [consumer('jobs')], bindings: { APP: { seen() {} } } });
  await acme.queue('later').send('x', { delaySeconds: 100 });
  await (await host.removeAccount('acme', { deleteData: true })).deleted;
  await t.throwsAsync(async () => acme.queue('later').send('y'), { code: 'EDGE_ACCOUNT_REMOVED' });
  t.deepEqual(await host.account('acme').queue('later').metrics(), { backlogCount: 0, backlogBytes: 0 });
  t.deepEqual(await host.account('acme').storage(), { bytes: 0, objects: 0 });
});

test('batches are handled at the same time up to maxConcurrency', async t => {
  const host = newHost(t);
  let open = 0;
  let most = 0;
  const all = deferred<void>();
  let done = 0;
  await host.load(
    `export default { async queue(batch, env) { await env.APP.begin(); await scheduler.wait(20); await env.APP.end() } }`,
    {
      consumers: [consumer('jobs', { maxBatchSize: 1, maxConcurrency: 3 })],
      bindings: {
        APP: {
          begin: () => {
            most = Math.max(most, ++open);
          },
          end: () => {
            open--;
            if (++done === 12) all.resolve();
          },
        },
      },
    },
  );
  await host.queue('jobs').sendBatch(Array.from({ length: 12 }, (_, body) => ({ body })));
  await all.promise;
  t.is(most, 3);
});

test('an unloaded function leaves its messages in the queue', async t => {
  const host = newHost(t);
  const fn = await host.load(SEES, { consumers: [consumer('jobs')], bindings: { APP: { seen() {} } } });
  await host.queue('jobs').send(1);
  await once(host, 'invocation');
  fn.unload();
  await host.queue('jobs').send(2);
  t.like((await host.queue('jobs').pull())[0], { body: 2, attempts: 1 });
});
