/**
 * Objects of the host realm that the guest holds by number. A guest has no way to tell that it forgot one, so it hands over an
 * empty byte array with each, the token, and keeps that beside the number: when the engine has collected the token, the object
 * goes too. The token is never read.
 */
import { types } from 'node:util';
import { OpError } from './arguments.js';

export class Handles<T> {
  readonly #what: string;
  readonly #max: number;
  readonly #values = new Map<number, T>();
  readonly #tokens = new FinalizationRegistry<number>(id => this.#values.delete(id));
  #nextId = 1;

  /** `what` names the objects in errors; `max` is how many there may be at once. */
  constructor(what: string, max: number) {
    this.#what = what;
    this.#max = max;
  }

  add(value: T, token?: unknown): number {
    if (this.#values.size >= this.#max) {
      throw new OpError('RangeError', `More than ${this.#max} ${this.#what}s are held at once; keep and reuse them`);
    }
    const id = this.#nextId++;
    this.#values.set(id, value);
    if (token !== undefined) {
      if (!types.isUint8Array(token)) throw new OpError('TypeError', 'The token is not a Uint8Array');
      this.#tokens.register(token, id);
    }
    return id;
  }

  get(id: unknown): T {
    const value = typeof id === 'number' ? this.#values.get(id) : undefined;
    if (value === undefined) throw new OpError('InvalidStateError', `The ${this.#what} is not there any more`);
    return value;
  }

  /** Ends the life of a number whose token is still there. */
  delete(id: unknown): void {
    if (typeof id === 'number') this.#values.delete(id);
  }
}
