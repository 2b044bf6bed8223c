/** The migrations that a file of the hosted platform names for its databases. */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { EdgeError } from '../../../quotas/errors.js';
import { isInside } from '../../../storage/files/inside-folder.js';
import type { DatabaseMigrations } from '../function-file.js';
import type { Translation } from './translate.js';

const FILE = /^\d+.*\.sql$/;
const MAX_FILES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A folder that the file does not name may be missing.
 *
 * @param root folder of the configuration file, out of which no link may lead
 * @throws EdgeError EDGE_CONFIG_INVALID for a folder or file that cannot be read
 */
export async function migrationsOf(
  root: string,
  folders: Translation['migrations'],
): Promise<readonly DatabaseMigrations[]> {
  const all: DatabaseMigrations[] = [];
  // Two bindings of one database name its folder twice.
  const seen = new Set<string>();
  for (const { database, folder, isNamed } of folders) {
    if (seen.has(database)) continue;
    seen.add(database);
    const path = resolve(root, folder);
    const names = await readdir(path).catch(() => undefined);
    if (names === undefined && isNamed)
      throw refusal(path, `there is no such folder, which migrations_dir of database "${database}" names`);
    const files = (names ?? []).filter(name => FILE.test(name)).sort();
    if (files.length > MAX_FILES)
      throw refusal(path, `it has ${files.length} migrations, at most ${MAX_FILES} are allowed`);
    if (files.length > 0) all.push({ database, files: await readAll(root, path, files) });
  }
  return all;
}

async function readAll(root: string, path: string, names: readonly string[]): Promise<DatabaseMigrations['files']> {
  const real = await realpath(root);
  const read: { name: string; sql: string }[] = [];
  let bytes = 0;
  for (const name of names) {
    const file = await realpath(join(path, name));
    if (!isInside(real, file)) throw refusal(join(path, name), 'it is outside of the folder of the function');
    const info = await stat(file);
    if (!info.isFile()) throw refusal(file, 'it is no regular file');
    bytes += info.size;
    if (bytes > MAX_BYTES) throw refusal(path, `its migrations have more than ${MAX_BYTES} bytes`);
    read.push({ name, sql: await readFile(file, 'utf8') });
  }
  return read;
}

function refusal(file: string, why: string): EdgeError {
  return new EdgeError('EDGE_CONFIG_INVALID', `Cannot read the migrations in ${file}: ${why}`, { location: { file } });
}
