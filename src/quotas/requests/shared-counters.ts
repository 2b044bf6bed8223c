/** Counters that several hosts share, so that they count as one: in Redis, through rate-limiter-flexible. */
import { messageOf } from '../errors.js';
import { guarded } from '../guarded.js';

export interface SharedCounters {
  /**
   * Adds one to a counter and gives its new value. It is gone `lifeSeconds` after its first use.
   * Rejects, in a bounded time, when the counter cannot be reached.
   */
  increment(key: string, lifeSeconds: number): Promise<number>;
  /** Takes one back that was not to be counted. Rejects like `increment`. */
  decrement(key: string, lifeSeconds: number): Promise<void>;
  /** How far the clock of the counters is ahead of this host's, in milliseconds: minutes and days of all hosts go by the former. */
  readonly aheadMs: number;
  /** Resolves when they can be used, or are given up for now: requests do not wait for the connection. Never rejects. */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface RedisCountersOptions {
  /** `redis://` or `rediss://` */
  readonly url: string;
  /** Before every key. @default 'edgehost' */
  readonly keyPrefix?: string;
  /** After this an answer is no longer waited for. @default 250 */
  readonly timeoutMs?: number;
  /** How long the first connection is waited for; attempts continue after that. @default 5,000 */
  readonly connectTimeoutMs?: number;
  /** This host's clock. @default Date.now */
  readonly now?: () => number;
  /** Called once when the counters become unreachable, and once when they can be reached again. */
  readonly onError?: (error: Error) => void;
}

/**
 * Counters that are opened with the first count: until then there is nothing to share. `open` is asked once, since the package or the URL
 * would be as wrong the next time; what it rejects with is given to `onError`, and each count rejects with it.
 */
export function lazyCounters(open: () => Promise<SharedCounters>, onError: (error: unknown) => void): SharedCounters {
  let opening: Promise<SharedCounters> | undefined;
  let opened: SharedCounters | undefined;
  const opens = (): Promise<SharedCounters> => {
    if (opening === undefined) {
      opening = open();
      opening.then(counters => {
        opened = counters;
      }, onError);
    }
    return opening;
  };
  return {
    increment: async (key, lifeSeconds) => (opened ?? (await opens())).increment(key, lifeSeconds),
    decrement: async (key, lifeSeconds) => (opened ?? (await opens())).decrement(key, lifeSeconds),
    get aheadMs() {
      return opened?.aheadMs ?? 0;
    },
    ready: () =>
      opens().then(
        () => {},
        () => {},
      ),
    close: async () => {
      const counters = await opening?.catch(() => undefined);
      await counters?.close();
    },
  };
}

/** Redis is not used for this long after a failure, so that requests do not wait for another failure. */
const RETRY_MS = 1000;

/**
 * Counters in Redis. Needs the package `redis`, an optional peer. A server that cannot be reached is not an error here: its counters reject until it can be.
 *
 * @throws TypeError when the package is not installed, or the URL is not one of Redis
 */
export async function openRedisCounters(options: RedisCountersOptions): Promise<SharedCounters> {
  const { url, keyPrefix = 'edgehost', timeoutMs = 250, connectTimeoutMs = 5000, now = Date.now, onError } = options;
  const [{ createClient }, { RateLimiterRedis }] = await Promise.all([importRedis(), import('rate-limiter-flexible')]);
  // Commands for a connection that is down fail at once: the caller has counts of its own to go by.
  const client = createClient({ url, disableOfflineQueue: true, socket: { connectTimeout: connectTimeoutMs } });
  const state = new Reachability(onError);
  let aheadMs = 0;
  client.on(
    'error',
    guarded(error => state.failed(error)),
  );
  /** Hosts whose clocks differ would count in different minutes. A clock that cannot be read is taken for right. */
  const readClock = async (): Promise<void> => {
    const askedMs = now();
    const [seconds, microseconds] = await client.time();
    aheadMs = Math.round(Number(seconds) * 1000 + Number(microseconds) / 1000 - (askedMs + now()) / 2);
  };
  client.on(
    'ready',
    guarded(() => void readClock().catch(() => {})),
  );
  const connecting = client.connect();
  connecting.catch(() => {});
  await within(
    connecting.then(() => readClock()),
    connectTimeoutMs,
  ).catch(error => state.failed(error));
  const limiter = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    rejectIfRedisNotReady: true,
    keyPrefix,
    // Whether a count is too high is for the caller to say, whose limits differ by account.
    points: Number.MAX_SAFE_INTEGER,
    duration: 1,
  });
  const ask = async <T>(command: () => Promise<T>): Promise<T> => {
    if (!state.mayTry()) throw state.error;
    try {
      const answer = await within(command(), timeoutMs);
      state.succeeded();
      return answer;
    } catch (error) {
      state.failed(error);
      throw error;
    }
  };
  return {
    async increment(key, lifeSeconds) {
      const { consumedPoints } = await ask(() => limiter.penalty(key, 1, { customDuration: lifeSeconds }));
      return consumedPoints;
    },
    async decrement(key, lifeSeconds) {
      await ask(() => limiter.reward(key, 1, { customDuration: lifeSeconds }));
    },
    get aheadMs() {
      return aheadMs;
    },
    async ready() {},
    async close() {
      state.close();
      client.destroy();
    },
  };
}

/** Whether Redis answers: says so when that changes, and keeps requests from waiting for it while it does not. */
class Reachability {
  readonly #onChange: ((error: Error) => void) | undefined;
  #isClosed = false;
  #retryAtMs = 0;
  #error: Error | undefined;

  constructor(onChange: ((error: Error) => void) | undefined) {
    this.#onChange = onChange;
  }

  get error(): Error {
    return this.#error ?? new Error('Redis cannot be reached');
  }

  /** True while it is reachable, and once in a while when it is not. */
  mayTry(): boolean {
    if (this.#error === undefined) return true;
    const now = performance.now();
    if (now < this.#retryAtMs) return false;
    this.#retryAtMs = now + RETRY_MS;
    return true;
  }

  failed(cause: unknown): void {
    const wasReachable = this.#error === undefined;
    const reason = messageOf(cause);
    this.#error = new Error(
      `The shared request counters cannot be reached (${reason}): this host uses its own counts until then`,
      { cause },
    );
    if (!wasReachable) return;
    this.#retryAtMs = performance.now() + RETRY_MS;
    this.#report(this.#error);
  }

  succeeded(): void {
    if (this.#error === undefined) return;
    this.#error = undefined;
    this.#report(new Error('The shared request counters can be reached again'));
  }

  close(): void {
    this.#isClosed = true;
  }

  #report(error: Error): void {
    if (!this.#isClosed) this.#onChange?.(error);
  }
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
    timer = setTimeout(
      guarded(() => reject(new Error(`no answer from Redis within ${timeoutMs} ms`))),
      timeoutMs,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
