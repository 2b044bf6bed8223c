/**
 * The entries that were used since their place in the order of use was written. A use costs no write: the place is written when too many uses are
 * kept here, or when the entry would be removed as one that was not used for longest.
 */

/** Uses that are kept in memory for one account. */
const MAX_USES = 2048;

export class RecentUse {
  /** From hash to order, the least recent first. */
  readonly #orders = new Map<string, number>();
  #latest: string | undefined;

  get size(): number {
    return this.#orders.size;
  }

  get isFull(): boolean {
    return this.#orders.size > MAX_USES;
  }

  note(hash: string, order: number): void {
    // The latest hash has its place already; a map that loses and gets a key each time is rebuilt often.
    if (hash !== this.#latest) this.#orders.delete(hash);
    this.#latest = hash;
    this.#orders.set(hash, order);
  }

  orderOf(hash: string): string | undefined {
    const order = this.#orders.get(hash);
    return order === undefined ? undefined : orderText(order);
  }

  forget(hash: string): void {
    this.#orders.delete(hash);
  }

  /** Up to `count` of them, the least recent first. */
  oldest(count: number): string[] {
    const hashes: string[] = [];
    for (const hash of this.#orders.keys()) {
      if (hashes.length >= count) break;
      hashes.push(hash);
    }
    return hashes;
  }
}

let last = 0;

/** Later calls give greater numbers, also after a restart unless the clock has been set back. */
export function nextOrder(nowMs: number): number {
  last = Math.max(Math.floor(nowMs * 1000), last + 1);
  return last;
}

/** In the order of the numbers. */
export function orderText(order: number): string {
  return String(order).padStart(16, '0');
}
