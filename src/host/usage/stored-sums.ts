/** What accounts have stored, by the sums that the storage keeps in its records. */
import type { RecordStore } from '../../storage/records/record-store.js';
import type { StoredBytes } from '../../usage/stored-bytes.js';

/** The record of a sum: "bytes objects". */
const SUM = /^(\d+) (\d+)$/;

export function storedSums(records: () => Promise<RecordStore>): StoredBytes {
  return {
    async of(account) {
      const record = await (await records()).get(`q${encodeURIComponent(account)}`);
      const [, bytes = 0, objects = 0] = SUM.exec(record?.toString() ?? '') ?? [];
      return { bytes: Number(bytes), objects: Number(objects) };
    },
  };
}
