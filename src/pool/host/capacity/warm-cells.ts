/**
 * Warm cells: started ahead, each with one warm isolate, so that the first function of an account does not wait for a process. Nothing in them depends
 * on an account. A cell that is taken stays with its account; the next one is started in the background.
 */
import { EdgeError, messageOf } from '../../../quotas/errors.js';
import { detached, FAULT, guarded, guardedEach } from '../../../quotas/guarded.js';
import { canRaisePriority, LOWEST_PRIORITY, ownPriority } from '../../processes/tree-priority.js';
import type { CellOptions } from '../cell.js';
import { POLL_MS } from '../cell-usage/cell-bounds.js';
import { type CellMaker, type CellState, LiveCell } from './live-cell.js';
import { type Resources, sum } from './resources.js';

export interface WarmCellsOptions {
  /** How many are kept; 0 for none. */
  readonly count: number;
  /** The options that the cells are started with, for accounts with the same options. */
  readonly cell: CellOptions;
  /** Awaited before the first cell is created. */
  readonly prepare: () => Promise<void>;
  readonly create: CellMaker;
  /** Whether there is room for one more. */
  readonly hasRoom: () => boolean;
  /** A warm cell has ended, or could not be started. */
  readonly onLost: (error: EdgeError) => void;
  /** Delays in milliseconds. @default {@link PACE} */
  readonly pace?: WarmUpPace;
}

export interface WarmUpPace {
  /** From the first call of take() to the start of the first warm cell: short programs end before and do not pay for it. */
  readonly firstMs: number;
  /** From taking a cell to starting the next: longer than the load for which it was taken. */
  readonly refillMs: number;
  /** After a cell that ended by itself; doubled after each further one. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /** While there is no room for a cell. */
  readonly noRoomMs: number;
}

export const PACE: WarmUpPace = {
  firstMs: 1000,
  refillMs: 50,
  backoffMs: 1000,
  maxBackoffMs: 300_000,
  noRoomMs: 2000,
};

/** Added to the nice value of a cell while it starts. */
const NICER = 10;
/** A cell that lived for this long does not count as a failed start. */
const STABLE_AFTER_MS = 60_000;

