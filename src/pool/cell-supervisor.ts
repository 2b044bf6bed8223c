/**
 * The cell of one account over time: started when first needed, restarted with back-off when it dies, replaced when its sockets run
 * low or its memory does not come back, closed when idle. Hands out isolates, warm ones first.
 */
import { delay } from 'abort-controller-x';
import { EdgeError } from '../quotas/errors.js';
import type { HostShare } from '../quotas/host/host-share.js';
import { MAX_TIMER_MS } from '../quotas/max-timer.js';
import type { CellOptions } from './cell.js';
import type { IsolateHandle, LossReason } from './isolate-handle.js';
import { cellLosses } from './supply/cell-losses.js';
import { type CellMaker, type CellOwner, type CellState, LiveCell } from './supply/live-cell.js';
import { CELL_BYTES, ISOLATE_BYTES } from './supply/memory-budget.js';
import { POLL_MS } from './watch/cell-bounds.js';

export interface SupervisorOptions extends CellOptions {
  readonly account: string;
  /** Several accounts share the cells: `account` is the name of their group, and there are as many cells as they need. @default false */
  readonly isGroup?: boolean;
  /** What the account may take of the host; `undefined` counts nothing. */
  readonly share?: HostShare;
  /** Isolates kept warm and empty. */
  readonly spares: number;
  /** A cell without isolates, spares not counted, ends after so many milliseconds. @default never */
  readonly idleMs?: number;
  /** Whether there is memory for a spare. @default always */
  readonly hasRoom?: (bytes: number) => boolean;
  /** What has to be known before a cell can be created. */
  readonly prepare: () => Promise<void>;
  readonly create: CellMaker;
  /** A cell of these options that belongs to nobody yet, if there is one. @default none */
  readonly takeWarm?: (options: CellOptions) => LiveCell | undefined;
  /** A cell has come to have no isolates but spares, or has some again, or has ended. */
  readonly onIdle?: (isIdle: boolean) => void;
  /** A cell was ended for what the kernel says of it. */
  readonly onFinding: (error: EdgeError) => void;
  /** A cell has come to be the account's, or has ended. */
  readonly onCell?: (state: 'started' | 'ended', detail: string) => void;
}

/** A cell with fewer leases left is drained and replaced in the background. */
const REPLACE_AT_LEASES = 4;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5000;
/** A cell that lived so long has recovered. */
const STABLE_AFTER_MS = 10_000;
/** Several times what a load and its first answer take; a load that finds no spare meanwhile starts a thread of its own. */
const REFILL_AFTER_MS = 50;
/** Where functions load all the time, spares are started all the same after so many looks. */
const REFILL_LOOKS = 20;

const FINDING_CODES = { cpu: 'EDGE_CPU_LIMIT', memory: 'EDGE_MEMORY_LIMIT', cell: 'EDGE_CELL_LOST' } as const;

export class CellSupervisor {
  #options: SupervisorOptions;
  readonly #cells = new Set<LiveCell>();
  /** Of cells that have exited, until nothing of them is left. */
  readonly #leaving = new Set<Promise<void>>();
  #current: LiveCell | undefined;
  #failures = 0;
  #notBeforeMs = 0;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** Isolates that are being asked for: no cell is idle meanwhile. */
  #asking = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** An isolate with an empty realm. Rejects with EDGE_CELL_START when no cell can be started, with EDGE_OVERLOADED when the cell has no thread left. */
  async acquire(share: HostShare | undefined = this.#options.share): Promise<IsolateHandle> {
    this.#asking++;
    this.#checkAllIdle();
    try {
      for (;;) {
        const live = await this.#usable();
        if (this.#isFull(live)) {
          // Others have come first; the next turn finds another cell.
          if (this.#options.isGroup === true) continue;
          // Whoever asks has a place for the isolate: a cell that has more threads is out of step.
          throw this.#overloaded();
        }
        const isolate = live.spares.shift() ?? this.#startIsolate(live, share);
        this.#refillSoon(live, REFILL_LOOKS);
        if (isolate.isUsable && own(isolate, share)) return isolate;
      }
    } finally {
      this.#asking--;
      this.#checkAllIdle();
    }
  }

  #isFull(live: LiveCell): boolean {
    return live.spares.length === 0 && live.threads >= this.#options.maxThreads;
  }

