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
export const mapClear = uncurry(Map.prototype.clear);
export const MapCtor = Map;

export const jsonParse = JSON.parse;
export const jsonStringify = JSON.stringify;
export const reflectApply = Reflect.apply;
export const defineProperty = Object.defineProperty;
export const numberIsNaN = Number.isNaN;
export const ErrorCtor = Error;
export const TypeErrorCtor = TypeError;
export const RangeErrorCtor = RangeError;
