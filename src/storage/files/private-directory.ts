/** Keeps the storage unreadable for other users of the system. */
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EdgeError, errorCode } from '../../quotas/errors.js';

export const PRIVATE_DIRECTORY_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;

/** How to treat a directory that other users can read or write, or that belongs to another user. */
export interface DirectoryAccess {
  /** true: it is refused with EDGE_STORAGE_ACCESS; false: `onWarning` is called. */
  readonly isStrict: boolean;
  readonly onWarning: (error: EdgeError) => void;
}

/** Windows has no modes: new files inherit the access list of the directory above. */
const HAS_MODES = process.platform !== 'win32';

/** Creates the directory for its owner alone, independent of the umask. An existing one is not changed, and those above it are created as usual. */
export async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(dirname(resolve(directory)), { recursive: true });
  try {
    await mkdir(directory, { mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return;
  }
  // A umask can also remove rights of the owner.
  if (HAS_MODES) await chmod(directory, PRIVATE_DIRECTORY_MODE);
}

/**
 * Checks a directory that existed before. With `mayClose` it is made private, with its direct entries, if it belongs to the user of this process: the host sees
 * it for the first time, or an earlier release did not protect it. A directory that was opened to others on purpose stays so. Rejects with EDGE_STORAGE_ACCESS.
 */
export async function keepPrivate(
  path: string,
  { directory, mayClose, access }: { directory: string; mayClose: boolean; access: DirectoryAccess },
): Promise<void> {
  if (!HAS_MODES) return;
  let why = await whyNotPrivate(path, directory);
  if (why === undefined) return;
  if (mayClose) {
    await close(path);
    // File systems without modes accept the change and do nothing.
    why = await whyNotPrivate(path, directory);
    if (why === undefined) return;
  }
  const error = new EdgeError('EDGE_STORAGE_ACCESS', `The storage directory "${directory}" is not private: ${why}`);
  if (access.isStrict) throw error;
  access.onWarning(error);
}

async function whyNotPrivate(path: string, directory: string): Promise<string | undefined> {
  const { uid, mode } = await stat(path);
  const own = process.geteuid?.();
  if (uid !== own) return `it belongs to user ${uid} and this process runs as user ${own}; chown ${own} ${directory}`;
  if ((mode & 0o077) === 0) return undefined;
  return `other users have rights on it (mode ${(mode & 0o777).toString(8)}); chmod 700 ${directory}`;
}

/** The directory first: from then on other users cannot reach its entries. */
async function close(path: string): Promise<void> {
  try {
    await chmod(path, PRIVATE_DIRECTORY_MODE);
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (entry.isDirectory()) await chmod(join(path, entry.name), PRIVATE_DIRECTORY_MODE);
      else if (entry.isFile()) await chmod(join(path, entry.name), PRIVATE_FILE_MODE);
    }
  } catch (error) {
    // It belongs to another user, or the file system cannot change it. The caller checks again.
    if (!['EPERM', 'EACCES', 'ENOTSUP', 'EROFS'].includes(errorCode(error) ?? '')) throw error;
  }
}
