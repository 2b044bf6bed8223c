/**
 * At most six open connections per invocation (specification: States, "Connection pool of one invocation"; Limits, rule 7). More attempts wait in order; when
 * everything open is idle while attempts wait, the least recently used connection is canceled.
 *
 * p-queue holds the waiting attempts and lru-cache the order of use of open connections. Neither is made before there is something to put in order: the queue
 * with the first attempt that finds no room, the order of use with the second connection that is open at the same time. A single call needs neither. As a task
 * of a queue it would cost 3 us more, and 4 us more to make both (Node 20.20), while all of its accounting here takes 1 us.
 */

import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { EdgeError } from './errors.js';
import { guarded } from './guarded.js';

/** When the slot of a connection is free again: with the end of the answer's body, or with its headers already. */
export type ConnectionSlotRelease = 'body' | 'headers';

export interface ConnectionLimiterOptions {
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

export class ConnectionLimiter {
  readonly #limit: number;
  readonly #release: ConnectionSlotRelease;
  readonly #graceMs: number;
  readonly #schedule: (check: () => void, delayMs: number) => () => void;
  readonly #slots: Slots;
  readonly #open = new Set<OpenConnection>();
  /** Open connections, the least recently used first. Undefined while no two connections have been open at once. */
  #recency: LRUCache<OpenConnection, true> | undefined;
  /** The attempts that wait: the task of each takes one slot, one task after the other. */
  #queue: PQueue | undefined;
  /** The controllers of waiting attempts, which cancel them. */
  #waiting: Set<AbortController> | undefined;
  /** Takes a slot for the attempt whose turn it is, if there is one. */
  #takeSlot: (() => void) | undefined;
  #waited = 0;
  #mostOpen = 0;
  #canceled = 0;
  /** The error of the first connection that was canceled because others were wanted. */
  canceled: EdgeError | undefined;
  /** Reads and writes in progress on all connections. */
  #operations = 0;
  #stopCheck: (() => void) | undefined;
  #isClosed = false;
  #closedBy: EdgeError | undefined;

