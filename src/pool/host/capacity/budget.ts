/**
 * The budget of one resource for all cells of a host: memory, descriptors or tasks. When it is used up, idle cells, idle isolates and warm cells without
 * account are ended, the longest unused first. New isolates wait until there is room for them.
 */

export interface BudgetOptions {
  /** The amount that cells may still take now; below 0 when they have taken too much. */
  readonly free: () => number;
  /** The amount that the ending cells will free. */
  readonly ending: () => number;
  /** Recovers unused reservations, at once and without ending anything. Returns how much. @default nothing */
  readonly takeBack?: (wanted: number) => number;
  /** Ends the cell that has been idle for longest. Returns its resources, 0 when no cell is idle. */
  readonly endIdleCell: () => number;
  /** Ends the isolate that has been idle for longest, and for `idleForMs` at least. False when no isolate qualifies. */
  readonly evict: (idleForMs: number) => boolean;
  /** The amount that the end of one isolate frees. */
  readonly isolate: number;
  /** Ends a warm cell without account. Returns its resources, 0 when no cell is warm. */
  readonly endWarmCell: () => number;
}

/** Isolates that were used more recently than this are not ended for a warm cell. */
const WARM_WORTH_MS = 10_000;

export class Budget {
  readonly #options: BudgetOptions;
  /** Reserved for isolates that are about to start. */
  #reserved = 0;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** Whether so much more is free without ending anything. */
  fits(amount: number): boolean {
    return this.#reserved + amount <= this.#options.free();
  }

  /** Whether so much more is free now. If not, begins to make room, which usually takes a moment. */
  hasRoom(amount: number): boolean {
    return this.#makeRoom(amount, 0, true);
  }

  /** The same for a warm cell without account. */
  hasRoomForWarm(amount: number): boolean {
    return this.#makeRoom(amount, WARM_WORTH_MS, false);
  }

  reserve(amount: number): void {
    this.#reserved += amount;
  }

  release(amount: number): void {
    this.#reserved -= amount;
  }

  /** Called periodically, since running isolates may have grown. */
  check(): void {
    this.#makeRoom(0, 0, true);
  }

  #makeRoom(amount: number, idleForMs: number, withWarm: boolean): boolean {
    const { free, ending, takeBack, endIdleCell, evict, isolate, endWarmCell } = this.#options;
    const missing = this.#reserved + amount - free();
    if (missing <= 0) return true;
    let excess = missing - ending();
    if (excess > 0) excess -= takeBack?.(missing) ?? 0;
    while (excess > 0) {
      let freed = endIdleCell();
      if (freed === 0 && evict(idleForMs)) freed = isolate;
      if (freed === 0 && withWarm) freed = endWarmCell();
      if (freed === 0) break;
      excess -= freed;
    }
    return takeBack !== undefined && this.fits(amount);
  }
}
