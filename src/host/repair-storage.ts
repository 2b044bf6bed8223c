/** Repairs a storage directory, for the command and for applications. */
import { REGISTRY } from '../bindings/registry.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import { describe } from '../quotas/schema/describe.js';
import { native, objectOf, type Schema } from '../quotas/schema/schema.js';
import type { RecountedSum } from '../storage/accounts/account-sums.js';
import { Storage, type StorageRepair } from '../storage/storage.js';

/** The result of `repairStorage()`. */
export interface StorageRepairReport extends StorageRepair {
  /** Accounts whose sum of what they have stored was not what is there. It was replaced by what was counted. */
  readonly recounted: readonly RecountedSum[];
}

/** A step of a repair, which begins now. */
export type RepairStep =
  | { readonly kind: 'repair' /** Its folder in the storage directory. */; readonly database: string }
  /** The storage is opened, what is derived from its records is made anew, and what accounts have stored is counted. */
  | { readonly kind: 'rebuild' };

export interface RepairOptions {
  /** Called when a step begins. */
  readonly onStep?: (step: RepairStep) => void;
}

const REPAIR_OPTIONS: Schema<RepairOptions> = objectOf<RepairOptions>({ 'onStep?': native('function') });

/**
 * Saves what can be read of a storage directory whose opening rejects with EDGE_STORAGE_CORRUPT, and opens it once, which rebuilds indexes,
 * removes bodies that no record names, and counts what each account has stored. Copy the directory first: records can be lost, and deleted ones can reappear. No host may have it
 * open.
 *
 * Rejects with TypeError for wrong arguments, EDGE_STORAGE_LOCKED while a host has it open, EDGE_STORAGE_FORMAT for a directory that is not
 * a storage, EDGE_STORAGE_FULL, and EDGE_STORAGE_CORRUPT when it cannot be opened even then.
 *
 * @returns which files could not be kept, by database; all of them are in the folder `lost` of their database; and which sums were wrong
 */
export async function repairStorage(directory: string, options: RepairOptions = {}): Promise<StorageRepairReport> {
  if (typeof directory !== 'string' || directory === '' || directory === ':memory:')
    throw new TypeError(
      `The directory of repairStorage() is ${describe(directory)}, expected the path of a storage directory`,
    );
  checkOptions('repairStorage()', options, REPAIR_OPTIONS);
  const { onStep = () => {} } = options;
  const report = await Storage.repair(directory, database => onStep({ kind: 'repair', database }));
  onStep({ kind: 'rebuild' });
  const storage = await Storage.open(directory, { owners: REGISTRY.storageOwners });
  await storage.close();
  return { ...report, recounted: storage.recounted };
}
