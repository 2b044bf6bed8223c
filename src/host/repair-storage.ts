/** Repairs a storage directory, for the command and for applications. */
import { REGISTRY } from '../bindings/registry.js';
import { damagedDatabases } from '../bindings/sql/store/damaged-databases.js';
import { EngineWalls } from '../pool/sandbox/engine-walls.js';
import { tellOption } from '../quotas/option-functions.js';
import { checkOptions } from '../quotas/schema/check-options.js';
import { describe } from '../quotas/schema/describe.js';
import { constant, native, objectOf, type Schema } from '../quotas/schema/schema.js';
import type { RecountedSum } from '../storage/accounts/account-sums.js';
import { type CheckProgress, checkStorage, type StorageCheck } from '../storage/repair/check-storage.js';
import { Storage, type StorageRepair } from '../storage/storage.js';

/** The result of `repairStorage()`. */
export interface StorageRepairReport extends StorageRepair {
  /** Accounts whose stored sum differed from the count, which has replaced it. */
  readonly recounted: readonly RecountedSum[];
}

/** A step of a repair, which begins now. */
export type RepairStep =
  | { readonly kind: 'repair' /** Its folder in the storage directory. */; readonly database: string }
  /** The storage is opened, derived records are rebuilt, and the data of accounts is counted. */
  | { readonly kind: 'rebuild' };

export interface RepairOptions {
  /** Called when a step begins. An exception that it throws does not stop the repair. */
  readonly onStep?: (step: RepairStep) => void;
}

const REPAIR_OPTIONS: Schema<RepairOptions> = objectOf<RepairOptions>({ 'onStep?': native('function') });

/** The options of a check, which reads everything and changes nothing. */
export interface CheckOptions {
  readonly check: true;
  /** Called while it reads, with what it has read so far. An exception that it throws does not stop the check. */
  readonly onProgress?: (progress: CheckProgress) => void;
}

const CHECK_OPTIONS: Schema<CheckOptions> = objectOf<CheckOptions>({
  check: constant(true),
  'onProgress?': native('function'),
});

/**
 * Saves the readable part of a storage directory whose opening rejects with EDGE_STORAGE_CORRUPT, and opens it once. That rebuilds indexes, removes bodies that
 * no record names, and counts the stored data of each account. Copy the directory first: records can be lost, and deleted ones can reappear. No host may have
 * it open.
 *
 * Rejects with TypeError for wrong arguments, EDGE_STORAGE_LOCKED while a host has it open, EDGE_STORAGE_FORMAT for a directory that is not a storage,
 * EDGE_STORAGE_FULL. Rejects with EDGE_STORAGE_CORRUPT when it cannot be opened even then.
 *
 * @returns which files and records could not be kept, by database; all of them are in the folder `lost` of their database; and which sums were wrong
 */
export async function repairStorage(directory: string, options?: RepairOptions): Promise<StorageRepairReport>;
/**
 * With `check: true` nothing is changed: it reads every record, every body and every SQL database, and reports all that is damaged. Rejects as a repair
 * does, but not for damage.
 */
export async function repairStorage(directory: string, options: CheckOptions): Promise<StorageCheck>;
export async function repairStorage(
  directory: string,
  options: RepairOptions | CheckOptions = {},
): Promise<StorageRepairReport | StorageCheck> {
  if (typeof directory !== 'string' || directory === '' || directory === ':memory:')
    throw new TypeError(
      `The directory of repairStorage() is ${describe(directory)}, expected the path of a storage directory`,
    );
  if (isCheck(options)) {
    checkOptions('repairStorage()', options, CHECK_OPTIONS);
    return checkAll(directory, options.onProgress ?? (() => {}));
  }
  checkOptions('repairStorage()', options, REPAIR_OPTIONS);
  const { onStep = () => {} } = options;
  // A repair is not to stop in the middle because of a function that is only told of it.
  const report = await Storage.repair(directory, database => tellOption(onStep, { kind: 'repair', database }));
  tellOption(onStep, { kind: 'rebuild' });
  const storage = await Storage.open(directory, { owners: REGISTRY.storageOwners });
  await storage.close();
  return { ...report, recounted: storage.recounted };
}

function isCheck(options: RepairOptions | CheckOptions): options is CheckOptions {
  return typeof options === 'object' && options !== null && 'check' in options;
}

/** The storage does not know that a folder of it has databases of SQLite, which has checks of its own. */
async function checkAll(directory: string, onProgress: NonNullable<CheckOptions['onProgress']>): Promise<StorageCheck> {
  const checked = await checkStorage(directory, progress => tellOption(onProgress, progress));
  const walls = new EngineWalls('auto', () => {});
  return { ...checked, damaged: [...checked.damaged, ...(await damagedDatabases(directory, walls))] };
}
