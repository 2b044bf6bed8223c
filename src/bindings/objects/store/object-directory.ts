/** The stored data of an account's stateful objects, for administration: by class, and object by object. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { afterPrefix } from '../../../storage/records/level-database.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { namespaceKey } from '../object-id.js';
import { contentsOf, decodeHead, HEAD_BYTES } from './object-head.js';
import { objectKeys, refOfHead } from './object-keys.js';
import { objectStoreOf } from './object-store.js';

/** A class of which some object has stored something. */
export interface ObjectNamespaceInfo {
  /** 64 hexadecimal digits, the same always. */
  readonly id: string;
  readonly functionName: string;
  readonly className: string;
}

export interface StoredObjectInfo {
  readonly id: string;
  /** As they count to the storage of the account. */
  readonly bytes: number;
  readonly keys: number;
  /** When its alarm is to run, in milliseconds since the epoch. */
  readonly alarmMs: number | undefined;
}

export interface ObjectPage {
  readonly objects: readonly StoredObjectInfo[];
  /** There are more behind the last. */
  readonly hasMore: boolean;
}

export interface ObjectDirectory {
  list(): Promise<ObjectNamespaceInfo[]>;
  find(id: string): Promise<ObjectNamespaceInfo | undefined>;
  /** In the order of their ids, behind `after`. */
  objects(of: ObjectNamespaceInfo, limit: number, after?: string): Promise<ObjectPage>;
  /** Deletes what the object has stored, and its alarm; a live instance is reset when it next writes. False when there was nothing. */
  delete(of: ObjectNamespaceInfo, id: string): Promise<boolean>;
}

export function objectDirectory(account: string, open: () => Promise<StorageContext>): ObjectDirectory {
  // In the queues of the storage the account takes turns with others.
  const work: CallWork = { ...OWN_WORK, owner: {} };

  const spaceOf = async ({ records, sums }: StorageContext): Promise<string | undefined> => {
    // An earlier account of this id that is being removed must not count here.
    await sums.whenEnded(account);
    return (await records.get(objectKeys.space(account), work))?.toString();
  };

  /** The first record from the key on. */
  const firstFrom = async ({ records }: StorageContext, gte: string, lt: string): Promise<string | undefined> => {
    const keys = await records.keys({ gte, lt }, undefined, work);
    const [key] = await keys.nextv(1).finally(() => keys.close());
    return key;
  };

  const list = async (): Promise<ObjectNamespaceInfo[]> => {
    const storage = await open();
    const space = await spaceOf(storage);
    const found: ObjectNamespaceInfo[] = [];
    if (space === undefined) return found;
    const heads = objectKeys.heads(space);
    for (let gte = heads; ; ) {
      const key = await firstFrom(storage, gte, afterPrefix(heads));
      if (key === undefined) return found;
      const { functionName, className } = refOfHead(key, space);
      found.push({ id: namespaceKey(account, functionName, className), functionName, className });
      gte = afterPrefix(key.slice(0, key.lastIndexOf('/') + 1));
    }
  };

  return {
    list,
    find: async id => (await list()).find(each => each.id === id),

    async objects({ functionName, className }, limit, after = '') {
      const storage = await open();
      const space = await spaceOf(storage);
      if (space === undefined) return { objects: [], hasMore: false };
      const prefix = objectKeys.head(space, { account, functionName, className, id: '' });
      const range = { gte: after === '' ? prefix : `${prefix}${after}\0`, lt: afterPrefix(prefix) };
      const iterator = await storage.records.iterator(range, undefined, work);
      const objects: StoredObjectInfo[] = [];
      try {
        while (objects.length <= limit) {
          const page = await iterator.nextv(limit + 1 - objects.length);
          if (page.length === 0) break;
          for (const [key, record] of page) {
            const head = decodeHead(record);
            const bytes = contentsOf(head).bytes + HEAD_BYTES;
            objects.push({ id: key.slice(prefix.length), bytes, keys: head.keys, alarmMs: head.alarm?.dueMs });
          }
        }
      } finally {
        await iterator.close();
      }
      return { objects: objects.slice(0, limit), hasMore: objects.length > limit };
    },

    async delete({ functionName, className }, id) {
      const storage = await open();
      const space = await spaceOf(storage);
      const ref = { account, functionName, className, id };
      if (space === undefined) return false;
      if ((await storage.records.get(objectKeys.head(space, ref), work)) === undefined) return false;
      const store = objectStoreOf(storage);
      // From here on the object is nobody else's: what an instance of it still writes comes before, or fails.
      const { user } = await store.open(ref, work);
      store.usedSql({ ref, user })?.discard();
      const nothing = { isClearing: true, entries: new Map<string, undefined>(), alarm: null };
      const { signal } = new AbortController();
      await store.write({ ref, user }, 0, async () => nothing, { bounds: undefined, work, signal });
      return true;
    },
  };
}
