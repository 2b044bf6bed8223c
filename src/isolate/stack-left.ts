/** Whether the stack of the function has room for what the host is about to do on it. */
import { OpError } from './ops/arguments.js';

const { apply } = Reflect;

/** 16 KiB of arguments, which is several times what writing to a connection and reading from it takes. */
const ARGUMENTS: readonly number[] = new Array<number>(2048).fill(0);

function nothing(): void {}

/**
 * To be called before work that cannot be undone when the stack ends in the middle of it. It takes microseconds, too long for every call of the host.
 *
 * @throws OpError RangeError
 */
export function checkStack(): void {
  try {
    apply(nothing, undefined, ARGUMENTS);
  } catch {
    throw new OpError('RangeError', STACK_EXHAUSTED);
  }
}

/** The words of the engine. */
export const STACK_EXHAUSTED = 'Maximum call stack size exceeded';
