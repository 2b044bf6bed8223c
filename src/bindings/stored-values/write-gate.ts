/** Counts the writes in flight, so that their target can be closed and removed. */
export class WriteGate<Method> {
  readonly #gone: (method: Method) => Error;
  #writing = 0;
  #isClosed = false;
  #whenIdle: (() => void) | undefined;

  /** @param gone makes the error of a write that comes too late */
  constructor(gone: (method: Method) => Error) {
    this.#gone = gone;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** @throws the error of a closed gate, as a rejection */
  async run<T>(method: Method, task: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw this.#gone(method);
    this.#writing++;
    try {
      return await task();
    } finally {
      this.#writing--;
      if (this.#writing === 0) this.#whenIdle?.();
    }
  }

  /** Refuses writes from now on, waits for the ones in flight, and runs `remove`. When that rejects, writes are accepted again. */
  async close(method: Method, remove: () => Promise<void>): Promise<void> {
    if (this.#isClosed) throw this.#gone(method);
    this.#isClosed = true;
    try {
      if (this.#writing > 0) {
        await new Promise<void>(resolve => {
          this.#whenIdle = resolve;
        });
      }
      await remove();
    } catch (error) {
      this.#isClosed = false;
      throw error;
    }
  }
}
