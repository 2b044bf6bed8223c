/** The sums of all accounts of a storage: where they are on disk, and how they are counted from the records themselves. */

import type { EdgeError } from '../../quotas/errors.js';
import { parseSum, sumRecord } from '../records/counts.js';
import { afterPrefix } from '../records/level-database.js';
import { recordKeys } from '../records/record-keys.js';
import type { RecordStore } from '../records/record-store.js';
import { AccountSum, type StoredSum } from './account-sum.js';

/** A sum that was counted again. */
export interface RecountedSum {
  readonly account: string;
  /** null: there was none. */
  readonly before: StoredSum | null;
  readonly after: StoredSum;
}

/** Counts from the records of all owners. */
export interface SumSources {
  /** The accounts that have something stored; one may come twice. */
  accounts(): AsyncIterable<string>;
  count(account: string): Promise<StoredSum>;
}

/**
 * An account of a directory that an earlier release wrote has no sum. It is counted when the account is first used: its own writes wait for that, nothing else
 * does. A count that a kill interrupts is repeated.
 */
export class AccountSums {
  readonly #records: RecordStore;
  readonly #sources: SumSources;
  readonly #sums = new Map<string, AccountSum>();
  /** The removals of accounts that are not finished. */
  readonly #ending = new Map<string, Promise<void>>();

  readonly #onChange: (account: string) => void;

  /** `onChange` gets the accounts whose sum on disk has changed. */
  constructor(records: RecordStore, sources: SumSources, onChange: (account: string) => void = () => {}) {
    this.#records = records;
    this.#sources = sources;
    this.#onChange = onChange;
  }

  /** The sum of an account, for its writes. */
  of(account: string): AccountSum {
    let sum = this.#sums.get(account);
    if (sum === undefined) {
      sum = new AccountSum(
        recordKeys.sum(account),
        () => this.#read(account),
        () => this.#onChange(account),
      );
      this.#sums.set(account, sum);
    }
    return sum;
  }

  /** The bytes and objects that the account has stored. */
  async read(account: string): Promise<StoredSum> {
    const sum = this.of(account);
    await sum.ready();
    return sum.stored;
  }

  /**
   * Refuses every write that began with the sum of the account, waits for those that are being committed, and runs `task`. Later writes for an account of the
   * same id wait for that, see `whenEnded`.
   */
  end(account: string, error: EdgeError, task: () => Promise<void>): Promise<void> {
    const before = this.#ending.get(account);
    const over = this.#sums.get(account)?.end(error);
    this.#sums.delete(account);
    const run = async (): Promise<void> => {
      await before;
      await over;
      await task();
      this.#onChange(account);
    };
    const ended = run();
    const ending = ended
      .catch(() => {})
      .finally(() => {
        if (this.#ending.get(account) === ending) this.#ending.delete(account);
      });
    this.#ending.set(account, ending);
    return ended;
  }

  /** Resolves when no account of this id is being removed any more; undefined when none is. */
  whenEnded(account: string): Promise<void> | undefined {
    return this.#ending.get(account);
  }

  /** Counts all accounts again, before anything else uses the storage. The answer lists the accounts whose stored sum differed from the count. */
  async recount(): Promise<RecountedSum[]> {
    const accounts = new Set<string>();
    for await (const account of this.#sources.accounts()) accounts.add(account);
    const prefix = recordKeys.sums();
    const range = { gte: prefix, lt: afterPrefix(prefix) };
    for await (const page of this.#records.keyPages(range)) {
      for (const key of page) accounts.add(decodeURIComponent(key.slice(prefix.length)));
    }
    const changed: RecountedSum[] = [];
    for (const account of accounts) {
      // A damaged one is replaced.
      const [record] = await this.#records.getMany([recordKeys.sum(account)], this.#records.passingOver);
      const before = record === undefined ? null : parseSum(record);
      const after = await this.#sources.count(account);
      if (before?.bytes === after.bytes && before.objects === after.objects) continue;
      await this.#write(account, after);
      changed.push({ account, before, after });
    }
    return changed;
  }

  async #read(account: string): Promise<StoredSum> {
    await this.whenEnded(account);
    await this.#records.awaitRecovery();
    const record = await this.#records.get(recordKeys.sum(account));
    if (record !== undefined) return parseSum(record);
    const counted = await this.#sources.count(account);
    // The record of an account that has nothing stored comes with its first write.
    if (counted.bytes > 0 || counted.objects > 0) await this.#write(account, counted);
    return counted;
  }

  async #write(account: string, sum: StoredSum): Promise<void> {
    await this.#records.commit([{ type: 'put', key: recordKeys.sum(account), value: sumRecord(sum) }]);
    this.#onChange(account);
  }
}
