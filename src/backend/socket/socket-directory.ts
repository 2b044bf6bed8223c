/**
 * The folder of a storage directory in which its backend process has its socket. Only the user of the process may use it: whoever could put a socket
 * there would be given everything that functions store.
 */
import { closeSync, constants, existsSync, openSync } from 'node:fs';
import { realpath, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { keepPrivate, makePrivateDirectory } from '../../storage/files/private-directory.js';
import { storageError } from '../../storage/files/storage-error.js';

/** Its name begins with a dot, so that a directory with nothing else counts as empty. */
const FOLDER = '.services';
const SOCKET = 'socket';
/** The longest address of a socket on every system, with the zero byte at its end. */
const MAX_ADDRESS_BYTES = 103;

export class SocketDirectory {
  /** The real path of the storage directory. */
  readonly storage: string;
  readonly path: string;
  readonly #fd: number;
  /** A short path of the folder, which stays valid when another folder gets its name. */
  readonly #short: string | undefined;
  #isClosed = false;

  private constructor(storage: string, path: string, fd: number) {
    this.storage = storage;
    this.path = path;
    this.#fd = fd;
    const short = `/proc/self/fd/${fd}`;
    this.#short = process.platform === 'linux' && existsSync(short) ? short : undefined;
  }

  /**
   * Makes both directories when they do not exist. Rejects with EDGE_STORAGE_ACCESS when the folder belongs to another user or others have rights on it.
   * Rejects with EDGE_NOT_SUPPORTED where directories cannot have sockets, or the path is too long for one.
   *
   * @param directory the storage directory
   */
  static async open(directory: string): Promise<SocketDirectory> {
    if (process.platform === 'win32') {
      throw new EdgeError(
        'EDGE_NOT_SUPPORTED',
        'A backend process needs Unix sockets in directories, which Windows does not have',
      );
    }
    let opened: SocketDirectory | undefined;
    try {
      await makePrivateDirectory(directory);
      const storage = await realpath(directory);
      const path = join(storage, FOLDER);
      await makePrivateDirectory(path);
      opened = new SocketDirectory(storage, path, openFolder(path));
      // By the descriptor: another user who may rename the folder cannot put one in its place after the check.
      const access = { isStrict: true, onWarning: () => {} };
      await keepPrivate(opened.#pathOf('.'), { directory: path, mayClose: false, access });
      opened.#checkLength();
      return opened;
    } catch (error) {
      opened?.close();
      throw storageError(`use the storage directory "${directory}"`, error);
    }
  }

  /** The address of the socket. */
  get socket(): string {
    return this.#pathOf(SOCKET);
  }

  /** The path of a file of the folder. @throws Error when this is closed: the path would lead to another folder */
  file(name: string): string {
    if (this.#isClosed) throw new Error('The folder of the backend process is closed');
    return this.#pathOf(name);
  }

  /** Removes the folder if nothing is in it. */
  async removeIfEmpty(): Promise<void> {
    await rmdir(this.path).catch(() => {});
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  #pathOf(name: string): string {
    return `${this.#short ?? this.path}/${name}`;
  }

  #checkLength(): void {
    const bytes = Buffer.byteLength(this.socket);
    if (bytes <= MAX_ADDRESS_BYTES) return;
    throw new EdgeError(
      'EDGE_NOT_SUPPORTED',
      `The storage directory "${this.storage}" has too long a path for the socket of its backend process: ${bytes} bytes with "${FOLDER}/${SOCKET}", at most ${MAX_ADDRESS_BYTES}; move it to a shorter path`,
    );
  }
}

/** Rejects a link: it could lead to a folder of this user that has another purpose. */
function openFolder(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (!['ELOOP', 'ENOTDIR'].includes(errorCode(error) ?? '')) throw error;
    throw new EdgeError(
      'EDGE_STORAGE_ACCESS',
      `"${path}" must be a directory, where the backend process has its socket; remove it`,
    );
  }
}
