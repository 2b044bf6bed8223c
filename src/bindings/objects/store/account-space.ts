/** Where the objects of each account are: a space of their own, so that one record takes all of them from the account when that is removed. */
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { GoneValues } from './gone-values.js';
import { objectKeys } from './object-keys.js';

export class AccountSpaces {
  readonly #storage: StorageContext;
  readonly #spaces = new Map<string, AccountSpace>();

  constructor(storage: StorageContext) {
    this.#storage = storage;
  }

  of(account: string): AccountSpace {
    const existing = this.#spaces.get(account) ?? new AccountSpace(this.#storage, account);
    this.#spaces.set(account, existing);
    return existing;
  }

  forget(account: string): void {
    this.#spaces.delete(account);
  }
}

export class AccountSpace {
  /** The account in the queues of the storage, for what nobody waits for. */
  readonly work: CallWork = { ...OWN_WORK, owner: {} };
  /** Values of objects that deleted everything. */
  readonly gone: GoneValues;
  readonly #storage: StorageContext;
  readonly account: string;
  #sum: StoredAccounting | undefined;
  #id: string | undefined;

  constructor(storage: StorageContext, account: string) {
    this.gone = new GoneValues(storage);
    this.#storage = storage;
    this.account = account;
  }

  /** The sum of this space, also when another account has the id by now. Rejects when the account is being removed. */
  async sum(): Promise<StoredAccounting> {
    if (this.#sum === undefined) {
      const { sums } = this.#storage;
      // An account of this id may be going.
      await sums.whenEnded(this.account);
      this.#sum ??= sums.of(this.account);
    }
    await this.#sum.ready();
    return this.#sum;
  }

  /** null: no object of the account has stored anything yet. */
  async find(work: CallWork): Promise<string | null> {
    if (this.#id !== undefined) return this.#id;
    // An earlier account of this id that is being removed must not count here.
    await this.sum();
    const record = await this.#storage.records.get(objectKeys.space(this.account), work);
    if (record !== undefined) this.#id ??= record.toString();
    return this.#id ?? null;
  }

  async open(work: CallWork): Promise<string> {
    const key = objectKeys.space(this.account);
    return this.#storage.mutex.run(key, async () => {
      const found = await this.find(work);
      if (found !== null) return found;
      const { records, newId } = this.#storage;
      const id = newId();
      await records.awaitRecovery(work);
      const change = (await this.sum()).change({ bytes: 0, objects: 0 });
      try {
        await records.commit([{ type: 'put', key, value: Buffer.from(id) }], work);
        change.done();
      } catch (error) {
        change.failed(true);
        throw error;
      }
      this.#id = id;
      return id;
    });
  }
}
