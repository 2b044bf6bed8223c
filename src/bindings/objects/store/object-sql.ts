/**
 * The database of one object while it is used. The storage has its pages; a process has it open as a file. Everything happens in the order of the calls:
 *
 *     clean --a text that writes--> dirty, in a process of its own --commit--> clean, and the pages that have changed go to the storage
 *     dirty --rollback, a failure, another user of the object, 30 seconds--> clean, without what was written
 */
import { join } from 'node:path';
import { EdgeError } from '../../../quotas/errors.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import { costOf, HOST_COSTS } from '../../../quotas/host/host-costs.js';
import {
  type ObjectRequest,
  type ObjectResponse,
  PAGE_BYTES,
  PAGE_RECORD_BYTES,
} from '../../../sqlite/engine/objects/object-messages.js';
import { unavailable } from '../../../sqlite/library.js';
import { SQL_LIMITS } from '../../../sqlite/limits.js';
import { type SqliteCaller, SqlitePool } from '../../../sqlite/pool/sqlite-pool.js';
import { SqliteEnded, type SqliteOwner, type SqliteProcess } from '../../../sqlite/pool/sqlite-process.js';
import type { ProcessWalls } from '../../../storage/process-walls.js';
import { OBJECT_STORAGE_LIMITS } from '../storage-limits.js';

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
  readonly pool: () => SqlitePool;
  /** The account in the queues. */
  readonly owner: SqliteOwner;
  /** The pages that the storage has, when all earlier writes are there. To be released. */
  readonly load: (work: CallWork) => Promise<{ readonly records: Uint8Array; release(): void }>;
}

/** Longer work is charged while it runs, by the clock. */
const UNCHARGED_MS = 500;
/** A query whose caller is gone ends after this long. */
const ABANDONED_MS = 250;
/** Uncommitted writes are discarded after this long without a call. */
const FORGOTTEN_MS = 30_000;
const MAX_COMMIT_PAGES = OBJECT_STORAGE_LIMITS.sqlCommitBytes / PAGE_BYTES;

/** The folder for files of open databases, inside the storage directory. */
const FOLDER = 'objects-sql';
const MAX_WAITING = 4096;

/** The processes for the databases of objects. @param storage its directory. @default a temporary one of the system */
export function objectPool(storage: string | undefined, walls?: ProcessWalls): SqlitePool {
  const parent = storage === undefined ? undefined : join(storage, FOLDER);
  return new SqlitePool({ task: 'run SQL of objects', maxWaiting: MAX_WAITING, isSlowCounted: false, parent }, walls);
}

/** A request that a process runs. */
interface Running {
  readonly caller: SqlCaller;
  readonly began: number;
  chargedMs: number;
  isTooLong: boolean;
}

interface Answer {
  readonly head: ObjectResponse;
  readonly payload: Buffer;
}

export class ObjectSql {
  readonly #parts: ObjectSqlParts;
  #last: Promise<unknown> = Promise.resolve();
  /** Where it is open. */
  #process: SqliteProcess | undefined;
  #path = '';
  /** The deletion of everything since which it is open. */
  #cleared = 0;
  /** Something is written that is not committed. */
  #seat: Seat | undefined;
  #running: Running | undefined;
  #isDirty = false;
  /** Uncommitted writes are lost, and their writer does not know. */
  #lost: EdgeError | undefined;
  #forgetting: NodeJS.Timeout | undefined;
  #isOverloaded = false;
  #tasks = 0;
  /** The last write of the object that its database is a part of. */
  #written: Promise<unknown> = Promise.resolve();

