/**
 * Web IDL for the guest realm: conversions of values from function code, and the shape of interfaces.
 * @see https://webidl.spec.whatwg.org/
 */

import { isObject } from '../../is-object.ts';
import {
  arrayJoin,
  defineProperty,
  getOwnPropertyDescriptor,
  mathAbs,
  mathFloor,
  mathRound,
  mathTrunc,
  numberIsNaN,
  ownKeys,
  reflectApply,
  SetCtor,
  setAdd,
  setHas,
  stringCharCodeAt,
  stringSlice,
  stringToWellFormed,
  TypeErrorCtor,
} from '../../primordials.ts';

export { isObject };

export type Callback = (this: unknown, ...args: never[]) => unknown;

export function isCallable(value: unknown): value is Callback {
  return typeof value === 'function';
}

/** Calls a function of the function's code. */
export function invoke(callback: Callback, receiver: unknown, args: readonly unknown[]): unknown {
  return reflectApply(callback, receiver, args);
}

export function requireArguments(given: number, required: number, what: string): void {
  if (given < required) {
    throw new TypeErrorCtor(
      `${what} requires ${required} ${required === 1 ? 'argument' : 'arguments'}, but ${given} ${given === 1 ? 'was' : 'were'} given`,
    );
  }
}

const MAX_QUOTED = 256;

/** Text as messages show it: what function code gives may be of any length. */
export function quoted(text: string): string {
  return text.length > MAX_QUOTED ? `"${stringSlice(text, 0, MAX_QUOTED)}…"` : `"${text}"`;
}

export function toDOMString(value: unknown): string {
  return typeof value === 'string' ? value : `${value}`;
}

export function toUSVString(value: unknown): string {
  return stringToWellFormed(typeof value === 'string' ? value : `${value}`);
}

export function toByteString(value: unknown, what: string): string {
  const text = toDOMString(value);
  for (let i = 0; i < text.length; i++) {
    if (stringCharCodeAt(text, i) > 0xff) {
      throw new TypeErrorCtor(`${what} has a character at index ${i} that is greater than 255`);
    }
  }
  return text;
}

/** One of the values of an IDL enumeration. */
export function toEnum<T extends string>(value: unknown, values: readonly T[], what: string): T {
  const text = toDOMString(value);
  for (let i = 0; i < values.length; i++) {
    const candidate = values[i];
    if (candidate === text) return candidate;
  }
  throw new TypeErrorCtor(`${what} is "${text}", expected one of "${arrayJoin(values, '", "')}"`);
}

export function toDouble(value: unknown, what: string): number {
  const number = +(value as number); // unary plus is ToNumber for every value
  if (numberIsNaN(number) || number === Infinity || number === -Infinity) {
    throw new TypeErrorCtor(`${what} is not a finite number`);
  }
  return number;
}

/** `[EnforceRange] unsigned long long` and the like: an integer from min to max, or a TypeError. */
export function toEnforcedInteger(value: unknown, min: number, max: number, what: string): number {
  const number = mathTrunc(toDouble(value, what));
  if (number < min || number > max) throw new TypeErrorCtor(`${what} is ${number}, which is not from ${min} to ${max}`);
  return number + 0; // no negative zero
}

/** `long`: modulo 2^32. */
export function toLong(value: unknown): number {
  return (value as number) | 0; // bitwise or is ToInt32 for every value
}

/** `unsigned short`. */
export function toUnsignedShort(value: unknown): number {
  return (value as number) & 0xffff; // bitwise and is ToInt32 for every value
}

/** `[Clamp] long long` and the like. */
export function toClampedInteger(value: unknown, min: number, max: number): number {
  const number = +(value as number); // unary plus is ToNumber for every value
  if (numberIsNaN(number)) return 0;
  if (number <= min) return min;
  if (number >= max) return max;
  const floor = mathFloor(number);
  if (mathAbs(number - floor) === 0.5) return floor % 2 === 0 ? floor : floor + 1;
  return mathRound(number);
}

