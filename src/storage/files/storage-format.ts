import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, realpath, rename, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { DATA_FILE, databasesIn, filesIn } from './databases-in.js';
import { type DirectoryAccess, keepPrivate, makePrivateDirectory, PRIVATE_FILE_MODE } from './private-directory.js';
import { REPAIR_HINT, storageError } from './storage-error.js';
import { syncDirectory } from './sync-directory.js';

/** Identifies the directory. It is written before anything else. */
const MARKER_FILE = 'FORMAT';
const FORMAT = 'edgehost storage';
/** To be raised when an older release could not read what this one writes. Version 3: records carry checksums. */
export const STORAGE_VERSION = 3;

/**
 * Makes the directory when it does not exist, checks that it is a storage of a version that this host can read, and marks an empty one. Returns its
 * real path, by which LevelDB notices a second opening in the same process. Rejects with EDGE_STORAGE_FORMAT, and leaves a directory that is not a
 * storage as it is; and with EDGE_STORAGE_ACCESS.
 */
export async function prepareDirectory(directory: string, access: DirectoryAccess): Promise<string> {
  try {
    await makePrivateDirectory(directory);
    const path = await realpath(directory);
    let text = await readMarker(path);
    if (text === undefined) {
      const foreign = await foreignFiles(path);
      // Another process may have begun meanwhile, with the marker.
      text = await readMarker(path);
      if (text === undefined && foreign.length > 0) throw notEmptyError(directory, foreign);
    }
    const marker = text === undefined ? undefined : checkMarker(text, directory);
    await keepPrivate(path, { directory, mayClose: marker?.isPrivate !== true, access });
    if (marker === undefined) await writeMarker(path, { isIndexed: true, isSealed: true });
    // From now on an older host must not open it: the first new record would be none that it can read.
    else if (marker.version < STORAGE_VERSION) {
      await checkUpgradeSpace(path, directory);
      await writeMarker(path, { isIndexed: false, isSealed: false });
    } else if (!marker.isPrivate) await writeMarker(path, marker);
    // LevelDB would make them readable for all users.
    for (const name of ['bodies', 'level']) await makePrivateDirectory(join(path, name));
    await syncDirectory(path);
    return path;
  } catch (error) {
    throw storageError(`open the storage directory "${directory}"`, error);
  }
}

/** Makes nothing. Rejects with EDGE_STORAGE_FORMAT for a directory that is missing, or is not a storage. */
export async function checkIsStorage(directory: string): Promise<void> {
  try {
    if ((await readMarker(directory)) !== undefined) return;
    // It was lost. A repair writes it again.
    if ((await filesIn(join(directory, 'level'))).some(file => DATA_FILE.test(file))) return;
  } catch (error) {
    throw storageError(`open the storage directory "${directory}"`, error);
  }
  throw new EdgeError(
    'EDGE_STORAGE_FORMAT',
    `Cannot open the storage directory "${directory}": there is no storage, since it has no file ${MARKER_FILE}`,
  );
}

async function readMarker(path: string): Promise<string | undefined> {
  try {
    return await readFile(join(path, MARKER_FILE), 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The parts of the storage that an opening must finish. */
export interface StorageFormatState {
  /** The indexes are complete: an earlier release may not have written them, and a repair may have lost records. */
  readonly isIndexed: boolean;
  /** All records carry checksums. Records of earlier releases get theirs once, at the first opening. */
  readonly isSealed: boolean;
}

/** undefined: the file says nothing. To be called with the database open, because until then another host may write the file. */
export async function readState(path: string): Promise<StorageFormatState | undefined> {
  try {
    return parseMarker((await readMarker(path)) ?? '');
  } catch (error) {
    throw storageError('read the format of the storage', error);
  }
}

/** On disk when it resolves. */
export async function writeState(path: string, state: StorageFormatState): Promise<void> {
  try {
    await writeMarker(path, state);
    await syncDirectory(path);
  } catch (error) {
    throw storageError('write the format of the storage', error);
  }
}

function checkMarker(marker: string, directory: string): Marker {
  const found = parseMarker(marker);
  if (found === undefined) {
    throw new EdgeError(
      'EDGE_STORAGE_FORMAT',
      `Cannot open the storage directory "${directory}": its file ${MARKER_FILE} does not describe a storage, so it is damaged or of something else; when it was a storage: ${REPAIR_HINT}`,
    );
  }
  if (found.version > STORAGE_VERSION) {
    throw new EdgeError(
      'EDGE_STORAGE_FORMAT',
      `Cannot open the storage directory "${directory}": it has format version ${found.version}, this host reads up to ${STORAGE_VERSION}; use a newer release`,
    );
  }
  return found;
}

interface Marker extends StorageFormatState {
  readonly version: number;
  /** The host has made the directory private. If others can read it, it was opened to them on purpose later. */
  readonly isPrivate: boolean;
}

function parseMarker(marker: string): Marker | undefined {
  try {
    const parsed: unknown = JSON.parse(marker);
    if (typeof parsed !== 'object' || parsed === null || !('format' in parsed) || !('version' in parsed))
      return undefined;
    const { format, version } = parsed;
    if (format !== FORMAT || !Number.isSafeInteger(version) || typeof version !== 'number' || version < 1)
      return undefined;
    return {
      version,
      isIndexed: 'isIndexed' in parsed && parsed.isIndexed === true,
      isSealed: 'isSealed' in parsed && parsed.isSealed === true,
      isPrivate: 'isPrivate' in parsed && parsed.isPrivate === true,
    };
  } catch {
    return undefined;
  }
}

/** An upgrade writes every record again before the old ones are removed. Rejects with EDGE_STORAGE_FULL, and nothing is changed then. */
async function checkUpgradeSpace(path: string, directory: string): Promise<void> {
  let bytes = 0;
  for (const name of await databasesIn(path)) {
    for (const file of await readdir(join(path, name)).catch(() => [])) {
      bytes += (await stat(join(path, name, file))).size;
    }
  }
  const { bavail, bsize } = await statfs(path);
  if (bytes < bavail * bsize) return;
  throw new EdgeError(
    'EDGE_STORAGE_FULL',
    `Cannot upgrade the storage directory "${directory}": that needs ${bytes} bytes and ${bavail * bsize} are free; free some space, or open it with the release that wrote it`,
  );
}

async function foreignFiles(path: string): Promise<string[]> {
  // A new volume has lost+found, a directory under version control has dot files, and a crash can leave a temporary marker.
  return (await readdir(path)).filter(name => !name.startsWith('.') && name !== 'lost+found');
}

function notEmptyError(directory: string, foreign: readonly string[]): EdgeError {
  return new EdgeError(
    'EDGE_STORAGE_FORMAT',
    `Cannot open the storage directory "${directory}": it contains other files ("${foreign[0]}"${foreign.length > 1 ? `, and ${foreign.length - 1} more` : ''}) and no ${MARKER_FILE}; ${foreign.includes('level') ? `when it was a storage: ${REPAIR_HINT}; otherwise use an empty directory` : 'use an empty directory'}`,
  );
}

async function writeMarker(path: string, { isIndexed, isSealed }: StorageFormatState): Promise<void> {
  const temporary = join(path, `.${MARKER_FILE}.${randomUUID()}`);
  const handle = await open(temporary, 'w', PRIVATE_FILE_MODE);
  try {
    await handle.writeFile(
      `${JSON.stringify({ format: FORMAT, version: STORAGE_VERSION, isIndexed, isSealed, isPrivate: true })}\n`,
    );
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, join(path, MARKER_FILE));
}
