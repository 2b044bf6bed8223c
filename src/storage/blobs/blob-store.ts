import type { CallWork } from '../../quotas/host/call-work.js';

/**
 * Values that are too large for LevelDB, beside it. A blob is written once, by one writer, and never changes; a record that is committed after the
 * blob is on disk makes it part of the data.
 */
export interface BlobStore {
  /**
   * Starts a new blob: `finish`, then `done` when its record is committed; or `abandon`. Rejects with EDGE_OVERLOADED when the account has as
   * many files open as it may.
   */
  create(work: CallWork): Promise<BlobWriter>;
  /** Rejects with EDGE_STORAGE_CORRUPT when the blob is missing or its size is not `size`. No file is open before the first read. */
  open(id: string, size: number, work: CallWork): Promise<BlobReader>;
  /** Frees the space. Does nothing when there is no such blob. */
  remove(id: string, work: CallWork): Promise<void>;
}

export interface BlobWriter {
  /** Final when the last chunk was given to `write`. */
  readonly id: string;
  /** Takes the chunk, which must not be changed from now on. A promise is to be awaited before the next chunk. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** Resolves when the whole blob is on disk. */
  finish(): Promise<void>;
  /** To be called when the record that refers to the blob is committed. */
  done(): void;
  /** Stops and frees the space; also after `finish`. */
  abandon(): Promise<void>;
}

export interface BlobReader {
  /**
   * `length` bytes from `position`, in memory that belongs to the caller, who awaits them before the next read. Rejects with EDGE_OVERLOADED
   * when the account has as many files open as it may.
   */
  read(position: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}
