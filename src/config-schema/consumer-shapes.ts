/** The queues that a function consumes: one shape for `load()`, `edgehost.toml` and the management API, which name its fields differently. */
import { CONSUMER_LIMITS } from '../bindings/queue/limits.js';
import { CONFIGURED_QUEUE } from '../bindings/queue/store/stored-queues.js';
import { type FieldsOf, list, objectOf, refined, type Schema, wholeNumber } from '../quotas/schema/schema.js';

/** A queue whose messages the queue handler of the function gets. A queue has one consumer. */
export interface QueueConsumerOptions {
  /** The name of the queue of the account. It is made when it does not exist. */
  readonly queue: string;
  /** The largest number of messages in a batch: from 1 to 100. @default 10 */
  readonly maxBatchSize?: number;
  /** How long a batch that is not full waits for more messages: from 0 to 60. @default 5 */
  readonly maxBatchTimeoutSeconds?: number;
  /** Deliveries of a message after the first: from 0 to 100. @default 3 */
  readonly maxRetries?: number;
  /** The delay of retries for which the function gives none: from 0 to 43,200. @default 0 */
  readonly retryDelaySeconds?: number;
  /** Another queue of the account, which gets the messages that were retried too often. @default they are dropped */
  readonly deadLetterQueue?: string;
  /** Batches that are handled at the same time: from 1 to 250. @default up to 20, as many as the backlog needs and errors allow */
  readonly maxConcurrency?: number;
}

export type ResolvedConsumer = Required<Omit<QueueConsumerOptions, 'deadLetterQueue' | 'maxConcurrency'>> & {
  readonly deadLetterQueue: string | undefined;
  readonly maxConcurrency: number | undefined;
};

/** The consumers of one function. */
const MAX_CONSUMERS = 100;

const { maxBatchSize, maxBatchTimeoutSeconds, maxRetries, retryDelaySeconds, maxConcurrency } = CONSUMER_LIMITS;

const FIELDS: FieldsOf<QueueConsumerOptions> = {
  queue: CONFIGURED_QUEUE,
  'maxBatchSize?': wholeNumber(maxBatchSize.min, maxBatchSize.max),
  'maxBatchTimeoutSeconds?': wholeNumber(maxBatchTimeoutSeconds.min, maxBatchTimeoutSeconds.max, 'seconds'),
  'maxRetries?': wholeNumber(maxRetries.min, maxRetries.max),
  'retryDelaySeconds?': wholeNumber(retryDelaySeconds.min, retryDelaySeconds.max, 'seconds'),
  'deadLetterQueue?': CONFIGURED_QUEUE,
  'maxConcurrency?': wholeNumber(maxConcurrency.min, maxConcurrency.max),
};

export const CONSUMERS: Schema<readonly QueueConsumerOptions[]> = refined(
  list(objectOf<QueueConsumerOptions>(FIELDS), { maxItems: MAX_CONSUMERS }),
  consumers => whyNot(consumers.map(({ queue, deadLetterQueue }) => [queue, deadLetterQueue] as const)),
);

/** The same in `edgehost.toml` and in the management API. */
export interface WrittenConsumer {
  readonly queue: string;
  readonly max_batch_size?: number;
  readonly max_batch_timeout?: number;
  readonly max_retries?: number;
  readonly retry_delay?: number;
  readonly dead_letter_queue?: string;
  readonly max_concurrency?: number;
}

export const WRITTEN_CONSUMER_FIELDS: FieldsOf<Omit<WrittenConsumer, 'queue'>> = {
  'max_batch_size?': FIELDS['maxBatchSize?'],
  'max_batch_timeout?': FIELDS['maxBatchTimeoutSeconds?'],
  'max_retries?': FIELDS['maxRetries?'],
  'retry_delay?': FIELDS['retryDelaySeconds?'],
  'dead_letter_queue?': CONFIGURED_QUEUE,
  'max_concurrency?': FIELDS['maxConcurrency?'],
};

export const WRITTEN_CONSUMERS: Schema<readonly WrittenConsumer[]> = refined(
  list(objectOf<WrittenConsumer>({ queue: CONFIGURED_QUEUE, ...WRITTEN_CONSUMER_FIELDS }), { maxItems: MAX_CONSUMERS }),
  consumers => whyNot(consumers.map(({ queue, dead_letter_queue: dead }) => [queue, dead] as const)),
);

export function consumerOf(written: WrittenConsumer): QueueConsumerOptions {
  const { queue, max_batch_size, max_batch_timeout, max_retries, retry_delay, dead_letter_queue, max_concurrency } =
    written;
  return {
    queue,
    ...(max_batch_size !== undefined && { maxBatchSize: max_batch_size }),
    ...(max_batch_timeout !== undefined && { maxBatchTimeoutSeconds: max_batch_timeout }),
    ...(max_retries !== undefined && { maxRetries: max_retries }),
    ...(retry_delay !== undefined && { retryDelaySeconds: retry_delay }),
    ...(dead_letter_queue !== undefined && { deadLetterQueue: dead_letter_queue }),
    ...(max_concurrency !== undefined && { maxConcurrency: max_concurrency }),
  };
}

export function resolveConsumer(options: QueueConsumerOptions): ResolvedConsumer {
  return {
    queue: options.queue,
    maxBatchSize: options.maxBatchSize ?? maxBatchSize.usual,
    maxBatchTimeoutSeconds: options.maxBatchTimeoutSeconds ?? maxBatchTimeoutSeconds.usual,
    maxRetries: options.maxRetries ?? maxRetries.usual,
    retryDelaySeconds: options.retryDelaySeconds ?? retryDelaySeconds.usual,
    deadLetterQueue: options.deadLetterQueue,
    maxConcurrency: options.maxConcurrency,
  };
}

function whyNot(consumers: readonly (readonly [queue: string, dead: string | undefined])[]): string | undefined {
  const seen = new Set<string>();
  for (const [queue, dead] of consumers) {
    if (seen.has(queue)) return `queue "${queue}" is consumed twice`;
    if (queue === dead) return `queue "${queue}" is its own dead-letter queue`;
    seen.add(queue);
  }
  return undefined;
}
