import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { AbstractLevel } from 'abstract-level';
import { EdgeError, errorCode } from '../quotas/errors.js';
import { guarded } from '../quotas/guarded.js';
import { AccountRemovals, type RemovalSteps } from './accounts/account-removals.js';
import { AccountSums, type RecountedSum } from './accounts/account-sums.js';
import { BlobCollector } from './blobs/blob-collector.js';
import type { BlobStore } from './blobs/blob-store.js';
import { FileBlobStore } from './blobs/file-blob-store.js';
import { MemoryBlobStore } from './blobs/memory-blob-store.js';
import { databasesIn } from './files/databases-in.js';
import { DiskSpace } from './files/disk-space.js';
import { type KeyStore, keyFile, memoryKey } from './files/key-file.js';
import { type DirectoryAccess, PRIVATE_DIRECTORY_MODE } from './files/private-directory.js';
import { prepareDirectory, readState, writeState } from './files/storage-format.js';
import { NO_WALLS, type ProcessWalls } from './process-walls.js';
import { KeyedMutex } from './records/keyed-mutex.js';
import type { LevelOperation } from './records/level-database.js';
import { loadLevel } from './records/load-level.js';
import { openMemoryDatabase } from './records/memory-database.js';
import { openBytes, openLevel } from './records/open-level.js';
import { RecordStore } from './records/record-store.js';
import { sealRecords } from './records/seal-records.js';
import { SealedLevel } from './records/sealed-level.js';
import { type Sublevel, sublevel } from './records/sublevel.js';
import { type RepairedDatabase, repairDatabases } from './repair/repair-storage.js';
import type { StorageContext } from './storage-context.js';
import { checkOwners, type StorageJob, type StorageOwner } from './storage-owner.js';

export interface StorageOptions {
  /** The owners of records in the storage. @default none: only sublevels and databases can be used */
  readonly owners?: readonly StorageOwner[];
  /** Milliseconds since the epoch: the time that records carry, and by which they expire. @default Date.now */
  readonly now?: () => number;
  /** Writes that grow the storage are refused with EDGE_STORAGE_FULL when less than this is free on the disk. @default 64 MiB */
  readonly reserveBytes?: number;
  /** The bound of all blobs together with ':memory:', in bytes. @default 1 GiB */
  readonly memoryLimitBytes?: number;
  /** The time between two sweeps while the storage is open, in milliseconds. @default one hour */
  readonly sweepIntervalMs?: number;
  /** Gets the accounts for which what they have stored has changed on disk. @default nothing */
  readonly onStored?: (account: string) => void;
  /** How to treat a directory that other users can read. @default it is opened without a warning */
  readonly access?: DirectoryAccess;
  /** Gets the error of each damaged record or value that is found, be it read by a call or by work of the storage itself. Once for each. @default nothing */
  readonly onDamaged?: (error: EdgeError) => void;
  /** How processes are started that work on files of the storage. @default with the rights of this one */
  readonly walls?: ProcessWalls;
}

/** The result of {@link Storage.repair}. */
export interface StorageRepair {
  readonly databases: readonly RepairedDatabase[];
}

const ANY_ACCESS: DirectoryAccess = { isStrict: false, onWarning: () => {} };

const HOUR_MS = 3_600_000;

/**
 * Everything that a host stores: records in LevelDB, and large values, the blobs, in files beside it. Only one host can have it open. Acknowledged
 * writes are on disk. It knows what its owners register and nothing else of them: see storage-owner.ts.
 */
