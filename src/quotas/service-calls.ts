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

/** Whether a call holds one of the connections of its invocation. */
export function needsConnection(kind: SubrequestKind, method: string): boolean {
  return CONNECTION_METHODS[kind]?.has(method) === true;
}
