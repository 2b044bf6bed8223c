/** A queue for the application itself, in its own process. */
import { type AccountWork, OWN_WORK } from '../../quotas/host/call-work.js';
import { checkOptions } from '../../quotas/schema/check-options.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { choice, list, objectOf, type Schema, text, wholeNumber } from '../../quotas/schema/schema.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import type { ClaimedMessage, OutgoingMessage, QueueEngine, QueueMetrics } from './broker.js';
import { CONSUMER_LIMITS, QUEUE_LIMITS } from './limits.js';
import { checkCount, checkDelay, checkLengths } from './service.js';
import { CONFIGURED_QUEUE } from './store/stored-queues.js';
import { decodeStructured, encodeStructured } from './structured.js';
import { CONTENT_TYPES, type QueueContentType } from './wire.js';

export interface QueueSendOptions {
  /**
   * `json`, `text` (the body is a string), `bytes` (a view of bytes, which arrives as a Uint8Array) or `v8` (a structured clone: Map, Set, Date,
   * BigInt, cycles).
   * @default 'json'
   */
  readonly contentType?: QueueContentType;
  /** From 0 to 43,200. @default the delay of the queue, which is 0 */
  readonly delaySeconds?: number;
}

export interface QueueSendRequest extends QueueSendOptions {
  readonly body: unknown;
}

export interface AccountQueueMetrics {
  /** Messages that are not done, those that wait for their time or are being handled among them. */
  readonly backlogCount: number;
  /** Their bodies, in bytes. */
  readonly backlogBytes: number;
  /** When the message was sent that is delivered next; absent while the queue is empty. */
  readonly oldestMessageTimestamp?: Date;
}

export interface QueueSendResult {
  readonly metadata: { readonly metrics: AccountQueueMetrics };
}

export interface QueuePullOptions {
  /** From 1 to 100. @default 10 */
  readonly maxMessages?: number;
  /** A message that is not settled after this time is delivered again: from 1 to 43,200,000, in milliseconds. @default 30,000 */
  readonly visibilityTimeoutMs?: number;
}

/** A message that was pulled. */
export interface PulledMessage {
  /** Names the claim, for {@link AccountQueue.settle}. */
  readonly leaseId: string;
  /** 32 hexadecimal digits. */
  readonly id: string;
  /** When it was sent. */
  readonly timestamp: Date;
  /** Which delivery this is, from 1. */
  readonly attempts: number;
  readonly contentType: QueueContentType;
  /**
   * Decoded each time that it is read, in one piece and at the cost of the account. A message has at most 128,000 bytes, which take some 15 ms and 4 MB of
   * the heap at most. Reading it throws when it is not what its content type says.
   */
  readonly body: unknown;
}

export interface QueueSettlement {
  /** Leases of messages that are done. */
  readonly acks?: readonly string[];
  /** Messages to be delivered again. */
  readonly retries?: readonly { readonly leaseId: string; readonly delaySeconds?: number }[];
  /** Retries of a message before it goes to the dead letters: from 0 to 100. @default without a bound */
  readonly maxRetries?: number;
  /** The queue of this account for messages that were retried too often. @default they are dropped */
  readonly deadLetterQueue?: string;
}

export interface QueueSettled {
  readonly acked: number;
  readonly retried: number;
  readonly deadLettered: number;
  readonly dropped: number;
  /** Leases that are over, or never were. */
  readonly unknown: readonly string[];
}

/**
 * A queue of an account, for the application. Methods reject with TypeError or RangeError for wrong arguments, EDGE_STORAGE_QUOTA, EDGE_STORAGE_FULL,
 * EDGE_ACCOUNT_REMOVED, EDGE_CLOSED and the codes of the storage. A QueueError has a number as its `code`: 10201 (message too large), 10202 (batch too large),
 * 10203 (too many messages). Further codes are 10204 (delay out of range), 10205 (invalid name) and 10206 (the queue is gone).
 */
