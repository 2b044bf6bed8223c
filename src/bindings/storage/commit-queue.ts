import type { RecordOperation } from './counts.js';
import { storageError } from './storage-error.js';

/** Writes one batch so that it survives a loss of power when the promise resolves. */
export type BatchWriter = (operations: RecordOperation[]) => Promise<void>;

interface Waiting {
  readonly operations: readonly RecordOperation[];
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Group commit: while one synced batch is being written, the writes that come gather into the next, and share its fsync.
 * A group is written whole or not at all, and its writes resolve or reject together.
 */
export class CommitQueue {
  /** A group ends at this many operations, so that the memory of a batch and the time to write it stay bounded. */
  static readonly MAX_GROUP_OPERATIONS = 1024;

  /** So long a rider waits for a commit to ride on, in milliseconds. */
  static readonly RIDE_MS = 1000;

  readonly #write: BatchWriter;
  readonly #rideMs: number;
  #timer: NodeJS.Timeout | undefined;
  #waiting: Waiting[] = [];
  /** Operations that need no answer and no fsync of their own: they ride on the next group. */
  #riders: RecordOperation[] = [];
  #running: Promise<void> | undefined;

  constructor(write: BatchWriter, options: { readonly rideMs?: number } = {}) {
    this.#write = write;
    this.#rideMs = options.rideMs ?? CommitQueue.RIDE_MS;
  }

  /** Resolves when the operations, all of them, are on disk. */
  commit(operations: readonly RecordOperation[]): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ operations, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Writes the operations a little later: work that is done again after a crash, such as removing what is left over. */
  ride(operations: readonly RecordOperation[]): void {
    for (const operation of operations) this.#riders.push(operation);
    if (this.#riders.length >= CommitQueue.MAX_GROUP_OPERATIONS) this.#running ??= this.#run();
    if (this.#running !== undefined || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#riders.length > 0) this.#running ??= this.#run();
    }, this.#rideMs);
    this.#timer.unref();
  }

  /** Waits until everything that was given is written; failures of riders are left for the next opening. */
  async drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#riders.length > 0) this.#running ??= this.#run();
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 || this.#riders.length > 0) {
      const group = this.#takeGroup();
      const operations = this.#riders;
      this.#riders = [];
      for (const waiting of group) {
        for (const operation of waiting.operations) operations.push(operation);
      }
      try {
        await this.#write(operations);
        for (const waiting of group) waiting.resolve();
      } catch (error) {
        const reason = storageError('write to the storage', error);
        for (const waiting of group) waiting.reject(reason);
      }
    }
    this.#running = undefined;
  }

  #takeGroup(): Waiting[] {
    let operations = 0;
    let taken = 0;
    for (const waiting of this.#waiting) {
      operations += waiting.operations.length;
      if (taken > 0 && operations > CommitQueue.MAX_GROUP_OPERATIONS) break;
      taken++;
    }
    if (taken === this.#waiting.length) {
      const all = this.#waiting;
      this.#waiting = [];
      return all;
    }
    return this.#waiting.splice(0, taken);
  }
}
