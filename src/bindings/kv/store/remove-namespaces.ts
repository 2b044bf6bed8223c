/**
 * Namespaces that were deleted, by themselves or with their account. Their records become removals, by the ids of the namespaces: nothing finds their keys
 * then, which go page by page. Each step can be repeated.
 */
import { errorCode } from '../../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { type StoredAccounting, UNCOUNTED } from '../../../storage/accounts/account-sum.js';
import { deletion, keyPages } from '../../../storage/records/fresh-pages.js';
import type { LevelOperation } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { kvKeys } from './kv-keys.js';
import { removeEntries } from './remove-entries.js';
import { NAMESPACES, removedAccount, removedNamespaces } from './stored-namespaces.js';

/** So small that the calls of other accounts come in between. */
const PAGE = 100;

/** The operations that delete a namespace. Its keys count to the account until they are removed. */
export function removalOps(account: string, name: string, id: string): LevelOperation[] {
  return [
    { type: 'put', key: kvKeys.removed(id), value: Buffer.from(account) },
    { type: 'del', key: NAMESPACES.keyOf(account, name) },
  ];
}

/** An account of this id has no namespaces when it resolves. */
export async function detachNamespaces(storage: StorageContext, account: string): Promise<void> {
  const removal = (id: string): LevelOperation => ({ type: 'put', key: kvKeys.removed(id), value: NO_BYTES });
  await NAMESPACES.detach(storage, account, ({ id }) => removal(id));
  const operations: LevelOperation[] = [];
  for await (const removed of removedNamespaces(storage))
    if (removed.account === account) operations.push(removal(removed.id));
  for (let at = 0; at < operations.length; at += PAGE) await storage.records.commit(operations.slice(at, at + PAGE));
}

/** @param check throws when the storage is being closed */
export async function clearRemovedNamespaces(storage: StorageContext, check: () => void): Promise<void> {
  // In the queues of the storage it takes turns with accounts as one of them.
  const work: CallWork = { ...OWN_WORK, owner: {} };
  for await (const page of keyPages(storage.records, kvKeys.allRemoved(), work)) {
    for (const key of page) {
      const id = key.slice(kvKeys.allRemoved().length);
      try {
        await clearEntries(storage, id, work, check);
      } catch (error) {
        // Its contents are cleared with everything else of the account.
        if (errorCode(error) === 'EDGE_ACCOUNT_REMOVED') continue;
        throw error;
      }
      await storage.records.commit([deletion(key)], work);
    }
  }
}

async function clearEntries(
  storage: StorageContext,
  namespaceId: string,
  work: CallWork,
  check: () => void,
): Promise<void> {
  const root = kvKeys.entries(namespaceId);
  for await (const page of keyPages(storage.records, root, work)) {
    check();
    const keys = page.map(recordKey => recordKey.slice(root.length));
    await removeEntries(
      storage,
      { namespaceId, keys, isDue: () => true, sum: () => sumOfRemoved(storage, namespaceId, work) },
      work,
    );
  }
}

/** The sum that the keys of a deleted namespace count to. Its account can be removed at any time, and another have its id. */
async function sumOfRemoved(
  storage: StorageContext,
  namespaceId: string,
  work: CallWork,
): Promise<StoredAccounting | undefined> {
  const account = await accountOfRemoved(storage, namespaceId, work);
  if (account === null) return undefined;
  if (account === undefined) return UNCOUNTED;
  const sum = storage.sums.of(account);
  await sum.ready();
  // Again: it may have waited until the account was removed.
  return (await accountOfRemoved(storage, namespaceId, work)) === account ? sum : UNCOUNTED;
}

/** undefined: the account is gone. null: so is the namespace, with all that it had. */
async function accountOfRemoved(
  { records }: StorageContext,
  namespaceId: string,
  work: CallWork,
): Promise<string | null | undefined> {
  const record = await records.get(kvKeys.removed(namespaceId), work);
  return record === undefined ? null : removedAccount(record);
}
