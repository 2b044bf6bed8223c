/** The services that functions call: their numbers, the quotas that calls of them count against (specification: Limits, rule 6), and how large calls may be. */

/**
 * Services by their number on the wire between an isolate and the host. A number keeps its meaning: the number of a service that is gone is not used
 * again. Numbers are below 128: the bit above marks a call that is repeated (REPEATED_CALL). 3, 4 and 5 are reserved.
 */
export enum ServiceId {
  Fetch = 0,
  Bucket = 1,
  Cache = 2,
  Callback = 6,
  Kv = 7,
  Queue = 8,
  Function = 9,
  Socket = 10,
  /** Objects that calls of functions have passed by reference. */
  Stub = 12,
  Sql = 13,
  /** The storage of stateful objects, and their alarms. */
  ObjectStorage = 14,
  /** Calls of stateful objects. */
  ObjectCall = 15,
  WebSocket = 16,
  /** Hibernatable WebSockets of stateful objects. */
  ObjectSockets = 17,
  /** Code that functions load. */
  Loader = 18,
  /** Entrypoints of the function itself. */
  Loopback = 19,
  /** Names of services that do not exist here. */
  Unavailable = 21,
  /** The function's own static files. */
  Assets = 22,
  /** Reserved for experiments and tests: no service of the package has this number. */
  Experimental = 127,
}

/** The name of the binding by which runs call their tools. */
export const TOOLS = 'tools';

/** A number that came from the other end. */
export function isServiceId(id: number): id is ServiceId {
  return id in ServiceId;
}

/**
 * The kinds of calls, each with the quota that it counts against. A row of the registry has one of them. Usage is recorded, and kept on disk, by these names;
 * its columns have this order, so a new kind is the last one.
 */
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
