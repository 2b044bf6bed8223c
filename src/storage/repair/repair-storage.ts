/** Saves what can be read of a storage directory that no host has open. */
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { databasesIn } from '../files/databases-in.js';
import { type DirectoryAccess, PRIVATE_DIRECTORY_MODE, PRIVATE_FILE_MODE } from '../files/private-directory.js';
import { storageError } from '../files/storage-error.js';
import { checkIsStorage, prepareDirectory, readState, writeState } from '../files/storage-format.js';
import { loadLevel } from '../records/load-level.js';
import { checkNotOpen, openBytes, repairLevel } from '../records/open-level.js';
import { unsealed } from '../records/sealed-record.js';

export interface RepairedDatabase {
  /** Its folder in the storage directory. */
  readonly name: string;
  /** Files that were moved to its folder `lost`: damaged ones, and logs and manifests that were replaced. */
  readonly movedFiles: readonly string[];
  /** The keys of damaged records, which were moved to the file `lost/records.jsonl`. */
  readonly lostRecords: readonly string[];
}

const ANY_ACCESS: DirectoryAccess = { isStrict: false, onWarning: () => {} };
const PAGE = 1000;

/** @param onDatabase called before each database is repaired */
export async function repairDatabases(
  directory: string,
  onDatabase: (name: string) => void,
): Promise<RepairedDatabase[]> {
  await loadLevel();
  await checkIsStorage(directory);
  await checkNotOpen(join(directory, 'level'), directory);
  if ((await readState(directory)) === undefined) await restoreFormat(directory);
  const path = await prepareDirectory(directory, ANY_ACCESS);
  const state = (await readState(path)) ?? { isSealed: true };
  // Before the repair, so that an interrupted one is followed by a rebuild, too.
  await writeState(path, { ...state, isIndexed: false });
  const databases: RepairedDatabase[] = [];
  for (const name of await databasesIn(path)) {
    onDatabase(name);
    const movedFiles = await repairLevel(join(path, name), directory);
    const lostRecords = state.isSealed ? await removeDamaged(join(path, name), directory) : [];
    databases.push({ name, movedFiles, lostRecords });
  }
  return databases;
}

/** Writes the file FORMAT again, when it says nothing: whether records have checksums shows which release wrote them. */
async function restoreFormat(directory: string): Promise<void> {
  const location = join(directory, 'level');
  await repairLevel(location, directory);
  const database = await openBytes(location, directory);
  try {
    const last = await database.iterator({ reverse: true, limit: 2 }).all();
    // An upgrade gives the last record its checksum at the end. One record can be damaged.
    const isSealed = last.length === 0 || last.some(([key, value]) => unsealed(key, value) !== undefined);
    await writeState(directory, { isIndexed: false, isSealed });
  } finally {
    await database.close();
  }
}

async function removeDamaged(location: string, directory: string): Promise<string[]> {
  const database = await openBytes(location, directory);
  const lost: string[] = [];
  try {
    const iterator = database.iterator();
    try {
      for (;;) {
        const entries = await iterator.nextv(PAGE);
        if (entries.length === 0) break;
        const damaged = entries.filter(([key, value]) => unsealed(key, value) === undefined);
        if (damaged.length === 0) continue;
        await keepLost(join(location, 'lost'), damaged);
        const sync = { sync: true } as const;
        await database.batch(
          damaged.map(([key]) => ({ type: 'del', key })),
          sync,
        );
        lost.push(...damaged.map(([key]) => key.toString()));
      }
    } finally {
      await iterator.close();
    }
  } catch (error) {
    throw storageError(`repair the storage directory "${directory}"`, error);
  } finally {
    await database.close();
  }
  return lost;
}

/** A line of JSON for each record, with the key as text and all bytes in base64. */
async function keepLost(folder: string, records: readonly [Buffer, Buffer][]): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  const lines = records.map(([key, value]) =>
    JSON.stringify({ key: key.toString(), keyBytes: key.toString('base64'), value: value.toString('base64') }),
  );
  await appendFile(join(folder, 'records.jsonl'), `${lines.join('\n')}\n`, { mode: PRIVATE_FILE_MODE });
}