export class Storage {
  /** The interface for the owners of records. */
  readonly context: StorageContext;
  /** Set when this opening counted again what the accounts have stored, because of a repair or an upgrade: the sums that were not right. */
  readonly recounted: readonly RecountedSum[];
  readonly #close: () => Promise<void>;
  readonly #openDatabase: OpenDatabase;
  readonly #hasDatabase: (name: string) => boolean;
  /** The key that secrets in the databases are encrypted with. */
  readonly secretsKey: KeyStore;
  readonly #removals: AccountRemovals;
  readonly #databases = new Map<string, Database>();
  #sweeping: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor(
    { context, close, openDatabase, hasDatabase, secretsKey, recounted = [] }: Opened,
    owners: readonly StorageOwner[],
  ) {
    this.context = context;
    this.#removals = new AccountRemovals(context, owners);
    this.recounted = recounted;
    this.#close = close;
    this.#openDatabase = openDatabase;
    this.#hasDatabase = hasDatabase;
    this.secretsKey = secretsKey;
  }

  /**
   * @param location a directory, made when it does not exist, or ':memory:' for a storage that ends with the process. Rejects with EDGE_STORAGE_LOCKED (another
   * host has it open), EDGE_STORAGE_FORMAT (a directory with other contents, or of a newer host) or EDGE_STORAGE_CORRUPT (see `repair`). Rejects with
   * EDGE_STORAGE_ACCESS (other users can read it, and `access` is strict) or EDGE_STORAGE_FULL. The directory is then as it was. Rejects with a TypeError when
   * the keyspaces of `owners` overlap.
   */
  static async open(location: string, options: StorageOptions = {}): Promise<Storage> {
    const onDamaged = reportOnce(options.onDamaged);
    const owners = options.owners ?? [];
    checkOwners(owners);
    const jobs = owners.flatMap(owner => owner.jobs ?? []);
    const opened = new Storage(
      location === ':memory:' ? await openMemory(options) : await openDirectory(location, options, jobs, onDamaged),
      owners,
    );
    try {
      await opened.#startSweeps(
        jobs.filter(({ kind }) => kind === 'sweep'),
        options.sweepIntervalMs ?? HOUR_MS,
        onDamaged,
      );
    } catch (error) {
      await opened.close();
      throw error;
    }
    // In the background; what fails is left to the sweeps.
    opened.#removals.clear().catch(() => {});
    return opened;
  }

  /**
   * Saves what can be read of a storage that opening found damaged. Damaged database files and records are moved to `lost` in the folder of their database
   * (`level/lost`) and none is deleted; copy the directory first nevertheless. Records can be lost and deleted ones can reappear; the next opening rebuilds the
   * derived records. Rejects with EDGE_STORAGE_LOCKED, or with EDGE_STORAGE_FORMAT for a directory that is not a storage.
   *
   * @param onDatabase called before each database is repaired
   */
  static async repair(directory: string, onDatabase: (name: string) => void = () => {}): Promise<StorageRepair> {
    return { databases: await repairDatabases(directory, onDatabase) };
  }

  /** Accounts whose removal a kill has interrupted: `removeAccount` is to be called for them before anything uses their records. */
  unfinishedRemovals(): Promise<string[]> {
    return this.#removals.unfinished();
  }

  /**
   * Ends all writes of the account, and removes its records when `deleteData` says so: an account of the same id has none of them when it resolves. Rejects
   * with the errors of a write, and is to be called again then.
   *
   * @returns resolves when the space is free, too. Rejects with EDGE_CLOSED when the storage closes before; the next opening continues.
   */
  async removeAccount(account: string, steps: RemovalSteps): Promise<{ readonly deleted: Promise<void> }> {
    await this.#removals.remove(account, steps);
    const deleted = steps.deleteData ? this.#removals.clear() : Promise.resolve();
    deleted.catch(() => {});
    return { deleted };
  }

  /** The records of one part of the host. The same name is the same sublevel. */
  sublevel(name: string): Sublevel {
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(name)) {
      throw new TypeError(`Cannot open the sublevel "${name}": a name is up to 64 lower-case letters, digits and "-"`);
    }
    return sublevel(this.context.records, name);
  }

  /** Whether the database was ever used. */
  hasDatabase(name: string): boolean {
    return this.#databases.has(name) || this.#hasDatabase(name);
  }

  /** A separate database, for a part of the host that keeps many kinds of records. It is closed with the storage. */
  database(name: string): Database {
    let database = this.#databases.get(name);
    if (database === undefined) {
      database = this.#openDatabase(name);
      this.#databases.set(name, database);
    }
    return database;
  }

  /** Finishes the waiting writes and releases the directory. Later calls of its owners reject with EDGE_CLOSED. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([this.#sweeping, this.#removals.stop()]).then(() => this.#closeAll());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    for (const database of this.#databases.values()) await database.close();
    await this.#close();
  }

  async #startSweeps(
    jobs: readonly StorageJob[],
    intervalMs: number,
    onDamaged: (error: unknown) => void,
  ): Promise<void> {
    for (const job of jobs) {
      try {
        await job.run(this.context);
      } catch (error) {
        // Damage concerns the users of the damaged record, and not the whole storage.
        if (errorCode(error) !== 'EDGE_STORAGE_CORRUPT') throw error;
        onDamaged(error);
      }
    }
    const timer = setInterval(
      guarded(() => {
        if (this.#closing !== undefined) clearInterval(timer);
        else this.#sweeping = this.#sweeping.then(() => this.#sweep(jobs));
      }),
      intervalMs,
    );
    timer.unref();
  }

  async #sweep(jobs: readonly StorageJob[]): Promise<void> {
    for (const job of jobs) {
      if (this.#closing !== undefined) return;
      try {
        await job.run(this.context);
      } catch {
        // A job that fails, for example because the disk is full, runs again after the interval, and the others run now.
      }
    }
    await this.#removals.clear().catch(() => {});
  }
}

/** A database of string keys and values. */
type Database = AbstractLevel<string | Buffer | Uint8Array, string, string>;

/** Level and MemoryLevel are such databases. Only the types of their hooks, which are not used here, name the class itself. */
function asDatabase(level: object): Database {
  return level as Database; // see above
}

type OpenDatabase = (name: string) => Database;

