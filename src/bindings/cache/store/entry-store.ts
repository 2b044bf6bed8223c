/** The entries of one store: the caches of an account since everything was purged last. */
import { detached } from '../../../quotas/guarded.js';
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { BlobWriter } from '../../../storage/blobs/blob-store.js';
import { fileBlobRecord } from '../../../storage/files/file-blob-id.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import { recordKeys } from '../../../storage/records/record-keys.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { ReceivedContent } from '../../stored-values/receive-body.js';
import { cacheKeys } from './cache-keys.js';
import { type CacheSums, EntryChanges } from './entry-changes.js';
import { decodeEntry, EMBEDDED_BYTES, type EntryHead, type StoredCacheEntry } from './entry-codec.js';
import { nextOrder, orderText, RecentUse } from './recent-use.js';

/** An entry before it has a place. */
export type NewEntry = Omit<EntryHead, 'version' | 'order' | 'blob'>;

/** Entries that one commit removes or moves. */
export const BATCH = 32;

export class EntryStore {
  readonly id: string;
  readonly uses = new RecentUse();
  readonly sums: CacheSums;
  readonly #storage: StorageContext;

  constructor(storage: StorageContext, id: string, sums: CacheSums) {
    this.#storage = storage;
    this.id = id;
    this.sums = sums;
  }

  /** The key of the record of an entry. */
  keyOf(hash: string): string {
    return cacheKeys.entry(this.id, hash);
  }

  /** The entry when its record is in memory. */
  atHand(hash: string): StoredCacheEntry | undefined {
    const record = this.#storage.records.atHand(this.keyOf(hash));
    return record === undefined ? undefined : decodeEntry(record);
  }

  async find(hash: string, work: CallWork): Promise<StoredCacheEntry | undefined> {
    const record = await this.#storage.records.get(this.keyOf(hash), work);
    return record === undefined ? undefined : decodeEntry(record);
  }

  noteUse(hash: string, work: CallWork): void {
    this.uses.note(hash, nextOrder(this.#storage.now()));
    if (this.uses.isFull) detached(this.saveUses(8 * BATCH, work));
  }

  /**
   * Replaces what the hash names. A failure leaves nothing behind.
   *
   * @param isWanted asked with the entry locked
   */
  async write(
    hash: string,
    entry: NewEntry,
    content: ReceivedContent,
    isWanted: () => boolean,
    work: CallWork,
  ): Promise<boolean> {
    const { records, collector, mutex } = this.#storage;
    const writer = content.kind === 'file' ? content.writer : undefined;
    let isTried = false;
    const key = this.keyOf(hash);
    await mutex.lock(key);
    try {
      await records.awaitRecovery(work);
      if (!isWanted()) {
        await writer?.abandon();
        return false;
      }
      const changes = new EntryChanges(this.#storage, this.id);
      const previous = await this.find(hash, work);
      if (previous !== undefined) changes.remove(hash, previous.head, await this.#writtenOrder(hash, work));
      const order = orderText(nextOrder(this.#storage.now()));
      const head = { ...entry, version: this.#storage.newId(), order };
      if (writer !== undefined) addFile(changes, hash, head, writer);
      else if (content.kind === 'small') this.#addBytes(changes, hash, head, content.bytes);
      await changes.commit(this.sums, work, () => {
        isTried = true;
      });
      writer?.done();
      this.uses.forget(hash);
      return true;
    } catch (error) {
      // LevelDB may still find a failed commit in its log, so the file stays until that is known.
      if (writer !== undefined && isTried) collector.resolveUncertain(writer.id, writer.done);
      else await writer?.abandon();
      throw error;
    } finally {
      mutex.unlock(key);
    }
  }

  /** Removes the entries that are still there and for which `isGone` is true. Answers their heads. */
  async remove(
    hashes: readonly string[],
    isGone: (head: EntryHead) => boolean,
    work: CallWork,
  ): Promise<readonly EntryHead[]> {
    const gone: EntryHead[] = [];
    await this.#change(hashes, work, (changes, hash, entry, order) => {
      if (entry === undefined || !isGone(entry.head)) return;
      changes.remove(hash, entry.head, order);
      this.uses.forget(hash);
      gone.push(entry.head);
    });
    return gone;
  }

  /**
   * Removes the least recently used entries until this many bytes are free.
   *
   * @returns the bytes that were freed: 0 when there is nothing left
   */
  async evict(bytes: number, work: CallWork): Promise<number> {
    const { records } = this.#storage;
    const prefix = cacheKeys.uses(this.id);
    for (;;) {
      const iterator = await records.keys({ gte: prefix, lt: `${prefix}~` }, undefined, work);
      let page: string[];
      try {
        page = await iterator.nextv(BATCH);
      } finally {
        await iterator.close();
      }
      if (page.length === 0) return 0;
      const freed = await this.#evictPage(page, prefix, bytes, work);
      // Else all of them have been used since, and have another place now.
      if (freed > 0) return freed;
    }
  }

  /** Writes uses that are only in memory. */
  async saveUses(count: number, work: CallWork): Promise<void> {
    for (let left = Math.min(count, this.uses.size); left > 0; left -= BATCH) {
      const hashes = this.uses.oldest(BATCH);
      const orders = new Map(hashes.map(hash => [hash, this.uses.orderOf(hash)]));
      // Forgotten before they are written, so that a use in between is not.
      for (const hash of hashes) this.uses.forget(hash);
      try {
        await this.#change(hashes, work, (changes, hash, entry, order) => {
          const used = orders.get(hash);
          const written = order ?? entry?.head.order;
          if (used !== undefined && written !== undefined && used > written) changes.move(hash, written, used);
        });
      } catch {
        // The order only decides which entries are evicted first.
        return;
      }
    }
  }

  async #evictPage(page: readonly string[], prefix: string, bytes: number, work: CallWork): Promise<number> {
    const places = new Map<string, string>();
    for (const key of page) {
      const [order = '', hash = ''] = key.slice(prefix.length).split('/');
      places.set(hash, order);
    }
    let freed = 0;
    await this.#change([...places.keys()], work, (changes, hash, entry, order) => {
      const place = places.get(hash) ?? '';
      if (entry === undefined || (order ?? entry.head.order) !== place) {
        changes.dropUse(cacheKeys.use(this.id, place, hash));
        return;
      }
      const used = this.uses.orderOf(hash);
      if (used !== undefined && used > place) changes.move(hash, place, used);
      else if (freed < bytes) {
        changes.remove(hash, entry.head, order);
        freed += entry.head.bytes;
      } else return;
      this.uses.forget(hash);
    });
    return freed;
  }

