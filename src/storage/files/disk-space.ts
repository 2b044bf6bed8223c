import { EdgeError } from '../../quotas/errors.js';

/**
 * Keeps a reserve of the disk free. Writes that grow the storage are refused before the disk is full, so that LevelDB can still write its log,
 * compact, and record deletes, which free space. The file system is asked rarely, and its answer is counted down in between.
 */
export class DiskSpace {
  /** Two write buffers of LevelDB, and the tables of a compaction. */
  static readonly DEFAULT_RESERVE_BYTES = 64 * 2 ** 20;
  static readonly #ASK_AGAIN_BYTES = 8 * 2 ** 20;
  static readonly #ASK_AGAIN_MS = 1000;

  readonly #readFreeBytes: () => Promise<number>;
  readonly #reserveBytes: number;
  readonly #now: () => number;
  #leftBytes = 0;
  #reservedBytes = Number.POSITIVE_INFINITY;
  #askedAt = 0;
  #asking: Promise<void> | undefined;

  constructor(options: { readFreeBytes: () => Promise<number>; reserveBytes: number; now: () => number }) {
    this.#readFreeBytes = options.readFreeBytes;
    this.#reserveBytes = options.reserveBytes;
    this.#now = options.now;
  }

  /** Counts `bytes` as used; undefined when that was possible at once. Rejects with EDGE_STORAGE_FULL. */
  reserveSpace(bytes: number): Promise<void> | undefined {
    if (this.#isFresh() && bytes <= this.#leftBytes) {
      this.#count(bytes);
      return undefined;
    }
    return this.#askAndReserve(bytes);
  }

  /** Rejects with EDGE_STORAGE_FULL when less than `bytes` are free, the reserve included. For recovery, which may use the reserve. */
  async checkReserve(bytes: number): Promise<void> {
    this.#asking ??= this.#ask();
    await this.#asking;
    const freeBytes = this.#leftBytes + this.#reserveBytes;
    if (bytes > freeBytes) {
      throw new EdgeError(
        'EDGE_STORAGE_FULL',
        `Cannot recover the storage: it needs ${bytes} bytes and ${freeBytes} are free, free some space and try again`,
      );
    }
  }

  async #askAndReserve(bytes: number): Promise<void> {
    this.#asking ??= this.#ask();
    await this.#asking;
    if (bytes > this.#leftBytes) {
      throw new EdgeError(
        'EDGE_STORAGE_FULL',
        `Cannot write ${bytes} bytes to the storage: ${Math.max(0, this.#leftBytes)} bytes are free beside the reserve of ${this.#reserveBytes}, free some space and try again`,
      );
    }
    this.#count(bytes);
  }

  async #ask(): Promise<void> {
    try {
      this.#leftBytes = (await this.#readFreeBytes()) - this.#reserveBytes;
      this.#reservedBytes = 0;
      this.#askedAt = this.#now();
    } finally {
      this.#asking = undefined;
    }
  }

  #isFresh(): boolean {
    const age = this.#now() - this.#askedAt;
    return this.#reservedBytes < DiskSpace.#ASK_AGAIN_BYTES && age >= 0 && age < DiskSpace.#ASK_AGAIN_MS;
  }

  #count(bytes: number): void {
    this.#leftBytes -= bytes;
    this.#reservedBytes += bytes;
  }
}
