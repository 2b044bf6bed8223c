/** The caches of all accounts of a host, in its storage. */
import { EdgeError } from '../../quotas/errors.js';
import type { Storage } from '../../storage/storage.js';
import type { CacheEngine } from './engine.js';
import { AccountCaches } from './store/account-caches.js';

export class SharedCaches {
  readonly #storage: () => Promise<Storage>;
  readonly #accounts = new Map<string, AccountCaches>();

  constructor(storage: () => Promise<Storage>) {
    this.#storage = storage;
  }

  /** The caches of the account that has the id now. They end with the account. The storage opens with their first use. */
  of(account: string): CacheEngine {
    let caches = this.#accounts.get(account);
    if (caches === undefined) {
      caches = new AccountCaches(account, async () => {
        const { context } = await this.#storage();
        await context.sums.whenEnded(account);
        return context;
      });
      this.#accounts.set(account, caches);
    }
    return caches;
  }

  /** The account is gone: a later account of the same id starts empty. */
  forget(account: string): void {
    this.#accounts
      .get(account)
      ?.end(new EdgeError('EDGE_ACCOUNT_REMOVED', `Cannot use the caches of account "${account}": it was removed`));
    this.#accounts.delete(account);
  }

  async close(): Promise<void> {
    // At the same time, so that they share commits.
    await Promise.all([...this.#accounts.values()].map(caches => caches.close()));
  }
}
