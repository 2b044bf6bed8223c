/** Rebuilds the records of expiries from the records of keys. */
import { afterPrefix, type LevelOperation, type LevelRange } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { expirationOf } from './entry-codec.js';
import { kvKeys } from './kv-keys.js';
import { NAMESPACES } from './stored-namespaces.js';

export async function rebuildExpiries(storage: StorageContext): Promise<void> {
  const { records } = storage;
  for await (const page of records.pages(rangeOf(kvKeys.expiries()))) {
    await records.commit(page.map(([key]) => ({ type: 'del', key })));
  }
  for await (const { id, account } of NAMESPACES.all(storage)) {
    const root = kvKeys.entries(id);
    const value = Buffer.from(account);
    for await (const page of records.pages(rangeOf(root))) {
      const operations: LevelOperation[] = [];
      for (const [key, record] of page) {
        const expiration = expirationOf(record);
        if (expiration === undefined) continue;
        operations.push({ type: 'put', key: kvKeys.expiry(expiration, id, key.slice(root.length)), value });
      }
      if (operations.length > 0) await records.commit(operations);
    }
  }
}

function rangeOf(prefix: string): LevelRange {
  return { gte: prefix, lt: afterPrefix(prefix) };
}