interface Opened {
  readonly openDatabase: OpenDatabase;
  readonly hasDatabase: (name: string) => boolean;
  readonly secretsKey: KeyStore;
  readonly context: StorageContext;
  readonly close: () => Promise<void>;
  readonly recounted?: readonly RecountedSum[];
}

async function openMemory(options: StorageOptions): Promise<Opened> {
  const { MemoryLevel } = await import('memory-level');
  const records = new RecordStore(await openMemoryDatabase());
  const context = storageContext(records, new MemoryBlobStore(options.memoryLimitBytes ?? 2 ** 30), options, undefined);
  return {
    context,
    close: () => close(context, () => []),
    openDatabase: () => asDatabase(new MemoryLevel()),
    hasDatabase: () => false,
    secretsKey: memoryKey(),
  };
}

async function openDirectory(
  directory: string,
  options: StorageOptions,
  jobs: readonly StorageJob[],
  onDamaged: (error: unknown) => void,
): Promise<Opened> {
  await loadLevel();
  const path = await prepareDirectory(directory, options.access ?? ANY_ACCESS);
  await sealDatabases(path, directory);
  const database = await openLevel(join(path, 'level'), directory);
  const space = new DiskSpace({
    readFreeBytes: async () => {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    },
    reserveBytes: options.reserveBytes ?? DiskSpace.DEFAULT_RESERVE_BYTES,
    now: Date.now,
  });
  const records = new RecordStore(database, space, onDamaged);
  try {
    const blobs = new FileBlobStore({ root: join(path, 'bodies'), records, space });
    const context = storageContext(records, blobs, options, path);
    const rebuilds = jobs.filter(({ kind }) => kind === 'rebuild');
    let recounted: RecountedSum[] = [];
    const state = await readState(path);
    if (rebuilds.length > 0 && state?.isIndexed !== true) {
      for (const job of rebuilds) await job.run(context);
      recounted = await context.sums.recount();
      await writeState(path, { isIndexed: true, isSealed: true });
    }
    await blobs.collect();
    await context.collector.collect();
    return {
      context,
      recounted,
      close: () => close(context, () => blobs.closing()),
      openDatabase: name => {
        const location = join(path, name);
        // LevelDB would make it readable for all users.
        mkdirSync(location, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
        return asDatabase(new SealedLevel(() => openBytes(location, directory), name, onDamaged));
      },
      hasDatabase: name => existsSync(join(path, name)),
      secretsKey: keyFile(join(path, 'secrets.key')),
    };
  } catch (error) {
    await records.close();
    throw error;
  }
}

/** Once, for what an earlier release wrote. The lock of the first database excludes other hosts until all of them have checksums. */
async function sealDatabases(path: string, directory: string): Promise<void> {
  if ((await readState(path))?.isSealed !== false) return;
  const [first = 'level', ...others] = await databasesIn(path);
  const database = await openBytes(join(path, first), directory);
  try {
    if ((await readState(path))?.isSealed !== false) return;
    for (const name of others) {
      const other = await openBytes(join(path, name), directory);
      try {
        await sealRecords(other, name);
      } finally {
        await other.close();
      }
    }
    // The last one: when its last record has a checksum, all of the storage has them.
    await sealRecords(database, first);
    await writeState(path, { isIndexed: false, isSealed: true });
  } finally {
    await database.close();
  }
}

function storageContext(
  records: RecordStore,
  blobs: BlobStore,
  options: StorageOptions,
  directory: string | undefined,
): StorageContext {
  const { owners = [] } = options;
  const session = randomBytes(8).toString('hex');
  let count = 0;
  const context: StorageContext = {
    directory,
    records,
    blobs,
    collector: new BlobCollector(records, blobs),
    mutex: new KeyedMutex(),
    sums: new AccountSums(
      records,
      {
        async *accounts() {
          for (const owner of owners) if (owner.accounts !== undefined) yield* owner.accounts(context);
        },
        async count(account) {
          const total = { bytes: 0, objects: 0 };
          for (const owner of owners) {
            const { bytes, objects } = (await owner.count?.(context, account)) ?? NOTHING;
            total.bytes += bytes;
            total.objects += objects;
          }
          return total;
        },
      },
      options.onStored,
    ),
    walls: options.walls ?? NO_WALLS,
    now: options.now ?? Date.now,
    newId: () => `${session}${(count++).toString(36).padStart(8, '0')}`,
  };
  return context;
}

/** Damaged records that are remembered as reported. */
const MAX_REPORTED = 1000;

function reportOnce(report: ((error: EdgeError) => void) | undefined): (error: unknown) => void {
  const reported = new Set<string>();
  return error => {
    if (report === undefined || !(error instanceof EdgeError)) return;
    if (reported.has(error.message) || reported.size >= MAX_REPORTED) return;
    reported.add(error.message);
    report(error);
  };
}

const NOTHING = { bytes: 0, objects: 0 } as const;

async function close(context: StorageContext, last: () => LevelOperation[]): Promise<void> {
  await context.collector.idle();
  await context.records.close(last);
}
