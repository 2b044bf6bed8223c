/**
 * Which application has the live objects of a function, where several share a storage directory: the first that calls one, until it unloads the function or
 * goes. So there are never two instances of one object.
 */
import { type AlarmFunction, functionKey } from './alarm-claims.js';

/** `owner` is a name of the application. */
export interface ObjectClaims {
  /** False when another application has them. */
  claim(owner: string, of: AlarmFunction): Promise<boolean>;
  release(owner: string, of: AlarmFunction): Promise<void>;
  /** The application has gone. */
  left(owner: string): Promise<void>;
}

/** The claims of one process. They need not outlast it: the objects of its applications end with it. */
export class LiveObjectClaims implements ObjectClaims {
  readonly #owners = new Map<string, string>();

  async claim(owner: string, of: AlarmFunction): Promise<boolean> {
    const key = functionKey(of);
    const known = this.#owners.get(key);
    if (known === undefined) this.#owners.set(key, owner);
    return known === undefined || known === owner;
  }

  async release(owner: string, of: AlarmFunction): Promise<void> {
    const key = functionKey(of);
    if (this.#owners.get(key) === owner) this.#owners.delete(key);
  }

  async left(owner: string): Promise<void> {
    for (const [key, known] of [...this.#owners]) if (known === owner) this.#owners.delete(key);
  }
}
