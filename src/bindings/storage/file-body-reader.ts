/**
 * Reads a body file. The file is open only while somebody reads it: an account may ask for many bodies and read none, or a piece of each, and
 * descriptors are few for the whole process.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import type { CallWork } from '../service.js';
import { threadQueue } from '../threads.js';
import type { BodyReader } from './bodies.js';
import { storageError } from './storage-error.js';

/** Files of one account that stay open between two reads; beyond that the one read longest ago is closed, and opened again when it is read. */
export const MAX_IDLE_FILES = 32;

/** By owner, those read longest ago first. */
const idleFiles = new WeakMap<object, Set<FileBodyReader>>();

export class FileBodyReader implements BodyReader {
  readonly #path: string;
  readonly #work: CallWork;
  readonly #idle: Set<FileBodyReader>;
  #handle: FileHandle | undefined;
  #reading: Promise<Uint8Array> | undefined;
  #isClosed = false;

  /** The file was there, with its whole size: it does not change any more. */
  constructor(path: string, work: CallWork) {
    this.#path = path;
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
      if (this.#handle !== undefined && !this.#isClosed) this.#rest();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle.delete(this);
    // A descriptor that is closed while it is read may be another file by then.
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
      return await readAll(this.#handle, position, length);
    } finally {
      threadQueue.leave(owner);
    }
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
      return await open(this.#path, 'r');
    } catch (error) {
      work.closeDescriptor();
      throw errorCode(error) === 'ENOENT' ? missingFile(error) : storageError('read the body of an object', error);
    }
  }

  /** The file stays open for the next read, unless too many are. */
  #rest(): void {
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

export function missingFile(cause: unknown): EdgeError {
  return new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: its file is missing', { cause });
}

async function readAll(handle: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, position + done);
    if (bytesRead === 0) {
      throw new EdgeError('EDGE_STORAGE_CORRUPT', 'Cannot read the body of an object: its file ends early');
    }
    done += bytesRead;
  }
  return bytes;
}

function idleFilesOf(owner: object): Set<FileBodyReader> {
  let files = idleFiles.get(owner);
  if (files === undefined) {
    files = new Set();
    idleFiles.set(owner, files);
  }
  return files;
}
