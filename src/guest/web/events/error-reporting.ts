/**
 * Uncaught exceptions: reported as events of the global scope, then logged.
 * @see https://html.spec.whatwg.org/multipage/webappapis.html#report-the-exception
 */
import { Ev, Op } from '../../../isolate/ops/table.ts';
import { onEvent, op } from '../../bridge.ts';
import { WeakMapCtor, weakMapGet, weakMapSet } from '../../primordials.ts';
import { type Frame, runInFrame } from '../base/async-context.ts';
import { requireArguments } from '../base/idl.ts';
import { inspect } from '../console/inspect.ts';
import { ErrorEvent, markTrusted, PromiseRejectionEvent } from './event.ts';
import { createGlobalTarget, dispatch, hasListener, setExceptionReporter } from './event-target.ts';

/** The global scope as a target of events. */
export const globalTarget = createGlobalTarget(globalThis);

const LEVEL_ERROR = 4;
let isReporting = false;

/** Fires `error` at the global scope; logs the exception unless a listener canceled the event. Never throws. */
export function reportException(error: unknown): void {
  let isHandled = false;
  // An exception of a listener of `error` is logged at once: reporting it would have no end.
  if (!isReporting && hasListener(globalTarget, 'error')) {
    isReporting = true;
    const event = new ErrorEvent('error', { message: messageOf(error), error, cancelable: true });
    isHandled = !dispatch(globalTarget, markTrusted(event));
    isReporting = false;
  }
  if (!isHandled) log(`Uncaught ${inspect(error)}`);
}

export function reportError(error: unknown): void {
  requireArguments(arguments.length, 1, 'reportError');
  reportException(error);
}

function messageOf(error: unknown): string {
  try {
    const isError = typeof error === 'object' && error !== null && 'message' in error;
    return `Uncaught ${isError ? `${error}` : inspect(error)}`;
  } catch {
    return 'Uncaught exception';
  }
}

function log(text: string): void {
  try {
    op(Op.Log, LEVEL_ERROR, text);
  } catch {
    // A text that the host no longer accepts is dropped: an error here would be reported again.
  }
}

setExceptionReporter(reportException);

/** The reasons of reported rejections, for the event `rejectionhandled`. */
const reasons = new WeakMapCtor<object, unknown>();

onEvent(Ev.UnhandledRejection, (reason: unknown, promise: object, frame: Frame | undefined) => {
  runInFrame(frame, reportRejection, undefined, [reason, promise]);
});

function reportRejection(reason: unknown, promise: object): void {
  weakMapSet(reasons, promise, reason);
  const event = new PromiseRejectionEvent('unhandledrejection', { promise, reason, cancelable: true });
  if (dispatch(globalTarget, markTrusted(event))) log(`Uncaught (in promise) ${inspect(reason)}`);
}

onEvent(Ev.RejectionHandled, (promise: object) => {
  const reason = weakMapGet(reasons, promise);
  dispatch(globalTarget, markTrusted(new PromiseRejectionEvent('rejectionhandled', { promise, reason })));
});
