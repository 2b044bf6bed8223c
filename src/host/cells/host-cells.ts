/** Where the isolates of a host's accounts come from: a process for each account, behind the sandbox, or threads of this one. */
import type { CellState } from '../../pool/host/capacity/live-cell.js';
import { CELL, ISOLATE, NOTHING, type Resources, sum, THREAD } from '../../pool/host/capacity/resources.js';
import { WarmCells } from '../../pool/host/capacity/warm-cells.js';
import { type Cell, type CellBackend, type CellEvents, type CellOptions, FIRST_LEASES } from '../../pool/host/cell.js';
import { CellSupervisor } from '../../pool/host/cell-supervisor.js';
import { type CgroupState, cgroupsOfProcess } from '../../pool/host/cell-usage/cgroup.js';
import type { GateRoom } from '../../pool/host/isolate-gate.js';
import { ProcessCell } from '../../pool/host/process-cell.js';
import { ThreadCell } from '../../pool/host/thread-cell.js';
import { type Launcher, releaseLauncher, useLauncher } from '../../pool/launcher/launcher.js';
import { isProcHidden } from '../../pool/processes/process-reading.js';
import { firstSandboxFor, type Sandbox } from '../../pool/sandbox/sandbox.js';
import { type SandboxState, sandboxWarning } from '../../pool/sandbox/state.js';
import { EdgeError } from '../../quotas/errors.js';
import { guarded } from '../../quotas/guarded.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import { publish } from '../invocation/reports/telemetry.js';
import type { ResolvedHostOptions } from '../options/host-options.js';
import type { AccountCells } from './account-cells.js';
import { GroupCells } from './group-cells.js';
import { HostBudgets, type SystemBudget } from './host-budgets.js';

/** A cell may hold so much besides the memory of its isolates before isolates are ended. */
const CELL_BASE_BYTES = 256 * 1024 * 1024;
/** Idle isolates may grow too, and callers that wait for memory look again. */
const CHECK_EVERY_MS = 500;
const NO_CGROUPS: CgroupState = { parent: undefined, missing: ['switched off'] };

/** One cell of a host, and what the kernel says of it. */
export interface HostCell extends CellState {
  /** The account that it belongs to; undefined for the cell of a group. */
  readonly account: string | undefined;
  /** The group whose accounts share it; undefined for the cell of one account. */
  readonly group: string | undefined;
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
  /** The memory that all processes of accounts use, and may use (option `memoryBytes`), in bytes; undefined with isolation 'thread'. */
  readonly memory: { readonly usedBytes: number; readonly limitBytes: number } | undefined;
  /** Descriptors of this process, or of the backend process if it has fewer left; undefined without a limit, and on systems without /proc. */
  readonly descriptors: SystemBudget | undefined;
  /** Processes and threads, by the limit that leaves the fewest; undefined without a limit, and on systems without /proc. */
  readonly tasks: SystemBudget | undefined;
}

/** The backend process, as cells need it. */
interface CellsBackend {
  /** `prepare` resolves when there are connections for one more cell, as many as it has leases. */
  readonly connections: CellBackend & { prepare(leases: number): Promise<void> };
  readonly pid: number | undefined;
}

export interface HostCellsParts {
  readonly options: ResolvedHostOptions;
  /** Memory of one isolate of an account that sets nothing of its own, in bytes. */
  readonly memoryBytes: number;
  readonly guestBundle: string | undefined;
  /** Ends the isolate that has been idle for longest, and for at least this long; false when no isolate qualifies. */
  readonly evict: (idleForMs: number) => boolean;
  /** There may be room for an isolate that waits. */
  readonly onRoom: () => void;
  /** A share of the host with the bounds of an account. `onStuck` gets the reason why its owner must end. */
  readonly share: (owner: string, onStuck: (reason: string) => void) => HostShare;
  readonly warn: (error: EdgeError) => void;
  readonly backend?: CellsBackend | undefined;
}

