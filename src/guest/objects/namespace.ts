/** The binding of a namespace of stateful objects: ids, and stubs that call. */
import type { CalledObject, GuestObjectsConfig, ObjectFailure } from '../../bindings/objects/wire.ts';
import { MAX_PASSED_NAME } from '../../bindings/objects/wire.ts';
import { ServiceId } from '../../quotas/service-calls.ts';
import { makeError } from '../callbacks/decode.ts';
import { ErrorCtor, promiseReject, TypeErrorCtor } from '../primordials.ts';
import { callMethod } from '../rpc/calls.ts';
import { createBindingStub, unsent } from '../rpc/stubs.ts';
import { defineInterface, defineValue, requireArguments, toDictionary, toUSVString } from '../web/base/idl.ts';
import { fetchFrom } from '../web/fetch/fetch.ts';
import { createId, hexOf, hexOfName, nameOf, newHex, parseHex, type StatefulId } from './object-id.ts';

let construction: { readonly binding: string; readonly key: string } | undefined;

export class StatefulNamespace {
  readonly #binding: string;
  readonly #key: string;

  constructor() {
    if (construction === undefined) throw new TypeErrorCtor('Illegal constructor');
    this.#binding = construction.binding;
    this.#key = construction.key;
    construction = undefined;
  }

  /** The id of the name: it never changes. */
  idFromName(name: unknown): StatefulId {
    requireArguments(arguments.length, 1, 'idFromName');
    const text = toUSVString(name);
    return createId(hexOfName(this.#key, text), text);
  }

  newUniqueId(options: unknown = undefined): StatefulId {
    refuseJurisdiction(toDictionary(options, 'The options of newUniqueId()')?.jurisdiction);
    return createId(newHex(this.#key), undefined);
  }

  idFromString(text: unknown): StatefulId {
    requireArguments(arguments.length, 1, 'idFromString');
    return createId(parseHex(this.#key, `${text}`), undefined);
  }

  /** A stub for the object: nothing is called by making it. */
  get(id: unknown, _options: unknown = undefined): object {
    requireArguments(arguments.length, 1, 'get');
    const hex = hexOf(id);
    if (hex === undefined)
      throw new TypeErrorCtor('get() takes an id of this namespace: that of idFromName(), for example');
    parseHex(this.#key, hex);
    return createObjectStub(this.#binding, createId(hex, nameOf(id)));
  }

  getByName(name: unknown, options: unknown = undefined): object {
    requireArguments(arguments.length, 1, 'getByName');
    return this.get(this.idFromName(name), options);
  }

  jurisdiction(name: unknown = undefined): StatefulNamespace {
    refuseJurisdiction(name);
    return this;
  }
}

defineInterface(StatefulNamespace);

function refuseJurisdiction(name: unknown): void {
  if (name === undefined || name === null) return;
  const error = new ErrorCtor('Jurisdictions are not supported: all objects are on this host');
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  throw error;
}

export function createNamespace(binding: string, config: GuestObjectsConfig): object {
  construction = { binding, key: config.key };
  return new StatefulNamespace();
}

function createObjectStub(binding: string, id: StatefulId): object {
  let broken: Error | undefined;
  const hex = `${hexOf(id)}`;
  const name = nameOf(id);
  const called: CalledObject = name === undefined || name.length > MAX_PASSED_NAME ? [hex] : [hex, name];
  const failureOf = (head: object): Error | undefined => {
    const failure = head as Partial<ObjectFailure>; // the host's
    if (failure.e === undefined) return undefined;
    const error = objectError(failure.e, failure);
    if (failure.b === true) broken ??= error;
    return error;
  };
  const fetch = (input: unknown, init: unknown = undefined): Promise<unknown> =>
    broken === undefined
      ? fetchFrom(ServiceId.ObjectCall, binding, failureOf, input, init, called)
      : promiseReject(broken);
  const connect = (): never => {
    throw new TypeErrorCtor('connect() of an object is not supported: call fetch() or a method');
  };
  const own: { readonly [name: string]: unknown } = { __proto__: null, fetch, connect, id, name } as never; // without inherited names
  return createBindingStub(
    (path, args) =>
      broken === undefined
        ? callMethod(ServiceId.ObjectCall, binding, path, args, { object: called, failureOf })
        : unsent(broken),
    key => (key in own ? { value: own[key] } : undefined),
  );
}

function objectError(e: readonly [string, string], { c, r, o }: Partial<ObjectFailure>): Error {
  const error = makeError(e[0], e[1]);
  if (c === undefined) defineValue(error, 'remote', true);
  else defineValue(error, 'code', c);
  if (r === true) defineValue(error, 'retryable', true);
  if (o === true) defineValue(error, 'overloaded', true);
  return error;
}
