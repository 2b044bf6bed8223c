/**
 * Reads a file of the folder in chunks. The file is open only while a chunk is read: a client that reads slowly holds no descriptor. Each time it must still
 * be the file that was indexed, so neither a link that was put in its place nor another content can be sent under its tag.
 */
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { EdgeError, errorCode } from '../../../quotas/errors.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { threadQueue } from '../../../quotas/host/threads.js';
import { type AssetEntry, isSameFile } from './asset-entry.js';

/** One chunk: a file of this length is read at once. The chunks grow, so that a body that is not read has little in memory. */
export const FIRST_CHUNK_BYTES = 64 * 1024;
const MOST_CHUNK_BYTES = 256 * 1024;

/** Windows has neither flag. A pipe in the place of the file must not make the thread wait. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The files, and the account that pays for reading them. */
export interface AssetSource {
  readonly root: string;
  readonly share: HostShare;
}

export class AssetReader implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AssetSource;
  readonly #entry: AssetEntry;
  #position: number;
  #left: number;
  #chunkBytes = FIRST_CHUNK_BYTES;
  /** The size of the last chunk, which its reader has until it asks for the next one. */
  #heldBytes = 0;
  #isOver = false;

  constructor(source: AssetSource, entry: AssetEntry, offset: number, length: number) {
    this.#source = source;
    this.#entry = entry;
    this.#position = offset;
    this.#left = length;
  }

  /** Rejects with EDGE_ASSETS_CHANGED when the file is another one than was indexed, and with EDGE_OVERLOADED. */
  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const { share } = this.#source;
    this.#hold(0);
    const turn = share.turn();
    if (turn !== undefined) await turn;
    if (this.#isOver || this.#left === 0) return this.return();
    const length = Math.min(this.#chunkBytes, this.#left);
    const position = this.#position;
    this.#position += length;
    this.#left -= length;
    this.#chunkBytes = Math.min(2 * this.#chunkBytes, MOST_CHUNK_BYTES);
    this.#hold(length);
    try {
      const chunk = await readChunk(this.#source, this.#entry, position, length);
      if (this.#isOver) return { done: true, value: undefined };
      return { done: false, value: chunk };
    } catch (error) {
      await this.return();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#isOver = true;
    this.#hold(0);
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #hold(bytes: number): void {
    this.#source.share.bytes.countBuffers(bytes - this.#heldBytes);
    this.#heldBytes = bytes;
  }
}

/** Rejects like `AssetReader.next()`. The memory is the caller's. */
export async function readChunk(
  { root, share }: AssetSource,
  entry: AssetEntry,
  position: number,
  length: number,
): Promise<Buffer> {
  const costMs = 2 * HOST_COSTS.fileOperationMs + costOf(length, HOST_COSTS.fileMbMs);
  const wait = threadQueue.enter(share, costMs);
  if (wait !== undefined) await wait;
  try {
    share.charge(costMs);
    share.openDescriptor();
    try {
      return await readFrom(entry.file ?? join(root, entry.path), entry, position, length);
    } finally {
      share.closeDescriptor();
    }
  } finally {
    threadQueue.leave(share);
  }
}

async function readFrom(file: string, entry: AssetEntry, position: number, length: number): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, FLAGS);
    const stats = await handle.stat();
    if (!isSameFile(entry, stats)) throw changed(entry, undefined);
    // A buffer of its own: the reader may hand its memory on.
    const chunk = Buffer.allocUnsafeSlow(length);
    for (let at = 0; at < length; ) {
      const { bytesRead } = await handle.read(chunk, at, length - at, position + at);
      if (bytesRead === 0) throw changed(entry, undefined);
      at += bytesRead;
    }
    return chunk;
  } catch (error) {
    throw failureOf(entry, error);
  } finally {
    await handle?.close();
  }
}

/** Codes that say that something else is in the place of the file. */
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'EACCES', 'EPERM']);
const SCARCE: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

function failureOf(entry: AssetEntry, error: unknown): unknown {
  const code = errorCode(error) ?? '';
  if (GONE.has(code)) return changed(entry, error);
  // Without the message, which has the path of the file: functions get this text.
  const text = `Cannot read the asset ${entry.path}: ${code || 'unknown error'}`;
  if (SCARCE.has(code)) return new EdgeError('EDGE_OVERLOADED', text, { cause: error });
  return error instanceof EdgeError ? error : new EdgeError('EDGE_INTERNAL', text, { cause: error });
}

function changed({ path }: AssetEntry, cause: unknown): EdgeError {
  return new EdgeError(
    'EDGE_ASSETS_CHANGED',
    `Cannot serve the asset ${path}: its file was changed or removed since the function was loaded`,
    { cause },
  );
}
