/** Deletes messages of a queue beside those who claim and settle them: each is deleted once, and none whose outcome is being written. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StoredAccounting } from '../../../storage/accounts/account-sum.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { Leases } from './leases.js';
import { bodyBytesOf } from './message-codec.js';
import { readPage } from './message-pages.js';
import type { QueueRecords } from './queue-records.js';
import type { QueueWindow } from './queue-window.js';
import { totalOf } from './settling.js';

export interface PlacedBytes {
  readonly place: string;
  readonly bytes: number;
}

export interface DeletionsParts {
  readonly storage: StorageContext;
  readonly records: QueueRecords;
  /** The account's stored sum. */
  readonly sum: StoredAccounting;
  readonly window: QueueWindow;
  readonly leases: Leases;
  /** Deliveries that have failed and are not on disk, by place. */
  readonly attempts: Map<string, number>;
  /** Places whose outcome is being written. */
  readonly settling: ReadonlySet<string>;
}

/** Messages that one commit deletes when a queue is emptied: so few that the commits of other accounts come in between. */
const PURGE_PAGE = 200;

export class Deletions {
  readonly #parts: DeletionsParts;
  readonly #deleting = new Set<string>();

  constructor(parts: DeletionsParts) {
    this.#parts = parts;
  }

  /** The message is being deleted. */
  has(place: string): boolean {
    return this.#deleting.has(place);
  }

  /** Deletes the messages whose places are before `end`. @returns how many */
  async purge(work: CallWork, end: string): Promise<number> {
    const { storage, records } = this.#parts;
    const { prefix } = records;
    let deleted = 0;
    for (let from = ''; ; ) {
      const page = await readPage(storage.records, prefix, { from, end, size: PURGE_PAGE }, work);
      const last = page.at(-1);
      if (last === undefined) return deleted;
      const messages = page.map(([key, record]) => ({ place: key.slice(prefix.length), bytes: bodyBytesOf(record) }));
      deleted += await this.delete(messages, work);
      from = `${last[0].slice(prefix.length)}\0`;
    }
  }

  /** @returns how many: messages that are already gone do not count */
  async delete(messages: readonly PlacedBytes[], work: CallWork): Promise<number> {
    const { settling, leases, window, attempts } = this.#parts;
    const mine = messages.filter(({ place }) => !settling.has(place) && !this.#deleting.has(place));
    if (mine.length === 0) return 0;
    for (const { place } of mine) {
      this.#deleting.add(place);
      leases.deletePlace(place);
    }
    try {
      return await this.#deleteMarked(mine, work);
    } catch (error) {
      window.forget();
      throw error;
    } finally {
      for (const { place } of mine) {
        this.#deleting.delete(place);
        attempts.delete(place);
        window.settled(place);
      }
    }
  }

  async #deleteMarked(messages: readonly PlacedBytes[], work: CallWork): Promise<number> {
    const { storage, records, sum } = this.#parts;
    await storage.records.awaitRecovery(work);
    const keys = messages.map(({ place }) => records.keyOf(place));
    const there = await storage.records.getMany(keys, undefined, work);
    const found = messages.filter((_, index) => there[index] !== undefined);
    if (found.length === 0) return 0;
    const ready = sum.ready();
    if (ready !== undefined) await ready;
    const removed = totalOf(found.map(({ bytes }) => bytes));
    const minus = { bytes: -removed.bytes, objects: -removed.objects };
    const operations = found.map(({ place }) => records.delOf(place));
    await records.commit(operations, minus, sum.change(minus), work);
    return found.length;
  }
}
