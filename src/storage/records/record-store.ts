import { EdgeError, errorCode } from '../../quotas/errors.js';
import { type CallWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { recordQueue, threadQueue } from '../../quotas/host/threads.js';
import type { DiskSpace } from '../files/disk-space.js';
import { storageError } from '../files/storage-error.js';
import { CommitQueue } from './commit-queue.js';
import { arePlain, type RecordOperation, withCounts } from './counts.js';
import type {
  LevelDatabase,
  LevelIterator,
  LevelOperation,
  LevelRange,
  LevelSnapshot,
  LevelView,
} from './level-database.js';
import { RecordCache } from './record-cache.js';

/** The bound of one read of an iterator in bytes, for any number of entries. */
const READ_AHEAD_BYTES = 2 ** 20;

/** The bytes that opening may write, because the recovered log becomes a table. */
const RECOVERY_BYTES = 8 * 2 ** 20;

/**
 * The records of a storage: reads, and durable writes through one commit queue. Calls for an account are charged to its work and take turns with calls for
 * other accounts; a long read waits between its pages while the account is in debt.
 *
 * After a failed write LevelDB continues behind the torn end of its log, and the next opening can lose what it acknowledges from then on. So after
 * a failure the database is closed and opened again, which recovers the log up to the last whole record, and the write is tried once more. Nothing
 * else is written until that has succeeded; reads continue.
 */
export class RecordStore {
  readonly #database: LevelDatabase;
  readonly #space: DiskSpace | undefined;
  readonly #queue: CommitQueue;
  readonly #cache = new RecordCache();
  /** Set while the database is being opened again. */
  #reopening: Promise<void> | undefined;
  #isConsistent = true;
  #isOpen = true;
  #isClosed = false;
  #whenRecovered: (() => void)[] = [];
  /** For work of the host that continues without a damaged record: the record is reported, and passed over. */
  readonly passingOver: LevelView;
  readonly #onDamaged: (error: unknown) => void;

  /**
   * `database` is open. `onDamaged` is called each time that a damaged record is found: the reader gets an error, but it may be a function, or work of the host
   * that waits for nothing, while the owner of the host has the backup.
   */
  constructor(database: LevelDatabase, space?: DiskSpace, onDamaged: (error: unknown) => void = () => {}) {
    this.#database = database;
    this.#space = space;
    this.#onDamaged = onDamaged;
    this.passingOver = { onDamaged };
    this.#queue = new CommitQueue(operations => this.#writeGroup(operations));
  }

  /** Returns the error, and reports it when something that is stored is damaged. */
  damage(error: unknown): unknown {
    if (errorCode(error) === 'EDGE_STORAGE_CORRUPT') this.#onDamaged(error);
    return error;
  }

  /** The record when it is in memory, which takes no waiting; undefined does not mean that the record is missing. As `get`. */
  atHand(key: string): Buffer | undefined {
    return this.#isOpen && this.#reopening === undefined ? this.#cache.get(key) : undefined;
  }

  /** The bytes are shared with other readers and must not be changed. */
  async get(key: string, work: CallWork = OWN_WORK): Promise<Buffer | undefined> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    const cached = this.#cache.get(key);
    if (cached !== undefined) return cached;
    work.charge(HOST_COSTS.recordMs);
    const wait = recordQueue.enter(work.owner, HOST_COSTS.recordMs);
    if (wait !== undefined) await wait;
    try {
      if (!this.#isOpen || this.#reopening) await this.#whenOpen();
      const ticket = this.#cache.startReading();
      const value = await this.#database.get(key);
      if (value !== undefined) this.#cache.keep(ticket, key, value);
      return value;
    } catch (error) {
      throw this.#readError(error);
    } finally {
      recordQueue.leave(work.owner);
    }
  }

  async getMany(keys: string[], view?: LevelView, work: CallWork = OWN_WORK): Promise<(Buffer | undefined)[]> {
    const ms = keys.length * HOST_COSTS.nextRecordMs;
    work.charge(ms);
    try {
      return await threadQueue.run(work.owner, ms, async () => {
        if (!this.#isOpen || this.#reopening) await this.#whenOpen();
        return await this.#database.getMany(keys, view);
      });
    } catch (error) {
      throw this.#readError(error);
    }
  }

  /**
   * Reserves the space that the operations need. To be called before a commit that grows the storage. Commits that free space go without, so that
   * a full disk does not refuse them. Rejects with EDGE_STORAGE_FULL.
   */
  reserveSpace(operations: readonly RecordOperation[]): Promise<void> | undefined {
    if (this.#space === undefined) return undefined;
    let bytes = 0;
    for (const operation of operations) {
      bytes += operation.key.length + (operation.type === 'put' ? operation.value.byteLength : 0);
    }
    return this.#space.reserveSpace(bytes);
  }

  /**
   * Writes the operations, all or none; they are on disk when it resolves. Rejects with EDGE_STORAGE_FULL, EDGE_STORAGE_CORRUPT, EDGE_CLOSED or EDGE_INTERNAL.
   */
  async commit(operations: readonly RecordOperation[], work: CallWork = OWN_WORK): Promise<void> {
    if (this.#isClosed) throw closedError();
    work.charge(writeMs(operations));
    await this.#queue.commit(operations, work.owner);
  }

  /** Writes the operations with the next commit, or a second later. A crash before that loses them. */
  enqueueDeferred(operations: readonly LevelOperation[]): void {
    if (!this.#isClosed) this.#queue.enqueueDeferred(operations);
  }

  /**
   * To be called with the keys locked, before the records are read that a write depends on. When a commit has failed, this opens the database
   * again, which may still find that commit in its log. Rejects when the database cannot be opened.
   */
  async awaitRecovery(work: CallWork = OWN_WORK): Promise<void> {
    // The queue recovers before it writes, in the order of its turns.
    if (!this.#isConsistent || !this.#isOpen) await this.commit([], work);
  }

  /** Runs `task` when the outcome of every failed commit is known: at once, or after the database was opened again. */
  onRecovered(task: () => void): void {
    if (this.#isConsistent && this.#isOpen) task();
    else this.#whenRecovered.push(task);
  }

  /** The entries of the range, in pages. */
  async *pages(
    range: LevelRange,
    size = 1000,
    view?: LevelView,
    work: CallWork = OWN_WORK,
  ): AsyncGenerator<[string, Buffer][]> {
    const iterator = await this.iterator(range, view, work);
    try {
      for (;;) {
        const page = await iterator.nextv(size);
        if (page.length === 0) return;
        yield page;
      }
    } finally {
      await iterator.close();
    }
  }

  /** The keys of the range, in pages: damaged records are among them. */
  async *keyPages(range: LevelRange, size = 1000): AsyncGenerator<string[]> {
    const keys = await this.keys(range);
    try {
      for (;;) {
        const page = await keys.nextv(size);
        if (page.length === 0) return;
        yield page;
      }
    } finally {
      await keys.close();
    }
  }

  async iterator(
    range: LevelRange,
    view?: LevelView,
    work: CallWork = OWN_WORK,
  ): Promise<LevelIterator<[string, Buffer]>> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    return this.#guard(work, () =>
      this.#database.iterator({ ...range, ...view, highWaterMarkBytes: READ_AHEAD_BYTES }),
    );
  }

  async keys(range: LevelRange, view?: LevelView, work: CallWork = OWN_WORK): Promise<LevelIterator<string>> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    return this.#guard(work, () => this.#database.keys({ ...range, ...view, highWaterMarkBytes: READ_AHEAD_BYTES }));
  }

  /** The current state, for several reads. The caller closes it. */
  async snapshot(): Promise<LevelSnapshot> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    return this.#reading(() => this.#database.snapshot());
  }

  /** Refuses new writes, writes the waiting ones, then the operations of `last`, and closes the database. */
  async close(last: () => LevelOperation[] = () => []): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#queue.drain();
    const operations = last();
    if (operations.length > 0) await this.#queue.commit(operations).catch(() => {});
    await this.#reopening?.catch(() => {});
    await this.#database.close();
    this.#isOpen = false;
  }

  async #writeGroup(group: RecordOperation[]): Promise<void> {
    let operations: LevelOperation[] | undefined;
    if (this.#isConsistent && this.#isOpen) {
      operations = await this.#counted(group);
      this.#cache.changing(operations);
      try {
        await this.#database.batch(operations, { sync: true });
        this.#cache.changed(operations);
        return;
      } catch {
        // The batch may not be the reason: after a failed compaction LevelDB refuses every write, even when the reason of the failure is gone.
        this.#isConsistent = false;
      }
    }
    await this.#recover();
    if (group.length === 0) return;
    // The first attempt may be in the log. Writing the same values again is harmless; computing the counts again would not be.
    operations ??= await this.#counted(group);
    this.#cache.changing(operations);
    try {
      await this.#database.batch(operations, { sync: true });
      this.#cache.changed(operations);
    } catch (error) {
      this.#isConsistent = false;
      throw error;
    }
  }

  async #counted(operations: RecordOperation[]): Promise<LevelOperation[]> {
    if (arePlain(operations)) return operations;
    return withCounts(operations, async keys => {
      const records = keys.map(key => this.#cache.get(key));
      const places = [...keys.keys()].filter(place => records[place] === undefined);
      if (places.length === 0) return records;
      const ticket = this.#cache.startReading();
      const found = await this.#database.getMany(places.map(place => keys[place] ?? '')).catch((error: unknown) => {
        throw this.#readError(error);
      });
      for (const [index, place] of places.entries()) {
        const record = found[index];
        records[place] = record;
        if (record !== undefined) this.#cache.keep(ticket, keys[place] ?? '', record);
      }
      return records;
    });
  }

  async #recover(): Promise<void> {
    // Without space the database could be closed but not opened again, and then it could not be read either.
    await this.#space?.checkReserve(RECOVERY_BYTES);
    this.#reopening ??= this.#reopen();
    await this.#reopening;
  }

  async #reopen(): Promise<void> {
    try {
      this.#isOpen = false;
      await this.#database.close();
      await this.#database.open();
      this.#cache.clear();
      this.#isOpen = true;
      this.#isConsistent = true;
      const tasks = this.#whenRecovered;
      this.#whenRecovered = [];
      for (const task of tasks) task();
    } catch (error) {
      throw storageError('open the storage again after a write that failed', error);
    } finally {
      this.#reopening = undefined;
    }
  }

  async #whenOpen(): Promise<void> {
    if (this.#reopening === undefined && !this.#isClosed) this.#reopening = this.#reopen();
    await this.#reopening;
    if (!this.#isOpen) throw closedError();
  }

  #guard<Entry>(work: CallWork, open: () => LevelIterator<Entry>): LevelIterator<Entry> {
    const iterator = this.#reading(open);
    return {
      nextv: async size => {
        const turn = work.turn();
        if (turn !== undefined) await turn;
        try {
          const entries = await threadQueue.run(work.owner, size * HOST_COSTS.nextRecordMs, () => iterator.nextv(size));
          work.charge(HOST_COSTS.recordMs + entries.length * HOST_COSTS.nextRecordMs);
          return entries;
        } catch (error) {
          throw this.#readError(error);
        }
      },
      seek: target => iterator.seek(target),
      close: () => iterator.close(),
    };
  }

  #reading<T>(task: () => T): T {
    try {
      return task();
    } catch (error) {
      throw this.#readError(error);
    }
  }

  #readError(error: unknown): EdgeError {
    if (this.#isClosed && NOT_OPEN.has(errorCode(error) ?? '')) return closedError();
    const readError = storageError('read from the storage', error);
    this.damage(readError);
    return readError;
  }
}

const NOT_OPEN: ReadonlySet<string> = new Set([
  'LEVEL_DATABASE_NOT_OPEN',
  'LEVEL_ITERATOR_NOT_OPEN',
  'LEVEL_SNAPSHOT_NOT_OPEN',
]);

/** The cost of writing the operations to the log and later to a table. */
function writeMs(operations: readonly RecordOperation[]): number {
  let bytes = 0;
  for (const operation of operations) if (operation.type === 'put') bytes += operation.value.byteLength;
  return HOST_COSTS.commitMs + operations.length * HOST_COSTS.writtenRecordMs + costOf(bytes, HOST_COSTS.writtenMbMs);
}

function closedError(): EdgeError {
  return new EdgeError('EDGE_CLOSED', 'Cannot use the storage: the host is closed');
}
