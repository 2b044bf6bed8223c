/**
 * The processes of the SQL engine: a bounded number, which the accounts of a host share fairly. A group of calls of a database has one for itself, and so has
 * an object while it has written something that is not committed. A long one gives its place to others and continues at a low priority, and the number of
 * these is bounded, too.
 *
 * Databases and objects have a pool each: an object may wait for a database while it keeps its place.
 */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { EdgeError } from '../../quotas/errors.js';
import { detached, guarded } from '../../quotas/guarded.js';
import { FairQueue } from '../../quotas/host/fair-queue.js';
import { NO_WALLS, type ProcessWalls } from '../../storage/process-walls.js';
import { SlowWork } from './slow-work.js';
import { type SqliteOwner, SqliteProcess } from './sqlite-process.js';

/** More than one account has at once, so that there is always a place for another one: a running statement cannot be interrupted. */
const PLACES = Math.max(3, Math.min(8, availableParallelism() + 1));
/** The processes that one account uses at once, even while nobody else wants them: they cannot be taken back when somebody does. */
const PLACES_OF_ACCOUNT = 2;
const TICK_MS = 50;
/** A caller that occupies a process for this long is slow. */
const SLOW_MS = 250;
/** A process without work ends. */
const IDLE_MS = 30_000;
/** Processes without work, of all accounts. */
const MAX_IDLE = PLACES + 2;

export interface SqlitePoolOptions {
  /** The work of the processes, for messages: "run SQL". */
  readonly task: string;
  /** Callers of one account that may wait. @default any number, where the callers themselves bound it */
  readonly maxWaiting?: number;
  /** Whether slow work is still one of the few of its account. */
  readonly isSlowCounted: boolean;
  /** Where processes of owners without a folder make theirs. @default the system's folder for temporary files */
  readonly parent?: string | undefined;
}

export interface SqliteCaller {
  /** It has a process, and still does. Called every 50 ms. */
  onTick(nowMs: number): void;
  /** It is to end its process, because too many are slow. */
  onOverload(): void;
}

/** A place among the processes. */
export interface SqliteSeat {
  /** A process that no other has, until `leave`. @param path prefers one with this database open. @throws the errors of SqliteProcess */
  start(path: string): SqliteProcess;
  leave(): void;
}

interface Seat extends SqliteSeat {
  readonly owner: SqliteOwner;
  readonly caller: SqliteCaller;
  readonly overload: () => void;
  process: SqliteProcess | undefined;
  beganAt: number;
  isSlow: boolean;
  hasPlace: boolean;
  hasShare: boolean;
}

