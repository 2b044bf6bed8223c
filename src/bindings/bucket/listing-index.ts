import type { RecordOperation } from '../storage/counts.js';
import { recordKeys } from '../storage/record-keys.js';
import { INDEXED } from './limits.js';

/**
 * What listings by "/" hold, at each depth, which is a number of slashes: the objects whose keys have so many, and the
 * groups, which end with one slash more. So a listing reads two ranges of the depth of its prefix, however many keys its
 * groups have. The record of a group counts the keys that begin with it, so that the last one that goes takes it along.
 * Written in one batch with the objects, the index is never behind and never ahead of them.
 */
export const INDEXED_DELIMITER = '/';

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

/** The groups that the key is in, one for each depth that is indexed; and whether the listing behind them has the key itself. */
export function entriesOf(key: string): { readonly groups: readonly string[]; readonly isLeaf: boolean } {
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

const EMPTY = new Uint8Array(0);
