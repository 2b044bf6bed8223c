import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Level } from 'level';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { DATA_FILE, filesIn } from '../files/databases-in.js';
import { REPAIR_HINT, storageError } from '../files/storage-error.js';
import { type LevelDatabase, type LevelOperation, levelDatabase } from './level-database.js';
import { loadLevel } from './load-level.js';
import { sealedDatabase } from './sealed-database.js';

/**
 * Written records are gathered in memory, and in the log, until they are this many bytes and become a table. Records that are overwritten or deleted before
 * then never reach a table: with 4 MiB, LevelDB's default, its own thread spends 0.22 ms on a response of 10 KB that a cache keeps, with this 0.1.
 */
const WRITE_BUFFER_BYTES = 16 * 1024 * 1024;

/** Opens the LevelDB at `location`, whose records carry checksums; `directory` is for messages. Never makes a new database over the remains of an old one. */
export async function openLevel(location: string, directory: string): Promise<LevelDatabase> {
  const Level = await loadLevel();
  return opened(location, directory, async createIfMissing => {
    const database = new Level<string, Buffer>(location, {
      keyEncoding: 'utf8',
      valueEncoding: 'buffer',
      createIfMissing,
      writeBufferSize: WRITE_BUFFER_BYTES,
    });
    await database.open();
    const plain = levelDatabase(database, (operations, options) => writeBatch(database, operations, options));
    return sealedDatabase(plain, basename(location));
  });
}

/** The same for a database of a part of the host. */
export async function openBytes(location: string, directory: string): Promise<Level<Buffer, Buffer>> {
  const Level = await loadLevel();
  return opened(location, directory, async createIfMissing => {
    const options = { keyEncoding: 'buffer', valueEncoding: 'buffer', createIfMissing } as const;
    const database = new Level<Buffer, Buffer>(location, options);
    await database.open();
    return database;
  });
}

async function opened<T>(
  location: string,
  directory: string,
  open: (createIfMissing: boolean) => Promise<T>,
): Promise<T> {
  const name = basename(location);
  try {
    // The constructor of Level starts the opening, so whether it may create files must be known before.
    return await open(await isFresh(location));
  } catch (error) {
    const act = `open the database "${name}" of the storage directory "${directory}"`;
    throw storageError(act, isMissingPart(error) ? new DamagedFiles(error) : error);
  }
}

/** A CURRENT with a wrong name in it, or without the file that it names, is no error of LevelDB's but one of the file system. */
class DamagedFiles extends Error {
  constructor(cause: unknown) {
    super('Corruption: a file that the database needs is missing', { cause });
  }
}

function isMissingPart(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (MISSING_PART.test(at.message)) return true;
  }
  return false;
}

/** The text of LevelDB; the errors of Node have codes. */
const MISSING_PART = /^IO error: .*(?:no such file or directory|not a directory|is a directory|file name too long)/i;

/** As a chained batch, because a batch made of an array takes six times the CPU time: 9 µs an operation. */
async function writeBatch(
  database: Level<string, Buffer>,
  operations: readonly LevelOperation[],
  options: { sync: boolean },
): Promise<void> {
  const batch = database.batch();
  for (const operation of operations) {
    if (operation.type === 'del') batch.del(operation.key);
    else {
      const { buffer, byteOffset, byteLength } = operation.value;
      batch.put(operation.key, Buffer.from(buffer, byteOffset, byteLength));
    }
  }
  await batch.write(options);
}

/** Rejects with EDGE_STORAGE_LOCKED. LevelDB's repair takes no lock; opening does, and with these options it then fails before it reads or writes data. */
export async function checkNotOpen(location: string, directory: string): Promise<void> {
  try {
    const Level = await loadLevel();
    const database = new Level<string, Buffer>(location, { createIfMissing: false, errorIfExists: true });
    await database.open();
    await database.close();
  } catch (error) {
    const reason = storageError(`use the storage directory "${directory}"`, error);
    if (reason.code === 'EDGE_STORAGE_LOCKED') throw reason;
  }
}

/**
 * Saves what can be read of a damaged LevelDB that no process has open. Undamaged tables and logs stay, damaged files are moved to its folder
 * `lost`, and their names are the result. Deleted records of damaged files may reappear.
 */
export async function repairLevel(location: string, directory: string): Promise<string[]> {
  const lost = join(location, 'lost');
  try {
    const before = new Set(await filesIn(lost));
    const Level = await loadLevel();
    // Only the types of classic-level have it; in Node, Level is that class.
    if (!('repair' in Level) || typeof Level.repair !== 'function') throw new Error('LevelDB has no repair here');
    await Level.repair(location);
    return (await filesIn(lost)).filter(file => !before.has(file)).sort();
  } catch (error) {
    throw storageError(`repair the storage directory "${directory}"`, error);
  }
}

/** Whether there is no data yet. Without its file CURRENT, LevelDB would make a new database and delete the tables. */
async function isFresh(location: string): Promise<boolean> {
  let files: string[];
  try {
    files = await readdir(location);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return true;
    throw error;
  }
  if (files.includes('CURRENT')) return false;
  // The first opening writes CURRENT before any of these.
  const data = files.find(file => DATA_FILE.test(file));
  if (data === undefined) return true;
  throw new EdgeError(
    'EDGE_STORAGE_CORRUPT',
    `Cannot open the database "${basename(location)}": it has data ("${data}") and no file CURRENT, so it is damaged; ${REPAIR_HINT}`,
  );
}
