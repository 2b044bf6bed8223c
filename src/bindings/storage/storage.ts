import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { AbstractLevel } from 'abstract-level';
import { MemoryLevel } from 'memory-level';
import { createBucketDirectory } from '../bucket/bucket-directory.js';
import type { BucketDirectory } from '../bucket/engine.js';
import { expireUploads } from '../bucket/expire-uploads.js';
import { rebuildIndexes } from '../bucket/rebuild-index.js';
import type { Bodies } from './bodies.js';
import { DiskSpace } from './disk-space.js';
import { FileBodies } from './file-bodies.js';
import { type KeyStore, keyFile, memoryKey } from './key-file.js';
import { KeyValueStore } from './key-value-store.js';
import { KeyedMutex } from './keyed-mutex.js';
import type { LevelOperation } from './level-database.js';
import { loadLevel } from './load-level.js';
import { MemoryBodies } from './memory-bodies.js';
import { openMemoryDatabase } from './memory-database.js';
import { checkNotOpen, openLevel, repairLevel } from './open-level.js';
import { type DirectoryAccess, PRIVATE_DIRECTORY_MODE } from './private-directory.js';
import { Reclaimer } from './reclaimer.js';
import { markIndexed, prepareDirectory, readIndexed } from './storage-format.js';
import type { StorageParts } from './storage-parts.js';
import { type Sublevel, sublevel } from './sublevel.js';

export interface StorageOptions {
  /** Milliseconds since the epoch: the times of objects, and the age of uploads. @default Date.now */
  readonly now?: () => number;
  /** The smallest part, but the last, of an upload in parts, in bytes. @default 5 MiB */
  readonly minPartBytes?: number;
  /** What grows is refused with EDGE_STORAGE_FULL when less than this is free on the disk. @default 32 MiB */
  readonly reserveBytes?: number;
  /** Of ':memory:': the bodies above 64 KiB, together, in bytes. @default 1 GiB */
  readonly memoryLimitBytes?: number;
  /** How often uploads past their 7 days are looked for while the storage is open. @default one hour */
  readonly expiryIntervalMs?: number;
  /** What is done about a directory that others can read. @default it is opened, and nobody told */
  readonly access?: DirectoryAccess;
}

const ANY_ACCESS: DirectoryAccess = { isStrict: false, onWarning: () => {} };

const HOUR_MS = 3_600_000;

/**
 * Everything a host keeps: records in LevelDB, bodies above 64 KiB in files beside it. One host has it open at a time.
 * What a write acknowledged is on disk.
 */
