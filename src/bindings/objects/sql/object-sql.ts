/**
 * The database of one object while it is used. The storage has its pages; a process has it open as a file. Everything happens in the order of the calls:
 *
 *     clean --a text that writes--> dirty, in a process of its own --commit--> clean, and the pages that have changed go to the storage
 *     dirty --rollback, a failure, another user of the object, 30 seconds--> clean, without what was written
 */
import { EdgeError } from '../../../quotas/errors.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import { unavailable } from '../../sql/library.js';
import { SQL_LIMITS } from '../../sql/limits.js';
import { OBJECT_STORAGE_LIMITS } from '../storage-limits.js';
import { PAGE_BYTES, PAGE_RECORD_BYTES, type SqlRequest } from './messages.js';
import type { SqlOwner, SqlPool, SqlSeat } from './sql-pool.js';
import { type SqlProcess, type SqlProcessAnswer, SqlProcessEnded } from './sql-process.js';

/** The changes of a commit. */
export interface PageChanges {
  /** The size of the database, in pages. */
  readonly total: number;
  readonly pages: ReadonlyMap<number, Uint8Array>;
}

export interface SqlCaller {
  readonly work: CallWork;
  readonly signal: AbortSignal;
}

export interface SqlText {
  /** JSON, as the function has written it. */
  readonly payload: Uint8Array;
  /** The transactions within the batch that are open. */
  readonly layers: readonly number[];
  /** Everything that was there before is deleted, in the same batch: which time that is, from 1. 0: it is not. */
  readonly cleared: number;
}

export interface ObjectSqlResult {
  /** JSON, or why SQLite has refused it. */
  readonly text: Buffer;
  readonly isFailure: boolean;
  readonly isDirty: boolean;
}

export interface ObjectSqlParts {
  readonly pool: () => SqlPool;
  /** The account in the queues. */
  readonly owner: SqlOwner;
  /** The pages that the storage has, when all earlier writes are there. To be released. */
  readonly load: (work: CallWork) => Promise<{ readonly records: Uint8Array; release(): void }>;
}

const TICK_MS = 50;
/** Longer work is charged while it runs, by the clock. */
const UNCHARGED_MS = 500;
/** A query whose caller is gone ends after this long. */
const ABANDONED_MS = 250;
/** Uncommitted writes are discarded after this long without a call. */
const FORGOTTEN_MS = 30_000;
const MAX_COMMIT_PAGES = OBJECT_STORAGE_LIMITS.sqlCommitBytes / PAGE_BYTES;

export class ObjectSql {
  readonly #parts: ObjectSqlParts;
  #last: Promise<unknown> = Promise.resolve();
  /** Where it is open. */
  #process: SqlProcess | undefined;
  #path = '';
  /** The deletion of everything since which it is open. */
  #cleared = 0;
  /** Something is written that is not committed. */
  #seat: SqlSeat | undefined;
  #isDirty = false;
  /** Uncommitted writes are lost, and their writer does not know. */
  #lost: EdgeError | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  #isOverloaded = false;
  #tasks = 0;
  /** The last write of the object that its database is a part of. */
  #written: Promise<unknown> = Promise.resolve();

  constructor(parts: ObjectSqlParts) {
    this.#parts = parts;
  }

  /** Nothing of it would be lost. */
  get isIdle(): boolean {
    return this.#tasks === 0 && this.#seat === undefined;
  }

