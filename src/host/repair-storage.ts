/** Repairs a storage directory, for the command and for applications. */
import { REGISTRY } from '../bindings/registry.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import { describe } from '../quotas/schema/describe.js';
import { native, objectOf, type Schema } from '../quotas/schema/schema.js';
import { Storage, type StorageRepair } from '../storage/storage.js';

/** A step of a repair, which begins now. */
export type RepairStep =
  | { readonly kind: 'repair' /** Its folder in the storage directory. */; readonly database: string }
  /** The storage is opened, and what is derived from its records is made anew. */
  | { readonly kind: 'rebuild' };

export interface RepairOptions {
  /** Called when a step begins. */
  readonly onStep?: (step: RepairStep) => void;
}

const REPAIR_OPTIONS: Schema<RepairOptions> = objectOf<RepairOptions>({ 'onStep?': native('function') });

/**
 * Saves what can be read of a storage directory whose opening rejects with EDGE_STORAGE_CORRUPT, and opens it once, which rebuilds indexes
 * and removes bodies that no record names. Copy the directory first: records can be lost, and deleted ones can reappear. No host may have it
 * open.
 *
 * Rejects with TypeError for wrong arguments, EDGE_STORAGE_LOCKED while a host has it open, EDGE_STORAGE_FORMAT for a directory that is not
 * a storage, EDGE_STORAGE_FULL, and EDGE_STORAGE_CORRUPT when it cannot be opened even then.
 *
 * @returns which files could not be kept, by database; all of them are in the folder `lost` of their database
 */
export async function repairStorage(directory: string, options: RepairOptions = {}): Promise<StorageRepair> {
  if (typeof directory !== 'string' || directory === '' || directory === ':memory:')
    throw new TypeError(
      `The directory of repairStorage() is ${describe(directory)}, expected the path of a storage directory`,
    );
  checkOptions('repairStorage()', options, REPAIR_OPTIONS);
  const { onStep = () => {} } = options;
  const report = await Storage.repair(directory, database => onStep({ kind: 'repair', database }));
  onStep({ kind: 'rebuild' });
  await (await Storage.open(directory, { owners: REGISTRY.storageOwners })).close();
  return report;
}
