/**
 * The processes of the engine: a bounded number, which the accounts of a host share fairly. A long group of jobs gives its place to others and continues at a
 * low priority, and the number of these is bounded, too.
 */
import { availableParallelism } from 'node:os';
import { detached, guarded } from '../../../quotas/guarded.js';
import { FairQueue } from '../../../quotas/host/fair-queue.js';
import { NO_WALLS, type ProcessWalls } from '../../../storage/process-walls.js';
import type { EnginePlace } from './engine-process.js';
import { type GroupListener, type GroupPayload, Lane, LaneEnded } from './lane.js';
import { SlowWork } from './slow-work.js';

/** More than one account has at once, so that there is always a place for another one: a running statement cannot be interrupted. */
const PLACES = Math.max(3, Math.min(8, availableParallelism() + 1));
/** The groups of one account that run at once. */
const PLACES_OF_ACCOUNT = 2;
const TICK_MS = 50;
/** A group that runs for this long is slow. */
const SLOW_MS = 250;
/** A process without work ends. */
const IDLE_MS = 30_000;
const MAX_WAITING = 4096;
/** Processes without work, of all accounts. */
const MAX_IDLE = PLACES + 2;

/** The running work of one account, over all of its databases. */
export interface LaneOwner {
  readonly account: string;
  /** Where the files of its databases are. */
  readonly folder: string;
}

interface SlowGroup {
  lane: Lane | undefined;
  beganAt: number;
  isSlow: boolean;
  hasPlace: boolean;
  readonly owner: LaneOwner;
  readonly hooks: GroupHooks;
  readonly overload: () => void;
}

export class LanePool {
  readonly #queue = new FairQueue({
    task: 'run SQL',
    concurrency: PLACES,
    perOwner: PLACES_OF_ACCOUNT,
    maxWaiting: MAX_WAITING,
  });
  readonly #lanes = new Set<Lane>();
  readonly #groups = new Set<SlowGroup>();
  readonly #slow = new SlowWork();
  #ticker: NodeJS.Timeout | undefined;
  readonly #owners = new WeakMap<object, { running: number; readonly waiting: (() => void)[] }>();
  #reaper: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #walls: ProcessWalls;

  constructor(walls: ProcessWalls = NO_WALLS) {
    this.#walls = walls;
  }

  /** The processes that there are. */
  get size(): number {
    return this.#lanes.size;
  }

  /** Runs a group. Rejects with LaneEnded. */
  async run(
    owner: LaneOwner,
    group: () => GroupPayload | undefined,
    listener: GroupListener,
    hooks: GroupHooks,
  ): Promise<void> {
    const entered = this.#enterAccount(owner);
    if (entered !== undefined) await entered;
    const slow: SlowGroup = {
      lane: undefined,
      beganAt: 0,
      isSlow: false,
      hasPlace: false,
      owner,
      hooks,
      overload: () => hooks.onOverload(),
    };
    try {
      const place = this.#queue.enter(owner, 1);
      if (place !== undefined) await place;
      slow.hasPlace = true;
      await this.#walls.prepare();
      // Waiting jobs of the group come along.
      const payload = group();
      if (payload === undefined) return;
      if (this.#isClosed) throw new LaneEnded({ reason: 'lost', job: undefined });
      const lane = this.#laneFor(owner, payload.head.path);
      const ended = lane.run(payload, listener);
      slow.lane = lane;
      slow.beganAt = performance.now();
      this.#groups.add(slow);
      this.#ticker ??= setInterval(
        guarded(() => this.#tick()),
        TICK_MS,
      ).unref();
      const { group: number } = lane;
      hooks.onBegin(() => lane.stop(number));
      try {
        await ended;
      } finally {
        if (lane.isEnding) await lane.ended;
        lane.idleSince = performance.now();
      }
    } finally {
      this.#groups.delete(slow);
      this.#slow.delete(slow.overload);
      this.#leave(slow);
      this.#leaveAccount(owner);
      // It has a low priority now, and would keep it.
      if (slow.isSlow && slow.lane?.restore() === false) slow.lane.end();
    }
  }

  /** One timer for all groups: most are over before it fires. */
  #tick(): void {
    if (this.#groups.size === 0) {
      clearInterval(this.#ticker);
      this.#ticker = undefined;
    }
    const now = performance.now();
    for (const group of this.#groups) {
      // Until its process has started, nothing of it runs.
      if (group.lane?.isReady === false) group.beganAt = now;
      if (!group.isSlow && now - group.beganAt > SLOW_MS) this.#beSlow(group);
      group.hooks.onTick(now);
    }
  }

  #leave(group: SlowGroup): void {
    if (group.hasPlace) this.#queue.leave(group.owner);
    group.hasPlace = false;
  }

  /** No process has the database open when it resolves, unless something runs in it. */
  closeDatabase(path: string): void {
    for (const lane of this.#lanes) lane.closeDatabase(path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#reaper);
    clearInterval(this.#ticker);
    const lanes = [...this.#lanes];
    for (const lane of lanes) lane.end();
    await Promise.all(lanes.map(lane => lane.ended));
  }

  #beSlow(group: SlowGroup): void {
    group.isSlow = true;
    group.lane?.lower();
    this.#slow.add(group.owner, group.overload);
    this.#leave(group);
  }

  #laneFor({ account, folder }: LaneOwner, path: string): Lane {
    let idle: Lane | undefined;
    for (const lane of this.#lanes) {
      if (!lane.isIdle || lane.account !== account) continue;
      if (lane.open.has(path)) return lane;
      if (idle === undefined || lane.open.size < idle.open.size) idle = lane;
    }
    return idle ?? this.#start({ walls: this.#walls, home: { account, folder } });
  }

  #start(place: EnginePlace): Lane {
    this.#makeRoom();
    const lane = new Lane(place);
    this.#lanes.add(lane);
    detached(lane.ended.then(() => this.#lanes.delete(lane)));
    this.#reaper ??= setInterval(
      guarded(() => this.#reap()),
      IDLE_MS / 2,
    ).unref();
    return lane;
  }

  /** A process serves one account alone: those that have been idle for longest give way to others. */
  #makeRoom(): void {
    const idle = [...this.#lanes].filter(lane => lane.isIdle).sort((a, b) => a.idleSince - b.idleSince);
    for (const lane of idle.slice(0, Math.max(0, idle.length + 1 - MAX_IDLE))) lane.end();
  }

  #reap(): void {
    const before = performance.now() - IDLE_MS;
    for (const lane of this.#lanes) if (lane.isIdle && lane.idleSince < before) lane.end();
  }

  /** An account has few places even while nobody else wants them: what it runs cannot be taken back when somebody does. */
  #enterAccount(owner: LaneOwner): Promise<void> | undefined {
    let state = this.#owners.get(owner);
    if (state === undefined) {
      state = { running: 0, waiting: [] };
      this.#owners.set(owner, state);
    }
    const { waiting } = state;
    if (state.running >= PLACES_OF_ACCOUNT) return new Promise<void>(resolve => waiting.push(resolve));
    state.running++;
    return undefined;
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
  /** It still runs. Called every 50 ms. */
  onTick(nowMs: number): void;
  /** It is to end, because too many are slow. */
  onOverload(): void;
}
