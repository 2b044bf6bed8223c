import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../quotas/errors.js';

/** The folders of a storage directory that have a LevelDB, or the remains of one; the one that is always there first. */
export async function databasesIn(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(path, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name === 'level') continue;
    if ((await filesIn(join(path, entry.name))).some(file => DATA_FILE.test(file) || file === 'CURRENT'))
      names.push(entry.name);
  }
  return ['level', ...names.sort()];
}

/** Tables and logs. */
export const DATA_FILE = /\.(?:ldb|sst|log)$/;

/** A folder that does not exist has no files. */
export async function filesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  });
}
