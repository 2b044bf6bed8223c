import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, compareKeys } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import type { ListPage, ListQuery, ObjectRecord } from './engine.js';
import { BUCKET_LIMITS } from './limits.js';
import { decodeCursor, encodeCursor, type ListPosition } from './list-cursor.js';
import { decodeObject, metadataBytes } from './object-codec.js';

/** Entries read at once: few behind a group, where most would be skipped, then more while there are no groups. */
const FIRST_READ = 4;
const LARGEST_READ = 1000;

/** A page of a listing, read from one snapshot. Groups are skipped by seeking, whatever their size. */
export async function listObjects(records: KeyValueStore, bucketId: string, query: ListQuery): Promise<ListPage> {
  const root = recordKeys.objects(bucketId);
  const prefix = root + (query.prefix ?? '').normalize();
  const range = { gte: startKey(root, prefix, query), lt: afterPrefix(prefix) };
  const page = new PageBuilder(query);
  if (compareKeys(range.gte, range.lt) >= 0) return page.build();

  const delimiter = query.delimiter?.normalize() ?? '';
  const iterator = await records.iterator(range);
  try {
    let size = delimiter === '' ? Math.min(query.limit + 1, LARGEST_READ) : FIRST_READ;
    let group: string | undefined;
    for (;;) {
      const entries = await iterator.nextv(size);
      if (entries.length === 0) return page.build();
      for (const [key, record] of entries) {
        if (group !== undefined && key.startsWith(group)) continue;
        group = delimiter === '' ? undefined : groupOf(key, prefix, delimiter);
        const added =
          group === undefined
            ? page.addObject(key.slice(root.length), record)
            : page.addGroup(group.slice(root.length));
        if (!added) return page.build();
      }
      if (group !== undefined && entries.at(-1)?.[0].startsWith(group)) {
        iterator.seek(afterPrefix(group));
        size = FIRST_READ;
      } else size = Math.min(size * 4, LARGEST_READ);
    }
  } finally {
    await iterator.close();
  }
}

/** The first key a page may hold: behind the cursor and behind `startAfter`. */
function startKey(root: string, prefix: string, query: ListQuery): string {
  let start = prefix;
  const candidates: string[] = [];
  if (query.startAfter !== undefined) candidates.push(`${root}${query.startAfter.normalize()}\0`);
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
    // Without the sizes of parts: a page could hold millions of them.
    const { object } = decodeObject(record, key, false);
    this.#objects.push(
      includeHttpMetadata && includeCustomMetadata
        ? object
        : {
            ...object,
            httpMetadata: includeHttpMetadata ? object.httpMetadata : {},
            customMetadata: includeCustomMetadata ? object.customMetadata : {},
          },
    );
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
    return {
      objects: this.#objects,
      delimitedPrefixes: this.#prefixes,
      truncated: this.#isTruncated,
      ...(this.#isTruncated && this.#last !== undefined ? { cursor: encodeCursor(this.#last) } : undefined),
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
