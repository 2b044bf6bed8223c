/** Has SQLite check the files of all databases of a storage that no host has open. */
import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../../../quotas/errors.js';
import type { GroupHead } from '../../../sqlite/engine/frames.js';
import { unavailable } from '../../../sqlite/library.js';
import { SqliteEnded, SqliteProcess } from '../../../sqlite/pool/sqlite-process.js';
import { PRIVATE_DIRECTORY_MODE } from '../../../storage/files/private-directory.js';
import type { ProcessWalls } from '../../../storage/process-walls.js';
import type { DamagedPart } from '../../../storage/repair/check-storage.js';
import { BESIDE, SQL_FOLDER } from './sql-files.js';

/**
 * Customers have written the files: processes behind walls read them, one account each. Copies are checked, because SQLite writes beside what it opens.
 *
 * @param directory of the storage
 */
export async function damagedDatabases(directory: string, walls: ProcessWalls): Promise<DamagedPart[]> {
  const folder = join(directory, SQL_FOLDER);
  const files = (await filesOf(folder)).filter(file => file.endsWith('.sqlite')).sort();
  if (files.length === 0) return [];
  await walls.prepare();
  const damaged: DamagedPart[] = [];
  const scratch = await mkdtemp(join(tmpdir(), 'edgehost-check-'));
  try {
    for (const file of files) {
      const home = { account: dirname(file), folder: join(scratch, dirname(file)) };
      await mkdir(home.folder, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
      const copy = join(home.folder, basename(file));
      for (const ending of BESIDE) {
        await copyFile(join(folder, file + ending), copy + ending).catch((error: unknown) => {
          if (errorCode(error) !== 'ENOENT') throw error;
        });
      }
      const engine = new SqliteProcess(walls, home);
      try {
        const why = await whyDamaged(engine, copy);
        if (why !== undefined)
          damaged.push({ kind: 'database', path: `${SQL_FOLDER}/${file}`, keys: [], message: why });
      } finally {
        engine.end();
        await engine.ended;
      }
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

async function whyDamaged(engine: SqliteProcess, path: string): Promise<string | undefined> {
  const jobs = [{ kind: 'verify', bytes: 0, statements: 0, isInternal: true }] as const;
  let answer: unknown;
  try {
    const head: GroupHead = { path, mode: 'write', maxBytes: Number.MAX_SAFE_INTEGER, jobs };
    answer = await engine.request<unknown>(head, [], (_replies, payload) => JSON.parse(payload.toString()));
  } catch (error) {
    if (!(error instanceof SqliteEnded)) throw error;
    const { reason, text } = error.end;
    if (reason === 'unavailable') throw unavailable(text ?? 'an engine does not start');
    return 'SQLite ends when it reads it';
  }
  if (answer === 'ok') return undefined;
  const text = typeof answer === 'object' && answer !== null && 'e' in answer ? `${answer.e}` : `${answer}`;
  return text.replace(/: SQLITE_[A-Z_]+$/, '');
}
