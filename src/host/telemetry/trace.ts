/** The record of an invocation while it runs. It uses no types of OpenTelemetry, because an application need not have that installed. */
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationEvent } from '../events.js';

/** Values of `faas.trigger` in the semantic conventions. */
export const TRIGGERS: Readonly<Record<InvocationKind, string>> = {
  fetch: 'http',
  scheduled: 'timer',
  queue: 'pubsub',
  alarm: 'timer',
};

/** The trigger of an invocation. */
export interface TracedStart {
  readonly kind: InvocationKind;
  /** "METHOD\nURL\nname\nvalue..." of a request. */
  readonly head: string;
  readonly method: string | undefined;
  readonly url: string | undefined;
}

export interface InvocationTrace {
  /** A call of the function to a service begins. */
  beginCall(call: TracedCall): CallTrace;
  end(event: InvocationEvent): void;
}

/** Written by the function, but for `service`. */
export interface TracedCall {
  readonly service: string;
  readonly method: string;
  readonly binding: string;
  readonly args: unknown;
}

export interface CallTrace {
  /** The headers for requests of the service: `traceparent`, and `tracestate` where there is one; names and values in turn. */
  readonly headers: readonly string[];
  /** `answer` is the head of the service's reply. Once. */
  end(error: unknown, answer: unknown): void;
}
