/** The removal of accounts: first nothing finds their records any more, then the records go, in the background and over restarts. */
import { EdgeError } from '../../quotas/errors.js';
import { afterPrefix } from '../records/level-database.js';
import { NO_BYTES } from '../records/no-bytes.js';
import { recordKeys } from '../records/record-keys.js';
import type { StorageContext } from '../storage-context.js';
import type { StorageOwner } from '../storage-owner.js';

export interface RemovalSteps {
  /** The error of every write of the account from now on. */
  readonly error: EdgeError;
  /** Otherwise the records stay, for a later account of the same id. */
  readonly deleteData: boolean;
  /** Removes the data that is kept elsewhere. It may be repeated, when a kill has interrupted the removal. */
  readonly beside: () => Promise<void>;
}

export class AccountRemovals {
  readonly #storage: StorageContext;
  readonly #owners: readonly StorageOwner[];
  /** The accounts that are being removed now. */
  readonly #underWay = new Set<string>();
  #clearing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(storage: StorageContext, owners: readonly StorageOwner[]) {
    this.#storage = storage;
    this.#owners = owners;
  }

  /** Accounts whose removal was interrupted and is not running now. The host resumes it before anything uses them. */
  async unfinished(): Promise<string[]> {
    const prefix = recordKeys.removals();
    const accounts: string[] = [];
    const { records } = this.#storage;
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    // The key says it all.
    for await (const page of records.keyPages(range)) {
      for (const key of page) accounts.push(decodeURIComponent(key.slice(prefix.length)));
    }
    return accounts.filter(account => !this.#underWay.has(account));
  }

  /**
   * Ends all writes of the account. With `deleteData` an account of the same id has nothing when it resolves, also after a kill: the next opening completes the
   * rest. `clear` then frees the space.
   */
  remove(account: string, { error, deleteData, beside }: RemovalSteps): Promise<void> {
    const { records, sums } = this.#storage;
    const removal = recordKeys.removal(account);
    return sums.end(account, error, async () => {
      this.#underWay.add(account);
      try {
        if (deleteData) await records.commit([{ type: 'put', key: removal, value: NO_BYTES }]);
        await beside();
        if (!deleteData) return;
        for (const owner of this.#owners) await owner.detach?.(this.#storage, account);
        await records.commit([
          { type: 'del', key: recordKeys.sum(account) },
          { type: 'del', key: removal },
        ]);
      } finally {
        this.#underWay.delete(account);
      }
    });
  }

  /** Frees the space of all accounts that were removed. Rejects with EDGE_CLOSED when the storage closes first; the next opening continues. */
  clear(): Promise<void> {
    const clearing = this.#clearing.then(() => this.#clearAll());
    this.#clearing = clearing.catch(() => {});
    return clearing;
  }

  /** Resolves when nothing is being removed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#clearing;
  }

  async #clearAll(): Promise<void> {
    for (const owner of this.#owners) await owner.clear?.(this.#storage, () => this.#refuseWhenStopped());
  }

  #refuseWhenStopped(): void {
    if (!this.#isStopped) return;
    throw new EdgeError('EDGE_CLOSED', 'The removal of data continues when the storage is opened again');
  }
}
