/** The records of a queue on disk: its messages, and their sum. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StoredSum, SumChange } from '../../../storage/accounts/account-sum.js';
import { parseSum, type RecordOperation } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type { QueueMetrics } from '../broker.js';
import { decodeMessage, encodeMessage } from './message-codec.js';
import { LAST, readPage } from './message-pages.js';
import { queueKeys } from './queue-keys.js';
import type { ReadyMessage } from './queue-window.js';

export type Backlog = Omit<QueueMetrics, 'oldestMessageTimestamp'>;

export class QueueRecords {
  /** The prefix of the keys of its messages. */
  readonly prefix: string;
  readonly #storage: StorageContext;
  readonly #id: string;
  readonly #onUncertain: () => void;
  /** The sum on disk, with writes known to have succeeded; undefined after a commit whose outcome is unknown. */
  #backlog: { bytes: number; objects: number } | undefined;
  #commits = 0;
  #whenIdle: (() => void)[] = [];

  /**
   * @param backlog the sum of the messages, as it is on disk
   * @param onUncertain a commit has failed: what it has written may be found when the storage is opened again
   */
  constructor(storage: StorageContext, id: string, backlog: StoredSum, onUncertain: () => void) {
    this.prefix = queueKeys.messages(id);
    this.#storage = storage;
    this.#id = id;
    this.#backlog = { ...backlog };
    this.#onUncertain = onUncertain;
  }

  keyOf(place: string): string {
    return this.prefix + place;
  }

  /** The operation that puts a message into this queue. */
  putOf(message: ReadyMessage): RecordOperation {
    return { type: 'put', key: this.keyOf(message.place), value: encodeMessage(message) };
  }

  delOf(place: string): RecordOperation {
    return { type: 'del', key: this.keyOf(place) };
  }

  sumOf({ bytes, objects }: StoredSum): RecordOperation {
    return { type: 'sum', key: queueKeys.sum(this.#id), bytes, objects };
  }

  /** Operations of {@link sumOf} are on disk. */
  count({ bytes, objects }: StoredSum): void {
    if (this.#backlog === undefined) return;
    this.#backlog.bytes += bytes;
    this.#backlog.objects += objects;
  }

  /**
   * @param own what it changes of the sum of this queue
   * @param change the same of what the account has stored
   */
  async commit(operations: RecordOperation[], own: StoredSum, change: SumChange, work: CallWork): Promise<void> {
    if (own.objects !== 0) operations.push(this.sumOf(own));
    if (change.operation !== undefined) operations.push(change.operation);
    this.#commits++;
    try {
      await this.#storage.records.commit(operations, work);
      change.done();
      this.count(own);
    } catch (error) {
      change.failed(true);
      this.#backlog = undefined;
      this.#onUncertain();
      throw error;
    } finally {
      this.#commits--;
      if (this.#commits === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    }
  }

  /** Resolves when no commit is in flight. */
  async idle(): Promise<void> {
    while (this.#commits > 0) await new Promise<void>(resolve => this.#whenIdle.push(resolve));
  }

  /** As far as it is known without reading, else read. */
  async backlog(work: CallWork): Promise<Backlog> {
    if (this.#backlog === undefined) return this.#readBacklog(work);
    return { backlogCount: this.#backlog.objects, backlogBytes: this.#backlog.bytes };
  }

  async metrics(work: CallWork): Promise<QueueMetrics> {
    const backlog = await this.#readBacklog(work);
    if (backlog.backlogCount === 0) return backlog;
    const [first] = await readPage(this.#storage.records, this.prefix, { from: '', end: LAST, size: 1 }, work);
    return first === undefined ? backlog : { ...backlog, oldestMessageTimestamp: decodeMessage(first[1]).timestamp };
  }

  async #readBacklog(work: CallWork): Promise<Backlog> {
    const { bytes, objects } = parseSum(await this.#storage.records.get(queueKeys.sum(this.#id), work));
    return { backlogCount: objects, backlogBytes: bytes };
  }
}
