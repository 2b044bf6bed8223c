/**
 * Objects of the host realm that the guest holds by number. A guest cannot report that it dropped one, so it hands over an empty byte array with each, the
 * token, and keeps that beside the number: when the engine has collected the token, the object goes too. The token is never read.
 */
import { types } from 'node:util';
import { OpError } from './arguments.js';

export class Handles<T> {
  readonly #what: string;
  readonly #max: number;
  readonly #hold: (bytes: number) => void;
  readonly #values = new Map<number, { readonly value: T; readonly bytes: number }>();
  readonly #tokens = new FinalizationRegistry<number>(id => this.delete(id));
  #nextId = 1;

  /**
   * `what` names the objects in errors; `max` is how many there may be at once; `hold` is called with the bytes that they take, and with a
   * negative number when they free them.
   */
  constructor(what: string, max: number, hold: (bytes: number) => void = () => {}) {
    this.#what = what;
    this.#max = max;
    this.#hold = hold;
  }

  /** `bytes`: what the object takes outside of every heap. */
  add(value: T, token?: unknown, bytes = 0): number {
    if (this.#values.size >= this.#max) {
      throw new OpError('RangeError', `More than ${this.#max} ${this.#what}s are held at once; keep and reuse them`);
    }
    if (token !== undefined && !types.isUint8Array(token))
      throw new OpError('TypeError', 'The token is not a Uint8Array');
    const id = this.#nextId++;
    this.#values.set(id, { value, bytes });
    this.#hold(bytes);
    if (token !== undefined) this.#tokens.register(token, id);
    return id;
  }

  get(id: unknown): T {
    const held = typeof id === 'number' ? this.#values.get(id) : undefined;
    if (held === undefined) throw new OpError('InvalidStateError', `The ${this.#what} no longer exists`);
    return held.value;
  }

  /** Ends the life of a number whose token is still there. */
  delete(id: unknown): void {
    const held = typeof id === 'number' ? this.#values.get(id) : undefined;
    if (held === undefined) return;
    this.#values.delete(Number(id));
    this.#hold(-held.bytes);
  }
}
