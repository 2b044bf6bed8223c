/** Queues of an account, and their messages. */

import type { ClaimedMessage, QueueEngine, QueueInfo, QueueSettings } from '../../bindings/queue/broker.js';
import type { AccountQueue, QueueSendRequest } from '../../bindings/queue/host-queue.js';
import { QUEUE_LIMITS } from '../../bindings/queue/limits.js';
import { queueBinding } from '../../bindings/queue/queue-binding.js';
import { CONFIGURED_QUEUE } from '../../bindings/queue/store/stored-queues.js';
import { CONTENT_TYPES } from '../../bindings/queue/wire.js';
import { WRITTEN_CONSUMER_FIELDS } from '../../config-schema/consumer-shapes.js';
import { OWN_WORK } from '../../quotas/host/call-work.js';
import { anything, choice, list, object, text, wholeNumber } from '../../quotas/schema/schema.js';
import { type Context, pageQuery, param } from '../context.js';
import { ApiError, type ListReply, type OneReply, refusalOf } from '../http/envelope.js';
import { parameter } from '../http/parameters.js';
import { ACCOUNT_PATH, created, many, one, type Resource, route, routeWithBody } from '../route.js';
import { body, boolean, DELETED, dateTime, integer, named, nullable, string, type ValueOf } from '../schemas.js';
import { pageOf } from '../state/records.js';

const USUAL_BATCH_SIZE = 10;
const USUAL_VISIBILITY_MS = 30_000;

const QUEUE_PATH = `${ACCOUNT_PATH}/queues/{queue_name}`;

const delaySeconds = wholeNumber(0, QUEUE_LIMITS.delaySeconds, 'seconds');
const leaseId = text({ minLength: 1, maxLength: 100 });
const queueMessage = object({
  body: anything(),
  'content_type?': choice(['json', 'text', 'bytes']),
  'delay_seconds?': delaySeconds,
});
const queueSettings = object({
  'delivery_delay?': delaySeconds,
  'message_retention_period?': wholeNumber(
    QUEUE_LIMITS.minRetentionMs / 1000,
    QUEUE_LIMITS.maxRetentionMs / 1000,
    'seconds',
  ),
  'delivery_paused?': boolean,
});

const queueSummary = {
  queue_name: string,
  created_on: dateTime,
  settings: object({ delivery_delay: integer, message_retention_period: integer, delivery_paused: boolean }),
};

const QUEUE_CREATE = body('QueueCreate', object({ queue_name: CONFIGURED_QUEUE, 'settings?': queueSettings }), {
  queue_name: 'jobs',
});
const QUEUE_UPDATE = body('QueueUpdate', object({ settings: queueSettings }), { settings: { delivery_paused: true } });
const QUEUE_MESSAGE = body('QueueMessage', queueMessage, { body: { task: 'resize' } });
const QUEUE_MESSAGES = body(
  'QueueMessages',
  object({
    messages: list(queueMessage, { minItems: 1, maxItems: QUEUE_LIMITS.batchMessages }),
    'delay_seconds?': delaySeconds,
  }),
  { messages: [{ body: 1 }, { body: 'two', content_type: 'text' }] },
);
const QUEUE_PULL = body(
  'QueuePull',
  object({
    'batch_size?': wholeNumber(1, QUEUE_LIMITS.batchMessages),
    'visibility_timeout_ms?': wholeNumber(1, QUEUE_LIMITS.leaseMs, 'milliseconds'),
  }),
  { batch_size: 10 },
);
const QUEUE_ACK = body(
  'QueueAck',
  object({
    'acks?': list(object({ lease_id: leaseId }), { maxItems: 1000 }),
    'retries?': list(object({ lease_id: leaseId, 'delay_seconds?': delaySeconds }), { maxItems: 1000 }),
  }),
  { acks: [{ lease_id: '5f0c9a' }] },
);
const QUEUE_SUMMARY = named('QueueSummary', object(queueSummary));
const QUEUE = named(
  'Queue',
  object({
    ...queueSummary,
    backlog_count: integer,
    backlog_bytes: integer,
    oldest_message_timestamp_ms: nullable(integer),
  }),
);
const QUEUE_CONSUMER = named('QueueConsumer', object({ function: string, settings: object(WRITTEN_CONSUMER_FIELDS) }));
const QUEUE_PULLED = named(
  'QueuePulled',
  object({
    message_backlog_count: integer,
    messages: list(
      object({
        id: string,
        lease_id: string,
        attempts: integer,
        timestamp_ms: integer,
        content_type: choice(CONTENT_TYPES),
        body: { ...string, description: 'Text of json and text, base64 of bytes and v8' },
      }),
    ),
  }),
);
const QUEUE_ACKED = named('QueueAcked', object({ ack_count: integer, retry_count: integer, warnings: list(string) }));
const QUEUE_PURGED = named('QueuePurged', object({ deleted: integer }));

