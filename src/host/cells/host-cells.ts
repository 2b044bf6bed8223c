/** Where the isolates of a host's accounts come from: a process for each account, behind the sandbox, or threads of this one. */
import process from 'node:process';
import type { Cell, CellEvents, CellOptions } from '../../pool/cell.js';
import { CellSupervisor } from '../../pool/cell-supervisor.js';
import type { IsolateHandle, LossReason } from '../../pool/isolate-handle.js';
import { ProcessCell } from '../../pool/process-cell.js';
import { type Sandbox, sandboxFor } from '../../pool/sandbox/sandbox.js';
import type { SandboxState } from '../../pool/sandbox/state.js';
import type { CellState } from '../../pool/supply/live-cell.js';
import { WarmCells } from '../../pool/supply/warm-cells.js';
import { ThreadCell } from '../../pool/thread-cell.js';
import { type CgroupState, cgroupsOfProcess } from '../../pool/watch/cgroup.js';
import { EdgeError } from '../../quotas/errors.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { ResolvedHostOptions } from '../host-options.js';
import { publish } from '../invocation/telemetry.js';

/** A cell may hold so much besides the memory of its isolates before isolates are ended. */
const CELL_BASE_BYTES = 256 * 1024 * 1024;
const NO_CGROUPS: CgroupState = { parent: undefined, missing: ['switched off'] };

/** One cell of a host, and what the kernel says of it. */
export interface HostCell extends CellState {
  readonly account: string;
}

/** How a host sees what its cells use. */
export interface HostWatch {
  /** Whether each cell has a control group (cgroup v2) of its own. */
  readonly cgroups: boolean;
  /** Controllers that those have: 'memory' and 'pids' bound a cell by the kernel, 'cpu' weighs it. */
  readonly controllers: readonly string[];
  /** Why something of it is missing; then it is read from each process. */
  readonly missing: readonly string[];
}

/** The cells of a host, for health checks. */
export interface CellsHealth {
  /** Layers around the cells; undefined before the first cell was asked for, and with isolation 'thread', which has none. */
  readonly sandbox: SandboxState | undefined;
  readonly cells: readonly HostCell[];
  /** Cells that belong to no account yet (option `warmCells`), those included that are starting. */
  readonly warmCells: readonly CellState[];
  /** How the host sees what its cells use; undefined before the first cell was asked for, and with isolation 'thread'. */
  readonly watch: HostWatch | undefined;
}

/** The cells of one account. */
export interface AccountCells {
  /** See {@link CellSupervisor.acquire}. */
  acquire(): Promise<IsolateHandle>;
  readonly cells: readonly CellState[];
  /** Ends all that runs of the account. What comes next goes to a new isolate. */
  endAll(reason: LossReason, detail: string): void;
  close(): Promise<void>;
}

export interface HostCellsParts {
  readonly options: ResolvedHostOptions;
  /** Memory of one isolate of an account that sets nothing of its own, in bytes. */
  readonly memoryBytes: number;
  readonly guestBundle: string | undefined;
  readonly warn: (error: EdgeError) => void;
}

export class HostCells {
  readonly #parts: HostCellsParts;
  readonly #accounts = new Map<string, CellSupervisor>();
  readonly #warm: WarmCells;
  /** Known when the first cell has been asked for; never with isolation 'thread'. */
  #sandbox: Sandbox | undefined;
  /** Known at the same time. */
  #cgroups: CgroupState | undefined;
  #isSandboxTold = false;

  constructor(parts: HostCellsParts) {
    this.#parts = parts;
    const { warmCells, isolation } = parts.options;
    this.#warm = new WarmCells({
      // Threads of this process are started as quickly as they are ever needed.
      count: isolation === 'process' ? warmCells : 0,
      cell: this.#cellOptions(parts.memoryBytes),
      prepare: () => this.#prepare(),
      create: (options, events) => this.#create(options, events),
      hasRoom: () => true,
      onLost: parts.warn,
    });
  }

  /** The cells of an account whose isolates may have so much memory. Nothing is started yet. */
  open(account: string, memoryBytes: number, share: HostShare): AccountCells {
    const { spareIsolates, cellIdleMs } = this.#parts.options;
    const supervisor = new CellSupervisor({
      ...this.#cellOptions(memoryBytes),
      account,
      share,
      spares: spareIsolates,
      idleMs: cellIdleMs,
      prepare: () => this.#prepare(),
      create: (options, events) => this.#create(options, events, share),
      takeWarm: options => this.#warm.take(options),
      onFinding: this.#parts.warn,
      onCell: (state, detail) => publish('cell', { account, state, detail }),
    });
    this.#accounts.set(account, supervisor);
    return supervisor;
  }

  get health(): CellsHealth {
    return {
      sandbox: this.#sandbox?.state,
      cells: [...this.#accounts].flatMap(([account, { cells }]) => cells.map(cell => ({ account, ...cell }))),
      warmCells: this.#warm.cells,
      watch: this.#cgroups === undefined ? undefined : watchState(this.#cgroups),
    };
  }

  /** Ends what belongs to no account; accounts close their own. */
  async close(): Promise<void> {
    await this.#warm.close();
  }

  #cellOptions(memoryBytes: number): CellOptions {
    const { options, guestBundle } = this.#parts;
    return {
      maxThreads: options.maxIsolatesPerAccount + options.spareIsolates,
      heapBytes: memoryBytes,
      cellMemoryBytes: CELL_BASE_BYTES + memoryBytes * 2,
      ...(guestBundle !== undefined && { guestBundle }),
    };
  }

  async #prepare(): Promise<void> {
    const { options, warn } = this.#parts;
    if (options.isolation !== 'process') return;
    this.#sandbox = await sandboxFor(options.sandbox);
    this.#cgroups ??= options.sandbox === 'off' ? NO_CGROUPS : cgroupsOfProcess();
    const { mode, missing, separation } = this.#sandbox.state;
    if (this.#isSandboxTold || mode !== 'auto' || missing.length === 0 || process.platform !== 'linux') return;
    this.#isSandboxTold = true;
    warn(
      new EdgeError('EDGE_SANDBOX', `The sandbox of cells is incomplete. ${separation} Missing: ${missing.join('; ')}`),
    );
  }

  #create(options: CellOptions, events: CellEvents, share?: HostShare): Cell {
    return this.#sandbox === undefined
      ? new ThreadCell(options, events)
      : new ProcessCell(options, events, this.#sandbox, { cgroups: this.#cgroups?.parent, share });
  }
}

function watchState({ parent, missing }: CgroupState): HostWatch {
  return { cgroups: parent !== undefined, controllers: [...(parent?.controllers ?? [])], missing };
}
