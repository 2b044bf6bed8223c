/** Queues on the storage: claims, time, sums, and what a kill leaves. */
import test, { type ExecutionContext } from 'ava';
import type { ClaimedMessage, OutgoingMessage, QueueEngine } from '../../../src/bindings/queue/broker.js';
import { QUEUE_LIMITS } from '../../../src/bindings/queue/limits.js';
import { type AccountQueues, queueDirectoriesOf } from '../../../src/bindings/queue/store/queue-directories.js';
import { queueStorage } from '../../../src/bindings/queue/store/queue-storage.js';
import { QueueStore } from '../../../src/bindings/queue/store/queue-store.js';
import { QUEUES } from '../../../src/bindings/queue/store/stored-queues.js';
import { EdgeError } from '../../../src/quotas/errors.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryFolder } from './temporary-folder.js';

const ANY = { method: 'send' };
const LEASE = { maxMessages: 100, maxBytes: 256_000, leaseMs: 60_000 };

interface World {
  readonly storage: Storage;
  readonly queues: AccountQueues;
  readonly queue: QueueEngine;
  now: number;
}

async function open(t: ExecutionContext, location = ':memory:', now = 1_000_000): Promise<World> {
  const world: { now: number; storage?: Storage } = { now };
  const storage = await Storage.open(location, {
    owners: [queueStorage],
    now: () => world.now,
    sweepIntervalMs: 2 ** 30,
  });
  t.teardown(() => storage.close());
  const queues = queueDirectoriesOf(storage.context).of('acme');
  return Object.assign(world, { storage, queues, queue: await queues.open('jobs') });
}

function messages(...texts: string[]): OutgoingMessage[] {
  return texts.map(text => ({ contentType: 'text', body: Buffer.from(text), delayMs: 0 }));
}

function textsOf(claimed: readonly ClaimedMessage[]): string[] {
  return claimed.map(({ body }) => Buffer.from(body).toString());
}

function leasesOf(claimed: readonly ClaimedMessage[]): string[] {
  return claimed.map(({ leaseId }) => leaseId);
}

function receive(queue: QueueEngine, maxMessages = 100, maxWaitMs = 0): Promise<readonly ClaimedMessage[]> {
  return queue.receive({ ...LEASE, maxMessages, maxWaitMs, signal: new AbortController().signal });
}

test('receive() gives each message to one of those who wait, in the order of sending', async t => {
  const { queue } = await open(t);
  const waiting = [receive(queue, 2), receive(queue, 2), receive(queue, 2)];
  await queue.send(messages('a', 'b', 'c'), ANY, OWN_WORK);
  await queue.send(messages('d', 'e'), ANY, OWN_WORK);
  const batches = await Promise.all(waiting);
  t.deepEqual(batches.flatMap(textsOf), ['a', 'b', 'c', 'd', 'e']);
  t.deepEqual(await queue.pull(LEASE), []);
});

test('receive() rejects with the reason of its signal, and has claimed nothing', async t => {
  const { queue } = await open(t);
  const controller = new AbortController();
  const waiting = queue.receive({ ...LEASE, maxWaitMs: 0, signal: controller.signal });
  controller.abort(new Error('enough'));
  await t.throwsAsync(waiting, { message: 'enough' });
  await queue.send(messages('a'), ANY, OWN_WORK);
  t.deepEqual(textsOf(await queue.pull(LEASE)), ['a']);
});

test('receive() waits until a batch is full', async t => {
  const { queue } = await open(t);
  const batch = receive(queue, 3, 60_000);
  await queue.send(messages('a'), ANY, OWN_WORK);
  await queue.send(messages('b'), ANY, OWN_WORK);
  await queue.send(messages('c', 'd'), ANY, OWN_WORK);
  t.deepEqual(textsOf(await batch), ['a', 'b', 'c']);
});

test('a batch ends before the message that would pass its bytes', async t => {
  const { queue } = await open(t);
  await queue.send(messages('x'.repeat(100_000), 'y'.repeat(100_000), 'z'.repeat(100_000)), ANY, OWN_WORK);
  t.deepEqual(
    (await receive(queue)).map(({ body }) => body.byteLength),
    [100_000, 100_000],
  );
  t.is((await receive(queue)).length, 1);
});

test('a message with a delay comes at its time, before what was sent later', async t => {
  const world = await open(t);
  const { queue } = world;
  await queue.send([{ contentType: 'text', body: Buffer.from('late'), delayMs: 5000 }], ANY, OWN_WORK);
  t.deepEqual(await queue.pull(LEASE), []);
  world.now += 4999;
  t.deepEqual(await queue.pull(LEASE), []);
  world.now += 2;
  await queue.send(messages('now'), ANY, OWN_WORK);
  t.deepEqual(textsOf(await queue.pull(LEASE)), ['late', 'now']);
});

