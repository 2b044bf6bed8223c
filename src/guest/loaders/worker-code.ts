/** Encodes code to load: the object that describes it becomes the arguments and the body of a call. The host checks both. */
import type { LoadArguments, PassedService, SentEnv, SentModule } from '../../bindings/loader/wire.ts';
import { brandOf, isError } from '../brands.ts';
import { bodyOf } from '../callbacks/body.ts';
import { encodeValue } from '../callbacks/encode.ts';
import {
  arrayIndexOf,
  arrayJoin,
  arrayPush,
  ErrorCtor,
  getPrototypeOf,
  isArray,
  jsonStringify,
  objectKeys,
  stringSlice,
  TypeErrorCtor,
  typedArrayLength,
} from '../primordials.ts';
import { serviceOf } from '../rpc/passed-services.ts';
import { stubState } from '../rpc/stubs.ts';
import { encodeUtf8 } from '../utf8.ts';
import { copyOf, isBufferSource } from '../web/base/buffers.ts';
import { defineValue, isObject, quoted, toSequence } from '../web/base/idl.ts';
import { dataCloneError } from '../web/messaging/structured-clone.ts';
import { isReadableStream } from '../web/streams/streams.ts';

export interface EncodedCode {
  readonly args: Omit<LoadArguments, 'id'>;
  readonly body: Uint8Array | null;
}

const MEMBERS = [
  'compatibilityDate',
  'compatibilityFlags',
  'allowExperimental',
  'mainModule',
  'modules',
  'env',
  'globalOutbound',
  'tails',
  'streamingTails',
  'limits',
];

/**
 * @param what the call, in messages
 * @throws TypeError, DOMException DataCloneError, and an Error with the code EDGE_NOT_SUPPORTED
 */
export function encodeCode(given: unknown, what: string): EncodedCode {
  if (!isObject(given)) throw new TypeErrorCtor(`The code of ${what} is no object, expected { mainModule, modules }`);
  const keys = objectKeys(given);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    if (arrayIndexOf(MEMBERS, key) < 0) {
      throw new TypeErrorCtor(
        `The code of ${what} has the unknown property ${quoted(key)}, expected ${arrayJoin(MEMBERS, ', ')}`,
      );
    }
  }
  const code = given as { readonly [name: string]: unknown }; // every object can be read from
  const { compatibilityDate, compatibilityFlags, allowExperimental, mainModule, modules } = code;
  const { env, globalOutbound, tails, streamingTails, limits } = code;
  if (allowExperimental !== undefined && allowExperimental !== false) {
    throw notSupported('allowExperimental: there are no experimental flags');
  }
  if (streamingTails !== undefined) throw notSupported('streamingTails: use tails');
  if (typeof mainModule !== 'string') {
    throw new TypeErrorCtor(`The mainModule of ${what} is no string, expected the name of one of its modules`);
  }
  const bytes: Uint8Array[] = [];
  const sentEnv = env === undefined ? undefined : encodeEnv(env, what, bytes);
  const sentModules = encodeModules(modules, what, bytes);
  const args: Omit<LoadArguments, 'id'> = {
    main: mainModule,
    modules: sentModules,
    ...(compatibilityDate !== undefined && { compatibilityDate: `${compatibilityDate}` }),
    ...(compatibilityFlags !== undefined && {
      compatibilityFlags: toSequence(compatibilityFlags, flag => `${flag}`, `The compatibilityFlags of ${what}`),
    }),
    ...(sentEnv !== undefined && { env: sentEnv }),
    ...(globalOutbound !== undefined && {
      outbound: globalOutbound === null ? null : passedService(globalOutbound, `The globalOutbound of ${what}`),
    }),
    ...(tails !== undefined && {
      tails: toSequence(tails, tail => passedService(tail, `A tail of ${what}`), `The tails of ${what}`),
    }),
    ...(limits !== undefined && { limits: encodeLimits(limits, what) }),
  };
  // Without a stream it is bytes.
  return { args, body: bodyOf(bytes, undefined) as Uint8Array | null };
}

/** Members of the option `limits`: the host checks their values. @throws TypeError */
export function encodeLimits(limits: unknown, what: string): { cpuMs?: number; subRequests?: number } {
  if (!isObject(limits))
    throw new TypeErrorCtor(`The limits of ${what} are no object, expected { cpuMs, subRequests }`);
  const keys = objectKeys(limits);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] ?? '';
    if (key !== 'cpuMs' && key !== 'subRequests') {
      throw new TypeErrorCtor(`The limits of ${what} have ${quoted(key)}, expected cpuMs and subRequests`);
    }
  }
  const { cpuMs, subRequests } = limits as { cpuMs?: unknown; subRequests?: unknown }; // read as unknown and checked
  return {
    ...(cpuMs !== undefined && { cpuMs: count(cpuMs, `limits.cpuMs of ${what}`) }),
    ...(subRequests !== undefined && { subRequests: count(subRequests, `limits.subRequests of ${what}`) }),
  };
}

function count(value: unknown, what: string): number {
  if (typeof value === 'number' && value > 0 && value % 1 === 0) return value;
  throw new TypeErrorCtor(
    `The value of ${what} is ${typeof value === 'number' ? value : typeof value}, expected a whole number from 1 on`,
  );
}

function encodeModules(modules: unknown, what: string, bytes: Uint8Array[]): SentModule[] {
  if (!isObject(modules) || isArray(modules)) {
    throw new TypeErrorCtor(`The modules of ${what} are no object, expected { 'main.js': '...' }`);
  }
  const sent: SentModule[] = [];
  const names = objectKeys(modules);
  if (names.length === 0) throw new TypeErrorCtor(`The code of ${what} has no modules, expected at least one`);
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    const { kind, content } = encodeModule(name, (modules as { readonly [name: string]: unknown })[name]); // every object can be read from
    arrayPush(bytes, content);
    arrayPush(sent, [name, kind, typedArrayLength(content)] as const);
  }
  return sent;
}

