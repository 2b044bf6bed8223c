/** The registration of a part of the host that keeps records in the storage, given when the storage is opened. */
import type { StoredSum } from './accounts/account-sum.js';
import { STORAGE_KEYSPACE } from './records/record-keys.js';
import type { StorageContext } from './storage-context.js';

export interface StorageOwner {
  /** The name of the owner in error messages. */
  readonly name: string;
  /**
   * The prefixes of the keys of its records: one or several lower-case letters each. They are on disk, so they never change, and none may
   * begin with a prefix of another owner.
   */
  readonly keyspace: readonly string[];
  readonly jobs?: readonly StorageJob[];
  /** The accounts that have records of it. An account may come more than once. */
  accounts?(storage: StorageContext): AsyncIterable<string>;
  /** Counts from the records themselves what the account has stored. Nothing of the account is written meanwhile. */
  count?(storage: StorageContext, account: string): Promise<StoredSum>;
  /** Hides all that the account has from an account of the same id. It may be repeated; `clear` then frees the space. */
  detach?(storage: StorageContext, account: string): Promise<void>;
  /**
   * Removes detached data, in steps that can be repeated after a kill.
   *
   * @param check to be called between two steps; throws when the storage is being closed
   */
  clear?(storage: StorageContext, check: () => void): Promise<void>;
}

export interface StorageJob {
  /**
   * `rebuild` derives records, such as indexes, from the others. It runs before anything else uses the storage, when an earlier release wrote the directory or
   * when it was repaired; cut short or failed, it runs again at the next opening.
   *
   * `sweep` removes expired records. It runs at each opening, which fails with it, and at intervals while the storage is open, where a failure is left to the
   * next time.
   */
  readonly kind: 'rebuild' | 'sweep';
  run(storage: StorageContext): Promise<void>;
}

/** @throws TypeError when two owners could write the same key, or one could write a key of the storage itself */
export function checkOwners(owners: readonly StorageOwner[]): void {
  const taken = STORAGE_KEYSPACE.map(prefix => ({ prefix, name: 'the storage itself' }));
  for (const { name, keyspace } of owners) {
    for (const prefix of keyspace) {
      if (!/^[a-z]+$/.test(prefix)) {
        throw new TypeError(
          `Cannot register "${name}" with the storage: its prefix ${JSON.stringify(prefix)} is not one or more lower-case letters`,
        );
      }
      const other = taken.find(each => each.prefix.startsWith(prefix) || prefix.startsWith(each.prefix));
      if (other !== undefined) {
        throw new TypeError(
          `Cannot register "${name}" with the storage: its prefix "${prefix}" overlaps "${other.prefix}" of ${other.name}`,
        );
      }
      taken.push({ prefix, name: `"${name}"` });
    }
  }
}
