/**
 * The cell of one account over time: started when first needed, restarted with back-off when it dies, replaced when its sockets run
 * low or its memory does not come back, closed when idle. Hands out isolates, warm ones first.
 */
import { type EdgeError, errorCode, isEdgeErrorCode } from '../../quotas/errors.js';
import { detached, guarded, guardedEach } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { MAX_TIMER_MS } from '../../quotas/max-timer.js';
import { canRaisePriority, ownPriority } from '../processes/tree-priority.js';
import { BackOff } from './capacity/back-off.js';
import { CellErrors } from './capacity/cell-errors.js';
import { cellLosses } from './capacity/cell-losses.js';
import {
  type CellMaker,
  type CellOwner,
  type CellState,
  endAfterFault,
  LiveCell,
  REPLACE_AT_LEASES,
} from './capacity/live-cell.js';
import { CELL, ISOLATE, NOTHING, type Resources, sum } from './capacity/resources.js';
import { type SpareOptions, SpareRefill } from './capacity/spare-refill.js';
import { type CellOptions, FIRST_LEASES, isProtocolBroken, MAX_LEASES } from './cell.js';
import { POLL_MS } from './cell-usage/cell-bounds.js';
import type { IsolateHandle } from './isolate-handle.js';
import type { LossReason } from './isolate-loss.js';

export interface SupervisorOptions extends CellOptions, SpareOptions {
  readonly account: string;
  /** Several accounts share the cells: `account` is the name of their group, and there are as many cells as they need. @default false */
  readonly isGroup?: boolean;
  /** Milliseconds after which a cell without isolates, spares not counted, ends. @default never */
  readonly idleMs?: number;
  /** Awaited before a cell with this many leases is created. */
  readonly prepare: (leases: number) => Promise<void>;
  readonly create: CellMaker;
  /** A started cell with these options that has no account yet, if there is one. @default none */
  readonly takeWarm?: (options: CellOptions) => LiveCell | undefined;
  /** A cell has become idle (no isolates but spares), or is no longer idle, or has ended. */
  readonly onIdle?: (isIdle: boolean) => void;
  /** Why a cell could not be started: a limit of the system that leaves no room for it. @default unknown */
  readonly shortage?: () => EdgeError | undefined;
  /** A cell was ended because of its resource usage as the kernel reports it. */
  readonly onFinding: (error: EdgeError) => void;
  /** The account got a cell, or one of its cells has ended. */
  readonly onCell?: (state: 'started' | 'ended', detail: string) => void;
}

