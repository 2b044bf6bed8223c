/** Queues of an account, and their messages. */

import type { ClaimedMessage, QueueEngine, QueueInfo, QueueSettings } from '../../bindings/queue/broker.js';
import type { AccountQueue, QueueSendRequest } from '../../bindings/queue/host-queue.js';
import { QUEUE_LIMITS } from '../../bindings/queue/limits.js';
import { queueBinding } from '../../bindings/queue/queue-binding.js';
import { OWN_WORK } from '../../quotas/host/call-work.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type Reply } from '../http/envelope.js';
import type { Bodies } from '../schemas.js';
import { pageOf } from '../state/records.js';

const USUAL_BATCH_SIZE = 10;
const USUAL_VISIBILITY_MS = 30_000;

export async function listQueues(context: Context): Promise<Reply> {
  const queues = await context.services.directoryOf(queueBinding, context.account).list();
  const { items, info } = await pageOf(queues, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

export async function getQueue(context: Context): Promise<Reply> {
  return { result: await measured(await find(context)) };
}

export async function createQueue(context: Context, body: Bodies['QueueCreate']): Promise<Reply> {
  const { queue_name: name, settings = {} } = body;
  const directory = context.services.directoryOf(queueBinding, context.account);
  const { created } = await directory.create(name, settingsOf(settings));
  if (!created) throw new ApiError('ALREADY_EXISTS', `The queue ${JSON.stringify(name)} exists already`);
  await context.commit([]);
  return { result: await measured(await directory.open(name)) };
}

export async function updateQueue(context: Context, body: Bodies['QueueUpdate']): Promise<Reply> {
  const queue = await find(context);
  await queue.change(settingsOf(body.settings));
  await context.commit([]);
  return { result: await measured(queue) };
}

export async function deleteQueue(context: Context): Promise<Reply> {
  const name = param(context, 'queue_name');
  await context.services.directoryOf(queueBinding, context.account).delete(name);
  await context.commit([]);
  return { result: { id: name } };
}

export async function purgeQueue(context: Context): Promise<Reply> {
  const deleted = await (await find(context)).purge(OWN_WORK);
  await context.commit([]);
  return { result: { deleted } };
}

export async function sendMessage(context: Context, body: Bodies['QueueMessage']): Promise<Reply> {
  const queue = await sender(context);
  const { body: message, ...options } = requestOf(body);
  await refusing(queue.send(message, options));
  return { result: await measured(await find(context)) };
}

export async function sendMessages(context: Context, body: Bodies['QueueMessages']): Promise<Reply> {
  const queue = await sender(context);
  const { delay_seconds: delaySeconds } = body;
  await refusing(queue.sendBatch(body.messages.map(requestOf), delaySeconds === undefined ? {} : { delaySeconds }));
  return { result: await measured(await find(context)) };
}

export async function pullMessages(context: Context, body: Bodies['QueuePull']): Promise<Reply> {
  const queue = await find(context);
  const { batch_size: maxMessages = USUAL_BATCH_SIZE, visibility_timeout_ms: leaseMs = USUAL_VISIBILITY_MS } = body;
  const messages = await queue.pull({ maxMessages, maxBytes: QUEUE_LIMITS.batchBytes, leaseMs });
  const { backlogCount } = await queue.backlog();
  return { result: { message_backlog_count: backlogCount, messages: messages.map(shownMessage) } };
}

export async function ackMessages(context: Context, body: Bodies['QueueAck']): Promise<Reply> {
  const queue = await find(context);
  const { acks = [], retries = [] } = body;
  const { acked, retried, unknown } = await queue.settle(
    {
      acks: acks.map(({ lease_id: leaseId }) => leaseId),
      retries: retries.map(({ lease_id: leaseId, delay_seconds: seconds = 0 }) => ({
        leaseId,
        delayMs: seconds * 1000,
      })),
    },
    OWN_WORK,
  );
  const warnings = unknown.map(lease => `The lease ${JSON.stringify(lease)} is over or never was`);
  return { result: { ack_count: acked, retry_count: retried, warnings } };
}

export async function listConsumers(context: Context): Promise<Reply> {
  const { name } = (await find(context)).info();
  const consumers: unknown[] = [];
  const { stores } = context.services;
  for await (const record of stores.functions.below(context.account)) {
    for (const { queue, ...settings } of record.consumers ?? []) {
      if (queue === name) consumers.push({ function: record.name, settings });
    }
  }
  return { result: consumers };
}

/** @throws ApiError NOT_FOUND */
async function find(context: Context): Promise<QueueEngine> {
  const name = param(context, 'queue_name');
  const queue = await context.services.directoryOf(queueBinding, context.account).find(name);
  if (queue === null) throw new ApiError('NOT_FOUND', `There is no queue ${JSON.stringify(name)}`);
  return queue;
}

async function sender(context: Context): Promise<AccountQueue> {
  const { name } = (await find(context)).info();
  return context.services.functions.clientOf(queueBinding, context.account, name);
}

/** Reports errors in the customer's message as errors of the request body. */
async function refusing(sent: Promise<unknown>): Promise<void> {
  try {
    await sent;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new ApiError('BODY_INVALID', error.message);
    throw error;
  }
}

function requestOf(message: Bodies['QueueMessage']): QueueSendRequest {
  const { body, content_type: contentType = 'json', delay_seconds: delaySeconds } = message;
  const isBase64 = contentType === 'bytes' && typeof body === 'string';
  return {
    body: isBase64 ? new Uint8Array(Buffer.from(body, 'base64')) : body,
    contentType,
    ...(delaySeconds !== undefined && { delaySeconds }),
  };
}

function settingsOf(settings: Bodies['QueueUpdate']['settings']): Partial<QueueSettings> {
  const { delivery_delay, message_retention_period, delivery_paused } = settings;
  return {
    ...(delivery_delay !== undefined && { deliveryDelaySeconds: delivery_delay }),
    ...(message_retention_period !== undefined && { retentionSeconds: message_retention_period }),
    ...(delivery_paused !== undefined && { isPaused: delivery_paused }),
  };
}

async function measured(queue: QueueEngine): Promise<unknown> {
  const { backlogCount, backlogBytes, oldestMessageTimestamp } = await queue.metrics(OWN_WORK);
  return {
    ...shown(queue.info()),
    backlog_count: backlogCount,
    backlog_bytes: backlogBytes,
    oldest_message_timestamp_ms: oldestMessageTimestamp ?? null,
  };
}

function shown({
  name,
  created,
  deliveryDelaySeconds,
  retentionSeconds,
  isPaused,
}: QueueInfo): Record<string, unknown> {
  return {
    queue_name: name,
    created_on: new Date(created).toISOString(),
    settings: {
      delivery_delay: deliveryDelaySeconds,
      message_retention_period: retentionSeconds,
      delivery_paused: isPaused,
    },
  };
}

function shownMessage({ id, leaseId, contentType, timestamp, attempts, body }: ClaimedMessage): unknown {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const isText = contentType === 'json' || contentType === 'text';
  return {
    id,
    lease_id: leaseId,
    attempts,
    timestamp_ms: timestamp,
    content_type: contentType,
    body: bytes.toString(isText ? 'utf8' : 'base64'),
  };
}
