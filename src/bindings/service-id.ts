/**
 * Services by their number on the wire between an isolate and the host. A number keeps its meaning: that of a service which is gone is not used again. They are
 * below 128: the bit above stands for a call that is made once more (REPEATED_CALL). 3, 4 and 5 were given to services that were never built, and are free for
 * none.
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
  WebSocket = 16,
  /** The storage of stateful objects, and their alarms. */
  ObjectStorage = 14,
  /** Calls of stateful objects. */
  ObjectCall = 15,
  /** WebSockets that stateful objects have accepted to sleep. */
  ObjectSockets = 17,
  /** Reserved for experiments and tests: no service of the package has this number. */
  Experimental = 127,
}

/** A number that came from the other end. */
export function isServiceId(id: number): id is ServiceId {
  return id in ServiceId;
}