  /** Rejects with EDGE_NOT_SUPPORTED without SQLite, EDGE_OBJECT_RESET when earlier writes are lost, EDGE_OVERLOADED, EDGE_LIMIT_EXCEEDED. */
  exec(text: SqlText, caller: SqlCaller): Promise<ObjectSqlResult> {
    return this.#inOrder(async () => {
      if (this.#lost !== undefined) throw this.#lost;
      const seat = await this.#enter(caller);
      try {
        await this.#open(seat, text, caller);
        const { payload, layers } = text;
        const head: SqlRequest = { op: 'exec', path: this.#path, layers, maxBytes: OBJECT_STORAGE_LIMITS.sqlBytes };
        const answer = await this.#run(seat, head, payload, caller);
        if (answer.head.isLost === true) throw lost('an error of SQLite has undone it');
        const { isDirty, isFailure = false } = answer.head;
        this.#isDirty = isDirty;
        if (isDirty) this.#keep(seat);
        else this.#leave();
        seat.process.opened(this.#path, answer.head.pages * PAGE_BYTES, this.#closed(seat.process));
        return { text: answer.payload, isFailure, isDirty };
      } catch (error) {
        this.#drop();
        throw error;
      }
    });
  }

  /** @param layer 0: everything that is not committed */
  rollback(layer: number, caller: SqlCaller): Promise<void> {
    return this.#inOrder(async () => {
      const seat = this.#seat;
      if (this.#lost !== undefined) throw this.#lost;
      if (seat === undefined) return;
      try {
        const { head } = await this.#run(seat, { op: 'rollback', path: this.#path, layer }, undefined, caller);
        if (head.isFailure === true) throw lost('it could not be rolled back');
        this.#isDirty = head.isDirty;
        if (head.isDirty) this.#keep(seat);
        else this.#leave();
      } catch (error) {
        this.#drop();
        throw error;
      }
    });
  }

  /** Undefined when nothing has changed. The caller discards changes that did not reach the disk. */
  commit(caller: SqlCaller): Promise<PageChanges | undefined> {
    return this.#inOrder(async () => {
      const seat = this.#seat;
      if (this.#lost !== undefined) throw this.#lost;
      if (seat === undefined) throw lost('there is nothing to commit');
      try {
        const request: SqlRequest = { op: 'commit', path: this.#path, maxPages: MAX_COMMIT_PAGES };
        const { head, payload } = await this.#run(seat, request, undefined, caller);
        if (head.isFailure === true) throw new EdgeError('EDGE_OBJECT_RESET', `Cannot commit: ${payload.toString()}`);
        this.#isDirty = false;
        this.#leave();
        return changesOf(payload);
      } catch (error) {
        this.#drop();
        throw error;
      }
    });
  }

  /** Reads of the storage wait for this write. */
  waitFor(written: Promise<unknown>): void {
    this.#written = written.catch(() => {});
  }

