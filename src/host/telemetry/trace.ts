/** The record of an invocation while it runs. It uses no types of OpenTelemetry, because an application need not have that installed. */

import type { CallTracer } from '../../backend/calls/call-trace.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationEvent } from '../events.js';

/** Value of `faas.trigger` for runs of sandboxes. */
export const RUN_TRIGGER = 'other';

/** Values of `faas.trigger` in the semantic conventions. */
export const TRIGGERS: Readonly<Record<InvocationKind, string>> = {
  fetch: 'http',
  scheduled: 'timer',
  queue: 'pubsub',
  alarm: 'timer',
  tail: 'other',
};

/** The trigger of an invocation. */
export interface TracedStart {
  readonly kind: InvocationKind;
  /** The run of a sandbox, which the application itself has begun. */
  readonly isRun?: true;
  /** "METHOD\nURL\nname\nvalue..." of a request. */
  readonly head: string;
  readonly method: string | undefined;
  readonly url: string | undefined;
}

/** A call of a tool by a run. */
export interface TracedTool {
  /** The id that the call has in the result of the run. */
  readonly id: string;
  /** Up to 516 characters, which the code has chosen where there is no such tool. */
  readonly tool: string;
}

export interface ToolTrace {
  /** Once. @param error the error that the code got */
  end(status: string, error: { readonly name: string; readonly message: string } | undefined): void;
}

export interface InvocationTrace extends CallTracer {
  /** A call of a tool begins. */
  beginTool(call: TracedTool): ToolTrace;
  end(event: InvocationEvent): void;
}
