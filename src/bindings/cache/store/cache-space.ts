/** The bound of what the entries of an account take on disk: those that are being received count too, and the least recently used make room. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { EntryStore } from './entry-store.js';

/** Room that was made for one entry, until it is stored or given up. */
export interface Reservation {
  /** @returns false: there is no room, and nothing left that could make some */
  add(bytes: number): Promise<boolean>;
  /** Stored bytes count by their record from then on. */
  release(): void;
}

/** More is removed than is needed at once, so that not every put must remove something. */
const SLACK = 1 / 128;

export class CacheSpace {
  readonly #entries: EntryStore;
  #reserved = 0;
  /** Removals take turns: each knows what those before it have freed. */
  #making: Promise<unknown> = Promise.resolve();

  constructor(entries: EntryStore) {
    this.#entries = entries;
  }

  /** @param bound what all entries may take together, in bytes */
  reserve(bound: number, work: CallWork): Reservation {
    let own = 0;
    return {
      add: async bytes => {
        if (!this.#takes(bytes, bound) && !(await this.#makeRoom(bytes, bound, work))) return false;
        own += bytes;
        this.#reserved += bytes;
        return true;
      },
      release: () => {
        this.#reserved -= own;
        own = 0;
      },
    };
  }

  #takes(bytes: number, bound: number): boolean {
    return this.#excess(bytes, bound) <= 0;
  }

  #excess(bytes: number, bound: number): number {
    return this.#entries.sums.store.stored.bytes + this.#reserved + bytes - bound;
  }

  #makeRoom(bytes: number, bound: number, work: CallWork): Promise<boolean> {
    const making = this.#making.then(async () => {
      // A body that can never fit removes nothing.
      if (this.#reserved + bytes > bound) return false;
      for (let excess = this.#excess(bytes, bound); excess > 0; excess = this.#excess(bytes, bound)) {
        if ((await this.#entries.evict(excess + bound * SLACK, work)) === 0) return false;
      }
      return true;
    });
    this.#making = making.catch(() => {});
    return making;
  }
}
