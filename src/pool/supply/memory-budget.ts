/**
 * The memory budget of all cells of a host. When it is used up, idle cells, idle isolates and warm cells without account are ended, the longest
 * unused first. New isolates wait until there is memory for them.
 */

export interface MemoryBudgetOptions {
  readonly bytes: number;
  /** Memory of all cells now, including those that are ending. */
  readonly usedBytes: () => number;
  /** Memory of the cells that are ending. */
  readonly endingBytes: () => number;
  /** Ends the cell that has been idle for longest. Returns its bytes, 0 if there is none. */
  readonly endIdleCell: () => number;
  /** Ends the isolate that has been idle for longest, and for `idleForMs` at least. False if there is none. */
  readonly evict: (idleForMs: number) => boolean;
  /** Ends a warm cell without account. Returns its bytes, 0 if there is none. */
  readonly endWarmCell: () => number;
}

const MEBIBYTE = 1024 * 1024;
/** A cell with its first isolate, until it is measured (Node 20.20: 34 of resident memory, of which other cells share 10). */
export const CELL_BYTES = 30 * MEBIBYTE;
/** One more isolate of a cell, until it is measured. */
export const ISOLATE_BYTES = 8 * MEBIBYTE;
/** Isolates that were used more recently than this are not ended for a warm cell. */
const WARM_WORTH_MS = 10_000;

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  /** Reserved for isolates that are about to start. */
  #reservedBytes = 0;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#options.bytes;
  }

  get usedBytes(): number {
    return this.#options.usedBytes();
  }

  /** Whether this many more bytes are free without ending anything. */
  fits(bytes: number): boolean {
    return this.usedBytes + this.#reservedBytes + bytes <= this.bytes;
  }

  /** Whether this many more bytes are free now. If not, begins to free memory, which takes a moment. */
  hasRoom(bytes: number): boolean {
    return this.#makeRoom(bytes, 0, true);
  }

  /** The same for a warm cell without account. */
  hasRoomForWarm(): boolean {
    return this.#makeRoom(CELL_BYTES, WARM_WORTH_MS, false);
  }

  reserve(bytes: number): void {
    this.#reservedBytes += bytes;
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes;
  }

  /** Called periodically, since running isolates may have grown. */
  check(): void {
    this.#makeRoom(0, 0, true);
  }

  #makeRoom(bytes: number, idleForMs: number, withWarm: boolean): boolean {
    const { bytes: limit, endingBytes, endIdleCell, evict, endWarmCell } = this.#options;
    let excess = this.usedBytes + this.#reservedBytes + bytes - limit;
    if (excess <= 0) return true;
    excess -= endingBytes();
    while (excess > 0) {
      let freed = endIdleCell();
      if (freed === 0 && evict(idleForMs)) freed = ISOLATE_BYTES;
      if (freed === 0 && withWarm) freed = endWarmCell();
      if (freed === 0) break;
      excess -= freed;
    }
    return false;
  }
}
