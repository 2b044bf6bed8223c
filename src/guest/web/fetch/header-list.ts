/**
 * Header lists: names in lower case and values as byte strings, in one flat array `[name, value, name, value, ...]`, which is
 * what the bridge's heads are split into.
 * @see https://fetch.spec.whatwg.org/#concept-header-list
 */
import {
  arraySort,
  stringCharCodeAt,
  stringSlice,
  stringSplit,
  stringToLowerCase,
  Uint8ArrayCtor,
} from '../../primordials.ts';

export type HeaderPairs = string[];

const NOT_TOKEN = 0;
const UPPER = 2;

/** By character code: 0 for what a header name may not have, 2 for upper-case letters, 1 for the rest. */
const TOKEN = new Uint8ArrayCtor(256);
for (let code = 0x30; code <= 0x7a; code++) {
  const isDigit = code <= 0x39;
  const isUpper = code >= 0x41 && code <= 0x5a;
  if (isDigit || isUpper || code >= 0x61) TOKEN[code] = isUpper ? UPPER : 1;
}
for (const mark of "!#$%&'*+-.^_`|~") TOKEN[mark.charCodeAt(0)] = 1;

/** The name in lower case; undefined when it is not a header name. */
export function normalizeName(name: string): string | undefined {
  const { length } = name;
  if (length === 0) return undefined;
  let hasUpper = false;
  for (let i = 0; i < length; i++) {
    const code = stringCharCodeAt(name, i);
    const kind = code < 256 ? TOKEN[code] : NOT_TOKEN;
    if (kind === NOT_TOKEN) return undefined;
    if (kind === UPPER) hasUpper = true;
  }
  return hasUpper ? stringToLowerCase(name) : name;
}

export function isToken(text: string): boolean {
  return normalizeName(text) !== undefined;
}

function isHttpWhitespace(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

/** Strips leading and trailing HTTP whitespace. @see https://fetch.spec.whatwg.org/#concept-header-value-normalize */
export function normalizeValue(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isHttpWhitespace(stringCharCodeAt(value, start))) start++;
  while (end > start && isHttpWhitespace(stringCharCodeAt(value, end - 1))) end--;
  return start === 0 && end === value.length ? value : stringSlice(value, start, end);
}

/** @see https://fetch.spec.whatwg.org/#header-value */
export function isValue(value: string): boolean {
  for (let i = 0; i < value.length; i++) {
    const code = stringCharCodeAt(value, i);
    if (code === 0 || code === 0x0a || code === 0x0d || code > 255) return false;
  }
  return true;
}

/** Splits "name\nvalue\nname\nvalue", names as clients and servers wrote them; the empty text has no headers. */
export function parsePairs(text: string): HeaderPairs {
  if (text === '') return [];
  const pairs = stringSplit(text, '\n');
  for (let i = 0; i < pairs.length; i += 2) pairs[i] = stringToLowerCase(pairs[i] ?? '');
  return pairs;
}

/** The values of a name joined by ", "; null when the name is absent. `name` is in lower case. */
export function getValue(pairs: HeaderPairs, name: string): string | null {
  let value: string | null = null;
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] === name) value = value === null ? (pairs[i + 1] ?? '') : `${value}, ${pairs[i + 1]}`;
  }
  return value;
}

export function hasName(pairs: HeaderPairs, name: string): boolean {
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return true;
  return false;
}

export function appendPair(pairs: HeaderPairs, name: string, value: string): void {
  pairs[pairs.length] = name;
  pairs[pairs.length] = value;
}

/** @see https://fetch.spec.whatwg.org/#concept-header-list-set */
export function setPair(pairs: HeaderPairs, name: string, value: string): void {
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] !== name) continue;
    pairs[i + 1] = value;
    removeName(pairs, name, i + 2);
    return;
  }
  appendPair(pairs, name, value);
}

/** Removes the headers of that name from position `from` on. */
export function removeName(pairs: HeaderPairs, name: string, from = 0): void {
  let kept = from;
  for (let i = from; i < pairs.length; i += 2) {
    const other = pairs[i];
    if (other === name || other === undefined) continue;
    pairs[kept] = other;
    pairs[kept + 1] = pairs[i + 1] ?? '';
    kept += 2;
  }
  pairs.length = kept;
}

export type Pair = readonly [name: string, value: string];

/** "Sort and combine". @see https://fetch.spec.whatwg.org/#concept-header-list-sort-and-combine */
export function sortAndCombine(pairs: HeaderPairs): Pair[] {
  const sorted: MutablePair[] = [];
  let isInOrder = true;
  let last = '';
  for (let i = 0; i < pairs.length; i += 2) {
    const name = pairs[i] ?? '';
    // Equal names count as out of order, so that they are combined below.
    if (name <= last) isInOrder = false;
    last = name;
    sorted[sorted.length] = [name, pairs[i + 1] ?? ''];
  }
  if (isInOrder) return sorted;
  arraySort(sorted, byName); // a stable sort, so values stay in their order
  const combined: MutablePair[] = [];
  for (let i = 0; i < sorted.length; i++) {
    const item = sorted[i];
    if (item === undefined) continue;
    const previous = combined[combined.length - 1];
    if (previous !== undefined && previous[0] === item[0] && item[0] !== 'set-cookie') previous[1] += `, ${item[1]}`;
    else combined[combined.length] = item;
  }
  return combined;
}

type MutablePair = [name: string, value: string];

function byName(a: Pair, b: Pair): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
}

/** "name\nvalue\nname\nvalue". */
export function joinPairs(pairs: HeaderPairs): string {
  let text = '';
  for (let i = 0; i < pairs.length; i++) text += i === 0 ? pairs[i] : `\n${pairs[i]}`;
  return text;
}

/** The length that content-length gives, where it is one. */
export function declaredLength(pairs: HeaderPairs): number | undefined {
  const value = getValue(pairs, 'content-length');
  if (value === null || value === '' || value.length > 15) return undefined;
  const length = +value;
  return length >= 0 && length % 1 === 0 ? length : undefined;
}
