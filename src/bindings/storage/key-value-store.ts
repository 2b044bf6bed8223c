import { EdgeError, errorCode } from '../../quotas/errors.js';
import { costOf, HOST_COSTS } from '../../quotas/host/host-costs.js';
import { type CallWork, OWN_WORK } from '../service.js';
import { recordQueue, threadQueue } from '../threads.js';
import { CommitQueue } from './commit-queue.js';
import { arePlain, type RecordOperation, withCounts } from './counts.js';
import type { DiskSpace } from './disk-space.js';
import type {
  LevelDatabase,
  LevelIterator,
  LevelOperation,
  LevelRange,
  LevelSnapshot,
  LevelView,
} from './level-database.js';
import { RecordCache } from './record-cache.js';
import { storageError } from './storage-error.js';

/** Entries that one read of an iterator brings are bounded by this, whatever their number. */
const READ_AHEAD_BYTES = 2 ** 20;

/** What opening may write: the log that is recovered becomes a table. */
const RECOVERY_BYTES = 8 * 2 ** 20;

/**
 * The records of a storage: reads, and durable writes through one commit queue. What is done for an account is charged to its work, takes its turn
 * among those of others, and between the pages of a long read waits until the account may go on.
 *
 * After a write that failed LevelDB goes on behind the torn end of its log, and what it then acknowledges can be lost at
 * the next opening. So after a failure the database is closed and opened again, which recovers the log up to the last
 * whole record, and the write is tried once more; until that worked nothing else is written. Reads go on in the meantime.
 */
export class KeyValueStore {
  readonly #database: LevelDatabase;
  readonly #space: DiskSpace | undefined;
  readonly #queue: CommitQueue;
  readonly #cache = new RecordCache();
  /** Set while the database is being opened again. */
  #reopening: Promise<void> | undefined;
  #isSound = true;
  #isOpen = true;
  #isClosed = false;
  #whenRecovered: (() => void)[] = [];

  /** `database` is open. */
  constructor(database: LevelDatabase, space?: DiskSpace) {
    this.#database = database;
    this.#space = space;
    this.#queue = new CommitQueue(operations => this.#writeGroup(operations));
  }

  /** The caller may not change the bytes: others read them too. */
  async get(key: string, work: CallWork = OWN_WORK): Promise<Buffer | undefined> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    const known = this.#cache.get(key);
    if (known !== undefined) return known;
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
   * Counts what the operations make the storage grow by. Before a commit that grows it; what gives space back is
   * committed without, so that a full disk does not refuse it. Rejects with EDGE_STORAGE_FULL.
   */
  claim(operations: readonly RecordOperation[]): Promise<void> | undefined {
    if (this.#space === undefined) return undefined;
    let bytes = 0;
    for (const operation of operations) {
      bytes += operation.key.length + (operation.type === 'put' ? operation.value.byteLength : 0);
    }
    return this.#space.claim(bytes);
  }

  /**
   * Writes the operations, all or none; they are on disk when it resolves.
   * Rejects with EDGE_STORAGE_FULL, EDGE_STORAGE_CORRUPT, EDGE_CLOSED or EDGE_INTERNAL.
   */
  async commit(operations: readonly RecordOperation[], work: CallWork = OWN_WORK): Promise<void> {
    if (this.#isClosed) throw closedError();
    work.charge(writeMs(operations));
    await this.#queue.commit(operations, work.owner);
  }

  /** Writes the operations with the next commit, or a second later. For what may get lost, or is done again at the next opening. */
  ride(operations: readonly LevelOperation[]): void {
    if (!this.#isClosed) this.#queue.ride(operations);
  }

  /**
   * What a write is planned by is read after this, with its keys locked: a commit that failed may be found whole when the
   * database is opened again, and that is done now. Rejects when it cannot be.
   */
  async settled(work: CallWork = OWN_WORK): Promise<void> {
    // Like any other write it waits for its turn.
    if (!this.#isSound || !this.#isOpen) await this.commit([], work);
  }

  /** Runs `task` when it is known what became of a commit that failed: at once, or after the database was opened again. */
  whenSound(task: () => void): void {
    if (this.#isSound && this.#isOpen) task();
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

  /** What is there now, for several reads. To be closed. */
  async snapshot(): Promise<LevelSnapshot> {
    if (!this.#isOpen || this.#reopening) await this.#whenOpen();
    return this.#reading(() => this.#database.snapshot());
  }

  /** Refuses new writes, writes what is waiting, then what `last` gives, and closes the database. */
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

  async #writeGroup(given: RecordOperation[]): Promise<void> {
    let operations: LevelOperation[] | undefined;
    if (this.#isSound && this.#isOpen) {
      operations = await this.#counted(given);
      this.#cache.changing(operations);
      try {
        await this.#database.batch(operations, { sync: true });
        this.#cache.changed(operations);
        return;
      } catch {
        // Perhaps not for this batch: LevelDB refuses all after a compaction that failed, also when its reason is gone.
        this.#isSound = false;
      }
    }
    await this.#recover();
    if (given.length === 0) return;
    // Writing it twice is writing it once, if it got into the log before: nothing is counted again.
    operations ??= await this.#counted(given);
    this.#cache.changing(operations);
    try {
      await this.#database.batch(operations, { sync: true });
      this.#cache.changed(operations);
    } catch (error) {
      this.#isSound = false;
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
      const found = await this.#database.getMany(places.map(place => keys[place] ?? ''));
      for (const [index, place] of places.entries()) {
        const record = found[index];
        records[place] = record;
        if (record !== undefined) this.#cache.keep(ticket, keys[place] ?? '', record);
      }
      return records;
    });
  }

  async #recover(): Promise<void> {
    // Without room the database could be closed, but not opened again, and reading would end too.
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
      this.#isSound = true;
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
    return storageError('read from the storage', error);
  }
}

const NOT_OPEN: ReadonlySet<string> = new Set([
  'LEVEL_DATABASE_NOT_OPEN',
  'LEVEL_ITERATOR_NOT_OPEN',
  'LEVEL_SNAPSHOT_NOT_OPEN',
]);

/** What writing the operations takes, the log and the table that they end in. */
function writeMs(operations: readonly RecordOperation[]): number {
  let bytes = 0;
  for (const operation of operations) if (operation.type === 'put') bytes += operation.value.byteLength;
  return HOST_COSTS.commitMs + operations.length * HOST_COSTS.writtenRecordMs + costOf(bytes, HOST_COSTS.fileMbMs);
}

function closedError(): EdgeError {
  return new EdgeError('EDGE_CLOSED', 'Cannot use the storage: the host is closed');
}
