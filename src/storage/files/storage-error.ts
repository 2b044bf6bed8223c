import { EdgeError, type EdgeErrorCode, errorCode } from '../../quotas/errors.js';

/**
 * Turns errors of the file system and of LevelDB into errors for an operator. The message reaches functions, so it contains no path; the original
 * error, which does, is the cause.
 */
export function storageError(act: string, cause: unknown): EdgeError {
  if (cause instanceof EdgeError) return cause;
  const code = storageErrorCode(cause);
  return new EdgeError(code, `Cannot ${act}: ${WHY[code]}`, { cause });
}

type StorageErrorCode = Exclude<
  Extract<EdgeErrorCode, `EDGE_STORAGE_${string}` | 'EDGE_INTERNAL' | 'EDGE_CLOSED'>,
  'EDGE_STORAGE_QUOTA'
>;

/** Without the path of the directory: a function may read it. */
export const REPAIR_HINT =
  'copy its directory, then save what can be read: edgehost repair DIR, or repairStorage() in code';

const WHY: Readonly<Record<StorageErrorCode, string>> = {
  EDGE_STORAGE_FULL: 'the disk of the storage is full, free some space and try again',
  EDGE_STORAGE_LOCKED: 'another host has the storage directory open, close it or give this host a directory of its own',
  EDGE_STORAGE_CORRUPT: `the database is damaged; ${REPAIR_HINT}`,
  EDGE_STORAGE_ACCESS: 'other users can read or write the storage directory',
  EDGE_STORAGE_FORMAT: 'the storage has an unknown or newer format',
  EDGE_CLOSED: 'the storage is closed',
  EDGE_INTERNAL: 'the storage could not read or write',
};

function storageErrorCode(error: unknown): StorageErrorCode {
  // LevelDB wraps the reason in "database failed to open" or "iterator is not open".
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = errorCode(at) ?? '';
    if (FULL_CODES.has(code) || FULL_TEXT.test(at.message)) return 'EDGE_STORAGE_FULL';
    if (code === 'LEVEL_LOCKED') return 'EDGE_STORAGE_LOCKED';
    if (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_INVALID' || CORRUPT_TEXT.test(at.message)) {
      return 'EDGE_STORAGE_CORRUPT';
    }
  }
  return 'EDGE_INTERNAL';
}

const FULL_CODES: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
// LevelDB passes on the text of errno, and no code.
const FULL_TEXT = /no space left on device|disk quota exceeded|file too large/i;
const CORRUPT_TEXT = /^corruption:|not an sstable|corrupted|missing files|checksum mismatch/i;
