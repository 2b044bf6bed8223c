/**
 * At most six open connections per invocation (specification: States, "Connection pool of one invocation"; Limits,
 * rule 7). More attempts wait in order; when everything open is idle while attempts wait, the least recently used
 * connection is canceled.
 *
 * While there is room, an open connection is an object in a set and nothing else. The queue (p-queue) and the record of
 * recency (lru-cache) are made for the first attempt that finds no room, which takes the open connections over as its
 * running tasks, and are let go when no attempt waits: most invocations never have a seventh attempt, and making both
 * costs more than all the rest of a warm call's accounting.
 */

import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';

import { EdgeError } from './errors.js';

/** When the slot of a connection is free again: with the end of the answer's body, or with its headers already. */
export type ConnectionSlotRelease = 'body' | 'headers';

export interface ConnectionGateOptions {
  /** How many connections may be open at once. `Infinity` for any number. @default 6 */
  readonly limit?: number;
  /** @default 'body', the rule of the specification */
  readonly release?: ConnectionSlotRelease;
  /**
   * How long nothing may be read or written, while attempts wait, before that counts as a deadlock. It bridges the time
   * in which the function, in its own process, has got one chunk and not yet asked for the next. @default 50
   */
  readonly deadlockGraceMs?: number;
  /** Calls `check` after `delayMs` unless the function returned is called first. @default a timer that keeps no process alive */
  readonly schedule?: (check: () => void, delayMs: number) => () => void;
}

export class ConnectionGate {
  readonly #limit: number;
  readonly #release: ConnectionSlotRelease;
  readonly #graceMs: number;
  readonly #schedule: (check: () => void, delayMs: number) => () => void;
  readonly #open = new Set<OpenConnection>();
  readonly #pool: Pool;
  #overflow: Overflow | undefined;
  #waiting = 0;
  #waited = 0;
  #mostOpen = 0;
  #canceled = 0;
  #operations = 0;
  #uses = 0;
  #stopCheck: (() => void) | undefined;
  #closed: EdgeError | undefined;

