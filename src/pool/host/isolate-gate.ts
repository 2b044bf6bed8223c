/**
 * Bounds the isolates that are alive at once, in all accounts together and in each of them: a place is taken before an isolate is started, and is
 * free again when the isolate is gone. Without a free place the least recently used idle isolate is ended; when all are busy, the new one waits.
 */
import { delay, execute, race } from 'abort-controller-x';
import { EdgeError, type EdgeErrorCode } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { IsolateHandle } from './isolate-handle.js';

export interface GateOptions {
  readonly max: number;
  readonly maxPerAccount: number;
  /** Ends an idle isolate of the account, or of any account. False when no isolate is idle. */
  readonly evict: (account: string | undefined) => boolean;
  /** The room for all isolates: memory, descriptors, tasks. @default unbounded */
  readonly room?: GateRoom;
  /** How long a new isolate may wait. For one that is patient, this time begins again with each other one of its account. @default 30,000 */
  readonly withinMs?: number;
  /** How long one may wait that a limit of the system keeps from starting, while no other starts either. @default 5,000 */
  readonly systemWithinMs?: number;
}

/** To be called when the isolate has started and is measured from then on, or does not start. */
export type ReleaseRoom = () => void;

export interface GateRoom {
  /** Reserves room for one more isolate of the account. Undefined without room now; {@link IsolateGate.changed} is called when there may be. */
  reserve(account: string): ReleaseRoom | undefined;
  /** The bound that is reached. */
  shortage(account: string): RoomShortage;
}

export interface RoomShortage {
  readonly code: EdgeErrorCode;
  /** Completes "Cannot start an isolate of account "a": ". */
  readonly text: string;
}

const WITHIN_MS = 30_000;
/** A cell that is ending gives its descriptors and tasks back within this time. Nobody waits longer for cells that are busy. */
const SYSTEM_WITHIN_MS = 5000;
const UNBOUNDED: ReleaseRoom = () => {};

export interface AcquireOptions {
  /**
   * Waits on as long as waiting isolates of its account are admitted before it. For the load of a new version: an application that restarts loads
   * all of them at once. @default false
   */
  readonly isPatient?: boolean;
}

interface Waiter {
  readonly account: string;
  readonly admit: (release: ReleaseRoom) => void;
  readonly refuse: (error: EdgeError) => void;
}

export class IsolateGate {
  readonly #options: GateOptions;
  readonly #counts = new Map<string, number>();
  /** In the order in which they came. */
  readonly #waiters = new Set<Waiter>();
  /** Counts those that have waited and were admitted. */
  #admitted = 0;
  /** The count at the last admission of each account that has isolates. */
  readonly #lastAdmitted = new Map<string, number>();
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
   * Starts an isolate by `start` when there is a place for it. Rejects with EDGE_OVERLOADED when no place is free within `withinMs`, the code of the shortage
   * when there is no room, EDGE_CLOSED when the host is closed, and as `start` does.
   */
  async acquire(
    signal: AbortSignal,
    account: string,
    start: () => Promise<IsolateHandle>,
    { isPatient = false }: AcquireOptions = {},
  ): Promise<IsolateHandle> {
    const release = await this.#enter(signal, account, isPatient);
    let handle: IsolateHandle;
    try {
      handle = await start();
    } catch (error) {
      this.#leave(account);
      throw error;
    } finally {
      release();
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

  async #enter(signal: AbortSignal, account: string, isPatient: boolean): Promise<ReleaseRoom> {
    if (this.#isClosed) throw closedError(account);
    signal.throwIfAborted();
    // The fast path: nothing is allocated for waiting.
    if (this.#waiters.size === 0) {
      const place = this.#placeFor(account);
      if (typeof place === 'function') {
        this.#take(account);
        return place;
      }
    }
    let admitted: ReleaseRoom | undefined;
    try {
      return await race(signal, within => [
        execute<ReleaseRoom>(within, (resolve, reject) => {
          const admit = (release: ReleaseRoom): void => {
            admitted = release;
            resolve(release);
          };
          const waiter = { account, admit, refuse: reject };
          this.#waiters.add(waiter);
          this.#serve();
          return () => {
            this.#waiters.delete(waiter);
          };
        }),
        this.#giveUp(within, account, isPatient),
      ]);
    } catch (error) {
      // The caller gave up in the meantime.
      if (admitted !== undefined) {
        this.#leave(account);
        admitted();
      }
      throw error;
    }
  }

  /** Rejects when what the account waits for has not come in time. */
  async #giveUp(within: AbortSignal, account: string, isPatient: boolean): Promise<never> {
    const { withinMs = WITHIN_MS, systemWithinMs = SYSTEM_WITHIN_MS } = this.#options;
    let leftMs = withinMs;
    while (leftMs > 0) {
      const admitted = this.#admitted;
      const ofAccount = this.#lastAdmitted.get(account);
      const stepMs = Math.min(leftMs, systemWithinMs);
      await delay(within, stepMs);
      leftMs = isPatient && this.#lastAdmitted.get(account) !== ofAccount ? withinMs : leftMs - stepMs;
      // As others do start, its turn may come.
      if (this.#admitted !== admitted) continue;
      const refusal = this.#refusal(account);
      if (refusal.code !== 'EDGE_OVERLOADED') throw refusal;
    }
    throw this.#refusal(account);
  }

  #leave(account: string): void {
    this.#size--;
    const left = this.#countOf(account) - 1;
    if (left > 0) this.#counts.set(account, left);
    else {
      this.#counts.delete(account);
      this.#lastAdmitted.delete(account);
    }
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
      if (place === 'host full' || place === 'no room') return;
      if (place === 'account full') {
        full.add(account);
        continue;
      }
      this.#waiters.delete(waiter);
      this.#take(account);
      this.#admitted++;
      this.#lastAdmitted.set(account, this.#admitted);
      waiter.admit(place);
    }
  }

  /** Makes a place for one more isolate, by ending an idle one if necessary: what it reserves, or the bound that is reached. */
  #placeFor(account: string): ReleaseRoom | 'account full' | 'host full' | 'no room' {
    const { max, maxPerAccount, evict, room } = this.#options;
    if (this.#countOf(account) >= maxPerAccount && !evict(account)) return 'account full';
    if (this.#size >= max && !evict(undefined)) return 'host full';
    return room === undefined ? UNBOUNDED : (room.reserve(account) ?? 'no room');
  }

  #take(account: string): void {
    this.#size++;
    this.#counts.set(account, this.#countOf(account) + 1);
  }

  #countOf(account: string): number {
    return this.#counts.get(account) ?? 0;
  }

  #refusal(account: string): EdgeError {
    const { code, text } = this.#shortage(account);
    return new EdgeError(code, `Cannot start an isolate of account "${account}": ${text}`);
  }

  #shortage(account: string): RoomShortage {
    const { max, maxPerAccount, room } = this.#options;
    const code = 'EDGE_OVERLOADED';
    if (this.#countOf(account) >= maxPerAccount)
      return { code, text: `all ${maxPerAccount} that it may have are busy (option maxIsolatesPerAccount)` };
    if (this.#size >= max || room === undefined)
      return { code, text: `all ${max} of the host are busy (option maxIsolates)` };
    return room.shortage(account);
  }
}

function closedError(account: string): EdgeError {
  return new EdgeError('EDGE_CLOSED', `Cannot start an isolate of account "${account}": the host is closed`);
}
