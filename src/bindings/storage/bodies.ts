import type { CallWork } from '../service.js';

/**
 * Bodies too large for LevelDB, beside it. A body is written once, by one writer, and never changed; a record in
 * LevelDB, committed after the body is on disk, makes it part of an object.
 */
export interface Bodies {
  /**
   * Starts a new body: `finish`, then `settle` when its record is committed; or `abandon`. Rejects with EDGE_OVERLOADED when the account has as
   * many files open as it may.
   */
  create(work: CallWork): Promise<BodyWriter>;
  /** Rejects with EDGE_STORAGE_CORRUPT when the body is missing or has another size than `size`. No file is open before the first read. */
  open(id: string, size: number, work: CallWork): Promise<BodyReader>;
  /** Gives the space back; a body that is not there is no error. */
  remove(id: string, work: CallWork): Promise<void>;
}

export interface BodyWriter {
  readonly id: string;
  /** Takes the chunk, which must not be changed from now on; a promise is to be awaited before the next chunk. */
  write(chunk: Uint8Array): Promise<void> | undefined;
  /** Resolves when the whole body is on disk. */
  finish(): Promise<void>;
  /** The record that makes the body part of an object is committed. */
  settle(): void;
  /** Stops and gives the space back; also after `finish`. */
  abandon(): Promise<void>;
}

export interface BodyReader {
  /**
   * `length` bytes from `position`, in memory that belongs to the caller, who waits for them before the next read. Rejects with EDGE_OVERLOADED
   * when the account has as many files open as it may.
   */
  read(position: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}