export class WarmCells {
  readonly #options: WarmCellsOptions;
  readonly #pace: WarmUpPace;
  /** The cells that can be taken, the oldest first. */
  readonly #cells = new Set<LiveCell>();
  /** Cells that are being cleaned up. */
  readonly #leaving = new Set<Promise<void>>();
  /** Cells that were ended on purpose. */
  readonly #unneeded = new WeakSet<LiveCell>();
  #isWanted = false;
  #isStarting = false;
  #notBeforeMs = 0;
  #isClosed = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: WarmCellsOptions) {
    this.#options = options;
    this.#pace = options.pace ?? PACE;
  }

  /** The cells that are started or starting. */
  get cells(): CellState[] {
    return [...this.#cells].map(live => live.state);
  }

  get size(): number {
    return this.#cells.size;
  }

  /**
   * Takes a cell for an account with these options, which must be given to it at once: one that is up, or else one that is starting. Undefined when no cell is
   * warm, or the options differ. The first call starts the first warm cells.
   */
  take(wanted: CellOptions): LiveCell | undefined {
    if (this.#options.count === 0 || this.#isClosed) return undefined;
    const isFirst = !this.#isWanted;
    this.#isWanted = true;
    this.#refillIn(isFirst ? this.#pace.firstMs : this.#pace.refillMs);
    if (!areSame(wanted, this.#options.cell)) return undefined;
    const up = [...this.#cells].filter(({ cell }) => cell.leasesLeft > 0);
    const live = up.find(({ isReady }) => isReady) ?? up[0];
    if (live === undefined) return undefined;
    this.#forget(live);
    if (canRaisePriority()) live.cell.setPriority(ownPriority());
    return live;
  }

  /** The resources of the cells that can be taken. */
  get resources(): Resources {
    return sum([...this.#cells].map(live => live.resources));
  }

  /** Whether an account that needs these options would get one. */
  has(wanted: CellOptions): boolean {
    return this.#cells.size > 0 && areSame(wanted, this.#options.cell);
  }

  /** Ends one to make room. Returns its resources, undefined when no cell is warm. */
  endOne(): Resources | undefined {
    const [live] = this.#cells;
    if (live === undefined) return undefined;
    const { resources } = live;
    this.#end(live);
    this.#refillIn(this.#pace.noRoomMs);
    return resources;
  }

  /** Closes what they do not use, but for `kept` leases of each. Returns how many descriptors are free again. */
  trim(kept: number): number {
    let freed = 0;
    for (const { cell } of this.#cells) freed += cell.trim(kept);
    return freed;
  }

  /** Ends all of them; new ones are started. */
  replaceAll(): void {
    for (const live of [...this.#cells]) this.#end(live);
    if (this.#isWanted) this.#refillIn(this.#pace.refillMs);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const live of [...this.#cells]) this.#end(live);
    await Promise.all(this.#leaving);
  }

  /** Checks after this delay whether a cell is missing; later after a failure. */
  #refillIn(ms: number): void {
    if (this.#isClosed || this.#isStarting || this.#timer !== undefined) return;
    const waitMs = Math.max(ms, this.#notBeforeMs - performance.now());
    this.#timer = setTimeout(
      guarded(() => {
        this.#timer = undefined;
        detached(this.#refill());
      }),
      waitMs,
    ).unref();
  }

  /** Starts one at a time; the next when this one is up. */
  async #refill(): Promise<void> {
    if (this.#isClosed || this.#cells.size >= this.#options.count) return;
    const { noRoomMs, refillMs } = this.#pace;
    let nextMs = refillMs;
    this.#isStarting = true;
    try {
      if (!this.#options.hasRoom()) {
        nextMs = noRoomMs;
        return;
      }
      await this.#options.prepare();
      if (performance.now() < this.#notBeforeMs || this.#isClosed) return;
      if (this.#options.hasRoom()) await this.#start();
      else nextMs = noRoomMs;
    } catch (error) {
      this.#failed(0, messageOf(error));
    } finally {
      this.#isStarting = false;
      if (this.#cells.size < this.#options.count) this.#refillIn(nextMs);
    }
  }

  async #start(): Promise<void> {
    const { create, cell: options } = this.#options;
    const isNiced = canRaisePriority();
    const priority = ownPriority();
    const live: LiveCell = new LiveCell(create, isNiced ? { ...options, basePriority: priority } : options, {
      onTerminationOverdue: () => this.#end(live),
      onExit: detail => this.#exited(live, detail),
      onRemoved: () => {},
    });
    this.#cells.add(live);
    this.#poll ??= setInterval(
      guarded(() => this.#look()),
      POLL_MS,
    ).unref();
    if (isNiced) live.cell.setPriority(Math.min(LOWEST_PRIORITY, priority + NICER));
    // Its exit reports how it ended.
    await live.cell.ready.catch(() => {});
    if (!this.#cells.has(live)) return;
    live.isUp();
    detached(
      live.addSpare(undefined).then(() => {
        if (isNiced && this.#cells.has(live)) live.cell.setPriority(priority);
      }),
      () => this.#lose(live),
    );
  }

  #look(): void {
    guardedEach(
      this.#cells,
      live => {
        if (live.poll() !== undefined) this.#forget(live);
      },
      live => this.#lose(live),
    );
  }

  #exited(live: LiveCell, detail: string): void {
    this.#forget(live);
    live.closeWatch();
    guardedEach([...live.handles.values()], handle => handle.leaseEnded('cell', detail));
    this.#leave(live.cell.close());
    if (!this.#unneeded.has(live)) this.#failed(performance.now() - live.startedMs, detail);
  }

  #failed(livedMs: number, detail: string): void {
    if (this.#isClosed) return;
    this.#failures = livedMs > STABLE_AFTER_MS ? 1 : this.#failures + 1;
    const { backoffMs, maxBackoffMs } = this.#pace;
    const waitMs = Math.min(maxBackoffMs, backoffMs * 2 ** (this.#failures - 1));
    this.#notBeforeMs = performance.now() + waitMs;
    const what = `A cell that belonged to no account yet ended: ${detail}; the next one is started in ${waitMs} ms`;
    this.#options.onLost(new EdgeError('EDGE_CELL_START', what));
    this.#refillIn(waitMs);
  }

  #end(live: LiveCell): void {
    this.#unneeded.add(live);
    this.#forget(live);
    guardedEach([...live.handles.values()], handle => handle.end());
    live.cell.kill('it is not needed');
    this.#leave(live.cell.close());
  }

  /** A callback for it has failed: another one is started. */
  #lose(live: LiveCell): void {
    this.#end(live);
    this.#failed(0, FAULT);
  }

  #forget(live: LiveCell): void {
    this.#cells.delete(live);
    if (this.#cells.size > 0) return;
    clearInterval(this.#poll);
    this.#poll = undefined;
  }

  #leave(closed: Promise<void>): void {
    const leaving = closed.finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }
}

/** These options cannot be changed after a thread and its cell have started. */
function areSame(a: CellOptions, b: CellOptions): boolean {
  return (
    a.maxThreads === b.maxThreads &&
    a.heapBytes === b.heapBytes &&
    a.cellMemoryBytes === b.cellMemoryBytes &&
    a.guestBundle === b.guestBundle
  );
}
