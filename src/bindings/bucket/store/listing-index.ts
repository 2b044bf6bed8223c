import type { RecordOperation } from '../../../storage/records/counts.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import { INDEXED } from '../limits.js';
import { bucketKeys } from './bucket-keys.js';

/**
 * The index of listings by "/". For each depth, which is a number of slashes, it has the objects whose keys have that many, and the groups, which end
 * with one slash more. So a listing reads two ranges of the depth of its prefix, however many keys its groups have. The record of a group counts the
 * keys that begin with it, and is deleted with the last of them. The index is written in one batch with the objects, so it always agrees with them.
 */
export const INDEXED_DELIMITER = '/';

/** The depth of a listing with this prefix; undefined when it is not indexed. */
export function indexedDepth(prefix: string): number | undefined {
  let depth = 0;
  for (let at = prefix.indexOf('/'); at !== -1; at = prefix.indexOf('/', at + 1)) depth++;
  return isIndexed(depth, prefix.lastIndexOf('/') + 1) ? depth : undefined;
}

/** To be part of the commit that adds the key, which did not exist before. */
export function indexInsertOps(bucketId: string, key: string): RecordOperation[] {
  const { groups, isLeaf } = entriesOf(key);
  const operations: RecordOperation[] = groups.map((group, depth) => ({
    type: 'count',
    key: bucketKeys.groups(bucketId, depth) + group,
    by: 1,
  }));
  if (isLeaf) operations.push({ type: 'put', key: bucketKeys.leaves(bucketId, groups.length) + key, value: NO_BYTES });
  return operations;
}

/** The operations that must be part of the commit that removes the keys. Every key must exist. */
export function indexRemoveOps(bucketId: string, keys: readonly string[]): RecordOperation[] {
  const operations: RecordOperation[] = [];
  for (const key of keys) {
    const { groups, isLeaf } = entriesOf(key);
    for (const [depth, group] of groups.entries()) {
      operations.push({ type: 'count', key: bucketKeys.groups(bucketId, depth) + group, by: -1 });
    }
    if (isLeaf) operations.push({ type: 'del', key: bucketKeys.leaves(bucketId, groups.length) + key });
  }
  return operations;
}

/** The groups of the key, one for each indexed depth; and whether the listing of the last one has the key itself. */
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

/** Whether listings by a prefix, which ends with a slash or is empty, are indexed. */
function isIndexed(depth: number, length: number): boolean {
  return depth < INDEXED.depths && length <= INDEXED.prefixCharacters;
}
