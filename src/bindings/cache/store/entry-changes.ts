/** One commit of changes of entries: their records, what finds them, and what they count for. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { AccountSum, SumChange } from '../../../storage/accounts/account-sum.js';
import type { BlobRef } from '../../../storage/blobs/blob-ref.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { NO_BYTES } from '../../../storage/records/no-bytes.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import { cacheKeys } from './cache-keys.js';
import { type EntryHead, encodeEntry } from './entry-codec.js';

/** The sum of the store, and the sum of the account, which refuses every write when the account is removed. */
export interface CacheSums {
  readonly store: AccountSum;
  readonly account: AccountSum;
}

export class EntryChanges {
  readonly #storage: StorageContext;
  readonly #store: string;
  readonly #operations: RecordOperation[] = [];
  readonly #dropped: BlobRef[] = [];
  #bytes = 0;
  #entries = 0;
  #grows = false;

  constructor(storage: StorageContext, store: string) {
    this.#storage = storage;
    this.#store = store;
  }

  get isEmpty(): boolean {
    return this.#operations.length === 0;
  }

  /** How many bytes it frees. */
  get freedBytes(): number {
    return -this.#bytes;
  }

  /** @param order the written order of its last use, when it differs from the one in its record */
  remove(hash: string, head: EntryHead, order: string | undefined): void {
    const store = this.#store;
    this.#delete(cacheKeys.entry(store, hash));
    if (order !== undefined) this.#delete(cacheKeys.order(store, hash));
    this.#delete(cacheKeys.use(store, order ?? head.order, hash));
    this.#delete(cacheKeys.expiry(head.staleUntil, store, hash));
    this.#delete(cacheKeys.url(store, head.url, hash));
    for (const tag of head.tags ?? []) this.#delete(cacheKeys.tag(store, tag, hash));
    if (head.blob !== undefined) {
      this.#operations.push(this.#storage.collector.tombstoneOp(head.blob));
      this.#dropped.push(head.blob);
    }
    this.#bytes -= head.bytes;
    this.#entries--;
  }

  /** After the removal of what it replaces. */
  add(hash: string, head: EntryHead, embedded: Uint8Array | undefined, more: readonly RecordOperation[]): void {
    const store = this.#store;
    this.#grows = true;
    this.#put(cacheKeys.entry(store, hash), encodeEntry(head, embedded));
    this.#put(cacheKeys.use(store, head.order, hash));
    this.#put(cacheKeys.expiry(head.staleUntil, store, hash));
    this.#put(cacheKeys.url(store, head.url, hash));
    for (const tag of head.tags ?? []) this.#put(cacheKeys.tag(store, tag, hash));
    for (const operation of more) this.#operations.push(operation);
    this.#bytes += head.bytes;
    this.#entries++;
  }

  /** Writes that the entry was used later than its record says. */
  move(hash: string, from: string, to: string): void {
    const store = this.#store;
    this.#delete(cacheKeys.use(store, from, hash));
    this.#put(cacheKeys.use(store, to, hash));
    this.#put(cacheKeys.order(store, hash), Buffer.from(to));
  }

  /** Removes a place in the order of use that no entry has. */
  dropUse(key: string): void {
    this.#delete(key);
  }

  /**
   * @param onTried called when it begins to be written: from then on it may be on disk, be it that this rejects
   * @throws the errors of a commit, and the error of a sum that has ended
   */
  async commit({ store, account }: CacheSums, work: CallWork, onTried: () => void = () => {}): Promise<void> {
    await Promise.all([store.ready(), account.ready()]);
    const changes: SumChange[] = [];
    let isTried = false;
    try {
      changes.push(account.change({ bytes: 0, objects: 0 }));
      const change = store.change({ bytes: this.#bytes, objects: this.#entries });
      changes.push(change);
      if (change.operation !== undefined) this.#operations.push(change.operation);
      if (this.#grows) await this.#storage.records.reserveSpace(this.#operations);
      isTried = true;
      onTried();
      await this.#storage.records.commit(this.#operations, work);
    } catch (error) {
      for (const change of changes) change.failed(isTried);
      throw error;
    }
    for (const change of changes) change.done();
    for (const blob of this.#dropped) this.#storage.collector.afterCommit(blob, work);
  }

  #put(key: string, value: Uint8Array = NO_BYTES): void {
    this.#operations.push({ type: 'put', key, value });
  }

  #delete(key: string): void {
    this.#operations.push({ type: 'del', key });
  }
}