export interface AccountQueue {
  readonly name: string;
  /** Resolves when the message is on disk. */
  send(body: unknown, options?: QueueSendOptions): Promise<QueueSendResult>;
  /** 1 to 100 messages, 256,000 bytes together. Resolves when all are on disk; none is when it rejects. */
  sendBatch(
    messages: Iterable<QueueSendRequest>,
    options?: Pick<QueueSendOptions, 'delaySeconds'>,
  ): Promise<QueueSendResult>;
  metrics(): Promise<AccountQueueMetrics>;
  /** Claims messages that can be delivered now; an empty list when the queue has no such message. */
  pull(options?: QueuePullOptions): Promise<readonly PulledMessage[]>;
  /** Decides the outcome of pulled messages. Resolves when it is on disk. */
  settle(settlement: QueueSettlement): Promise<QueueSettled>;
  /** No consumer gets messages until `resume`, also after a restart. They can be sent and pulled. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Deletes all messages, also those that are being handled. Resolves with their number. */
  purge(): Promise<number>;
}

const DELAY = { 'delaySeconds?': { type: 'number', minimum: 0, maximum: QUEUE_LIMITS.delaySeconds } } as const;
const PULL: Schema<QueuePullOptions> = objectOf<QueuePullOptions>({
  'maxMessages?': wholeNumber(1, QUEUE_LIMITS.batchMessages),
  'visibilityTimeoutMs?': wholeNumber(1, QUEUE_LIMITS.leaseMs, 'milliseconds'),
});
const LEASE = text({ minLength: 1, maxLength: 100 });
/** As many as there can be. */
const LEASES = { maxItems: QUEUE_LIMITS.leasedMessages };
const RETRY = objectOf<{ readonly leaseId: string; readonly delaySeconds?: number }>({
  leaseId: LEASE,
  'delaySeconds?': wholeNumber(0, QUEUE_LIMITS.delaySeconds, 'seconds'),
});
export const SETTLEMENT: Schema<QueueSettlement> = objectOf<QueueSettlement>({
  'acks?': list(LEASE, LEASES),
  'retries?': list(RETRY, LEASES),
  'maxRetries?': wholeNumber(CONSUMER_LIMITS.maxRetries.min, CONSUMER_LIMITS.maxRetries.max),
  'deadLetterQueue?': CONFIGURED_QUEUE,
});

export const USUAL_PULL = { maxMessages: 10, visibilityTimeoutMs: 30_000 } as const;

/**
 * @param open before each call: it may throw
 * @param work is charged for decoding bodies, because functions of the account may have written them
 */
export function hostQueue(
  name: string,
  open: () => Promise<QueueEngine>,
  bounds: () => StorageBounds,
  defaultDelaySeconds: number | undefined,
  work?: AccountWork,
): AccountQueue {
  const send = async (
    method: string,
    messages: readonly EncodedMessage[],
    delay: unknown,
  ): Promise<QueueSendResult> => {
    checkCount(method, messages.length);
    const batchDelay = checkDelay(method, delay);
    const delays = messages.map(({ delaySeconds }) => checkDelay(method, delaySeconds));
    checkLengths(
      method,
      messages.map(({ body }) => body.byteLength),
    );
    const queue = await open();
    const usual = batchDelay ?? defaultDelaySeconds ?? queue.info().deliveryDelaySeconds;
    const outgoing = messages.map(
      ({ contentType, body }, index): OutgoingMessage => ({
        contentType,
        body,
        delayMs: (delays[index] ?? usual) * 1000,
      }),
    );
    await queue.send(outgoing, { method, bounds: bounds() }, OWN_WORK);
    return { metadata: { metrics: await queue.backlog() } };
  };
  return {
    name,
    async send(body, options) {
      return send('send', [encodeMessage(body, options)], undefined);
    },
    async sendBatch(messages, options) {
      const encoded = Array.from(messages, message => {
        if (!isObject(message))
          throw new TypeError(`A message of sendBatch() is ${describe(message)}, expected { body }`);
        return encodeMessage(message.body, message);
      });
      return send('sendBatch', encoded, options?.delaySeconds);
    },
    async metrics() {
      return accountMetrics(await (await open()).metrics(OWN_WORK));
    },
    async pull(options = {}) {
      checkOptions('pull()', options, PULL);
      const { maxMessages = USUAL_PULL.maxMessages, visibilityTimeoutMs = USUAL_PULL.visibilityTimeoutMs } = options;
      await work?.turn();
      const request = { maxMessages, maxBytes: QUEUE_LIMITS.batchBytes, leaseMs: visibilityTimeoutMs };
      const claimed = await (await open()).pull(request);
      return claimed.map(message => new Pulled(message, work));
    },
    async settle(settlement) {
      checkOptions('settle()', settlement, SETTLEMENT);
      const { retries = [], deadLetterQueue } = settlement;
      if (deadLetterQueue === name) throw new RangeError(`Queue "${name}" cannot be its own deadLetterQueue`);
      const delayed = retries.map(({ leaseId, delaySeconds = 0 }) => ({ leaseId, delayMs: delaySeconds * 1000 }));
      return (await open()).settle({ ...settlement, retries: delayed }, OWN_WORK);
    },
    async pause() {
      await (await open()).change({ isPaused: true });
    },
    async resume() {
      await (await open()).change({ isPaused: false });
    },
    async purge() {
      return (await open()).purge(OWN_WORK);
    },
  };
}

