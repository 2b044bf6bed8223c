/** Whether code of the function may do input and output: not before its handlers are called. */
import { ErrorCtor } from './primordials.ts';

let isInHandler = false;

/** The function has been evaluated: from here on, code runs on behalf of invocations. */
export function leaveGlobalScope(): void {
  isInHandler = true;
}

/** Throws in the global scope, where the cost could be charged to no invocation and the result would be the same for all of them. */
export function requireHandler(what: string): void {
  if (isInHandler) return;
  throw new ErrorCtor(
    `${what} is not allowed in the global scope of a function, because no event is being handled yet. Move it into a handler.`,
  );
}
