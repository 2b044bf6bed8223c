/** Isolates in threads of the host process itself, for trusted code: the same contract as a process cell, but some memory bombs abort the application. */
import { MessageChannel } from 'node:worker_threads';
import { newNotices, noticingPortTransport } from '../../protocol/transports/blocking-transport.js';
import { detached } from '../../quotas/guarded.js';
import { ThreadPool } from '../cell/thread-pool.js';
import { REALM_FLAGS } from '../sandbox/cell-flags.js';
import type { Cell, CellEvents, CellOptions, LeaseConnection } from './cell.js';

/** Descriptors of the event loop of one thread (Node 20.20). */
export const THREAD_DESCRIPTORS = 5;

export class ThreadCell implements Cell {
  readonly ready = Promise.resolve();
  readonly pid = undefined;
  readonly movedBytes = 0;
  readonly leasesLeft = Number.POSITIVE_INFINITY;
  #threads = 0;
  readonly #pool: ThreadPool;
  readonly #events: CellEvents;
  #nextLease = 1;
  #closing: Promise<void> | undefined;

  constructor(options: CellOptions, events: CellEvents) {
    this.#events = events;
    this.#pool = new ThreadPool({
      ...options,
      execArgv: REALM_FLAGS,
      // The size of the application's process says nothing about the isolates, which are measured one by one.
      cellMemoryBytes: Number.POSITIVE_INFINITY,
      residentBytes: () => 0,
      onEnd: (lease, end, detail) => {
        this.#threads--;
        this.#events.onLeaseEnd(lease, end, detail);
      },
      // A thread of the application cannot be ended by force, so neither can be acted on.
      onLongTurn: () => {},
      onTerminationOverdue: () => {},
    });
  }

  start(): LeaseConnection {
    const lease = this.#nextLease++;
    const { port1, port2 } = new MessageChannel();
    const notices = newNotices();
    this.#threads++;
    this.#pool.start(lease, { port: port2, notices });
    return { lease, transport: noticingPortTransport(port1, notices) };
  }

  get descriptors(): number {
    return this.#threads * THREAD_DESCRIPTORS;
  }

  get tasks(): number {
    return this.#threads;
  }

  /** There are no sockets that could be closed. */
  trim(): number {
    return 0;
  }

  end(lease: number): void {
    this.#pool.end(lease, 'closed');
  }

  /** Threads cannot be killed without the application: they are asked to end. */
  kill(): void {
    detached(this.close());
  }

  ping(): boolean {
    return true;
  }

  /** Each thread has a connection with an account of its own. */
  assign(): boolean {
    return true;
  }

  setPriority(): void {}

  reader(): undefined {
    return undefined;
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.close().then(() => this.#events.onExit('closed'));
    return this.#closing;
  }
}