function accountMetrics({ oldestMessageTimestamp, ...backlog }: QueueMetrics): AccountQueueMetrics {
  if (oldestMessageTimestamp === undefined) return backlog;
  return { ...backlog, oldestMessageTimestamp: new Date(oldestMessageTimestamp) };
}

class Pulled implements PulledMessage {
  readonly leaseId: string;
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly contentType: QueueContentType;
  readonly #bytes: Uint8Array;
  readonly #work: AccountWork | undefined;

  constructor({ leaseId, id, timestamp, attempts, contentType, body }: ClaimedMessage, work: AccountWork | undefined) {
    this.leaseId = leaseId;
    this.id = id;
    this.timestamp = new Date(timestamp);
    this.attempts = attempts;
    this.contentType = contentType;
    this.#bytes = body;
    this.#work = work;
  }

  get body(): unknown {
    const began = performance.now();
    try {
      return decodeBody(this.contentType, this.#bytes);
    } finally {
      this.#work?.charge(performance.now() - began);
    }
  }
}

/** @throws TypeError, RangeError or SyntaxError for bytes that the content type does not allow, which only a compromised isolate sends */
function decodeBody(contentType: QueueContentType, bytes: Uint8Array): unknown {
  switch (contentType) {
    case 'json':
      return JSON.parse(textOf(bytes));
    case 'text':
      return textOf(bytes);
    case 'bytes':
      return new Uint8Array(bytes);
    case 'v8':
      return decodeStructured(bytes);
  }
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}

interface EncodedMessage {
  readonly contentType: QueueContentType;
  readonly body: Uint8Array;
  /** Not checked. */
  readonly delaySeconds: unknown;
}

const CONTENT_TYPE = choice(CONTENT_TYPES);
const SEND = objectOf<QueueSendRequest>({ body: {}, 'contentType?': CONTENT_TYPE, ...DELAY });

/** @throws TypeError, RangeError */
function encodeMessage(body: unknown, options: QueueSendOptions = {}): EncodedMessage {
  if (body === undefined) throw new TypeError('Message body cannot be undefined');
  // A batch has many messages, and most of them have none.
  const given = Object.keys(options).length - (Object.hasOwn(options, 'body') ? 1 : 0);
  if (given === 0) return { contentType: 'json', body: encodeBody('json', body), delaySeconds: undefined };
  const request = { ...options, ...lowerCaseType(options.contentType), body: null };
  checkOptions('send()', request, SEND);
  const { contentType = 'json', delaySeconds } = request;
  return { contentType, body: encodeBody(contentType, body), delaySeconds };
}

/** Content types are taken in any case, as on the hosted platform. */
function lowerCaseType(type: unknown): object | undefined {
  return typeof type === 'string' ? { contentType: type.toLowerCase() } : undefined;
}

function encodeBody(contentType: QueueContentType, body: unknown): Uint8Array {
  switch (contentType) {
    case 'json': {
      const json: string | undefined = JSON.stringify(body);
      if (json === undefined)
        throw new TypeError(`The body of the message is ${describe(body)}, which JSON cannot hold`);
      return Buffer.from(json);
    }
    case 'text':
      if (typeof body !== 'string') throw wrongBody(contentType, 'a string', body);
      return Buffer.from(body);
    case 'bytes':
      if (!ArrayBuffer.isView(body)) throw wrongBody(contentType, 'ArrayBufferView', body);
      return new Uint8Array(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
    case 'v8':
      return encodeStructured(body);
  }
}

function wrongBody(contentType: string, expected: string, body: unknown): TypeError {
  return new TypeError(
    `Content Type "${contentType}" requires a value of type ${expected}, but received: ${describe(body)}`,
  );
}
