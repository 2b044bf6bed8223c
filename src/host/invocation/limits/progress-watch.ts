/** How long nothing has moved of an invocation, whose limit of wall time may be none. */

export class ProgressWatch {
  #moved: number;
  #atMs: number;

  /** @param moved a number that changes with whatever moves */
  constructor(moved: number, nowMs: number) {
    this.#moved = moved;
    this.#atMs = nowMs;
  }

  /** Milliseconds for which `moved` has been the same. */
  idleMs(moved: number, nowMs: number): number {
    if (moved !== this.#moved) {
      this.#moved = moved;
      this.#atMs = nowMs;
    }
    return nowMs - this.#atMs;
  }
}
