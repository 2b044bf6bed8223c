/** Long-running work of all accounts: only a few at once. When one more starts, the longest-running one of the account with the most of them ends. */

/** At once, of all accounts and of one. */
const MAX_SLOW = 6;
const MAX_OF_ACCOUNT = 2;

export class SlowWork {
  /** The function that ends each, and its owner: the longest first. */
  readonly #running = new Map<() => void, object>();

  /** @param owner the account */
  add(owner: object, end: () => void): void {
    this.#running.set(end, owner);
    const counts = new Map<object, number>();
    for (const each of this.#running.values()) counts.set(each, (counts.get(each) ?? 0) + 1);
    let most = owner;
    for (const [each, count] of counts) if (count > (counts.get(most) ?? 0)) most = each;
    if (this.#running.size <= MAX_SLOW && (counts.get(most) ?? 0) <= MAX_OF_ACCOUNT) return;
    for (const [endLongest, whose] of this.#running) {
      if (whose !== most) continue;
      this.#running.delete(endLongest);
      endLongest();
      return;
    }
  }

  delete(end: () => void): void {
    this.#running.delete(end);
  }
}
