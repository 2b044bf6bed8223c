/**
 * Asks V8 to look for garbage. It knows the memory outside of its heap, and begins a collection by itself when that has grown by 64 MiB. Half of that is
 * already too much for one account, so that bodies which nobody can read any more would keep the account from working until a timer cancels them.
 */

/** V8's own bound. These are zeroed pages that nobody touches, which take no memory. */
const ASKING_BYTES = 64 * 1024 * 1024;
/** A collection takes some hundredths of a second, mostly on threads of its own. */
const ASK_EVERY_MS = 200;
/** Collections that find nothing become rare, because the application may hold the bodies and read them later. */
const MAX_EVERY_MS = 60_000;

export class Collector {
  readonly #collect: () => void;
  readonly #now: () => number;
  #everyMs = ASK_EVERY_MS;
  #nextMs = Number.NEGATIVE_INFINITY;

  /** @param collect and `now` are for tests */
  constructor(collect: () => void = askForCollection, now: () => number = () => performance.now()) {
    this.#collect = collect;
    this.#now = now;
  }

  /** Garbage is likely. */
  ask(): void {
    const now = this.#now();
    if (now < this.#nextMs) return;
    this.#nextMs = now + this.#everyMs;
    this.#everyMs = Math.min(this.#everyMs * 2, MAX_EVERY_MS);
    this.#collect();
  }

  /** Some was found. */
  found(): void {
    this.#nextMs = Math.min(this.#nextMs, this.#now() + ASK_EVERY_MS);
    this.#everyMs = ASK_EVERY_MS;
  }
}

/** V8 marks in steps between other work, and does not stop for it. */
function askForCollection(): void {
  try {
    void new ArrayBuffer(ASKING_BYTES);
  } catch {
    // There is no room for it: V8 has looked for garbage in vain.
  }
}
