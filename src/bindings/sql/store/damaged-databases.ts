/** Has SQLite check the files of all databases of a storage that no host has open. */
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { errorCode } from '../../../quotas/errors.js';
import type { DamagedPart } from '../../../storage/repair/check-storage.js';
import { loadSqlite, type SqliteLibrary } from '../engine/sqlite.js';
import { BESIDE, SQL_FOLDER } from './sql-files.js';

/** @param directory of the storage. Copies are checked, because SQLite writes beside what it opens. */
export async function damagedDatabases(directory: string): Promise<DamagedPart[]> {
  const folder = join(directory, SQL_FOLDER);
  const files = (await filesOf(folder)).filter(file => file.endsWith('.sqlite'));
  if (files.length === 0) return [];
  const sqlite = await loadSqlite();
  const damaged: DamagedPart[] = [];
  const scratch = await mkdtemp(join(tmpdir(), 'edgehost-check-'));
  try {
    for (const file of files) {
      const copy = join(scratch, basename(file));
      for (const ending of BESIDE) {
        await copyFile(join(folder, file + ending), copy + ending).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT') throw error;
        });
      }
      const why = whyDamaged(sqlite, copy);
      if (why !== undefined) damaged.push({ kind: 'database', path: `${SQL_FOLDER}/${file}`, keys: [], message: why });
      for (const ending of BESIDE) await rm(copy + ending, { force: true });
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return damaged;
}

/** Each account has a folder; databases that no host has opened since are beside the folders. */
async function filesOf(folder: string): Promise<string[]> {
  return readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
}

function whyDamaged({ DatabaseSync }: SqliteLibrary, path: string): string | undefined {
  try {
    const database = new DatabaseSync(path, {});
    try {
      const result = database.prepare('PRAGMA integrity_check(1)').get();
      const text = typeof result === 'object' && result !== null ? String(Object.values(result)[0]) : '';
      return text === 'ok' ? undefined : text;
    } finally {
      database.close();
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
