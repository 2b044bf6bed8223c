/**
 * A cell with everything that the host knows about it: its isolates, the spares among them, and its usage as the kernel reports it. A warm cell has no
 * account until it is given to an owner, once.
 */
import { detached, FAULT, guarded, guardedEach } from '../../../quotas/guarded.js';
import type { HostShare } from '../../../quotas/host/host-share.js';
import { LOWEST_PRIORITY } from '../../processes/tree-priority.js';
import type { Cell, CellEvents, CellOptions } from '../cell.js';
import { boundsOf, CPU } from '../cell-usage/cell-bounds.js';
import { type CellClaims, type CellFinding, CellWatch } from '../cell-usage/cell-watch.js';
import { EndedIsolates } from '../cell-usage/cpu-claims.js';
import { IsolateHandle } from '../isolate-handle.js';
import { OomAttribution } from '../oom-attribution.js';
import { CELL_BYTES, ISOLATE_BYTES, type Resources } from './resources.js';

/** One cell as the kernel sees it. The kernel's values are undefined for threads of the host, and on systems without /proc. */
export interface CellState {
  /** The id of its main process; undefined with isolation 'thread'. */
  readonly pid: number | undefined;
  readonly isolates: number;
  /** All of its processes, including wrappers that only started it: one to three. A cell with more is ended. */
  readonly processes: number | undefined;
  /** CPU milliseconds that all of its processes have used since its start. */
  readonly cpuMs: number | undefined;
  /** Memory of all of its processes, with the files that they hold open. */
  readonly residentBytes: number | undefined;
  /** Where the values come from: the control group of the cell, or each of its processes. */
  readonly source: 'cgroup' | 'processes' | undefined;
}

export type CellMaker = (options: CellOptions, events: CellEvents) => Cell;

/** The owner of a cell, which is notified of these events. */
export interface CellOwner {
  onTerminationOverdue(): void;
  onExit(detail: string): void;
  /** One of its isolates is gone. */
  onRemoved(): void;
}

/** A cell with no more leases left is drained, and the next isolate starts in another one. */
export const REPLACE_AT_LEASES = 0;
/** Polls between two checks of invocations for progress: a second. A check costs less than a microsecond. */
const PROGRESS_EVERY_POLLS = 4;
/** Heartbeat interval of a busy cell, in polls. */
const PING_EVERY_POLLS = 10;
/**
 * A cell that has not answered for this many polls (15 seconds) was stopped or is stuck. Polls are counted instead of time, since the machine may have
 * been suspended, or the application busy.
 */
const UNRESPONSIVE_POLLS = 60;
const MEBIBYTE = 1024 * 1024;
/** Resident memory that a loaded isolate explains. */
const THREAD_BYTES = 64 * MEBIBYTE;
/** A cell that stays this far above what its threads explain is drained and replaced. */
const BLOAT_BYTES = 150 * MEBIBYTE;
const BLOATED_POLLS = 20;
/** Its memory is measured again when its resident memory has changed by this much. */
const CHANGE_BYTES = 4 * MEBIBYTE;
const MEASURE_EVERY_POLLS = 8;
/** Polls until a new isolate has reached its size. */
const NEW_POLLS = 4;

/**
 * Added to the nice value of a cell until its first function is loaded: starting a process takes a fifth of a second of a processor, for which functions
 * that are warm would wait, and the application. As much as a thread in a long turn gets, so that those do not keep others from starting.
 */
const STARTING_NICER = 10;

export class LiveCell {
  readonly cell: Cell;
  readonly handles = new Map<number, IsolateHandle>();
  readonly spares: IsolateHandle[] = [];
  readonly suspects = new OomAttribution();
  /** When it was started, or given. */
  startedMs = performance.now();
  isRetired = false;
  /** It has no isolates but spares, so it may be ended. */
  isWaiting = false;
  idleTimer: NodeJS.Timeout | undefined;
  isReady = false;
  /** The nice value that it gets when its first function is loaded; undefined when it has it. */
  startedPriority: number | undefined;
  /** It was started as a warm cell, and given to its owner later. */
  isFromWarm = false;
  finding: CellFinding | undefined;
  readonly #options: CellOptions;
  readonly #ended = new EndedIsolates();
  #watch: CellWatch | undefined;
  #owner: CellOwner;
  #isGiven = false;
  /** Bytes that isolates which are gone have moved on connections to the backend process. */
  #elsewhereBytes = 0;
  /** CPU time that isolates which are gone account for. */
  #earnedMs = 0;
  /** Resident memory when it had nothing to do yet. */
  #idleBytes = 0;
  #bloatedPolls = 0;
  #polls = 0;
  /** Its memory at the last measurement, and its resident memory then. */
  #measuredBytes: number | undefined;
  #measuredAtBytes = 0;
  #measureAtPoll = NEW_POLLS;
  /** Count of polls when the last isolate was started. */
  #changedAtPoll = 0;
  /** Count of polls at the last ping. */
  #pingedAtPoll = 0;

