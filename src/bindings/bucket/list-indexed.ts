import type { KeyValueStore } from '../storage/key-value-store.js';
import { afterPrefix, type LevelView } from '../storage/level-database.js';
import { recordKeys } from '../storage/record-keys.js';
import { INDEXED_DELIMITER } from './listing-index.js';

/** Names of the index read at once, at most: those of a full page, and the one that tells that it is not the last. */
const NAMES_READ = 1001;
/** Entries whose objects are read at once: the next are read while these are decoded. */
const OBJECTS_READ = 250;

/** A listing by "/". Keys are in NFC. */
export interface IndexedListing {
  readonly bucketId: string;
  readonly prefix: string;
  /** How many slashes the prefix has: fewer than there are depths in the index. */
  readonly depth: number;
  /** The first key it may hold; it begins with the prefix. */
  readonly start: string;
  readonly limit: number;
}

/** A page that is being filled. false: it is full, and what was given is not in it. */
export interface PageEntries {
  addObject(key: string, record: Buffer): boolean;
  addGroup(group: string): boolean;
}

/** Fills the page with what the index has from the start on, as it is now. */
export async function readIndexed(records: KeyValueStore, page: PageEntries, listing: IndexedListing): Promise<void> {
  const { bucketId, prefix, depth } = listing;
  const root = recordKeys.listing(bucketId, depth);
  const snapshot = await records.snapshot();
  try {
    const view = { snapshot };
    const range = { gte: root + (await firstName(records, view, listing)), lt: afterPrefix(root + prefix) };
    const names = await records.keys(range, view);
    try {
      let left = listing.limit + 1;
      while (left > 0) {
        const found = await names.nextv(Math.min(left, NAMES_READ));
        if (found.length === 0) return;
        left -= found.length;
        const entries = found.map(name => entryOf(name.slice(root.length), prefix));
        if (!(await addEntries(page, entries, objects => readObjects(records, view, bucketId, objects)))) return;
      }
    } finally {
      await names.close();
    }
  } finally {
    await snapshot.close();
  }
}

/** The name to begin with. The group that the start is in belongs to the page if it has a key from there on. */
async function firstName(
  records: KeyValueStore,
  view: LevelView,
  { bucketId, prefix, start }: IndexedListing,
): Promise<string> {
  const { isGroup, name: group } = entryOf(start, prefix);
  if (!isGroup) return start;
  const root = recordKeys.objects(bucketId);
  const keys = await records.keys({ gte: root + start, lt: afterPrefix(root + group) }, view);
  try {
    return (await keys.nextv(1)).length > 0 ? group : afterPrefix(group);
  } finally {
    await keys.close();
  }
}

interface Entry {
  readonly name: string;
  readonly isGroup: boolean;
}

/** The group that the text is, or is in: the prefix up to and with the first slash behind the one asked for. Else itself. */
function entryOf(text: string, prefix: string): Entry {
  const at = text.indexOf(INDEXED_DELIMITER, prefix.length);
  return at === -1 ? { name: text, isGroup: false } : { name: text.slice(0, at + 1), isGroup: true };
}

/** In the order of the objects' names. */
type ObjectRecords = readonly (Buffer | undefined)[];
const NO_RECORDS: Promise<ObjectRecords> = Promise.resolve([]);

/** false: the page is full. */
async function addEntries(
  page: PageEntries,
  entries: readonly Entry[],
  read: (entries: readonly Entry[]) => Promise<ObjectRecords>,
): Promise<boolean> {
  let ahead = read(entries.slice(0, OBJECTS_READ));
  try {
    for (let from = 0; from < entries.length; from += OBJECTS_READ) {
      const end = from + OBJECTS_READ;
      const objects = (await ahead).values();
      // LevelDB reads on its own thread meanwhile.
      ahead = end < entries.length ? read(entries.slice(end, end + OBJECTS_READ)) : NO_RECORDS;
      for (const { name, isGroup } of entries.slice(from, end)) {
        if (!isGroup) {
          const record = objects.next().value;
          if (record !== undefined && !page.addObject(name, record)) return false;
        } else if (!page.addGroup(name)) return false;
      }
    }
    return true;
  } finally {
    await ahead.catch(() => {});
  }
}

/** The records of the objects among the entries. */
async function readObjects(
  records: KeyValueStore,
  view: LevelView,
  bucketId: string,
  entries: readonly Entry[],
): Promise<ObjectRecords> {
  const root = recordKeys.objects(bucketId);
  const keys = entries.filter(({ isGroup }) => !isGroup).map(({ name }) => root + name);
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) return [];
  // Keys of groups are between them.
  if (keys.length < entries.length) return records.getMany(keys, view);
  const found = new Map<string, Buffer>();
  for await (const page of records.pages({ gte: first, lt: `${last}\0` }, keys.length, view)) {
    for (const [key, record] of page) found.set(key, record);
    if (found.size >= keys.length) break;
  }
  return keys.map(key => found.get(key));
}
