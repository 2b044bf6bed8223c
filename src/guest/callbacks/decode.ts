/** Decodes the results of callbacks, which the host has encoded from values of the application. */
import {
  arrayPush,
  construct,
  DataViewCtor,
  defineProperty,
  ErrorCtor,
  isArray,
  MapCtor,
  mapSet,
  SetCtor,
  setAdd,
  stringSlice,
  TypeErrorCtor,
  typedArrayBuffer,
} from '../primordials.ts';
import { defineValue } from '../web/base/idl.ts';
import { errorConstructors, typedArrayConstructors } from '../web/messaging/structured-clone.ts';
import type { ReadableStream } from '../web/streams/streams.ts';
import { decodeWrapped } from './wrapped.ts';

export interface Parts {
  /** Each in memory of its own. */
  readonly bytes: readonly Uint8Array[];
  readonly stream: ReadableStream | undefined;
}

/** Decodes arrays with the tags of `EncodeOther`; undefined for a tag that it does not know. */
export type GuestDecodeOther = (list: readonly unknown[], inner: (json: unknown) => unknown) => object | undefined;

interface State extends Parts {
  readonly other: GuestDecodeOther | undefined;
  /** By their numbers. */
  readonly objects: unknown[];
  bytesRead: number;
}

export function decodeValue(json: unknown, parts: Parts, other?: GuestDecodeOther): unknown {
  return decode({ other, bytes: parts.bytes, stream: parts.stream, objects: [], bytesRead: 0 }, json);
}

function decode(state: State, json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  const list = json as readonly unknown[]; // the host sends no other objects
  const first = list[1];
  switch (list[0]) {
    case 'a':
      return decodeItems(state, list);
    case 'A':
      return decodeSparse(state, list);
    case 'o':
      return decodeProperties(state, keep(state, {}), list, 1);
    case 'm': {
      const map = keep(state, new MapCtor<unknown, unknown>());
      for (let i = 1; i + 1 < list.length; i += 2) mapSet(map, decode(state, list[i]), decode(state, list[i + 1]));
      return map;
    }
    case 's': {
      const set = keep(state, new SetCtor<unknown>());
      for (let i = 1; i < list.length; i++) setAdd(set, decode(state, list[i]));
      return set;
    }
    case 'e': {
      const error = keep(state, makeError(`${first}`, `${list[2]}`));
      if (list.length > 3) defineValue(error, 'cause', decode(state, list[3]));
      return error;
    }
    case 'E':
      return decodeProperties(state, decodeError(state, list), list, 4);
    case 'b':
      return keep(state, decodeBytes(state, `${first}`));
    case 't':
      return keep(state, state.stream);
    case 'd':
      return keep(state, new DateCtor(first === null ? NOT_A_NUMBER : (first as number)));
    case 'r':
      return state.objects[first as number];
    case 'n':
      return toNumber(first);
    case 'i':
      return decodeBigint(`${first}`);
    case 'u':
      return undefined;
    default:
      return decodeOther(state, list);
  }
}

function decodeOther(state: State, list: readonly unknown[]): unknown {
  const number = state.objects.length;
  arrayPush(state.objects, undefined);
  const inner = (json: unknown): unknown => decode(state, json);
  const object = state.other?.(list, inner) ?? decodeWrapped(list, inner);
  if (object === undefined) throw new TypeErrorCtor('The value is malformed');
  state.objects[number] = object;
  return object;
}

function keep<T>(state: State, object: T): T {
  arrayPush(state.objects, object);
  return object;
}

function decodeItems(state: State, list: readonly unknown[]): unknown[] {
  const items = keep<unknown[]>(state, []);
  for (let i = 1; i < list.length; i++) arrayPush(items, decode(state, list[i]));
  return items;
}

function decodeSparse(state: State, list: readonly unknown[]): object {
  const array = keep<unknown[]>(state, []);
  array.length = list[1] as number; // anything else throws
  return decodeProperties(state, array, list, 2);
}

/** An error with members of its own, and a cause where the list has one. */
function decodeError(state: State, list: readonly unknown[]): Error {
  const error = keep(state, makeError(`${list[1]}`, `${list[2]}`));
  const cause = list[3];
  if (!isArray(cause) || cause[0] !== '-') defineValue(error, 'cause', decode(state, cause));
  return error;
}

/** @param from where names and values begin */
function decodeProperties(state: State, object: object, list: readonly unknown[], from: number): object {
  for (let i = from; i + 1 < list.length; i += 2) {
    defineProperty(
      object,
      list[i] as string,
      {
        __proto__: null,
        value: decode(state, list[i + 1]),
        writable: true,
        enumerable: true,
        configurable: true,
      } as PropertyDescriptor,
    );
  }
  return object;
}

function decodeBytes(state: State, kind: string): object {
  const bytes = state.bytes[state.bytesRead++];
  const buffer = bytes === undefined ? undefined : typedArrayBuffer(bytes);
  if (bytes === undefined || buffer === undefined || kind === 'Uint8Array') return bytes ?? {};
  if (kind === 'ArrayBuffer') return buffer;
  if (kind === 'DataView') return new DataViewCtor(buffer);
  const constructor = typedArrayConstructors[kind];
  return constructor === undefined ? bytes : construct(constructor, [buffer]);
}

function decodeBigint(digits: string): bigint {
  return digits[0] === '-' ? -toBigint(`0x${stringSlice(digits, 1)}`) : toBigint(`0x${digits}`);
}

/** An error of this realm. One of a class that this realm does not have is an Error of that name. */
export function makeError(name: string, message: string): Error {
  const error = new (errorConstructors[name] ?? ErrorCtor)(message);
  if (name !== 'Error' && errorConstructors[name] === undefined) defineValue(error, 'name', name);
  return error;
}

const DateCtor = Date;
const NOT_A_NUMBER = 0 / 0;
const toNumber = Number;
const toBigint = BigInt;
