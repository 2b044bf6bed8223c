/** The messages between the two ends of an isolate channel, inside frames. JSON shapes here are checked by the reader. */

import type { ServiceId } from '../quotas/service-calls.js';
import type { NeededExport } from './needed-export.js';
import type { LoadedSetup, RunSetup } from './run-setup.js';

/** Kinds of an exchange that the host opens. */
export enum HostOpens {
  /** Head: JSON of LoadHead. Body: the modules' bytes, one after the other. Answered with JSON of LoadAnswer. */
  Load = 0,
  /** Head: "METHOD\nURL\nname\nvalue..." in Latin-1. Answered with the response: "statusText\nname\nvalue...". */
  Fetch = 1,
  /** Head: "scheduled time in ms\ncron pattern". */
  Scheduled = 2,
  /** Head: JSON of the batch. */
  Queue = 3,
  /** To a spare isolate, before its load: it runs a load and a request once (warm-up.ts), and answers when that is done. */
  Warm = 4,
  /** Head: "scheduled time in ms\nretry count". */
  Alarm = 5,
  /** Head: JSON of an array of TraceItem (host/invocation/reports/trace-item.ts). */
  Tail = 6,
  /** Head: JSON of ReceivedCall. Body: a value. Answered with JSON of CallAnswer, and a value. */
  Rpc = 7,
  /** An event of a stateful object (bindings/objects/wire.ts). */
  ObjectEvent = 8,
  /** A message, the close or the failure of a sleeping WebSocket. It follows the head of an ObjectEvent: see bindings/objects/socket-wire.ts. */
  SocketEvent = 9,
  /** A timer of a stateful object that has outlived its event. Only behind the head of an ObjectEvent; its own head is empty. */
  Timer = 10,
  /** Head: JSON of BodyForm. Body: the input. To an isolate whose LoadHead has `run`. Answered like a call, with JSON of CallAnswer, and a value. */
  Run = 11,
  /**
   * To an isolate that has nothing open: it drops its realm and takes a new one, for the next LoadHead. Answered with the status 200, or with 409 and the
   * reason when something of the old realm may be left; the thread is of no more use then.
   */
  Renew = 12,
}

/** Kinds of an exchange that an isolate opens beside its calls, whose kinds are the numbers of services. */
export enum IsolateOpens {
  /**
   * Empty head: the backend process that it called has ended. Answered when there is a connection to the next one; the bodies are the bytes of that. It fails
   * when no connection can be made.
   */
  Backend = 255,
}

/** Stands in the kind of a call, beside the number of its service: it was made before, and the connection was lost before its answer. */
export const REPEATED_CALL = 0x80;

/** Kinds of a signal; the id is the invocation's unless something else is said. 4 was an abort, and is not used again. */
export enum SignalKind {
  /** Isolate to host: u8 level | UTF-8 text. */
  Log = 0,
  /**
   * To the backend process, empty: the invocation makes no more calls. Isolate to host: the invocation is over. u32 CPU microseconds | u32 peak external+heap
   * KiB | u8 DoneFlag.
   */
  Done = 1,
  /** Isolate to host: passThroughOnException was called. */
  PassThrough = 2,
  /**
   * Isolate to host: the handler failed; JSON of HandlerFailure. The reply that follows has status 0. Without such a reply: what waitUntil was given
   * has failed the event, whatever was replied.
   */
  HandlerFailed = 3,
  /** Host to isolate: the invocation has timed out; all of its work ends. */
  Close = 5,
  /** Isolate to host, by invocation: the body of a call's answer has been read to its end, or is not wanted. u32 call id. */
  CallRead = 6,
  /** Host to isolate, by call: its connection was canceled, also when all of the body is in the isolate already. UTF-8 reason. */
  CallCanceled = 7,
  /** Host to isolate, by invocation: answered by Pong when everything sent before has had its turn. */
  Ping = 8,
  /** Isolate to host, by invocation. Payload: pong.ts. */
  Pong = 9,
  /**
   * Isolate to host or services, by exchange, whose outgoing body the isolate has paused there: its rest goes to an exchange of the other process
   * (cross-splice.ts). u32 id of that.
   */
  SpliceFrom = 10,
  /** Isolate to services or host, by exchange: the rest of what the isolate sends on it comes from the other process. */
  SpliceTo = 11,
  /** Isolate to host: function code has said what becomes of a message of its batch. u8 QueueWord | u32 index | f64 seconds of delay, NaN for none. */
  QueueWord = 16,
  /** Isolate to host: noRetry was called. */
  NoRetry = 20,
  /** Isolate to host: a promise given to waitUntil was rejected, which does not fail the event; JSON of HandlerFailure. */
  WaitRejected = 21,
  /**
   * Isolate to host, id 0: a timer of a stateful object is due, and its event is over. JSON of TimerDue (bindings/objects/wire.ts). One at a time for each
   * object.
   */
  TimerDue = 22,
}

