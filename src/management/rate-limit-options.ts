import { objectOf, type Schema, wholeNumberFrom } from '../quotas/schema/schema.js';

export interface RateLimitOptions {
  /** Requests of one token in a window. @default 1200 */
  readonly requests: number;
  /** Failed authentications of one client address in a window, after which the answer is 429. @default 60 */
  readonly failures: number;
  /** @default 300 */
  readonly windowSeconds: number;
}

export const RATE_LIMITS: Schema<Partial<RateLimitOptions>> = objectOf<Partial<RateLimitOptions>>({
  'requests?': wholeNumberFrom(1),
  'failures?': wholeNumberFrom(1),
  'windowSeconds?': wholeNumberFrom(1, 'seconds'),
});

export const RATE_LIMIT_DEFAULTS: RateLimitOptions = { requests: 1200, failures: 60, windowSeconds: 300 };
