/**
 * The cell of one account over time: started when first needed, restarted with back-off when it dies, replaced when its sockets run
 * low or its memory does not come back, closed when idle. Hands out isolates, warm ones first.
 */
import { delay } from 'abort-controller-x';
import { EdgeError } from '../quotas/errors.js';
import type { HostShare } from '../quotas/host/host-share.js';
import { type Cell, type CellEvents, type CellOptions, isOutOfMemory } from './cell.js';
import { IsolateHandle, type LossReason } from './isolate-handle.js';
import { OomAttribution } from './oom-attribution.js';
import { boundsOf, CPU, POLL_MS } from './watch/cell-bounds.js';
import { type CellClaims, type CellFinding, CellWatch } from './watch/cell-watch.js';
import { EndedIsolates } from './watch/cpu-claims.js';

export interface SupervisorOptions extends CellOptions {
  readonly account: string;
  /** What the account may take of the host; `undefined` counts nothing. */
  readonly share?: HostShare;
  /** Isolates kept warm and empty. */
  readonly spares: number;
  /** What has to be known before a cell can be created. */
  readonly prepare: () => Promise<void>;
  readonly create: (options: CellOptions, events: CellEvents) => Cell;
  /** A cell was ended for what the kernel says of it. */
  readonly onFinding: (error: EdgeError) => void;
}

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

/** A cell with fewer leases left is drained and replaced in the background. */
const REPLACE_AT_LEASES = 4;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5000;
/** A cell that lived so long has recovered. */
const STABLE_AFTER_MS = 10_000;

/** Several times what a load and its first answer take; a load that finds no spare meanwhile starts a thread of its own. */
const REFILL_AFTER_MS = 50;
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

const FINDING_CODES = { cpu: 'EDGE_CPU_LIMIT', memory: 'EDGE_MEMORY_LIMIT', cell: 'EDGE_CELL_LOST' } as const;

class LiveCell {
  readonly cell: Cell;
  readonly startedMs = performance.now();
  readonly handles = new Map<number, IsolateHandle>();
  readonly spares: IsolateHandle[] = [];
  isRetired = false;
  isReady = false;
  watch: CellWatch | undefined;
  finding: CellFinding | undefined;
  readonly ended = new EndedIsolates();
  /** What isolates that are gone have accounted for. */
  #earnedMs = 0;
  /** Resident memory when it had nothing to do yet. */
  idleBytes = 0;
  bloatedPolls = 0;
  polls = 0;
  /** Count of polls at the last ping. */
  pingedAtPoll = 0;
  readonly suspects = new OomAttribution();
  readonly #onRemoved: () => void;

  constructor(
    create: SupervisorOptions['create'],
    options: CellOptions,
    events: Pick<CellEvents, 'onLinger' | 'onExit'>,
    onRemoved: () => void,
  ) {
    this.#onRemoved = onRemoved;
    this.cell = create(options, {
      onLeaseEnd: (lease, end, detail) => {
        const handle = this.handles.get(lease);
        this.remove(lease);
        this.suspects.leaseEnded(lease, end);
        handle?.leaseEnded(end, detail);
      },
      onLongTurn: (lease, isRunning) => this.suspects.longTurn(lease, isRunning),
      ...events,
    });
  }

  /** The cell is up, and no function code has run in it yet. */
  startWatch(options: CellOptions): void {
    const reader = this.cell.reader();
    if (reader !== undefined) this.watch = new CellWatch(reader, boundsOf(options), performance.now());
  }

  get claims(): CellClaims {
    let openMs = this.ended.openMs;
    let isolates = 0;
    let earnedMs = this.#earnedMs + this.ended.earnedMs + (this.cell.movedBytes / MEBIBYTE) * CPU.mebibyteMs;
    for (const { claims } of this.handles.values()) {
      openMs += claims.openMs;
      earnedMs += claims.earnedMs;
      if (!claims.isStarting) isolates++;
    }
    return { openMs, earnedMs, isolates };
  }

