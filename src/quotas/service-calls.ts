/** The operations that count as subrequests, with their quotas (specification: Limits, rule 6); and how large calls may be. */

/** The kinds of operations that count, each against one quota. */
export const SUBREQUEST_KINDS = {
  /** A request of `fetch`, and each redirect that it follows. */
  fetch: 'subrequests',
  /** A call of another function over a service binding. */
  service: 'subrequests',
  /** A TCP socket opened with `connect()`. */
  socket: 'subrequests',
  /** put, match or delete of a cache: they share the quota of fetch. */
  cache: 'subrequests',
  bucket: 'internalSubrequests',
  kv: 'internalSubrequests',
  queue: 'internalSubrequests',
  sql: 'internalSubrequests',
  stateful: 'internalSubrequests',
  /** A call of a function of the application. */
  callback: 'internalSubrequests',
} as const;

export type SubrequestKind = keyof typeof SUBREQUEST_KINDS;

const KIB = 1024;

/** The largest arguments of a call, in bytes of JSON, whose binding says nothing else: a key, conditions and metadata. */
export const CALL_HEAD_BYTES = 32 * KIB;

/** The largest head of any call, which an isolate is held to before it is known what it calls. */
export const MAX_CALL_HEAD_BYTES = 1126 * KIB;
