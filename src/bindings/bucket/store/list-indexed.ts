import type { CallWork } from '../../../quotas/host/call-work.js';
import { afterPrefix, compareKeys, type LevelRange, type LevelView } from '../../../storage/records/level-database.js';
import type { RecordStore } from '../../../storage/records/record-store.js';
import { bucketKeys } from './bucket-keys.js';
import { INDEXED_DELIMITER } from './listing-index.js';

/** Entries whose objects are in one read. The next read runs while these are decoded. */
const OBJECTS_READ = 250;

/** A listing by "/". Keys are in NFC. */
export interface IndexedListing {
  readonly bucketId: string;
  readonly prefix: string;
  /** The number of slashes in the prefix. */
  readonly depth: number;
  /** The first key that can be on the page. It begins with the prefix. */
  readonly start: string;
  readonly limit: number;
}

export interface IndexEntry {
  readonly name: string;
  readonly isGroup: boolean;
}

/** A page that is being filled. The methods return false when it is full, and do not add the entry. */
export interface PageEntries {
  addObject(key: string, record: Buffer): boolean;
  addGroup(group: string): boolean;
}

/**
 * The entries of the page, and one more if there is another page. undefined when no group follows the start, so that the listing is the keys in their order.
 */
export async function readEntries(
  records: RecordStore,
  view: LevelView,
  listing: IndexedListing,
  work: CallWork,
): Promise<IndexEntry[] | undefined> {
  const { bucketId, prefix, depth, limit } = listing;
  const first = await firstName(records, view, listing, work);
  const names = (root: string, lt = afterPrefix(root + prefix)) =>
    readNames(records, view, root, { gte: root + first, lt }, limit + 1, work);
  const groups = await names(bucketKeys.groups(bucketId, depth));
  if (groups.length === 0) return undefined;
  const root = bucketKeys.leaves(bucketId, depth);
  // Objects after the last group of a full page are not on it.
  const objects = await names(root, groups.length > limit ? root + groups.at(-1) : undefined);
  return merge(groups, objects).slice(0, limit + 1);
}

/** Fills the page with the entries, and reads the records of the objects among them. */
export async function addEntries(
  records: RecordStore,
  view: LevelView,
  bucketId: string,
  page: PageEntries,
  entries: readonly IndexEntry[],
  work: CallWork,
): Promise<void> {
  const read = (from: number) => readObjects(records, view, bucketId, entries.slice(from, from + OBJECTS_READ), work);
  let ahead = read(0);
  try {
    for (let from = 0; from < entries.length; from += OBJECTS_READ) {
      const objects = (await ahead).values();
      const end = from + OBJECTS_READ;
      // LevelDB reads on its own thread in the meantime.
      ahead = end < entries.length ? read(end) : NO_RECORDS;
      for (const { name, isGroup } of entries.slice(from, end)) {
        const record = isGroup ? undefined : objects.next().value;
        const isAdded = isGroup ? page.addGroup(name) : record === undefined || page.addObject(name, record);
        if (!isAdded) return;
      }
    }
  } finally {
    // The caller closes the snapshot next, which must not happen during a read.
    await ahead.catch(() => {});
  }
}

/** The first name. The group that contains the start is on the page if it has a key from the start on. */
async function firstName(
  records: RecordStore,
  view: LevelView,
  { bucketId, prefix, start }: IndexedListing,
  work: CallWork,
): Promise<string> {
  const at = start.indexOf(INDEXED_DELIMITER, prefix.length);
  if (at === -1) return start;
  const group = start.slice(0, at + 1);
  const root = bucketKeys.objects(bucketId);
  const keys = await records.keys({ gte: root + start, lt: afterPrefix(root + group) }, view, work);
  try {
    return (await keys.nextv(1)).length > 0 ? group : afterPrefix(group);
  } finally {
    await keys.close();
  }
}

async function readNames(
  records: RecordStore,
  view: LevelView,
  root: string,
  range: LevelRange,
  count: number,
  work: CallWork,
): Promise<string[]> {
  const names: string[] = [];
  const keys = await records.keys(range, view, work);
  try {
    while (names.length < count) {
      const found = await keys.nextv(count - names.length);
      if (found.length === 0) break;
      for (const key of found) names.push(key.slice(root.length));
    }
  } finally {
    await keys.close();
  }
  return names;
}

/** Both lists are sorted, and no name is in both. */
function merge(groups: readonly string[], objects: readonly string[]): IndexEntry[] {
  const entries: IndexEntry[] = [];
  let next = 0;
  for (const name of groups) {
    for (let object = objects[next]; object !== undefined && compareKeys(object, name) < 0; object = objects[++next]) {
      entries.push({ name: object, isGroup: false });
    }
    entries.push({ name, isGroup: true });
  }
  for (const name of objects.slice(next)) entries.push({ name, isGroup: false });
  return entries;
}

/** In the order of the objects' names. */
type ObjectRecords = readonly (Buffer | undefined)[];
const NO_RECORDS: Promise<ObjectRecords> = Promise.resolve([]);

/** The records of the objects among the entries. */
async function readObjects(
  records: RecordStore,
  view: LevelView,
  bucketId: string,
  entries: readonly IndexEntry[],
  work: CallWork,
): Promise<ObjectRecords> {
  const root = bucketKeys.objects(bucketId);
  const keys = entries.filter(({ isGroup }) => !isGroup).map(({ name }) => root + name);
  const [first, last] = [keys[0], keys.at(-1)];
  if (first === undefined || last === undefined) return [];
  // Keys of groups are between the keys of objects.
  if (keys.length < entries.length) return records.getMany(keys, view, work);
  const found = new Map<string, Buffer>();
  for await (const page of records.pages({ gte: first, lt: `${last}\0` }, keys.length, view, work)) {
    for (const [key, record] of page) found.set(key, record);
    if (found.size >= keys.length) break;
  }
  return keys.map(key => found.get(key));
}
