/** The files of databases: one folder of the storage directory, or a temporary one for a storage in memory. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { guarded } from '../../../quotas/guarded.js';
import { PRIVATE_DIRECTORY_MODE } from '../../../storage/files/private-directory.js';
import { storageError } from '../../../storage/files/storage-error.js';
import type { StorageContext } from '../../../storage/storage-context.js';

export const SQL_FOLDER = 'sql';
/** SQLite's own files beside a database, and the database itself as the last. */
export const BESIDE = ['-wal', '-shm', '-journal', ''];

const temporary = new WeakMap<StorageContext, string>();
/** The temporary folders that exist, for applications that end without closing their host. */
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

/** The folder of one account's databases, to which nothing of another account can come: its engines may write to it and to nothing else. */
export function accountFolder(storage: StorageContext, account: string): string {
  return join(sqlFolder(storage), createHash('sha256').update(account).digest('hex').slice(0, FOLDER_DIGITS));
}

export async function makeFolder(storage: StorageContext, account: string): Promise<void> {
  try {
    await mkdir(accountFolder(storage, account), { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    throw storageError('make the folder of the SQL databases', error);
  }
}

export function databasePath(storage: StorageContext, account: string, id: string): string {
  return join(accountFolder(storage, account), `${id}.sqlite`);
}

/** Databases were beside each other before accounts had folders. Before a database is opened; it may be repeated after a kill. */
export function moveToFolder(storage: StorageContext, account: string, id: string): void {
  const before = join(sqlFolder(storage), `${id}.sqlite`);
  if (storage.directory === undefined || !existsSync(before)) return;
  mkdirSync(accountFolder(storage, account), { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
  const path = databasePath(storage, account, id);
  for (const ending of BESIDE)
    if (existsSync(`${before}${ending}`)) renameSync(`${before}${ending}`, `${path}${ending}`);
}

/** @param account undefined when it was removed, too */
export async function removeFiles(storage: StorageContext, account: string | undefined, id: string): Promise<void> {
  // Before makeFolder() there are no files.
  if (storage.directory === undefined && !temporary.has(storage)) return;
  const all = sqlFolder(storage);
  const folders = account === undefined ? await foldersIn(all) : [accountFolder(storage, account)];
  for (const folder of [all, ...folders])
    for (const ending of BESIDE) await rm(join(folder, `${id}.sqlite${ending}`), { force: true });
  // The folder stays: an engine may have it in its root, where a recreated one would not appear.
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
  const all = sqlFolder(storage);
  for (const folder of [all, ...(await foldersIn(all))]) {
    for (const file of await filesIn(folder)) {
      const [id = ''] = file.split('.', 1);
      if (!known.has(id) || !file.startsWith(`${id}.sqlite`)) await rm(join(folder, file), { force: true });
    }
  }
}

const FOLDER_DIGITS = 32;

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(entry => entry.isDirectory()).map(entry => join(folder, entry.name));
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter(entry => !entry.isDirectory()).map(entry => entry.name);
}
