/** Checks the arguments that function code gives to the storage of an object. */
import { OBJECT_STORAGE_LIMITS } from '../../../bindings/objects/storage-limits.ts';
import {
  arrayPush,
  dateGetTime,
  isArray,
  MapCtor,
  mapSet,
  mathTrunc,
  objectKeys,
  RangeErrorCtor,
  arraySort as sort,
  stringCharCodeAt,
  stringToWellFormed,
  TypeErrorCtor,
  typedArrayLength,
} from '../../primordials.ts';
import { encodeUtf8 } from '../../utf8.ts';
import { isObject, toDictionary, toDouble } from '../../web/base/idl.ts';
import type { Entries } from './packing.ts';
import { encodeValue } from './values.ts';

export interface StorageCallOptions {
  /** The output gate stays open. */
  readonly allowUnconfirmed: boolean;
  /** The input gate stays open. */
  readonly allowConcurrency: boolean;
  /** Read values are not kept in memory. */
  readonly noCache: boolean;
}

const USUAL: StorageCallOptions = { allowUnconfirmed: false, allowConcurrency: false, noCache: false };

export function toOptions(options: unknown): StorageCallOptions {
  const given = toDictionary(options, 'The options of the storage');
  if (given === undefined) return USUAL;
  return {
    allowUnconfirmed: Boolean(given.allowUnconfirmed),
    allowConcurrency: Boolean(given.allowConcurrency),
    noCache: Boolean(given.noCache),
  };
}

export function toKey(value: unknown): string {
  const key = stringToWellFormed(typeof value === 'string' ? value : `${value}`);
  const { keyBytes } = OBJECT_STORAGE_LIMITS;
  if (key.length * 3 > keyBytes && (key.length > keyBytes || typedArrayLength(encodeUtf8(key)) > keyBytes))
    throw new RangeErrorCtor(`Keys cannot be larger than ${keyBytes} bytes.`);
  return key;
}

/** undefined: one key was given. Each key stands once, in the order of the keys. */
export function toKeys(value: unknown): string[] | undefined {
  if (!isArray(value)) return undefined;
  const { keys: most } = OBJECT_STORAGE_LIMITS;
  if (value.length > most) throw new RangeErrorCtor(`Maximum number of keys is ${most}.`);
  const keys: string[] = [];
  for (let i = 0; i < value.length; i++) arrayPush(keys, toKey(value[i]));
  return sortedUnique(keys);
}

export function sortedUnique(keys: string[]): string[] {
  sort(keys, compareKeys);
  const unique: string[] = [];
  for (let i = 0; i < keys.length; i++) if (i === 0 || keys[i] !== keys[i - 1]) arrayPush(unique, keys[i] ?? '');
  return unique;
}

/** Pairs of keys and values in turn, undefined values left out. */
export function toPairs(value: object): Entries {
  const names = objectKeys(value);
  const { keys: most } = OBJECT_STORAGE_LIMITS;
  if (names.length > most) throw new RangeErrorCtor(`Maximum number of pairs is ${most}.`);
  const pairs: Entries = new MapCtor();
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? '';
    const item = (value as { readonly [name: string]: unknown })[name]; // every object can be read from
    if (item !== undefined) mapSet(pairs, toKey(name), encodeValue(item));
  }
  return pairs;
}

export interface ListRange {
  /** Inclusive. */
  readonly from: string | undefined;
  /** Exclusive. */
  readonly to: string | undefined;
  readonly prefix: string | undefined;
  readonly isReverse: boolean;
  readonly limit: number;
}

/** No more entries than that can be in memory. */
const NO_LIMIT = 0x7fff_ffff;

export function toListRange(options: unknown): ListRange {
  const given = toDictionary(options, 'The options of list()') ?? {};
  const { start, startAfter, end, prefix, reverse, limit } = given;
  if (start !== undefined && startAfter !== undefined)
    throw new TypeErrorCtor('list() cannot be called with both start and startAfter values.');
  const from = start !== undefined ? toKey(start) : startAfter === undefined ? undefined : `${toKey(startAfter)}\0`;
  let most = NO_LIMIT;
  if (limit !== undefined) {
    most = toDouble(limit, 'The limit of list()');
    if (most < 1) throw new TypeErrorCtor('List limit must be positive.');
    if (most > NO_LIMIT) most = NO_LIMIT;
    most |= 0;
  }
  return {
    from,
    to: end === undefined ? undefined : toKey(end),
    prefix: prefix === undefined ? undefined : toKey(prefix),
    isReverse: Boolean(reverse),
    limit: most,
  };
}

/** A time in milliseconds since the epoch. */
export function toAlarmTime(value: unknown): number {
  const time = isObject(value) && isDate(value) ? dateGetTime(value) : +(value as number); // unary plus is ToNumber
  if (!(time - time === 0)) throw new TypeErrorCtor('setAlarm() must be called with a time in milliseconds, or a Date');
  if (time <= 0) throw new TypeErrorCtor('setAlarm() cannot be called with an alarm time <= 0');
  const ms = mathTrunc(time);
  if (ms > MAX_TIME_MS) throw new TypeErrorCtor('setAlarm() cannot be called with a time that no Date can have');
  return ms < 1 ? 1 : ms;
}

function isDate(value: object): boolean {
  try {
    dateGetTime(value); // throws for everything that has no such slot
    return true;
  } catch {
    return false;
  }
}

/** The order of UTF-8 bytes, which is the order of code points: surrogates come behind all other code units. */
export function compareKeys(a: string, b: string): number {
  const length = a.length < b.length ? a.length : b.length;
  for (let i = 0; i < length; i++) {
    const left = stringCharCodeAt(a, i);
    const right = stringCharCodeAt(b, i);
    if (left !== right) return rankOf(left) - rankOf(right);
  }
  return a.length - b.length;
}

function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

const MAX_TIME_MS = 8.64e15;
