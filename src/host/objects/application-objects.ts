/** Stateful objects for the application itself: `fn.objects('ChatRoom').getByName('lobby')`. */

import { idFromName, isIdOf, isObjectId, namespaceKey, newId } from '../../bindings/objects/object-id.js';
import { MAX_PASSED_NAME } from '../../bindings/objects/wire.js';
import { fetchThrough } from '../ingress/fetch-adapter.js';
import { fetchInput } from '../ingress/fetch-input.js';
import type { FunctionRunner, InvocationTarget } from '../invocation/function-runner.js';
import { checkTimeoutMs } from '../invocation/invocation-start.js';
import { type FunctionRpc, functionRpc, type RpcOptions } from '../rpc/application-rpc.js';
import { type ObjectRules, objectRunnerOf } from './object-runner.js';

/** One object of a class, as the application calls it. */
export interface ObjectHandle {
  /** 64 hexadecimal digits. */
  readonly id: string;
  /** The name that the id was made from; undefined for other ids. */
  readonly name: string | undefined;
  /**
   * Sends a request to the object, as `fn.fetch()` does to the function, with `timeoutMs` beside the options of `new Request()`. Rejects like it; with
   * EDGE_OBJECT_RESET when the object was reset, and EDGE_OVERLOADED when it has too much to do.
   */
  fetch(input: Request | string | URL, init?: RequestInit & { readonly timeoutMs?: number }): Promise<Response>;
  /** The methods of the object, as `fn.rpc` has the methods of the function. */
  readonly rpc: FunctionRpc;
}

/** The objects of one class. */
export interface ApplicationObjects {
  /** The id of the name: the same always. */
  idFromName(name: string): string;
  newUniqueId(): string;
  /** The object of an id. This makes no call. @throws TypeError for an invalid id of this class */
  get(id: string): ObjectHandle;
  /** The object of the id of the name. */
  getByName(name: string): ObjectHandle;
}

export interface ObjectsPlace {
  readonly account: string;
  readonly functionName: string;
  readonly runner: () => FunctionRunner;
  readonly rules: ObjectRules;
}

/** @throws TypeError for an invalid name of a class */
export function applicationObjects(place: ObjectsPlace, className: unknown): ApplicationObjects {
  if (typeof className !== 'string' || !/^[A-Za-z_$][A-Za-z0-9_$]{0,254}$/.test(className)) {
    throw new TypeError(`The class of objects is ${JSON.stringify(className)}, expected the name of an export`);
  }
  const { account, functionName } = place;
  const key = namespaceKey(account, functionName, className);
  const checkName = (name: unknown): string => {
    if (typeof name === 'string') return name;
    throw new TypeError(`The name of an object is ${typeof name}, expected a text`);
  };
  return {
    idFromName: name => idFromName(key, checkName(name)),
    newUniqueId: () => newId(key),
    get: id => {
      const digits = typeof id === 'string' ? id.toLowerCase() : '';
      if (!isObjectId(digits)) throw new TypeError('Invalid object ID: must be 64 hex digits');
      if (!isIdOf(key, digits))
        throw new TypeError(`Object ID ${JSON.stringify(digits)} is not valid for class "${className}"`);
      return handleOf(place, className, digits, undefined);
    },
    getByName: name => handleOf(place, className, idFromName(key, checkName(name)), name),
  };
}

function handleOf(
  { runner, rules }: ObjectsPlace,
  className: string,
  id: string,
  name: string | undefined,
): ObjectHandle {
  const passed = name !== undefined && name.length <= MAX_PASSED_NAME ? name : undefined;
  const target = (): InvocationTarget => objectRunnerOf(runner(), rules).target({ className, id, name: passed });
  let rpc: FunctionRpc | undefined;
  return {
    id,
    name,
    fetch(input, init) {
      try {
        const { timeoutMs, ...rest } = init ?? {};
        const request = fetchInput(input, Object.keys(rest).length === 0 ? undefined : rest);
        return fetchThrough(target(), request, 'fail-closed', checkTimeoutMs(timeoutMs));
      } catch (error) {
        return Promise.reject(error);
      }
    },
    get rpc() {
      rpc ??= functionRpc(target, {} satisfies RpcOptions);
      return rpc;
    },
  };
}
