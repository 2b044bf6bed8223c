/** Gives checksums to the records of a database that an earlier release wrote. */
import type { Level } from 'level';
import { storageError } from '../files/storage-error.js';
import { sealed, unsealed } from './sealed-record.js';

/** The bounds of one batch. */
const BATCH = { operations: 1000, bytes: 2 ** 20 } as const;

/**
 * Can be interrupted and repeated: records that have a checksum stay as they are. A value of an earlier release that happens to end with its own
 * is one in 2 ** 48.
 */
export async function sealRecords(database: Level<Buffer, Buffer>, name: string): Promise<void> {
  // Reads the state before the first write.
  const iterator = database.iterator();
  const write = { sync: true } as const;
  let batch = database.batch();
  let bytes = 0;
  try {
    for (;;) {
      const entries = await iterator.nextv(BATCH.operations);
      if (entries.length === 0) break;
      for (const [key, value] of entries) {
        if (unsealed(key, value) !== undefined) continue;
        batch.put(key, sealed(key, value));
        bytes += value.byteLength;
        if (bytes < BATCH.bytes && batch.length < BATCH.operations) continue;
        await batch.write(write);
        batch = database.batch();
        bytes = 0;
      }
    }
    if (batch.length > 0) await batch.write(write);
    else await batch.close();
  } catch (error) {
    throw storageError(`give checksums to the records of the database "${name}"`, error);
  } finally {
    await iterator.close();
  }
}