/** A dictionary as the object to read its members from; undefined when it is empty. */
export function toDictionary(value: unknown, what: string): { readonly [member: string]: unknown } | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isObject(value)) throw new TypeErrorCtor(`${what} is not an object`);
  return value as { readonly [member: string]: unknown }; // every object can be read from
}

/** `sequence<T>`: calls `each` for what the iterable yields; false when the value has no iterator method. */
export function forEachOf(value: object, each: (item: unknown) => void): boolean {
  const method: unknown = (value as Iterable<unknown>)[Symbol.iterator]; // read as unknown and checked
  if (method === undefined || method === null) return false;
  if (!isCallable(method)) throw new TypeErrorCtor('The value has an iterator that is not a function');
  const iterator = invoke(method, value, []);
  if (!isObject(iterator)) throw new TypeErrorCtor('The iterator is not an object');
  const next: unknown = (iterator as Iterator<unknown>).next; // read as unknown and checked
  if (!isCallable(next)) throw new TypeErrorCtor('The iterator has no next function');
  for (;;) {
    const result = invoke(next, iterator, []);
    if (!isObject(result)) throw new TypeErrorCtor('The iterator result is not an object');
    const { done, value: item } = result as IteratorResult<unknown>; // read as unknown
    if (done) return true;
    each(item);
  }
}

/** `sequence<T>` as an array. */
export function toSequence<T>(value: unknown, convert: (item: unknown) => T, what: string): T[] {
  if (!isObject(value)) throw new TypeErrorCtor(`${what} is not a sequence`);
  const items: T[] = [];
  const isIterable = forEachOf(value, item => {
    items[items.length] = convert(item);
  });
  if (!isIterable) throw new TypeErrorCtor(`${what} is not iterable`);
  return items;
}

type Interface = abstract new (...args: never[]) => object;

/** Makes a class look as Web IDL wants it: operations and attributes enumerable, its name as @@toStringTag. */
export function defineInterface(constructor: Interface, name = nameOf(constructor)): void {
  if (constructor.name !== name) defineValue(constructor, 'name', name, false);
  setAdd(platformPrototypes, constructor.prototype);
  makeEnumerable(constructor.prototype, 'constructor');
  makeEnumerable(constructor, 'prototype', 'name', 'length');
  defineValue(constructor.prototype, Symbol.toStringTag, name, false);
}

/** The bundler puts an underscore before the name of a class that refers to itself. */
function nameOf(constructor: Interface): string {
  const { name } = constructor;
  return name[0] === '_' ? name.slice(1) : name;
}

const platformPrototypes = new SetCtor<object>();

/** Whether objects that inherit from this prototype are platform objects. */
export function isPlatformPrototype(prototype: object): boolean {
  return setHas(platformPrototypes, prototype);
}

/** Constants of an interface, on the class and on its prototype. */
export function defineConstants(constructor: Interface, constants: { readonly [name: string]: number }): void {
  for (const name of ownKeys(constants)) {
    const descriptor = { __proto__: null, value: getOwnPropertyDescriptor(constants, name)?.value, enumerable: true };
    defineProperty(constructor, name, descriptor);
    defineProperty(constructor.prototype, name, descriptor);
  }
}

export function defineValue(target: object, key: PropertyKey, value: unknown, isWritable = true): void {
  const descriptor = { __proto__: null, value, writable: isWritable, enumerable: false, configurable: true };
  defineProperty(target, key, descriptor);
}

/** Defines an own property like an assignment, but without calling a setter of a prototype. */
export function defineOwn(target: object, key: PropertyKey, value: unknown): void {
  const descriptor = { __proto__: null, value, writable: true, enumerable: true, configurable: true };
  defineProperty(target, key, descriptor);
}

function makeEnumerable(target: object, ...except: string[]): void {
  for (const key of ownKeys(target)) {
    if (typeof key !== 'string' || except.includes(key)) continue;
    defineProperty(target, key, { __proto__: null, enumerable: true } as PropertyDescriptor);
  }
}
