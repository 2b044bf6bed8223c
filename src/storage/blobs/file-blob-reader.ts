/**
 * Reads a blob file. The file is open only while it is read: an account may ask for many blobs and read none, or a chunk of each, and
 * descriptors are few for the whole process.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import type { CallWork } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { threadQueue } from '../../quotas/host/threads.js';
import { checksum } from '../files/checksum.js';
import { storageError } from '../files/storage-error.js';
import type { BlobReader } from './blob-store.js';

/** Files of one account that stay open between two reads. Beyond that the least recently read one is closed, and opened again when it is read. */
export const MAX_IDLE_FILES = 32;

/** By owner, the least recently read first. */
const idleFiles = new WeakMap<object, Set<FileBlobReader>>();

export interface BlobFile {
  readonly path: string;
  /** The path in the folder of all of them, for messages. */
  readonly file: string;
  readonly size: number;
  /** The checksum of all its bytes; undefined for one of an earlier release. */
  readonly sum: number | undefined;
}

/** When all of a file is read from its beginning on, its last chunk is refused unless the checksum of the file is right. */
export class FileBlobReader implements BlobReader {
  readonly #blob: BlobFile;
  readonly #work: CallWork;
  readonly #idle: Set<FileBlobReader>;
  #handle: FileHandle | undefined;
  #reading: Promise<Uint8Array> | undefined;
  #isClosed = false;
  /** How much was read without a gap, and the checksum of that. */
  #readTo = 0;
  #sum = 0;

  /** The caller has checked that the file exists and is complete. It does not change. */
  constructor(blob: BlobFile, work: CallWork) {
    this.#blob = blob;
    this.#work = work;
    this.#idle = idleFilesOf(work.owner);
  }

  async read(position: number, length: number): Promise<Uint8Array> {
    this.#idle.delete(this);
    this.#reading = this.#read(position, length);
    try {
      return await this.#reading;
    } finally {
      this.#reading = undefined;
      if (this.#handle !== undefined && !this.#isClosed) this.#keepOpen();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle.delete(this);
    // A descriptor that is closed during a read may be reused for another file before the read begins.
    await this.#reading?.catch(() => {});
    await this.#closeFile();
  }

  async #read(position: number, length: number): Promise<Uint8Array> {
    const { owner } = this.#work;
    const ms = costOf(length, HOST_COSTS.fileMbMs);
    this.#work.charge(ms);
    const wait = threadQueue.enter(owner, ms);
    if (wait !== undefined) await wait;
    try {
      if (this.#isClosed) return new Uint8Array(0);
      this.#handle ??= await this.#open();
      const bytes = await readAll(this.#handle, position, length, this.#blob);
      this.#check(position, bytes);
      return bytes;
    } finally {
      threadQueue.leave(owner);
    }
  }

  /** @throws EdgeError EDGE_STORAGE_CORRUPT */
  #check(position: number, bytes: Uint8Array): void {
    const { file, size, sum } = this.#blob;
    if (sum === undefined || position !== this.#readTo) return;
    this.#readTo += bytes.byteLength;
    this.#sum = checksum(bytes, this.#sum);
    if (this.#readTo !== size || this.#sum === sum) return;
    throw new EdgeError(
      'EDGE_STORAGE_CORRUPT',
      `Cannot read a stored value: the checksum of its file "bodies/${file}" does not match, so it is damaged; restore it from a backup, or write the value again`,
    );
  }

  async #open(): Promise<FileHandle> {
    const work = this.#work;
    try {
      work.openDescriptor();
    } catch (error) {
      const [oldest] = this.#idle;
      if (oldest === undefined) throw error;
      this.#idle.delete(oldest);
      await oldest.#closeFile();
      work.openDescriptor();
    }
    work.charge(2 * HOST_COSTS.fileOperationMs);
    try {
      return await open(this.#blob.path, 'r');
    } catch (error) {
      work.closeDescriptor();
      throw errorCode(error) === 'ENOENT'
        ? missingFile(this.#blob.file, error)
        : storageError('read a stored value', error);
    }
  }

  /** The file stays open for the next read, unless too many are. */
  #keepOpen(): void {
    this.#idle.add(this);
    if (this.#idle.size <= MAX_IDLE_FILES) return;
    const [oldest] = this.#idle;
    if (oldest === undefined) return;
    this.#idle.delete(oldest);
    oldest.#closeFile().catch(() => {});
  }

  async #closeFile(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle === undefined) return;
    try {
      await handle.close();
    } finally {
      this.#work.closeDescriptor();
    }
  }
}

export function missingFile(file: string, cause: unknown): EdgeError {
  return new EdgeError('EDGE_STORAGE_CORRUPT', `Cannot read a stored value: its file "bodies/${file}" is missing`, {
    cause,
  });
}

async function readAll(handle: FileHandle, position: number, length: number, { file }: BlobFile): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', `Cannot read a stored value: its file "bodies/${file}" ends early`);
    }
    done += bytesRead;
  }
  return bytes;
}

function idleFilesOf(owner: object): Set<FileBlobReader> {
  let files = idleFiles.get(owner);
  if (files === undefined) {
    files = new Set();
    idleFiles.set(owner, files);
  }
  return files;
}