  /** @throws RangeError when `limit` is less than one */
  constructor(options: ConnectionLimiterOptions = {}) {
    const { limit = 6, release = 'body', deadlockGraceMs = 50, schedule = scheduleTimer } = options;
    if (!(limit >= 1)) throw new RangeError(`Option limit is ${limit}, expected a number of connections from 1 on`);
    this.#limit = Math.floor(limit);
    this.#release = release;
    this.#graceMs = deadlockGraceMs;
    this.#schedule = schedule;
    this.#slots = {
      used: connection => void this.#recency?.get(connection),
      operations: change => {
        this.#operations += change;
        this.#noteIdleness();
      },
      released: connection => {
        this.#open.delete(connection);
        this.#recency?.delete(connection);
        this.#takeSlot?.();
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
    return this.#waiting?.size ?? 0;
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
   * A connection at once, or undefined when it must wait: then call {@link open}. The way for the hot path, as it makes no promise.
   *
   * @throws EdgeError the one given to {@link close}
   */
  tryOpen(): Connection | undefined {
    if (this.#isClosed) throw this.#closeError();
    if (this.waitingCount > 0 || this.#open.size >= this.#limit) return undefined;
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
    return this.tryOpen() ?? (await this.#wait(signal));
  }

  /** Open connections are used, by something other than a read or write of one connection, until the returned function is called. */
  use(): () => void {
    this.#slots.operations(1);
    return () => this.#slots.operations(-1);
  }

  /** The invocation is over: cancels open connections, and refuses waiting and later attempts, with the same error. */
  close(error?: EdgeError): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#closedBy = error;
    if (this.#open.size === 0 && this.waitingCount === 0) return;
    for (const attempt of this.#waiting ?? []) attempt.abort(this.#closeError());
    for (const connection of this.#open) connection.cancel(this.#closeError());
    this.#noteIdleness();
  }

  /** Made when it is first used: most invocations end with nothing open. */
  #closeError(): EdgeError {
    this.#closedBy ??= new EdgeError('EDGE_CANCELED', 'Cannot open a connection: the invocation is over');
    return this.#closedBy;
  }

  /** Takes a slot. The caller has made sure that there is one. */
  #start(): OpenConnection {
    const connection = new OpenConnection(this.#release, this.#slots);
    if (this.#open.size > 0) this.#orderOfUse().set(connection, true);
    this.#open.add(connection);
    if (this.#open.size > this.#mostOpen) this.#mostOpen = this.#open.size;
    this.#operations++;
    return connection;
  }

  #orderOfUse(): LRUCache<OpenConnection, true> {
    if (this.#recency === undefined) {
      // It holds open connections, so nothing is evicted. A bound of entries would reserve room for all of them.
      this.#recency = new LRUCache({ maxSize: Number.MAX_SAFE_INTEGER, sizeCalculation: () => 1 });
      for (const connection of this.#open) this.#recency.set(connection, true);
    }
    return this.#recency;
  }

  async #wait(signal: AbortSignal | undefined): Promise<Connection> {
    const attempt = new AbortController();
    const giveUp = guarded((): void => attempt.abort(signal?.reason));
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#waiting ??= new Set();
    const waiting = this.#waiting;
    waiting.add(attempt);
    this.#waited++;
    this.#noteIdleness();
    this.#queue ??= new PQueue({ concurrency: 1 });
    try {
      return await this.#queue.add(() => this.#turn(attempt), { signal: attempt.signal });
    } finally {
      signal?.removeEventListener('abort', giveUp);
      waiting.delete(attempt);
      this.#noteIdleness();
    }
  }

  /** It is the turn of an attempt: it takes the next slot that is free, in the call that frees it. */
  #turn(attempt: AbortController): Promise<Connection> {
    return new Promise(resolve => {
      this.#takeSlot = () => {
        if (attempt.signal.aborted || this.#open.size >= this.#limit) return;
        this.#takeSlot = undefined;
        this.#waiting?.delete(attempt);
        resolve(this.#start());
      };
      this.#takeSlot();
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
    return this.waitingCount > 0 && this.#operations === 0 && this.#open.size >= this.#limit;
  }

  #cancelLeastRecentlyUsed(): void {
    const [connection] = this.#recency?.rkeys() ?? this.#open;
    if (connection === undefined) return;
    this.#canceled++;
    const what = `${this.#limit} connections are open, none is read or written, and ${this.waitingCount} more are wanted`;
    const error = new EdgeError(
      'EDGE_CONNECTION_CANCELED',
      `Cannot use the connection: it was canceled because ${what} (limit connections is ${this.#limit}, option limits.connections); read or cancel each response body`,
      { limit: { name: 'connections', actual: this.#open.size + this.waitingCount, allowed: this.#limit } },
    );
    this.canceled ??= error;
    connection.cancel(error);
  }
}

/** One open connection: it holds its slot until it is closed or canceled. */
export interface Connection {
  /** The error of the cancelation, once there was one. */
  readonly error: EdgeError | undefined;
  /** Called once when the connection is canceled, with the error: it ends the work that uses the connection. */
  onCanceled: ((error: EdgeError) => void) | undefined;
  /** The head of the answer is there. With `release: 'headers'` this frees the slot. @throws EdgeError when canceled */
  answered(): void;
  /** Something is waited for. Call `endRead` when it came or failed. @throws EdgeError when canceled */
  beginRead(): void;
  endRead(): void;
  /** Bytes of the request are on their way. Call `endWrite` when they are taken. @throws EdgeError when canceled */
  beginWrite(): void;
  endWrite(): void;
  /** Called when the body has been read or canceled, when the answer has no body, or when the request failed. May be called at any time, and again. */
  close(): void;
}

class OpenConnection implements Connection {
  readonly #release: ConnectionSlotRelease;
  readonly #slots: Slots;
  /** Reads and writes in progress; the wait for the answer is the first. */
  #operations = 1;
  #isAnswered = false;
  #holdsSlot = true;
  error: EdgeError | undefined;
  onCanceled: ((error: EdgeError) => void) | undefined;

  constructor(release: ConnectionSlotRelease, slots: Slots) {
    this.#release = release;
    this.#slots = slots;
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
    const left = this.#operations;
    this.#operations = 0;
    this.#slots.released(this);
    this.#slots.operations(-left);
  }

  cancel(error: EdgeError): void {
    if (!this.#holdsSlot) return;
    this.error = error;
    this.close();
    this.onCanceled?.(error);
  }

  #begin(): void {
    this.#checkNotCanceled();
    if (!this.#holdsSlot) return;
    this.#slots.used(this);
    this.#operations++;
    this.#slots.operations(1);
  }

  #end(): void {
    if (!this.#holdsSlot || this.#operations === 0) return;
    this.#slots.used(this);
    this.#operations--;
    this.#slots.operations(-1);
  }

  #checkNotCanceled(): void {
    if (this.error !== undefined) throw this.error;
  }
}

/** The events of a connection for its limiter. One object for all connections of the limiter. */
interface Slots {
  /** It was used now. */
  used(connection: OpenConnection): void;
  /** The number of reads and writes in progress has changed by `change`. */
  operations(change: number): void;
  /** Its slot is free. */
  released(connection: OpenConnection): void;
}

/** A timer that keeps no process alive. */
function scheduleTimer(check: () => void, delayMs: number): () => void {
  const timer = setTimeout(guarded(check), delayMs);
  timer.unref();
  return () => clearTimeout(timer);
}
