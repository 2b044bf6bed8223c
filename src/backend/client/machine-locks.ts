/** Mutual exclusion among all applications on a storage. */
import { KeyedMutex, type Locks } from '../../storage/records/keyed-mutex.js';
import type { RemoteLink } from './remote-link.js';

export class MachineLocks implements Locks {
  readonly #link: RemoteLink;
  /** Waiters of this application wait here, so that only one of them waits for each lock in the backend process. */
  readonly #own = new KeyedMutex();
  #last = 0;

  constructor(link: RemoteLink) {
    this.#link = link;
  }

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    return this.runAll([key], task);
  }

  /** Rejects with EDGE_SERVICES_LOST when there is no backend process to ask. */
  runAll<T>(keys: Iterable<string>, task: () => Promise<T>): Promise<T> {
    const all = [...keys];
    return this.#own.runAll(all, async () => {
      const number = ++this.#last;
      await this.#link.call('locks.take', number, all);
      try {
        return await task();
      } finally {
        // The locks of a lost process are free anyway.
        this.#link.call('locks.give', number).catch(() => {});
      }
    });
  }
}
