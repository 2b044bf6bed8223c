import { countRecord, type RecordOperation } from '../storage/counts.js';
import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, type LevelOperation } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import { INDEXED } from './limits.js';

/**
 * What listings by "/" hold, at each depth, which is a number of slashes: the objects whose keys have so many, and the
 * groups, which end with one slash more. So a listing reads two ranges of the depth of its prefix, however many keys its
 * groups have. The record of a group counts the keys that begin with it, so that the last one that goes takes it along.
 * Written in one batch with the objects, the index is never behind and never ahead of them.
 */
export const INDEXED_DELIMITER = '/';

/** Operations and characters of one batch of a rebuild, at most. */
const BATCH = { operations: 1000, characters: 2 ** 20 } as const;

/** The depth of a listing with this prefix; undefined: it is not indexed. */
export function indexedDepth(prefix: string): number | undefined {
  let depth = 0;
  for (let at = prefix.indexOf('/'); at !== -1; at = prefix.indexOf('/', at + 1)) depth++;
  return isIndexed(depth, prefix.lastIndexOf('/') + 1) ? depth : undefined;
}

/** What the commit must hold by which the key, which was not there, comes. */
export function comingOperations(bucketId: string, key: string): RecordOperation[] {
  const { groups, isLeaf } = entriesOf(key);
  const operations: RecordOperation[] = groups.map((group, depth) => ({
    type: 'count',
    key: recordKeys.groups(bucketId, depth) + group,
    by: 1,
  }));
  if (isLeaf) operations.push({ type: 'put', key: recordKeys.leaves(bucketId, groups.length) + key, value: EMPTY });
  return operations;
}

/** What the commit must hold by which the keys, which were there, go. */
export function goingOperations(bucketId: string, keys: readonly string[]): RecordOperation[] {
  const operations: RecordOperation[] = [];
  for (const key of keys) {
    const { groups, isLeaf } = entriesOf(key);
    for (const [depth, group] of groups.entries()) {
      operations.push({ type: 'count', key: recordKeys.groups(bucketId, depth) + group, by: -1 });
    }
    if (isLeaf) operations.push({ type: 'del', key: recordKeys.leaves(bucketId, groups.length) + key });
  }
  return operations;
}

/**
 * Makes the index of all buckets anew, from the keys of their objects: for a storage that has none, or whose records were
 * repaired. It can be done again when it was interrupted. Nobody else may write meanwhile.
 */
export async function rebuildIndexes(records: KeyValueStore): Promise<void> {
  await removeRecords(records, recordKeys.listingIndexes());
  const batch = new Batch(records);
  const objects = recordKeys.allObjects();
  const keys = await records.keys({ gte: objects, lt: afterPrefix(objects) });
  try {
    /** The groups of the key read last, with the number of their keys so far. */
    let groups: CountedGroup[] = [];
    for (let page = await keys.nextv(1000); page.length > 0; page = await keys.nextv(1000)) {
      for (const recordKey of page) {
        const idEnd = recordKey.indexOf('/');
        const bucketId = recordKey.slice(objects.length, idEnd);
        const key = recordKey.slice(idEnd + 1);
        const { groups: its, isLeaf } = entriesOf(key);
        if (isLeaf) await batch.put(recordKeys.leaves(bucketId, its.length) + key, EMPTY);
        const all = its.map((group, depth) => recordKeys.groups(bucketId, depth) + group);
        // Keys come in order, so a group that one of them is not in is over.
        const over = groups.findIndex((group, at) => group.recordKey !== all[at]);
        const counted = over === -1 ? [] : groups.splice(over);
        for (const { recordKey, keys } of counted) await batch.put(recordKey, countRecord(keys));
        for (const group of groups) group.keys++;
        groups = [...groups, ...all.slice(groups.length).map(recordKey => ({ recordKey, keys: 1 }))];
      }
    }
    for (const { recordKey, keys } of groups) await batch.put(recordKey, countRecord(keys));
  } finally {
    await keys.close();
  }
  await batch.write();
}

/** What should be nothing, in a bucket without objects. */
export function removeIndex(records: KeyValueStore, bucketId: string): Promise<void> {
  return removeRecords(records, recordKeys.listingIndex(bucketId));
}

interface CountedGroup {
  readonly recordKey: string;
  keys: number;
}

/** The groups that the key is in, one for each depth that is indexed; and whether the listing behind them has the key itself. */
function entriesOf(key: string): { readonly groups: readonly string[]; readonly isLeaf: boolean } {
  const groups: string[] = [];
  let prefixLength = 0;
  for (let at = key.indexOf('/'); isIndexed(groups.length, prefixLength); at = key.indexOf('/', prefixLength)) {
    if (at === -1) return { groups, isLeaf: true };
    prefixLength = at + 1;
    groups.push(key.slice(0, prefixLength));
  }
  return { groups, isLeaf: false };
}

/** Of a prefix that ends with a slash, or is empty. */
function isIndexed(depth: number, length: number): boolean {
  return depth < INDEXED.depths && length <= INDEXED.prefixCharacters;
}

async function removeRecords(records: KeyValueStore, prefix: string): Promise<void> {
  const keys = await records.keys({ gte: prefix, lt: afterPrefix(prefix) });
  try {
    for (let page = await keys.nextv(1000); page.length > 0; page = await keys.nextv(1000)) {
      await records.commit(page.map(key => ({ type: 'del', key })));
    }
  } finally {
    await keys.close();
  }
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

  async write(): Promise<void> {
    const operations = this.#operations;
    this.#operations = [];
    this.#characters = 0;
    await this.#records.claim(operations);
    await this.#records.commit(operations);
  }
}

const EMPTY = new Uint8Array(0);
