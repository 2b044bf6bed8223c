/**
 * The cell of one account over time: started when first needed, restarted with back-off when it dies, replaced when its sockets run
 * low or its memory does not come back, closed when idle. Hands out isolates, warm ones first.
 */
import { EdgeError } from '../quotas/errors.js';
import { type Cell, type CellEvents, type CellOptions, isOutOfMemory } from './cell.js';
import { IsolateHandle } from './isolate-handle.js';

export interface SupervisorOptions extends CellOptions {
  readonly account: string;
  /** Isolates kept warm and empty. */
  readonly spares: number;
  /** What has to be known before a cell can be created. */
  readonly prepare: () => Promise<void>;
  readonly create: (options: CellOptions, events: CellEvents) => Cell;
}

/** A cell with fewer leases left is drained and replaced in the background. */
const REPLACE_AT_LEASES = 4;
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5000;
/** A cell that lived so long has recovered. */
const STABLE_AFTER_MS = 10_000;

class LiveCell {
  readonly cell: Cell;
  readonly startedMs = performance.now();
  readonly handles = new Map<number, IsolateHandle>();
  readonly spares: IsolateHandle[] = [];
  isRetired = false;
  isReady = false;

  constructor(
    create: SupervisorOptions['create'],
    options: CellOptions,
    onExit: (live: LiveCell, detail: string) => void,
  ) {
    this.cell = create(options, {
      onLeaseEnd: (lease, end, detail) => {
        const handle = this.handles.get(lease);
        this.remove(lease);
        handle?.leaseEnded(end, detail);
      },
      onExit: detail => onExit(this, detail),
    });
  }

  remove(lease: number): void {
    this.handles.delete(lease);
    const index = this.spares.findIndex(spare => spare.lease === lease);
    if (index >= 0) this.spares.splice(index, 1);
  }

  get threads(): number {
    return this.handles.size;
  }
}

export class CellSupervisor {
  readonly #options: SupervisorOptions;
  readonly #cells = new Set<LiveCell>();
  #current: LiveCell | undefined;
  #failures = 0;
  #notBeforeMs = 0;
  #isClosed = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** An isolate with an empty realm. Rejects with EDGE_CELL_START when no cell can be had. */
  async acquire(): Promise<IsolateHandle> {
    for (;;) {
      const live = await this.#usable();
      const spare = live.spares.shift() ?? this.#start(live);
      // Afterwards, so that a new thread does not take the processor from the load that is waiting.
      setImmediate(() => this.#refill(live));
      if (spare.isUsable) return spare;
    }
  }

  /** Starts the cell and its spares ahead of the first load. */
  async warm(): Promise<void> {
    this.#refill(await this.#usable());
  }

  get cells(): {
    readonly pid: number | undefined;
    readonly isolates: number;
    readonly residentBytes: number | undefined;
  }[] {
    return [...this.#cells].map(({ cell, threads }) => ({
      pid: cell.pid,
      isolates: threads,
      residentBytes: cell.residentBytes(),
    }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#cells].map(live => live.cell.close()));
  }

  async #usable(): Promise<LiveCell> {
    if (this.#isClosed)
      throw new EdgeError('EDGE_CLOSED', `Cannot start an isolate of account "${this.#options.account}": it is closed`);
    let live = this.#current;
    if (live === undefined || live.isRetired || live.cell.leasesLeft === 0) {
      await this.#options.prepare();
      await this.#backOff();
      live = this.#current;
      if (live === undefined || live.isRetired || live.cell.leasesLeft === 0) live = this.#create();
    }
    try {
      await live.cell.ready;
      live.isReady = true;
    } catch (error) {
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
    const live = new LiveCell(this.#options.create, this.#options, (ended, detail) => this.#exited(ended, detail));
    this.#cells.add(live);
    this.#current = live;
    return live;
  }

  #start(live: LiveCell): IsolateHandle {
    const connection = live.cell.start();
    const { lease } = connection;
    const handle = new IsolateHandle(connection, () => {
      live.remove(lease);
      live.cell.end(lease);
      this.#closeIfDrained(live);
    });
    live.handles.set(lease, handle);
    if (live.cell.leasesLeft <= REPLACE_AT_LEASES) this.#retire(live);
    return handle;
  }

  #refill(live: LiveCell): void {
    if (this.#isClosed || live.isRetired || live !== this.#current) return;
    const room = Math.min(this.#options.maxThreads - live.threads, live.cell.leasesLeft - REPLACE_AT_LEASES);
    for (let missing = Math.min(this.#options.spares - live.spares.length, room); missing > 0; missing--) {
      live.spares.push(this.#start(live));
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

  #closeIfDrained(live: LiveCell): void {
    if (live.isRetired && live.handles.size === 0) void live.cell.close();
  }

  #exited(live: LiveCell, detail: string): void {
    this.#cells.delete(live);
    if (this.#current === live) this.#current = undefined;
    if (!live.isRetired && !this.#isClosed) {
      const lived = performance.now() - live.startedMs;
      this.#failures = lived > STABLE_AFTER_MS ? 1 : this.#failures + 1;
      this.#notBeforeMs = performance.now() + Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (this.#failures - 1));
    }
    const reason = isOutOfMemory(detail) ? 'memory' : 'cell';
    for (const handle of [...live.handles.values()]) handle.leaseEnded(reason, detail);
  }

  async #backOff(): Promise<void> {
    const waitMs = this.#notBeforeMs - performance.now();
    if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs));
  }
}
