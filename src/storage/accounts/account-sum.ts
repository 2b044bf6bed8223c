/** The storage of one account: the sum on disk, the writes in flight, and the bounds that they keep. */
import type { EdgeError } from '../../quotas/errors.js';
import { limitError } from '../../quotas/limit-error.js';
import type { ResolvedLimits } from '../../quotas/resolve-limits.js';
import type { SumOperation } from '../records/counts.js';

export interface StoredSum {
  /** The sizes of all values together. Names and metadata are not counted. */
  readonly bytes: number;
  readonly objects: number;
}

/** The most that an account may have stored. */
export type StorageBounds = Pick<ResolvedLimits, 'storageBytes' | 'storageObjects' | 'plan'>;

/** How a commit changes the sum. One of `done` and `failed` is to be called when its outcome is known, or `failed` before it was tried. */
export interface SumChange {
  /** To be part of the commit; undefined when the sum stays the same. */
  readonly operation: SumOperation | undefined;
  done(): void;
  /** @param isUncertain the commit was tried, so it may be found when the database is opened again. @default false */
  failed(isUncertain?: boolean): void;
}

/** Bytes of a value that are written before its record is. */
export interface BodyReservation {
  /** @throws EdgeError EDGE_STORAGE_QUOTA */
  add(bytes: number): void;
  /** Gives all of it back. Does nothing the second time. */
  release(): void;
}

/** How the writes of an account are counted. */
export interface StoredAccounting {
  /**
   * To be awaited before a write of the account; undefined while the sum is known. Rejects with the errors of the storage, or with the error given to `end`.
   */
  ready(): Promise<void> | undefined;
  /**
   * Reserves the bytes and objects that a commit adds. Removed bytes are free when the commit has been written.
   *
   * @param bounds undefined: none
   * @param subject the operation, for the message: `put "a.txt" into bucket "files"`
   * @throws EdgeError EDGE_STORAGE_QUOTA, or the error given to `end`
   */
  change(change: StoredSum, bounds?: StorageBounds, subject?: () => string): SumChange;
  /**
   * For a body that goes to disk before its record does: it cannot pass the bound on its way either. The value that it replaces makes room for it, once:
   * of several bodies that replace the same value at the same time, for the first.
   *
   * @param replaced the key of the record, and the size of the value that it has now
   */
  reserveBody(
    replaced: { readonly key: string; readonly bytes: number },
    bounds: StorageBounds | undefined,
    subject: () => string,
  ): BodyReservation;
}

const NO_CHANGE: SumChange = { operation: undefined, done: () => {}, failed: () => {} };

/** For what belongs to no account any more. */
export const UNCOUNTED: StoredAccounting = {
  ready: () => undefined,
  change: () => NO_CHANGE,
  reserveBody: () => ({ add: () => {}, release: () => {} }),
};

/**
 * The sum is written in the batch of each commit that changes it, so it is as exact as the records after a kill. In memory it is the same number, which is
 * read again when a commit has failed, because that may be in the log all the same. Writes reserve what they add before they are tried, so those that run
 * at the same time cannot pass a bound together.
 */
export class AccountSum implements StoredAccounting {
  readonly #key: string;
  readonly #read: () => Promise<StoredSum>;
  #bytes = 0;
  #objects = 0;
  #reservedBytes = 0;
  #reservedObjects = 0;
  /** Commits whose outcome is not known. */
  #commits = 0;
  #whenSettled: (() => void)[] = [];
  #isKnown = false;
  #reading: Promise<void> | undefined;
  #ended: EdgeError | undefined;
  /** Keys whose values are being replaced by bodies that may take the place of the old value. */
  readonly #replaced = new Set<string>();

  readonly #onChange: () => void;

  /** `read` is called while no commit of the account is in flight, `onChange` when the stored sum has changed. */
  constructor(key: string, read: () => Promise<StoredSum>, onChange: () => void = () => {}) {
    this.#key = key;
    this.#read = read;
    this.#onChange = onChange;
  }

