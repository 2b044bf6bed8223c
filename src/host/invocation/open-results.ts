/** Calls of one invocation that are under way, or whose results refer to objects: other calls of it may go on by their results (pipelining). */
import type { Peer } from './peers.js';

/** The result of one call. */
export class OpenResult {
  readonly #close: () => void;
  #callee: Peer | undefined;
  #isClosed = false;
  #waiting: (() => void)[] | undefined;

  constructor(close: () => void) {
    this.#close = close;
  }

  /** The invocation that makes the result, once it has begun. Undefined: there is none, or none any more. */
  callee(): Peer | undefined | Promise<Peer | undefined> {
    if (this.#callee !== undefined || this.#isClosed) return this.#open();
    return new Promise(resolve => {
      this.#waiting ??= [];
      this.#waiting.push(() => resolve(this.#open()));
    });
  }

  begun(callee: Peer): void {
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

  #open(): Peer | undefined {
    return this.#isClosed || this.#callee?.isOver === true ? undefined : this.#callee;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    for (const wake of waiting ?? []) wake();
  }
}

/** By the numbers that the caller has given them. Each is there for as long as its call is, and counted with that. */
export class OpenResults {
  readonly #results = new Map<number, OpenResult>();

  /** @throws TypeError for a number that is in use */
  open(number: number): OpenResult {
    if (this.#results.has(number)) throw new TypeError('The call is malformed');
    const result = new OpenResult(() => this.#results.delete(number));
    this.#results.set(number, result);
    return result;
  }

  find(number: number): OpenResult | undefined {
    return this.#results.get(number);
  }
}
