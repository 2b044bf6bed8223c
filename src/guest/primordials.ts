/**
 * Intrinsics, captured before any function code runs: the bundle calls these and never a property that function code can
 * replace. `uncurry(f)(receiver, ...args)` calls f with its receiver by way of captured `call`.
 */

const { bind, call } = Function.prototype;

type Method = (...args: never[]) => unknown;
type Uncurried<F extends Method> = (
  self: ThisParameterType<F>,
  ...args: Parameters<OmitThisParameter<F>>
) => ReturnType<F>;

export const uncurry: <S, A extends unknown[], R>(f: (this: S, ...args: A) => R) => (self: S, ...args: A) => R =
  bind.bind(call) as never; // bind.bind(call)(f) is call bound to f, which TypeScript cannot express

export type { Method, Uncurried };

export const PromiseCtor = Promise;
export const promiseThen: <T, A, B>(
  self: Promise<T>,
  onFulfilled: ((value: T) => A) | undefined,
  onRejected?: (reason: unknown) => B,
) => Promise<A | B> = uncurry(Promise.prototype.then) as never; // the generic overloads of then do not survive uncurry
export const promiseResolve = Promise.resolve.bind(Promise) as <T>(value: T | PromiseLike<T>) => Promise<T>;
export const promiseReject = Promise.reject.bind(Promise) as <T = never>(reason: unknown) => Promise<T>;

export const Uint8ArrayCtor = Uint8Array;
export const typedArraySubarray = uncurry(Uint8Array.prototype.subarray);
export const typedArraySet = uncurry(Uint8Array.prototype.set) as (
  self: Uint8Array,
  source: ArrayLike<number>,
  offset?: number,
) => void;

export const stringIndexOf = uncurry(String.prototype.indexOf);
export const stringSlice = uncurry(String.prototype.slice);
export const stringSplit = uncurry(String.prototype.split as (this: string, separator: string) => string[]);

export const mapGet = uncurry(Map.prototype.get) as <K, V>(self: Map<K, V>, key: K) => V | undefined;
export const mapSet = uncurry(Map.prototype.set) as <K, V>(self: Map<K, V>, key: K, value: V) => Map<K, V>;
export const mapDelete = uncurry(Map.prototype.delete) as <K, V>(self: Map<K, V>, key: K) => boolean;
export const mapHas = uncurry(Map.prototype.has) as <K, V>(self: Map<K, V>, key: K) => boolean;
export const MapCtor = Map;

export const jsonParse = JSON.parse;
export const jsonStringify = JSON.stringify;
export const reflectApply = Reflect.apply;
export const defineProperty = Object.defineProperty;
export const numberIsNaN = Number.isNaN;
export const ErrorCtor = Error;
export const SyntaxErrorCtor = SyntaxError;
export const TypeErrorCtor = TypeError;
export const RangeErrorCtor = RangeError;

export const stringCharCodeAt = uncurry(String.prototype.charCodeAt);
export const stringToLowerCase = uncurry(String.prototype.toLowerCase);
export const stringToUpperCase = uncurry(String.prototype.toUpperCase);
export const stringPadEnd = uncurry(String.prototype.padEnd);
export const stringRepeat = uncurry(String.prototype.repeat);
export const stringStartsWith = uncurry(String.prototype.startsWith);
export const stringFromCharCode = String.fromCharCode;
/** Replaces lone surrogates by U+FFFD. In every Node from 20 on, but not in TypeScript's lib of ES2023. */
export const stringToWellFormed: (self: string) => string = uncurry(
  Object.getOwnPropertyDescriptor(String.prototype, 'toWellFormed')?.value,
);
export const numberToString = uncurry(Number.prototype.toString);
export const encodeComponent = encodeURIComponent;
export const decodeComponent = decodeURIComponent;

export const arrayPush = uncurry(Array.prototype.push) as <T>(self: T[], value: T) => number;
export const arraySlice = uncurry(Array.prototype.slice) as <T>(
  self: readonly T[],
  start?: number,
  end?: number,
) => T[];
export const arraySplice = uncurry(Array.prototype.splice) as <T>(self: T[], start: number, count?: number) => T[];
export const arrayJoin = uncurry(Array.prototype.join) as (self: readonly unknown[], separator: string) => string;
export const arraySort = uncurry(Array.prototype.sort) as <T>(self: T[], compare: (a: T, b: T) => number) => T[];
export const arrayIndexOf = uncurry(Array.prototype.indexOf) as <T>(self: readonly T[], value: T) => number;
export const arrayIterator = uncurry(Array.prototype[Symbol.iterator]) as <T>(
  self: readonly T[],
) => IterableIterator<T>;
export const { isArray } = Array;

