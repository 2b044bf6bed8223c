import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, compareKeys, type LevelRange } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import type { ListPage, ListQuery, ObjectRecord } from './engine.js';
import { BUCKET_LIMITS } from './limits.js';
import { decodeCursor, encodeCursor, type ListPosition } from './list-cursor.js';
import { entryOf, type KnownListing, type Listing, type ListingCache, type ListingEntries } from './listing-cache.js';
import { normalKey } from './normal-key.js';
import { decodeListed, metadataBytes } from './object-codec.js';

/** Entries read at once, at most. */
const LARGEST_READ = 1000;
/** Entries of a page that are read at once: the next are read while these are decoded. */
const PAGE_READ = 334;
const NO_MORE: Promise<[string, Buffer][]> = Promise.resolve([]);
/** How much of a group is read before it is skipped by seeking, which costs as much as reading some 30 entries. */
const PATIENCE = { first: 32, least: 2, most: 64 } as const;

/**
 * A page of a listing. Without a delimiter it is read from one snapshot. By delimiter, large groups are skipped by seeking,
 * whatever their size, and where the listing was read before, its groups are known: only the objects are read, and the
 * entries that were changed since.
 */
export async function listObjects(
  records: KeyValueStore,
  bucketId: string,
  cache: ListingCache,
  query: ListQuery,
): Promise<ListPage> {
  const root = recordKeys.objects(bucketId);
  const prefix = root + normalKey(query.prefix ?? '');
  const delimiter = normalKey(query.delimiter ?? '');
  const range = { gte: startKey(root, prefix, query), lt: afterPrefix(prefix) };
  if (compareKeys(range.gte, range.lt) >= 0) return new PageBuilder(query).build();
  if (delimiter === '') return (await readPage(records, root, range, query)).build();

  const listing = {
    prefix: prefix.slice(root.length),
    delimiter,
    // At or behind the prefix and before what follows it: it begins with it.
    start: range.gte.slice(root.length),
    limit: query.limit,
  };
  const known = cache.find(listing);
  const page = known === undefined ? undefined : await readKnown(records, root, cache, known, query);
  if (page !== undefined) return page.build();
  const reading = cache.startReading(listing);
  try {
    const read = await readGroups(records, root, prefix, delimiter, range, query);
    // A page that its metadata cut short is not what another listing wants.
    if (!read.entries.isTruncated || read.entries.entries.length === query.limit) cache.keep(reading, read.entries);
    return read.build();
  } finally {
    cache.giveUp(reading);
  }
}

async function readPage(
  records: KeyValueStore,
  root: string,
  range: LevelRange,
  query: ListQuery,
): Promise<PageBuilder> {
  const page = new PageBuilder(query);
  const iterator = await records.iterator(range);
  let ahead = NO_MORE;
  try {
    // One more than the page holds tells whether it is the last.
    let left = query.limit + 1;
    for (let entries = await iterator.nextv(Math.min(left, PAGE_READ)); entries.length > 0; entries = await ahead) {
      left -= entries.length;
      // LevelDB reads on its own thread meanwhile.
      ahead = left > 0 ? iterator.nextv(Math.min(left, PAGE_READ)) : NO_MORE;
      for (const [key, record] of entries) {
        if (!page.addObject(key.slice(root.length), record)) return page;
      }
    }
    return page;
  } finally {
    // One read at a time: the one under way ends before the iterator is closed.
    await ahead.catch(() => {});
    await iterator.close();
  }
}

