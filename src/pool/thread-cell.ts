/**
 * Isolates in threads of the host process itself, for trusted code: the same contract as a process cell, but a memory bomb of some
 * kinds ends the application with it.
 */
import { MessageChannel } from 'node:worker_threads';
import { portTransport } from '../protocol/transport.js';
import type { Cell, CellEvents, CellOptions, LeaseConnection } from './cell.js';
import { REALM_FLAGS } from './cell-flags.js';
import { ThreadPool } from './thread-pool.js';

export class ThreadCell implements Cell {
  readonly ready = Promise.resolve();
  readonly pid = undefined;
  readonly movedBytes = 0;
  readonly leasesLeft = Number.POSITIVE_INFINITY;
  readonly #pool: ThreadPool;
  readonly #events: CellEvents;
  #nextLease = 1;
  #closing: Promise<void> | undefined;

  constructor(options: CellOptions, events: CellEvents) {
    this.#events = events;
    this.#pool = new ThreadPool({
      ...options,
      execArgv: REALM_FLAGS,
      // The process is the application's: its size says nothing about the isolates, whose own figures are watched.
      cellMemoryBytes: Number.POSITIVE_INFINITY,
      residentBytes: () => 0,
      onEnd: (lease, end, detail) => this.#events.onLeaseEnd(lease, end, detail),
      // Nothing can be done about either: the threads die with the application alone.
      onLongTurn: () => {},
      onLinger: () => {},
    });
  }

  start(): LeaseConnection {
    const lease = this.#nextLease++;
    const { port1, port2 } = new MessageChannel();
    this.#pool.start(lease, { port: port2 });
    return { lease, transport: portTransport(port1) };
  }

  end(lease: number): void {
    this.#pool.end(lease, 'closed');
  }

  /** Threads of the application cannot be killed apart from it: they are told to end. */
  kill(): void {
    void this.close();
  }

  /** The process is this one. */
  ping(): boolean {
    return true;
  }

  /** Its threads send over connections of their own, each with an account. */
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
