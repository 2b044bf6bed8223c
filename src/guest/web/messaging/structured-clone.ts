/**
 * structuredClone: serializing and deserializing of the HTML standard in one pass, since both ends are this realm.
 * @see https://html.spec.whatwg.org/multipage/structured-data.html
 */
import { type Brand, brandOf, isError } from '../../brands.ts';
import {
  ArrayBufferCtor,
  arrayBufferByteLength,
  arrayIndexOf,
  arrayPush,
  bigintValueOf,
  booleanValueOf,
  construct,
  DataViewCtor,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  dateGetTime,
  ErrorCtor,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  isArray,
  MapCtor,
  mapForEach,
  mapGet,
  mapHas,
  mapSet,
  numberValueOf,
  ObjectCtor,
  objectCreate,
  objectKeys,
  regExpFlags,
  regExpSource,
  SetCtor,
  setAdd,
  setForEach,
  stringValueOf,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayLength,
  typedArrayName,
  typedArraySet,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { copyArrayBuffer, detachArrayBuffer, isDetached } from '../base/array-buffer.ts';
import { isArrayBuffer } from '../base/buffers.ts';
import { DOMException, isDOMException } from '../base/dom-exception.ts';
import {
  defineOwn,
  defineValue,
  isObject,
  isPlatformPrototype,
  requireArguments,
  toDictionary,
  toDOMString,
  toSequence,
} from '../base/idl.ts';

type Memory = Map<object, unknown>;

/** The steps by which a class of platform objects is cloned and transferred. */
export interface Cloneable {
  is(value: object): boolean;
  clone?(value: object, cloneInner: (value: unknown) => unknown): object;
  /** Makes the empty object that `move` fills once all of the value has been cloned. */
  createTarget?(value: object): object;
  move?(value: object, target: object): void;
}

const cloneables: Cloneable[] = [];

/** Makes a class of platform objects serializable or transferable; all others are refused. */
export function registerCloneable(cloneable: Cloneable): void {
  arrayPush(cloneables, cloneable);
}

function cloneableOf(value: object): Cloneable | undefined {
  for (let i = 0; i < cloneables.length; i++) if (cloneables[i]?.is(value) === true) return cloneables[i];
  return undefined;
}

export function structuredClone(value: unknown, options: unknown = undefined): unknown {
  requireArguments(arguments.length, 1, 'structuredClone');
  const list = toDictionary(options, 'The options of structuredClone')?.transfer;
  return cloneWithTransfer(value, list === undefined ? [] : toTransferList(list)).value;
}

export function toTransferList(list: unknown): object[] {
  return toSequence(
    list,
    item => {
      if (!isObject(item)) throw dataCloneError('An item of the transfer list is not an object');
      return item;
    },
    'The transfer list',
  );
}

/** @see https://html.spec.whatwg.org/multipage/structured-data.html#structuredserializewithtransfer */
export function cloneWithTransfer(
  value: unknown,
  transferList: readonly object[],
): { readonly value: unknown; readonly transferred: readonly object[] } {
  const memory: Memory = new MapCtor();
  const targets: object[] = [];
  // A clone that fails must leave the transfer list unchanged, so transferred objects get an empty target first, and their content last.
  for (let i = 0; i < transferList.length; i++) {
    const item = transferList[i];
    if (item === undefined) continue;
    if (mapHas(memory, item)) throw dataCloneError('An object is twice in the transfer list');
    const target = createTarget(item);
    mapSet(memory, item, target);
    arrayPush(targets, target);
  }
  const cloned = clone(memory, value);
  for (let i = 0; i < transferList.length; i++) {
    const item = transferList[i];
    const target = targets[i];
    if (item !== undefined && target !== undefined) move(item, target);
  }
  return { value: cloned, transferred: targets };
}

function createTarget(item: object): object {
  if (isArrayBuffer(item)) {
    if (isDetached(item)) throw dataCloneError('An ArrayBuffer of the transfer list is detached');
    return new ArrayBufferCtor(arrayBufferByteLength(item));
  }
  const target = cloneableOf(item)?.createTarget?.(item);
  if (target === undefined) throw dataCloneError('An object of the transfer list cannot be transferred');
  return target;
}

function move(item: object, target: object): void {
  if (!isArrayBuffer(item)) {
    cloneableOf(item)?.move?.(item, target);
    return;
  }
  if (isDetached(item)) throw dataCloneError('An ArrayBuffer of the transfer list is detached');
  if (isArrayBuffer(target)) typedArraySet(new Uint8ArrayCtor(target), new Uint8ArrayCtor(item));
  detachArrayBuffer(item);
}

function clone(memory: Memory, value: unknown): unknown {
  if (!isObject(value)) {
    if (typeof value === 'symbol') throw dataCloneError('A symbol cannot be cloned');
    return value;
  }
  if (mapHas(memory, value)) return mapGet(memory, value);
  if (typeof value === 'function') throw dataCloneError('A function cannot be cloned');
  if (isArray(value)) {
    const array: unknown[] = [];
    array.length = value.length;
    mapSet(memory, value, array);
    return cloneProperties(memory, value, array);
  }
  const cloneable = cloneableOf(value);
  if (cloneable !== undefined) {
    const copy = cloneable.clone?.(value, inner => clone(memory, inner));
    if (copy === undefined) throw dataCloneError('The object can only be transferred, not cloned');
    mapSet(memory, value, copy);
    return copy;
  }
  if (isError(value)) return cloneError(memory, value);
  const brand = brandOf(value);
  if (brand === 'Object') {
    refusePlatformObject(value);
    const object = {};
    mapSet(memory, value, object);
    return cloneProperties(memory, value, object);
  }
  return cloneBranded(memory, value, brand);
}

function cloneProperties(memory: Memory, source: object, target: object): object {
  const keys = objectKeys(source);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    // A getter may have deleted it in the meantime.
    if (key !== undefined && hasOwn(source, key))
      defineOwn(target, key, clone(memory, (source as { [key: string]: unknown })[key]));
  }
  return target;
}

