/** How calls of stateful objects travel: as calls of functions do (bindings/function/wire.ts), with the object beside the arguments. */

/** The object that is called, in the arguments of `fetch` and `call`: its id, and the name that the id was made from. */
export type CalledObject = readonly [id: string, name?: string];

/** Beside what a call of a function is answered with: why the call has failed. */
export interface ObjectFailure {
  readonly e: readonly [name: string, message: string];
  /** The code of the host's error; absent for what the object has thrown. */
  readonly c?: string;
  /** The call may be retried: the object could not take it, or was reset. */
  readonly r?: true;
  /** The object has too much to do: the call should not be retried. */
  readonly o?: true;
  /** The object was reset: the stub is broken. */
  readonly b?: true;
}

/** The configuration of a namespace in an isolate (bindings/objects/object-id.ts). */
export interface GuestObjectsConfig {
  readonly key: string;
}

/** How an event of an object begins: a letter, JSON of this, a line break, then the head of the event. */
export interface ObjectEventHead {
  /** The class. */
  readonly c: string;
  /** The id. */
  readonly i: string;
  /** The name that the id was made from. */
  readonly n?: string;
  /** The host has WebSockets that the object has accepted to sleep. */
  readonly w?: 1;
  /** The sockets that the host has answered since the previous event, and when, in milliseconds since the epoch. */
  readonly a?: readonly (readonly [socket: number, ms: number])[];
}

/** The object whose timer is due, as its isolate tells the host. */
export type TimerDue = readonly [className: string, id: string];

/** The letter of an object's event. */
export type ObjectEventKind = 'fetch' | 'rpc' | 'alarm' | 'socket' | 'timer';
export const OBJECT_EVENTS = { fetch: 'f', rpc: 'r', alarm: 'a', socket: 's', timer: 't' } as const satisfies Record<
  ObjectEventKind,
  string
>;

/** UTF-16 code units of the name of an object that is passed on to it: a longer one makes an id, and is not known to the object. */
export const MAX_PASSED_NAME = 1024;
