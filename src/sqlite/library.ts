/** Whether SQLite is there, before a process of the engine is started. */
import { createRequire, isBuiltin } from 'node:module';
import { EdgeError } from '../quotas/errors.js';
import { storageError, storageErrorCode } from '../storage/files/storage-error.js';
import { BUILT_IN, SQLITE_PACKAGE } from './engine/sqlite.js';

let isFound: boolean | undefined;

/** @throws EdgeError EDGE_NOT_SUPPORTED */
export function checkLibrary(): void {
  isFound ??= hasPackage() || isBuiltin(BUILT_IN);
  if (!isFound) throw unavailable(`Node ${process.version} has no SQLite of its own`);
}

/** @param why what an engine says that could not start: of the disk, or of the library */
export function unavailable(why: string): EdgeError {
  const reason = new Error(why);
  if (storageErrorCode(reason) !== 'EDGE_INTERNAL') return storageError('use SQL databases', reason);
  return new EdgeError(
    'EDGE_NOT_SUPPORTED',
    `Cannot use SQL databases: ${why}. Install SQLite: npm install ${SQLITE_PACKAGE}@2`,
  );
}

export function hasPackage(): boolean {
  try {
    createRequire(import.meta.url).resolve(SQLITE_PACKAGE);
    return true;
  } catch {
    return false;
  }
}
