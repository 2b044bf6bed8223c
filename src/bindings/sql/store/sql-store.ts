/** One database of an account: its file, its room, and operations on the whole. */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { errorCode } from '../../../quotas/errors.js';
import { detached } from '../../../quotas/guarded.js';
import { type CallWork, OWN_WORK } from '../../../quotas/host/call-work.js';
import { limitError } from '../../../quotas/limit-error.js';
import type { JobKind } from '../../../sqlite/engine/frames.js';
import { unavailable } from '../../../sqlite/library.js';
import { SQL_LIMITS } from '../../../sqlite/limits.js';
import type { SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { ProcessHome } from '../../../storage/process-walls.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { commitChange } from '../../stored-values/commit-change.js';
import type { AppliedMigration, FileAnswer, SqlBounds, SqlCall, SqlEngine } from '../engine.js';
import { SqlError } from '../errors.js';
import { DatabaseFile, type FileFailure, type FileJob } from './database-file.js';
import { databasePath, makeFolder, moveToFolder, removeFiles } from './sql-files.js';
import { SQL_DATABASES, type StoredDatabase } from './stored-databases.js';
import { readWhole, type WholeFiles, writeWhole } from './whole-files.js';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Room is given in steps of half of what there is. */
const MIN_STEP = 64 * KIB;
const MAX_STEP = 16 * MIB;
const PAGE = 4 * KIB;

export interface SqlStoreParts {
  readonly storage: StorageContext;
  readonly pool: SqlitePool;
  readonly owner: ProcessHome;
  readonly account: string;
  readonly name: string;
  readonly stored: StoredDatabase;
  readonly sum: StoredAccounting;
  /** The exports, backups, imports and restores of the account. */
  readonly wholeFiles: WholeFiles;
}

export class SqlStore implements SqlEngine {
  readonly name: string;
  readonly #parts: SqlStoreParts;
  #stored: StoredDatabase;
  #file: DatabaseFile;
  #growing: Promise<unknown> = Promise.resolve();
  #restoring: Promise<void> | undefined;
  #closed: Error | undefined;
  #lastBookmarkMs = 0;
  #bookmarks = 0;

  constructor(parts: SqlStoreParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.#stored = parts.stored;
    this.#file = this.#openFile();
  }

  get isClosed(): boolean {
    return this.#closed !== undefined;
  }

  get stored(): StoredDatabase {
    return this.#stored;
  }

  query(call: SqlCall): Promise<FileAnswer> {
    return this.#run('query', call);
  }

  exec(call: SqlCall): Promise<FileAnswer> {
    return this.#run('exec', call);
  }

  bookmark(): string {
    const now = Math.max(this.#parts.storage.now(), this.#lastBookmarkMs);
    this.#bookmarks = now === this.#lastBookmarkMs ? this.#bookmarks + 1 : 0;
    this.#lastBookmarkMs = now;
    return `${now.toString(16).padStart(12, '0')}-${this.#bookmarks.toString(16).padStart(8, '0')}`;
  }

  export(): AsyncGenerator<Uint8Array> {
    return this.#written('dump');
  }

  backup(): AsyncGenerator<Uint8Array> {
    return this.#written('copy');
  }

  async import(text: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<number> {
    const leave = this.#parts.wholeFiles.enter();
    const path = this.#temporaryPath();
    try {
      await makeFolder(this.#parts.storage, this.#parts.account);
      await writeWhole(text, path, SQL_LIMITS.importBytes);
      this.#handOver(path);
      const { count } = parsed(await this.#internal('import', path, bounds));
      return Number(count);
    } finally {
      leave();
      await rm(path, { force: true });
    }
  }

  /** The file comes and is checked while the database is in use; calls wait for the change alone. */
  async restore(file: AsyncIterable<Uint8Array> | Uint8Array, bounds?: SqlBounds): Promise<void> {
    if (this.#closed !== undefined) throw this.#closed;
    const leave = this.#parts.wholeFiles.enter();
    const { storage, account } = this.#parts;
    const id = storage.newId();
    const path = databasePath(storage, account, id);
    try {
      await makeFolder(storage, account);
      const size = await writeWhole(file, path, bounds?.sqlDatabaseBytes ?? Number.MAX_SAFE_INTEGER);
      this.#handOver(path);
      const bytes = Math.ceil(size / PAGE) * PAGE;
      await this.#checkFile(path, bytes);
      await this.#exclusively(() => this.#replace(id, bytes, bounds));
    } catch (error) {
      await removeFiles(storage, account, id);
      throw error;
    } finally {
      leave();
    }
  }

  async migrate(name: string, sql: string, bounds?: SqlBounds): Promise<boolean> {
    if (!MIGRATION_NAME.test(name)) {
      throw new SqlError(
        30001,
        `The name of the migration is ${JSON.stringify(name.slice(0, 100))}, it must be up to 200 printable characters`,
      );
    }
    return parsed(await this.#internal('migrate', `${name}\n${sql}`, bounds)).applied === true;
  }

  async migrations(): Promise<readonly AppliedMigration[]> {
    await this.#ready();
    const text = await this.#internal('migrations', '', undefined, true);
    return JSON.parse(text);
  }

  /** Nothing runs any more when it resolves. */
  async close(error: Error): Promise<void> {
    this.#closed = error;
    await this.#file.close(error);
    await this.#growing;
    // It finds that the database is closed, and leaves it as it is.
    await this.#restoring;
  }

  #openFile(): DatabaseFile {
    const { pool, owner, storage, account } = this.#parts;
    const { id } = this.#stored;
    moveToFolder(storage, account, id);
    return new DatabaseFile({
      pool,
      owner,
      path: databasePath(storage, account, id),
      allotted: () => this.#stored.bytes,
      grow: (needed, job) => this.#grow(needed, job),
      failure: (why, text) => this.#failure(why, text),
    });
  }

  async #run(kind: JobKind, call: SqlCall): Promise<FileAnswer> {
    const ready = this.#ready();
    if (ready !== undefined) await ready;
    // A new database is written first, or there is nothing to read.
    const isReading = call.isReading && this.#stored.bytes > 0;
    return this.#file.run({ ...call, kind, isReading, isInternal: false });
  }

  #ready(): Promise<void> | undefined {
    if (this.#closed !== undefined) return Promise.reject(this.#closed);
    return this.#restoring;
  }

  /** A job of the project itself. Rejects with 30008 for what SQLite refuses. */
  async #internal(kind: JobKind, payload: string, bounds?: SqlBounds, isReading = false): Promise<string> {
    const ready = this.#ready();
    if (ready !== undefined) await ready;
    const work: CallWork = { ...OWN_WORK, owner: this.#parts.owner };
    const answer = await this.#file.run({
      kind,
      payload: Buffer.from(payload),
      statements: 0,
      isReading: isReading && this.#stored.bytes > 0,
      isInternal: kind === 'import',
      isGone: undefined,
      work,
      bounds,
    });
    const text = answer.text.toString();
    if (answer.isFailure) throw new SqlError(30008, `${parsed(text).e}`);
    return text;
  }

  async *#written(kind: 'dump' | 'copy'): AsyncGenerator<Uint8Array> {
    const leave = this.#parts.wholeFiles.enter();
    const path = this.#temporaryPath();
    const make = async (): Promise<void> => {
      await makeFolder(this.#parts.storage, this.#parts.account);
      await this.#internal(kind, path, undefined, true);
    };
    yield* readWhole(path, make, async () => {
      leave();
      await rm(path, { force: true });
      await rm(`${path}-journal`, { force: true });
    });
  }

  /** One after the other; calls of the database wait meanwhile. */
  #exclusively(replace: () => Promise<void>): Promise<void> {
    const restoring = (this.#restoring ?? Promise.resolve()).then(replace);
    const settled = restoring.catch(() => {});
    this.#restoring = settled;
    detached(
      settled.then(() => {
        if (this.#restoring === settled) this.#restoring = undefined;
      }),
    );
    return restoring;
  }

  /** Puts the file of this id in the place of the one that there is. */
  async #replace(id: string, bytes: number, bounds: SqlBounds | undefined): Promise<void> {
    const { storage, account, name, sum } = this.#parts;
    if (this.#closed !== undefined) throw this.#closed;
    const key = SQL_DATABASES.keyOf(account, name);
    try {
      // Calls in flight end with the old database.
      await this.#file.close(this.#failure('reset'));
      await this.#growing;
      await sum.ready();
      await storage.mutex.run(key, async () => {
        // It may have been deleted: then its name is free, or belongs to another one.
        if (this.#closed !== undefined) throw this.#closed;
        const before = this.#stored;
        const next: StoredDatabase = { ...before, id, bytes };
        const change = sum.change(
          { bytes: bytes - before.bytes, objects: 0 },
          bounds,
          () => `restore SQL database "${name}"`,
        );
        const put = { type: 'put', key, value: Buffer.from(JSON.stringify(next)) } as const;
        await commitChange(storage.records, [put], change, OWN_WORK);
        this.#stored = next;
        await removeFiles(storage, account, before.id);
      });
    } finally {
      if (this.#closed === undefined) this.#file = this.#openFile();
    }
  }

  /** It comes from elsewhere: it is read as a whole before it is used. */
  async #checkFile(path: string, bytes: number): Promise<void> {
    const { pool, owner } = this.#parts;
    const grow = (): Promise<void> => Promise.reject(new SqlError(30001, 'The file cannot be checked'));
    const file = new DatabaseFile({
      pool,
      owner,
      path,
      allotted: () => bytes + MIN_STEP,
      grow,
      failure: (why, text) => this.#failure(why, text),
    });
    const answer = await file
      .run({
        kind: 'check',
        payload: NO_BYTES,
        statements: 0,
        isReading: false,
        isInternal: true,
        isGone: undefined,
        work: { ...OWN_WORK, owner },
      })
      .finally(() => file.close(this.#failure('reset')));
    const text = answer.text.toString();
    if (!answer.isFailure && text === '"ok"') return;
    throw new SqlError(30001, `The file is no intact SQLite database: ${text.slice(0, 200)}`);
  }

  /** Several calls that need room at the same time get it once. */
  #grow(needed: number, { bounds, work }: FileJob): Promise<void> {
    const growing = this.#growing.then(() =>
      this.#stored.bytes >= needed ? undefined : this.#growNow(bounds as SqlBounds | undefined, work),
    ); // as #run gives it
    this.#growing = growing.catch(() => {});
    return growing;
  }

  async #growNow(bounds: SqlBounds | undefined, work: CallWork): Promise<void> {
    const { storage, account, name, sum } = this.#parts;
    if (this.#closed !== undefined) throw this.#closed;
    await makeFolder(storage, account);
    const key = SQL_DATABASES.keyOf(account, name);
    const most = bounds?.sqlDatabaseBytes ?? Number.MAX_SAFE_INTEGER;
    await sum.ready();
    for (let step = clamp(this.#stored.bytes / 2); ; step = floor(step / 2)) {
      const { bytes } = this.#stored;
      const added = Math.min(step, floor(most - bytes));
      const subject = (): string => `store more in SQL database "${name}"`;
      if (added < PAGE) {
        const plan = bounds?.plan ?? 'standard';
        throw limitError('EDGE_LIMIT_EXCEEDED', {
          limit: 'sqlDatabaseBytes',
          subject: subject(),
          actual: bytes + PAGE,
          allowed: most,
          plan,
        });
      }
      try {
        const change = sum.change({ bytes: added, objects: 0 }, bounds, subject);
        const next = { ...this.#stored, bytes: bytes + added };
        await storage.mutex.run(key, () =>
          commitChange(storage.records, [{ type: 'put', key, value: Buffer.from(JSON.stringify(next)) }], change, work),
        );
        this.#stored = next;
        return;
      } catch (error) {
        if (errorCode(error) !== 'EDGE_STORAGE_QUOTA' || step <= PAGE) throw error;
      }
    }
  }

  #failure(why: FileFailure, text = ''): Error {
    switch (why) {
      case 'overloaded':
        return new SqlError(30004, 'D1 DB is overloaded. Requests queued for too long.');
      case 'timeout':
        return new SqlError(30005, 'D1 DB storage operation exceeded timeout which caused object to be reset.');
      case 'memory':
        return new SqlError(30006, "D1 DB's isolate exceeded its memory limit and was reset.");
      case 'unavailable':
        return unavailable(text);
      default:
        return new SqlError(30007, 'D1 DB reset because it was closed while the call was in flight.');
    }
  }

  /** A file that came from elsewhere, for an engine to read. */
  #handOver(path: string): void {
    const { storage, owner } = this.#parts;
    storage.walls.handOver(owner, path);
  }

  #temporaryPath(): string {
    return `${this.#parts.owner.folder}/tmp.${randomBytes(12).toString('hex')}`;
  }
}

const MIGRATION_NAME = /^[^\p{Cc}]{1,200}$/u;

function clamp(bytes: number): number {
  return floor(Math.min(MAX_STEP, Math.max(MIN_STEP, bytes)));
}

function floor(bytes: number): number {
  return Math.floor(bytes / PAGE) * PAGE;
}

function parsed(text: string): Record<string, unknown> {
  return JSON.parse(text);
}
