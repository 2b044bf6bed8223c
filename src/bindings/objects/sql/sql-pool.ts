/**
 * The processes with databases of objects: a bounded number, which the accounts of a host share fairly. An object has one for itself while it has written
 * something that is not committed, and for each text that only reads. A long one gives its place to others and continues at a low priority, and the number of
 * these is bounded, too.
 */
import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { EdgeError } from '../../../quotas/errors.js';
import { detached, guarded } from '../../../quotas/guarded.js';
import { FairQueue } from '../../../quotas/host/fair-queue.js';
import { NO_WALLS, type ProcessWalls } from '../../../storage/process-walls.js';
import { SlowWork } from '../../sql/lanes/slow-work.js';
import { SqlProcess } from './sql-process.js';

/** More than one account has at once, so that there is always a place for another one: a running statement cannot be interrupted. */
const PLACES = Math.max(3, Math.min(8, availableParallelism() + 1));
/** The places of one account. */
const PLACES_OF_ACCOUNT = 2;
/** An object that occupies a process for this long is slow. */
const SLOW_MS = 250;
/** A process without work ends. */
const IDLE_MS = 30_000;
const MAX_WAITING = 4096;
/** Processes without work, of all accounts. */
const MAX_IDLE = PLACES + 2;
/** The folder for the databases, inside the storage directory. */
const FOLDER = 'objects-sql';

/** The owner of the work in the queue. */
export interface SqlOwner {
  readonly account: string;
}

/** A process that one object has. */
export interface SqlSeat {
  readonly process: SqlProcess;
  leave(): void;
}

export class SqlPool {
  readonly #queue = new FairQueue({
    task: 'run SQL of objects',
    concurrency: PLACES,
    perOwner: PLACES_OF_ACCOUNT,
    mostPerOwner: PLACES_OF_ACCOUNT,
    maxWaiting: MAX_WAITING,
  });
  readonly #processes = new Set<SqlProcess>();
  readonly #slow = new SlowWork();
  readonly #directory: string | undefined = undefined;
  #reaper: NodeJS.Timeout | undefined;
  #isClosed = false;

  readonly #walls: ProcessWalls;

  /** @param storage the directory of the storage, for files of open databases. @default a temporary one of the system */
  constructor(storage?: string, walls: ProcessWalls = NO_WALLS) {
    this.#walls = walls;
    if (storage === undefined) return;
    this.#directory = join(storage, FOLDER);
    // A killed process may have left files, and the storage has everything in them.
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /**
   * @param owner the account, as work of it has it
   * @param preferred has the database open
   * @param onOverload the process is about to end, because too many are slow
   */
  async take(
    owner: SqlOwner,
    preferred: SqlProcess | undefined,
    onOverload: () => void,
    signal?: AbortSignal,
  ): Promise<SqlSeat> {
    await this.#queue.enter(owner, 1, signal);
    let hasPlace = true;
    const leavePlace = (): void => {
      if (hasPlace) this.#queue.leave(owner);
      hasPlace = false;
    };
    if (this.#isClosed) {
      leavePlace();
      throw new EdgeError('EDGE_CLOSED', 'The host is being closed');
    }
    let taken: SqlProcess;
    try {
      await this.#walls.prepare();
      taken = this.#processFor(owner, preferred);
    } catch (error) {
      leavePlace();
      throw error;
    }
    taken.isUsed = true;
    let isSlow = false;
    const overload = (): void => {
      onOverload();
      taken.stop();
    };
    const beSlow = (): void => {
      isSlow = true;
      taken.lower();
      leavePlace();
      this.#slow.add(owner, overload);
    };
    let timer: NodeJS.Timeout;
    const watch = (): void => {
      // Until the process has started, nothing of the object runs.
      timer = setTimeout(guarded(taken.isReady ? beSlow : watch), SLOW_MS).unref();
    };
    watch();
    let hasLeft = false;
    return {
      process: taken,
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        clearTimeout(timer);
        this.#slow.delete(overload);
        taken.isUsed = false;
        taken.idleSince = performance.now();
        // It has a low priority now, and would keep it.
        if (isSlow && !taken.restore()) taken.end();
        leavePlace();
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#reaper);
    const processes = [...this.#processes];
    for (const each of processes) each.end();
    await Promise.all(processes.map(({ ended }) => ended));
  }

  #processFor({ account }: SqlOwner, preferred: SqlProcess | undefined): SqlProcess {
    if (preferred !== undefined && !preferred.isUsed && !preferred.isEnding) return preferred;
    for (const each of this.#processes) if (!each.isUsed && !each.isEnding && each.account === account) return each;
    return this.#start(account);
  }

  #start(account: string): SqlProcess {
    this.#makeRoom();
    const started = new SqlProcess(this.#walls, account, this.#directory);
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
