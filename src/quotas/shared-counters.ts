/** Counters that several hosts share, so that they count as one: in Redis, through rate-limiter-flexible. */

import { RateLimiterRedis } from 'rate-limiter-flexible';

export interface SharedCounters {
  /**
   * Adds one to a counter and gives its new value. It is gone `lifeSeconds` after its first use.
   * Rejects, in a bounded time, when the counter cannot be reached.
   */
  increment(key: string, lifeSeconds: number): Promise<number>;
  close(): Promise<void>;
}

export interface RedisCountersOptions {
  /** `redis://` or `rediss://` */
  readonly url: string;
  /** Before every key. @default 'edgehost' */
  readonly keyPrefix?: string;
  /** After this an answer is no longer waited for. @default 250 */
  readonly timeoutMs?: number;
  /** How long the first connection is waited for; it goes on being tried after that. @default 5,000 */
  readonly connectTimeoutMs?: number;
  /** Told when a connection fails; it is made anew by itself. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Counters in Redis. Needs the package `redis`, an optional peer. A server that cannot be reached is no error here: its
 * counters reject until it can be.
 *
 * @throws TypeError when the package is not installed, or the URL is not one of Redis
 */
export async function openRedisCounters(options: RedisCountersOptions): Promise<SharedCounters> {
  const { url, keyPrefix = 'edgehost', timeoutMs = 250, connectTimeoutMs = 5000, onError } = options;
  const { createClient } = await importRedis();
  // Commands for a connection that is down fail at once: the caller has counts of its own to go by.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: connectTimeoutMs } });
  client.on('error', error => onError?.(error));
  const connecting = client.connect();
  connecting.catch(() => {});
  await within(connecting, connectTimeoutMs).catch(error => onError?.(error));
  const limiter = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    keyPrefix,
    // Whether a count is too high is for the caller to say, whose limits differ by account.
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
  });
  return {
    async increment(key, lifeSeconds) {
      const { consumedPoints } = await within(limiter.penalty(key, 1, { customDuration: lifeSeconds }), timeoutMs);
      return consumedPoints;
    },
    async close() {
      client.destroy();
    },
  };
}

async function importRedis(): Promise<typeof import('redis')> {
  try {
    return await import('redis');
  } catch (error) {
    throw new TypeError('Option quotas.redis needs the package redis: npm install redis', { cause: error });
  }
}

async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer from Redis within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
