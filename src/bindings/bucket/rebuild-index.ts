import { countRecord } from '../storage/counts.js';
import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, type LevelOperation } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import { entriesOf } from './listing-index.js';

const PAGE = 1000;
/** Of one batch, at most. */
const BATCH = { operations: 1000, characters: 2 ** 20 } as const;

/**
 * Makes the index of all buckets anew, from the keys of their objects: for a storage that has none, or whose records were
 * repaired. It can be done again when it was cut short. Nobody else may write meanwhile.
 */
export async function rebuildIndexes(records: KeyValueStore): Promise<void> {
  await removeRecords(records, recordKeys.listingIndexes());
  const batch = new Batch(records);
  const objects = recordKeys.allObjects();
  /** Of the key read last, with the number of their keys so far. */
  let groups: CountedGroup[] = [];
  for await (const page of keyPages(records, objects)) {
    for (const objectKey of page) {
      const idEnd = objectKey.indexOf('/');
      const bucketId = objectKey.slice(objects.length, idEnd);
      const key = objectKey.slice(idEnd + 1);
      const entries = entriesOf(key);
      if (entries.isLeaf) await batch.put(recordKeys.leaves(bucketId, entries.groups.length) + key, EMPTY);
      const its = entries.groups.map((group, depth) => recordKeys.groups(bucketId, depth) + group);
      // Keys come in order, so a group that one of them is not in is over.
      const over = groups.findIndex(({ recordKey }, depth) => recordKey !== its[depth]);
      if (over !== -1) await batch.putCounts(groups.splice(over));
      for (const group of groups) group.keys++;
      groups = [...groups, ...its.slice(groups.length).map(recordKey => ({ recordKey, keys: 1 }))];
    }
  }
  await batch.putCounts(groups);
  await batch.write();
}

/** What should be nothing, in a bucket without objects. */
export function removeIndex(records: KeyValueStore, bucketId: string): Promise<void> {
  return removeRecords(records, recordKeys.listingIndex(bucketId));
}

async function removeRecords(records: KeyValueStore, prefix: string): Promise<void> {
  for await (const page of keyPages(records, prefix)) {
    await records.commit(page.map(key => ({ type: 'del', key })));
  }
}

/** An iterator for each page: a write between them may open the database again. */
async function* keyPages(records: KeyValueStore, prefix: string): AsyncGenerator<string[]> {
  for (let gte = prefix; ; ) {
    const keys = await records.keys({ gte, lt: afterPrefix(prefix) });
    let page: string[];
    try {
      page = await keys.nextv(PAGE);
    } finally {
      await keys.close();
    }
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    gte = `${last}\0`;
  }
}

interface CountedGroup {
  readonly recordKey: string;
  keys: number;
}

class Batch {
  readonly #records: KeyValueStore;
  #operations: LevelOperation[] = [];
  #characters = 0;

  constructor(records: KeyValueStore) {
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
    await this.#records.claim(operations);
    await this.#records.commit(operations);
  }
}

const EMPTY = new Uint8Array(0);
