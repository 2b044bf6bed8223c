/** The comparisons of `assert.deepEqual()` and of `util.isDeepStrictEqual()`. @see https://nodejs.org/api/assert.html#comparison-details */
import { brandOf, isError } from '../../brands.ts';

/** `partial`: the actual value may have more than the expected one. */
export type Mode = 'loose' | 'strict' | 'partial';

/** Pairs of objects that are being compared: in a cycle they count as equal. */
type Pairs = Map<object, object>;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

export function isDeepEqual(a: unknown, b: unknown, mode: Mode): boolean {
  return compare(a, b, mode, new Map());
}

function compare(a: unknown, b: unknown, mode: Mode, pairs: Pairs): boolean {
  if (Object.is(a, b)) return true;
  if (mode === 'loose') {
    if (!isObject(a)) return !isObject(b) && isLooselyEqual(a, b);
    if (!isObject(b)) return false;
  } else {
    if (!isObject(a) || !isObject(b)) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  }
  if (pairs.get(a) === b) return true;
  pairs.set(a, b);
  try {
    return areObjectsEqual(a, b, mode, pairs);
  } finally {
    pairs.delete(a);
  }
}

function isLooselyEqual(a: unknown, b: unknown): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: the comparison that deepEqual() is defined by
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}

function areObjectsEqual(a: object, b: object, mode: Mode, pairs: Pairs): boolean {
  const brand = brandOf(a);
  if (brand !== brandOf(b) || tagOf(a) !== tagOf(b)) return false;
  if (isError(a) !== isError(b)) return false;
  if (isError(a) && !areErrorsEqual(a as Error, b as Error, mode, pairs)) return false; // checked here
  if (Array.isArray(a)) return areArraysEqual(a, b as unknown[], mode, pairs); // of the same brand
  if (ArrayBuffer.isView(a)) {
    if (!areBytesEqual(viewOf(a), viewOf(b as ArrayBufferView), mode)) return false; // of the same brand
    return haveEqualKeys(a, b, mode, pairs, isIndex);
  }
  switch (brand) {
    case 'Date':
      if (!Object.is(Number(a), Number(b)) && Number(a) !== Number(b)) return false;
      break;
    case 'RegExp':
      if (String(a) !== String(b) || (a as RegExp).lastIndex !== (b as RegExp).lastIndex) return false; // by brand
      break;
    case 'Number':
    case 'String':
    case 'Boolean':
    case 'BigInt':
    case 'Symbol':
      if (!Object.is(a.valueOf(), b.valueOf())) return false;
      return haveEqualKeys(a, b, mode, pairs, brand === 'String' ? isIndex : undefined);
    case 'ArrayBuffer':
      if (!areBytesEqual(new Uint8Array(a as ArrayBuffer), new Uint8Array(b as ArrayBuffer), mode)) return false; // by brand
      break;
    case 'Set':
      if (!areSetsEqual(a as Set<unknown>, b as Set<unknown>, mode, pairs)) return false; // by brand
      break;
    case 'Map':
      if (!areMapsEqual(a as Map<unknown, unknown>, b as Map<unknown, unknown>, mode, pairs)) return false; // by brand
      break;
    case 'WeakMap':
    case 'WeakSet':
      return false;
    default:
  }
  return haveEqualKeys(a, b, mode, pairs);
}

const tagOf = (value: object): string => Object.prototype.toString.call(value);
const isIndex = (key: PropertyKey): boolean => typeof key === 'string' && /^(?:0|[1-9]\d*)$/.test(key);

function areErrorsEqual(a: Error, b: Error, mode: Mode, pairs: Pairs): boolean {
  if (a.message !== b.message || a.name !== b.name) return false;
  for (const key of ['cause', 'errors'] as const) {
    const has = Object.hasOwn(a, key);
    if (has !== Object.hasOwn(b, key)) return false;
    if (has && !compare(Reflect.get(a, key), Reflect.get(b, key), mode, pairs)) return false;
  }
  return true;
}

