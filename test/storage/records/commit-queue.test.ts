import test from 'ava';
import { CommitQueue } from '../../../src/storage/records/commit-queue.js';
import type { RecordOperation } from '../../../src/storage/records/counts.js';

const del = (key: string): RecordOperation => ({ type: 'del', key });

/** A writer whose batches end when the test says so. */
function heldWriter() {
  const batches: { readonly keys: string[]; readonly end: (error?: Error) => void }[] = [];
  const write = (operations: RecordOperation[]) =>
    new Promise<void>((resolve, reject) => {
      batches.push({
        keys: operations.map(({ key }) => key),
        end: error => (error === undefined ? resolve() : reject(error)),
      });
    });
  return { batches, write };
}

const turn = () => new Promise(resolve => setImmediate(resolve));

test('commit() gathers what comes while a batch is written into the next', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const commits = ['a', 'b', 'c'].map(key => queue.commit([del(key)]));
  t.deepEqual(
    batches.map(batch => batch.keys),
    [['a']],
  );
  batches[0]?.end();
  await commits[0];
  await turn();
  t.deepEqual(
    batches.map(batch => batch.keys),
    [['a'], ['b', 'c']],
  );
  batches[1]?.end();
  await Promise.all(commits);
  t.is(batches.length, 2);
});

test('commit() rejects the writes of a batch that failed, and goes on with the next', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const first = queue.commit([del('a')]);
  const second = queue.commit([del('b')]);
  batches[0]?.end(Object.assign(new Error('x'), { code: 'ENOSPC' }));
  await t.throwsAsync(first, { code: 'EDGE_STORAGE_FULL' });
  await turn();
  batches[1]?.end();
  await t.notThrowsAsync(second);
});

test('commit() splits what waits into batches of a bounded size, and never one write', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const many = (count: number) => Array.from({ length: count }, (_, index) => del(`${index}`));
  const commits = [1, 360, 24, 1, 3000, 1].map(count => queue.commit(many(count)));
  for (let index = 0; index < 5; index++) {
    batches[index]?.end();
    await turn();
  }
  await Promise.all(commits);
  t.deepEqual(
    batches.map(batch => batch.keys.length),
    [1, 384, 1, 3000, 1],
  );
});

test('enqueueDeferred() writes with the next commit, or when the queue is drained', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  queue.enqueueDeferred([del('r1')]);
  t.is(batches.length, 0);
  const commit = queue.commit([del('a')]);
  batches[0]?.end();
  await commit;
  queue.enqueueDeferred([del('r2')]);
  const drained = queue.drain();
  batches[1]?.end();
  await drained;
  t.deepEqual(
    batches.map(batch => batch.keys),
    [['r1', 'a'], ['r2']],
  );
});

test('enqueueDeferred() writes by itself when no commit comes', async t => {
  const written = new Promise<RecordOperation[]>(resolve => {
    const queue = new CommitQueue(async operations => resolve(operations), { deferMaxMs: 0 });
    queue.enqueueDeferred([del('r')]);
  });
  // The timer of the queue does not keep a process alive.
  const keepAlive = setInterval(() => {}, 1000);
  t.deepEqual(await written, [del('r')]);
  clearInterval(keepAlive);
});

test('drain() ends also when a batch of deferred operations fails', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  queue.enqueueDeferred([del('r')]);
  const drained = queue.drain();
  batches[0]?.end(new Error('x'));
  await t.notThrowsAsync(drained);
});

/** Ends batch after batch until nothing is written any more; the keys of each. */
async function writeAll(batches: ReturnType<typeof heldWriter>['batches']): Promise<string[][]> {
  for (let index = 0; index < batches.length; index++) {
    batches[index]?.end();
    await turn();
  }
  return batches.map(({ keys }) => keys);
}

const many = (key: string, count: number) => Array.from({ length: count }, () => del(key));

test('commit() takes a small commit with the next batch, whatever another owner has waiting', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const [evil, good] = [{}, {}];
  for (let count = 0; count < 16; count++) void queue.commit(many('evil', 3000), evil);
  void queue.commit([del('good')], good);
  const written = await writeAll(batches);
  // The first is being written when the small one comes.
  t.is(
    written.findIndex(keys => keys.includes('good')),
    1,
  );
  t.is(written.length, 17);
  t.true(written.every(keys => keys.length <= 3000));
});

test('commit() writes large commits every other time while small ones go on coming', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const [evil, good] = [{}, {}];
  void queue.commit([del('first')]);
  for (let count = 0; count < 3; count++) void queue.commit(many('large', 500), evil);
  for (let index = 0; index < 8; index++) {
    void queue.commit([del(`small ${index}`)], good);
    batches[index]?.end();
    await turn();
  }
  await writeAll(batches);
  const large = batches.flatMap(({ keys }, index) => (keys.includes('large') ? [index] : []));
  t.deepEqual(large, [2, 3, 4]);
  t.true(batches.slice(2, 5).every(({ keys }) => keys.some(key => key.startsWith('small'))));
});

test('commit() bounds the part of each owner in a batch, and lets them take turns', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const owners = { a: {}, b: {}, c: {} };
  void queue.commit([del('first')]);
  for (let count = 0; count < 300; count++) void queue.commit([del('a'), del('a')], owners.a);
  for (let count = 0; count < 2; count++) void queue.commit([del('b')], owners.b);
  const [, second = [], third = []] = await writeAll(batches);
  t.deepEqual(second.slice(0, 6), ['a', 'a', 'b', 'a', 'a', 'b']);
  t.is(second.length, CommitQueue.OWNER_OPERATIONS + 2);
  // Alone again it has all of the batch.
  t.is(third.length, 600 - CommitQueue.OWNER_OPERATIONS);
});

test('commit() bounds the bytes of a batch, and of each owner in it', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const [evil, good] = [{}, {}];
  const put = (key: string): RecordOperation => ({
    type: 'put',
    key,
    value: new Uint8Array(CommitQueue.OWNER_BYTES / 2),
  });
  void queue.commit([del('first')]);
  for (let count = 0; count < 12; count++) void queue.commit([put('evil')], evil);
  void queue.commit([put('good')], good);
  const sizes = (await writeAll(batches)).map(keys => keys.length);
  const perBatch = (2 * CommitQueue.MAX_GROUP_BYTES) / CommitQueue.OWNER_BYTES;
  t.deepEqual(sizes, [1, 3, perBatch, 2]);
});

test('commit() keeps the order of the commits of an owner', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  const [one, other] = [{}, {}];
  const sizes = [1, 300, 2, 200, 100, 1000, 3];
  for (const [index, size] of sizes.entries()) void queue.commit(many(`${index}`, size), one);
  for (let count = 0; count < 20; count++) void queue.commit([del('other')], other);
  const written = (await writeAll(batches)).flat().filter(key => key !== 'other');
  t.deepEqual([...new Set(written)], ['0', '1', '2', '3', '4', '5', '6']);
  t.deepEqual(written, [...written].sort());
});
