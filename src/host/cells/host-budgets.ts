/**
 * The budgets of all cells of a host: memory (option `memoryBytes`), and the descriptors and tasks of the operating system, less the ones reserved for the
 * application itself. With isolation 'thread' isolates take these from the application, and memory is not bounded.
 */

import { Budget } from '../../pool/host/capacity/budget.js';
import { CELL, ISOLATE, type ResourceKind, type Resources, THREAD } from '../../pool/host/capacity/resources.js';
import { FEW_LEASES } from '../../pool/host/cell.js';
import type { RoomShortage } from '../../pool/host/isolate-gate.js';
import type { EdgeErrorCode } from '../../quotas/errors.js';
import { descriptorLimit, type SystemLimit, taskLimits } from '../../quotas/host/system-limits.js';

/** A limit of the operating system, for health checks. */
export interface SystemBudget {
  /** The limit as the system calls it: RLIMIT_NOFILE, RLIMIT_NPROC, or the file `pids.max` of a control group. */
  readonly name: string;
  readonly limit: number;
  /** All that counts to the limit: of the cells, of the application, and of other processes where the limit is theirs, too. */
  readonly used: number;
  /** Cells leave this amount to the application (options `reservedDescriptors` and `reservedTasks`). */
  readonly reserved: number;
}

export interface BudgetParts {
  readonly isolation: 'process' | 'thread';
  readonly memoryBytes: number;
  /** @default half of the limit, at most 4,096 */
  readonly reservedDescriptors: number | undefined;
  /** @default a quarter of the limit, at most 256 */
  readonly reservedTasks: number | undefined;
  /** The resources of all cells, including cells that are ending. */
  readonly used: () => Resources;
  /** The resources of cells that are ending. */
  readonly ending: () => Resources;
  /** Closes the connections that no cell uses, but for `kept` of each cell. Returns how many descriptors are free again. */
  readonly trim: (kept: number) => number;
  /** Ends the cell that has been idle for longest. Returns its resources, undefined when no cell is idle. */
  readonly endIdleCell: () => Resources | undefined;
  /** Ends the isolate that has been idle for longest, and for `idleForMs` at least. False when no isolate qualifies. */
  readonly evict: (idleForMs: number) => boolean;
  /** Ends a warm cell without account. Returns its resources, undefined when no cell is warm. */
  readonly endWarmCell: () => Resources | undefined;
  /** The process that has a connection of each isolate to the backend process; undefined while it does not run. */
  readonly backendPid: () => number | undefined;
}

/** A limit that cells share with other users. */
interface Bound {
  readonly system: SystemLimit;
  readonly reserved: number;
  /** The amount that cells may still take. */
  readonly free: () => number;
}

/** The host needs these for a moment while it starts a cell, and while it looks at one. */
const SPARE_DESCRIPTORS = 32;
const MOST_RESERVED_DESCRIPTORS = 4096;
const MOST_RESERVED_TASKS = 256;
/** Leases that a cell keeps when those that it does not use are taken back: for the next version of a function. */
const KEPT_LEASES = 1;
const UNBOUNDED = Number.POSITIVE_INFINITY;

export class HostBudgets {
  readonly #parts: BudgetParts;
  readonly #memory: Budget;
  readonly #descriptors: Budget;
  readonly #tasks: Budget;
  readonly #ownDescriptors: Bound | undefined;
  #backendDescriptors: { readonly pid: number; readonly bound: Bound | undefined } | undefined;
  readonly #taskBounds: readonly Bound[];