  /** The bytes and objects that are stored now, without the writes in flight. To be read after `ready`. */
  get stored(): StoredSum {
    return { bytes: this.#bytes, objects: this.#objects };
  }

  ready(): Promise<void> | undefined {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    if (this.#isKnown) return undefined;
    this.#reading ??= this.#load().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  change({ bytes, objects }: StoredSum, bounds?: StorageBounds, subject = () => 'store more'): SumChange {
    if (this.#ended !== undefined) throw this.#ended;
    const addedBytes = Math.max(0, bytes);
    const addedObjects = Math.max(0, objects);
    if (bounds !== undefined) {
      if (addedBytes > 0) this.#check('storageBytes', this.#bytes + this.#reservedBytes + bytes, bounds, subject);
      if (addedObjects > 0)
        this.#check('storageObjects', this.#objects + this.#reservedObjects + objects, bounds, subject);
    }
    this.#commits++;
    this.#reservedBytes += addedBytes;
    this.#reservedObjects += addedObjects;
    return new ReservedChange(this, this.#key, bytes, objects);
  }

  /** A change is over. */
  settle({ bytes, objects }: StoredSum, outcome: 'written' | 'not written' | 'uncertain'): void {
    if (outcome === 'written') {
      // The sum of a damaged storage can be lower than the bytes deleted from it.
      this.#bytes = Math.max(0, this.#bytes + bytes);
      this.#objects = Math.max(0, this.#objects + objects);
    } else if (outcome === 'uncertain') this.#isKnown = false;
    this.#reservedBytes -= Math.max(0, bytes);
    this.#reservedObjects -= Math.max(0, objects);
    this.#commits--;
    if (this.#commits === 0 && this.#whenSettled.length > 0) {
      const waiting = this.#whenSettled;
      this.#whenSettled = [];
      for (const resolve of waiting) resolve();
    }
    if (outcome === 'written' && (bytes !== 0 || objects !== 0)) this.#onChange();
  }

  reserveBody(
    replaced: { readonly key: string; readonly bytes: number },
    bounds: StorageBounds | undefined,
    subject: () => string,
  ): BodyReservation {
    const isFirst = !this.#replaced.has(replaced.key);
    if (isFirst) this.#replaced.add(replaced.key);
    const room = isFirst ? replaced.bytes : 0;
    let received = 0;
    let reserved = 0;
    let isReleased = false;
    return {
      add: bytes => {
        if (this.#ended !== undefined) throw this.#ended;
        received += bytes;
        const added = Math.max(0, received - room) - reserved;
        if (added === 0) return;
        if (bounds !== undefined)
          this.#check('storageBytes', this.#bytes + this.#reservedBytes + added, bounds, subject);
        reserved += added;
        this.#reservedBytes += added;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#reservedBytes -= reserved;
        if (isFirst) this.#replaced.delete(replaced.key);
      },
    };
  }

  /** Refuses every write from now on, and resolves when no commit of the account is in flight. */
  async end(error: EdgeError): Promise<void> {
    this.#ended = error;
    await this.#settled();
  }

  async #load(): Promise<void> {
    await this.#settled();
    const { bytes, objects } = await this.#read();
    this.#bytes = bytes;
    this.#objects = objects;
    this.#isKnown = true;
  }

  async #settled(): Promise<void> {
    while (this.#commits > 0) await new Promise<void>(resolve => this.#whenSettled.push(resolve));
  }

  #check(limit: 'storageBytes' | 'storageObjects', actual: number, bounds: StorageBounds, subject: () => string): void {
    const allowed = bounds[limit];
    if (actual > allowed)
      throw limitError('EDGE_STORAGE_QUOTA', { limit, subject: subject(), actual, allowed, plan: bounds.plan });
  }
}

/** A class and not an object of closures: every write makes one. */
class ReservedChange implements SumChange {
  readonly bytes: number;
  readonly objects: number;
  readonly operation: SumOperation | undefined;
  readonly #sum: AccountSum;

  constructor(sum: AccountSum, key: string, bytes: number, objects: number) {
    this.#sum = sum;
    this.bytes = bytes;
    this.objects = objects;
    this.operation = bytes === 0 && objects === 0 ? undefined : { type: 'sum', key, bytes, objects };
  }

  done(): void {
    this.#sum.settle(this, 'written');
  }

  failed(isUncertain = false): void {
    this.#sum.settle(this, isUncertain ? 'uncertain' : 'not written');
  }
}
