import test from 'ava';
import { hostQueue } from '../../../src/bindings/queue/host-queue.js';
import { countedWork } from '../counted-work.js';
import { openQueues } from './open-queues.js';
import { temporaryFolder } from './temporary-folder.js';

const NO_BOUNDS = {
  plan: 'standard',
  storageBytes: Number.POSITIVE_INFINITY,
  storageObjects: Number.POSITIVE_INFINITY,
} as const;

test('the body of a message that was pulled is decoded at the cost of the account, which waits for its turn', async t => {
  const { storage, queue } = await openQueues(temporaryFolder(t));
  t.teardown(() => storage.close());
  const work = countedWork();
  const jobs = hostQueue(
    'jobs',
    async () => queue,
    () => NO_BOUNDS,
    undefined,
    work,
  );
  const body = Array.from({ length: 1000 }, (_, i) => ({ [1023 + i]: i, 2500: new Map([['a', i]]) }));
  await jobs.send(body, { contentType: 'v8' });
  await jobs.send(body);
  t.is(work.spentMs, 0);
  work.hold();
  let isPulled = false;
  const pulling = jobs.pull().then(messages => {
    isPulled = true;
    return messages;
  });
  while (work.held === 0) await new Promise(setImmediate);
  t.false(isPulled);
  work.go();
  const [structured, json] = await pulling;
  t.is(work.spentMs, 0);
  t.deepEqual(structured?.body, body);
  const { spentMs } = work;
  t.true(spentMs > 0);
  t.true(Array.isArray(json?.body));
  t.true(work.spentMs > spentMs);
});
