/** The bounds of queues and of their consumers: the same as on the hosted platform. */
const KILO = 1000;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

export const QUEUE_LIMITS = {
  /** The body of a message, in bytes. */
  messageBytes: 128 * KILO,
  /** Messages of one sendBatch(), and of one delivery. */
  batchMessages: 100,
  /** All bodies of one sendBatch(), or of one delivery, in bytes. */
  batchBytes: 256 * KILO,
  /** The longest delay of a message or of a retry, in seconds. */
  delaySeconds: 43_200,
  /** The longest lease of a message that was pulled, in milliseconds. */
  leaseMs: 12 * 60 * MINUTE_MS,
  /** Messages of one queue that may be leased at the same time. */
  leasedMessages: 20_000,
  /** Leased messages of all queues of an account together. */
  accountLeasedMessages: 100_000,
  /** The queues of an account. */
  queues: 1000,
  /** How long a message is kept, in milliseconds, unless its queue says otherwise. */
  retentionMs: 4 * DAY_MS,
  minRetentionMs: MINUTE_MS,
  maxRetentionMs: 14 * DAY_MS,
} as const;

/** The defaults of a consumer, and their bounds. */
export const CONSUMER_LIMITS = {
  maxBatchSize: { min: 1, max: 100, usual: 10 },
  maxBatchTimeoutSeconds: { min: 0, max: 60, usual: 5 },
  maxRetries: { min: 0, max: 100, usual: 3 },
  retryDelaySeconds: { min: 0, max: QUEUE_LIMITS.delaySeconds, usual: 0 },
  maxConcurrency: { min: 1, max: 250 },
} as const;