export class SqlitePool {
  readonly #walls: ProcessWalls;
  readonly #options: SqlitePoolOptions;
  readonly #places: FairQueue;
  readonly #shares: FairQueue;
  readonly #processes = new Set<SqliteProcess>();
  readonly #seats = new Set<Seat>();
  readonly #slow = new SlowWork();
  #ticker: NodeJS.Timeout | undefined;
  #reaper: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SqlitePoolOptions, walls: ProcessWalls = NO_WALLS) {
    this.#walls = walls;
    this.#options = options;
    const { task, maxWaiting = Number.POSITIVE_INFINITY, parent } = options;
    const each = { task, perOwner: PLACES_OF_ACCOUNT, mostPerOwner: PLACES_OF_ACCOUNT };
    this.#shares = new FairQueue({ ...each, concurrency: Number.POSITIVE_INFINITY, maxWaiting });
    this.#places = new FairQueue({ ...each, concurrency: PLACES, maxWaiting: PLACES_OF_ACCOUNT });
    // A killed process may have left files, and the storage has everything in them.
    if (parent !== undefined) rmSync(parent, { recursive: true, force: true });
  }

  /** The processes that there are. */
  get size(): number {
    return this.#processes.size;
  }

  /**
   * @param owner the same object for all calls of an account
   * @throws EdgeError EDGE_OVERLOADED, EDGE_CLOSED, EDGE_SANDBOX; the reason of `signal`
   */
  async enter(owner: SqliteOwner, caller: SqliteCaller, signal?: AbortSignal): Promise<SqliteSeat> {
    const share = this.#shares.enter(owner, 1, signal);
    if (share !== undefined) await share;
    const seat: Seat = {
      owner,
      caller,
      overload: () => caller.onOverload(),
      process: undefined,
      beganAt: 0,
      isSlow: false,
      hasPlace: false,
      hasShare: true,
      start: path => this.#start(seat, path),
      leave: () => this.#leave(seat),
    };
    try {
      const place = this.#places.enter(owner, 1, signal);
      if (place !== undefined) await place;
      seat.hasPlace = true;
      if (this.#isClosed) throw new EdgeError('EDGE_CLOSED', 'The host is being closed');
      await this.#walls.prepare();
      return seat;
    } catch (error) {
      seat.leave();
      throw error;
    }
  }

  /** No process has the database open when it resolves, unless something runs in it. */
  closeDatabase(path: string): void {
    for (const each of this.#processes) each.close(path);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#reaper);
    clearInterval(this.#ticker);
    const processes = [...this.#processes];
    for (const each of processes) each.end();
    await Promise.all(processes.map(({ ended }) => ended));
  }

  #start(seat: Seat, path: string): SqliteProcess {
    const taken = this.#processFor(seat.owner, path);
    taken.isUsed = true;
    seat.process = taken;
    seat.beganAt = performance.now();
    this.#seats.add(seat);
    this.#ticker ??= setInterval(
      guarded(() => this.#tick()),
      TICK_MS,
    ).unref();
    return taken;
  }

  #leave(seat: Seat): void {
    const { process, owner } = seat;
    seat.process = undefined;
    this.#seats.delete(seat);
    this.#slow.delete(seat.overload);
    if (process !== undefined) {
      process.isUsed = false;
      process.idleSince = performance.now();
      // It has a low priority now, and would keep it.
      if (seat.isSlow && !process.restore()) process.end();
    }
    this.#leavePlace(seat);
    if (seat.hasShare) this.#shares.leave(owner);
    seat.hasShare = false;
  }

  #leavePlace(seat: Seat): void {
    if (seat.hasPlace) this.#places.leave(seat.owner);
    seat.hasPlace = false;
  }

  /** One timer for all seats: most are over before it fires. */
  #tick(): void {
    if (this.#seats.size === 0) {
      clearInterval(this.#ticker);
      this.#ticker = undefined;
    }
    const now = performance.now();
    for (const seat of this.#seats) {
      // Until its process has started, nothing of it runs.
      if (seat.process?.isReady === false) seat.beganAt = now;
      if (!seat.isSlow && now - seat.beganAt > SLOW_MS) this.#beSlow(seat);
      seat.caller.onTick(now);
    }
  }

  #beSlow(seat: Seat): void {
    seat.isSlow = true;
    seat.process?.lower();
    this.#slow.add(seat.owner, seat.overload);
    this.#leavePlace(seat);
    if (this.#options.isSlowCounted) return;
    this.#shares.leave(seat.owner);
    seat.hasShare = false;
  }

  #processFor(owner: SqliteOwner, path: string): SqliteProcess {
    let idle: SqliteProcess | undefined;
    for (const each of this.#processes) {
      if (each.isUsed || each.isEnding || each.account !== owner.account) continue;
      if (each.isOpen(path)) return each;
      if (idle === undefined || each.openCount < idle.openCount) idle = each;
    }
    return idle ?? this.#startProcess(owner);
  }

  #startProcess(owner: SqliteOwner): SqliteProcess {
    this.#makeRoom();
    const started = new SqliteProcess(this.#walls, owner, this.#options.parent);
    this.#processes.add(started);
    detached(started.ended.then(() => this.#processes.delete(started)));
    this.#reaper ??= setInterval(
      guarded(() => this.#reap()),
      IDLE_MS / 2,
    ).unref();
    return started;
  }

  /** A process serves one account alone: those that have been idle for longest give way to others. */
  #makeRoom(): void {
    const idle = [...this.#processes]
      .filter(each => !each.isUsed && !each.isEnding)
      .sort((a, b) => a.idleSince - b.idleSince);
    for (const each of idle.slice(0, Math.max(0, idle.length + 1 - MAX_IDLE))) each.end();
  }

  #reap(): void {
    const before = performance.now() - IDLE_MS;
    for (const each of this.#processes) if (!each.isUsed && each.idleSince < before) each.end();
  }
}