function cloneBranded(memory: Memory, value: object, brand: Brand): object {
  const copy = createBranded(memory, value, brand);
  mapSet(memory, value, copy);
  if (brand === 'Map') {
    const entries: unknown[] = [];
    mapForEach(value as Map<unknown, unknown>, (item, key) => {
      arrayPush(entries, key);
      arrayPush(entries, item);
    });
    for (let i = 0; i < entries.length; i += 2) {
      mapSet(copy as Map<unknown, unknown>, clone(memory, entries[i]), clone(memory, entries[i + 1]));
    }
  } else if (brand === 'Set') {
    const items: unknown[] = [];
    setForEach(value as Set<unknown>, item => {
      arrayPush(items, item);
    });
    for (let i = 0; i < items.length; i++) setAdd(copy as Set<unknown>, clone(memory, items[i]));
  }
  return copy;
}

/** The brand says which internal slots the value has, so each case reads slots that exist. */
function createBranded(memory: Memory, value: object, brand: Brand): object {
  switch (brand) {
    case 'Date':
      return new DateCtor(dateGetTime(value));
    case 'RegExp':
      return new RegExpCtor(regExpSource(value), regExpFlags(value));
    case 'Map':
      return new MapCtor();
    case 'Set':
      return new SetCtor();
    case 'Boolean':
      return ObjectCtor(booleanValueOf(value));
    case 'Number':
      return ObjectCtor(numberValueOf(value));
    case 'String':
      return ObjectCtor(stringValueOf(value));
    case 'BigInt':
      return ObjectCtor(bigintValueOf(value));
    case 'ArrayBuffer':
      return cloneBuffer(value as ArrayBuffer);
    case 'DataView': {
      const buffer = dataViewBuffer(value);
      return new DataViewCtor(
        clone(memory, buffer) as ArrayBuffer,
        dataViewByteOffset(value),
        dataViewByteLength(value),
      );
    }
    case 'TypedArray': {
      const constructor = typedArrayConstructors[typedArrayName(value) ?? ''];
      if (constructor === undefined) throw dataCloneError('The typed array cannot be cloned');
      const buffer = clone(memory, typedArrayBuffer(value));
      return construct(constructor, [buffer, typedArrayByteOffset(value), typedArrayLength(value)]);
    }
    default:
      throw dataCloneError(`A ${brand} cannot be cloned`);
  }
}