/** The entries that are known, after a look at those in doubt; undefined when it takes more than that. */
async function readKnown(
  records: KeyValueStore,
  root: string,
  cache: ListingCache,
  known: KnownListing,
  query: ListQuery,
): Promise<PageBuilder | undefined> {
  const { listing, entries: from, doubts } = known;
  const { isTruncated } = known;
  const candidates = withCandidates(from, [...doubts.keys()], listing, isTruncated);
  const objects = candidates.filter(({ kind }) => kind === 'object').map(({ key }) => root + key);
  const groups = candidates.filter(({ kind, key }) => kind === 'group' && doubts.has(key));
  const [found, isThere] = await Promise.all([
    objects.length === 0 ? [] : records.getMany(objects),
    Promise.all(groups.map(({ key }) => hasKeys(records, root, key, listing.start))),
  ]);
  const gone = new Set(groups.filter((_, index) => isThere[index] === false).map(({ key }) => key));
  const recordOf = new Map(objects.map((key, index) => [key.slice(root.length), found[index]]));
  const there = candidates.filter(({ kind, key }) =>
    kind === 'group' ? !gone.has(key) : recordOf.get(key) !== undefined,
  );
  // What comes behind the page is not known.
  if (isTruncated && there.length < listing.limit) {
    cache.forget(known);
    return undefined;
  }
  const entries = there.slice(0, listing.limit);
  const read = { entries, isTruncated: isTruncated || there.length > listing.limit };
  if (doubts.size > 0) cache.update(known, from, read, doubts);

  const page = new PageBuilder(query);
  for (const { kind, key } of entries) {
    if (!(kind === 'object' ? page.addObject(key, recordOf.get(key) ?? EMPTY) : page.addGroup(key))) return page;
  }
  if (read.isTruncated) page.truncate();
  return page;
}

/** The entries, and those in doubt that may have come, each in its place. */
function withCandidates(
  entries: readonly ListPosition[],
  doubts: readonly string[],
  listing: Listing,
  isTruncated: boolean,
): readonly ListPosition[] {
  if (doubts.length === 0) return entries;
  const known = new Set(entries.map(({ key }) => key));
  const last = isTruncated ? entries.at(-1) : undefined;
  const others = doubts.filter(key => !known.has(key) && (last === undefined || compareKeys(key, last.key) < 0));
  if (others.length === 0) return entries;
  const all = [...entries];
  for (const key of others) all.splice(placeOf(key, all), 0, entryOf(key, listing));
  return all;
}

function placeOf(key: string, entries: readonly ListPosition[]): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareKeys(entries[middle]?.key ?? '', key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether the group has a key that is not before `start`. */
async function hasKeys(records: KeyValueStore, root: string, group: string, start: string): Promise<boolean> {
  const gte = compareKeys(group, start) < 0 ? start : group;
  const iterator = await records.keys({ gte: root + gte, lt: afterPrefix(root + group) });
  try {
    return (await iterator.nextv(1)).length > 0;
  } finally {
    await iterator.close();
  }
}

const EMPTY = Buffer.alloc(0);

async function readGroups(
  records: KeyValueStore,
  root: string,
  prefix: string,
  delimiter: string,
  range: LevelRange,
  query: ListQuery,
): Promise<PageBuilder> {
  const page = new PageBuilder(query);
  const iterator = await records.iterator(range);
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

/** The first key a page may hold: behind the cursor and behind `startAfter`. */
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

/** The prefix up to and with the first delimiter behind the prefix asked for. */
function groupOf(key: string, prefix: string, delimiter: string): string | undefined {
  const at = key.indexOf(delimiter, prefix.length);
  return at === -1 ? undefined : key.slice(0, at + delimiter.length);
}

class PageBuilder {
  readonly #query: ListQuery;
  readonly #objects: ObjectRecord[] = [];
  readonly #prefixes: string[] = [];
  readonly #entries: ListPosition[] = [];
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
    this.#entries.push({ kind: 'object', key });
    return true;
  }

  /** false: the page is full. */
  addGroup(group: string): boolean {
    if (!this.#hasRoom()) return false;
    this.#prefixes.push(group);
    this.#entries.push({ kind: 'group', key: group });
    return true;
  }

  get entries(): ListingEntries {
    return { entries: this.#entries, isTruncated: this.#isTruncated };
  }

  truncate(): void {
    this.#isTruncated = true;
  }

  build(): ListPage {
    const last = this.#entries.at(-1);
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
