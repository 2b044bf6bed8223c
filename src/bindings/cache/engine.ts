/** The caches of one account, for functions, for the application and for the listener: asynchronous, with plain values. */
import type { CallWork } from '../../quotas/host/call-work.js';
import type { Plan, ZonePlan } from '../../quotas/limits.js';
import type { ServiceBody } from '../service.js';

/** A request for a response that may be kept. */
export interface CacheQuery {
  /** See {@link cacheKey}. */
  readonly cache: string;
  /** Absolute, of http or https, as the URL parser writes it, without a fragment. */
  readonly url: string;
  /** Names and values in turn: the headers of conditions and ranges, and the headers that responses vary by. */
  readonly headers: readonly string[];
  /** Also one that has expired and may still be used while a fresh one is fetched. @default false */
  readonly takesStale?: boolean;
  /** The bytes of the body are neither changed nor transferred: hits may share them. @default false */
  readonly sharesBody?: boolean;
  /** Chooses among the responses of a URL by what they vary by. @default false: there is one for each URL */
  readonly varies?: boolean;
}

export interface CacheHit {
  readonly kind: 'hit';
  /** The status of the response, or 206, 304 or 416 where the conditions of the request lead to one of them. */
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case and values in turn, without `age`. Shared by all hits of an entry, not to be changed. */
  readonly headers: readonly string[];
  readonly ageSeconds: number;
  /** null for 304 and 416. */
  readonly body: ServiceBody | null;
  /** The bytes of the body. */
  readonly size: number;
  readonly isStale: boolean;
  /** How long it is still fresh, in seconds: negative when it is stale. */
  readonly ttlSeconds: number;
  /** As of a miss. */
  readonly epoch: number;
}

export interface CacheMiss {
  readonly kind: 'miss';
  /** Passed back with the response that is fetched then. The response is not stored when something was purged in between. */
  readonly epoch: number;
}

/** A response that is to be kept. */
export interface KeptResponse {
  readonly cache: string;
  readonly url: string;
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[];
  readonly ageSeconds: number;
  readonly freshMs: number;
  /** How long after that it may be used while a fresh one is fetched. */
  readonly staleMs: number;
  readonly tags: readonly string[];
  /** The request headers that it varies by, in lower case and in alphabetical order, with their values. @default it does not vary */
  readonly vary?: readonly (readonly [name: string, value: string])[];
}

export interface CachePutOptions {
  /** The largest body. More is EDGE_LIMIT_EXCEEDED. */
  readonly bodyBytes: number;
  /** The limit that `bodyBytes` is, for the message. */
  readonly limit: 'cacheObjectBytes' | 'cacheFileBytes';
  readonly plan: Plan | ZonePlan;
  /** The bytes that all entries of the account may take together. A response that does not fit is not stored. */
  readonly cacheBytes: number;
  /** The announced size of the body. One that would not fit is not read, and nothing makes room for it. */
  readonly expectedBytes?: number;
  readonly epoch?: number;
  /** Not waited for when the body is all there. */
  readonly signal?: AbortSignal;
}

/** The entries to remove: every entry that one of the lists names, or everything. */
export interface CachePurge {
  readonly everything?: true;
  /** Absolute URLs; a fragment is ignored. */
  readonly urls?: readonly string[];
  /** Beginnings of URLs, with or without the scheme: `example.com/images/`. */
  readonly prefixes?: readonly string[];
  /** Tags that responses have by the header `Cache-Tag`; upper and lower case are the same. */
  readonly tags?: readonly string[];
}

export interface CacheUsage {
  /** The bytes of all entries: bodies, heads and the records that find them. */
  readonly bytes: number;
  readonly entries: number;
}

/** Rejects with the errors of the storage, and EDGE_ACCOUNT_REMOVED when the account is gone. */
export interface CacheEngine {
  /** A hit that needs no reading is there at once. */
  match(query: CacheQuery, work?: CallWork): CacheHit | Promise<CacheHit | CacheMiss>;
  /**
   * The body is read to its end, or cancelled when it is not kept.
   *
   * @returns whether it was kept. Rejects with what the body fails with; then nothing has changed.
   */
  put(response: KeptResponse, body: ServiceBody | null, options: CachePutOptions, work?: CallWork): Promise<boolean>;
  /** @returns whether there was one that is not expired */
  delete(cache: string, url: string, work?: CallWork): Promise<boolean>;
  /** @returns how many entries are gone. A response that the listener is fetching meanwhile is not stored. */
  purge(purge: CachePurge): Promise<{ readonly purged: number }>;
  usage(): Promise<CacheUsage>;
}

/** The caches of an account, by kind: caches that functions open, and the cache of each function's responses. */
export const cacheKey = {
  default: 'd',
  named: (name: string) => `n${JSON.stringify(name)}`,
  front: (functionName: string) => `f${functionName}`,
} as const;