function cloneBuffer(buffer: ArrayBuffer): ArrayBuffer {
  if (isDetached(buffer)) throw dataCloneError('An ArrayBuffer is detached');
  return copyArrayBuffer(buffer);
}

/** Name, message, stack and cause; own properties that function code added are not part of an error. */
function cloneError(memory: Memory, value: object): object {
  if (isDOMException(value)) {
    const copy = new DOMException(value.message, value.name);
    mapSet(memory, value, copy);
    return copy;
  }
  const name = (value as { name: unknown }).name; // read as unknown and checked
  const constructor = (typeof name === 'string' ? errorConstructors[name] : undefined) ?? ErrorCtor;
  const message = getOwnPropertyDescriptor(value, 'message');
  const isMessage = message !== undefined && 'value' in message;
  const copy = isMessage ? new constructor(toDOMString(message.value)) : new constructor();
  mapSet(memory, value, copy);
  const stack: unknown = (value as { stack: unknown }).stack; // read as unknown and checked
  if (typeof stack === 'string') defineValue(copy, 'stack', stack);
  const cause = getOwnPropertyDescriptor(value, 'cause');
  if (cause !== undefined && 'value' in cause) defineValue(copy, 'cause', clone(memory, cause.value));
  return copy;
}

/** Objects with internal slots that no clone could have: of the platform, or of the language. */
export function refusePlatformObject(value: object): void {
  let prototype = getPrototypeOf(value);
  for (let hops = 0; prototype !== null && hops < 64; hops++) {
    if (prototype === ObjectPrototype) return;
    if (isPlatformPrototype(prototype) || arrayIndexOf(uncloneablePrototypes, prototype) >= 0) {
      throw dataCloneError('The object cannot be cloned');
    }
    prototype = getPrototypeOf(prototype);
  }
}

export function dataCloneError(message: string): DOMException {
  return new DOMException(message, 'DataCloneError');
}

const ObjectPrototype: object = Object.prototype;
const DateCtor = Date;
const RegExpCtor = RegExp;

type Constructor = new (...args: never[]) => object;

/** The globals of these names, as they were before function code ran. */
function globalsNamed<T>(names: readonly string[]): { readonly [name: string]: T | undefined } {
  const table: { [name: string]: T | undefined } = objectCreate(null);
  for (const name of names) table[name] = Reflect.get(globalThis, name);
  return table;
}

/** By name, as they were before function code ran. */
export const typedArrayConstructors = globalsNamed<Constructor>([
  'Uint8Array',
  'Uint8ClampedArray',
  'Uint16Array',
  'Uint32Array',
  'Int8Array',
  'Int16Array',
  'Int32Array',
  'BigInt64Array',
  'BigUint64Array',
  'Float16Array',
  'Float32Array',
  'Float64Array',
]);

export const errorConstructors = globalsNamed<ErrorConstructor>([
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
]);

const uncloneablePrototypes: readonly object[] = [
  Promise.prototype,
  Reflect.getPrototypeOf(function* () {}.prototype) ?? {},
  Reflect.getPrototypeOf(async function* () {}.prototype) ?? {},
  Reflect.getPrototypeOf(Reflect.getPrototypeOf([][Symbol.iterator]()) ?? {}) ?? {},
  ...Object.getOwnPropertyNames(Intl).flatMap(name => {
    const prototype: unknown = Reflect.get(Reflect.get(Intl, name) ?? {}, 'prototype');
    return typeof prototype === 'object' && prototype !== null ? [prototype] : [];
  }),
];
