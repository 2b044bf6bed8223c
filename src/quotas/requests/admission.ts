/**
 * Whether a request may reach a function: the account's requests a minute and a day, and floods from few addresses
 * (specification: Limits, rules 4 and 5; States, "Free-plan daily request limit mode of a route"; Errors). Answers at once,
 * without a promise, but for accounts with a rate whose counters are shared with other hosts.
 */

import type { EdgeError } from '../errors.js';
import { limitError } from '../limit-error.js';
import type { ResolvedLimits } from '../resolve-limits.js';
import { type AbuseEvent, AbuseGuard } from './abuse-guard.js';
import { type AccountCounts, type CountStore, DAY_MS, MINUTE_MS, RequestCounts } from './request-counts.js';
import type { SharedCounters } from './shared-counters.js';

/** The treatment of requests to a route when the day's requests are used up. */
export type RouteMode = 'fail-open' | 'fail-closed';

export interface AdmissionRequest {
  readonly account: string;
  readonly limits: AdmissionLimits;
  readonly mode: RouteMode;
  /** The client's address, where it is known: behind a proxy it must be the one that the proxy reports, or all clients would share the proxy's address. */
  readonly address?: string | undefined;
}

export type AdmissionLimits = Pick<
  ResolvedLimits,
  'plan' | 'zonePlan' | 'requestsPerDay' | 'requestsPerMinute' | 'addressRequestsPerSecond'
>;

export type AdmissionDecision =
  | { readonly kind: 'admit' }
  /** The day's requests are used up and the route is fail open: serve as if no function were attached. */
  | { readonly kind: 'bypass' }
  | Refusal;

/** Answer with the error page of `code`: {@link refusalError} gives the error. */
export interface Refusal {
  readonly kind: 'refuse';
  readonly code: 'EDGE_RATE_LIMITED' | 'EDGE_DAILY_LIMIT';
  readonly limit: 'requestsPerDay' | 'requestsPerMinute' | 'addressRequestsPerSecond';
  readonly actual: number;
  readonly allowed: number;
  /** When the count restarts. */
  readonly retryAfterMs: number;
}

export interface AdmissionOptions {
  /** Keeps the day's counts over a restart. @default none: they restart */
  readonly store?: CountStore;
  /** Counters shared with other hosts. While they cannot be reached, each host uses its own counts. */
  readonly shared?: SharedCounters;
  /** Milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** The most time between a request and the writing of its count to the store. @default 2,000 */
  readonly writeIntervalMs?: number;
  /** Client addresses remembered at once. @default 10,000 */
  readonly maxAddresses?: number;
  readonly onAbuse?: (event: AbuseEvent) => void;
  /** Called when the store fails. Admission continues. Shared counters report their own failures. */
  readonly onError?: (error: unknown) => void;
}

export class Admission {
  readonly #now: () => number;
  readonly #counts: RequestCounts;
  readonly #guard: AbuseGuard;
  readonly #shared: SharedCounters | undefined;

  constructor(options: AdmissionOptions = {}) {
    const { now = Date.now, store, shared, onError, onAbuse, writeIntervalMs = 2000, maxAddresses = 10_000 } = options;
    // With shared counters, minutes and days follow their clock, or hosts whose clocks differ would not count as one.
    this.#now = shared === undefined ? now : () => now() + shared.aheadMs;
    this.#shared = shared;
    this.#guard = new AbuseGuard(maxAddresses, onAbuse);
    this.#counts = new RequestCounts({ store, writeIntervalMs, now: this.#now, onStoreError: onError });
  }

  /** Loads the count of today, with the shared counters ready. Once for each account, before its first request is judged. Never rejects. */
  async attach(account: string): Promise<void> {
    await this.#shared?.ready();
    await this.#counts.load(account);
  }

  /** Forgets an account that is gone. */
  detach(account: string): Promise<void> {
    return this.#counts.forget(account);
  }

  /** Requests of the account this minute and today, as far as this host knows. Counted only where there is a rate. */
  usage(account: string): { readonly requestsPerMinute: number; readonly requestsPerDay: number } {
    const { minuteRequests, dayRequests } = this.#counts.of(account);
    return { requestsPerMinute: minuteRequests, requestsPerDay: dayRequests };
  }

  /** The same as of the account's last request, without a look at the clock. */
  counted(account: string): { readonly requestsPerMinute: number; readonly requestsPerDay: number } {
    const { minuteRequests = 0, dayRequests = 0 } = this.#counts.last(account) ?? {};
    return { requestsPerMinute: minuteRequests, requestsPerDay: dayRequests };
  }

  /** Client addresses remembered now. */
  get addressCount(): number {
    return this.#guard.size;
  }

