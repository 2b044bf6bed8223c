/** The claims of the messages of one queue, and the time that each of them has. */
import { randomBytes } from 'node:crypto';
import { guarded } from '../../../quotas/guarded.js';
import { MAX_TIMER_MS } from '../../../quotas/max-timer.js';
import type { ReadyMessage } from './queue-window.js';

/** A message that was claimed: all of it but its body. A class, of which many are made quickly. */
export class MessageLease {
  readonly leaseId: string;
  readonly place: string;
  readonly id: string;
  readonly bodyBytes: number;
  /** Deliveries, this one among them. */
  readonly attempts: number;
  /** When the claim is over, in milliseconds since the epoch. */
  readonly untilMs: number;
  /** It is being settled, and does not end before that is done. */
  isSettling = false;

  constructor(leaseId: string, { place, id, body }: ReadyMessage, attempts: number, untilMs: number) {
    this.leaseId = leaseId;
    this.place = place;
    this.id = id;
    this.bodyBytes = body.byteLength;
    this.attempts = attempts;
    this.untilMs = untilMs;
  }
}

/** The leases of all queues of an account. */
export interface LeaseCount {
  leases: number;
}

export class Leases {
  readonly #leases = new Map<string, MessageLease>();
  readonly #byPlace = new Map<string, MessageLease>();
  readonly #now: () => number;
  readonly #onExpired: (leases: readonly MessageLease[]) => void;
  readonly #account: LeaseCount;
  readonly #session = randomBytes(12).toString('hex');
  #serial = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(now: () => number, onExpired: (leases: readonly MessageLease[]) => void, account: LeaseCount) {
    this.#now = now;
    this.#onExpired = onExpired;
    this.#account = account;
  }

  get size(): number {
    return this.#leases.size;
  }

  add(message: ReadyMessage, attempts: number, untilMs: number): MessageLease {
    // The session cannot be guessed, and the number names no other lease of it.
    const lease = new MessageLease(`${this.#session}${this.#serial++}`, message, attempts, untilMs);
    this.#leases.set(lease.leaseId, lease);
    this.#account.leases++;
    this.#byPlace.set(lease.place, lease);
    this.#wakeAt(untilMs);
    return lease;
  }

  /** The lease, unless it is over or being settled. */
  get(leaseId: string): MessageLease | undefined {
    const lease = this.#leases.get(leaseId);
    return lease?.isSettling === false ? lease : undefined;
  }

  delete({ leaseId, place }: MessageLease): void {
    if (!this.#leases.delete(leaseId)) return;
    this.#account.leases--;
    this.#byPlace.delete(place);
    if (this.#leases.size === 0) this.#stop();
  }

  /** The message at the place is no longer there. */
  deletePlace(place: string): void {
    const lease = this.#byPlace.get(place);
    if (lease !== undefined) this.delete(lease);
  }

  /** All of them are over, and none of their messages is there any more. */
  clear(): void {
    this.#account.leases -= this.#leases.size;
    this.#leases.clear();
    this.#byPlace.clear();
    this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
  }

  #wakeAt(atMs: number): void {
    if (atMs >= this.#timerAtMs) return;
    clearTimeout(this.#timer);
    this.#timerAtMs = atMs;
    this.#timer = setTimeout(
      guarded(() => this.#expire()),
      Math.min(Math.max(1, atMs - this.#now()), MAX_TIMER_MS),
    );
    this.#timer.unref();
  }

  #expire(): void {
    this.#stop();
    const now = this.#now();
    const over: MessageLease[] = [];
    let nextMs = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases.values()) {
      if (lease.untilMs <= now && !lease.isSettling) over.push(lease);
      else nextMs = Math.min(nextMs, lease.isSettling ? now + SETTLING_MS : lease.untilMs);
    }
    for (const lease of over) this.delete(lease);
    if (Number.isFinite(nextMs)) this.#wakeAt(nextMs);
    if (over.length > 0) this.#onExpired(over);
  }
}

/** When to look again at a lease that is being settled past its time. */
const SETTLING_MS = 1000;