interface EncodedModule {
  readonly kind: SentModule[1];
  readonly content: Uint8Array;
}

function encodeModule(name: string, given: unknown): EncodedModule {
  if (typeof given === 'string') {
    if (endsWith(name, '.js') || endsWith(name, '.mjs')) return { kind: 'esm', content: encodeUtf8(given) };
    if (endsWith(name, '.py')) throw notSupported(`the Python module ${quoted(name)}`);
    throw new TypeErrorCtor(
      `The module ${quoted(name)} is a string, and its name does not end in .js: give an object that says its type, such as { js: '...' }. TypeScript is compiled first`,
    );
  }
  const kinds = isObject(given) ? objectKeys(given) : [];
  if (!isObject(given) || kinds.length !== 1) {
    throw new TypeErrorCtor(
      `The module ${quoted(name)} has ${isObject(given) ? `the properties ${arrayJoin(kinds, ', ')}` : `the type ${typeof given}`}, expected a string, or an object with one of js, text, data, json`,
    );
  }
  const kind = kinds[0] ?? '';
  const content = (given as { readonly [kind: string]: unknown })[kind]; // every object can be read from
  switch (kind) {
    case 'js':
      return { kind: 'esm', content: textOf(name, kind, content) };
    case 'text':
      return { kind: 'text', content: textOf(name, kind, content) };
    case 'data':
      if (!isBufferSource(content)) {
        throw new TypeErrorCtor(`The data of the module ${quoted(name)} is no ArrayBuffer and no view of one`);
      }
      return { kind: 'data', content: copyOf(content) };
    case 'json': {
      const text: unknown = jsonStringify(content);
      if (typeof text !== 'string') throw new TypeErrorCtor(`The json of the module ${quoted(name)} is no JSON value`);
      return { kind: 'json', content: encodeUtf8(text) };
    }
    case 'cjs':
    case 'py':
    case 'wasm':
      throw notSupported(`{ ${kind} } of the module ${quoted(name)}`);
    default:
      throw new TypeErrorCtor(
        `The module ${quoted(name)} has the property ${quoted(kind)}, expected one of js, text, data, json`,
      );
  }
}

function textOf(name: string, kind: string, content: unknown): Uint8Array {
  if (typeof content === 'string') return encodeUtf8(content);
  throw new TypeErrorCtor(`The ${kind} of the module ${quoted(name)} is ${typeof content}, expected a string`);
}

function endsWith(text: string, ending: string): boolean {
  return text.length > ending.length && stringSlice(text, text.length - ending.length) === ending;
}

function encodeEnv(env: unknown, what: string, bytes: Uint8Array[]): SentEnv {
  if (!isObject(env) || isArray(env) || !isPlain(env)) {
    throw new TypeErrorCtor(`The env of ${what} is no plain object`);
  }
  const services: PassedService[] = [];
  const encoded = encodeValue(
    env,
    value => {
      const service = serviceOf(value);
      if (service !== undefined) {
        arrayPush(services, notBound(service, `The env of ${what}`));
        return ['f', services.length - 1];
      }
      if (typeof value === 'function' || stubState(value) !== undefined) {
        throw dataCloneError(
          `The env of ${what} has a function or a stub, which would end with this invocation: export a class that extends FunctionEntrypoint, and pass ctx.exports.Name()`,
        );
      }
      if (isReadableStream(value)) throw dataCloneError(`The env of ${what} has a stream, which can be read only once`);
      if (!isPlain(value) && !isArray(value) && isInstance(value)) {
        throw dataCloneError(
          `The env of ${what} has an instance of a class: export a class that extends FunctionEntrypoint and calls it, and pass ctx.exports.Name()`,
        );
      }
      return undefined;
    },
    'in the env of loaded code',
  );
  const sequences = [encodeUtf8(jsonStringify(encoded.json))];
  for (let i = 0; i < encoded.bytes.length; i++) arrayPush(sequences, encoded.bytes[i] as Uint8Array); // in its bounds
  const lengths: number[] = [];
  for (let i = 0; i < sequences.length; i++) {
    arrayPush(bytes, sequences[i] as Uint8Array); // in its bounds
    arrayPush(lengths, typedArrayLength(sequences[i]));
  }
  return { b: lengths, f: services };
}

function isPlain(object: object): boolean {
  const prototype = getPrototypeOf(object);
  return prototype === null || prototype === ObjectPrototype;
}

const ObjectPrototype: object = Object.prototype;

/** Whether the class is no part of the language: values of other classes are copied. */
function isInstance(object: object): boolean {
  return brandOf(object) === 'Object' && !isError(object);
}

function passedService(value: unknown, what: string): PassedService {
  const service = isObject(value) ? serviceOf(value) : undefined;
  if (service !== undefined) return notBound(service, what);
  throw new TypeErrorCtor(`${what} is no service: expected a service binding of env, or an entrypoint of ctx.exports`);
}

function notBound(service: PassedService | 'bound', what: string): PassedService {
  if (service !== 'bound') return service;
  throw dataCloneError(
    `${what} is, or has, an object that calls something of this function alone: export a class that extends FunctionEntrypoint and calls it, and pass ctx.exports.Name()`,
  );
}

export function notSupported(what: string): Error {
  const error = new ErrorCtor(`Loaded code does not support ${what}`);
  defineValue(error, 'code', 'EDGE_NOT_SUPPORTED');
  return error;
}
