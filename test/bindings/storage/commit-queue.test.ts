import test from 'ava';
import { CommitQueue } from '../../../src/bindings/storage/commit-queue.js';
import type { RecordOperation } from '../../../src/bindings/storage/counts.js';

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
  const commits = [1, 1000, 24, 1, 3000, 1].map(count => queue.commit(many(count)));
  for (let index = 0; index < 5; index++) {
    batches[index]?.end();
    await turn();
  }
  await Promise.all(commits);
  t.deepEqual(
    batches.map(batch => batch.keys.length),
    [1, 1024, 1, 3000, 1],
  );
});

test('ride() writes with the next commit, or when the queue is drained', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  queue.ride([del('r1')]);
  t.is(batches.length, 0);
  const commit = queue.commit([del('a')]);
  batches[0]?.end();
  await commit;
  queue.ride([del('r2')]);
  const drained = queue.drain();
  batches[1]?.end();
  await drained;
  t.deepEqual(
    batches.map(batch => batch.keys),
    [['r1', 'a'], ['r2']],
  );
});

test('ride() writes by itself when no commit comes', async t => {
  const written = new Promise<RecordOperation[]>(resolve => {
    const queue = new CommitQueue(async operations => resolve(operations), { rideMs: 0 });
    queue.ride([del('r')]);
  });
  // The timer of the queue does not keep a process alive.
  const keepAlive = setInterval(() => {}, 1000);
  t.deepEqual(await written, [del('r')]);
  clearInterval(keepAlive);
});

test('drain() ends also when the batch of riders fails', async t => {
  const { batches, write } = heldWriter();
  const queue = new CommitQueue(write);
  queue.ride([del('r')]);
  const drained = queue.drain();
  batches[0]?.end(new Error('x'));
  await t.notThrowsAsync(drained);
});
