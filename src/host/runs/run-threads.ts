/**
 * The threads of one account's runs. Each serves one run at a time, and takes a new realm after it, which is ready before the next run comes. A thread is ended
 * instead after a bounded number of runs, and whenever something of a run could have survived it.
 */
import { availableParallelism } from 'node:os';
import { execute } from 'abort-controller-x';
import type { IsolateCache } from '../../pool/host/isolate-cache.js';
import type { IsolateHandle } from '../../pool/host/isolate-handle.js';
import { EdgeError } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { cachePrefix } from '../invocation/function-runner.js';

/** A new thread takes 90 ms of CPU time (measured on Node 20.20): a third of a millisecond for each of 250 runs. */
const MAX_RUNS = 250;
/** A realm takes some milliseconds. A thread that does not answer is of no use. */
const RENEW_WITHIN_MS = 5000;
/** Runs of one account that may wait for a thread. */
const MAX_WAITING = 10_000;
/** A run that finds no thread in this time is refused, as a function that finds no isolate is. */
const WAIT_MS = 30_000;
/** As many threads keep the processors busy with code that computes. */
const EAGER = Math.max(2, availableParallelism());
/** More are started one by one, while no run has found a thread for this long: those that run wait for tools then. */
const BLOCKED_MS = 10;
/** After a run the next one is expected for this long, and a thread that is ready for it. */
const ACTIVE_MS = 1000;

export interface RunThreadsOptions {
  readonly account: string;
  readonly cache: IsolateCache;
  /** The most threads at once. */
  readonly max: number;
  /** The memory that a new isolate has: one that was started with another is of no use. */
  readonly memoryBytes: () => number;
  /** An isolate with an empty realm, when there is a place for it. */
  readonly acquire: (signal: AbortSignal) => Promise<IsolateHandle>;
}

export class RunThread {
  readonly isolate: IsolateHandle;
  readonly memoryBytes: number;
  readonly key: string;
  runs = 0;
  /** It has a run, or is becoming ready for the next one. */
  isTaken = true;
  /** Called when it has ended. Set while a session keeps it. */
  onGone: (() => void) | undefined;

  constructor(isolate: IsolateHandle, memoryBytes: number, key: string) {
    this.isolate = isolate;
    this.memoryBytes = memoryBytes;
    this.key = key;
  }
}

interface Waiter {
  readonly take: (thread: RunThread) => void;
  readonly refuse: (error: unknown) => void;
  readonly sinceMs: number;
}

let serial = 0;

export class RunThreads {
  readonly #options: RunThreadsOptions;
  readonly #ready: RunThread[] = [];
  /** Those that keep the realm of a session between its runs, the longest unused first. */
  readonly #parked = new Set<RunThread>();
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  /** All threads, those that are starting included. */
  #size = 0;
  /** Those that are starting, or are taking a new realm. */
  #coming = 0;
  #lastTakenMs = Number.NEGATIVE_INFINITY;
  /** Runs while others wait. */
  #timer: NodeJS.Timeout | undefined;
  /** A run has found a thread since the last look of the timer. */
  #hasMoved = false;

  constructor(options: RunThreadsOptions) {
    this.#options = options;
  }

