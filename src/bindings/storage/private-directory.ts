/** Who may read the storage besides its host: nobody. */
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { EdgeError, errorCode } from '../../quotas/errors.js';

export const PRIVATE_DIRECTORY_MODE = 0o700;
export const PRIVATE_FILE_MODE = 0o600;

/** What is done about a directory that others can read or write, or that belongs to somebody else. */
export interface DirectoryAccess {
  /** Refused, with EDGE_STORAGE_ACCESS. Otherwise `onWarning` is told. */
  readonly isStrict: boolean;
  readonly onWarning: (error: EdgeError) => void;
}

/** Modes say nothing on Windows: there the access list of the folder above holds for what is made in it. */
const HAS_MODES = process.platform !== 'win32';

/** Made for its owner alone, whatever the umask; one that is there already is left as it is. Those above it are made as usual. */
export async function makePrivateDirectory(directory: string): Promise<void> {
  await mkdir(dirname(resolve(directory)), { recursive: true });
  try {
    await mkdir(directory, { mode: PRIVATE_DIRECTORY_MODE });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    return;
  }
  // A umask can take rights away from the owner too.
  if (HAS_MODES) await chmod(directory, PRIVATE_DIRECTORY_MODE);
}

/**
 * Looks at a directory that was there already. With `mayClose` it is made private, and what is directly in it, if it belongs to this
 * process: it is new to the host, or of a release that did not mind. One that somebody has opened since is not closed behind his back.
 * Rejects with EDGE_STORAGE_ACCESS.
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
    // File systems without modes take the change and forget it.
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
  return `others than its owner have rights on it (mode ${(mode & 0o777).toString(8)}); chmod 700 ${directory}`;
}

/** The directory first: from then on nobody else reaches what is in it. */
async function close(path: string): Promise<void> {
  try {
    await chmod(path, PRIVATE_DIRECTORY_MODE);
    for (const entry of await readdir(path, { withFileTypes: true })) {
      if (entry.isDirectory()) await chmod(join(path, entry.name), PRIVATE_DIRECTORY_MODE);
      else if (entry.isFile()) await chmod(join(path, entry.name), PRIVATE_FILE_MODE);
    }
  } catch (error) {
    // Somebody else's, or of a file system that cannot: the caller looks again.
    if (!['EPERM', 'EACCES', 'ENOTSUP', 'EROFS'].includes(errorCode(error) ?? '')) throw error;
  }
}