  /** Changes entries with all of them locked, in one commit. `change` gets undefined for one that is not there. */
  async #change(hashes: readonly string[], work: CallWork, change: ChangeEntry): Promise<void> {
    const { records, mutex } = this.#storage;
    await mutex.runAll(
      hashes.map(hash => this.keyOf(hash)),
      async () => {
        await records.awaitRecovery(work);
        const keys = hashes.flatMap(hash => [this.keyOf(hash), cacheKeys.order(this.id, hash)]);
        const found = await records.getMany(keys, undefined, work);
        const changes = new EntryChanges(this.#storage, this.id);
        for (const [index, hash] of hashes.entries()) {
          const record = found[2 * index];
          const entry = record === undefined ? undefined : decodeEntry(record);
          change(changes, hash, entry, found[2 * index + 1]?.toString());
        }
        if (!changes.isEmpty) await changes.commit(this.sums, work);
      },
    );
  }

  /** The order of the last use of an entry, when it is not the one in its record. */
  async #writtenOrder(hash: string, work: CallWork): Promise<string | undefined> {
    return (await this.#storage.records.get(cacheKeys.order(this.id, hash), work))?.toString();
  }

  #addBytes(changes: EntryChanges, hash: string, head: EntryHead, bytes: Uint8Array): void {
    if (bytes.byteLength <= EMBEDDED_BYTES) {
      changes.add(hash, head, bytes, []);
      return;
    }
    const id = this.#storage.newId();
    const value: RecordOperation = { type: 'put', key: recordKeys.inlineBlob(id), value: bytes };
    changes.add(hash, { ...head, blob: { kind: 'inline', id } }, undefined, [value]);
  }
}

type ChangeEntry = (
  changes: EntryChanges,
  hash: string,
  entry: StoredCacheEntry | undefined,
  order: string | undefined,
) => void;

function addFile(changes: EntryChanges, hash: string, head: EntryHead, { id }: BlobWriter): void {
  const used: RecordOperation = { type: 'put', key: recordKeys.fileBlob(id), value: fileBlobRecord(id, head.size) };
  changes.add(hash, { ...head, blob: { kind: 'file', id } }, undefined, [used]);
}
