/**
 * Bounds the isolates that are alive at once, in all accounts together and in each of them: a place is taken before an isolate is started, and is
 * free again when the isolate is gone. Without a free place the least recently used idle isolate is ended; when all are busy, the new one waits.
 */
import { delay, execute, race } from 'abort-controller-x';
import { EdgeError } from '../quotas/errors.js';
import { guarded } from '../quotas/guarded.js';
import type { IsolateHandle } from './isolate-handle.js';

export interface GateOptions {
  readonly max: number;
  readonly maxPerAccount: number;
  /** Ends an idle isolate of the account, or of any account. False if there is none. */
  readonly evict: (account: string | undefined) => boolean;
  /** The memory of all isolates. @default unbounded */
  readonly memory?: GateMemory;
  /** How long a new isolate may wait. @default 30,000 */
  readonly withinMs?: number;
}

export interface GateMemory {
  /** Reserves memory for one more isolate of the account. Undefined if there is none now; {@link IsolateGate.changed} is called when there may be. */
  reserve(account: string): number | undefined;
  /** Releases the reservation: the isolate has started and is measured from now on, or it does not start. */
  release(bytes: number): void;
  /** The bound that is reached, for messages. */
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

  /** Isolates that are alive or starting, spares not counted. */
  get size(): number {
    return this.#size;
  }

  /**
   * Starts an isolate by `start` when there is a place for it.
   * Rejects with EDGE_OVERLOADED when no place is free within `withinMs`, EDGE_CLOSED when the host is closed, and as `start` does.
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

  /** Refuses waiting calls, and later ones. */
  close(): void {
    this.#isClosed = true;
    for (const waiter of [...this.#waiters]) {
      this.#waiters.delete(waiter);
      waiter.refuse(closedError(waiter.account));
    }
  }

  /** Resolves to the bytes that are reserved. */
  async #enter(signal: AbortSignal, account: string): Promise<number> {
    if (this.#isClosed) throw closedError(account);
    signal.throwIfAborted();
    // The fast path: nothing is allocated for waiting.
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
      // The caller gave up in the meantime.
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

  /** An isolate has become idle or is gone, or memory is available. Deferred, so that waiting requests of its own function come first. */
  changed(): void {
    if (this.#waiters.size === 0 || this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(
      guarded(() => {
        this.#isScheduled = false;
        this.#serve();
      }),
    );
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

  /** Makes a place for one more isolate, by ending an idle one if necessary: the reserved bytes, or the bound that is reached. */
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
