/**
 * How many isolates may be alive at once, in all accounts together and in each of them: a place is taken before an isolate is started, and is free
 * again when the isolate is gone. Where there is no place, the least recently used idle isolate goes; when all are busy, the new one waits.
 */
import { delay, execute, race } from 'abort-controller-x';
import { EdgeError } from '../quotas/errors.js';
import type { IsolateHandle } from './isolate-handle.js';

export interface GateOptions {
  readonly max: number;
  readonly maxPerAccount: number;
  /** Ends an idle isolate, of the account or of any; false when there is none. */
  readonly evict: (account: string | undefined) => boolean;
  /** The memory of all isolates together. @default unbounded */
  readonly memory?: GateMemory;
  /** How long a new isolate may wait. @default 30,000 */
  readonly withinMs?: number;
}

export interface GateMemory {
  /** Reserves the memory of one more isolate of the account; undefined when there is none, which {@link IsolateGate.changed} says may be over. */
  reserve(account: string): number | undefined;
  /** The isolate is there, and is measured from now on; or it is not to come. */
  release(bytes: number): void;
  /** What is full, for people. */
  describe(): string;
}

const WITHIN_MS = 30_000;

interface Waiter {
  readonly account: string;
  readonly admit: (reservedBytes: number) => void;
  readonly refuse: (error: EdgeError) => void;
}

export class IsolateGate {
  readonly #options: GateOptions;
  readonly #counts = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();
  #isClosed = false;
  #size = 0;
  #isScheduled = false;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Isolates that are alive or being started, spares not counted. */
  get size(): number {
    return this.#size;
  }

  /**
   * An isolate that has a place, started by `start`.
   * Rejects with EDGE_OVERLOADED when every place has been busy for long, EDGE_CLOSED when the host is closed, and as `start` does.
   */
  async acquire(signal: AbortSignal, account: string, start: () => Promise<IsolateHandle>): Promise<IsolateHandle> {
    const reservedBytes = await this.#enter(signal, account);
    let handle: IsolateHandle;
    try {
      handle = await start();
    } catch (error) {
      this.#leave(account);
      throw error;
    } finally {
      this.#options.memory?.release(reservedBytes);
    }
    handle.whenIdle(() => this.changed());
    handle.whenGone(() => this.#leave(account));
    return handle;
  }

  /** Who waits is refused. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of [...this.#waiters]) {
      this.#waiters.delete(waiter);
      waiter.refuse(closedError(waiter.account));
    }
  }

  /** Answers the memory that is reserved. */
  async #enter(signal: AbortSignal, account: string): Promise<number> {
    if (this.#isClosed) throw closedError(account);
    signal.throwIfAborted();
    // Mostly there is a place: then nothing is made to wait with.
    if (this.#waiters.size === 0) {
      const place = this.#placeFor(account);
      if (typeof place === 'number') {
        this.#take(account);
        return place;
      }
    }
    let admitted: number | undefined;
    try {
      return await race(signal, within => [
        execute<number>(within, (resolve, reject) => {
          const admit = (reservedBytes: number): void => {
            admitted = reservedBytes;
            resolve(reservedBytes);
          };
          const waiter = { account, admit, refuse: reject };
          this.#waiters.add(waiter);
          this.#serve();
          return () => {
            this.#waiters.delete(waiter);
          };
        }),
        delay(within, this.#options.withinMs ?? WITHIN_MS).then((): number => {
          throw this.#overloaded(account);
        }),
      ]);
    } catch (error) {
      // The place came when it was wanted no more.
      if (admitted !== undefined) {
        this.#leave(account);
        this.#options.memory?.release(admitted);
      }
      throw error;
    }
  }

  #leave(account: string): void {
    this.#size--;
    const left = this.#countOf(account) - 1;
    if (left > 0) this.#counts.set(account, left);
    else this.#counts.delete(account);
    this.changed();
  }

  /** Some isolate has come to be idle or is gone, or memory is there again. Later, so that what its function has waiting comes to it first. */
  changed(): void {
    if (this.#waiters.size === 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#serve();
    });
  }

  #serve(): void {
    const full = new Set<string>();
    for (const waiter of this.#waiters) {
      const { account } = waiter;
      if (full.has(account)) continue;
      const place = this.#placeFor(account);
      if (place === 'host full' || place === 'memory full') return;
      if (place === 'account full') {
        full.add(account);
        continue;
      }
      this.#waiters.delete(waiter);
      this.#take(account);
      waiter.admit(place);
    }
  }

  /** Whether one more isolate may start, for which an idle one may have to end: then the bytes that are reserved for it. */
  #placeFor(account: string): number | 'account full' | 'host full' | 'memory full' {
    const { max, maxPerAccount, evict, memory } = this.#options;
    if (this.#countOf(account) >= maxPerAccount && !evict(account)) return 'account full';
    if (this.#size >= max && !evict(undefined)) return 'host full';
    return memory === undefined ? 0 : (memory.reserve(account) ?? 'memory full');
  }

  #take(account: string): void {
    this.#size++;
    this.#counts.set(account, this.#countOf(account) + 1);
  }

  #countOf(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  #overloaded(account: string): EdgeError {
    const { max, maxPerAccount, memory } = this.#options;
    const what =
      this.#countOf(account) >= maxPerAccount
        ? `all ${maxPerAccount} that it may have are busy (option maxIsolatesPerAccount)`
        : this.#size >= max || memory === undefined
          ? `all ${max} of the host are busy (option maxIsolates)`
          : memory.describe();
    return new EdgeError('EDGE_OVERLOADED', `Cannot start an isolate of account "${account}": ${what}`);
  }
}

function closedError(account: string): EdgeError {
  return new EdgeError('EDGE_CLOSED', `Cannot start an isolate of account "${account}": the host is closed`);
}
