/**
 * What counts as a subrequest, against which quota, and which calls hold a connection while they run (specification: Limits, rules 6
 * and 7). The package has fetch and buckets; the other kinds are here so that a service that comes is counted from its first call on.
 */

/** What a function asks for that counts, and against which quota. */
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
} as const;

export type SubrequestKind = keyof typeof SUBREQUEST_KINDS;

/** The methods that hold a connection, by kind. Kinds that are missing hold none. */
const CONNECTION_METHODS: Readonly<Partial<Record<SubrequestKind, ReadonlySet<string>>>> = {
  fetch: new Set(['fetch']),
  socket: new Set(['connect']),
  cache: new Set(['put', 'match', 'delete']),
  bucket: new Set(['list', 'get', 'put', 'delete', 'head']),
  kv: new Set(['get', 'put', 'list', 'delete']),
  queue: new Set(['send', 'sendBatch']),
};

const KIB = 1024;

/** The largest head of a call that has no row of its own: a key, conditions and metadata, which have bounds of their own. */
const CALL_HEAD_BYTES = 32 * KIB;
/** 1,000 keys of 1,024 bytes; or 10,000 parts of an upload. */
const LIST_HEAD_BYTES = 1126 * KIB;

/** The largest heads of calls, by kind and method, in bytes of JSON. They are compared before anything is parsed. */
const HEAD_BYTES: Readonly<Partial<Record<SubrequestKind, Readonly<Record<string, number>>>>> = {
  // A URL of 16 KB and 128 KB of headers, as JSON.
  fetch: { fetch: 256 * KIB },
  bucket: { delete: LIST_HEAD_BYTES, completeMultipartUpload: LIST_HEAD_BYTES },
};

/** The largest head of any call. */
export const MAX_CALL_HEAD_BYTES = LIST_HEAD_BYTES;

/** How many bytes the arguments of a call may have, as JSON. */
export function maxHeadBytes(kind: SubrequestKind, method: string): number {
  const methods = HEAD_BYTES[kind];
  return methods !== undefined && Object.hasOwn(methods, method)
    ? (methods[method] ?? CALL_HEAD_BYTES)
    : CALL_HEAD_BYTES;
}

/** Whether a call holds one of the connections of its invocation. */
export function needsConnection(kind: SubrequestKind, method: string): boolean {
  return CONNECTION_METHODS[kind]?.has(method) === true;
}