export const QUEUES_API: Resource = {
  parameters: { queue_name: parameter('^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$', 'jobs') },
  // biome-ignore format: a table, one route a row
  routes: [
    route({ method: 'GET', path: `${ACCOUNT_PATH}/queues`, id: 'queue-list', access: 'queues:read', summary: 'Queues of an account', answer: many(QUEUE_SUMMARY) }, listQueues),
    routeWithBody({ method: 'POST', path: `${ACCOUNT_PATH}/queues`, id: 'queue-create', access: 'queues:edit', summary: 'Make a queue', answer: created(QUEUE) }, QUEUE_CREATE, createQueue),
    route({ method: 'GET', path: QUEUE_PATH, id: 'queue-get', access: 'queues:read', summary: 'A queue, and how much it holds', answer: one(QUEUE) }, getQueue),
    routeWithBody({ method: 'PATCH', path: QUEUE_PATH, id: 'queue-update', access: 'queues:edit', summary: 'Change settings of a queue; pause and resume its delivery', answer: one(QUEUE) }, QUEUE_UPDATE, updateQueue),
    route({ method: 'DELETE', path: QUEUE_PATH, id: 'queue-delete', access: 'queues:edit', summary: 'Delete a queue with its messages', answer: one(DELETED) }, deleteQueue),
    route({ method: 'GET', path: `${QUEUE_PATH}/consumers`, id: 'queue-consumer-list', access: 'queues:read', summary: 'Functions that consume a queue', answer: many(QUEUE_CONSUMER, 'no') }, listConsumers),
    routeWithBody({ method: 'POST', path: `${QUEUE_PATH}/messages`, id: 'queue-message-send', access: 'queues:edit', summary: 'Send a message', answer: one(QUEUE) }, QUEUE_MESSAGE, sendMessage),
    routeWithBody({ method: 'POST', path: `${QUEUE_PATH}/messages/batch`, id: 'queue-message-send-batch', access: 'queues:edit', summary: 'Send messages, all or none', answer: one(QUEUE) }, QUEUE_MESSAGES, sendMessages),
    routeWithBody({ method: 'POST', path: `${QUEUE_PATH}/messages/pull`, id: 'queue-message-pull', access: 'queues:edit', summary: 'Claim messages for a time', answer: one(QUEUE_PULLED) }, QUEUE_PULL, pullMessages),
    routeWithBody({ method: 'POST', path: `${QUEUE_PATH}/messages/ack`, id: 'queue-message-ack', access: 'queues:edit', summary: 'Say what becomes of messages that were pulled', answer: one(QUEUE_ACKED) }, QUEUE_ACK, ackMessages),
    route({ method: 'POST', path: `${QUEUE_PATH}/purge`, id: 'queue-purge', access: 'queues:edit', summary: 'Delete all messages of a queue', answer: one(QUEUE_PURGED) }, purgeQueue),
  ],
};

async function listQueues(context: Context): Promise<ListReply<typeof QUEUE_SUMMARY>> {
  const queues = await context.services.directoryOf(queueBinding, context.account).list();
  const { items, info } = await pageOf(queues, pageQuery(context));
  return { result: items.map(shown), resultInfo: info };
}

async function getQueue(context: Context): Promise<OneReply<typeof QUEUE>> {
  return { result: await measured(await find(context)) };
}

