import type { ServiceBody } from '../service.js';

/** The part of a value that is to be read. */
export interface ResolvedRange {
  readonly offset: number;
  readonly length: number;
}

/**
 * The bytes of a stored value, as they were when it was found. The caller calls `open` once, or `release`. After `open`, `release` cancels the
 * stream, and does nothing when it has ended.
 */
export interface StoredContent extends ResolvedRange {
  /** All bytes of a small value, else a stream. The memory of each chunk belongs to the caller. */
  open(): ServiceBody;
  /** In place of `open`: all bytes of a small value, in memory that others read. It must not be changed or transferred. @default not a small one */
  view?(): Uint8Array;
  release(): void;
}
