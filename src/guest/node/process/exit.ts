/** process.exit(): ends the invocation. The isolate stays, for it serves other invocations at the same time. */
import { currentInvocation } from '../../events/invocation.ts';
import { describeFailure } from '../../failure.ts';
import { dropTicks } from './ticks.ts';

/** An answer that was not given by now fails. The thrown error ends the code that called. */
export function endInvocation(code: number | string): never {
  const error = new Error(`The function called process.exit(${code})`);
  const invocation = currentInvocation();
  if (invocation !== undefined) {
    dropTicks();
    invocation.exit(describeFailure(error, 'EDGE_HANDLER_THREW'));
  }
  throw error;
}