function viewOf(view: ArrayBufferView): ArrayLike<number | bigint> {
  return view instanceof DataView
    ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
    : (view as unknown as Uint8Array); // every other view has an index
}

function areBytesEqual(a: ArrayLike<number | bigint>, b: ArrayLike<number | bigint>, mode: Mode): boolean {
  if (mode === 'partial' ? a.length < b.length : a.length !== b.length) return false;
  for (let at = 0; at < b.length; at++) {
    if (!Object.is(a[at], b[at]) && (mode !== 'loose' || a[at] !== b[at])) return false;
  }
  return true;
}

function areArraysEqual(a: unknown[], b: unknown[], mode: Mode, pairs: Pairs): boolean {
  if (mode === 'partial') return hasInOrder(a, b, pairs) && haveEqualKeys(a, b, mode, pairs, isIndex);
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) {
    if (Object.hasOwn(a, at) !== Object.hasOwn(b, at)) return false;
    if (!compare(a[at], b[at], mode, pairs)) return false;
  }
  return haveEqualKeys(a, b, mode, pairs, isIndex);
}

/** Whether `a` has the items of `b` in their order, with others between them. */
function hasInOrder(a: unknown[], b: unknown[], pairs: Pairs): boolean {
  let at = 0;
  for (const item of b) {
    while (at < a.length && !compare(a[at], item, 'partial', pairs)) at++;
    if (at++ >= a.length) return false;
  }
  return true;
}

function keysOf(value: object, mode: Mode, except?: (key: PropertyKey) => boolean): PropertyKey[] {
  const keys: PropertyKey[] = mode === 'loose' ? Object.keys(value) : Reflect.ownKeys(value);
  return keys.filter(key => Object.prototype.propertyIsEnumerable.call(value, key) && except?.(key) !== true);
}

function haveEqualKeys(
  a: object,
  b: object,
  mode: Mode,
  pairs: Pairs,
  except?: (key: PropertyKey) => boolean,
): boolean {
  const keys = keysOf(b, mode, except);
  if (mode !== 'partial' && keysOf(a, mode, except).length !== keys.length) return false;
  for (const key of keys) {
    if (!Object.prototype.propertyIsEnumerable.call(a, key)) return false;
    if (!compare(Reflect.get(a, key), Reflect.get(b, key), mode, pairs)) return false;
  }
  return true;
}

/** Removes an equal item from `rest`. */
function takeEqual<T>(rest: Set<T>, isEqual: (item: T) => boolean): boolean {
  for (const item of rest) {
    if (!isEqual(item)) continue;
    rest.delete(item);
    return true;
  }
  return false;
}

function areSetsEqual(a: Set<unknown>, b: Set<unknown>, mode: Mode, pairs: Pairs): boolean {
  if (mode === 'partial' ? a.size < b.size : a.size !== b.size) return false;
  const rest = new Set(a);
  const others: unknown[] = [];
  for (const value of b) {
    if (!rest.delete(value)) {
      if (mode !== 'loose' && !isObject(value)) return false;
      others.push(value);
    }
  }
  return others.every(value => takeEqual(rest, item => compare(item, value, mode, pairs)));
}

function areMapsEqual(a: Map<unknown, unknown>, b: Map<unknown, unknown>, mode: Mode, pairs: Pairs): boolean {
  if (mode === 'partial' ? a.size < b.size : a.size !== b.size) return false;
  const rest = new Set(a.keys());
  const others: unknown[] = [];
  for (const [key, value] of b) {
    if (rest.has(key)) {
      if (compare(a.get(key), value, mode, pairs)) {
        rest.delete(key);
        continue;
      }
      if (mode !== 'loose') return false;
    }
    if (mode !== 'loose' && !isObject(key)) return false;
    others.push(key);
  }
  return others.every(key =>
    takeEqual(rest, item => compare(item, key, mode, pairs) && compare(a.get(item), b.get(key), mode, pairs)),
  );
}
