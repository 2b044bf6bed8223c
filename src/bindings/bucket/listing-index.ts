import { countRecord, type RecordOperation } from '../storage/counts.js';
import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, type LevelOperation } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import { INDEXED_DEPTHS } from './limits.js';

/**
 * What listings by "/" hold, at each depth, which is a number of slashes: the objects whose keys have so many, and the
 * groups, which end with one slash more. So a listing reads two ranges of the depth of its prefix, however many keys its
 * groups have. The record of a group counts the keys that begin with it, so that the last one that goes takes it along.
 * Written in one batch with the objects, the index is never behind and never ahead of them.
 */
export const INDEXED_DELIMITER = '/';

/** Operations and characters of one batch of a rebuild, at most. */
const BATCH = { operations: 1000, characters: 2 ** 20 } as const;

/** How many slashes there are. */
export function depthOf(text: string): number {
  let depth = 0;
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) depth++;
  return depth;
}

/** What the commit must hold by which the key, which was not there, comes. */
export function comingOperations(bucketId: string, key: string): RecordOperation[] {
  const operations: RecordOperation[] = groupsOf(key).map((group, depth) => ({
    type: 'count',
    key: recordKeys.groups(bucketId, depth) + group,
    by: 1,
  }));
  const depth = depthOf(key);
  if (depth < INDEXED_DEPTHS) {
    operations.push({ type: 'put', key: recordKeys.leaves(bucketId, depth) + key, value: EMPTY });
  }
  return operations;
}

/** What the commit must hold by which the keys, which were there, go. */
export function goingOperations(bucketId: string, keys: readonly string[]): RecordOperation[] {
  const operations: RecordOperation[] = [];
  const counts = new Map<string, number>();
  for (const key of keys) {
    for (const group of groupsOf(key)) counts.set(group, (counts.get(group) ?? 0) - 1);
    const depth = depthOf(key);
    if (depth < INDEXED_DEPTHS) operations.push({ type: 'del', key: recordKeys.leaves(bucketId, depth) + key });
  }
  for (const [group, by] of counts) {
    operations.push({ type: 'count', key: recordKeys.groups(bucketId, depthOf(group) - 1) + group, by });
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
        const depth = depthOf(key);
        if (depth < INDEXED_DEPTHS) await batch.put(recordKeys.leaves(bucketId, depth) + key, EMPTY);
        const all = groupsOf(key).map((group, at) => recordKeys.groups(bucketId, at) + group);
        // The order of the keys: a group that a key is not in is over.
        const shared = groups.findIndex((group, at) => group.recordKey !== all[at]);
        if (shared !== -1)
          for (const { recordKey, keys } of groups.splice(shared)) await batch.put(recordKey, countRecord(keys));
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

/** The prefixes of the key up to and with its first slashes, one for each depth that is indexed. */
function groupsOf(key: string): string[] {
  const groups: string[] = [];
  for (let at = key.indexOf('/'); at !== -1 && groups.length < INDEXED_DEPTHS; at = key.indexOf('/', at + 1)) {
    groups.push(key.slice(0, at + 1));
  }
  return groups;
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
