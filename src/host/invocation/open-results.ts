/** Calls of one invocation that are in flight, or whose results refer to objects: its other calls may continue on their results (pipelining). */

/** The invocation that makes a result. */
interface Callee {
  readonly isOver: boolean;
}

/** The result of one call. */
export class OpenResult<T extends Callee> {
  readonly #close: () => void;
  #callee: T | undefined;
  #isClosed = false;
  #waiting: (() => void)[] | undefined;

  constructor(close: () => void) {
    this.#close = close;
  }

  /** The invocation that makes the result, once it has begun. Undefined: no invocation makes it, or it is gone. */
  callee(): T | undefined | Promise<T | undefined> {
    if (this.#callee !== undefined || this.#isClosed) return this.#open();
    return new Promise(resolve => {
      this.#waiting ??= [];
      this.#waiting.push(() => resolve(this.#open()));
    });
  }

  begun(callee: T): void {
    this.#callee = callee;
    this.#wake();
  }

  /** The caller has all of it, or it has failed. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#close();
    this.#wake();
  }

  #open(): T | undefined {
    return this.#isClosed || this.#callee?.isOver === true ? undefined : this.#callee;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const wake of waiting ?? []) wake();
  }
}

/** By the numbers that the caller has given them. Each is there for as long as its call is, and counted with that. */
export class OpenResults<T extends Callee> {
  readonly #results = new Map<number, OpenResult<T>>();

  /** @throws TypeError for a number that is in use */
  open(number: number): OpenResult<T> {
    if (this.#results.has(number)) throw new TypeError('The call is malformed');
    const result = new OpenResult<T>(() => this.#results.delete(number));
    this.#results.set(number, result);
    return result;
  }

  find(number: number): OpenResult<T> | undefined {
    return this.#results.get(number);
  }
}
