/**
 * A cell with all that the host knows of it: its isolates, the spares among them, what the kernel says of it. It belongs to nobody until it is
 * given to an owner, once.
 */
import type { HostShare } from '../../quotas/host/host-share.js';
import type { Cell, CellEvents, CellOptions } from '../cell.js';
import { IsolateHandle } from '../isolate-handle.js';
import { OomAttribution } from '../oom-attribution.js';
import { boundsOf, CPU } from '../watch/cell-bounds.js';
import { type CellClaims, type CellFinding, CellWatch } from '../watch/cell-watch.js';
import { EndedIsolates } from '../watch/cpu-claims.js';
import { CELL_BYTES, ISOLATE_BYTES } from './memory-budget.js';

/** One cell as the kernel sees it. The kernel's values are undefined for threads of the host, and on systems that tell nothing of processes. */
export interface CellState {
  /** Of its main process; undefined with isolation 'thread'. */
  readonly pid: number | undefined;
  readonly isolates: number;
  /** All of its processes, those that only started it included: one to three. A cell that comes to have more is ended. */
  readonly processes: number | undefined;
  /** CPU milliseconds that all of it has used since its start. */
  readonly cpuMs: number | undefined;
  /** Memory of all of its processes, with the files that they hold open. */
  readonly residentBytes: number | undefined;
  /** Where the values come from: the control group of the cell, or each of its processes. */
  readonly source: 'cgroup' | 'processes' | undefined;
}

export type CellMaker = (options: CellOptions, events: CellEvents) => Cell;

/** Who has the cell. */
export interface CellOwner {
  onLinger(): void;
  onExit(detail: string): void;
  /** One of its isolates is gone. */
  onRemoved(): void;
}

/** Invocations are looked at for progress every so many polls, a second: a look costs less than a microsecond. */
const PROGRESS_EVERY_POLLS = 4;
/** A cell in which something runs is asked to answer every so many polls. */
const PING_EVERY_POLLS = 10;
/**
 * One that has not answered for so long, 15 seconds, has been stopped or is stuck. Polls count and not time: a machine that slept, or an
 * application that was busy, is not the cell's fault.
 */
const UNRESPONSIVE_POLLS = 60;
const MEBIBYTE = 1024 * 1024;
/** Resident memory that a loaded isolate may have without being suspicious. */
const THREAD_BYTES = 64 * MEBIBYTE;
/** A cell that stays this far above what its threads explain is drained and replaced. */
const BLOAT_BYTES = 150 * MEBIBYTE;
const BLOATED_POLLS = 20;
/** Its memory is measured again when its resident memory has changed by so much. */
const CHANGE_BYTES = 4 * MEBIBYTE;
const MEASURE_EVERY_POLLS = 8;
/** For so long an isolate grows to what it takes. */
const NEW_POLLS = 4;

export class LiveCell {
  readonly cell: Cell;
  readonly handles = new Map<number, IsolateHandle>();
  readonly spares: IsolateHandle[] = [];
  readonly suspects = new OomAttribution();
  /** When it was started, or given. */
  startedMs = performance.now();
  isRetired = false;
  /** It has no isolates but spares, and its end may come. */
  isWaiting = false;
  idleTimer: NodeJS.Timeout | undefined;
  isReady = false;
  /** It was started for nobody in particular, and given later. */
  isFromWarm = false;
  finding: CellFinding | undefined;
  readonly #options: CellOptions;
  readonly #ended = new EndedIsolates();
  #watch: CellWatch | undefined;
  #owner: CellOwner;
  #isGiven = false;
  /** What isolates that are gone have accounted for. */
  #earnedMs = 0;
  /** Resident memory when it had nothing to do yet. */
  #idleBytes = 0;
  #bloatedPolls = 0;
  #polls = 0;
  /** What the kernel said of its memory, and its resident memory then. */
  #measuredBytes: number | undefined;
  #measuredAtBytes = 0;
  #measureAtPoll = 0;
  /** Count of polls when the last isolate was started. */
  #changedAtPoll = 0;
  /** Count of polls at the last ping. */
  #pingedAtPoll = 0;

