/** One queue on the storage: messages in and out, claims in memory. A kill ends all claims, and the messages are delivered again. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { StorageBounds, StoredAccounting, StoredSum } from '../../../storage/accounts/account-sum.js';
import type { RecordOperation } from '../../../storage/records/counts.js';
import type { StorageContext } from '../../../storage/storage-context.js';
import type {
  ClaimedMessage,
  OutgoingMessage,
  PullRequest,
  QueueEngine,
  QueueInfo,
  QueueMetrics,
  QueueSettings,
  ReceiveRequest,
  SettleRequest,
  SettleResult,
} from '../broker.js';
import { QueueError } from '../errors.js';
import { Deletions } from './deletions.js';
import { Delivery } from './delivery.js';
import { type LeaseCount, Leases, type MessageLease } from './leases.js';
import { newMessageId } from './message-id.js';
import { LAST } from './message-pages.js';
import { queueKeys } from './queue-keys.js';
import { type Backlog, QueueRecords } from './queue-records.js';
import { QueueWindow, type ReadyMessage } from './queue-window.js';
import { type Moved, readMoved, Settling, totalOf } from './settling.js';
import type { StoredQueue } from './stored-queues.js';

export interface QueueStoreParts {
  readonly storage: StorageContext;
  readonly name: string;
  /** The key of the queue's own record. */
  readonly key: string;
  readonly stored: StoredQueue;
  /** The sum of its messages, as it is on disk. */
  readonly backlog: StoredSum;
  /** The account's stored sum. */
  readonly sum: StoredAccounting;
  readonly leased: LeaseCount;
  /** The account in the queues of the storage, for what nobody waits for. */
  readonly work: CallWork;
  /** Another queue of the account, made when it does not exist. */
  readonly sibling: (name: string) => Promise<QueueStore>;
}

export class QueueStore implements QueueEngine {
  readonly #parts: QueueStoreParts;
  readonly #records: QueueRecords;
  readonly #window: QueueWindow;
  readonly #leases: Leases;
  /** Deliveries that have failed and are not on disk: those whose claim has run out. By place. */
  readonly #attempts = new Map<string, number>();
  /** Places whose outcome is being written: each is written once. */
  readonly #settling = new Set<string>();
  readonly #deletions: Deletions;
  readonly #delivery: Delivery;
  #stored: StoredQueue;
  #ended: Error | undefined;

