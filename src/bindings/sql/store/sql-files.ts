/** The files of databases: one folder of the storage directory, or a temporary one for a storage in memory. */

import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { guarded } from '../../../quotas/guarded.js';
import { PRIVATE_DIRECTORY_MODE } from '../../../storage/files/private-directory.js';
import { storageError } from '../../../storage/files/storage-error.js';
import type { StorageContext } from '../../../storage/storage-context.js';

export const SQL_FOLDER = 'sql';
/** SQLite's own files beside a database. */
export const BESIDE = ['', '-wal', '-shm', '-journal'];

const temporary = new WeakMap<StorageContext, string>();
/** Those that are there, for applications that end without closing their host. */
const temporaryFolders = new Set<string>();

/** The folder of the databases, which need not exist. */
export function sqlFolder(storage: StorageContext): string {
  if (storage.directory !== undefined) return join(storage.directory, SQL_FOLDER);
  let folder = temporary.get(storage);
  if (folder === undefined) {
    try {
      folder = mkdtempSync(join(tmpdir(), 'edgehost-sql-'));
    } catch (error) {
      throw storageError(`make a folder for SQL databases in the temporary directory "${tmpdir()}"`, error);
    }
    temporary.set(storage, folder);
    if (temporaryFolders.size === 0) process.once('exit', removeAllTemporary);
    temporaryFolders.add(folder);
  }
  return folder;
}

export async function makeFolder(storage: StorageContext): Promise<void> {
  try {
    await mkdir(sqlFolder(storage), { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    throw storageError('make the folder of the SQL databases', error);
  }
}

export function databasePath(storage: StorageContext, id: string): string {
  return join(sqlFolder(storage), `${id}.sqlite`);
}

export async function removeFiles(storage: StorageContext, id: string): Promise<void> {
  // Before makeFolder() there are none.
  if (storage.directory === undefined && !temporary.has(storage)) return;
  const path = databasePath(storage, id);
  for (const ending of BESIDE) await rm(`${path}${ending}`, { force: true });
}

/** The databases of a storage in memory end with it. */
export async function removeTemporary(storage: StorageContext): Promise<void> {
  const folder = temporary.get(storage);
  temporary.delete(storage);
  if (folder === undefined) return;
  temporaryFolders.delete(folder);
  if (temporaryFolders.size === 0) process.removeListener('exit', removeAllTemporary);
  await rm(folder, { recursive: true, force: true });
}

const removeAllTemporary = guarded((): void => {
  for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true });
});

/** Files that a kill has left: temporary ones, and databases that have no record. */
export async function removeOrphans(storage: StorageContext, known: ReadonlySet<string>): Promise<void> {
  if (storage.directory === undefined) return;
  const folder = sqlFolder(storage);
  const files = await readdir(folder).catch(() => []);
  for (const file of files) {
    const [id = ''] = file.split('.', 1);
    if (!known.has(id) || !file.startsWith(`${id}.sqlite`)) await rm(join(folder, file), { force: true });
  }
}
