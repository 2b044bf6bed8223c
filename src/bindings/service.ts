/**
 * The interface of a service of the host process to the isolate channel. A function reaches buckets, outgoing fetch and every other service
 * by a call: a head (JSON, untrusted), at most one body, and the answer in the same form.
 */

import type { CallWork } from '../quotas/host/call-work.js';

/**
 * Bytes on their way: all of them, or a stream. A stream is read once, chunk by chunk, with backpressure (the producer
 * is not asked for the next chunk before the consumer wants it); `return()` on its iterator cancels it.
 */
export type ServiceBody = Uint8Array | AsyncIterable<Uint8Array>;

/** The invocation that a call was made by. */
export interface CallOrigin {
  /** Its id, as in its event. */
  readonly invocation: string;
  /** The props of the call that began the invocation. */
  readonly props: Readonly<Record<string, unknown>> | undefined;
  /** The fetches between functions of this host that have led to it; undefined when there was none. */
  readonly chain: FetchChain | undefined;
  /** The calls of functions that have led to it. */
  readonly calls: CallChain;
}

/** Calls of functions by service bindings, which began with one event. */
export interface CallChain {
  /** Invocations one inside the other, the first included. */
  readonly depth: number;
  /** All of them, shared by all that began with the same event. */
  readonly total: { count: number };
}

/** Fetches of functions by each other, which stay within the host. */
export interface FetchChain {
  readonly depth: number;
  /** Shared by all fetches that began with the same request. */
  readonly total: { count: number };
}

/** The part of an AbortSignal that a service needs. Every AbortSignal is one. */
export interface Cancellation {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** The arguments of a call. A function has written them. */
export type UncheckedFields = Readonly<Record<string, unknown>>;

/** One call of a function to a service. Everything in `args` was written by the function: check it before use. */
export interface ServiceCall {
  /** The operation, by its name in the table of the service. */
  readonly method: string;
  readonly args: unknown;
  readonly body: ServiceBody | null;
  /** Fires when the invocation is over or the function gives the call up. */
  readonly signal: AbortSignal;
  /** The same for those who need no signal, at a fraction of its price. @default `signal` */
  readonly cancellation?: Cancellation;
  /** Whether it has fired, without the price of a signal, which is made when it is first asked for. @default `signal.aborted` */
  readonly isGivenUp?: boolean;
  /** Headers of its trace, for outgoing requests: names and values in turn. Undefined while nothing is traced. */
  readonly traceHeaders?: readonly string[] | undefined;
  /** Counts what the call makes the host do. */
  readonly work: CallWork;
  /**
   * The body of the answer is only written to another process, so its bytes may be in a buffer that others read.
   * @default false: its memory is the caller's
   */
  readonly onlySendsBody?: boolean;
  /** Undefined for a call of the application itself. */
  readonly origin?: CallOrigin | undefined;
}

export interface ServiceReply {
  /** Serialised with JSON.stringify. */
  readonly head?: unknown;
  /** The head as JSON, where it is there already: in the place of `head`. */
  readonly headText?: string;
  readonly body?: ServiceBody | null;
  /**
   * Settles when the connection of the call is closed, where it outlasts the body of the answer, which is then a stream. A rejection is the failure of
   * the rest of the call. @default the connection ends with the body
   */
  readonly closed?: Promise<void>;
  /**
   * The call has opened a WebSocket: its bodies last as long as that is open, and hold no connection of the invocation.
   * @default false
   */
  readonly isOpen?: true;
}

/** Answers calls; an error thrown reaches the function by name, message and code, without stack or cause. */
export type Service = (call: ServiceCall) => Promise<ServiceReply>;