  /** Whose the cells are, for people. */
  get #owner(): string {
    const { account, isGroup } = this.#options;
    return `${isGroup === true ? 'group' : 'account'} "${account}"`;
  }

  #overloaded(): EdgeError {
    const { maxThreads } = this.#options;
    return new EdgeError(
      'EDGE_OVERLOADED',
      `Cannot start an isolate of ${this.#owner}: its process runs ${maxThreads} threads, the most that it may`,
    );
  }

  /** What its cells are started with. */
  get cellOptions(): CellOptions {
    return this.#options;
  }

  get cells(): CellState[] {
    return [...this.#cells].map(live => live.state);
  }

  /** Memory of its cells, those included that are ending. */
  get memoryBytes(): number {
    let sum = 0;
    for (const live of this.#cells) sum += live.memoryBytes;
    return sum;
  }

  /** Memory of the cells that are ending. */
  get endingBytes(): number {
    let sum = 0;
    for (const live of this.#cells) if (live.isRetired && live.handles.size === 0) sum += live.memoryBytes;
    return sum;
  }

  /** What one more isolate would take: less where there is a cell for it. */
  get nextBytes(): number {
    if (this.#current === undefined || this.#current.isRetired) return CELL_BYTES;
    return this.#current.spares.length > 0 ? 0 : ISOLATE_BYTES;
  }

  /** Ends the cells that have no isolates but spares. Answers their bytes. */
  endIdle(): number {
    const idle = [...this.#cells].filter(live => live.isWaiting);
    const bytes = idle.reduce((sum, live) => sum + live.memoryBytes, 0);
    for (const live of idle) this.#endIdle(live);
    return bytes;
  }

  /** Isolates that start from now on have this memory, in a new cell. The cell before it ends when what runs there has. */
  resize(memory: Pick<CellOptions, 'heapBytes' | 'cellMemoryBytes'>): void {
    this.#options = { ...this.#options, ...memory };
    if (this.#current !== undefined) this.#retire(this.#current);
  }

  /** Ends all cells at once, with what runs there. What comes next goes to a new one. */
  endAll(reason: LossReason, detail: string): void {
    for (const live of [...this.#cells]) {
      for (const handle of [...live.handles.values()]) handle.leaseEnded(reason, detail);
      live.cell.kill(detail);
    }
  }

  /** Ends the isolates of one account of the group, with what runs there. */
  endOf(account: string, reason: LossReason, detail: string): void {
    for (const live of [...this.#cells]) {
      for (const handle of [...live.handles.values()]) {
        if (handle.account !== account) continue;
        live.cell.end(handle.lease);
        live.remove(handle.lease);
        handle.leaseEnded(reason, detail);
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    for (const live of this.#cells) clearTimeout(live.idleTimer);
    // What still runs is told so now, and does not take the end of its cell for a crash.
    for (const live of this.#cells) for (const handle of [...live.handles.values()]) handle.end();
    await Promise.all([...this.#cells].map(live => live.cell.close()));
    await Promise.all(this.#leaving);
  }

  async #usable(): Promise<LiveCell> {
    this.#refuseWhenClosed();
    let live = this.#next();
    if (live === undefined) {
      await this.#options.prepare();
      await this.#backOff();
      this.#refuseWhenClosed();
      live = this.#next();
    }
    try {
      live ??= this.#create();
      await live.cell.ready;
      live.isUp();
    } catch (error) {
      this.#refuseWhenClosed();
      // It was on its way when it was taken; whoever waits is not to know.
      if (live?.isFromWarm === true) return this.#usable();
      const what = `Cannot start the process of ${this.#owner}: ${String(error)}`;
      throw new EdgeError('EDGE_CELL_START', what, { cause: error });
    }
    return live;
  }

  /** The cell that the next isolate is started in; undefined when one must be started. */
  #next(): LiveCell | undefined {
    const live = this.#current;
    const isGroup = this.#options.isGroup === true;
    if (live !== undefined && takesMore(live) && !(isGroup && this.#isFull(live))) return live;
    const other = isGroup ? [...this.#cells].find(each => takesMore(each) && !this.#isFull(each)) : undefined;
    if (other !== undefined) this.#current = other;
    return other;
  }

  #create(): LiveCell {
    const live = this.#takeWarm() ?? this.#start();
    this.#cells.add(live);
    this.#current = live;
    this.#options.onCell?.('started', '');
    this.#watch();
    return live;
  }

  #start(): LiveCell {
    const owner = this.#ownerOf(() => live);
    const live: LiveCell = new LiveCell(this.#options.create, this.#options, owner);
    return live;
  }

  #ownerOf(live: () => LiveCell): CellOwner {
    return {
      onLinger: () => this.#abandon(live()),
      onExit: detail => this.#exited(live(), detail),
      onRemoved: () => this.#removed(live()),
    };
  }

  /** A cell that is started already, perhaps with an isolate that is warm. */
  #takeWarm(): LiveCell | undefined {
    const live = this.#options.takeWarm?.(this.#options);
    if (live === undefined) return undefined;
    const owner = this.#ownerOf(() => live);
    if (live.give(owner, this.#options.share)) return live;
    live.cell.kill('it sent something before it had an account');
    return undefined;
  }

  /** An isolate for one function. */
  #startIsolate(live: LiveCell, share: HostShare | undefined): IsolateHandle {
    const handle = live.start(share);
    if (live.cell.leasesLeft <= REPLACE_AT_LEASES) this.#retire(live);
    return handle;
  }

  /** Not while a function loads: a new thread would take the processor from the load, and from the first request that waits for it. */
  #refillSoon(live: LiveCell, looks: number): void {
    setTimeout(() => {
      if (looks > 1 && live.isLoading) this.#refillSoon(live, looks - 1);
      else this.#refill(live);
    }, REFILL_AFTER_MS).unref();
  }

  #refill(live: LiveCell): void {
    if (this.#closing.signal.aborted || live.isRetired || live !== this.#current) return;
    if (this.#options.hasRoom?.(ISOLATE_BYTES) === false) return;
    // Short of the lease that has the cell replaced: it would come too late to end with the other spares.
    const room = Math.min(this.#options.maxThreads - live.threads, live.cell.leasesLeft - REPLACE_AT_LEASES - 1);
    for (let missing = Math.min(this.#options.spares - live.spares.length, room); missing > 0; missing--) {
      void live.addSpare(this.#options.share);
    }
  }

  /** No new leases here; the cell ends when the last one does. */
  #retire(live: LiveCell): void {
    if (live.isRetired) return;
    live.isRetired = true;
    if (this.#current === live) this.#current = undefined;
    for (const spare of [...live.spares]) spare.end();
    this.#checkIdle(live);
    this.#closeIfDrained(live);
  }

  /** It may have to be ended soon: what runs there may finish, and everything else goes on in another cell. */
  #abandon(live: LiveCell): void {
    if (!live.isRetired) this.#failed(live);
    this.#retire(live);
    for (const handle of live.handles.values()) handle.leave();
  }

  #removed(live: LiveCell): void {
    this.#closeIfDrained(live);
    this.#checkIdle(live);
  }

  #checkAllIdle(): void {
    for (const live of this.#cells) this.#checkIdle(live);
  }

  /** The last isolate of a cell may have gone, or a first one may come. */
  #checkIdle(live: LiveCell): void {
    const isKept = this.#cells.has(live) && !live.isRetired && !this.#closing.signal.aborted;
    const isIdle = isKept && live.isIdle && this.#asking === 0;
    if (isIdle === live.isWaiting) return;
    live.isWaiting = isIdle;
    clearTimeout(live.idleTimer);
    const { idleMs = Number.POSITIVE_INFINITY } = this.#options;
    if (isIdle && Number.isFinite(idleMs)) {
      live.idleTimer = setTimeout(() => this.#endIdle(live), Math.min(idleMs, MAX_TIMER_MS)).unref();
    }
    this.#options.onIdle?.(isIdle);
  }

  /** What comes from now on goes to another cell; nothing is left to wait for here. */
  #endIdle(live: LiveCell): void {
    this.#retire(live);
    live.cell.kill('it was idle');
  }

  #closeIfDrained(live: LiveCell): void {
    if (live.isRetired && live.handles.size === 0) void live.cell.close();
  }

  #exited(live: LiveCell, detail: string): void {
    this.#cells.delete(live);
    if (this.#current === live) this.#current = undefined;
    if (!live.isRetired && !this.#closing.signal.aborted) this.#failed(live);
    live.closeWatch();
    this.#checkIdle(live);
    if (this.#cells.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#options.onCell?.('ended', detail);
    const leaving = live.cell.close().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    for (const { handle, reason, unaccountedMs } of cellLosses(live, detail)) {
      handle.leaseEnded(reason, detail, unaccountedMs);
    }
  }

  /** Cells that fail one after the other are replaced less and less often. */
  #failed(live: LiveCell): void {
    const lived = performance.now() - live.startedMs;
    this.#failures = lived > STABLE_AFTER_MS ? 1 : this.#failures + 1;
    this.#notBeforeMs = performance.now() + Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1));
  }

  /** Waits before a cell is started again; rejects when the account is closed meanwhile. */
  async #backOff(): Promise<void> {
    const waitMs = this.#notBeforeMs - performance.now();
    if (waitMs > 0) await delay(this.#closing.signal, waitMs).catch(() => this.#refuseWhenClosed());
  }

  #refuseWhenClosed(): void {
    if (!this.#closing.signal.aborted) return;
    throw new EdgeError('EDGE_CLOSED', `Cannot start an isolate of ${this.#owner}: it is closed`);
  }

  #watch(): void {
    this.#timer ??= setInterval(() => {
      for (const live of this.#cells) this.#poll(live);
    }, POLL_MS).unref();
  }

  #poll(live: LiveCell): void {
    const finding = live.poll();
    if (finding !== undefined) {
      const what = `The process of ${this.#owner} was ended: ${finding.detail}`;
      this.#options.onFinding(new EdgeError(FINDING_CODES[finding.kind], what));
    }
    if (live.isReady && live.isBloated) this.#retire(live);
  }
}

function takesMore({ isRetired, cell }: LiveCell): boolean {
  return !isRetired && cell.leasesLeft > 0;
}

/** A spare has no account yet, or that of a group. One that cannot get another has sent what no honest one does. */
function own(isolate: IsolateHandle, share: HostShare | undefined): boolean {
  if (share === undefined || isolate.assign(share)) return true;
  isolate.end();
  return false;
}