test('messages are kept for their time and no longer', async t => {
  const world = await open(t);
  const { queue, storage } = world;
  await queue.send(messages('old'), ANY, OWN_WORK);
  world.now += 4 * 86_400_000;
  await queue.send(messages('new'), ANY, OWN_WORK);
  world.now += 1;
  t.deepEqual(textsOf(await queue.pull(LEASE)), ['new']);
  for (const job of queueStorage.jobs ?? []) if (job.kind === 'sweep') await job.run(storage.context);
  t.like(await queue.metrics(OWN_WORK), { backlogCount: 1, backlogBytes: 3 });
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 3, objects: 1 });
});

test('settle() writes each outcome once, whatever else is said', async t => {
  const { queue, storage } = await open(t);
  await queue.send(messages('a', 'b', 'c'), ANY, OWN_WORK);
  const [a = '', b = '', c = ''] = leasesOf(await queue.pull(LEASE));
  const results = await Promise.all([
    queue.settle({ acks: [a, b, a] }, OWN_WORK),
    queue.settle({ acks: [b], retries: [{ leaseId: a, delayMs: 0 }], releases: [c] }, OWN_WORK),
    queue.purge(OWN_WORK),
  ]);
  t.like(results[0], { acked: 2, unknown: [a] });
  t.like(results[1], { acked: 0, retried: 0, unknown: [b, a] });
  const left = await queue.purge(OWN_WORK);
  t.is(results[2] + left, 1);
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
  t.deepEqual(await queue.metrics(OWN_WORK), { backlogCount: 0, backlogBytes: 0 });
});

test('a claim that runs out was an attempt', async t => {
  const { queue, ...world } = await open(t);
  // Timers of queues keep no process alive.
  const alive = setInterval(() => {}, 1000);
  t.teardown(() => clearInterval(alive));
  await queue.send(messages('a'), ANY, OWN_WORK);
  const [lease = ''] = leasesOf(await queue.pull({ ...LEASE, leaseMs: 0 }));
  const [again] = await receive(queue);
  t.is(again?.attempts, 2);
  t.like(await queue.settle({ acks: [lease] }, OWN_WORK), { acked: 0, unknown: [lease] });
  t.like(await queue.settle({ acks: [String(again?.leaseId)] }, OWN_WORK), { acked: 1 });
  t.deepEqual(await world.storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
});

test('dead letters keep id, time and body, and count to the account as before', async t => {
  const world = await open(t);
  const { queue, queues, storage } = world;
  const [id] = await queue.send(messages('a'), ANY, OWN_WORK);
  const leases = leasesOf(await queue.pull(LEASE));
  world.now += 1000;
  const retries = leases.map(leaseId => ({ leaseId, delayMs: 0 }));
  t.like(await queue.settle({ retries, maxRetries: 0, deadLetterQueue: 'dead' }, OWN_WORK), { deadLettered: 1 });
  const dead = await queues.open('dead');
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 1, objects: 1 });
  t.like((await dead.pull(LEASE))[0], { id, timestamp: 1_000_000, attempts: 1 });
  t.deepEqual(await queue.metrics(OWN_WORK), { backlogCount: 0, backlogBytes: 0 });
});

test('a storage that is opened again has every message that was not done, with its attempts', async t => {
  const folder = temporaryFolder(t);
  const first = await open(t, folder);
  await first.queue.send(messages('a', 'b', 'c'), ANY, OWN_WORK);
  const [a = '', b = ''] = leasesOf(await first.queue.pull(LEASE));
  await first.queue.settle({ acks: [a], retries: [{ leaseId: b, delayMs: 0 }] }, OWN_WORK);
  await first.queue.change({ isPaused: true });
  await first.storage.close();
  const second = await open(t, folder, 1_001_000);
  const claimed = await second.queue.pull(LEASE);
  t.deepEqual(textsOf(claimed).sort(), ['b', 'c']);
  t.deepEqual(claimed.map(({ attempts }) => attempts).sort(), [1, 2]);
  t.true(second.queue.info().isPaused);
  t.deepEqual(await second.storage.context.sums.read('acme'), { bytes: 2, objects: 2 });
});

test('a backlog that does not fit into memory comes whole, each message once', async t => {
  const { queue } = await open(t);
  const count = 1500;
  for (let n = 0; n < count; n += 100)
    await queue.send(messages(...Array.from({ length: 100 }, (_, i) => `${n + i}`)), ANY, OWN_WORK);
  const seen: string[] = [];
  while (seen.length < count) {
    const batch = await receive(queue, 77);
    seen.push(...textsOf(batch));
    await queue.settle({ acks: leasesOf(batch) }, OWN_WORK);
  }
  t.deepEqual(
    seen.map(Number),
    Array.from({ length: count }, (_, n) => n),
  );
});

