/** The caches of an account, for the application. */
import type { CachePurge, CacheUsage } from './engine.js';

export type { CachePurge, CacheUsage };

export interface CacheMatchOptions {
  /** A request with another method than GET is looked up as GET. @default false */
  readonly ignoreMethod?: boolean;
}

/** One cache of an account, as its functions see it. */
export interface ApplicationCache {
  /**
   * The kept response; undefined when none is kept. Conditions and ranges of a Request are answered with 304, 206 and 416. The body of a large one
   * is to be read or cancelled. Rejects with TypeError for a URL that is not absolute or not of http or https, EDGE_ACCOUNT_REMOVED, EDGE_CLOSED and
   * the codes of the storage.
   */
  match(request: Request | string | URL, options?: CacheMatchOptions): Promise<Response | undefined>;
  /**
   * Keeps a response in place of the one before; one whose headers say so is not kept. Rejects as `match` does, with TypeError for another method than GET,
   * status 206 and 304 and `Vary: *`, and with EDGE_LIMIT_EXCEEDED for a body beyond the limit `cacheObjectBytes`.
   */
  put(request: Request | string | URL, response: Response): Promise<void>;
  /** @returns whether there was one. Rejects as `match` does. */
  delete(request: Request | string | URL, options?: CacheMatchOptions): Promise<boolean>;
}

export interface ApplicationCaches {
  /** `caches.default` of the account's functions. */
  readonly default: ApplicationCache;
  /** `await caches.open(name)` of the account's functions. A name of up to 1,023 characters, else TypeError. */
  open(name: string): Promise<ApplicationCache>;
  /**
   * Forgets responses of all caches of the account, those that the listener keeps in front of functions among them: everything, or what any of the lists
   * names. Responses that the listener is fetching meanwhile are not kept. Resolves when they are gone from every answer. Rejects with TypeError or
   * RangeError for an argument that is not valid: no list, more than 1,000 items in one, a URL that is not absolute.
   *
   * @returns how many responses are gone
   */
  purge(purge: CachePurge): Promise<{ readonly purged: number }>;
  /** How much the caches of the account keep. It is not part of `account.storage()`. */
  usage(): Promise<CacheUsage>;
}
