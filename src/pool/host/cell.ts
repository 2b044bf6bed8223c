/**
 * A cell as the host sees it: where isolates come from. Two kinds with one contract: a supervised child process (process-cell.ts), or
 * threads of the host process for trusted code (thread-cell.ts).
 */
import type { Socket } from 'node:net';
import type { Transport } from '../../protocol/transports/transport.js';
import type { HostShare } from '../../quotas/host/host-share.js';
import type { LeaseEnd } from '../cell/thread-pool.js';
import type { CellReader } from './cell-usage/cell-watch.js';

export interface LeaseConnection {
  readonly lease: number;
  readonly transport: Transport;
  /** The number of its connection to the backend process, if there is one. */
  readonly calls?: number;
}

/** How isolates reach the backend process. */
export interface CellBackend {
  /** Open connections, which a new cell inherits. @throws Error when none is left: they are opened before the cell is created */
  take(): InheritedConnections;
  /** The cell has ended. */
  release(connections: Pick<InheritedConnections, 'first'> & { readonly sockets: { readonly length: number } }): void;
}

export interface InheritedConnections {
  /** The number of the first; the others follow it. */
  readonly first: number;
  /** As many as a cell has leases. */
  readonly sockets: readonly Socket[];
}

/** The most leases that one cell can have; a cell that has used its own up is replaced. Each takes a descriptor of the application, used or not. */
export const MAX_LEASES = 32;
/** The leases of an account's first cell. An account that uses them up gets twice as many with the next one. */
export const FIRST_LEASES = 12;
/** The leases of a cell where descriptors are scarce: for a function, its next version and a spare. */
export const FEW_LEASES = 4;

/** Whether a cell exited with V8's out-of-memory abort. Some allocations cause it in spite of `resourceLimits`. */
export function isOutOfMemory(detail: string): boolean {
  return detail.includes('out of memory');
}

const PROTOCOL_BROKEN = 'it broke the protocol';

/** How a cell is ended whose control connection has sent what no honest one sends. */
export function protocolDetail(message: string): string {
  return `${PROTOCOL_BROKEN}: ${message}`;
}

/** Whether a cell was ended for that. */
export function isProtocolBroken(detail: string): boolean {
  return detail.includes(PROTOCOL_BROKEN);
}

export interface CellEvents {
  /** A lease is over; its transport closes before or after. */
  onLeaseEnd(lease: number, end: LeaseEnd, detail: string): void;
  /** A turn of the lease has become a long one, or a long turn is over. */
  onLongTurn(lease: number, isRunning: boolean): void;
  /** The termination of a thread is overdue: the cell may have to be ended. */
  onTerminationOverdue(): void;
  /** The cell itself has ended, with all of its leases. `detail` says how. */
  onExit(detail: string): void;
}

export interface CellOptions {
  /** The largest number of isolate threads at once. */
  readonly maxThreads: number;
  /** Nice value that its threads return to after a long turn, for a cell that starts at a lower priority. @default the nice value at its start */
  readonly basePriority?: number;
  /** Heap of one isolate, in bytes. */
  readonly heapBytes: number;
  /** Resident bytes of the whole cell beyond which isolates are ended. */
  readonly cellMemoryBytes: number;
  /** The text of the guest realm's bundle. @default the package's bundle */
  readonly guestBundle?: string;
  /** Leases that it begins with, unless its connections to the backend process are fewer. @default {@link FIRST_LEASES} */
  readonly leases?: number;
}

export interface Cell {
  /** Counts what it sends to this account from now on. False if it has sent something already. */
  assign(share: HostShare): boolean;
  /** Resolves when the cell can take leases. */
  readonly ready: Promise<void>;
  /** It did not start, and another one may: it is started behind a sandbox that is tried out whole. */
  readonly mayStartElsewhere?: boolean;
  /** Leases that may still be started before the cell must be replaced. */
  readonly leasesLeft: number;
  /** Descriptors of this process that it takes. */
  readonly descriptors: number;
  /** Tasks, which are processes and threads: about as many as it has started. */
  readonly tasks: number;
  /** Closes what no lease has used yet, but for `kept` leases. Returns how many descriptors are free again. */
  trim(kept: number): number;
  /** Starts an isolate thread with an empty realm. */
  start(): LeaseConnection;
  /** Ends one lease. */
  end(lease: number): void;
  /** Ends the cell at once; `reason` becomes the detail of its exit. */
  kill(reason: string): void;
  /** Ends the cell and everything that runs in it; resolves when it is gone. */
  close(): Promise<void>;
  /** Asks the cell to answer. False if it has not answered the previous ping. */
  ping(): boolean;
  /** Reads from the kernel what the cell uses. Undefined before it is up, on systems without /proc, and for threads of the host. */
  reader(): CellReader | undefined;
  /** Sets the nice value of all of its threads, as far as the system allows it. Does nothing for threads of the host. */
  setPriority(priority: number): void;
  readonly pid: number | undefined;
  /** Bytes sent and received over its connections so far. */
  readonly movedBytes: number;
}
