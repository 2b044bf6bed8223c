import type { FileHandle } from 'node:fs/promises';
import type { BodyWriter } from './bodies.js';
import type { DiskSpace } from './disk-space.js';
import { storageError } from './storage-error.js';

/** Chunks are gathered to writes of this size: each write is a round trip to a thread. */
const WRITE_BYTES = 512 * 1024;
/** So many chunks are written however small they are: a chunk costs memory beside its bytes. */
const WRITE_CHUNKS = 512;
/** The disk is asked to take what was written each so many bytes, so that the fsync at the end has little left to do. */
const FLUSH_BYTES = 16 * 2 ** 20;

/** Writes a body file, one write in flight while the next chunks gather: at most about twice WRITE_BYTES are held. */
export class FileBodyWriter implements BodyWriter {
  readonly id: string;
  readonly #handle: FileHandle;
  readonly #space: DiskSpace;
  readonly #directoryOnDisk: Promise<void>;
  readonly #remove: () => Promise<void>;
  readonly settle: () => void;
  #gathered: Uint8Array[] = [];
  #gatheredBytes = 0;
  #writing: Promise<void> | undefined;
  #flushing: Promise<void> | undefined;
  #unflushedBytes = 0;
  #failure: unknown;

  /** `directoryOnDisk` resolves when the file's entry in its directory is on disk. */
  constructor(options: {
    id: string;
    handle: FileHandle;
    space: DiskSpace;
    directoryOnDisk: Promise<void>;
    remove: () => Promise<void>;
    settle: () => void;
  }) {
    this.id = options.id;
    this.#handle = options.handle;
    this.#space = options.space;
    this.#directoryOnDisk = options.directoryOnDisk;
    this.#remove = options.remove;
    this.settle = options.settle;
    // Looked at in `finish`; until then a failure is no unhandled rejection.
    this.#directoryOnDisk.catch(() => {});
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    this.#gathered.push(chunk);
    this.#gatheredBytes += chunk.byteLength;
    if (this.#gatheredBytes < WRITE_BYTES && this.#gathered.length < WRITE_CHUNKS) return undefined;
    const before = this.#writing;
    if (before === undefined) {
      this.#startWriting();
      return undefined;
    }
    return before.then(() => this.#startWriting());
  }

  async finish(): Promise<void> {
    try {
      await this.#writing;
      if (this.#gatheredBytes > 0) this.#startWriting();
      await this.#writing;
      await this.#flushing;
      if (this.#failure !== undefined) throw this.#failure;
      await Promise.all([this.#handle.datasync(), this.#directoryOnDisk]);
      await this.#handle.close();
    } catch (error) {
      throw storageError('write the body of an object', error);
    }
  }

  async abandon(): Promise<void> {
    this.#gathered = [];
    await this.#writing;
    await this.#flushing;
    // Closed already when `finish` got that far.
    await this.#handle.close().catch(() => {});
    await this.#remove();
    this.settle();
  }

  #startWriting(): void {
    if (this.#failure !== undefined) throw storageError('write the body of an object', this.#failure);
    const chunks = this.#gathered;
    const bytes = this.#gatheredBytes;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#writing = this.#writeAll(chunks, bytes).then(
      () => {
        this.#writing = undefined;
      },
      error => {
        this.#writing = undefined;
        this.#failure = error;
      },
    );
  }

  async #writeAll(chunks: Uint8Array[], bytes: number): Promise<void> {
    const claim = this.#space.claim(bytes);
    if (claim !== undefined) await claim;
    let rest = chunks;
    let left = bytes;
    while (left > 0) {
      const { bytesWritten } = await this.#handle.writev(rest);
      if (bytesWritten === 0) throw new Error(`The file took none of the ${left} bytes left to write`);
      left -= bytesWritten;
      if (left > 0) rest = skipBytes(rest, bytesWritten);
    }
    this.#unflushedBytes += bytes;
    if (this.#unflushedBytes >= FLUSH_BYTES && this.#flushing === undefined) {
      this.#unflushedBytes = 0;
      this.#flushing = this.#handle.datasync().then(
        () => {
          this.#flushing = undefined;
        },
        error => {
          this.#flushing = undefined;
          this.#failure = error;
        },
      );
    }
  }
}

/** What is left of the chunks after a write that was shorter than asked for. */
function skipBytes(chunks: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let skip = bytes;
  const rest: Uint8Array[] = [];
  for (const chunk of chunks) {
    if (skip >= chunk.byteLength) skip -= chunk.byteLength;
    else {
      rest.push(chunk.subarray(skip));
      skip = 0;
    }
  }
  return rest;
}
