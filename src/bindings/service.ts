/**
 * What a service of the host process looks like to the isolate channel. A function reaches buckets, outgoing fetch and
 * every other service by a call: a head (JSON, untrusted), at most one body, and the answer in the same form.
 */

import type { CallWork } from '../quotas/host/call-work.js';

/**
 * Bytes on their way: all of them, or a stream. A stream is read once, chunk by chunk, with backpressure (the producer
 * is not asked for the next chunk before the consumer wants it); `return()` on its iterator cancels it.
 */
export type ServiceBody = Uint8Array | AsyncIterable<Uint8Array>;

/** One call of a function to a service. Everything in `args` was written by the function: check it before use. */
export interface ServiceCall {
  /** What the function wants done, a name of the service's own table. */
  readonly method: string;
  readonly args: unknown;
  readonly body: ServiceBody | null;
  /** Fires when the invocation is over or the function gives the call up. */
  readonly signal: AbortSignal;
  /** Counts what the call makes the host do. */
  readonly work: CallWork;
}

export interface ServiceReply {
  /** Serialised with JSON.stringify. */
  readonly head: unknown;
  readonly body?: ServiceBody | null;
}

/** Answers calls; an error thrown reaches the function by name, message and code, without stack or cause. */
export type Service = (call: ServiceCall) => Promise<ServiceReply>;
