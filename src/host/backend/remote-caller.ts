/** An invocation, as the backend process reports on it. */

import type { RemoteTotals } from '../../backend/calls/call-totals.js';
import type { CallTracer } from '../../backend/calls/call-trace.js';
import type { CallOrigin } from '../../bindings/service.js';
import type { CallerContext } from '../../quotas/caller-context.js';

export interface RemoteCaller extends CallOrigin {
  readonly trace: CallTracer | undefined;
  /** The async context of the application's code that answers its calls. */
  readonly caller: CallerContext;
  /** The backend process has worked for it, which counts as its CPU time. */
  charge(ms: number): void;
  /** It is over there too. Undefined when the backend process has ended, and its counts with it. */
  onTotals(totals: RemoteTotals | undefined): void;
}

/** An invocation as the backend process knows it. */
export interface InvocationAddress {
  readonly connection: number;
  readonly invocation: number;
}
