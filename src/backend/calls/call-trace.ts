/** The record of one call while it runs, for an application that traces (OpenTelemetry). */

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

/** Records the calls of one invocation. */
export interface CallTracer {
  /** A call of the function to a service begins. */
  beginCall(call: TracedCall): CallTrace | Promise<CallTrace>;
}
