/** The record of an invocation while it runs. It uses no types of OpenTelemetry, because an application need not have that installed. */

import type { CallTracer } from '../../backend/calls/call-trace.js';
import type { InvocationKind } from '../../quotas/limits.js';
import type { InvocationEvent } from '../events.js';

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
  /** "METHOD\nURL\nname\nvalue..." of a request. */
  readonly head: string;
  readonly method: string | undefined;
  readonly url: string | undefined;
}

export interface InvocationTrace extends CallTracer {
  end(event: InvocationEvent): void;
}