export class CellSupervisor {
  #options: SupervisorOptions;
  readonly #cells = new Set<LiveCell>();
  /** Cells that have exited and are being cleaned up. */
  readonly #leaving = new Set<Promise<void>>();
  #current: LiveCell | undefined;
  /** Leases of the next cell. */
  #leases: number;
  readonly #errors: CellErrors;
  readonly #backOff = new BackOff();
  readonly #refill: SpareRefill;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** The next cell, while it is being created: all that wait for one get the same. */
  #creating: Promise<LiveCell> | undefined;
  /** Open calls of acquire(): no cell is idle in the meantime. */
  #asking = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#leases = options.isGroup === true ? MAX_LEASES : FIRST_LEASES;
    this.#errors = new CellErrors(options);
    this.#refill = new SpareRefill(
      () => this.#options,
      () => (this.#closing.signal.aborted ? undefined : this.#current),
    );
  }

  /** An isolate with an empty realm. Rejects with EDGE_CELL_START when no cell can be started, with EDGE_OVERLOADED when the cell has no thread left. */
  async acquire(share: HostShare | undefined = this.#options.share): Promise<IsolateHandle> {
    this.#asking++;
    this.#checkAllIdle();
    try {
      for (;;) {
        const live = await this.#usable();
        // Others that waited for the same cell have taken its last leases, or it has ended: the next iteration finds another cell.
        if (!live.takesMore) continue;
        if (this.#isFull(live)) {
          // Another call took the last thread; the next iteration finds another cell.
          if (this.#options.isGroup === true) continue;
          // Callers have reserved a place for the isolate, so this cell has more threads than the host knows of.
          throw this.#errors.overloaded(this.#options.maxThreads);
        }
        const isolate = live.spares.shift() ?? this.#startIsolate(live, share);
        this.#refill.soon();
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

  /** The options that its next cell starts with. */
  get cellOptions(): CellOptions {
    return this.#options;
  }

  get cells(): CellState[] {
    return [...this.#cells].map(live => live.state);
  }

  /** The resources of its cells, including those that are ending. */
  get resources(): Resources {
    return sum([...this.#cells].map(live => live.resources));
  }

  /** The resources of cells that are ending. */
  get ending(): Resources {
    const ending = [...this.#cells].filter(live => live.isRetired && live.handles.size === 0);
    return sum(ending.map(live => live.resources));
  }

  /** The resources that one more isolate will take: less if a cell for it is running. */
  get next(): Resources {
    if (this.#current === undefined || this.#current.isRetired) return CELL;
    return this.#current.spares.length > 0 ? NOTHING : ISOLATE;
  }

  /** Ends the idle cells. Returns what they had. */
  endIdle(): Resources {
    const idle = [...this.#cells].filter(live => live.isWaiting);
    const resources = sum(idle.map(live => live.resources));
    for (const live of idle) this.#endIdle(live);
    return resources;
  }

  /** Closes what its cells do not use, but for `kept` leases of each. Returns how many descriptors are free again. */
  trim(kept: number): number {
    let freed = 0;
    for (const { cell } of this.#cells) freed += cell.trim(kept);
    return freed;
  }

  /** Isolates that start from now on have this memory, in a new cell. The current cell ends when its last isolate does. */
  resize(memory: Pick<CellOptions, 'heapBytes' | 'cellMemoryBytes'>): void {
    this.#options = { ...this.#options, ...memory };
    if (this.#current !== undefined) this.#retire(this.#current);
  }

  /** The isolates in its cells continue. New ones start in another cell. */
  replaceAll(): void {
    for (const live of [...this.#cells]) {
      this.#retire(live);
      for (const handle of live.handles.values()) handle.leave();
    }
  }

  /** Ends all cells at once, with everything that runs in them. Later isolates start in a new cell. */
  endAll(reason: LossReason, detail: string): void {
    for (const live of [...this.#cells]) {
      for (const handle of [...live.handles.values()]) handle.leaseEnded(reason, detail);
      live.cell.kill(detail);
    }
  }

  /** Ends the isolates of one account of the group, with everything that runs in them. */
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
    // Open invocations are ended first, so that they do not report the end of the cell as a crash.
    for (const live of this.#cells) for (const handle of [...live.handles.values()]) handle.end();
    await Promise.all([...this.#cells].map(live => live.cell.close()));
    await Promise.all(this.#leaving);
  }

  async #usable(): Promise<LiveCell> {
    this.#refuseWhenClosed();
    const live = this.#next() ?? (await this.#createOnce());
    try {
      await live.cell.ready;
      live.isUp();
    } catch (error) {
      this.#refuseWhenClosed();
      // A warm cell that was still starting when it was taken, or one behind a sandbox that has not held: try another one without failing the caller.
      if (live.isFromWarm || live.cell.mayStartElsewhere === true) return this.#usable();
      throw this.#options.shortage?.() ?? this.#errors.notStarted(error);
    }
    return live;
  }

  /** Descriptors are opened for one cell at a time, so that calls at the same time share its preparation. */
  #createOnce(): Promise<LiveCell> {
    this.#creating ??= this.#createNext().finally(() => {
      this.#creating = undefined;
    });
    return this.#creating;
  }

  async #createNext(): Promise<LiveCell> {
    await this.#backOff.wait(this.#closing.signal).catch(() => {});
    this.#refuseWhenClosed();
    const warm = this.#takeWarm();
    if (warm !== undefined) return this.#add(warm);
    try {
      await this.#options.prepare(this.#wantedLeases);
    } catch (error) {
      throw isEdgeErrorCode(errorCode(error) ?? '')
        ? error
        : (this.#options.shortage?.() ?? this.#errors.notStarted(error));
    }
    this.#refuseWhenClosed();
    try {
      return this.#add(this.#start());
    } catch (error) {
      throw this.#options.shortage?.() ?? this.#errors.notStarted(error);
    }
  }

  /** The cell that the next isolate is started in; undefined when one must be started. */
  #next(): LiveCell | undefined {
    const live = this.#current;
    const isGroup = this.#options.isGroup === true;
    if (live?.takesMore === true && !(isGroup && this.#isFull(live))) return live;
    const other = isGroup ? [...this.#cells].find(each => each.takesMore && !this.#isFull(each)) : undefined;
    if (other !== undefined) this.#current = other;
    return other;
  }

  #add(live: LiveCell): LiveCell {
    this.#cells.add(live);
    this.#current = live;
    this.#options.onCell?.('started', '');
    this.#watch();
    return live;
  }

  #start(): LiveCell {
    const owner = this.#ownerOf(() => live);
    const isNiced = canRaisePriority();
    const priority = ownPriority();
    const leases = this.#wantedLeases;
    const options = { ...this.#options, leases, ...(isNiced && { basePriority: priority }) };
    const live: LiveCell = new LiveCell(this.#options.create, options, owner);
    if (isNiced) live.startLow(priority);
    return live;
  }

  #ownerOf(live: () => LiveCell): CellOwner {
    return {
      onTerminationOverdue: () => this.#abandon(live()),
      onExit: detail => this.#exited(live(), detail),
      onRemoved: () => {
        this.#closeIfDrained(live());
        this.#checkIdle(live());
      },
    };
  }

  /** A cell that was started ahead, perhaps with a warm isolate. */
  #takeWarm(): LiveCell | undefined {
    const live = this.#options.takeWarm?.(this.#options);
    if (live === undefined) return undefined;
    const owner = this.#ownerOf(() => live);
    if (live.give(owner, this.#options.share)) return live;
    live.cell.kill('it sent data before it belonged to an account');
    return undefined;
  }

  #startIsolate(live: LiveCell, share: HostShare | undefined): IsolateHandle {
    const handle = live.start(share);
    handle.whenGone((reason, detail) => {
      if (reason === 'protocol') this.#options.onFinding(this.#errors.isolateBrokeProtocol(handle.account, detail));
    });
    if (live.startedPriority !== undefined) {
      handle.whenIdle(() => live.hasStarted());
      handle.whenGone(() => live.hasStarted());
    }
    if (live.cell.leasesLeft <= REPLACE_AT_LEASES) {
      this.#leases = Math.min(MAX_LEASES, this.#leases * 2);
      this.#retire(live);
    }
    return handle;
  }

  /** As many as are being asked for, with their spares, or as accounts usually need. */
  get #wantedLeases(): number {
    return Math.min(MAX_LEASES, Math.max(this.#leases, this.#asking + this.#options.spares));
  }

  /** Starts no new isolates here; the cell ends with its last one. */
  #retire(live: LiveCell): void {
    if (live.isRetired) return;
    live.isRetired = true;
    if (this.#current === live) this.#current = undefined;
    for (const spare of [...live.spares]) spare.end();
    this.#checkIdle(live);
    this.#closeIfDrained(live);
  }

  /** The cell may have to be ended soon: open invocations may finish, new ones go to another cell. */
  #abandon(live: LiveCell): void {
    if (!live.isRetired) this.#backOff.failed(live);
    this.#retire(live);
    for (const handle of live.handles.values()) handle.leave();
  }

  #checkAllIdle(): void {
    for (const live of this.#cells) this.#checkIdle(live);
  }

  /** Called whenever a cell may have become idle, or busy. */
  #checkIdle(live: LiveCell): void {
    const isKept = this.#cells.has(live) && !live.isRetired && !this.#closing.signal.aborted;
    const isIdle = isKept && live.isIdle && this.#asking === 0;
    if (isIdle === live.isWaiting) return;
    live.isWaiting = isIdle;
    clearTimeout(live.idleTimer);
    const { idleMs = Number.POSITIVE_INFINITY } = this.#options;
    if (isIdle && Number.isFinite(idleMs)) {
      live.idleTimer = setTimeout(
        guarded(
          () => this.#endIdle(live),
          () => endAfterFault(live),
        ),
        Math.min(idleMs, MAX_TIMER_MS),
      ).unref();
    }
    this.#options.onIdle?.(isIdle);
  }

  #endIdle(live: LiveCell): void {
    this.#retire(live);
    live.cell.kill('it was idle');
  }

  #closeIfDrained(live: LiveCell): void {
    if (live.isRetired && live.handles.size === 0) detached(live.cell.close(), () => endAfterFault(live));
  }

  #exited(live: LiveCell, detail: string): void {
    this.#cells.delete(live);
    if (this.#current === live) this.#current = undefined;
    if (!live.isRetired && !this.#closing.signal.aborted) this.#backOff.failed(live);
    live.closeWatch();
    this.#checkIdle(live);
    if (this.#cells.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#options.onCell?.('ended', detail);
    if (isProtocolBroken(detail)) this.#options.onFinding(this.#errors.cellBrokeProtocol(detail));
    const leaving = live.cell.close().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    guardedEach(cellLosses(live, detail), ({ handle, reason, unaccountedMs }) =>
      handle.leaseEnded(reason, detail, unaccountedMs),
    );
  }

  #refuseWhenClosed(): void {
    if (this.#closing.signal.aborted) throw this.#errors.closed();
  }

  #watch(): void {
    this.#timer ??= setInterval(
      guarded(() => guardedEach(this.#cells, live => this.#poll(live), endAfterFault)),
      POLL_MS,
    ).unref();
  }

  #poll(live: LiveCell): void {
    const finding = live.poll();
    if (finding !== undefined) this.#options.onFinding(this.#errors.found(finding));
    if (live.isReady && live.isBloated) this.#retire(live);
  }
}

/** Counts an isolate to the account. An isolate that has sent data already cannot be assigned: only a hostile one does that, and it is ended. */
function own(isolate: IsolateHandle, share: HostShare | undefined): boolean {
  if (share === undefined || isolate.assign(share)) return true;
  isolate.end();
  return false;
}
