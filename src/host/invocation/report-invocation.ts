/** Reports an invocation that is over to its function, to the application's listeners and to tails. */
import type { CallerContext } from '../../quotas/caller-context.js';
import { invocationEvent } from './reports/invocation-event.js';
import type { InvocationRecord } from './reports/invocation-record.js';

/** @param caller the context in which listeners run */
export function reportInvocation(record: InvocationRecord, caller: CallerContext): void {
  const { context } = record;
  // Entering the context costs a call 1 % of its time.
  if (context.tails.isWatched || context.isReportHeard()) caller.runInAsyncScope(report, undefined, record);
  else report(record);
}

function report(record: InvocationRecord): void {
  const { context } = record;
  context.onFinished(record.outcome, record, () => invocationEvent(context, record), record.trace);
  // This comes last, when everything about it is known. The log is released even if the last tail has disconnected.
  if (context.tails.isWatched) context.tails.finished(record);
  else record.releaseLog();
}
