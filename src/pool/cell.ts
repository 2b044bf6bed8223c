/**
 * A cell as the host sees it: where isolates come from. Two kinds with one contract: a supervised child process (process-cell.ts), or
 * threads of the host process for trusted code (thread-cell.ts).
 */
import type { Transport } from '../protocol/transport.js';
import type { HostShare } from '../quotas/host/host-share.js';
import type { LeaseEnd } from './thread-pool.js';
import type { CellReader } from './watch/cell-watch.js';

export interface LeaseConnection {
  readonly lease: number;
  readonly transport: Transport;
}

/** Whether a cell's exit was V8's out-of-memory abort, which some kinds of growth cause in spite of every limit. */
export function isOutOfMemory(detail: string): boolean {
  return detail.includes('out of memory');
}

export interface CellEvents {
  /** A lease is over; its transport closes before or after. */
  onLeaseEnd(lease: number, end: LeaseEnd, detail: string): void;
  /** A turn of the lease has been running for long, or such a turn is over. */
  onLongTurn(lease: number, isRunning: boolean): void;
  /** A thread that was told to end has not yet: it may take the cell along. */
  onLinger(): void;
  /** The cell itself has ended, with all of its leases. `detail` says how. */
  onExit(detail: string): void;
}

export interface CellOptions {
  /** Isolate threads at once. */
  readonly maxThreads: number;
  /** Nice value that its threads return to after something long; a cell that starts at a lower priority is told. @default that of its start */
  readonly basePriority?: number;
  /** Heap of one isolate, in bytes. */
  readonly heapBytes: number;
  /** Resident bytes of the whole cell beyond which isolates are ended. */
  readonly cellMemoryBytes: number;
  /** The text of the guest realm's bundle. @default that of the package */
  readonly guestBundle?: string;
}

export interface Cell {
  /** From here on what it sends is counted to this account; false when it has sent something that was counted otherwise. */
  assign(share: HostShare): boolean;
  /** Resolves when the cell can take leases. */
  readonly ready: Promise<void>;
  /** Leases that may still be started before the cell must be replaced. */
  readonly leasesLeft: number;
  /** Starts an isolate thread with an empty realm. */
  start(): LeaseConnection;
  /** Ends one lease. */
  end(lease: number): void;
  /** Ends the cell at once; `reason` becomes the detail of its exit. */
  kill(reason: string): void;
  /** Ends the cell and all that runs in it; resolves when it is gone. */
  close(): Promise<void>;
  /** Asks the cell to answer; false when it has not answered the last time. */
  ping(): boolean;
  /** Reads from the kernel what the cell uses. Undefined before it is up, where the system tells nothing, and for threads of the host. */
  reader(): CellReader | undefined;
  /** Sets the nice value of all of its threads, as far as the system allows it. Nothing for threads of the host. */
  setPriority(priority: number): void;
  readonly pid: number | undefined;
  /** Bytes that went over its connections so far, both ways. */
  readonly movedBytes: number;
}
