/** How calls of functions, of their objects and of stateful objects differ. */
import type { CallChain } from '../../bindings/service.js';
import { EdgeError } from '../../quotas/errors.js';
import { thrownBy } from './call-sink.js';

/** The most invocations that one event may begin by calls of functions, including its own. */
const MAX_INVOCATIONS = 32;

/** The differences between calls by their target. */
export interface CallRules {
  /** The head of the reply that a call has failed with; undefined for an error that is the host's. */
  failed(error: unknown): { readonly e: readonly [name: string, message: string] } | undefined;
  /** @throws EdgeError EDGE_LOOP */
  next(calls: CallChain): CallChain;
}

export const FUNCTION_RULES: CallRules = {
  failed: error => {
    const e = thrownBy(error);
    return e && { e };
  },
  next: nextOf,
};

/** @throws EdgeError EDGE_LOOP */
function nextOf({ depth, total }: CallChain): CallChain {
  if (total.count >= MAX_INVOCATIONS) {
    throw new EdgeError(
      'EDGE_LOOP',
      `Cannot call the function: calls of functions have begun ${total.count} invocations with one event, at most ${MAX_INVOCATIONS} are allowed`,
    );
  }
  total.count++;
  return { depth: depth + 1, total };
}

/** A call of an object begins no invocation of its own kind, but calls one inside the other are as many at most. @throws EdgeError EDGE_LOOP */
export function deeper({ depth, total }: CallChain): CallChain {
  if (depth < MAX_INVOCATIONS) return { depth: depth + 1, total };
  throw new EdgeError(
    'EDGE_LOOP',
    `Cannot call the stub: functions have called each other ${depth} times one inside the other, at most ${MAX_INVOCATIONS} are allowed`,
  );
}
