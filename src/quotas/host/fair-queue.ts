/**
 * A queue in front of what all accounts share: threads that read and write files, decoders, reads of the database. An account with many
 * requests waits behind its own work, not in front of others.
 *
 * Between owners the order follows start-time fair queueing (Goyal, Vin, Cheng 1996): each task has a cost, and the owner that was given least is next. An
 * owner that was idle begins where the others are: it neither saves up idle time nor is charged for time in which no task waited. Within an owner the order is
 * the order of arrival.
 *
 * p-queue, which the connections of an invocation use, orders by one priority: it knows no owners, cannot leave a place free for another one, and
 * takes several promises for a task that could begin at once. Here that takes none.
 */
import { EdgeError } from '../errors.js';
import { guarded } from '../guarded.js';

export interface FairQueueOptions {
  /** The purpose of the tasks, for messages: "Cannot read or write a file: ...". */
  readonly task: string;
  /** Tasks that run at once. */
  readonly concurrency: number;
  /** The most running tasks of one owner while other owners wait. */
  readonly perOwner: number;
  /** The most running tasks of one owner, also while nobody else waits: for tasks that cannot be taken back when somebody does. @default concurrency */
  readonly mostPerOwner?: number;
  /** Tasks of one owner that wait; more are refused with EDGE_OVERLOADED. */
  readonly maxWaiting: number;
}

interface Waiter {
  readonly cost: number;
  readonly begin: () => void;
}

interface Owner {
  running: number;
  /** The virtual time at which its next task starts: later by the cost of each that it began. */
  start: number;
  readonly waiting: Waiter[];
}

export class FairQueue {
  readonly #options: FairQueueOptions;
  /** The state of an owner is kept for as long as the owner exists. */
  readonly #owners = new WeakMap<object, Owner>();
  /** Owners with waiting tasks. */
  readonly #waiting = new Set<Owner>();
  #running = 0;
  /** The virtual time: when the task that began last was to start. */
  #now = 0;
  #latestStart = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get concurrency(): number {
    return this.#options.concurrency;
  }

  get running(): number {
    return this.#running;
  }

  /** Owners with tasks that wait. */
  get waitingOwners(): number {
    return this.#waiting.size;
  }

  /**
   * Takes a place for a task, which `leave` frees. Undefined: the task may begin at once, as it may whenever no other task waits. Rejects with the reason of
   * `signal` when that fires first; then no place was taken.
   *
   * @param cost in one unit for the whole queue, at least 0
   * @throws EdgeError EDGE_OVERLOADED when the owner has as many tasks waiting as it may
   */
  enter(owner: object, cost: number, signal?: AbortSignal): Promise<void> | undefined {
    const state = this.#owner(owner);
    if (state.waiting.length === 0 && this.#hasPlace(state)) {
      this.#begin(state, cost);
      return undefined;
    }
    const { task, maxWaiting } = this.#options;
    if (state.waiting.length >= maxWaiting) {
      throw new EdgeError(
        'EDGE_OVERLOADED',
        `Cannot ${task}: ${state.waiting.length} such tasks of the account wait already, at most ${maxWaiting} may wait`,
      );
    }
    return this.#wait(state, cost, signal);
  }

  /**
   * Frees the place of a finished task.
   *
   * @param more its cost beyond the estimate at its beginning
   */
  leave(owner: object, more = 0): void {
    const state = this.#owner(owner);
    state.running--;
    this.#running--;
    if (more > 0) this.#count(state, more);
    if (this.#waiting.size > 0) this.#next();
    else if (this.#running === 0) this.#now = this.#latestStart;
  }

  /** Runs `task` in a place of its own. Rejects as it does, or as `enter`. */
  async run<T>(owner: object, cost: number, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const wait = this.enter(owner, cost, signal);
    if (wait !== undefined) await wait;
    try {
      return await task();
    } finally {
      this.leave(owner);
    }
  }

  #owner(owner: object): Owner {
    let state = this.#owners.get(owner);
    if (state === undefined) {
      state = { running: 0, start: 0, waiting: [] };
      this.#owners.set(owner, state);
    }
    return state;
  }

  /** Whether one more task of the owner may run, by how many there are. */
  #hasPlace(owner: Owner): boolean {
    const { concurrency, mostPerOwner = concurrency } = this.#options;
    if (this.#running >= concurrency || owner.running >= mostPerOwner) return false;
    const others = this.#waiting.size - (owner.waiting.length > 0 ? 1 : 0);
    return others === 0 || owner.running < this.#options.perOwner;
  }

  #begin(owner: Owner, cost: number): void {
    owner.running++;
    this.#running++;
    if (owner.start < this.#now) owner.start = this.#now;
    else this.#now = owner.start;
    this.#count(owner, cost);
  }

  #count(owner: Owner, cost: number): void {
    owner.start += cost;
    if (owner.start > this.#latestStart) this.#latestStart = owner.start;
  }

  #wait(owner: Owner, cost: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const waiter: Waiter = {
        cost,
        begin: () => {
          signal?.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      const giveUp = guarded((): void => {
        owner.waiting.splice(owner.waiting.indexOf(waiter), 1);
        if (owner.waiting.length === 0) this.#waiting.delete(owner);
        reject(signal?.reason);
        // An owner that is now the only one waiting may have more places.
        this.#next();
      });
      signal?.addEventListener('abort', giveUp, { once: true });
      if (owner.waiting.push(waiter) > 1) return;
      if (owner.start < this.#now) owner.start = this.#now;
      this.#waiting.add(owner);
    });
  }

  /** Begins what may begin. Owners that wait are looked through one by one: there are few at a time. */
  #next(): void {
    for (;;) {
      let next: Owner | undefined;
      for (const owner of this.#waiting) {
        if ((next === undefined || owner.start < next.start) && this.#hasPlace(owner)) next = owner;
      }
      const waiter = next?.waiting.shift();
      if (next === undefined || waiter === undefined) return;
      if (next.waiting.length === 0) this.#waiting.delete(next);
      this.#begin(next, waiter.cost);
      waiter.begin();
    }
  }
}