  /** @param owner of the cell until it is given, if it is */
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
      onLinger: () => this.#owner.onLinger(),
      onExit: detail => this.#owner.onExit(detail),
    });
  }

  /**
   * The cell is the owner's from here on, and counted to the share. False when it cannot be: it has said more than one that belongs to nobody.
   * @throws Error when it was given before: a cell never changes its account
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
  addSpare(share: HostShare | undefined): Promise<void> {
    const spare = this.start(share);
    this.spares.push(spare);
    return spare.warm();
  }

  remove(lease: number): void {
    const claims = this.handles.get(lease)?.claims;
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

  /** Nothing is in it but spares. */
  get isIdle(): boolean {
    return this.handles.size === this.spares.length;
  }

  /**
   * Memory that the machine would have again without it: measured now and then, and in between by how its resident memory has changed. At least what
   * its isolates take when they are new, which is seen only later.
   */
  get memoryBytes(): number {
    const resident = this.#watch?.residentBytes ?? this.#measuredAtBytes;
    const expected = CELL_BYTES + ISOLATE_BYTES * Math.max(0, this.threads - 1);
    if (this.#measuredBytes === undefined) return Math.max(resident, expected);
    const isNew = this.#polls < NEW_POLLS || this.#polls - this.#changedAtPoll < NEW_POLLS;
    const measured = this.#measuredBytes + resident - this.#measuredAtBytes;
    return isNew ? Math.max(measured, expected) : measured;
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

  /** Looks at it, from inside and outside. Answers why it is to be ended, once. */
  poll(): CellFinding | undefined {
    if (!this.isReady) return undefined;
    this.#checkAnswer();
    this.#checkProgress();
    const finding = this.#checkUsage();
    this.#measure();
    return finding;
  }

  /** Its memory does not come back. Asked after each poll. */
  get isBloated(): boolean {
    const resident = this.#watch?.residentBytes;
    if (resident === undefined) return false;
    if (this.#idleBytes === 0) this.#idleBytes = resident;
    // What threads hold while they run is theirs; what is left long after is fragmentation, and a later check would blame the innocent.
    const expected = this.#idleBytes + this.threads * THREAD_BYTES;
    this.#bloatedPolls = resident > expected + BLOAT_BYTES ? this.#bloatedPolls + 1 : 0;
    return this.#bloatedPolls >= BLOATED_POLLS;
  }

  /** It has ended. */
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
    for (const handle of this.handles.values()) handle.checkProgress(now);
  }

  /** The cell's own watchdog acts first; this is for a cell whose watchdog has been taken over. */
  #checkUsage(): CellFinding | undefined {
    for (const { claims } of this.handles.values()) claims.polled();
    this.#ended.polled();
    if (this.finding !== undefined) return undefined;
    this.finding = this.#watch?.poll(this.#claims, performance.now());
    if (this.finding !== undefined) this.cell.kill(this.finding.detail);
    return this.finding;
  }

  /** Takes half a millisecond, so only when something seems to have changed, and after a start. */
  #measure(): void {
    const resident = this.#watch?.residentBytes;
    if (resident === undefined || this.#polls < this.#measureAtPoll) return;
    const hasChanged = Math.abs(resident - this.#measuredAtBytes) > CHANGE_BYTES;
    if (!hasChanged && this.#measuredBytes !== undefined) return;
    this.#measureAtPoll = this.#polls + MEASURE_EVERY_POLLS;
    this.#measuredBytes = this.#watch?.memory();
    this.#measuredAtBytes = resident;
  }

  get #claims(): CellClaims {
    let openMs = this.#ended.openMs;
    let isolates = 0;
    let earnedMs = this.#earnedMs + this.#ended.earnedMs + (this.cell.movedBytes / MEBIBYTE) * CPU.mebibyteMs;
    for (const { claims } of this.handles.values()) {
      openMs += claims.openMs;
      earnedMs += claims.earnedMs;
      if (!claims.isStarting) isolates++;
    }
    return { openMs, earnedMs, isolates };
  }
}