  /** @param owner the owner until {@link give} sets another */
  constructor(create: CellMaker, options: CellOptions, owner: CellOwner) {
    this.#options = options;
    this.#owner = owner;
    this.cell = create(options, {
      onLeaseEnd: (lease, end, detail) => {
        const handle = this.handles.get(lease);
        this.remove(lease);
        this.suspects.leaseEnded(lease, end);
        handle?.leaseEnded(end, detail);
      },
      onLongTurn: (lease, isRunning) => this.suspects.longTurn(lease, isRunning),
      onTerminationOverdue: () => this.#owner.onTerminationOverdue(),
      onExit: detail =>
        guarded(
          () => this.#owner.onExit(detail),
          () => this.#lose(detail),
        )(),
    });
  }

  /** Its owner has failed to do so. */
  #lose(detail: string): void {
    guardedEach([...this.handles.values()], handle => handle.leaseEnded('cell', detail));
  }

  /**
   * Assigns the cell to its owner and counts it to the share. False if it has sent more than a warm cell does, as only a hostile one would.
   * @throws Error if it was given before: a cell never changes its account
   */
  give(owner: CellOwner, share: HostShare | undefined): boolean {
    if (this.#isGiven) throw new Error('The cell belongs to an account already');
    this.#isGiven = true;
    this.isFromWarm = true;
    if (share !== undefined && !this.cell.assign(share)) return false;
    this.#owner = owner;
    this.startedMs = performance.now();
    return true;
  }

  /** It has a lower priority until its first function is loaded. */
  startLow(priority: number): void {
    this.cell.setPriority(Math.min(LOWEST_PRIORITY, priority + STARTING_NICER));
    this.startedPriority = priority;
  }

  /** It has its first function: from now on it is as fast as the others. */
  hasStarted(): void {
    if (this.startedPriority === undefined) return;
    this.cell.setPriority(this.startedPriority);
    this.startedPriority = undefined;
  }

  /** Isolates may start in it. */
  get takesMore(): boolean {
    return !this.isRetired && this.cell.leasesLeft > 0;
  }

  /** The cell is up, and no function code has run in it yet. */
  isUp(): void {
    if (this.isReady) return;
    this.isReady = true;
    const reader = this.cell.reader();
    if (reader !== undefined) this.#watch = new CellWatch(reader, boundsOf(this.#options), performance.now());
  }

  /** Starts an isolate with an empty realm, counted to the share. */
  start(share: HostShare | undefined): IsolateHandle {
    const connection = this.cell.start();
    const { lease } = connection;
    const endLease = (): void => {
      this.cell.end(lease);
      this.remove(lease);
    };
    const handle = new IsolateHandle(connection, endLease, share);
    this.handles.set(lease, handle);
    this.#changedAtPoll = this.#polls;
    return handle;
  }

  /** Starts an isolate that waits for a function. Resolves when it is warm, or gone. */
  async addSpare(share: HostShare | undefined): Promise<void> {
    const spare = this.start(share);
    this.spares.push(spare);
    await spare.warm();
  }

  remove(lease: number): void {
    const claims = this.handles.get(lease)?.claims;
    this.#elsewhereBytes += this.handles.get(lease)?.elsewhereBytes ?? 0;
    claims?.ended();
    if (claims !== undefined) this.#ended.ended();
    this.#earnedMs += claims?.earnedMs ?? 0;
    this.handles.delete(lease);
    const index = this.spares.findIndex(spare => spare.lease === lease);
    if (index >= 0) this.spares.splice(index, 1);
    this.#owner.onRemoved();
  }

  get threads(): number {
    return this.handles.size;
  }

  /** Some function in it is being loaded. */
  get isLoading(): boolean {
    for (const handle of this.handles.values()) if (handle.isLoading) return true;
    return false;
  }

  /** It has no isolates but spares. */
  get isIdle(): boolean {
    return this.handles.size === this.spares.length;
  }

  /**
   * Memory that its end would free: measured now and then, and adjusted in between by the change of its resident memory. At least the initial size of
   * its isolates, which is measured only later.
   */
  get memoryBytes(): number {
    const resident = this.#watch?.residentBytes ?? this.#measuredAtBytes;
    const expected = CELL_BYTES + ISOLATE_BYTES * Math.max(0, this.threads - 1);
    if (this.#measuredBytes === undefined) return Math.max(resident, expected);
    const isNew = this.#polls < NEW_POLLS || this.#polls - this.#changedAtPoll < NEW_POLLS;
    const measured = this.#measuredBytes + resident - this.#measuredAtBytes;
    return isNew ? Math.max(measured, expected) : measured;
  }

  /** The resources that its end would free. */
  get resources(): Resources {
    const { descriptors, tasks } = this.cell;
    return { bytes: this.memoryBytes, descriptors, tasks };
  }

  get isBusy(): boolean {
    for (const handle of this.handles.values()) if (handle.isBusy) return true;
    return false;
  }

  get state(): CellState {
    const usage = this.#watch?.usage();
    return {
      pid: this.cell.pid,
      isolates: this.threads,
      processes: usage?.processes,
      cpuMs: usage?.cpuMs,
      residentBytes: usage?.residentBytes,
      source: usage === undefined ? undefined : this.#watch?.source,
    };
  }

  /** Checks its usage and its heartbeat. Returns why it is to be ended, once. */
  poll(): CellFinding | undefined {
    if (!this.isReady) return undefined;
    this.#checkAnswer();
    this.#checkProgress();
    const finding = this.#checkUsage();
    detached(this.#measure(), () => this.cell.kill(FAULT));
    return finding;
  }

  /** It does not give its memory back. Read after each poll. */
  get isBloated(): boolean {
    const resident = this.#watch?.residentBytes;
    if (resident === undefined) return false;
    if (this.#idleBytes === 0) this.#idleBytes = resident;
    // Memory of running threads belongs to them. The rest, long after threads have ended, is fragmentation, which a later check would attribute to others.
    const expected = this.#idleBytes + this.threads * THREAD_BYTES;
    this.#bloatedPolls = resident > expected + BLOAT_BYTES ? this.#bloatedPolls + 1 : 0;
    return this.#bloatedPolls >= BLOATED_POLLS;
  }

  /** The cell has ended. */
  closeWatch(): void {
    this.#watch?.close();
  }

  #checkAnswer(): void {
    this.#polls++;
    if (this.#polls % PING_EVERY_POLLS !== 0 || !this.isBusy) return;
    if (this.cell.ping()) this.#pingedAtPoll = this.#polls;
    else if (this.#polls - this.#pingedAtPoll >= UNRESPONSIVE_POLLS) this.cell.kill('it did not answer for 15 seconds');
  }

  #checkProgress(): void {
    if (this.#polls % PROGRESS_EVERY_POLLS !== 0) return;
    const now = performance.now();
    guardedEach(
      this.handles.values(),
      handle => handle.checkProgress(now),
      handle => handle.end(),
    );
  }

  /** For a cell whose own watchdog is compromised; otherwise that one acts first. */
  #checkUsage(): CellFinding | undefined {
    for (const { claims } of this.handles.values()) claims.polled();
    this.#ended.polled();
    if (this.finding !== undefined) return undefined;
    this.finding = this.#watch?.poll(this.#claims, performance.now());
    if (this.finding !== undefined) this.cell.kill(this.finding.detail);
    return this.finding;
  }

  /** Takes half a millisecond, so it is done only when a new cell has reached its size, and when something seems to have changed. */
  async #measure(): Promise<void> {
    const resident = this.#watch?.residentBytes;
    if (resident === undefined || this.#polls < this.#measureAtPoll) return;
    const hasChanged = Math.abs(resident - this.#measuredAtBytes) > CHANGE_BYTES;
    if (!hasChanged && this.#measuredBytes !== undefined) return;
    this.#measureAtPoll = this.#polls + MEASURE_EVERY_POLLS;
    const bytes = await this.#watch?.memory();
    if (bytes === undefined) return;
    this.#measuredBytes = bytes;
    this.#measuredAtBytes = resident;
  }

  get #claims(): CellClaims {
    let openMs = this.#ended.openMs;
    let isolates = 0;
    let earnedMs = this.#earnedMs + this.#ended.earnedMs;
    let movedBytes = this.cell.movedBytes + this.#elsewhereBytes;
    for (const { claims, elsewhereBytes } of this.handles.values()) {
      movedBytes += elsewhereBytes;
      openMs += claims.openMs;
      earnedMs += claims.earnedMs;
      if (!claims.isStarting) isolates++;
    }
    earnedMs += (movedBytes / MEBIBYTE) * CPU.mebibyteMs;
    return { openMs, earnedMs, isolates };
  }
}

/** A callback for the cell has failed: it ends, so that nothing waits for what it was to do. */
export function endAfterFault(live: LiveCell): void {
  live.cell.kill(FAULT);
}
