import test from 'ava';
import { queueDirectoriesOf } from '../../../src/bindings/queue/store/queue-directories.js';
import { queueStorage } from '../../../src/bindings/queue/store/queue-storage.js';
import { OWN_WORK } from '../../../src/quotas/host/call-work.js';
import { Storage } from '../../../src/storage/storage.js';
import { temporaryFolder } from './temporary-folder.js';

const ANY = { method: 'send' };
const ALL = { maxMessages: 100, maxBytes: 256_000, leaseMs: 60_000 };
const message = { contentType: 'text', body: Buffer.from('x'), delayMs: 0 } as const;

test('a full disk takes no messages, and those that are there are delivered and settled', async t => {
  const folder = temporaryFolder(t);
  const roomy = await Storage.open(folder, { owners: [queueStorage] });
  await (await queueDirectoriesOf(roomy.context).of('acme').open('jobs')).send([message, message], ANY, OWN_WORK);
  await roomy.close();
  // A reserve that no disk has: from here on every write that grows the storage is one too many.
  const storage = await Storage.open(folder, { owners: [queueStorage], reserveBytes: 2 ** 60 });
  t.teardown(() => storage.close());
  const queues = queueDirectoriesOf(storage.context).of('acme');
  const queue = await queues.open('jobs');
  await t.throwsAsync(queue.send([message], ANY, OWN_WORK), { code: 'EDGE_STORAGE_FULL' });
  await t.throwsAsync(queues.open('another'), { code: 'EDGE_STORAGE_FULL' });
  const claimed = await queue.pull(ALL);
  t.is(claimed.length, 2);
  t.like(await queue.settle({ acks: claimed.map(({ leaseId }) => leaseId) }, OWN_WORK), { acked: 2 });
  t.deepEqual(await queue.metrics(OWN_WORK), { backlogCount: 0, backlogBytes: 0 });
  t.deepEqual(await storage.context.sums.read('acme'), { bytes: 0, objects: 0 });
});
