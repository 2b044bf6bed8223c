import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { afterPrefix, compareKeys, type LevelRange, type LevelView } from '../../../storage/records/level-database.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import { visitRange } from '../../../storage/records/visit-range.js';
import type { ListPage, ListQuery, ObjectRecord } from '../engine.js';
import { BUCKET_LIMITS } from '../limits.js';
import { decodeCursor, encodeCursor, type ListPosition } from '../list-cursor.js';
import { normalKey } from '../normal-key.js';
import { bucketKeys } from './bucket-keys.js';
import { addEntries, type IndexedListing, type PageEntries, readEntries } from './list-indexed.js';
import { INDEXED_DELIMITER, indexedDepth } from './listing-index.js';
import { decodeListed, metadataBytes } from './object-codec.js';

/** The maximum of entries in one read. */
const LARGEST_READ = 1000;
/** How many entries of a group are read before the rest is skipped by a seek, which costs as much as reading some 30 entries. */
const PATIENCE = { first: 32, least: 2, most: 64 } as const;

/**
 * A page of a listing, read from one snapshot. Groups by "/" are in an index, so their size does not matter. Groups by other delimiters, and those
 * deeper than the index, are skipped by seeking, which takes some 50 µs for each.
 */
export async function listObjects(
  records: RecordStore,
  bucketId: string,
  query: ListQuery,
  work: CallWork = OWN_WORK,
): Promise<ListPage> {
  const root = bucketKeys.objects(bucketId);
  const prefix = normalKey(query.prefix ?? '');
  const delimiter = normalKey(query.delimiter ?? '');
  const range = { gte: startKey(root, root + prefix, query), lt: afterPrefix(root + prefix) };
  if (compareKeys(range.gte, range.lt) >= 0) return new PageBuilder(query).build();
  if (delimiter === '') return (await readPage(records, root, range, query, work)).build();

  const depth = delimiter === INDEXED_DELIMITER ? indexedDepth(prefix) : undefined;
  if (depth !== undefined) {
    // Between the prefix and its upper bound, so it begins with the prefix.
    const start = range.gte.slice(root.length);
    return readIndexed(records, { bucketId, prefix, depth, start, limit: query.limit }, root, range, query, work);
  }
  return (await readGroups(records, root, root + prefix, delimiter, range, query, work)).build();
}

async function readIndexed(
  records: RecordStore,
  listing: IndexedListing,
  root: string,
  range: LevelRange,
  query: ListQuery,
  work: CallWork,
): Promise<ListPage> {
  const snapshot = await records.snapshot();
  try {
    const view = { snapshot };
    const entries = await readEntries(records, view, listing, work);
    if (entries === undefined) return (await readPage(records, root, range, query, work, view)).build();
    const page = new PageBuilder(query);
    await addEntries(records, view, listing.bucketId, page, entries, work);
    return page.build();
  } finally {
    await snapshot.close();
  }
}

async function readPage(
  records: RecordStore,
  root: string,
  range: LevelRange,
  query: ListQuery,
  work: CallWork,
  view?: LevelView,
): Promise<PageBuilder> {
  const page = new PageBuilder(query);
  // One entry more than the page has room for shows whether there is another page.
  let left = query.limit + 1;
  const visitor = {
    wanted: () => left,
    visit: (key: string, record: Buffer) => {
      left--;
      return page.addObject(key.slice(root.length), record);
    },
  };
  await visitRange(records, range, visitor, work, view);
  return page;
}

async function readGroups(
  records: RecordStore,
  root: string,
  prefix: string,
  delimiter: string,
  range: LevelRange,
  query: ListQuery,
  work: CallWork,
): Promise<PageBuilder> {
  const page = new PageBuilder(query);
  const iterator = await records.iterator(range, undefined, work);
  try {
    let group: string | undefined;
    let seenOfGroup = 0;
    let patience: number = PATIENCE.first;
    let size = patience;
    for (;;) {
      const entries = await iterator.nextv(size);
      if (entries.length === 0) return page;
      for (const [key, record] of entries) {
        seenOfGroup++;
        if (group !== undefined) {
          if (key.startsWith(group)) continue;
          patience = Math.min(patience * 2, PATIENCE.most);
        }
        group = groupOf(key, prefix, delimiter);
        seenOfGroup = 1;
        const added =
          group === undefined
            ? page.addObject(key.slice(root.length), record)
            : page.addGroup(group.slice(root.length));
        if (!added) return page;
      }
      if (group === undefined) size = Math.min(size * 4, LARGEST_READ);
      else if (seenOfGroup < patience) size = Math.max(patience, Math.min(size * 2, LARGEST_READ));
      else {
        iterator.seek(afterPrefix(group));
        group = undefined;
        patience = Math.max(patience / 2, PATIENCE.least);
        size = patience;
      }
    }
  } finally {
    await iterator.close();
  }
}

/** The first key that can be on the page: after the cursor and after `startAfter`. */
function startKey(root: string, prefix: string, query: ListQuery): string {
  let start = prefix;
  const candidates: string[] = [];
  if (query.startAfter !== undefined) candidates.push(`${root}${normalKey(query.startAfter)}\0`);
  const position = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  if (position !== undefined) {
    candidates.push(position.kind === 'object' ? `${root}${position.key}\0` : afterPrefix(root + position.key));
  }
  for (const candidate of candidates) {
    if (compareKeys(candidate, start) > 0) start = candidate;
  }
  return start;
}

/** The key up to the first delimiter after the requested prefix, including the delimiter. */
function groupOf(key: string, prefix: string, delimiter: string): string | undefined {
  const at = key.indexOf(delimiter, prefix.length);
  return at === -1 ? undefined : key.slice(0, at + delimiter.length);
}

class PageBuilder implements PageEntries {
  readonly #query: ListQuery;
  readonly #objects: ObjectRecord[] = [];
  readonly #prefixes: string[] = [];
  #last: ListPosition | undefined;
  #metadataBytes = 0;
  #isTruncated = false;

  constructor(query: ListQuery) {
    this.#query = query;
  }

  /** false: the page is full. */
  addObject(key: string, record: Buffer): boolean {
    if (!this.#hasRoom()) return false;
    const { includeHttpMetadata, includeCustomMetadata } = this.#query;
    if (includeHttpMetadata || includeCustomMetadata) {
      this.#metadataBytes += metadataBytes(record);
    }
    this.#objects.push(decodeListed(record, key, this.#query));
    this.#last = { kind: 'object', key };
    return true;
  }

  /** false: the page is full. */
  addGroup(group: string): boolean {
    if (!this.#hasRoom()) return false;
    this.#prefixes.push(group);
    this.#last = { kind: 'group', key: group };
    return true;
  }

  build(): ListPage {
    const last = this.#last;
    return {
      objects: this.#objects,
      delimitedPrefixes: this.#prefixes,
      truncated: this.#isTruncated,
      ...(this.#isTruncated && last !== undefined ? { cursor: encodeCursor(last) } : undefined),
    };
  }

  #hasRoom(): boolean {
    const isFull =
      this.#objects.length + this.#prefixes.length >= this.#query.limit ||
      this.#metadataBytes >= BUCKET_LIMITS.listMetadataBytes;
    this.#isTruncated = isFull;
    return !isFull;
  }
}
