/** How often a token may ask, and how often an address may fail to authenticate; both in bounded memory. */

import { createHmac, randomBytes } from 'node:crypto';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { checkOptions } from '../quotas/schema/check-options.js';
import { object } from '../quotas/schema/schema.js';
import { ApiError } from './http/envelope.js';
import { RATE_LIMITS, type RateLimitOptions } from './rate-limit-options.js';

const OF_MANAGEMENT = object({ rateLimit: RATE_LIMITS });

/** Addresses share this many counters, so that a flood from many addresses cannot fill the memory. */
const FAILURE_SLOTS = 4096;

export class RateLimits {
  readonly #requests: RateLimiterMemory;
  readonly #failures: RateLimiterMemory;
  /** Secret, so that a client cannot choose an address that shares the counter of another one. */
  readonly #salt = randomBytes(16);

  constructor(options: RateLimitOptions) {
    checkOptions('management()', { rateLimit: options }, OF_MANAGEMENT);
    const duration = options.windowSeconds;
    this.#requests = new RateLimiterMemory({ points: options.requests, duration });
    this.#failures = new RateLimiterMemory({ points: options.failures, duration });
  }

  /** Counts a request of a token that has been verified: there are no more counters than tokens. */
  request(tokenId: string): Promise<void> {
    return consume(this.#requests, tokenId);
  }

  /** Counts a failure. A valid token is served however many failures its address has, so a client cannot lock others out. */
  async failure(clientAddress: string | null): Promise<void> {
    if (clientAddress === null) return;
    const hash = createHmac('sha256', this.#salt).update(clientAddress).digest();
    await consume(this.#failures, String(hash.readUInt32BE(0) % FAILURE_SLOTS));
  }
}

async function consume(limiter: RateLimiterMemory, key: string): Promise<void> {
  try {
    await limiter.consume(key);
  } catch (refusal) {
    if (refusal instanceof Error) throw refusal;
    const waitMs =
      typeof refusal === 'object' && refusal !== null && 'msBeforeNext' in refusal
        ? Number(refusal.msBeforeNext)
        : 1000;
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    throw new ApiError(
      'RATE_LIMITED',
      `Too many requests: ${limiter.points} are allowed in ${limiter.duration} s, retry in ${seconds} s`,
      {
        headers: { 'retry-after': String(seconds) },
      },
    );
  }
}