  remove(lease: number): void {
    const claims = this.handles.get(lease)?.claims;
    claims?.ended();
    if (claims !== undefined) this.ended.ended();
    this.#earnedMs += claims?.earnedMs ?? 0;
    this.handles.delete(lease);
    const index = this.spares.findIndex(spare => spare.lease === lease);
    if (index >= 0) this.spares.splice(index, 1);
    this.#onRemoved();
  }

  get threads(): number {
    return this.handles.size;
  }

  get isBusy(): boolean {
    for (const handle of this.handles.values()) if (handle.isBusy) return true;
    return false;
  }
}

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

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** An isolate with an empty realm. Rejects with EDGE_CELL_START when no cell can be started, with EDGE_OVERLOADED when the cell has no thread left. */
  async acquire(): Promise<IsolateHandle> {
    for (;;) {
      const live = await this.#usable();
      // Whoever asks has a place for the isolate: a cell that has more threads is out of step.
      if (live.spares.length === 0 && live.threads >= this.#options.maxThreads) throw this.#overloaded();
      const spare = live.spares.shift() ?? this.#start(live);
      // Afterwards, so that a new thread does not take the processor from the load that is waiting, and its first requests.
      setTimeout(() => this.#refill(live), REFILL_AFTER_MS).unref();
      if (spare.isUsable) return spare;
    }
  }

  #overloaded(): EdgeError {
    const { account, maxThreads } = this.#options;
    return new EdgeError(
      'EDGE_OVERLOADED',
      `Cannot start an isolate of account "${account}": its process runs ${maxThreads} threads, the most that it may`,
    );
  }

  get cells(): CellState[] {
    return [...this.#cells].map(({ cell, threads, watch }) => {
      const usage = watch?.usage();
      return {
        pid: cell.pid,
        isolates: threads,
        processes: usage?.processes,
        cpuMs: usage?.cpuMs,
        residentBytes: usage?.residentBytes,
        source: usage === undefined ? undefined : watch?.source,
      };
    });
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

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    // What still runs is told so now, and does not take the end of its cell for a crash.
    for (const live of this.#cells) for (const handle of [...live.handles.values()]) handle.end();
    await Promise.all([...this.#cells].map(live => live.cell.close()));
    await Promise.all(this.#leaving);
  }

  async #usable(): Promise<LiveCell> {
    this.#refuseWhenClosed();
    let live = this.#current;
    if (live === undefined || live.isRetired || live.cell.leasesLeft === 0) {
      await this.#options.prepare();
      await this.#backOff();
      this.#refuseWhenClosed();
      live = this.#current;
    }
    try {
      if (live === undefined || live.isRetired || live.cell.leasesLeft === 0) live = this.#create();
      await live.cell.ready;
      if (!live.isReady) live.startWatch(this.#options);
      live.isReady = true;
    } catch (error) {
      this.#refuseWhenClosed();
      throw new EdgeError(
        'EDGE_CELL_START',
        `Cannot start the process of account "${this.#options.account}": ${String(error)}`,
        {
          cause: error,
        },
      );
    }
    return live;
  }

  #create(): LiveCell {
    const live: LiveCell = new LiveCell(
      this.#options.create,
      this.#options,
      { onLinger: () => this.#abandon(live), onExit: detail => this.#exited(live, detail) },
      () => this.#closeIfDrained(live),
    );
    this.#cells.add(live);
    this.#current = live;
    this.#watch();
    return live;
  }

  #start(live: LiveCell): IsolateHandle {
    const connection = live.cell.start();
    const { lease } = connection;
    const endLease = (): void => {
      live.cell.end(lease);
      live.remove(lease);
    };
    const handle = new IsolateHandle(connection, endLease, this.#options.share);
    live.handles.set(lease, handle);
    if (live.cell.leasesLeft <= REPLACE_AT_LEASES) this.#retire(live);
    return handle;
  }

  #refill(live: LiveCell): void {
    if (this.#closing.signal.aborted || live.isRetired || live !== this.#current) return;
    // Short of the lease that has the cell replaced: it would come too late to end with the other spares.
    const room = Math.min(this.#options.maxThreads - live.threads, live.cell.leasesLeft - REPLACE_AT_LEASES - 1);
    for (let missing = Math.min(this.#options.spares - live.spares.length, room); missing > 0; missing--) {
      const spare = this.#start(live);
      spare.warm();
      live.spares.push(spare);
    }
  }

  /** No new leases here; the cell ends when the last one does. */
  #retire(live: LiveCell): void {
    if (live.isRetired) return;
    live.isRetired = true;
    if (this.#current === live) this.#current = undefined;
    for (const spare of [...live.spares]) spare.end();
    this.#closeIfDrained(live);
  }

  /** It may have to be ended soon: what runs there may finish, and everything else goes on in another cell. */
  #abandon(live: LiveCell): void {
    if (!live.isRetired) this.#failed(live);
    this.#retire(live);
    for (const handle of live.handles.values()) handle.leave();
  }

  #closeIfDrained(live: LiveCell): void {
    if (live.isRetired && live.handles.size === 0) void live.cell.close();
  }

  #exited(live: LiveCell, detail: string): void {
    this.#cells.delete(live);
    if (this.#current === live) this.#current = undefined;
    if (!live.isRetired && !this.#closing.signal.aborted) this.#failed(live);
    live.watch?.close();
    const leaving = live.cell.close().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
    const busy = [...live.handles.values()].filter(handle => handle.isBusy);
    const leases = busy.map(handle => handle.lease);
    const blamed = isOutOfMemory(detail) ? live.suspects.blamed(leases) : undefined;
    const openInvocations = busy.reduce((sum, handle) => sum + handle.inFlight, 0);
    for (const handle of [...live.handles.values()]) {
      const { kind, unaccountedMs } = live.finding ?? { kind: 'cell', unaccountedMs: 0 };
      const isSpent = kind === 'cpu' && handle.isBusy;
      const reason = isSpent ? 'cpu' : blamed?.has(handle.lease) === true ? 'memory' : 'cell';
      handle.leaseEnded(reason, detail, (unaccountedMs * handle.inFlight) / Math.max(1, openInvocations));
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
    throw new EdgeError('EDGE_CLOSED', `Cannot start an isolate of account "${this.#options.account}": it is closed`);
  }

  #watch(): void {
    this.#timer ??= setInterval(() => {
      for (const live of this.#cells) {
        if (!live.isReady) continue;
        this.#checkAnswer(live);
        this.#checkProgress(live);
        this.#checkUsage(live);
        this.#checkBloat(live);
      }
    }, POLL_MS).unref();
  }

  #checkAnswer(live: LiveCell): void {
    live.polls++;
    if (live.polls % PING_EVERY_POLLS !== 0 || !live.isBusy) return;
    if (live.cell.ping()) live.pingedAtPoll = live.polls;
    else if (live.polls - live.pingedAtPoll >= UNRESPONSIVE_POLLS) live.cell.kill('it did not answer for 15 seconds');
  }

  #checkProgress(live: LiveCell): void {
    if (live.polls % PROGRESS_EVERY_POLLS !== 0) return;
    const now = performance.now();
    for (const handle of live.handles.values()) handle.checkProgress(now);
  }

  /** The cell's own watchdog acts first; this is for a cell whose watchdog has been taken over. */
  #checkUsage(live: LiveCell): void {
    for (const { claims } of live.handles.values()) claims.polled();
    live.ended.polled();
    if (live.finding !== undefined) return;
    const finding = live.watch?.poll(live.claims, performance.now());
    if (finding === undefined) return;
    live.finding = finding;
    const what = `The process of account "${this.#options.account}" was ended: ${finding.detail}`;
    live.cell.kill(finding.detail);
    this.#options.onFinding(new EdgeError(FINDING_CODES[finding.kind], what));
  }

  /** For memory that does not come back. */
  #checkBloat(live: LiveCell): void {
    const resident = live.watch?.residentBytes;
    if (resident === undefined) return;
    if (live.idleBytes === 0) live.idleBytes = resident;
    // What threads hold while they run is theirs; what is left long after is fragmentation, and a later check would blame the innocent.
    const expected = live.idleBytes + live.threads * THREAD_BYTES;
    live.bloatedPolls = resident > expected + BLOAT_BYTES ? live.bloatedPolls + 1 : 0;
    if (live.bloatedPolls >= BLOATED_POLLS) this.#retire(live);
  }
}
