import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { countRecord } from '../../../storage/records/counts.js';
import { keyPages, removeBelow } from '../../../storage/records/fresh-pages.js';
import type { LevelOperation } from '../../../storage/records/level-database.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import { bucketKeys } from './bucket-keys.js';
import { entriesOf } from './listing-index.js';

const PAGE = 1000;
/** The bounds of one batch. */
const BATCH = { operations: 1000, characters: 2 ** 20 } as const;

/** Rebuilds the index of all buckets from the keys of their objects. It can be repeated when it was interrupted. Nothing else may write at the same time. */
export async function rebuildIndexes(records: RecordStore): Promise<void> {
  await removeBelow(records, bucketKeys.listingIndexes(), { size: PAGE });
  const batch = new Batch(records);
  const objects = bucketKeys.allObjects();
  /** The groups of the previous key, with the number of their keys so far. */
  let groups: CountedGroup[] = [];
  for await (const page of keyPages(records, objects, OWN_WORK, PAGE)) {
    for (const objectKey of page) {
      const idEnd = objectKey.indexOf('/');
      const bucketId = objectKey.slice(objects.length, idEnd);
      const key = objectKey.slice(idEnd + 1);
      const entries = entriesOf(key);
      if (entries.isLeaf) await batch.put(bucketKeys.leaves(bucketId, entries.groups.length) + key, NO_BYTES);
      const its = entries.groups.map((group, depth) => bucketKeys.groups(bucketId, depth) + group);
      // Keys are sorted, so a group that does not have this one is complete.
      const over = groups.findIndex(({ recordKey }, depth) => recordKey !== its[depth]);
      if (over !== -1) await batch.putCounts(groups.splice(over));
      for (const group of groups) group.keys++;
      groups = [...groups, ...its.slice(groups.length).map(recordKey => ({ recordKey, keys: 1 }))];
    }
  }
  await batch.putCounts(groups);
  await batch.write();
}

/** Removes the index of a bucket without objects, which should be empty. */
export function removeIndex(records: RecordStore, bucketId: string): Promise<void> {
  return removeBelow(records, bucketKeys.listingIndex(bucketId), { size: PAGE });
}

interface CountedGroup {
  readonly recordKey: string;
  keys: number;
}

class Batch {
  readonly #records: RecordStore;
  #operations: LevelOperation[] = [];
  #characters = 0;

  constructor(records: RecordStore) {
    this.#records = records;
  }

  async put(key: string, value: Uint8Array): Promise<void> {
    this.#operations.push({ type: 'put', key, value });
    this.#characters += key.length;
    if (this.#operations.length >= BATCH.operations || this.#characters >= BATCH.characters) await this.write();
  }

  async putCounts(groups: readonly CountedGroup[]): Promise<void> {
    for (const { recordKey, keys } of groups) await this.put(recordKey, countRecord(keys));
  }

  async write(): Promise<void> {
    const operations = this.#operations;
    this.#operations = [];
    this.#characters = 0;
    await this.#records.reserveSpace(operations);
    await this.#records.commit(operations);
  }
}
