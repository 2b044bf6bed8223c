/**
 * What a service of the host process looks like to the isolate channel. A function reaches buckets, outgoing fetch and
 * every other service by a call: a head (JSON, untrusted), at most one body, and the answer in the same form.
 */

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

/**
 * What a call makes the host do, counted to the account that made it, and to the CPU time of the invocation. Services charge what they do, ask for
 * a turn before each piece of a long body, and count each file and socket before it is opened.
 */
export interface CallWork {
  /** The account, as queues by account tell accounts apart. One object for all calls of an account. */
  readonly owner: object;
  /** Charges milliseconds of a processor, on whichever thread of the host (quotas/host/host-costs.ts). */
  charge(ms: number): void;
  /** Resolves when the account may go on; undefined at once while it is not in debt. */
  turn(): Promise<void> | undefined;
  /** Counts bytes that a service holds between two pieces of a body; a negative number gives them back. */
  countBytes(bytes: number): void;
  /** @throws EdgeError EDGE_OVERLOADED when the account has as many files and sockets open as it may */
  openDescriptor(): void;
  closeDescriptor(): void;
  /**
   * Counts one more subrequest for a redirect that a fetch follows, the `hop`-th of the call.
   * @throws EdgeError EDGE_EGRESS_FAILED when it follows too many, EDGE_SUBREQUEST_LIMIT
   */
  countRedirect(hop: number): void;
}

/** The work of the application itself, which has no bounds. */
export const OWN_WORK: CallWork = {
  owner: {},
  charge: () => {},
  turn: () => undefined,
  countBytes: () => {},
  openDescriptor: () => {},
  closeDescriptor: () => {},
  countRedirect: () => {},
};

export interface ServiceReply {
  /** Serialised with JSON.stringify. */
  readonly head: unknown;
  readonly body?: ServiceBody | null;
}

/** Answers calls; an error thrown reaches the function by name, message and code, without stack or cause. */
export type Service = (call: ServiceCall) => Promise<ServiceReply>;
