/** Arguments of callbacks, encoded as bindings/callbacks/wire.ts says. Whatever a value does while it is read, it does to its own function. */
import {
  MAX_BIGINT_DIGITS,
  MAX_BYTES,
  MAX_DEPTH,
  MAX_ITEMS,
  MAX_NUMERIC_KEYS,
  MAX_OBJECTS,
  MAX_SEQUENCES,
  MAX_VALUES,
  TOO_MANY_PARTS,
} from '../../bindings/callbacks/wire.ts';
import { MAX_CALL_BYTES } from '../../bindings/function/wire.ts';
import { brandOf, isError } from '../brands.ts';
import {
  arrayPush,
  dateGetTime,
  getOwnPropertyDescriptor,
  hasOwn,
  isArray,
  MapCtor,
  mapForEach,
  mapGet,
  mapSet,
  numberIsNaN,
  objectKeys,
  RangeErrorCtor,
  setForEach,
  typedArrayLength,
  typedArrayName,
  uncurry,
} from '../primordials.ts';
import { copyOf } from '../web/base/buffers.ts';
import { toDOMString } from '../web/base/idl.ts';
import { dataCloneError, refusePlatformObject } from '../web/messaging/structured-clone.ts';
import { isDisturbed, isLocked, isReadableStream, type ReadableStream } from '../web/streams/streams.ts';
import { encodeWrapped } from './wrapped.ts';

export interface Encoded {
  readonly json: unknown;
  readonly bytes: readonly Uint8Array[];
  readonly stream: ReadableStream | undefined;
}

/** Encodes what only some receivers take, as an array whose first item is a tag of its own; undefined for every other value. */
export type EncodeOther = (value: object, inner: (value: unknown) => unknown, depth: number) => unknown;

interface State {
  readonly other: EncodeOther | undefined;
  /** The verb of messages, such as "passed". */
  readonly verb: string;
  /** Objects by their numbers. */
  readonly numbers: Map<object, number>;
  readonly bytes: Uint8Array[];
  objects: number;
  /** Arrays of the JSON: objects, references to them, and what JSON has no value for. */
  arrays: number;
  values: number;
  numericKeys: number;
  byteCount: number;
  stream: ReadableStream | undefined;
}

/** @throws DOMException DataCloneError for a value that cannot be passed, RangeError for one that is too large or nested too deeply */
export function encodeValue(value: unknown, other?: EncodeOther, verb?: string): Encoded {
  const state: State = {
    other,
    verb: verb ?? (other === undefined ? 'passed to the application' : 'passed to another function'),
    numbers: new MapCtor(),
    bytes: [],
    objects: 0,
    arrays: 0,
    values: 0,
    numericKeys: 0,
    byteCount: 0,
    stream: undefined,
  };
  const json = encode(state, value, 0);
  return { json, bytes: state.bytes, stream: state.stream };
}

function encode(state: State, value: unknown, depth: number): unknown {
  if (++state.values > MAX_VALUES && isBounded(state)) throw new RangeErrorCtor(TOO_MANY_PARTS);
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'undefined':
      countArray(state);
      return ['u'];
    case 'number':
      if (value - value === 0 && (value !== 0 || 1 / value > 0)) return value;
      countArray(state);
      return ['n', value === 0 ? '-0' : `${value}`];
    case 'bigint':
      countArray(state);
      return ['i', digitsOf(value)];
    case 'object':
      if (value === null) return null;
      countArray(state);
      return encodeObject(state, value, depth);
    case 'function':
      if (state.other === undefined) throw notPassed(state, 'function');
      countArray(state);
      return encodeObject(state, value, depth);
    default:
      throw notPassed(state, typeof value);
  }
}

/** The host decodes values for the application; the receiving function decodes values for functions, and only their bytes are bounded. */
function isBounded(state: State): boolean {
  return state.other === undefined;
}

function countArray(state: State): void {
  if (++state.arrays > MAX_OBJECTS && isBounded(state)) throw new RangeErrorCtor(TOO_MANY_PARTS);
}