  /** @throws RangeError when more is reserved than the system allows */
  constructor(parts: BudgetParts) {
    this.#parts = parts;
    this.#ownDescriptors = this.#descriptorBound(descriptorLimit());
    if (this.#ownDescriptors !== undefined) {
      checkReserve('reservedDescriptors', this.#ownDescriptors.reserved, this.#ownDescriptors.system);
    }
    this.#taskBounds = taskLimits().map(system => {
      const reserved = parts.reservedTasks ?? Math.min(MOST_RESERVED_TASKS, Math.floor(system.limit / 4));
      checkReserve('reservedTasks', reserved, system);
      return { system, reserved, free: () => system.limit - reserved - (system.used() ?? 0) };
    });
    this.#memory = this.#budget('bytes', () => parts.memoryBytes - parts.used().bytes);
    this.#descriptors = this.#budget(
      'descriptors',
      () => leastFree(this.#descriptorBounds),
      () => parts.trim(KEPT_LEASES),
    );
    this.#tasks = this.#budget('tasks', () => leastFree(this.#taskBounds));
  }

  /** Whether so much is free without ending anything. */
  fits({ bytes, descriptors, tasks }: Resources): boolean {
    return this.#memory.fits(bytes) && this.#descriptors.fits(descriptors) && this.#tasks.fits(tasks);
  }

  /** Whether so much is free now. If not, begins to make room, which usually takes a moment. */
  hasRoom({ bytes, descriptors, tasks }: Resources): boolean {
    return this.#memory.hasRoom(bytes) && this.#descriptors.hasRoom(descriptors) && this.#tasks.hasRoom(tasks);
  }

  /** The same for a warm cell without account. */
  hasRoomForWarm(): boolean {
    return (
      this.#memory.hasRoomForWarm(CELL.bytes) &&
      this.#descriptors.hasRoomForWarm(CELL.descriptors) &&
      this.#tasks.hasRoomForWarm(CELL.tasks)
    );
  }

  reserve({ bytes, descriptors, tasks }: Resources): void {
    this.#memory.reserve(bytes);
    this.#descriptors.reserve(descriptors);
    this.#tasks.reserve(tasks);
  }

  release({ bytes, descriptors, tasks }: Resources): void {
    this.#memory.release(bytes);
    this.#descriptors.release(descriptors);
    this.#tasks.release(tasks);
  }

  /** Called periodically, since running isolates may have grown. */
  check(): void {
    this.#memory.check();
    this.#descriptors.check();
    this.#tasks.check();
  }

  /** The leases that a cell is started with: few where descriptors are scarce. */
  leases(wanted: number): number {
    const more = Math.max(0, wanted - FEW_LEASES);
    return this.#descriptors.fits(CELL.descriptors + more) ? wanted : FEW_LEASES;
  }

  /** Which limit of the system leaves no room for so much; undefined when none does. */
  systemShortage({ descriptors, tasks }: Resources): RoomShortage | undefined {
    const [ofDescriptors, ofTasks] = [tightest(this.#descriptorBounds), tightest(this.#taskBounds)];
    if (ofDescriptors !== undefined && ofDescriptors.free() < descriptors) {
      return shortageOf('EDGE_DESCRIPTOR_LIMIT', ofDescriptors, 'descriptors', 'reservedDescriptors');
    }
    if (ofTasks !== undefined && ofTasks.free() < tasks) {
      return shortageOf('EDGE_TASK_LIMIT', ofTasks, 'processes and threads', 'reservedTasks');
    }
    return undefined;
  }

  get usedBytes(): number {
    return this.#parts.used().bytes;
  }

  get descriptors(): SystemBudget | undefined {
    return stateOf(tightest(this.#descriptorBounds));
  }

  get tasks(): SystemBudget | undefined {
    return stateOf(tightest(this.#taskBounds));
  }

  get #descriptorBounds(): Bound[] {
    const pid = this.#parts.backendPid();
    if (pid !== this.#backendDescriptors?.pid) {
      this.#backendDescriptors =
        pid === undefined ? undefined : { pid, bound: this.#descriptorBound(descriptorLimit(pid)) };
    }
    return [this.#ownDescriptors, this.#backendDescriptors?.bound].filter(bound => bound !== undefined);
  }

  /** The application keeps its reserve. Where it has more than that open already, it keeps all that it has open. */
  #descriptorBound(system: SystemLimit | undefined): Bound | undefined {
    if (system === undefined) return undefined;
    const { limit } = system;
    const reserved = this.#parts.reservedDescriptors ?? Math.min(MOST_RESERVED_DESCRIPTORS, Math.floor(limit / 2));
    return {
      system,
      reserved,
      free: () => {
        const { descriptors } = this.#parts.used();
        const others = (system.used() ?? 0) - descriptors;
        return limit - descriptors - Math.max(reserved, others + SPARE_DESCRIPTORS);
      },
    };
  }

  #budget(kind: ResourceKind, free: () => number, takeBack?: () => number): Budget {
    const { isolation, ending, endIdleCell, evict, endWarmCell } = this.#parts;
    return new Budget({
      free,
      ending: () => ending()[kind],
      ...(takeBack !== undefined && { takeBack }),
      endIdleCell: () => endIdleCell()?.[kind] ?? 0,
      evict,
      isolate: isolation === 'thread' ? THREAD[kind] : EVICTED[kind],
      endWarmCell: () => endWarmCell()?.[kind] ?? 0,
    });
  }
}

/** The resources that a cell frees when one of its isolates ends. */
const EVICTED: Resources = { bytes: ISOLATE.bytes, descriptors: 1, tasks: 1 };

function leastFree(bounds: readonly Bound[]): number {
  return bounds.reduce((least, { free }) => Math.min(least, free()), UNBOUNDED);
}

function tightest(bounds: readonly Bound[]): Bound | undefined {
  let [found, least]: [Bound | undefined, number] = [undefined, UNBOUNDED];
  for (const bound of bounds) {
    const free = bound.free();
    if (free < least) [found, least] = [bound, free];
  }
  return found;
}

function stateOf(bound: Bound | undefined): SystemBudget | undefined {
  if (bound === undefined) return undefined;
  const { system, reserved } = bound;
  return { name: system.name, limit: system.limit, used: system.used() ?? 0, reserved };
}

function shortageOf(code: EdgeErrorCode, { system, reserved }: Bound, what: string, option: string): RoomShortage {
  const { name, limit, remedy } = system;
  return {
    code,
    text: `${system.used() ?? 'most'} of ${limit} ${what} are in use (${name}), ${reserved} of them are kept for the application (option ${option}), and nothing is idle. Raise the limit with ${remedy}`,
  };
}

function checkReserve(option: string, reserved: number, { name, limit }: SystemLimit): void {
  if (reserved < limit) return;
  throw new RangeError(
    `Option ${option} of new EdgeHost() is ${reserved}, which leaves nothing for functions: the limit ${name} is ${limit}`,
  );
}
