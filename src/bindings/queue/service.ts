/** Answers the calls of a queue's client in a function (wire.ts). Everything in them was written by the function. */

import { HOST_COSTS } from '../../quotas/host/host-costs.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { isCount } from '../../quotas/schema/is-count.js';
import type { StorageBounds } from '../../storage/accounts/account-sum.js';
import { NO_BYTES } from '../../storage/records/no-bytes.js';
import { cancelBody } from '../bodies/cancel-body.js';
import type { Service, ServiceBody, ServiceCall } from '../service.js';
import type { OutgoingMessage, QueueEngine } from './broker.js';
import { QueueError } from './errors.js';
import { QUEUE_LIMITS } from './limits.js';
import { CONTENT_TYPES, type QueueContentType } from './wire.js';

export interface QueueServiceOptions {
  /** The delay of messages that name none. @default the delay of the queue */
  readonly deliveryDelaySeconds?: number | undefined;
  readonly bounds: StorageBounds;
}

type Method = 'send' | 'sendBatch';

/** Rejects with TypeError for wrong arguments, QueueError by the codes of errors.ts, EdgeError for the storage itself. */
export function queueService(open: () => Promise<QueueEngine>, options: QueueServiceOptions): Service {
  return async call => {
    const { method, work } = call;
    try {
      switch (method) {
        case 'send':
        case 'sendBatch':
          return { head: await send(method, await open(), call, options) };
        case 'metrics':
          return { head: await (await open()).metrics(work) };
        default:
          throw new TypeError(`A queue has no method ${describe(method)}`);
      }
    } finally {
      cancelBody(call.body);
    }
  };
}

async function send(
  method: Method,
  queue: QueueEngine,
  { args, body, work }: ServiceCall,
  options: QueueServiceOptions,
): Promise<unknown> {
  const { lengths, messages } = checkSend(
    method,
    args,
    options.deliveryDelaySeconds ?? queue.info().deliveryDelaySeconds,
  );
  work.charge(messages.length * HOST_COSTS.messageMs);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  // The bodies, and the records that they are copied to, until those are on disk.
  const heldBytes = 2 * total;
  work.countBytes(heldBytes);
  try {
    const bytes = await wholeBody(body, total);
    let at = 0;
    const outgoing: OutgoingMessage[] = messages.map((message, index) => {
      const end = at + (lengths[index] ?? 0);
      const part = bytes.subarray(at, end);
      at = end;
      return { ...message, body: part };
    });
    await queue.send(outgoing, { method, bounds: options.bounds }, work);
  } finally {
    work.countBytes(-heldBytes);
  }
  return queue.backlog();
}

interface CheckedSend {
  readonly lengths: readonly number[];
  readonly messages: readonly Omit<OutgoingMessage, 'body'>[];
}

function checkSend(method: Method, args: unknown, defaultSeconds: number): CheckedSend {
  if (!isObject(args) || !Array.isArray(args.m)) throw malformed(method);
  const listed: readonly unknown[] = args.m;
  checkCount(method, listed.length);
  const seconds = checkDelay(method, args.d) ?? defaultSeconds;
  const lengths: number[] = [];
  const messages = listed.map(message => {
    if (!isObject(message)) throw malformed(method);
    const { t: contentType, n: length, d } = message;
    if (!isContentType(contentType) || !isCount(length)) throw malformed(method);
    lengths.push(length);
    return { contentType, delayMs: (checkDelay(method, d) ?? seconds) * 1000 };
  });
  checkLengths(method, lengths);
  return { lengths, messages };
}

/** @throws TypeError, QueueError */
export function checkCount(method: string, count: number): void {
  if (count === 0) throw new TypeError('sendBatch() requires at least one message');
  const most = QUEUE_LIMITS.batchMessages;
  if (count > most) throw new QueueError(method, 10203, `batch message count of ${count} exceeds limit of ${most}`);
}

/** @throws QueueError */
export function checkLengths(method: string, lengths: readonly number[]): void {
  let total = 0;
  for (const length of lengths) {
    if (length > QUEUE_LIMITS.messageBytes) {
      const text = `message length of ${length} bytes exceeds limit of ${QUEUE_LIMITS.messageBytes}`;
      throw new QueueError(method, 10201, text);
    }
    total += length;
  }
  if (total > QUEUE_LIMITS.batchBytes) {
    const text = `batch length of ${total} bytes exceeds limit of ${QUEUE_LIMITS.batchBytes}`;
    throw new QueueError(method, 10202, text);
  }
}

/** The delay, if there is one. @throws QueueError */
export function checkDelay(method: string, seconds: unknown): number | undefined {
  if (seconds === undefined || seconds === null) return undefined;
  if (typeof seconds === 'number' && seconds >= 0 && seconds <= QUEUE_LIMITS.delaySeconds) return seconds;
  const text = `delaySeconds is ${describe(seconds)}, it must be a number from 0 to ${QUEUE_LIMITS.delaySeconds}`;
  throw new QueueError(method, 10204, text);
}

export function isContentType(value: unknown): value is QueueContentType {
  return CONTENT_TYPES.some(type => type === value);
}

async function wholeBody(body: ServiceBody | null, length: number): Promise<Uint8Array> {
  const bytes = body === null || body instanceof Uint8Array ? (body ?? NO_BYTES) : await collect(body, length);
  if (bytes.byteLength !== length) throw malformed('send');
  return bytes;
}

async function collect(body: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array> {
  const bytes = Buffer.allocUnsafeSlow(length);
  let at = 0;
  for await (const chunk of body) {
    if (at + chunk.byteLength > length) throw malformed('send');
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return at === length ? bytes : NO_BYTES;
}

function malformed(method: string): TypeError {
  return new TypeError(`${method}: the call is malformed`);
}
