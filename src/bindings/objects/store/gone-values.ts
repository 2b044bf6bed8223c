/** Values that no object has any more, after deleteAll(): they are removed at once, in the background. After a kill the storage continues the removal. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { removeBelow } from '../../../storage/records/fresh-pages.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { objectKeys } from './object-keys.js';

/** So much of one account may wait to be removed: it is counted no more, and takes space still. */
const MAX_BYTES = 64 * 1024 * 1024;

export class GoneValues {
  readonly #storage: StorageContext;
  /** In the queues of the storage it takes turns with accounts as one of them. */
  readonly #work: CallWork = { ...OWN_WORK, owner: {} };
  #bytes = 0;
  #removing: Promise<void> = Promise.resolve();

  constructor(storage: StorageContext) {
    this.#storage = storage;
  }

  /** To be awaited before more is added: too much may already wait for removal. */
  room(): Promise<void> | undefined {
    return this.#bytes > MAX_BYTES ? this.#removing : undefined;
  }

  /** They are on the list of the storage. */
  add(valuesId: string, bytes: number): void {
    this.#bytes += bytes;
    this.#removing = this.#removing.then(async () => {
      try {
        await removeBelow(this.#storage.records, objectKeys.values(valuesId), { work: this.#work });
        await removeBelow(this.#storage.records, objectKeys.pages(valuesId), { work: this.#work });
        await this.#storage.records.commit([{ type: 'del', key: objectKeys.gone(valuesId) }], this.#work);
      } catch {
        // The next sweep of the storage removes them.
      }
      this.#bytes -= bytes;
    });
  }
}