export class HostCells {
  readonly #parts: HostCellsParts;
  /** The supervisor of each account. The accounts of a group share one. */
  readonly #accounts = new Map<string, CellSupervisor>();
  readonly #groups = new Map<string, GroupCells>();
  readonly #whose = new Map<CellSupervisor, Pick<HostCell, 'account' | 'group'>>();
  readonly #warm: WarmCells;
  /** The supervisors that have cells, and how many. */
  readonly #active = new Map<CellSupervisor, number>();
  /** The supervisors with a cell that has no isolates. The ones that have been idle longest come first. */
  readonly #idle = new Set<CellSupervisor>();
  readonly #budgets: HostBudgets;
  /** Runs while there are cells. */
  #check: NodeJS.Timeout | undefined;
  /** Known when the first cell has been asked for; never with isolation 'thread'. */
  #sandbox: Sandbox | undefined;
  /** Known at the same time. */
  #cgroups: CgroupState | undefined;
  #isSandboxTold = false;
  #isHiddenProcTold = false;
  /** Undefined with isolation 'thread'. */
  readonly #launcher: Launcher | undefined;

  constructor(parts: HostCellsParts) {
    this.#parts = parts;
    const { warmCells, isolation } = parts.options;
    this.#warm = new WarmCells({
      // Threads of this process are started as quickly as they are ever needed.
      count: isolation === 'process' ? warmCells : 0,
      cell: this.#cellOptions(parts.memoryBytes),
      prepare: () => this.#prepare(FIRST_LEASES),
      create: (options, events) => this.#create(options, events),
      hasRoom: () => this.#budgets.hasRoomForWarm(),
      onLost: parts.warn,
    });
    this.#budgets = this.#createBudgets();
    if (isolation === 'process') this.#launcher = useLauncher();
  }

  #createBudgets(): HostBudgets {
    const { options, evict, backend } = this.#parts;
    const { isolation, memoryBytes, reservedDescriptors, reservedTasks } = options;
    return new HostBudgets({
      isolation,
      // Threads use the memory of the application.
      memoryBytes: isolation === 'process' ? memoryBytes : Number.POSITIVE_INFINITY,
      reservedDescriptors,
      reservedTasks,
      used: () => sum([...this.#active.keys()].map(({ resources }) => resources).concat(this.#warm.resources)),
      ending: () => sum([...this.#active.keys()].map(({ ending }) => ending)),
      trim: kept => {
        let freed = this.#warm.trim(kept);
        for (const supervisor of this.#active.keys()) freed += supervisor.trim(kept);
        return freed;
      },
      endIdleCell: () => {
        const [longest] = this.#idle;
        return longest?.endIdle();
      },
      evict,
      endWarmCell: () => this.#warm.endOne(),
      backendPid: () => backend?.pid,
    });
  }

  /**
   * The cells of an account whose isolates may have so much memory. Nothing is started yet.
   * @throws RangeError when the accounts of the group have isolates of another size
   */
  open(account: string, memoryBytes: number, share: HostShare, group?: string): AccountCells {
    if (group === undefined) {
      return this.#ownCells(account, this.#supervisor(account, memoryBytes, share));
    }
    let cells = this.#groups.get(group);
    if (cells === undefined) {
      cells = this.#groupCells(group, memoryBytes);
      this.#groups.set(group, cells);
    }
    const member = cells.open(account, memoryBytes, share);
    this.#accounts.set(account, cells.supervisor);
    return member;
  }

  #ownCells(account: string, supervisor: CellSupervisor): AccountCells {
    this.#accounts.set(account, supervisor);
    return {
      acquire: () => supervisor.acquire(),
      get cells() {
        return supervisor.cells;
      },
      checkMemory: () => {},
      resize: memoryBytes => supervisor.resize(cellMemory(memoryBytes)),
      endAll: (reason, detail) => supervisor.endAll(reason, detail),
      close: async () => {
        await supervisor.close();
        // Another account of the same id may have begun.
        if (this.#accounts.get(account) === supervisor) this.#accounts.delete(account);
        this.#whose.delete(supervisor);
      },
    };
  }

  #groupCells(group: string, memoryBytes: number): GroupCells {
    const cells: GroupCells = new GroupCells({
      group,
      memoryBytes,
      supervise: share => this.#supervisor(group, memoryBytes, share, true),
      share: onStuck => this.#parts.share(`group ${group}`, onStuck),
      onEmpty: () => {
        this.#groups.delete(group);
        this.#whose.delete(cells.supervisor);
      },
    });
    return cells;
  }

  #supervisor(owner: string, memoryBytes: number, share: HostShare, isGroup = false): CellSupervisor {
    const { spareIsolates, cellIdleMs } = this.#parts.options;
    const whose = isGroup ? { account: undefined, group: owner } : { account: owner, group: undefined };
    const supervisor: CellSupervisor = new CellSupervisor({
      ...this.#cellOptions(memoryBytes),
      account: owner,
      isGroup,
      share,
      spares: spareIsolates,
      idleMs: cellIdleMs,
      prepare: leases => this.#prepare(leases),
      create: (options, events) => this.#create(options, events, share),
      shortage: () => this.#startShortage(owner),
      takeWarm: options => this.#warm.take(options),
      hasRoom: bytes => this.#budgets.fits({ ...this.#isolateResources, bytes }),
      onFinding: this.#parts.warn,
      onCell: (state, detail) => {
        publish('cell', { ...whose, state, detail });
        this.#count(supervisor, state === 'started' ? 1 : -1);
      },
      onIdle: isIdle => {
        this.#idle.delete(supervisor);
        if (isIdle) this.#idle.add(supervisor);
      },
    });
    this.#whose.set(supervisor, whose);
    return supervisor;
  }

  /** Room for those who wait for a place. */
  get gateRoom(): GateRoom {
    const budgets = this.#budgets;
    const { memoryBytes } = this.#parts.options;
    return {
      reserve: account => {
        const next = this.#next(account);
        if (next !== NOTHING && !budgets.hasRoom(next)) return undefined;
        budgets.reserve(next);
        return () => budgets.release(next);
      },
      shortage: account =>
        budgets.systemShortage(this.#next(account)) ?? {
          code: 'EDGE_OVERLOADED',
          text: `the processes of all accounts use ${mebibytes(budgets.usedBytes)} of ${mebibytes(memoryBytes)} MiB (option memoryBytes), and none of it is idle`,
        },
    };
  }

  /** A process could not be started, and the remaining resources do not suffice for one: resources counted as free were not. */
  #startShortage(owner: string): EdgeError | undefined {
    const shortage = this.#budgets.systemShortage(CELL);
    return shortage && new EdgeError(shortage.code, `Cannot start a process of "${owner}": ${shortage.text}`);
  }

  get health(): CellsHealth {
    const { isolation, memoryBytes } = this.#parts.options;
    const { usedBytes, descriptors, tasks } = this.#budgets;
    return {
      sandbox: this.#sandbox?.state,
      cells: [...this.#whose].flatMap(([{ cells }, whose]) => cells.map(cell => ({ ...whose, ...cell }))),
      warmCells: this.#warm.cells,
      watch: this.#cgroups === undefined ? undefined : watchState(this.#cgroups),
      memory: isolation === 'process' ? { usedBytes, limitBytes: memoryBytes } : undefined,
      descriptors,
      tasks,
    };
  }

  /** Running isolates continue; new ones begin in new cells. */
  replaceAll(): void {
    for (const supervisor of this.#whose.keys()) supervisor.replaceAll();
    this.#warm.replaceAll();
  }

  /** Ends what belongs to no account; accounts close their own. */
  async close(): Promise<void> {
    clearInterval(this.#check);
    await this.#warm.close();
    if (this.#launcher !== undefined) await releaseLauncher();
  }

  /** The resources that one more isolate of the account would take. */
  #next(account: string): Resources {
    const supervisor = this.#accounts.get(account);
    if (supervisor === undefined) return NOTHING;
    const { next } = supervisor;
    if (this.#parts.options.isolation === 'thread') return next === NOTHING ? next : THREAD;
    // One that is warm is counted already.
    return next === CELL && this.#warm.has(supervisor.cellOptions) ? NOTHING : next;
  }

  /** The resources that one spare takes. */
  get #isolateResources(): Resources {
    return this.#parts.options.isolation === 'thread' ? THREAD : ISOLATE;
  }

  #count(supervisor: CellSupervisor, change: 1 | -1): void {
    const count = (this.#active.get(supervisor) ?? 0) + change;
    if (count > 0) this.#active.set(supervisor, count);
    else this.#active.delete(supervisor);
    if (this.#active.size === 0) {
      clearInterval(this.#check);
      this.#check = undefined;
    } else {
      this.#check ??= setInterval(
        guarded(() => {
          this.#budgets.check();
          this.#parts.onRoom();
        }),
        CHECK_EVERY_MS,
      ).unref();
    }
    if (change < 0) this.#parts.onRoom();
  }

  #cellOptions(memoryBytes: number): CellOptions {
    const { options, guestBundle } = this.#parts;
    return {
      maxThreads: options.maxIsolatesPerAccount + options.spareIsolates,
      ...cellMemory(memoryBytes),
      ...(guestBundle !== undefined && { guestBundle }),
    };
  }

  async #prepare(leases: number): Promise<void> {
    const { options, backend } = this.#parts;
    if (options.isolation === 'process') await this.#prepareSandbox();
    // Last: connections that no cell takes soon are closed.
    await backend?.connections.prepare(this.#budgets.leases(leases));
  }

  async #prepareSandbox(): Promise<void> {
    const { options, warn } = this.#parts;
    this.#sandbox = await firstSandboxFor(options.sandbox);
    this.#cgroups ??= options.sandbox === 'off' ? NO_CGROUPS : cgroupsOfProcess();
    this.#tellOfHiddenProc();
    const text = sandboxWarning(this.#sandbox.state, 'cells');
    if (this.#isSandboxTold || text === undefined) return;
    this.#isSandboxTold = true;
    warn(new EdgeError('EDGE_SANDBOX', text));
  }

  #tellOfHiddenProc(): void {
    if (this.#isHiddenProcTold || !isProcHidden()) return;
    this.#isHiddenProcTold = true;
    const held = 'The limits of functions hold (CPU, memory of each isolate, requests)';
    const missing =
      'the host does not see the CPU time, memory, processes and files of a cell whose native code is compromised';
    this.#parts.warn(
      new EdgeError(
        'EDGE_SANDBOX',
        `The cells are not watched, because /proc is not mounted. ${held}; ${missing}. Mount /proc.`,
      ),
    );
  }

  #create(options: CellOptions, events: CellEvents, share?: HostShare): Cell {
    return this.#sandbox === undefined
      ? new ThreadCell(options, events)
      : new ProcessCell(
          { ...options, leases: this.#budgets.leases(options.leases ?? FIRST_LEASES) },
          events,
          this.#sandbox,
          {
            cgroups: this.#cgroups?.parent,
            share,
            backend: this.#parts.backend?.connections,
            launcher: this.#launcher,
          },
        );
  }
}

/** The memory options of cells whose isolates have this much memory. */
function cellMemory(memoryBytes: number): Pick<CellOptions, 'heapBytes' | 'cellMemoryBytes'> {
  return { heapBytes: memoryBytes, cellMemoryBytes: CELL_BASE_BYTES + memoryBytes * 2 };
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / (1024 * 1024));
}

function watchState({ parent, missing }: CgroupState): HostWatch {
  return { cgroups: parent !== undefined, controllers: [...(parent?.controllers ?? [])], missing };
}
