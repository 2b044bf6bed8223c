/** The stored data of accounts, by the sums in the storage's records. */

import { parseSum } from '../storage/records/counts.js';
import { recordKeys } from '../storage/records/record-keys.js';
import type { StoredBytes } from '../usage/stored-bytes.js';
import type { StoreRecords } from './host-store.js';

export function storedSums(records: () => Promise<StoreRecords>): StoredBytes {
  return {
    // Not by the account's own sum, which waits while the account is being removed.
    of: async account => parseSum(await (await records()).get(recordKeys.sum(account))),
  };
}