function digitsOf(value: bigint): string {
  const digits = bigintToString(value, 16);
  if (digits.length <= MAX_BIGINT_DIGITS) return digits;
  throw new RangeErrorCtor(`A BigInt of more than ${MAX_BIGINT_DIGITS} hexadecimal digits cannot be passed`);
}

function encodeObject(state: State, value: object, depth: number): unknown {
  const known = mapGet(state.numbers, value);
  if (known !== undefined) return ['r', known];
  if (depth > MAX_DEPTH) throw new RangeErrorCtor(`A value nested more than ${MAX_DEPTH} levels deep cannot be passed`);
  mapSet(state.numbers, value, state.objects++);
  const other = state.other?.(value, inner => encode(state, inner, depth + 1), depth);
  if (other !== undefined) return other;
  if (isArray(value)) return encodeArray(state, value, depth + 1);
  if (isReadableStream(value)) return encodeStream(state, value);
  if (isError(value)) return encodeError(state, value, depth + 1);
  switch (brandOf(value)) {
    case 'Object':
      refusePlatformObject(value);
      return encodeProperties(state, value, depth + 1);
    case 'Date': {
      const time = dateGetTime(value);
      return ['d', numberIsNaN(time) ? null : time];
    }
    case 'Map': {
      const items: unknown[] = [];
      // Read first: what encoding an item runs must not change the map that is being gone through.
      mapForEach(value as Map<unknown, unknown>, (item, key) => {
        countKey(state, key);
        arrayPush(items, key);
        arrayPush(items, item);
      });
      return encodeItems(state, 'm', items, depth + 1);
    }
    case 'Set': {
      const items: unknown[] = [];
      setForEach(value as Set<unknown>, item => {
        countKey(state, item);
        arrayPush(items, item);
      });
      return encodeItems(state, 's', items, depth + 1);
    }
    case 'ArrayBuffer':
      return encodeBytes(state, 'ArrayBuffer', value as ArrayBuffer);
    case 'DataView':
      return encodeBytes(state, 'DataView', value as DataView);
    case 'TypedArray':
      return encodeBytes(state, typedArrayName(value) ?? '', value as ArrayBufferView);
    default: {
      const wrapped = isBounded(state) ? undefined : encodeWrapped(value, inner => encode(state, inner, depth + 1));
      if (wrapped === undefined) throw notPassed(state, brandOf(value));
      return wrapped;
    }
  }
}

function notPassed(state: State, what: string): Error {
  return dataCloneError(`A ${what} cannot be ${state.verb}`);
}

function encodeArray(state: State, array: readonly unknown[], depth: number): unknown {
  const { length } = array;
  if (!(length <= MAX_ITEMS) && isBounded(state)) throw tooManyItems();
  const keys = objectKeys(array);
  if (keys.length !== length || hasHole(array)) return encodeSparse(state, array, keys, depth);
  const items: unknown[] = ['a'];
  for (let i = 0; i < length; i++) arrayPush(items, encode(state, array[i], depth));
  return items;
}

function hasHole(array: readonly unknown[]): boolean {
  for (let i = 0; i < array.length; i++) if (array[i] === undefined && !hasOwn(array, i)) return true;
  return false;
}

/** An array with holes, or with properties beside its items. */
function encodeSparse(state: State, array: readonly unknown[], keys: readonly string[], depth: number): unknown {
  if (isBounded(state)) {
    throw dataCloneError(`An array with holes, or with properties beside its items, cannot be ${state.verb}`);
  }
  const encoded: unknown[] = ['A', array.length];
  for (let i = 0; i < keys.length; i++) encodeProperty(state, encoded, array, keys[i] ?? '', depth);
  return encoded;
}

function encodeProperty(state: State, encoded: unknown[], object: object, key: string, depth: number): void {
  if (key === '__proto__') throw dataCloneError(`A property named "__proto__" cannot be ${state.verb}`);
  arrayPush(encoded, key);
  arrayPush(encoded, encode(state, (object as { [name: string]: unknown })[key], depth)); // every object can be read from
}

