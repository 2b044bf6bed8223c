/** Errors that nothing catches. */
import { reportException } from '../../web/events/error-reporting.ts';

/** Reports an error that was thrown where no caller is left: it ends the invocation as an error in a timer does. */
export function onUncaught(error: unknown): void {
  reportException(error);
}
