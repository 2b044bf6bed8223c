/** Messages out of a queue: batches for receivers that wait, and for pulls. Each delivered message is claimed. */
import type { CallWork } from '../../../quotas/host/call-work.js';
import type { ClaimedMessage, PullRequest, QueueSettings, ReceiveRequest } from '../broker.js';
import { QUEUE_LIMITS } from '../limits.js';
import type { Deletions } from './deletions.js';
import type { LeaseCount, Leases, MessageLease } from './leases.js';
import { dueOf } from './queue-keys.js';
import type { QueueWindow, ReadyMessage } from './queue-window.js';
import { type Waiter, Waiters } from './waiters.js';

/** The parts of the queue that it delivers from. */
export interface DeliveryParts {
  readonly now: () => number;
  readonly window: QueueWindow;
  readonly leases: Leases;
  /** The leases of all queues of the account. */
  readonly leased: LeaseCount;
  /** Deliveries that have failed and are not on disk, by place. */
  readonly attempts: Map<string, number>;
  readonly deletions: Deletions;
  /** The account in the queues of the storage, for what nobody waits for. */
  readonly work: CallWork;
  readonly settings: () => QueueSettings;
}

/** How soon those who wait are looked at again when the other queues of the account have all leases that it may have. */
const LEASED_OUT_MS = 1000;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #waiters = new Waiters(() => this.pump());
  #isPumping = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
  }

  receive(request: ReceiveRequest): Promise<readonly ClaimedMessage[]> {
    return this.#waiters.add(request);
  }

  /** Reads messages for a pull. Undefined: as many as it can get are there. */
  fillFor(request: PullRequest): Promise<void> | undefined {
    return this.#isFull(request) ? undefined : this.#parts.window.fill();
  }

  pull(request: PullRequest): readonly ClaimedMessage[] {
    const claimed = this.#claim(request);
    if (this.#waiters.first === undefined) this.#parts.window.trim();
    return claimed;
  }

  /** Messages are on disk: for those who wait. */
  arrived(messages: readonly ReadyMessage[]): void {
    const { first } = this.#waiters;
    this.#parts.window.arrived(messages, first !== undefined);
    if (first !== undefined) this.pump();
  }

  /** Claims have run out: each was an attempt. */
  expired(leases: readonly MessageLease[]): void {
    for (const { place, attempts } of leases) {
      this.#parts.attempts.set(place, attempts);
      this.#parts.window.returned(place);
    }
    this.pump();
  }

  /** Receivers that wait now get nothing any more. */
  stop(error: Error): void {
    this.#waiters.rejectAll(error);
  }

  /** Gives batches to those who wait, as far as there are any. */
  pump(): void {
    if (this.#isPumping) return;
    const { window, settings } = this.#parts;
    for (let waiter = this.#waiters.first; waiter !== undefined; waiter = this.#waiters.first) {
      if (settings().isPaused) {
        this.#waiters.wakeIn(undefined);
        break;
      }
      const isFull = this.#isFull(waiter.request);
      const filling = isFull ? undefined : window.fill();
      if (filling !== undefined) {
        this.#pumpAfter(filling);
        return;
      }
      if (!this.#serve(waiter, isFull)) return;
    }
    if (this.#waiters.first === undefined) window.trim();
  }

  /** False: the batch is not to be delivered yet. */
  #serve({ request }: Waiter, isFull: boolean): boolean {
    const { first, nextDue } = this.#parts.window;
    const now = this.#parts.now();
    const closesAt = first === undefined ? Number.POSITIVE_INFINITY : readyAt(first) + request.maxWaitMs;
    if (this.#leasesLeft <= 0) {
      this.#waiters.wakeIn(this.#parts.leases.size < QUEUE_LIMITS.leasedMessages ? LEASED_OUT_MS : undefined);
      return false;
    }
    if (!isFull && closesAt > now) {
      const wakeAt = Math.min(closesAt, nextDue ?? Number.POSITIVE_INFINITY);
      this.#waiters.wakeIn(Number.isFinite(wakeAt) ? wakeAt - now : undefined);
      return false;
    }
    const batch = this.#claim(request);
    // All of it was too old.
    if (batch.length === 0) return true;
    this.#waiters.shift()?.resolve(batch);
    return true;
  }

  #pumpAfter(filling: Promise<void>): void {
    this.#isPumping = true;
    filling.then(
      () => {
        this.#isPumping = false;
        this.pump();
      },
      error => {
        this.#isPumping = false;
        this.#waiters.rejectAll(error);
      },
    );
  }

  #isFull({ maxMessages, maxBytes }: Pick<PullRequest, 'maxMessages' | 'maxBytes'>): boolean {
    const { window } = this.#parts;
    return window.readyMessages >= maxMessages || window.readyBytes >= maxBytes;
  }

  #claim({ maxMessages, maxBytes, leaseMs }: PullRequest): ClaimedMessage[] {
    const { window, deletions } = this.#parts;
    const now = this.#parts.now();
    const oldest = now - this.#parts.settings().retentionSeconds * 1000;
    const most = Math.min(maxMessages, this.#leasesLeft);
    const batch: ClaimedMessage[] = [];
    const expired: ReadyMessage[] = [];
    let bytes = 0;
    while (batch.length < most) {
      const { first } = window;
      if (first === undefined) break;
      if (first.since < oldest || deletions.has(first.place)) {
        window.take();
        expired.push(first);
        continue;
      }
      bytes += first.body.byteLength;
      if (batch.length > 0 && bytes > maxBytes) break;
      window.take();
      batch.push(this.#lease(first, now + leaseMs));
    }
    if (expired.length > 0) this.#dropExpired(expired);
    return batch;
  }

  get #leasesLeft(): number {
    const ofAccount = QUEUE_LIMITS.accountLeasedMessages - this.#parts.leased.leases;
    return Math.min(ofAccount, QUEUE_LIMITS.leasedMessages - this.#parts.leases.size);
  }

  #lease(message: ReadyMessage, untilMs: number): ClaimedMessage {
    const { place, id, contentType, timestamp, body } = message;
    const attempts = Math.max(message.attempts, this.#parts.attempts.get(place) ?? 0) + 1;
    const { leaseId } = this.#parts.leases.add(message, attempts, untilMs);
    return { leaseId, id, contentType, timestamp, attempts, body };
  }

  /** A failed removal is tried again when the messages are read again. */
  #dropExpired(messages: readonly ReadyMessage[]): void {
    const { deletions, work, window } = this.#parts;
    const records = messages.map(({ place, body }) => ({ place, bytes: body.byteLength }));
    deletions.delete(records, work).then(
      () => this.pump(),
      () => window.forget(),
    );
  }
}

/** When the message could be delivered first: a place begins with it. */
function readyAt({ place }: ReadyMessage): number {
  return dueOf(place);
}