  readonly #caller: SqliteCaller = {
    onTick: now => this.#tick(now),
    onOverload: () => {
      this.#isOverloaded = true;
      this.#seat?.process.stop();
    },
  };

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
        const head: ObjectRequest = { op: 'exec', path: this.#path, layers, maxBytes: OBJECT_STORAGE_LIMITS.sqlBytes };
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
        const request: ObjectRequest = { op: 'commit', path: this.#path, maxPages: MAX_COMMIT_PAGES };
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

  async #enter({ signal }: SqlCaller): Promise<Seat> {
    if (this.#seat !== undefined) return this.#seat;
    this.#isOverloaded = false;
    const seat = await this.#parts.pool().enter(this.#parts.owner, this.#caller, signal);
    try {
      this.#seat = { process: seat.start(this.#path), leave: () => seat.leave() };
      return this.#seat;
    } catch (error) {
      seat.leave();
      throw error;
    }
  }

  async #open(seat: Seat, { cleared }: SqlText, { work }: SqlCaller): Promise<void> {
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
        const { head, payload } = await ask(process, { op: 'open', path }, loaded?.records);
        work.charge(head.cpuUs / 1000);
        if (head.isFailure === true) throw unavailable(payload.toString());
        process.opened(path, head.pages * PAGE_BYTES, this.#closed(process));
      } catch (error) {
        throw this.#failure(error, false);
      } finally {
        loaded?.release();
      }
    }
  }

  #closed(process: SqliteProcess): () => void {
    const path = this.#path;
    return () => {
      if (this.#process === process && this.#path === path) this.#process = undefined;
    };
  }

  async #run(
    { process }: Seat,
    head: ObjectRequest,
    payload: Uint8Array | undefined,
    caller: SqlCaller,
  ): Promise<Answer> {
    clearTimeout(this.#forgetting);
    const { work } = caller;
    const running: Running = { caller, began: performance.now(), chargedMs: 0, isTooLong: false };
    this.#running = running;
    try {
      const answer = await ask(process, head, payload);
      work.charge(
        Math.max(0, answer.head.cpuUs / 1000 - running.chargedMs) + costOf(answer.payload.length, HOST_COSTS.movedMbMs),
      );
      return answer;
    } catch (error) {
      work.charge(Math.max(0, performance.now() - running.began - running.chargedMs));
      throw this.#failure(error, running.isTooLong);
    } finally {
      this.#running = undefined;
    }
  }

  /** Charges the request that runs, and ends its process when it takes too long or its caller is gone. */
  #tick(now: number): void {
    const running = this.#running;
    if (running === undefined) return;
    const { work, signal } = running.caller;
    const runningMs = now - running.began;
    const more = runningMs - UNCHARGED_MS - running.chargedMs;
    if (more > 0) {
      work.charge(more);
      running.chargedMs += more;
    }
    running.isTooLong = runningMs > SQL_LIMITS.queryMs;
    if (running.isTooLong || (signal.aborted && runningMs > ABANDONED_MS)) this.#seat?.process.stop();
  }

  #failure(error: unknown, isTooLong: boolean): unknown {
    if (!(error instanceof SqliteEnded)) return error;
    const { reason, text } = error.end;
    if (reason === 'unavailable') return unavailable(`${text}`);
    const limit = SQL_LIMITS.queryMs / 1000;
    if (isTooLong)
      return new EdgeError('EDGE_LIMIT_EXCEEDED', `The statement was ended: it took longer than ${limit} s`);
    if (reason === 'memory')
      return new EdgeError('EDGE_LIMIT_EXCEEDED', 'The statement was ended: it took too much memory');
    if (this.#isOverloaded)
      return new EdgeError('EDGE_OVERLOADED', 'The statement was ended: too many take long at the same time');
    return lost('the process that had it has ended');
  }

  #keep(seat: Seat): void {
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

interface Seat {
  readonly process: SqliteProcess;
  readonly leave: () => void;
}

/** Rejects with SqliteEnded. */
function ask(process: SqliteProcess, head: ObjectRequest, payload?: Uint8Array): Promise<Answer> {
  return process.request(head, payload === undefined ? [] : [payload], (answer, bytes) => ({
    head: answer as ObjectResponse, // our own process
    payload: bytes,
  }));
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