async function createQueue(context: Context, body: ValueOf<typeof QUEUE_CREATE>): Promise<OneReply<typeof QUEUE>> {
  const { queue_name: name, settings = {} } = body;
  const directory = context.services.directoryOf(queueBinding, context.account);
  const { created } = await directory.create(name, settingsOf(settings));
  if (!created) throw new ApiError('ALREADY_EXISTS', `The queue ${JSON.stringify(name)} exists already`);
  await context.commit([]);
  return { result: await measured(await directory.open(name)) };
}

async function updateQueue(context: Context, body: ValueOf<typeof QUEUE_UPDATE>): Promise<OneReply<typeof QUEUE>> {
  const queue = await find(context);
  await queue.change(settingsOf(body.settings));
  await context.commit([]);
  return { result: await measured(queue) };
}

async function deleteQueue(context: Context): Promise<OneReply<typeof DELETED>> {
  const name = param(context, 'queue_name');
  await context.services.directoryOf(queueBinding, context.account).delete(name);
  await context.commit([]);
  return { result: { id: name } };
}

async function purgeQueue(context: Context): Promise<OneReply<typeof QUEUE_PURGED>> {
  const deleted = await (await find(context)).purge(OWN_WORK);
  await context.commit([]);
  return { result: { deleted } };
}

async function sendMessage(context: Context, body: ValueOf<typeof QUEUE_MESSAGE>): Promise<OneReply<typeof QUEUE>> {
  const queue = await sender(context);
  const { body: message, ...options } = requestOf(body);
  await refusing(queue.send(message, options));
  return { result: await measured(await find(context)) };
}

async function sendMessages(context: Context, body: ValueOf<typeof QUEUE_MESSAGES>): Promise<OneReply<typeof QUEUE>> {
  const queue = await sender(context);
  const { delay_seconds: delaySeconds } = body;
  await refusing(queue.sendBatch(body.messages.map(requestOf), delaySeconds === undefined ? {} : { delaySeconds }));
  return { result: await measured(await find(context)) };
}

async function pullMessages(
  context: Context,
  body: ValueOf<typeof QUEUE_PULL>,
): Promise<OneReply<typeof QUEUE_PULLED>> {
  const queue = await find(context);
  const { batch_size: maxMessages = USUAL_BATCH_SIZE, visibility_timeout_ms: leaseMs = USUAL_VISIBILITY_MS } = body;
  const messages = await queue.pull({ maxMessages, maxBytes: QUEUE_LIMITS.batchBytes, leaseMs });
  const { backlogCount } = await queue.backlog();
  return { result: { message_backlog_count: backlogCount, messages: messages.map(shownMessage) } };
}

async function ackMessages(context: Context, body: ValueOf<typeof QUEUE_ACK>): Promise<OneReply<typeof QUEUE_ACKED>> {
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

async function listConsumers(context: Context): Promise<ListReply<typeof QUEUE_CONSUMER>> {
  const { name } = (await find(context)).info();
  const consumers: ValueOf<typeof QUEUE_CONSUMER>[] = [];
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
    throw refusalOf(error, 'BODY_INVALID');
  }
}

function requestOf(message: ValueOf<typeof QUEUE_MESSAGE>): QueueSendRequest {
  const { body, content_type: contentType = 'json', delay_seconds: delaySeconds } = message;
  const isBase64 = contentType === 'bytes' && typeof body === 'string';
  return {
    body: isBase64 ? new Uint8Array(Buffer.from(body, 'base64')) : body,
    contentType,
    ...(delaySeconds !== undefined && { delaySeconds }),
  };
}

function settingsOf(settings: ValueOf<typeof QUEUE_UPDATE>['settings']): Partial<QueueSettings> {
  const { delivery_delay, message_retention_period, delivery_paused } = settings;
  return {
    ...(delivery_delay !== undefined && { deliveryDelaySeconds: delivery_delay }),
    ...(message_retention_period !== undefined && { retentionSeconds: message_retention_period }),
    ...(delivery_paused !== undefined && { isPaused: delivery_paused }),
  };
}

async function measured(queue: QueueEngine): Promise<ValueOf<typeof QUEUE>> {
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
}: QueueInfo): ValueOf<typeof QUEUE_SUMMARY> {
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

function shownMessage({
  id,
  leaseId,
  contentType,
  timestamp,
  attempts,
  body,
}: ClaimedMessage): ValueOf<typeof QUEUE_PULLED>['messages'][number] {
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
