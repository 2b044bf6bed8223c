/**
 * The processes of the engine: a bounded number, which the accounts of a host share fairly. A group of jobs that takes long leaves its place to others and
 * goes on at a low priority, and of those there are few, too.
 */
import { availableParallelism } from 'node:os';
import { FairQueue } from '../../../quotas/host/fair-queue.js';
import { type GroupListener, type GroupPayload, Lane, LaneEnded } from './lane.js';

const PLACES = Math.max(2, Math.min(8, availableParallelism()));
/** The groups of one account that run at once. */
const PLACES_OF_ACCOUNT = 2;
/** A group that runs for this long is slow. */
const SLOW_MS = 250;
/** Slow groups at once; when there is one more, that which has run longest ends. */
const MAX_SLOW = 6;
/** A process without work ends. */
const IDLE_MS = 30_000;
const MAX_WAITING = 4096;

/** What runs for one account, whichever database it is of. */
export interface LaneOwner {
  readonly account: string;
}

interface SlowGroup {
  readonly lane: Lane;
  readonly end: () => void;
}

export class LanePool {
  readonly #queue = new FairQueue({
    task: 'run SQL',
    concurrency: PLACES,
    perOwner: PLACES_OF_ACCOUNT,
    maxWaiting: MAX_WAITING,
  });
  readonly #lanes = new Set<Lane>();
  readonly #slow = new Set<SlowGroup>();
  readonly #owners = new WeakMap<object, { running: number; readonly waiting: (() => void)[] }>();
  #reaper: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** The processes that there are. */
  get size(): number {
    return this.#lanes.size;
  }

  /**
   * Runs a group. Rejects with LaneEnded.
   *
   * @param onSlow gets what ends it
   * @param onOverload it is to end, because too many are slow
   */
  async run(
    owner: LaneOwner,
    group: () => GroupPayload | undefined,
    listener: GroupListener,
    hooks: GroupHooks,
  ): Promise<void> {
    await this.#enterAccount(owner);
    let hasPlace = false;
    let slow: SlowGroup | undefined;
    let timer: NodeJS.Timeout | undefined;
    const leave = (): void => {
      if (hasPlace) this.#queue.leave(owner);
      hasPlace = false;
    };
    try {
      await this.#queue.enter(owner, 1);
      hasPlace = true;
      // What waited with it comes along.
      const payload = group();
      if (payload === undefined) return;
      if (this.#isClosed) throw new LaneEnded({ reason: 'lost', job: undefined });
      const lane = this.#laneFor(payload.head.path);
      const ended = lane.run(payload, listener);
      hooks.onBegin(() => lane.stop());
      timer = setTimeout(() => {
        slow = { lane, end: () => hooks.onOverload() };
        this.#beSlow(slow);
        leave();
      }, SLOW_MS);
      timer.unref();
      try {
        await ended;
      } finally {
        if (lane.isEnding) await lane.ended;
        lane.idleSince = performance.now();
      }
    } finally {
      clearTimeout(timer);
      if (slow !== undefined) {
        this.#slow.delete(slow);
        // It has a low priority now.
        slow.lane.end();
      }
      leave();
      this.#leaveAccount(owner);
    }
  }

  /** No process has the database open when it resolves, unless something runs in it. */
  closeDatabase(path: string): void {
    for (const lane of this.#lanes) lane.closeDatabase(path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#reaper);
    const lanes = [...this.#lanes];
    for (const lane of lanes) lane.end();
    await Promise.all(lanes.map(lane => lane.ended));
  }

  #beSlow(slow: SlowGroup): void {
    slow.lane.lower();
    this.#slow.add(slow);
    const [longest] = this.#slow;
    if (this.#slow.size > MAX_SLOW) longest?.end();
  }

  #laneFor(path: string): Lane {
    let idle: Lane | undefined;
    for (const lane of this.#lanes) {
      if (!lane.isIdle) continue;
      if (lane.open.has(path)) return lane;
      if (idle === undefined || lane.open.size < idle.open.size) idle = lane;
    }
    return idle ?? this.#start();
  }

  #start(): Lane {
    const lane = new Lane();
    this.#lanes.add(lane);
    void lane.ended.then(() => this.#lanes.delete(lane));
    this.#reaper ??= setInterval(() => this.#reap(), IDLE_MS / 2).unref();
    return lane;
  }

  #reap(): void {
    const before = performance.now() - IDLE_MS;
    for (const lane of this.#lanes) if (lane.isIdle && lane.idleSince < before) lane.end();
  }

  /** An account has few places even while nobody else wants them: what it runs cannot be taken back when somebody does. */
  async #enterAccount(owner: LaneOwner): Promise<void> {
    let state = this.#owners.get(owner);
    if (state === undefined) {
      state = { running: 0, waiting: [] };
      this.#owners.set(owner, state);
    }
    const { waiting } = state;
    if (state.running < PLACES_OF_ACCOUNT) state.running++;
    else await new Promise<void>(resolve => waiting.push(resolve));
  }

  #leaveAccount(owner: LaneOwner): void {
    const state = this.#owners.get(owner);
    if (state === undefined) return;
    const next = state.waiting.shift();
    if (next === undefined) state.running--;
    else next();
  }
}

export interface GroupHooks {
  /** It has begun; `stop` ends the process that it runs in. */
  onBegin(stop: () => void): void;
  onOverload(): void;
}
