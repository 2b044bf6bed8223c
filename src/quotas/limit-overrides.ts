/** The option `limits` as callers see it: each key with its text, which an editor shows. The values by plan are in limits.ts alone. */
import type { ByKind } from './limits.js';

/**
 * Values that replace the plan's, by the name of the limit: `{ subrequests: 200, cpuMs: 50 }`. Units are in the names: milliseconds, bytes, else a count.
 * `Infinity` means no limit, where the table of limits allows it. A limit by kind of invocation takes one number for all kinds, or an object: `{ cpuMs: {
 * fetch: 50, scheduled: 1000 } }`. docs/limits.md lists the values of each plan, and the bounds.
 */
export interface LimitOverrides {
  /** CPU time of one invocation, by kind. Occasional overruns are lent time, see `cpuOverrunMs`. `EDGE_CPU_LIMIT`. */
  readonly cpuMs?: number | KindOverrides;
  /** How much CPU time beyond `cpuMs` an invocation can borrow of what earlier ones left unused; at most `cpuMs`. `EDGE_CPU_LIMIT`. */
  readonly cpuOverrunMs?: number;
  /** Time from the begin of an invocation to its end, by kind; waiting counts. `EDGE_WALL_TIME_LIMIT`. */
  readonly wallMs?: number | KindOverrides;
  /** How long `waitUntil()` can continue after the answer has been sent or the client has gone. `EDGE_CANCELED`. */
  readonly waitUntilMs?: number;
  /** Memory of one isolate: heap and buffers together, 16 MiB to 4 GiB. `EDGE_MEMORY_LIMIT`. */
  readonly memoryBytes?: number;
  /** Isolates of one function that run side by side on one host; requests share them. */
  readonly instances?: number;
  /** Time that compiling the source and running its global scope may take. `EDGE_STARTUP_LIMIT`. */
  readonly startupMs?: number;
  /** Outgoing requests of one invocation; each redirect counts. `EDGE_SUBREQUEST_LIMIT`. */
  readonly subrequests?: number;
  /** Calls of one invocation to buckets and to callbacks of the application. `EDGE_SUBREQUEST_LIMIT`. */
  readonly internalSubrequests?: number;
  /** Calls of one invocation to caches, which count as `subrequests` too. `EDGE_SUBREQUEST_LIMIT`. */
  readonly cacheCalls?: number;
  /** SQL queries of one invocation, which count as `internalSubrequests` too; each statement of a batch is one. `EDGE_SUBREQUEST_LIMIT`. */
  readonly sqlQueries?: number;
  /** Outgoing connections of one invocation that are open at once; further ones wait. */
  readonly connections?: number;
  /** Redirects that one `fetch()` follows. `EDGE_EGRESS_FAILED`. */
  readonly redirects?: number;
  /** The recorded console output and errors of one invocation. Beyond it nothing more is recorded. */
  readonly logBytes?: number;
  /** Requests of an account in a day of UTC. `EDGE_DAILY_LIMIT`. */
  readonly requestsPerDay?: number;
  /** Requests of an account in a minute. `EDGE_RATE_LIMITED`. */
  readonly requestsPerMinute?: number;
  /** Requests from one client address in a second. None with default options; behind a proxy it needs `trustProxy`. `EDGE_RATE_LIMITED`. */
  readonly addressRequestsPerSecond?: number;
  /** The URL of a request. `EDGE_URL_TOO_LONG`. */
  readonly urlBytes?: number;
  /** All headers of a request together. `EDGE_HEADERS_TOO_LARGE`. */
  readonly headersBytes?: number;
  /** One header of a request. `EDGE_HEADERS_TOO_LARGE`. */
  readonly headerBytes?: number;
  /** The body of a request. By the plan of the zone. `EDGE_BODY_TOO_LARGE`. */
  readonly bodyBytes?: number;
  /** The body of a response. `EDGE_RESPONSE_STREAM`. */
  readonly responseBytes?: number;
  /** One message of a WebSocket, in both directions: a longer one closes it with code 1009. 125 bytes to 32 MB. */
  readonly webSocketMessageBytes?: number;
  /** The source of a function with all of its modules, after gzip. `EDGE_SCRIPT_TOO_LARGE`. */
  readonly scriptBytes?: number;
  /** Files in the folder of a function's assets. `EDGE_LIMIT_EXCEEDED`. */
  readonly assetFiles?: number;
  /** One of these files. `EDGE_LIMIT_EXCEEDED`. */
  readonly assetFileBytes?: number;
  /** Variables and secrets of one function. `EDGE_LIMIT_EXCEEDED`. */
  readonly envVars?: number;
  /** One variable or secret. `EDGE_LIMIT_EXCEEDED`. */
  readonly envVarBytes?: number;
  /** Variables and secrets of all functions of an account. `EDGE_LIMIT_EXCEEDED`. */
  readonly envVarsPerAccount?: number;
  /** Functions of an account. `EDGE_LIMIT_EXCEEDED`. */
  readonly functions?: number;
  /** Cron triggers of all functions of an account. `EDGE_LIMIT_EXCEEDED`. */
  readonly cronTriggers?: number;
  /** Routes of one zone. `EDGE_LIMIT_EXCEEDED`. */
  readonly routesPerZone?: number;
  /** Zones that the routes of one function are in. `EDGE_LIMIT_EXCEEDED`. */
  readonly zonesPerFunction?: number;
  /** The bytes that an account stores: the values of its objects, and the parts of uploads that are not completed. `EDGE_STORAGE_QUOTA`. */
  readonly storageBytes?: number;
  /** Objects that an account stores; an upload that is not completed counts as one. `EDGE_STORAGE_QUOTA`. */
  readonly storageObjects?: number;
  /** One object that a function puts into a cache. `EDGE_LIMIT_EXCEEDED`. */
  readonly cacheObjectBytes?: number;
  /** One file in the cache in front of functions. By the plan of the zone. */
  readonly cacheFileBytes?: number;
  /** The bytes that all caches of an account keep on disk: the least recently used entry goes first, and 0 keeps nothing. */
  readonly cacheBytes?: number;
  /** SQL databases of an account. `EDGE_LIMIT_EXCEEDED`. */
  readonly sqlDatabases?: number;
  /** One SQL database. Databases are part of `storageBytes`, too. `EDGE_LIMIT_EXCEEDED`. */
  readonly sqlDatabaseBytes?: number;
  /** Entries that one `list()` of a bucket answers with. */
  readonly listEntries?: number;
  /** Events of one stateful object that are open at once, those that wait for it included. `EDGE_OVERLOADED`. */
  readonly objectEvents?: number;
  /** After this time a multipart upload that was not completed is removed. */
  readonly multipartUploadMs?: number;
}

/** Values by kind of invocation; a missing kind keeps the plan's value. */
export interface KindOverrides extends Partial<ByKind<number>> {
  /** The same as `fetch`, which takes its place. */
  readonly http?: number;
  /** The same as `scheduled`, which takes its place. */
  readonly cron?: number;
}