  /** Judges a request and counts it when it is admitted. A promise only with shared counters, and it never rejects. */
  check(request: AdmissionRequest): AdmissionDecision | Promise<AdmissionDecision> {
    const { account, limits, address } = request;
    if (address !== undefined && limits.addressRequestsPerSecond !== Number.POSITIVE_INFINITY) {
      const flood = this.checkAddress(account, limits, address);
      if (flood !== undefined) return flood;
    }
    if (limits.requestsPerMinute === Number.POSITIVE_INFINITY && limits.requestsPerDay === Number.POSITIVE_INFINITY) {
      return ADMIT;
    }
    const counts = this.#counts.of(account);
    // The day first: where a function is bypassed, its burst rate says nothing.
    if (counts.dayRequests >= limits.requestsPerDay) return this.#dayIsOver(request, counts.dayRequests + 1);
    if (counts.minuteRequests >= limits.requestsPerMinute)
      return this.#minuteIsOver(request, counts.minuteRequests + 1);
    counts.minuteRequests++;
    counts.dayRequests++;
    this.#counts.noteChange(account);
    return this.#shared === undefined ? ADMIT : this.#checkShared(request, counts, this.#shared);
  }

  /** Judges a request by its client's address alone: one that runs no function. */
  checkAddress(account: string, limits: AdmissionLimits, address: string): Refusal | undefined {
    const now = this.#now();
    const actual = this.#guard.count(account, address, limits.addressRequestsPerSecond, now);
    return actual > 0 ? refusal('addressRequestsPerSecond', actual, limits, 1000 - (now % 1000)) : undefined;
  }

  /** Writes the counts. The shared counters are closed by the code that opened them. */
  close(): Promise<void> {
    return this.#counts.close();
  }

  /** The request is counted here; what all hosts together have counted decides. */
  async #checkShared(
    request: AdmissionRequest,
    counts: AccountCounts,
    shared: SharedCounters,
  ): Promise<AdmissionDecision> {
    const { account, limits } = request;
    const { minute, day } = counts;
    const dayKey = `day:${day}:${account}`;
    try {
      // Both at once, so that they take one round trip.
      const [minuteCount, dayCount] = await Promise.all([
        limits.requestsPerMinute === Number.POSITIVE_INFINITY
          ? 0
          : shared.increment(`minute:${minute}:${account}`, MINUTE_LIFE_SECONDS),
        limits.requestsPerDay === Number.POSITIVE_INFINITY ? 0 : shared.increment(dayKey, DAY_LIFE_SECONDS),
      ]);
      if (counts.minute === minute) counts.minuteRequests = Math.max(counts.minuteRequests, minuteCount);
      if (dayCount > limits.requestsPerDay) {
        if (counts.day === day) counts.dayRequests = Math.max(counts.dayRequests, dayCount);
        return this.#dayIsOver(request, dayCount);
      }
      if (minuteCount > limits.requestsPerMinute) {
        // A request that the limit by the minute refuses does not count for the day. The caller need not wait for the correction.
        if (counts.day === day) counts.dayRequests = Math.max(counts.dayRequests, dayCount) - 1;
        if (dayCount > 0) void shared.decrement(dayKey, DAY_LIFE_SECONDS).catch(() => {});
        return this.#minuteIsOver(request, minuteCount);
      }
      if (counts.day === day) counts.dayRequests = Math.max(counts.dayRequests, dayCount);
    } catch {
      // The counters have said that they cannot be reached: this host's own counts have admitted the request.
    }
    return ADMIT;
  }

  #minuteIsOver({ limits }: AdmissionRequest, actual: number): AdmissionDecision {
    return refusal('requestsPerMinute', actual, limits, MINUTE_MS - (this.#now() % MINUTE_MS));
  }

  #dayIsOver({ limits, mode }: AdmissionRequest, actual: number): AdmissionDecision {
    if (mode === 'fail-open') return BYPASS;
    return refusal('requestsPerDay', actual, limits, DAY_MS - (this.#now() % DAY_MS));
  }
}

/** The error of a refusal. */
export function refusalError(refusal: Refusal, { account, limits }: AdmissionRequest): EdgeError {
  const { code, limit, actual, allowed } = refusal;
  const plan = limit === 'addressRequestsPerSecond' ? limits.zonePlan : limits.plan;
  const subject = `serve the request of account ${JSON.stringify(account)}`;
  return limitError(code, { limit, subject, actual, allowed, plan });
}

function refusal(limit: Refusal['limit'], actual: number, limits: AdmissionLimits, retryAfterMs: number): Refusal {
  const code = limit === 'requestsPerDay' ? 'EDGE_DAILY_LIMIT' : 'EDGE_RATE_LIMITED';
  return { kind: 'refuse', code, limit, actual, allowed: limits[limit], retryAfterMs };
}

/** The lifetime of counters from their first use: past the end of their minute or day on any host's clock. */
const MINUTE_LIFE_SECONDS = 120;
const DAY_LIFE_SECONDS = 2 * (DAY_MS / 1000);

const ADMIT: AdmissionDecision = Object.freeze({ kind: 'admit' });
const BYPASS: AdmissionDecision = Object.freeze({ kind: 'bypass' });