  /** @throws RangeError when `limit` is less than one */
  constructor(options: ConnectionGateOptions = {}) {
    const { limit = 6, release = 'body', deadlockGraceMs = 50, schedule = scheduleTimer } = options;
    if (!(limit >= 1)) throw new RangeError(`Option limit is ${limit}, expected a number of connections from 1 on`);
    this.#limit = Math.floor(limit);
    this.#release = release;
    this.#graceMs = deadlockGraceMs;
    this.#schedule = schedule;
    this.#pool = {
      used: connection => {
        this.#overflow?.recency.get(connection);
        return ++this.#uses;
      },
      operations: change => {
        this.#operations += change;
        this.#noteIdleness();
      },
      released: connection => {
        this.#open.delete(connection);
        this.#overflow?.recency.delete(connection);
      },
    };
  }

  /** Connections that hold a slot now. */
  get openCount(): number {
    return this.#open.size;
  }

  /** The most connections that were open at once. */
  get mostOpen(): number {
    return this.#mostOpen;
  }

  /** Attempts that wait for a slot now. */
  get waitingCount(): number {
    return this.#waiting;
  }

  /** Attempts that ever had to wait. */
  get waitedCount(): number {
    return this.#waited;
  }

  /** Connections that deadlock detection canceled. */
  get canceledCount(): number {
    return this.#canceled;
  }

  /**
   * A connection at once, or undefined when it has to wait: then call {@link open}. The way for the hot path, as it
   * makes no promise.
   *
   * @throws EdgeError the one given to {@link close}
   */
  tryOpen(): Connection | undefined {
    if (this.#closed !== undefined) throw this.#closed;
    if (this.#waiting > 0 || this.#open.size >= this.#limit) return undefined;
    return this.#start();
  }

  /**
   * A connection, as soon as fewer than the limit are open and every earlier attempt has had its turn.
   * It counts as reading until {@link Connection.answered} is called.
   *
   * @param signal gives up waiting; the promise then rejects with its reason. For the end of one call: the end of the
   *   invocation is {@link close}
   * @throws EdgeError the one given to {@link close}
   */
  async open(signal?: AbortSignal): Promise<Connection> {
    signal?.throwIfAborted();
    const connection = this.tryOpen();
    if (connection !== undefined) return connection;
    this.#overflow ??= this.#takeOver();
    const overflow = this.#overflow;
    this.#waiting++;
    this.#waited++;
    this.#noteIdleness();
    try {
      return await this.#wait(overflow, signal);
    } finally {
      this.#noteIdleness();
    }
  }

  /** The invocation is over: cancels what is open, refuses what waits and all that comes, with the same error. */
  close(error = new EdgeError('EDGE_CANCELED', 'Cannot open a connection: the invocation is over')): void {
    if (this.#closed !== undefined) return;
    this.#closed = error;
    for (const waiting of this.#overflow?.waiting ?? []) waiting.abort(error);
    for (const connection of this.#open) connection.cancel(error);
    this.#noteIdleness();
  }

  /** Takes a slot. The caller has made sure that there is one. */
  #start(): OpenConnection {
    const connection = new OpenConnection(this.#release, this.#pool);
    this.#open.add(connection);
    if (this.#open.size > this.#mostOpen) this.#mostOpen = this.#open.size;
    this.#operations++;
    return connection;
  }

  /** Makes the queue and the record of recency, with the open connections as they stand. */
  #takeOver(): Overflow {
    const overflow: Overflow = {
      queue: new PQueue({ concurrency: this.#limit }),
      recency: new LRUCache({ max: this.#limit }),
      waiting: new Set(),
    };
    const byUse = [...this.#open].sort((a, b) => a.lastUse - b.lastUse);
    for (const connection of byUse) {
      overflow.recency.set(connection, true);
      void overflow.queue.add(() => connection.released());
    }
    return overflow;
  }

  async #wait(overflow: Overflow, signal: AbortSignal | undefined): Promise<Connection> {
    // p-queue would free the slot of a running task when its signal fires, however long the connection stays open: it
    // gets a signal of its own that is cut off from the caller's when the turn comes.
    const waiting = new AbortController();
    const giveUp = (): void => waiting.abort(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    overflow.waiting.add(waiting);
    const stopWaiting = (): void => {
      signal?.removeEventListener('abort', giveUp);
      overflow.waiting.delete(waiting);
      this.#waiting--;
      if (this.#waiting === 0 && this.#overflow === overflow) this.#overflow = undefined;
    };

    return new Promise((resolve, reject) => {
      const take = (): Promise<void> => {
        const connection = this.#start();
        overflow.recency.set(connection, true);
        stopWaiting();
        resolve(connection);
        return connection.released();
      };
      overflow.queue.add(take, { signal: waiting.signal }).catch(error => {
        stopWaiting();
        reject(error);
      });
    });
  }

  /** Starts the wait for a deadlock when one begins, and ends it when something moves. */
  #noteIdleness(): void {
    if (!this.#isDeadlocked()) {
      this.#stopCheck?.();
      this.#stopCheck = undefined;
      return;
    }
    this.#stopCheck ??= this.#schedule(() => {
      this.#stopCheck = undefined;
      if (this.#isDeadlocked()) this.#cancelLeastRecentlyUsed();
    }, this.#graceMs);
  }

  #isDeadlocked(): boolean {
    return this.#waiting > 0 && this.#operations === 0 && this.#open.size >= this.#limit;
  }

  #cancelLeastRecentlyUsed(): void {
    const [connection] = this.#overflow?.recency.rkeys() ?? [];
    if (connection === undefined) return;
    this.#canceled++;
    const what = `${this.#limit} connections are open, none is read or written, and ${this.#waiting} more are wanted`;
    connection.cancel(
      new EdgeError(
        'EDGE_CONNECTION_CANCELED',
        `Cannot use the connection: it was canceled because ${what} (limit connections is ${this.#limit}, option limits.connections); read or cancel each response body`,
      ),
    );
  }
}

/** One open connection: it holds its slot until it is closed or canceled. */
export interface Connection {
  /** The error of the cancelation, once there was one. */
  readonly error: EdgeError | undefined;
  /** Fires when the connection is canceled, with the error as its reason: to end what goes on below it. */
  readonly signal: AbortSignal;
  /** The head of the answer is there. With `release: 'headers'` this frees the slot. @throws EdgeError when canceled */
  answered(): void;
  /** Something is waited for. Call `endRead` when it came or failed. @throws EdgeError when canceled */
  beginRead(): void;
  endRead(): void;
  /** Bytes of the request are on their way. Call `endWrite` when they are taken. @throws EdgeError when canceled */
  beginWrite(): void;
  endWrite(): void;
  /** The body is read or canceled, or there is none, or the request failed. May be called at any time, and again. */
  close(): void;
}

class OpenConnection implements Connection {
  readonly #release: ConnectionSlotRelease;
  readonly #pool: Pool;
  /** Reads and writes in progress; the wait for the answer is the first. */
  #operations = 1;
  #isAnswered = false;
  #holdsSlot = true;
  #abort: AbortController | undefined;
  #resolveReleased: (() => void) | undefined;
  error: EdgeError | undefined;
  /** The number of the last use in the order of all uses. */
  lastUse: number;

  constructor(release: ConnectionSlotRelease, pool: Pool) {
    this.#release = release;
    this.#pool = pool;
    this.lastUse = pool.used(this);
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.error !== undefined) this.#abort.abort(this.error);
    }
    return this.#abort.signal;
  }

  answered(): void {
    this.#checkNotCanceled();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    this.#end();
    if (this.#release === 'headers') this.close();
  }

  beginRead(): void {
    this.#begin();
  }

  endRead(): void {
    this.#end();
  }

  beginWrite(): void {
    this.#begin();
  }

  endWrite(): void {
    this.#end();
  }

  close(): void {
    if (!this.#holdsSlot) return;
    this.#holdsSlot = false;
    this.#pool.released(this);
    const left = this.#operations;
    this.#operations = 0;
    this.#pool.operations(-left);
    this.#resolveReleased?.();
  }

  cancel(error: EdgeError): void {
    if (!this.#holdsSlot) return;
    this.error = error;
    this.close();
    this.#abort?.abort(error);
  }

  /** Resolves when the slot is free. Asked once by each queue that counts the connection as a running task. */
  released(): Promise<void> {
    if (!this.#holdsSlot) return Promise.resolve();
    return new Promise(resolve => {
      this.#resolveReleased = resolve;
    });
  }

  #begin(): void {
    this.#checkNotCanceled();
    if (!this.#holdsSlot) return;
    this.lastUse = this.#pool.used(this);
    this.#operations++;
    this.#pool.operations(1);
  }

  #end(): void {
    if (!this.#holdsSlot || this.#operations === 0) return;
    this.lastUse = this.#pool.used(this);
    this.#operations--;
    this.#pool.operations(-1);
  }

  #checkNotCanceled(): void {
    if (this.error !== undefined) throw this.error;
  }
}

/** What a connection tells its gate. One object for all connections of the gate. */
interface Pool {
  /** It was used now. Returns the number of the use. */
  used(connection: OpenConnection): number;
  /** So many more reads and writes are in progress. */
  operations(change: number): void;
  /** Its slot is free. */
  released(connection: OpenConnection): void;
}

interface Overflow {
  readonly queue: PQueue;
  readonly recency: LRUCache<OpenConnection, true>;
  /** Each attempt that waits, to be given up with it. */
  readonly waiting: Set<AbortController>;
}

/** A timer that keeps no process alive. */
function scheduleTimer(check: () => void, delayMs: number): () => void {
  const timer = setTimeout(check, delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}