  /**
   * A thread with a realm in which nothing has run. Rejects with EDGE_OVERLOADED when too many runs wait, with the reason of the signal, and as `acquire` does.
   */
  async take(signal: AbortSignal): Promise<RunThread> {
    this.#closing.signal.throwIfAborted();
    signal.throwIfAborted();
    const nowMs = performance.now();
    const isActive = nowMs - this.#lastTakenMs < ACTIVE_MS;
    this.#lastTakenMs = nowMs;
    const ready = this.#takeReady();
    if (ready !== undefined) {
      // The next run should find one, too, while this one runs and takes its realm.
      if (isActive && this.#size < EAGER && this.#ready.length + this.#coming === 0) this.#start(false);
      return ready;
    }
    if (this.#waiters.size >= MAX_WAITING) {
      const { account } = this.#options;
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Account "${account}" has ${this.#waiters.size} runs waiting for a thread`,
      );
    }
    return await execute<RunThread>(signal, (resolve, reject) => {
      const waiter: Waiter = { take: resolve, refuse: reject, sinceMs: nowMs };
      this.#waiters.add(waiter);
      this.#startForWaiters();
      return () => {
        this.#waiters.delete(waiter);
      };
    });
  }

  /** The run is over. `isClean`: nothing but an answer, or an exception, has ended it. */
  give(thread: RunThread, isClean: boolean): void {
    const isOfUse = isClean && ++thread.runs < MAX_RUNS && this.#isOfUse(thread);
    if (!isOfUse) {
      this.end(thread);
      return;
    }
    this.#coming++;
    const timer = setTimeout(
      guarded(() => thread.isolate.end()),
      RENEW_WITHIN_MS,
    ).unref();
    detached(
      thread.isolate.renew().then(isReady => {
        clearTimeout(timer);
        this.#came(thread, isReady);
      }),
    );
  }

  /** Keeps the thread and its realm for the next run of a session, unless somebody else needs the place. */
  park(thread: RunThread): void {
    thread.isTaken = false;
    this.#parked.add(thread);
    const [waiter] = this.#waiters;
    if (waiter !== undefined) this.#startForWaiters();
  }

  /** The next run of the session has come. False if the thread is gone. */
  unpark(thread: RunThread): boolean {
    if (!this.#parked.delete(thread) || !this.#isOfUse(thread)) {
      this.end(thread);
      return false;
    }
    thread.isTaken = true;
    this.#options.cache.get(thread.key);
    return true;
  }

  /** Ends a thread, with the run that it has. */
  end(thread: RunThread): void {
    thread.isTaken = false;
    thread.isolate.end();
  }

  /** No run begins any more. Threads end with their isolates. */
  close(error: EdgeError): void {
    this.#closing.abort(error);
    clearInterval(this.#timer);
    for (const waiter of [...this.#waiters]) waiter.refuse(error);
    this.#waiters.clear();
    for (const thread of [...this.#ready.splice(0), ...this.#parked]) this.end(thread);
  }

  #came(thread: RunThread, isReady: boolean): void {
    this.#coming--;
    if (isReady && this.#isOfUse(thread)) this.#offer(thread);
    else {
      this.end(thread);
      this.#startForWaiters();
    }
  }

  #offer(thread: RunThread): void {
    const [waiter] = this.#waiters;
    if (waiter === undefined) {
      thread.isTaken = false;
      this.#ready.push(thread);
      return;
    }
    this.#waiters.delete(waiter);
    this.#hasMoved = true;
    waiter.take(thread);
  }

  /** The one that has waited longest: its collector and compiler have had most time. */
  #takeReady(): RunThread | undefined {
    for (let thread = this.#ready.shift(); thread !== undefined; thread = this.#ready.shift()) {
      if (!this.#isOfUse(thread)) {
        this.end(thread);
        continue;
      }
      thread.isTaken = true;
      // Counts as a use.
      this.#options.cache.get(thread.key);
      return thread;
    }
    return undefined;
  }

  #isOfUse({ isolate, memoryBytes }: RunThread): boolean {
    return isolate.takesNew && memoryBytes === this.#options.memoryBytes() && !this.#closing.signal.aborted;
  }

  #startForWaiters(): void {
    if (this.#waiters.size === 0) return;
    if (this.#size < EAGER && this.#waiters.size > this.#coming) this.#start(true);
    this.#timer ??= setInterval(
      guarded(() => this.#look()),
      BLOCKED_MS,
    ).unref();
  }

  #look(): void {
    const hasMoved = this.#hasMoved;
    this.#hasMoved = false;
    const overdueMs = performance.now() - WAIT_MS;
    for (const waiter of [...this.#waiters]) {
      if (waiter.sinceMs > overdueMs) break;
      this.#waiters.delete(waiter);
      waiter.refuse(this.#overloaded());
    }
    if (this.#waiters.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    } else if (!hasMoved && this.#waiters.size > this.#coming) this.#start(true);
  }

  #overloaded(): EdgeError {
    const { account, max } = this.#options;
    return new EdgeError(
      'EDGE_OVERLOADED',
      `Cannot start a run of account "${account}": no thread was free for ${WAIT_MS} ms, it has ${this.#size} of at most ${max} (option maxIsolatesPerAccount of the host)`,
    );
  }

  /** @param isNeeded a run waits for it, and gets the error when it cannot be started */
  #start(isNeeded: boolean): void {
    const { account, acquire, cache, max, memoryBytes } = this.#options;
    if (this.#closing.signal.aborted) return;
    if (this.#size >= max) {
      // It starts when that thread is gone. Without one, a busy thread will become ready.
      const [parked] = this.#parked;
      if (isNeeded && parked !== undefined) this.end(parked);
      return;
    }
    this.#size++;
    this.#coming++;
    const bytes = memoryBytes();
    const started = acquire(this.#closing.signal).then(
      isolate => {
        this.#coming--;
        const thread = new RunThread(isolate, bytes, `${cachePrefix(account)}run-${++serial}`);
        cache.set(thread.key, isolate, () => thread.isTaken);
        isolate.whenGone(() => this.#gone(thread));
        if (this.#isOfUse(thread)) this.#offer(thread);
        else this.end(thread);
      },
      (error: unknown) => {
        this.#size--;
        this.#coming--;
        // One that was started ahead is missed by nobody.
        const [waiter] = this.#waiters;
        if (isNeeded && waiter !== undefined && this.#size === 0) {
          this.#waiters.delete(waiter);
          waiter.refuse(error);
          this.#startForWaiters();
        }
      },
    );
    detached(started);
  }

  #gone(thread: RunThread): void {
    this.#size--;
    const at = this.#ready.indexOf(thread);
    if (at >= 0) this.#ready.splice(at, 1);
    this.#parked.delete(thread);
    thread.onGone?.();
    this.#startForWaiters();
  }
}
