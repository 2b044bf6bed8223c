/** The keyspace and the jobs that stateful objects register with the storage; and what becomes of values that nothing has any more. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StoredSum } from '../../../storage/accounts/account-sum.js';
import { deletion, keyPages, recordPages, removeBelow } from '../../../storage/records/fresh-pages.js';
import { afterPrefix, type LevelOperation } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { StorageOwner } from '../../../storage/storage-owner.js';
import { contentsOf, decodeHead, HEAD_BYTES } from './object-head.js';
import { OBJECT_KEYSPACE, objectKeys } from './object-keys.js';
import { rebuildObjects } from './rebuild-objects.js';

export const objectStorageOwner: StorageOwner = {
  name: 'objects',
  keyspace: OBJECT_KEYSPACE,
  async *accounts(storage) {
    for await (const { account } of storedSpaces(storage)) yield account;
  },
  count: countStored,
  detach,
  clear,
  jobs: [{ kind: 'rebuild', run: rebuildObjects }],
};

/** So small that the calls of other accounts come in between. */
const PAGE = 100;

export async function* storedSpaces(
  storage: StorageContext,
): AsyncGenerator<{ readonly account: string; readonly space: string }> {
  const prefix = objectKeys.spaces();
  for await (const page of storage.records.pages({ gte: prefix, lt: afterPrefix(prefix) }, PAGE)) {
    for (const [key, record] of page)
      yield { account: decodeURIComponent(key.slice(prefix.length)), space: record.toString() };
  }
}

async function countStored({ records }: StorageContext, account: string): Promise<StoredSum> {
  const sum = { bytes: 0, objects: 0 };
  const space = await records.get(objectKeys.space(account));
  if (space === undefined) return sum;
  const prefix = objectKeys.heads(space.toString());
  for await (const page of records.pages({ gte: prefix, lt: afterPrefix(prefix) }, PAGE)) {
    for (const [, record] of page) {
      const { bytes, objects } = contentsOf(decodeHead(record));
      sum.bytes += bytes + HEAD_BYTES;
      sum.objects += objects + 1;
    }
  }
  return sum;
}

/** An account of this id has no objects when it resolves. */
async function detach({ records }: StorageContext, account: string): Promise<void> {
  const key = objectKeys.space(account);
  const space = await records.get(key);
  if (space === undefined) return;
  await records.commit([
    { type: 'put', key: objectKeys.removed(space.toString()), value: NO_BYTES },
    { type: 'del', key },
  ]);
}

/** @param check throws when the storage is being closed */
async function clear(storage: StorageContext, check: () => void): Promise<void> {
  // In the queues of the storage it takes turns with accounts as one of them.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  for await (const page of keyPages(storage.records, objectKeys.allRemoved(), work)) {
    for (const key of page) {
      const space = key.slice(objectKeys.allRemoved().length);
      await removeBelow(storage.records, objectKeys.alarms(space), { work, check });
      await releaseHeads(storage, space, work, check);
      await storage.records.commit([deletion(key)], work);
    }
  }
  for await (const page of keyPages(storage.records, objectKeys.allGone(), work)) {
    for (const key of page) {
      const valuesId = key.slice(objectKeys.allGone().length);
      await removeBelow(storage.records, objectKeys.values(valuesId), { work, check });
      await removeBelow(storage.records, objectKeys.pages(valuesId), { work, check });
      await storage.records.commit([deletion(key)], work);
    }
  }
}

/** Their values are then values that nothing has. */
async function releaseHeads(
  { records }: StorageContext,
  space: string,
  work: CallWork,
  check: () => void,
): Promise<void> {
  for await (const page of recordPages(records, objectKeys.heads(space), work)) {
    check();
    const operations: LevelOperation[] = [];
    for (const [key, record] of page) {
      const { valuesId, keys, sqlPages } = decodeHead(record);
      if (keys + sqlPages > 0) operations.push({ type: 'put', key: objectKeys.gone(valuesId), value: NO_BYTES });
      operations.push(deletion(key));
    }
    await records.commit(operations, work);
  }
}
