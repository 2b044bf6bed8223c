import { join } from 'node:path';
import type { LevelDatabase } from '../../../src/storage/records/level-database.js';
import { openLevel } from '../../../src/storage/records/open-level.js';
import type { RecordStore } from '../../../src/storage/records/record-store.js';

/** What is kept of all buckets: their keys, and the index of their listings. */
export interface Kept {
  /** `<bucket id>/<key>`. */
  readonly objects: readonly string[];
  /** As they are: `g<depth>/<group>=<count>` and `o<depth>/<key>=`, each behind the id of its bucket. */
  readonly index: readonly string[];
}

const isIndexed = (parents: readonly string[]) =>
  parents.length < 8 && parents.map(each => `${each}/`).join('').length <= 256;

export async function readKept(records: RecordStore | LevelDatabase): Promise<Kept> {
  const all = async (gte: string, lt: string): Promise<[string, Buffer][]> => {
    const iterator = await records.iterator({ gte, lt, highWaterMarkBytes: 2 ** 20 });
    const entries: [string, Buffer][] = [];
    for (let page = await iterator.nextv(1000); page.length > 0; page = await iterator.nextv(1000))
      entries.push(...page);
    await iterator.close();
    return entries;
  };
  return {
    objects: (await all('o', 'p')).map(([key]) => key.slice(1)),
    index: (await all('l', 'm')).map(([key, value]) => `${key.slice(1)}=${value}`).sort(),
  };
}

/** The listing index of the storage in a directory that is not open. */
export async function keptIn(directory: string): Promise<Kept> {
  const database = await openLevel(join(directory, 'level'), directory);
  try {
    return await readKept(database);
  } finally {
    await database.close();
  }
}

/** The index that these objects have, in the simplest words. */
export function indexOf(objects: readonly string[]): string[] {
  const counts = new Map<string, number>();
  const index: string[] = [];
  for (const object of objects) {
    const [bucketId, ...parts] = object.split('/');
    const depth = parts.length - 1;
    for (let at = 0; at < depth; at++) {
      if (!isIndexed(parts.slice(0, at))) continue;
      const group = `${bucketId}/g${at}/${parts.slice(0, at + 1).join('/')}/`;
      counts.set(group, (counts.get(group) ?? 0) + 1);
    }
    if (isIndexed(parts.slice(0, depth))) index.push(`${bucketId}/o${depth}/${parts.join('/')}=`);
  }
  return [...index, ...[...counts].map(([group, count]) => `${group}=${count}`)].sort();
}