  /** Forgets uncommitted writes and the state of the process: the next call reads the storage again. */
  discard(): void {
    detached(
      this.#inOrder(async () => {
        this.#drop();
        this.#lost = undefined;
      }),
    );
  }

  #inOrder<T>(task: () => Promise<T>): Promise<T> {
    this.#tasks++;
    const result = this.#last.then(task).finally(() => this.#tasks--);
    this.#last = result.catch(() => {});
    return result;
  }

  async #enter({ signal }: SqlCaller): Promise<SqlSeat> {
    if (this.#seat !== undefined) return this.#seat;
    this.#isOverloaded = false;
    const seat = await this.#parts.pool().take(
      this.#parts.owner,
      this.#process,
      () => {
        this.#isOverloaded = true;
      },
      signal,
    );
    this.#seat = seat;
    return seat;
  }

  async #open(seat: SqlSeat, { cleared }: SqlText, { work }: SqlCaller): Promise<void> {
    const { process } = seat;
    if (this.#process !== process || (cleared > 0 && cleared !== this.#cleared)) {
      this.#close();
      this.#path = process.newPath();
      this.#process = process;
      this.#cleared = cleared;
      const path = this.#path;
      await this.#written;
      const loaded = cleared > 0 ? undefined : await this.#parts.load(work);
      try {
        const { head, payload } = await process.request({ op: 'open', path }, ...(loaded ? [loaded.records] : []));
        work.charge(head.cpuUs / 1000);
        if (head.isFailure === true) throw unavailable(payload.toString());
        process.opened(path, head.pages * PAGE_BYTES, this.#closed(process));
      } catch (error) {
        throw error instanceof SqlProcessEnded ? this.#failure(error, undefined) : error;
      } finally {
        loaded?.release();
      }
    }
  }

  #closed(process: SqlProcess): () => void {
    const path = this.#path;
    return () => {
      if (this.#process === process && this.#path === path) this.#process = undefined;
    };
  }

  /** Runs one request, and ends the process when it takes too long or its caller is gone. */
  async #run(
    { process }: SqlSeat,
    head: SqlRequest,
    payload: Uint8Array | undefined,
    { work, signal }: SqlCaller,
  ): Promise<SqlProcessAnswer> {
    clearTimeout(this.#forgetting);
    const began = performance.now();
    let chargedMs = 0;
    let isTooLong = false;
    const timer = setInterval(
      guarded(() => {
        const runningMs = performance.now() - began;
        const more = runningMs - UNCHARGED_MS - chargedMs;
        if (more > 0) {
          work.charge(more);
          chargedMs += more;
        }
        isTooLong = runningMs > SQL_LIMITS.queryMs;
        if (isTooLong || (signal.aborted && runningMs > ABANDONED_MS)) process.stop();
      }),
      TICK_MS,
    );
    timer.unref();
    try {
      const answer = await process.request(head, ...(payload === undefined ? [] : [payload]));
      work.charge(
        Math.max(0, answer.head.cpuUs / 1000 - chargedMs) + costOf(answer.payload.length, HOST_COSTS.movedMbMs),
      );
      return answer;
    } catch (error) {
      work.charge(Math.max(0, performance.now() - began - chargedMs));
      throw this.#failure(error, isTooLong ? SQL_LIMITS.queryMs : undefined);
    } finally {
      clearInterval(timer);
    }
  }

  #failure(error: unknown, limitMs: number | undefined): unknown {
    if (!(error instanceof SqlProcessEnded)) return error;
    if (limitMs !== undefined)
      return new EdgeError('EDGE_LIMIT_EXCEEDED', `The statement was ended: it took longer than ${limitMs / 1000} s`);
    if (error.isOutOfMemory)
      return new EdgeError('EDGE_LIMIT_EXCEEDED', 'The statement was ended: it took too much memory');
    if (this.#isOverloaded)
      return new EdgeError('EDGE_OVERLOADED', 'The statement was ended: too many take long at the same time');
    return lost('the process that had it has ended');
  }

  #keep(seat: SqlSeat): void {
    clearTimeout(this.#forgetting);
    this.#forgetting = setTimeout(
      guarded(() => {
        detached(
          this.#inOrder(async () => {
            if (this.#seat === seat) this.#drop();
          }),
        );
      }),
      FORGOTTEN_MS,
    );
    this.#forgetting.unref();
  }

  #leave(): void {
    clearTimeout(this.#forgetting);
    this.#seat?.leave();
    this.#seat = undefined;
  }

  #close(): void {
    const process = this.#process;
    this.#process = undefined;
    process?.close(this.#path);
  }

  #drop(): void {
    if (this.#isDirty) this.#lost = lost('the process that had it has ended, or it was not written in time');
    this.#isDirty = false;
    this.#cleared = 0;
    this.#close();
    this.#leave();
  }
}

function lost(why: string): EdgeError {
  return new EdgeError('EDGE_OBJECT_RESET', `The SQL writes of the object are lost: ${why}`);
}

function changesOf(payload: Buffer): PageChanges | undefined {
  if (payload.length === 0) return undefined;
  const pages = new Map<number, Uint8Array>();
  for (let at = 4; at + PAGE_RECORD_BYTES <= payload.length; at += PAGE_RECORD_BYTES)
    pages.set(payload.readUInt32LE(at), payload.subarray(at + 4, at + PAGE_RECORD_BYTES));
  return { total: payload.readUInt32LE(0), pages };
}
