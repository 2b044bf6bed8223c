/**
 * The host realm's end of the bridge: the one host function that guest code can call, and the one way to call the guest.
 * Rules R5, R6, R7, R16, R17: primitives only, errors as codes, no nested calls, nothing of this realm to be reached from it.
 */
import { OpError } from './ops/arguments.js';
import type { OpFunction, OpResult, OpSet } from './ops/op-set.js';
import { FAILED, Op } from './ops/table.js';
import { STACK_EXHAUSTED } from './stack-left.js';

/** A function of the guest realm. It is only ever called by `callGuest`. */
export type GuestFunction = (...args: unknown[]) => unknown;

const { apply } = Reflect;

/**
 * Calls a guest function without a receiver and forgets what it throws or returns: both are guest values.
 * Guest values among the arguments go back to their own realm; everything else must be a primitive.
 */
export function callGuest(guestFunction: GuestFunction, args: readonly unknown[]): void {
  try {
    apply(guestFunction, undefined, args);
  } catch {
    // A guest value, or an error of this realm made at the edge of the stack: neither is looked at.
  }
}

export type HostCall = (op: unknown, a: unknown, b: unknown, c: unknown, d: unknown) => OpResult;

/**
 * Makes the host function from the ops of the isolate; an op without an implementation is refused. `seal` gets a function after which every call fails: code of
 * a realm that is over reaches nothing any more.
 */
export function createHostCall(sets: readonly OpSet[], seal: (end: () => void) => void = () => {}): HostCall {
  const table: OpFunction[] = new Array(Op.Count).fill(refuse);
  for (const set of sets) {
    for (const [op, implementation] of Object.entries(set)) table[Number(op)] = implementation;
  }
  let lastError = 'Error\nThe operation failed\n';
  table[Op.LastError] = () => lastError;
  Object.freeze(table);
  let isInside = false;
  // The bridge looks as if it were inside a call that never ends. The check of nested calls then refuses each call, and costs nothing more.
  seal(() => {
    isInside = true;
  });

  const hostCall: HostCall = (op, a, b, c, d) => {
    if (isInside) return FAILED;
    if (typeof op !== 'number' || op !== op >>> 0 || op >= table.length) return FAILED;
    const implementation = table[op];
    if (implementation === undefined) return FAILED;
    isInside = true;
    try {
      const result = implementation(a, b, c, d);
      const type = typeof result;
      return type === 'number' || type === 'string' || type === 'undefined' ? result : FAILED;
    } catch (error) {
      lastError = error instanceof OpError ? `${error.name}\n${error.message}\n${error.code}` : ownError(error);
      return FAILED;
    } finally {
      isInside = false;
    }
  };
  Reflect.deleteProperty(hostCall, 'name');
  Reflect.deleteProperty(hostCall, 'length');
  Object.setPrototypeOf(hostCall, null);
  return Object.freeze(hostCall);
}

const INTERNAL = 'Error\nInternal error of the runtime\n';
const EXHAUSTED = `RangeError\n${STACK_EXHAUSTED}\n`;

/** An error of this realm that no op has meant: the function may have called it with hardly any stack left. */
function ownError(error: unknown): string {
  return error instanceof RangeError && error.message === STACK_EXHAUSTED ? EXHAUSTED : INTERNAL;
}

function refuse(): OpResult {
  throw new OpError('NotSupportedError', 'This isolate does not provide the operation');
}