test('messages that are sent while others are received all come, each once', async t => {
  const { queue, storage } = await open(t);
  const seen: string[] = [];
  const senders = Array.from({ length: 8 }, async (_, sender) => {
    for (let n = 0; n < 40; n++)
      await queue.send(messages(`${sender}-${n}`, `${sender}+${n}`), ANY, { ...OWN_WORK, owner: {} });
  });
  const receivers = Array.from({ length: 3 }, async () => {
    while (seen.length < 640) {
      const batch = await queue.pull({ ...LEASE, maxMessages: 7 });
      seen.push(...textsOf(batch));
      await queue.settle({ acks: leasesOf(batch) }, OWN_WORK);
    }
  });
  await Promise.all([...senders, ...receivers]);
  t.is(new Set(seen).size, 640);
  t.is(seen.length, 640);
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
});

test('an account that is removed has no queues, and its messages are cleared', async t => {
  const { queue, queues, storage } = await open(t);
  await queue.send(messages('a'), ANY, OWN_WORK);
  const waiting = receive(await queues.open('empty'));
  const error = new EdgeError('EDGE_ACCOUNT_REMOVED', 'gone');
  queueDirectoriesOf(storage.context).forget('acme', error);
  await t.throwsAsync(waiting, { is: error });
  const { deleted } = await storage.removeAccount('acme', { error, deleteData: true, beside: async () => {} });
  await deleted;
  await t.throwsAsync(queue.send(messages('b'), ANY, OWN_WORK), { is: error });
  const again = queueDirectoriesOf(storage.context).of('acme');
  t.deepEqual(await again.list(), []);
  t.deepEqual(await (await again.open('jobs')).pull(LEASE), []);
  let records = 0;
  for await (const page of storage.context.records.pages({ gte: 'jm', lt: 'js' })) records += page.length;
  t.is(records, 0);
});

test('a queue that is deleted is gone with its messages, and another of its name is empty', async t => {
  const { queue, queues, storage } = await open(t);
  await queue.send(messages('a', 'b'), ANY, OWN_WORK);
  const waiting = receive(await queues.open('jobs'), 100, 60_000);
  await Promise.all([queues.delete('jobs'), t.throwsAsync(waiting, { message: /10206/ })]);
  await t.throwsAsync(queue.send(messages('c'), ANY, OWN_WORK), { message: /10206/ });
  await t.throwsAsync(queues.delete('jobs'), { message: /there is no queue "jobs"/ });
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
  t.deepEqual(await (await queues.open('jobs')).metrics(OWN_WORK), { backlogCount: 0, backlogBytes: 0 });
});

test('an account has a thousand queues at most, and those that it has go on', async t => {
  const { queues, storage } = await open(t);
  const record = await storage.context.records.get(QUEUES.keyOf('acme', 'jobs'));
  const operations = Array.from({ length: QUEUE_LIMITS.queues - 1 }, (_, number) => ({
    type: 'put' as const,
    key: QUEUES.keyOf('acme', `q${number}`),
    value: Buffer.from(`${record}`.replace(/"id":"/, `"id":"q${number}-`)),
  }));
  await storage.context.records.commit(operations);
  await t.throwsAsync(queues.open('one-more'), { message: /10209/ });
  t.deepEqual(await queues.create('q1'), { created: false });
  await (await queues.open('q2')).send(messages('a'), ANY, OWN_WORK);
  await queues.delete('q1');
  t.deepEqual(await queues.create('one-more'), { created: true });
});

test('all queues of an account together have so many leases at most', async t => {
  const { storage, queue } = await open(t);
  await queue.send(messages('a', 'b', 'c'), ANY, OWN_WORK);
  const stored = JSON.parse(`${await storage.context.records.get(QUEUES.keyOf('acme', 'jobs'))}`);
  const leased = { leases: QUEUE_LIMITS.accountLeasedMessages - 2 };
  const store = new QueueStore({
    storage: storage.context,
    name: 'jobs',
    key: QUEUES.keyOf('acme', 'jobs'),
    stored,
    backlog: { bytes: 3, objects: 3 },
    sum: storage.context.sums.of('acme'),
    leased,
    work: OWN_WORK,
    sibling: async () => store,
  });
  const claimed = await store.pull(LEASE);
  t.deepEqual(textsOf(claimed), ['a', 'b']);
  t.deepEqual(await store.pull(LEASE), []);
  await store.settle({ acks: leasesOf(claimed).slice(1) }, OWN_WORK);
  t.deepEqual(textsOf(await store.pull(LEASE)), ['c']);
  t.is(leased.leases, QUEUE_LIMITS.accountLeasedMessages);
  await store.end(new Error('over'));
  t.is(leased.leases, QUEUE_LIMITS.accountLeasedMessages - 2);
});
