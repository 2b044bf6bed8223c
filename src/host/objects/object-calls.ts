/** Calls of stateful objects by functions. */
import type { FunctionContext } from '../../bindings/binding.js';
import type { ServiceTarget } from '../../bindings/function/types.js';
import { CALL, FETCH } from '../../bindings/function/wire.js';
import { isIdOf, namespaceKey } from '../../bindings/objects/object-id.js';
import { MAX_PASSED_NAME, type ObjectFailure } from '../../bindings/objects/wire.js';
import { EdgeError, errorCode } from '../../quotas/errors.js';
import { describe, isObject } from '../../quotas/schema/describe.js';
import { type CallRules, deeper } from '../rpc/call-rules.js';
import { thrownBy } from '../rpc/call-sink.js';
import { isCallingOrigin } from '../rpc/calling-origin.js';
import { type FindCallee, fetchFrom } from '../rpc/function-calls.js';
import { callMethod } from '../rpc/method-call.js';
import { type ObjectName, type ObjectRules, objectRunnerOf } from './object-runner.js';

const RULES: CallRules = { failed: objectFailure, next: deeper };

export function objectCalls(
  account: string,
  find: FindCallee,
  rules: ObjectRules,
): NonNullable<FunctionContext['callObject']> {
  return async (target, call) => {
    const { origin, method, args } = call;
    if (!isCallingOrigin(origin)) throw new TypeError('The call belongs to no invocation');
    const { function: functionName, class: className, account: owner = account } = target;
    const object = checkCalled(args, namespaceKey(owner, functionName, className), className);
    const where: ServiceTarget = { function: functionName, account: owner };
    const runner = objectRunnerOf(find(account, where), rules).target(object, origin.peer.isolate);
    if (method === FETCH) return fetchFrom(runner, {}, call, origin, RULES);
    if (method === CALL) return callMethod(runner, {}, call, origin, RULES);
    throw new EdgeError('EDGE_NOT_SUPPORTED', `Stateful objects have no method ${describe(method)}`);
  };
}

/** @throws TypeError for what no client of ours sends */
function checkCalled(args: unknown, key: string, className: string): ObjectName {
  const called: unknown = isObject(args) ? args.o : undefined;
  if (!Array.isArray(called)) throw new TypeError('The call is malformed');
  const [id, name]: unknown[] = called;
  if (typeof id !== 'string' || !isIdOf(key, id)) throw new TypeError('The object ID is not valid for this namespace.');
  if (name !== undefined && (typeof name !== 'string' || name.length > MAX_PASSED_NAME)) {
    throw new TypeError('The call is malformed');
  }
  return { className, id, name };
}

/** Errors after which an object is not what it was: the stub is broken, and another one may try again. */
const RESETS: ReadonlySet<string> = new Set([
  'EDGE_ISOLATE_LOST',
  'EDGE_CELL_LOST',
  'EDGE_CLOSED',
  'EDGE_MEMORY_LIMIT',
  'EDGE_CPU_LIMIT',
  'EDGE_WALL_TIME_LIMIT',
  'EDGE_HANDLER_STALLED',
  'EDGE_PROTOCOL',
]);
/** Errors that the call itself has caused: a retry would fail likewise. */
const NOT_RETRYABLE: ReadonlySet<string> = new Set(['EDGE_CPU_LIMIT', 'EDGE_HANDLER_STALLED', 'EDGE_WALL_TIME_LIMIT']);

function objectFailure(error: unknown): ObjectFailure | undefined {
  const code = errorCode(error);
  if (!(error instanceof Error) || code === undefined) return undefined;
  const { message } = error;
  const thrown = thrownBy(error);
  if (thrown !== undefined) return code === 'EDGE_OBJECT_RESET' ? { e: thrown, b: true } : { e: thrown };
  if (code === 'EDGE_OVERLOADED') return { e: ['Error', message], c: code, o: true };
  if (!RESETS.has(code)) return undefined;
  return { e: ['Error', message], c: code, b: true, ...(!NOT_RETRYABLE.has(code) && { r: true }) };
}