  constructor(parts: QueueStoreParts) {
    const { storage, stored, sum, work } = parts;
    this.#parts = parts;
    this.#stored = stored;
    this.#window = new QueueWindow(storage.records, stored.id, work, storage.now);
    this.#leases = new Leases(storage.now, leases => this.#delivery.expired(leases), parts.leased);
    this.#records = new QueueRecords(storage, stored.id, parts.backlog, () => this.#window.forget());
    this.#deletions = new Deletions({
      storage,
      sum,
      records: this.#records,
      window: this.#window,
      leases: this.#leases,
      attempts: this.#attempts,
      settling: this.#settling,
    });
    this.#delivery = new Delivery({
      now: storage.now,
      window: this.#window,
      leases: this.#leases,
      leased: parts.leased,
      attempts: this.#attempts,
      deletions: this.#deletions,
      work,
      settings: () => this.#stored,
    });
  }

  info(): QueueInfo {
    const { created, deliveryDelaySeconds, retentionSeconds, isPaused } = this.#stored;
    return { name: this.#parts.name, created, deliveryDelaySeconds, retentionSeconds, isPaused };
  }

  async change(settings: Partial<QueueSettings>): Promise<QueueInfo> {
    const { storage, key, work } = this.#parts;
    return storage.mutex.run(key, async () => {
      this.#check('update');
      const stored = { ...this.#stored, ...settings };
      await storage.records.commit([{ type: 'put', key, value: Buffer.from(JSON.stringify(stored)) }], work);
      this.#stored = stored;
      this.#delivery.pump();
      return this.info();
    });
  }

  async send(
    messages: readonly OutgoingMessage[],
    { method, bounds }: { readonly method: string; readonly bounds?: StorageBounds | undefined },
    work: CallWork,
  ): Promise<readonly string[]> {
    const { storage, sum, name } = this.#parts;
    const ready = sum.ready();
    if (ready !== undefined) await ready;
    this.#check(method);
    const now = storage.now();
    const placed = messages.map(({ contentType, body, delayMs }) => ({
      place: queueKeys.place(now + delayMs, storage.newId()),
      id: newMessageId(),
      contentType,
      timestamp: now,
      since: now,
      attempts: 0,
      body,
    }));
    const operations = placed.map(message => this.#records.putOf(message));
    const space = storage.records.reserveSpace(operations);
    if (space !== undefined) await space;
    this.#check(method);
    const bytes = messages.reduce((total, { body }) => total + body.byteLength, 0);
    const added = { bytes, objects: messages.length };
    const change = sum.change(
      added,
      bounds,
      () => `send ${messages.length === 1 ? 'a message' : 'messages'} to queue "${name}"`,
    );
    await this.#records.commit([...operations], added, change, work);
    this.arrived(placed);
    return placed.map(({ id }) => id);
  }

  receive(request: ReceiveRequest): Promise<readonly ClaimedMessage[]> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    return this.#delivery.receive(request);
  }

  async pull(request: PullRequest): Promise<readonly ClaimedMessage[]> {
    for (;;) {
      this.#check('pull');
      const filling = this.#delivery.fillFor(request);
      if (filling === undefined) return this.#delivery.pull(request);
      await filling;
    }
  }

  async settle(request: SettleRequest, work: CallWork): Promise<SettleResult> {
    this.#check('ack');
    const plan = new Settling();
    for (const leaseId of request.acks ?? []) this.#plan(plan, leaseId, lease => plan.acks.push(lease));
    for (const { leaseId, delayMs } of request.retries ?? [])
      this.#plan(plan, leaseId, lease => plan.retries.push({ lease, delayMs }));
    for (const leaseId of request.releases ?? []) this.#plan(plan, leaseId, lease => plan.releases.push(lease));
    try {
      return await this.#settle(plan, request, work);
    } catch (error) {
      this.#return(plan.all);
      throw error;
    } finally {
      for (const { place } of plan.all) this.#settling.delete(place);
      this.#delivery.pump();
    }
  }

  async metrics(work: CallWork): Promise<QueueMetrics> {
    this.#check('metrics');
    return this.#records.metrics(work);
  }

  backlog(): Promise<Backlog> {
    return this.#records.backlog(this.#parts.work);
  }

  async purge(work: CallWork): Promise<number> {
    this.#check('purge');
    return this.#deletions.purge(work, LAST);
  }

  /**
   * Removes messages that are older than the queue keeps them. Those that wait for their time or were delivered late go when they are read, or when
   * their time would have come.
   */
  async expire(): Promise<number> {
    if (this.#ended !== undefined) return 0;
    const { now } = this.#parts.storage;
    return this.#deletions.purge(this.#parts.work, queueKeys.due(now() - this.#stored.retentionSeconds * 1000));
  }

  /** Refuses everything from now on, and resolves when no commit is in flight. */
  async end(error: Error): Promise<void> {
    this.#ended = error;
    this.#delivery.stop(error);
    this.#leases.clear();
    this.#window.forget();
    await this.#records.idle();
  }

  /** The host closes: waiting receivers are given up. Claimed messages can still be settled. */
  stopReceiving(error: Error): void {
    this.#delivery.stop(error);
  }

  /** Ends it, removes all messages, and then the queue with the commit of `remove`. Repeated after a kill, it continues. */
  async remove(operations: readonly RecordOperation[]): Promise<void> {
    const { storage, work, name } = this.#parts;
    await this.end(new QueueError('delete', 10206, `there is no queue "${name.slice(0, 100)}" any more`));
    await this.#deletions.purge(work, LAST);
    await storage.records.commit([...operations, { type: 'del', key: queueKeys.sum(this.#stored.id) }], work);
  }

  /** Messages are on disk: for those who wait. */
  arrived(messages: readonly ReadyMessage[]): void {
    if (this.#ended === undefined) this.#delivery.arrived(messages);
  }

  /** @throws Error when the queue is gone */
  #check(method: string): void {
    if (this.#ended === undefined) return;
    throw this.#ended instanceof QueueError ? new QueueError(method, this.#ended.code) : this.#ended;
  }

  // --- settling ---

  #plan(plan: Settling, leaseId: string, add: (lease: MessageLease) => void): void {
    const lease = this.#leases.get(leaseId);
    if (lease === undefined) {
      plan.unknown.push(leaseId);
      return;
    }
    lease.isSettling = true;
    this.#settling.add(lease.place);
    plan.all.push(lease);
    add(lease);
  }

  async #settle(plan: Settling, request: SettleRequest, work: CallWork): Promise<SettleResult> {
    const { maxRetries = Number.POSITIVE_INFINITY, deadLetterQueue } = request;
    const exhausted = plan.retries.filter(({ lease }) => lease.attempts > maxRetries);
    const retried = plan.retries.filter(({ lease }) => lease.attempts <= maxRetries);
    const dead = deadLetterQueue === undefined ? [] : exhausted;
    const target = dead.length === 0 ? undefined : await this.#parts.sibling(deadLetterQueue ?? '');
    const moved = await readMoved(this.#parts, this.#records.prefix, retried, dead);
    const gone = [...plan.acks, ...exhausted.map(({ lease }) => lease)];
    await this.#write(gone, moved, target, work);
    for (const { place } of [...gone, ...retried.map(({ lease }) => lease)]) {
      this.#attempts.delete(place);
      this.#window.settled(place);
    }
    for (const lease of plan.all) this.#leases.delete(lease);
    for (const { place } of plan.releases) this.#window.returned(place);
    this.arrived(moved.retried);
    target?.arrived(moved.dead);
    return {
      acked: plan.acks.length,
      retried: moved.retried.length,
      deadLettered: moved.dead.length,
      dropped: exhausted.length - dead.length,
      unknown: plan.unknown,
    };
  }

  async #write(
    gone: readonly MessageLease[],
    moved: { readonly retried: readonly (ReadyMessage & Moved)[]; readonly dead: readonly ReadyMessage[] },
    target: QueueStore | undefined,
    work: CallWork,
  ): Promise<void> {
    const { sum } = this.#parts;
    const records = this.#records;
    const operations: RecordOperation[] = gone.map(({ place }) => records.delOf(place));
    for (const message of moved.retried) {
      operations.push(records.delOf(message.from), records.putOf(message));
    }
    if (operations.length === 0) return;
    const ready = sum.ready();
    if (ready !== undefined) await ready;
    this.#check('ack');
    const removed = totalOf(gone.map(({ bodyBytes }) => bodyBytes));
    const deadSum = totalOf(moved.dead.map(({ body }) => body.byteLength));
    if (target !== undefined && deadSum.objects > 0) {
      target.#check('send');
      operations.push(...moved.dead.map(message => target.#records.putOf(message)), target.#records.sumOf(deadSum));
    }
    const change = sum.change({ bytes: deadSum.bytes - removed.bytes, objects: deadSum.objects - removed.objects });
    await records.commit(operations, { bytes: -removed.bytes, objects: -removed.objects }, change, work);
    if (target !== undefined) target.#records.count(deadSum);
  }

  /** The claims are over, and nothing was written of them. */
  #return(leases: readonly MessageLease[]): void {
    for (const lease of leases) {
      this.#leases.delete(lease);
      this.#attempts.set(lease.place, lease.attempts - 1);
      this.#window.returned(lease.place);
    }
  }
}
