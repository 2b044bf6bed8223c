/** The queues that one application administers and receives from. What it has received and not settled goes back when it is gone. */
import type {
  ClaimedMessage,
  QueueDirectory,
  QueueEngine,
  ReceiveRequest,
  SettleRequest,
} from '../../../bindings/queue/broker.js';
import { QueueError } from '../../../bindings/queue/errors.js';
import { guarded } from '../../../quotas/guarded.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { MAX_TIMER_MS } from '../../../quotas/max-timer.js';
import type { NamedAddress } from '../calls.js';
import type { ConsumerSeats } from './consumer-seats.js';

/** Messages of one receive that are not settled. */
interface Batch {
  readonly seat: string;
  readonly queue: QueueEngine;
  readonly leases: Set<string>;
  /** The claims are over then. */
  readonly timer: NodeJS.Timeout;
}

export class ServedQueues {
  readonly #directories: (account: string) => QueueDirectory;
  readonly #seats: ConsumerSeats;
  readonly #batches = new Map<string, Batch>();
  /** Receives that wait, by their receipts. */
  readonly #receiving = new Map<number, AbortController>();
  #isClosed = false;

  constructor(directories: (account: string) => QueueDirectory, seats: ConsumerSeats) {
    this.#directories = directories;
    this.#seats = seats;
  }

  directory(account: string): QueueDirectory {
    return this.#directories(account);
  }

  /** Rejects with QueueError 10206 when there is none of the name. */
  async of({ account, name }: NamedAddress): Promise<QueueEngine> {
    const queue = await this.#directories(account).find(name);
    if (queue === null) throw new QueueError('open', 10206, `there is no queue "${name.slice(0, 100)}"`);
    return queue;
  }

  async receive(
    address: NamedAddress,
    receipt: number,
    request: Omit<ReceiveRequest, 'signal'>,
  ): Promise<readonly ClaimedMessage[]> {
    const controller = new AbortController();
    const { signal } = controller;
    const seat = `${address.account}/${address.name}`;
    this.#receiving.set(receipt, controller);
    try {
      const queue = await this.of(address);
      await this.#seats.enter(seat, this, signal);
      try {
        const messages = await queue.receive({ ...request, signal });
        this.#keep({ seat, queue, leases: new Set(messages.map(({ leaseId }) => leaseId)) }, request.leaseMs);
        return messages;
      } finally {
        this.#seats.leave(seat, this);
      }
    } catch (error) {
      if (signal.aborted) return [];
      throw error;
    } finally {
      this.#receiving.delete(receipt);
    }
  }

  stopReceiving(receipt: number): undefined {
    this.#receiving.get(receipt)?.abort(new Error('Nothing more is received'));
  }

  /** The application has settled these. */
  settled({ acks = [], retries = [], releases = [] }: SettleRequest): void {
    for (const lease of acks) this.#settled(lease);
    for (const { leaseId } of retries) this.#settled(leaseId);
    for (const lease of releases) this.#settled(lease);
  }

  /** The application is gone. */
  close(): void {
    this.#isClosed = true;
    for (const controller of this.#receiving.values()) controller.abort(new Error('The application is gone'));
    for (const batch of new Set(this.#batches.values())) this.#giveBack(batch);
    this.#seats.drop(this);
  }

  #keep({ seat, queue, leases }: Omit<Batch, 'timer'>, leaseMs: number): void {
    if (leases.size === 0) return;
    const timer = setTimeout(
      guarded(() => this.#forget(batch)),
      Math.min(leaseMs, MAX_TIMER_MS),
    ).unref();
    const batch: Batch = { seat, queue, leases, timer };
    if (this.#isClosed) {
      this.#giveBack(batch);
      return;
    }
    this.#seats.use(seat, this);
    for (const lease of leases) this.#batches.set(lease, batch);
  }

  #settled(lease: string): void {
    const batch = this.#batches.get(lease);
    if (batch === undefined) return;
    this.#batches.delete(lease);
    batch.leases.delete(lease);
    if (batch.leases.size === 0) this.#forget(batch);
  }

  #forget(batch: Batch): void {
    clearTimeout(batch.timer);
    for (const lease of batch.leases) this.#batches.delete(lease);
    this.#seats.leave(batch.seat, this);
  }

  #giveBack({ queue, leases, timer }: Batch): void {
    clearTimeout(timer);
    for (const lease of leases) this.#batches.delete(lease);
    // When this cannot be written either, the claims are over at some time.
    void queue.settle({ releases: [...leases] }, OWN_WORK).catch(() => {});
  }
}