export const SetCtor = Set;
export const setAdd = uncurry(Set.prototype.add) as <T>(self: Set<T>, value: T) => Set<T>;
export const setClear = uncurry(Set.prototype.clear) as <T>(self: Set<T>) => void;
export const setDelete = uncurry(Set.prototype.delete) as <T>(self: Set<T>, value: T) => boolean;
export const setHas = uncurry(Set.prototype.has) as <T>(self: Set<T>, value: T) => boolean;
export const setForEach = uncurry(Set.prototype.forEach) as <T>(self: Set<T>, each: (value: T) => void) => void;
export const mapForEach = uncurry(Map.prototype.forEach) as <K, V>(
  self: Map<K, V>,
  each: (value: V, key: K) => void,
) => void;
export const WeakMapCtor = WeakMap;
export const weakMapGet = uncurry(WeakMap.prototype.get) as <K extends object, V>(
  self: WeakMap<K, V>,
  key: K,
) => V | undefined;
export const weakMapSet = uncurry(WeakMap.prototype.set) as <K extends object, V>(
  self: WeakMap<K, V>,
  key: K,
  value: V,
) => WeakMap<K, V>;
export const WeakRefCtor = WeakRef;
export const weakRefDeref = uncurry(WeakRef.prototype.deref) as <T extends object>(self: WeakRef<T>) => T | undefined;

export const ObjectCtor = Object;
export const { ownKeys, getPrototypeOf, setPrototypeOf, construct, getOwnPropertyDescriptor } = Reflect;
export const { freeze: objectFreeze, keys: objectKeys, create: objectCreate } = Object;
export const hasOwn: (object: object, key: PropertyKey) => boolean = Object.hasOwn;
export const objectToString = uncurry(Object.prototype.toString) as (self: unknown) => string;

/** The getter of an accessor property, called as `get(receiver)`: it reads internal slots and runs no function code. */
export function getterOf<T>(prototype: object, name: PropertyKey): (self: unknown) => T {
  return uncurry(Object.getOwnPropertyDescriptor(prototype, name)?.get as () => T); // every caller names an accessor
}

export const dateGetTime = uncurry(Date.prototype.getTime) as (self: unknown) => number;
export const regExpSource = getterOf<string>(RegExp.prototype, 'source');
export const regExpFlags = getterOf<string>(RegExp.prototype, 'flags');
export const booleanValueOf = uncurry(Boolean.prototype.valueOf) as (self: unknown) => boolean;
export const numberValueOf = uncurry(Number.prototype.valueOf) as (self: unknown) => number;
export const stringValueOf = uncurry(String.prototype.valueOf) as (self: unknown) => string;
export const bigintValueOf = uncurry(BigInt.prototype.valueOf) as (self: unknown) => bigint;

const TypedArrayPrototype: object = Reflect.getPrototypeOf(Uint8Array.prototype) ?? {};
export const ArrayBufferCtor = ArrayBuffer;
export const DataViewCtor = DataView;
export const arrayBufferByteLength = getterOf<number>(ArrayBuffer.prototype, 'byteLength');
export const arrayBufferSlice = uncurry(ArrayBuffer.prototype.slice) as (
  self: ArrayBuffer,
  start: number,
  end?: number,
) => ArrayBuffer;
export const typedArrayBuffer = getterOf<ArrayBuffer>(TypedArrayPrototype, 'buffer');
export const typedArrayByteOffset = getterOf<number>(TypedArrayPrototype, 'byteOffset');
export const typedArrayByteLength = getterOf<number>(TypedArrayPrototype, 'byteLength');
export const typedArrayLength = getterOf<number>(TypedArrayPrototype, 'length');
/** The name of a typed array's class, undefined for everything else. */
export const typedArrayName = getterOf<string | undefined>(TypedArrayPrototype, Symbol.toStringTag);
export const dataViewBuffer = getterOf<ArrayBuffer>(DataView.prototype, 'buffer');
export const dataViewByteOffset = getterOf<number>(DataView.prototype, 'byteOffset');
export const dataViewByteLength = getterOf<number>(DataView.prototype, 'byteLength');
export const isView = ArrayBuffer.isView;

export const DateCtor = Date;
export const { now: dateNow } = Date;
export const { trunc: mathTrunc, floor: mathFloor, abs: mathAbs, round: mathRound } = Math;
