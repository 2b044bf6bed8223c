/**
 * The interface of queues for the deliverers of messages and for administration: asynchronous methods with plain values, so that the queues may be in another
 * process. Claims are made here and nowhere else: only one receiver of a queue has a message at a time.
 */
import type { CallWork } from '../../quotas/host/call-work.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import type { QueueContentType } from './wire.js';

/** A message on its way into a queue. */
export interface OutgoingMessage {
  readonly contentType: QueueContentType;
  /** Kept until the promise of the call settles. */
  readonly body: Uint8Array;
  /** From 0 to QUEUE_LIMITS.delaySeconds × 1,000. */
  readonly delayMs: number;
}

/** A message that was claimed. */
export interface ClaimedMessage {
  /** Names the claim: it is good until the message is settled, or its time is over. */
  readonly leaseId: string;
  readonly id: string;
  readonly contentType: QueueContentType;
  /** When it was sent, in milliseconds since the epoch. */
  readonly timestamp: number;
  /** Which delivery this is, from 1. */
  readonly attempts: number;
  readonly body: Uint8Array;
}

export interface ReceiveRequest {
  readonly maxMessages: number;
  /** A batch ends before the message that would pass it; one message is always delivered. */
  readonly maxBytes: number;
  /** How long a batch that is not full waits for more, from when its first message could be delivered, in milliseconds. */
  readonly maxWaitMs: number;
  /** Messages that are not settled after this time are delivered again. */
  readonly leaseMs: number;
  /** Ends the waiting. Nothing has been claimed then. */
  readonly signal: AbortSignal;
}

export interface PullRequest {
  readonly maxMessages: number;
  readonly maxBytes: number;
  readonly leaseMs: number;
}

export interface SettleRequest {
  /** Leases of messages that are done. */
  readonly acks?: readonly string[];
  /** Leases of messages to retry after a delay. Each of these deliveries counts as an attempt. */
  readonly retries?: readonly { readonly leaseId: string; readonly delayMs: number }[];
  /** Leases of messages to deliver again at once. These deliveries do not count as attempts. */
  readonly releases?: readonly string[];
  /** Retries of a message before it goes to the dead letters. @default without a bound */
  readonly maxRetries?: number | undefined;
  /** The queue of the same account that gets messages which were retried too often. @default such messages are dropped */
  readonly deadLetterQueue?: string | undefined;
}

/** The outcome of the messages, by number. */
export interface SettleResult {
  readonly acked: number;
  readonly retried: number;
  readonly deadLettered: number;
  /** Retried too often, without a queue of dead letters. */
  readonly dropped: number;
  /** Leases that are over or never were: nothing has been done for them. */
  readonly unknown: readonly string[];
}

export interface QueueMetrics {
  /** Messages that are not done, those that wait for their time or are being handled among them. */
  readonly backlogCount: number;
  /** Their bodies, in bytes. */
  readonly backlogBytes: number;
  /** When the oldest was sent, in milliseconds since the epoch; undefined while the queue is empty. */
  readonly oldestMessageTimestamp?: number;
}

export interface QueueSettings {
  /** The delay of messages that name none. */
  readonly deliveryDelaySeconds: number;
  readonly retentionSeconds: number;
  /** No consumer gets anything. Messages are taken and can be pulled. */
  readonly isPaused: boolean;
}

export interface QueueInfo extends QueueSettings {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
}

/** One queue. Every method rejects with the errors of the storage, and EDGE_ACCOUNT_REMOVED or QueueError 10206 when it is gone. */
export interface QueueEngine {
  /** Resolves with their ids when all of them are on disk. Rejects with EDGE_STORAGE_QUOTA and EDGE_STORAGE_FULL; none is kept then. */
  send(
    messages: readonly OutgoingMessage[],
    options: { readonly method: string; readonly bounds?: StorageBounds | undefined },
    work: CallWork,
  ): Promise<readonly string[]>;
  /** Waits for a batch of messages, and claims it. Rejects with the reason of the signal. */
  receive(request: ReceiveRequest): Promise<readonly ClaimedMessage[]>;
  /** Claims the messages that are there now, within the number that may be leased at a time. */
  pull(request: PullRequest): Promise<readonly ClaimedMessage[]>;
  /** Resolves when it is on disk. */
  settle(request: SettleRequest, work: CallWork): Promise<SettleResult>;
  metrics(work: CallWork): Promise<QueueMetrics>;
  /** The present backlog, without the time of its oldest message. */
  backlog(): Promise<Omit<QueueMetrics, 'oldestMessageTimestamp'>>;
  info(): QueueInfo;
  change(settings: Partial<QueueSettings>): Promise<QueueInfo>;
  /** Deletes all messages, those that are being handled among them. Resolves with their number. */
  purge(work: CallWork): Promise<number>;
}

/** The queues of one account. */
export interface QueueDirectory {
  /** Makes the queue when it does not exist. Rejects with QueueError 10205 for a name that is not valid. */
  open(name: string): Promise<QueueEngine>;
  find(name: string): Promise<QueueEngine | null>;
  create(name: string, settings?: Partial<QueueSettings>): Promise<{ readonly created: boolean }>;
  /** With all of its messages. Rejects with QueueError 10206 when the queue does not exist. */
  delete(name: string): Promise<void>;
  list(): Promise<readonly QueueInfo[]>;
}
