/** An object in use: the known state of its record, and the order of its reads and writes. */
import { EdgeError } from '../../../quotas/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StorageBounds } from '../../../storage/accounts/account-sum.js';
import type { ObjectRef } from '../object-ref.js';
import type { ObjectHead } from './object-head.js';
import type { ObjectSql, PageChanges } from './object-sql.js';

/** The changes of one write: all of it, or nothing. */
export interface ObjectChange {
  /** Everything that was stored before is deleted first. */
  readonly isClearing: boolean;
  /** Values by key, undefined for keys to be deleted. */
  readonly entries: ReadonlyMap<string, Uint8Array | undefined>;
  /** When the alarm is due; null when the write deletes it. */
  readonly alarm: number | null | undefined;
  /** The name that the id was made from, to be kept with the alarm. */
  readonly name?: string | undefined;
  /** The changes by SQL. */
  readonly sql?: PageChanges | undefined;
}

export interface QueuedWrite extends ObjectChange {
  readonly kind: 'write';
  readonly user: number;
  readonly bounds: StorageBounds | undefined;
  readonly work: CallWork;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Runs when everything before it is over. Its task does not reject. */
export interface QueuedTask {
  readonly kind: 'task';
  readonly run: () => Promise<void>;
}

export type Queued = QueuedWrite | QueuedTask;

/** The most writes that may wait for one that was made earlier and has not arrived yet. */
const MAX_EARLY = 64;

export class LiveObject {
  readonly ref: ObjectRef;
  /** undefined: not known. null: the object has no record. */
  head: ObjectHead | null | undefined;
  readonly queue: Queued[] = [];
  isRunning = false;
  /** Its database, when it is used. */
  sql: ObjectSql | undefined;
  /** Reads in flight: later writes do not show in them. */
  readonly reads = new Set<Promise<unknown>>();
  /** Its user: the last one that has opened it. 0: not known. */
  #user = 0;
  /** The number of the user's next write. */
  #next: number | undefined;
  /** Why nothing more of that user is written. */
  #failure: unknown;
  readonly #early = new Map<number, { readonly enter: () => void; readonly reject: (error: unknown) => void }>();

  constructor(ref: ObjectRef) {
    this.ref = ref;
  }

  get isIdle(): boolean {
    return (
      this.queue.length === 0 &&
      !this.isRunning &&
      this.reads.size === 0 &&
      this.#early.size === 0 &&
      this.sql?.isIdle !== false
    );
  }

  opened(user: number): void {
    this.#user = user;
    this.#next = 0;
    this.#failure = undefined;
    this.sql?.discard();
    for (const { reject } of this.#early.values()) reject(replaced());
    this.#early.clear();
  }

  /** @throws EdgeError when another one has opened it since */
  check(user: number): void {
    // One that was in use before this process knew of it is taken for the last.
    if (this.#user < user) {
      this.#user = user;
      this.#next = undefined;
      this.#failure = undefined;
    }
    if (this.#user !== user) throw replaced();
  }

  /**
   * Resolves when it is the turn of the write of this number.
   * @throws EdgeError, or what an earlier write of the user has failed with: without that one this would be the half of something
   */
  turn(user: number, number: number, signal: AbortSignal): Promise<void> | undefined {
    this.check(user);
    if (this.#failure !== undefined) throw this.#failure;
    this.#next ??= number;
    if (number === this.#next) {
      this.#next++;
      return undefined;
    }
    if (number < this.#next || this.#early.has(number) || this.#early.size >= MAX_EARLY)
      throw new TypeError('The writes of an object are out of order');
    return new Promise((resolve, reject) => {
      const leave = (error: unknown): void => {
        signal.removeEventListener('abort', abort);
        reject(error);
      };
      const abort = guarded((): void => {
        this.#early.delete(number);
        this.fail(user, signal.reason);
        leave(signal.reason);
      });
      signal.addEventListener('abort', abort, { once: true });
      this.#early.set(number, {
        enter: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
        reject: leave,
      });
      if (signal.aborted) abort();
    });
  }

  /** The write whose turn it was is in the queue: the next may follow. */
  entered(): void {
    const next = this.#next;
    const waiting = next === undefined ? undefined : this.#early.get(next);
    if (next === undefined || waiting === undefined) return;
    this.#early.delete(next);
    this.#next = next + 1;
    waiting.enter();
  }

  /** A write of the user has failed, or never came. */
  fail(user: number, error: unknown): void {
    if (user !== this.#user) return;
    this.#failure ??= error ?? replaced();
    this.sql?.discard();
    for (const { reject } of this.#early.values()) reject(this.#failure);
    this.#early.clear();
  }

  failureOf(user: number): unknown {
    return user === this.#user ? this.#failure : replaced();
  }
}

function replaced(): EdgeError {
  return new EdgeError('EDGE_OBJECT_RESET', 'The object was reset: this instance of it can store nothing any more');
}
