/**
 * The memory that all cells of a host may have together. Where it is used up, what nobody uses goes, the longest unused first: cells without
 * isolates, isolates that are idle, cells that belong to nobody. What is new waits until the memory is there.
 */

export interface MemoryBudgetOptions {
  readonly bytes: number;
  /** What all cells have now, those included that are ending. */
  readonly usedBytes: () => number;
  /** What cells that are ending have still. */
  readonly endingBytes: () => number;
  /** Ends the cell that has been without isolates for longest; answers its bytes, 0 when there is none. */
  readonly endIdleCell: () => number;
  /** Ends the isolate that has been idle for longest, and for so long at least; false when there is none. */
  readonly evict: (idleForMs: number) => boolean;
  /** Ends a cell that belongs to nobody; answers its bytes, 0 when there is none. */
  readonly endWarmCell: () => number;
}

const MEBIBYTE = 1024 * 1024;
/** A cell with its first isolate, until it is measured (Node 20.20: 34 of resident memory, of which other cells share 10). */
export const CELL_BYTES = 30 * MEBIBYTE;
/** One more isolate of a cell, until it is measured. */
export const ISOLATE_BYTES = 8 * MEBIBYTE;
/** A cell for nobody in particular is worth no isolate that was used more recently. */
const WARM_WORTH_MS = 10_000;

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  /** For isolates that are about to start. */
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

  /** Whether so much more may be used, without an end of anything. */
  fits(bytes: number): boolean {
    return this.usedBytes + this.#reservedBytes + bytes <= this.bytes;
  }

  /** Whether so much more may be used now. Where not, room is made as far as it can be, which takes a moment. */
  hasRoom(bytes: number): boolean {
    return this.#makeRoom(bytes, 0, true);
  }

  /** The same for a cell that belongs to nobody. */
  hasRoomForWarm(): boolean {
    return this.#makeRoom(CELL_BYTES, WARM_WORTH_MS, false);
  }

  reserve(bytes: number): void {
    this.#reservedBytes += bytes;
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes;
  }

  /** What is there may have grown. */
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
