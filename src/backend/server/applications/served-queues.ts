/** The messages that one application has received from queues. They go back when it is gone before it has settled them. */
import type { ClaimedMessage, QueueEngine, ReceiveRequest, SettleRequest } from '../../../bindings/queue/broker.js';
import { guarded } from '../../../quotas/guarded.js';
import { OWN_WORK } from '../../../quotas/host/call-work.js';
import { MAX_TIMER_MS } from '../../../quotas/max-timer.js';
import type { EngineAddress } from '../../wire/calls.js';
import type { ConsumerSeats } from './consumer-seats.js';
import type { TrackedMethod } from './contract-server.js';

/** Messages of one receive that are not settled. */
interface Batch {
  readonly seat: string;
  readonly queue: QueueEngine;
  readonly leases: Set<string>;
  /** The claims are over then. */
  readonly timer: NodeJS.Timeout;
}

export class ServedQueues {
  readonly #seats: ConsumerSeats;
  readonly #batches = new Map<string, Batch>();
  #isClosed = false;
  /** In place of the methods of queues. */
  readonly tracked: ReadonlyMap<string, TrackedMethod> = new Map<string, TrackedMethod>([
    // The contract has the types of the arguments.
    [
      'queue.engine.receive',
      (at, queue, [request]) => this.#receive(at, queue as QueueEngine, request as ReceiveRequest),
    ],
    [
      'queue.engine.settle',
      async (_at, queue, args) => {
        const [request, work] = args as Parameters<QueueEngine['settle']>;
        const result = await (queue as QueueEngine).settle(request, work);
        this.#settledAll(request);
        return result;
      },
    ],
  ]);

  constructor(seats: ConsumerSeats) {
    this.#seats = seats;
  }

  /** One application at a time receives from a queue: the others wait until it has no batch and waits for none, or is gone. */
  async #receive(
    { account, name }: EngineAddress,
    queue: QueueEngine,
    request: ReceiveRequest,
  ): Promise<readonly ClaimedMessage[]> {
    request.signal.throwIfAborted();
    const seat = `${account}/${name}`;
    await this.#seats.enter(seat, this, request.signal);
    try {
      const messages = await queue.receive(request);
      this.#keep({ seat, queue, leases: new Set(messages.map(({ leaseId }) => leaseId)) }, request.leaseMs);
      return messages;
    } finally {
      this.#seats.leave(seat, this);
    }
  }

  #settledAll({ acks = [], retries = [], releases = [] }: SettleRequest): void {
    for (const lease of acks) this.#settled(lease);
    for (const { leaseId } of retries) this.#settled(leaseId);
    for (const lease of releases) this.#settled(lease);
  }

  /** The application is gone. */
  close(): void {
    this.#isClosed = true;
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
