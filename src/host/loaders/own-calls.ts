/** Calls of a function's own entrypoints: `ctx.exports.Name({ props })`. Each begins an invocation of its own, like a call by a service binding. */
import type { FunctionContext } from '../../bindings/binding.js';
import { CALL, FETCH } from '../../bindings/function/wire.js';
import { EdgeError } from '../../quotas/errors.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import type { InvocationTarget } from '../invocation/function-runner.js';
import { isCallingOrigin } from '../rpc/calling-origin.js';
import { fetchFrom } from '../rpc/function-calls.js';
import { callMethod } from '../rpc/method-call.js';
import { checkEntrypoint } from './called-entrypoint.js';

/** @param self the version that calls */
export function ownCalls(self: () => InvocationTarget): NonNullable<FunctionContext['callOwn']> {
  return async call => {
    const { origin, method, args } = call;
    if (!isCallingOrigin(origin)) throw new TypeError('The call belongs to no invocation');
    const called: unknown = isObject(args) ? args.o : undefined;
    if (!Array.isArray(called)) throw new TypeError('The call is malformed');
    const target = checkEntrypoint(called[0], called[1]);
    if (method === FETCH) return fetchFrom(self(), target, call, origin);
    if (method === CALL) return callMethod(self(), target, call, origin);
    throw new EdgeError('EDGE_NOT_SUPPORTED', `Entrypoints have no method ${describe(method)}`);
  };
}
