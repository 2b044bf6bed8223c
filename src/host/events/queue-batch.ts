/** Batches of messages for a function's queue handler: the input of the handler, and its outcome. */
import { randomUUID } from 'node:crypto';
import { EdgeError } from '../../quotas/errors.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { Retry } from './queues/batch-words.js';

/** A message to deliver. */
export interface QueueMessage {
  /** 1 to 128 characters, different from the id of every other message of the batch. @default a random UUID */
  readonly id?: string;
  /** Anything that JSON can carry. */
  readonly body: unknown;
  /** When it was sent. @default now */
  readonly timestamp?: Date;
  /** Which delivery this is, from 1. @default 1 */
  readonly attempts?: number;
}

/** A message that the function wants to have again. */
export interface QueueRetry {
  readonly id: string;
  /** How long to wait first: 0 to 43,200 seconds. */
  readonly delaySeconds: number;
}

/** The outcome of a batch: every message is done except those to retry. */
export interface QueueOutcome {
  /** Whether no message is to be delivered again. */
  readonly ackAll: boolean;
  /** In the order of the batch. */
  readonly retries: readonly QueueRetry[];
}

export interface QueueBatch {
  readonly ids: readonly string[];
  readonly head: string;
}

const MAX_MESSAGES = 100;
const MAX_ID_CHARACTERS = 128;
const MAX_BATCH_BYTES = 1024 * 1024;
const MAX_DELAY_SECONDS = 43_200;

/** @throws TypeError or RangeError for a batch that cannot be delivered */
export function createBatch(queue: string, messages: readonly QueueMessage[]): QueueBatch {
  if (typeof queue !== 'string' || queue === '') {
    throw new TypeError(`Cannot deliver a batch: the queue is ${describe(queue)}, expected its name`);
  }
  if (!Array.isArray(messages)) {
    throw new TypeError(
      `Cannot deliver to queue "${queue}": the messages are ${describe(messages)}, expected an array`,
    );
  }
  if (messages.length === 0 || messages.length > MAX_MESSAGES) {
    throw new RangeError(
      `Cannot deliver to queue "${queue}": ${messages.length} messages, a batch has 1 to ${MAX_MESSAGES}`,
    );
  }
  const written = messages.map((message: unknown, index) => {
    if (!isObject(message) || message.body === undefined) {
      throw new TypeError(`Cannot deliver to queue "${queue}": message ${index} is not an object with a body`);
    }
    const { id = randomUUID(), body, timestamp = new Date(), attempts = 1 } = message;
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARACTERS) {
      throw new TypeError(
        `Cannot deliver to queue "${queue}": the id of message ${index} is ${describe(id)}, expected 1 to ${MAX_ID_CHARACTERS} characters`,
      );
    }
    if (!(timestamp instanceof Date) || Number.isNaN(timestamp.getTime())) {
      throw new TypeError(`Cannot deliver to queue "${queue}": the timestamp of message ${index} is not a valid Date`);
    }
    if (typeof attempts !== 'number' || !Number.isSafeInteger(attempts) || attempts < 1) {
      throw new RangeError(
        `Cannot deliver to queue "${queue}": attempts of message ${index} is ${describe(attempts)}, expected 1 or more`,
      );
    }
    return { id, timestamp: timestamp.getTime(), attempts, body };
  });
  const ids = written.map(({ id }) => id);
  if (new Set(ids).size < ids.length) {
    throw new TypeError(`Cannot deliver to queue "${queue}": two messages have one id`);
  }
  const head = JSON.stringify({ queue, messages: written });
  const bytes = Buffer.byteLength(head);
  if (bytes > MAX_BATCH_BYTES) {
    throw new RangeError(
      `Cannot deliver to queue "${queue}": the batch is ${bytes} bytes of JSON, at most ${MAX_BATCH_BYTES} are allowed`,
    );
  }
  return { ids, head };
}

export function outcomeOf(retries: readonly Retry[]): QueueOutcome {
  return {
    ackAll: retries.length === 0,
    retries: retries.map(({ id, delaySeconds = 0 }) => ({ id, delaySeconds })),
  };
}

/** Reads the answer of the isolate, which may be compromised: only messages of the batch count, each once. */
export function retriesOf(batch: QueueBatch, answer: string): Retry[] {
  const delays = new Map<string, number | undefined>();
  for (const retry of retriesIn(answer)) {
    if (!isObject(retry) || typeof retry.id !== 'string') continue;
    const { delaySeconds: seconds } = retry;
    delays.set(retry.id, typeof seconds === 'number' ? Math.min(Math.max(0, seconds), MAX_DELAY_SECONDS) : undefined);
  }
  return batch.ids.flatMap(id => (delays.has(id) ? [{ id, delaySeconds: delays.get(id) }] : []));
}

function retriesIn(answer: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(answer);
    if (isObject(value) && Array.isArray(value.retries)) return value.retries;
  } catch {
    // The error below reports it.
  }
  throw new EdgeError('EDGE_ISOLATE_LOST', 'The isolate answered a batch of messages with an invalid outcome');
}