export enum DoneFlag {
  /** It was ended for its CPU time. */
  CpuExceeded = 1,
  /** Calls of it may still be on their way to the backend process, which gets a `Done` behind them. */
  Called = 2,
}

/** The outcome that function code chooses for a message, or for all messages of its batch: then the index does not count. */
export enum QueueWord {
  Ack = 0,
  Retry = 1,
  AckAll = 2,
  RetryAll = 3,
}

/** The length of the payload of SignalKind.QueueWord. */
export const QUEUE_WORD_BYTES = 13;

/** The reason with which an isolate fails an invocation whose handler can never answer. */
export const STALLED_REASON = 'EDGE_HANDLER_STALLED';

/** The failure of calls whose connection to the backend process has ended. */
export const SERVICES_LOST_REASON =
  'EdgeError\nThe backend process ended while the call was under way\nEDGE_SERVICES_LOST';

/** The handlers of events that a function may export. */
export const HANDLERS: readonly string[] = ['fetch', 'scheduled', 'queue', 'alarm', 'tail'];

/** Stands among the handlers of a function that exports classes of stateful objects. */
export const HAS_OBJECTS = 'object';

export type ModuleKind = 'esm' | 'script' | 'json' | 'text' | 'data';

export interface ModuleHead {
  /** The file name the function's author sees in imports and stacks. */
  readonly name: string;
  readonly kind: ModuleKind;
  /** Length of its bytes in the body. */
  readonly bytes: number;
  /**
   * How each text that looks like import() is used, a letter each (isolate/imports/import-scan.ts): a guess, which the engine checks.
   * Absent when there is no such text.
   */
  readonly imports?: string;
}

export interface LoadHead {
  readonly name: string;
  /** The first is the main module. */
  readonly modules: readonly ModuleHead[];
  readonly env: Readonly<Record<string, unknown>>;
  readonly bindings: readonly BindingHead[];
  /** Exports of the main module that bindings name. Absent for none. */
  readonly neededExports?: readonly NeededExport[];
  readonly flags: readonly string[];
  /** JSON of `ctx.props` for handlers whose event has no props of its own; empty or absent for none. */
  readonly props?: string;
  readonly limits: IsolateLimits;
  /** How long an object may be idle. Only for an isolate of stateful objects. */
  readonly objectIdleMs?: number;
  /** The environment of code that a function has loaded, in place of `env`. Absent for other functions. */
  readonly loaded?: LoadedSetup;
  /** Only for runs (HostOpens.Run), which evaluate the modules: their time is the run's. Services are called over the connection to the host. */
  readonly run?: RunSetup;
}

/** A name in the environment of the function whose calls go to a service. The target of the binding is known to the host alone. */
export interface BindingHead {
  readonly name: string;
  readonly service: ServiceId;
  /** The configuration that its client needs. */
  readonly config?: unknown;
}

/** The limits that the isolate and its watchdog enforce; the host enforces all others. */
export interface IsolateLimits {
  readonly startupMs: number;
  readonly memoryBytes: number;
  /** CPU time that occasional overruns may borrow, and how much of it there is now (quotas/cpu-token-bucket.ts). */
  readonly cpuOverrunMs: number;
  readonly cpuBalanceMs: number;
  /** CPU time that the start-up, and on top of that one of the first invocations may take (quotas/cold-starts.ts). Absent when no invocation may. */
  readonly cpuColdMs?: number;
  /** CPU time of one invocation, by what started it; null for no limit. */
  readonly cpuMs: Readonly<Record<'fetch' | 'scheduled' | 'queue' | 'alarm' | 'tail', number | null>>;
}

export interface ScriptFailure {
  readonly code:
    | 'EDGE_SCRIPT_SYNTAX'
    | 'EDGE_SCRIPT_THREW'
    | 'EDGE_SCRIPT_IMPORT'
    | 'EDGE_SCRIPT_NO_HANDLER'
    | 'EDGE_STARTUP_LIMIT';
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
}

export type LoadAnswer =
  | { readonly kind: 'loaded'; readonly handlers: readonly string[]; readonly startupTimeMs: number }
  | { readonly kind: 'failed'; readonly failure: ScriptFailure };

export interface HandlerFailure {
  readonly code: 'EDGE_HANDLER_THREW' | 'EDGE_NO_RESPONSE' | 'EDGE_OBJECT_RESET';
  readonly name: string;
  readonly message: string;
  readonly stack: string;
}
