import { EdgeError, type EdgeErrorCode, errorCode } from '../../quotas/errors.js';

/**
 * Turns errors of the file system and of LevelDB into errors for an operator. The message reaches functions, so it contains no path but what `act`
 * has; the original error, which does, is the cause.
 */
export function storageError(act: string, cause: unknown): EdgeError {
  if (cause instanceof EdgeError) return cause;
  const code = storageErrorCode(cause);
  return new EdgeError(code, `Cannot ${act}: ${WHY[code]()}`, { cause });
}

type StorageErrorCode = Exclude<
  Extract<EdgeErrorCode, `EDGE_STORAGE_${string}` | 'EDGE_INTERNAL' | 'EDGE_CLOSED'>,
  'EDGE_STORAGE_QUOTA'
>;

/** Without the path of the directory: a function may read it. */
export const REPAIR_HINT =
  'copy its directory, then save what can be read: edgehost repair DIR, or repairStorage() in code';

const WHY: Readonly<Record<StorageErrorCode, () => string>> = {
  EDGE_STORAGE_FULL: () => 'the disk of the storage is full, free some space and try again',
  EDGE_STORAGE_LOCKED: () =>
    'another host has the storage directory open, close it or give this host a directory of its own',
  EDGE_STORAGE_CORRUPT: () => `the database is damaged; ${REPAIR_HINT}`,
  EDGE_STORAGE_ACCESS: () => 'other users can read or write the storage directory',
  EDGE_STORAGE_FORMAT: () => 'the storage has an unknown or newer format',
  EDGE_STORAGE_DENIED: () => {
    const user = process.geteuid?.();
    const remedy = user === undefined ? 'give it the rights' : `give it to that user (chown -R ${user} DIR)`;
    return `${user === undefined ? 'the user of this process' : `this process runs as user ${user}, which`} may not read and write there, or the file system is read-only; ${remedy}, or mount a volume that can be written`;
  },
  EDGE_STORAGE_PATH: () =>
    'the path is none of a directory: a part of it is a file, is missing or is too long; give the path of a directory that exists or can be made',
  EDGE_STORAGE_IO: () =>
    'the disk or its file system reports an error; look into the log of the system, and check the disk',
  EDGE_STORAGE_DESCRIPTORS: () =>
    'this process has as many files open as it may; raise the limit of open files (ulimit -n, LimitNOFILE=) or serve fewer accounts',
  EDGE_CLOSED: () => 'the storage is closed',
  EDGE_INTERNAL: () => 'the storage could not read or write',
};

/** EDGE_INTERNAL for errors that are not of the file system. */
export function storageErrorCode(error: unknown): StorageErrorCode {
  // LevelDB wraps the reason in "database failed to open" or "iterator is not open".
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = errorCode(at) ?? '';
    if (code === 'LEVEL_LOCKED') return 'EDGE_STORAGE_LOCKED';
    if (code === 'LEVEL_CORRUPTION' || code === 'LEVEL_INVALID' || CORRUPT_TEXT.test(at.message)) {
      return 'EDGE_STORAGE_CORRUPT';
    }
    for (const [found, codes, text] of REASONS) {
      if (codes.has(code) || text.test(at.message)) return found;
    }
  }
  return 'EDGE_INTERNAL';
}

const CORRUPT_TEXT = /^corruption:|not an sstable|corrupted|missing files|checksum mismatch/i;

/** LevelDB passes on the text of errno, and no code. */
const REASONS: readonly (readonly [StorageErrorCode, ReadonlySet<string>, RegExp])[] = [
  [
    'EDGE_STORAGE_FULL',
    new Set(['ENOSPC', 'EDQUOT', 'EFBIG']),
    /no space left on device|disk quota exceeded|file too large/i,
  ],
  [
    'EDGE_STORAGE_DENIED',
    new Set(['EACCES', 'EPERM', 'EROFS']),
    /: (?:permission denied|operation not permitted|read-only file system)/i,
  ],
  ['EDGE_STORAGE_DESCRIPTORS', new Set(['EMFILE', 'ENFILE']), /too many open files/i],
  ['EDGE_STORAGE_IO', new Set(['EIO', 'ENXIO', 'ESTALE', 'EREMOTEIO']), /input\/output error|stale file handle/i],
  [
    'EDGE_STORAGE_PATH',
    new Set(['ENOTDIR', 'EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ELOOP', 'ENOENT']),
    /: (?:not a directory|file exists|file name too long)/i,
  ],
];
