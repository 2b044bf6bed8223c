/** The keyspace and the jobs that queues register with the storage; and the queues of an account that was removed. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { sumRecord } from '../../../storage/records/counts.js';
import { deletion, keyPages, removeBelow } from '../../../storage/records/fresh-pages.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { StorageOwner } from '../../../storage/storage-owner.js';
import { bodyBytesOf } from './message-codec.js';
import { queueDirectoriesOf } from './queue-directories.js';
import { QUEUE_KEYSPACE, queueKeys } from './queue-keys.js';
import { QUEUES } from './stored-queues.js';

/** So small that the calls of other accounts come in between. */
const PAGE = 100;

export const queueStorage: StorageOwner = {
  name: 'queue',
  keyspace: QUEUE_KEYSPACE,
  accounts: storage => QUEUES.accounts(storage),
  count: countStored,
  detach,
  clear,
  jobs: [
    { kind: 'rebuild', run: recount },
    { kind: 'sweep', run: expire },
  ],
};

async function countStored(storage: StorageContext, account: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  for await (const { id } of QUEUES.all(storage, account)) {
    const { bytes, objects } = await countMessages(storage, id);
    sum.bytes += bytes;
    sum.objects += objects;
  }
  return sum;
}

async function countMessages({ records }: StorageContext, id: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  const prefix = queueKeys.messages(id);
  for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) }, PAGE)) {
    for (const [, record] of page) sum.bytes += bodyBytesOf(record);
    sum.objects += page.length;
  }
  return sum;
}

/** The sum of each queue, from its messages. */
async function recount(storage: StorageContext): Promise<void> {
  for await (const { id } of QUEUES.all(storage)) {
    const value = sumRecord(await countMessages(storage, id));
    await storage.records.commit([{ type: 'put', key: queueKeys.sum(id), value }]);
  }
}

/** Messages that are older than their queues keep them. Reads nothing but those. */
async function expire(storage: StorageContext): Promise<void> {
  for await (const { account, name, id, retentionSeconds } of QUEUES.all(storage)) {
    const prefix = queueKeys.messages(id);
    const keys = await storage.records.keys({
      gte: prefix,
      lt: `${prefix}${queueKeys.due(storage.now() - retentionSeconds * 1000)}`,
    });
    const old = await keys.nextv(1).finally(() => keys.close());
    // Queues that nobody uses stay out of memory.
    if (old.length === 0) continue;
    const store = await queueDirectoriesOf(storage).of(account).find(name);
    await store?.expire();
  }
}

/** An account of this id has no queues when it resolves. */
function detach(storage: StorageContext, account: string): Promise<void> {
  return QUEUES.detach(storage, account, ({ id }) => ({ type: 'put', key: queueKeys.removed(id), value: NO_BYTES }));
}

/** @param check throws when the storage is being closed */
async function clear({ records }: StorageContext, check: () => void): Promise<void> {
  // In the queues of the storage it takes turns with accounts as one of them.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  const removed = queueKeys.removedQueues();
  for await (const page of keyPages(records, removed, work)) {
    for (const key of page) {
      const id = key.slice(removed.length);
      await removeBelow(records, queueKeys.messages(id), { work, check });
      await records.commit([deletion(queueKeys.sum(id)), deletion(key)], work);
    }
  }
}