export class Storage {
  readonly #parts: StorageParts;
  readonly #close: () => Promise<void>;
  readonly #minPartBytes: number | undefined;
  readonly #openDatabase: OpenDatabase;
  /** Where the key is kept that secrets in the databases are sealed with. */
  readonly secretsKey: KeyStore;
  readonly #databases = new Map<string, Database>();
  readonly #directories = new Map<string, BucketDirectory>();
  #expiry: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  private constructor({ parts, close, openDatabase, secretsKey }: Opened, minPartBytes: number | undefined) {
    this.#parts = parts;
    this.#close = close;
    this.#openDatabase = openDatabase;
    this.secretsKey = secretsKey;
    this.#minPartBytes = minPartBytes;
  }

  /**
   * @param location a directory, made when it does not exist, or ':memory:' for a storage that ends with the process.
   * Rejects with EDGE_STORAGE_LOCKED (another host has it open), EDGE_STORAGE_FORMAT (a directory with other contents, or
   * of a newer host), EDGE_STORAGE_CORRUPT (see `repair`), EDGE_STORAGE_ACCESS (others can read it, and `access` is strict) or
   * EDGE_STORAGE_FULL; nothing is changed then.
   */
  static async open(location: string, options: StorageOptions = {}): Promise<Storage> {
    const now = options.now ?? Date.now;
    const storage =
      location === ':memory:' ? await openMemory(options, now) : await openDirectory(location, options, now);
    const opened = new Storage(storage, options.minPartBytes);
    try {
      await opened.#start(options.expiryIntervalMs ?? HOUR_MS);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  /**
   * Saves what can be read of a storage that opening found damaged. Damaged database files are moved to `level/lost` in
   * the directory, none is deleted; copy the directory first all the same. Objects whose records were lost are gone, and
   * deleted ones may be there again; the next opening makes the index of listings anew. Rejects with EDGE_STORAGE_LOCKED or
   * EDGE_STORAGE_FORMAT.
   */
  static async repair(directory: string): Promise<void> {
    const path = await prepareDirectory(directory, ANY_ACCESS);
    const location = join(path, 'level');
    await checkNotOpen(location, directory);
    // Records of the index may be lost, and others there again: the next opening makes it anew.
    await markIndexed(path, false);
    await repairLevel(location, directory);
  }

  /** The records of one part of the host. The same name is the same sublevel. */
  sublevel(name: string): Sublevel {
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(name)) {
      throw new TypeError(`Cannot open the sublevel "${name}": a name is up to 64 lower-case letters, digits and "-"`);
    }
    return sublevel(this.#parts.records, name);
  }

  /** A database of its own beside the others, for a part of the host that keeps many kinds of records. Closed with the storage. */
  database(name: string): Database {
    let database = this.#databases.get(name);
    if (database === undefined) {
      database = this.#openDatabase(name);
      this.#databases.set(name, database);
    }
    return database;
  }

  /** The buckets of one account. */
  buckets(accountId: string): BucketDirectory {
    const known = this.#directories.get(accountId);
    if (known !== undefined) return known;
    const directory = createBucketDirectory(this.#parts, accountId, { minPartBytes: this.#minPartBytes });
    this.#directories.set(accountId, directory);
    return directory;
  }

  /** Writes what is waiting and gives the directory free. Later calls of buckets reject with EDGE_CLOSED. */
  close(): Promise<void> {
    this.#closing ??= this.#expiry.catch(() => {}).then(() => this.#closeAll());
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #closeAll(): Promise<void> {
    for (const database of this.#databases.values()) await database.close();
    await this.#close();
  }

  async #start(intervalMs: number): Promise<void> {
    await expireUploads(this.#parts);
    const timer = setInterval(() => {
      if (this.#closing !== undefined) clearInterval(timer);
      // What could not be done, for a full disk say, is tried again at the next time.
      else this.#expiry = expireUploads(this.#parts).catch(() => {});
    }, intervalMs);
    timer.unref();
  }
}

/** A database of string keys and values. */
type Database = AbstractLevel<string | Buffer | Uint8Array, string, string>;

/** Level and MemoryLevel are such databases; only their hooks, which nobody here uses, name the class itself in their types. */
function asDatabase(level: object): Database {
  return level as Database; // see above
}

type OpenDatabase = (name: string) => Database;

interface Opened {
  readonly openDatabase: OpenDatabase;
  readonly secretsKey: KeyStore;
  readonly parts: StorageParts;
  readonly close: () => Promise<void>;
}

async function openMemory(options: StorageOptions, now: () => number): Promise<Opened> {
  const records = new KeyValueStore(await openMemoryDatabase());
  const bodies = new MemoryBodies(options.memoryLimitBytes ?? 2 ** 30);
  const parts = storageParts(records, bodies, now);
  return {
    parts,
    close: () => close(parts, () => []),
    openDatabase: () => asDatabase(new MemoryLevel()),
    secretsKey: memoryKey(),
  };
}

async function openDirectory(directory: string, options: StorageOptions, now: () => number): Promise<Opened> {
  const Level = await loadLevel();
  const path = await prepareDirectory(directory, options.access ?? ANY_ACCESS);
  const database = await openLevel(join(path, 'level'), directory);
  const space = new DiskSpace({
    readFreeBytes: async () => {
      const { bavail, bsize } = await statfs(path);
      return bavail * bsize;
    },
    reserveBytes: options.reserveBytes ?? DiskSpace.DEFAULT_RESERVE_BYTES,
    now: Date.now,
  });
  const records = new KeyValueStore(database, space);
  try {
    const bodies = new FileBodies({ root: join(path, 'bodies'), records, space });
    const parts = storageParts(records, bodies, now);
    if (!(await readIndexed(path))) {
      await rebuildIndexes(records);
      await markIndexed(path, true);
    }
    await bodies.collect();
    await parts.reclaimer.collect();
    return {
      parts,
      close: () => close(parts, () => bodies.closing()),
      openDatabase: name => {
        const location = join(path, name);
        // Before LevelDB does, which would let everybody read it.
        mkdirSync(location, { recursive: true, mode: PRIVATE_DIRECTORY_MODE });
        return asDatabase(new Level(location));
      },
      secretsKey: keyFile(join(path, 'secrets.key')),
    };
  } catch (error) {
    await records.close();
    throw error;
  }
}

function storageParts(records: KeyValueStore, bodies: Bodies, now: () => number): StorageParts {
  const session = randomBytes(8).toString('hex');
  let count = 0;
  return {
    records,
    bodies,
    reclaimer: new Reclaimer(records, bodies),
    mutex: new KeyedMutex(),
    now,
    newId: () => `${session}${(count++).toString(36).padStart(8, '0')}`,
  };
}

async function close(parts: StorageParts, last: () => LevelOperation[]): Promise<void> {
  await parts.reclaimer.idle();
  await parts.records.close(last);
}