function encodeItems(state: State, tag: 'm' | 's', items: readonly unknown[], depth: number): unknown {
  if (items.length > MAX_ITEMS && isBounded(state)) throw tooManyItems();
  const encoded: unknown[] = [tag];
  for (let i = 0; i < items.length; i++) arrayPush(encoded, encode(state, items[i], depth));
  return encoded;
}

function countKey(state: State, key: unknown): void {
  if (typeof key !== 'number' && typeof key !== 'bigint') return;
  if (++state.numericKeys <= MAX_NUMERIC_KEYS || !isBounded(state)) return;
  throw new RangeErrorCtor(
    `Maps and Sets with more than ${MAX_NUMERIC_KEYS} numbers as keys cannot be passed: pass an array, or texts as keys`,
  );
}

function tooManyItems(): RangeError {
  return new RangeErrorCtor(`A list of more than ${MAX_ITEMS} items cannot be passed`);
}

function encodeProperties(state: State, object: object, depth: number): unknown {
  const keys = objectKeys(object);
  if (keys.length > MAX_ITEMS && isBounded(state)) throw tooManyItems();
  const encoded: unknown[] = ['o'];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key !== undefined) encodeProperty(state, encoded, object, key, depth);
  }
  return encoded;
}

function encodeError(state: State, error: object, depth: number): unknown {
  const { name, message } = error as { name: unknown; message: unknown }; // read as unknown, made text
  const encoded: unknown[] = ['e', toDOMString(name), toDOMString(message)];
  const cause = getOwnPropertyDescriptor(error, 'cause');
  const hasCause = cause !== undefined && 'value' in cause;
  if (hasCause) arrayPush(encoded, encode(state, cause.value, depth));
  const members = isBounded(state) ? [] : ownMembers(error);
  if (members.length === 0) return encoded;
  encoded[0] = 'E';
  if (!hasCause) arrayPush(encoded, ABSENT);
  for (let i = 0; i < members.length; i++) encodeProperty(state, encoded, error, members[i] ?? '', depth);
  return encoded;
}

/** In the place of a cause. No value is encoded so. */
const ABSENT = ['-'];

/** Names of the members that code has added to an error, such as `code`. The errors of an AggregateError are one of them. */
function ownMembers(error: object): string[] {
  const members: string[] = [];
  const keys = objectKeys(error);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (
      key !== undefined &&
      key !== 'name' &&
      key !== 'message' &&
      key !== 'stack' &&
      key !== 'cause' &&
      key !== 'errors'
    ) {
      arrayPush(members, key);
    }
  }
  const errors = getOwnPropertyDescriptor(error, 'errors');
  if (errors !== undefined && 'value' in errors) arrayPush(members, 'errors');
  return members;
}

function encodeBytes(state: State, kind: string, source: ArrayBuffer | ArrayBufferView): unknown {
  if (kind === 'Float16Array') throw dataCloneError(`A Float16Array cannot be ${state.verb}`);
  const bytes = copyOf(source);
  state.byteCount += typedArrayLength(bytes);
  const mostBytes = isBounded(state) ? MAX_BYTES : MAX_CALL_BYTES;
  if (state.byteCount > mostBytes || state.bytes.length >= MAX_SEQUENCES) {
    throw new RangeErrorCtor(
      `The arguments have ${state.bytes.length + 1} byte sequences of ${state.byteCount} bytes, at most ${MAX_SEQUENCES} of ${mostBytes} bytes can be passed: pass a stream`,
    );
  }
  arrayPush(state.bytes, bytes);
  return ['b', kind];
}

function encodeStream(state: State, stream: ReadableStream): unknown {
  if (state.stream !== undefined) throw dataCloneError('Only one stream can be passed in a call');
  if (isLocked(stream) || isDisturbed(stream)) {
    throw dataCloneError('A stream that is locked or has been read from cannot be passed');
  }
  state.stream = stream;
  return ['t'];
}

const bigintToString = uncurry(BigInt.prototype.toString) as (self: bigint, radix: number) => string;
