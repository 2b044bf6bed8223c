/**
 * Calls of functions by functions of the same host: requests, methods of entrypoints, and objects that were passed by reference. The function called has
 * limits, quotas and an invocation of its own, which is cancelled with the caller's.
 */

import type { ServiceTarget } from '../../bindings/function/types.js';
import { CALL, FETCH } from '../../bindings/function/wire.js';
import type { ServiceBody, ServiceCall, ServiceReply } from '../../bindings/service.js';
import { checkedRecords } from '../../bindings/websocket/checked-records.js';
import { asciiJson } from '../../protocol/ascii-json.js';
import { EdgeError } from '../../quotas/errors.js';
import { describe } from '../../quotas/schema/describe.js';
import type { FunctionRunner, InvocationTarget } from '../invocation/function-runner.js';
import { routeToAsset } from './asset-fetch.js';
import { type CallRules, FUNCTION_RULES } from './call-rules.js';
import type { CalleeAnswer } from './call-sink.js';
import { type CallingOrigin, isCallingOrigin } from './calling-origin.js';
import { callMethod, type EntrypointTarget } from './method-call.js';
import { run, StartOfCall } from './run-call.js';
import { isUpgradeHead, serviceFetch } from './service-fetch.js';

const NO_PROPS = Object.freeze({});

/** Finds the function that an account may call. @throws EdgeError EDGE_FUNCTION_UNLOADED */
export type FindCallee = (caller: string, target: ServiceTarget) => FunctionRunner;

export function functionCalls(
  account: string,
  find: FindCallee,
): (target: ServiceTarget | undefined, call: ServiceCall) => Promise<ServiceReply> {
  return async (target, call) => {
    const { origin, method } = call;
    if (!isCallingOrigin(origin)) throw new TypeError('The call belongs to no invocation');
    if (method === FETCH && target !== undefined) return fetchFrom(find(account, target), target, call, origin);
    if (method !== CALL) {
      throw new EdgeError('EDGE_NOT_SUPPORTED', `Service bindings have no method ${describe(method)}`);
    }
    return callMethod(target === undefined ? undefined : find(account, target), target, call, origin);
  };
}

/** @throws what the function has thrown, by name and message, in the head of the reply */
export async function fetchFrom(
  runner: InvocationTarget,
  { entrypoint = '', props }: EntrypointTarget,
  call: ServiceCall,
  origin: CallingOrigin,
  { failed, next }: CallRules = FUNCTION_RULES,
): Promise<ServiceReply> {
  const { limits } = runner.context;
  const calls = next(origin.calls);
  // Heads are Latin-1.
  const site = entrypoint === '' || entrypoint === 'default' ? runner.assets : undefined;
  const lead = `${entrypoint}${props === undefined ? '{}' : asciiJson(props)}`;
  try {
    return await serviceFetch(call, lead, limits, (head, body, hop) => {
      const asset = site === undefined ? undefined : routeToAsset(site, hop);
      if (asset !== undefined) return asset;
      const isUpgrade = isUpgradeHead(call.args) && body !== null && !(body instanceof Uint8Array);
      const start = StartOfCall.fetch(head, calls, origin.chain);
      start.props = props ?? NO_PROPS;
      if (!isUpgrade) return run(runner, start, body, call.cancellation ?? call.signal);
      start.isUpgrade = true;
      return socketWith(runner, start, body, call.signal);
    });
  } catch (error) {
    const head = failed(error);
    if (head === undefined) throw error;
    return { head };
  }
}

/** The messages belong to another isolate, in both directions. */
async function socketWith(
  runner: InvocationTarget,
  start: StartOfCall,
  sent: ServiceBody,
  signal: AbortSignal,
): Promise<CalleeAnswer> {
  const { webSocketMessageBytes } = runner.context.limits;
  const answer = await run(runner, start, checkedRecords(sent, webSocketMessageBytes), signal);
  const { status, body } = answer;
  return status === 101 && body !== null ? { ...answer, body: checkedRecords(body, webSocketMessageBytes) } : answer;
}
