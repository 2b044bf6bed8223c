/** URLSearchParams and its encoding. @see https://url.spec.whatwg.org/#interface-urlsearchparams */
import {
  arrayPush,
  arraySort,
  arraySplice,
  decodeComponent,
  encodeComponent,
  getOwnPropertyDescriptor,
  ownKeys,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  TypeErrorCtor,
} from '../../primordials.ts';
import { decodeUtf8WithBom, encodeUtf8 } from '../../utf8.ts';
import {
  defineInterface,
  defineValue,
  forEachOf,
  invoke,
  isCallable,
  isObject,
  requireArguments,
  toUSVString,
} from '../base/idl.ts';
import { percentDecode } from '../base/percent-decode.ts';

/** Names and values alternately. */
type Pairs = string[];

export let createQueryOf: (query: string, onChange: (query: string) => void) => URLSearchParams;
export let replaceQuery: (params: URLSearchParams, query: string) => void;
/** The pairs of a URLSearchParams object, names and values alternately; undefined for anything else. */
export let pairsOf: (value: unknown) => readonly string[] | undefined;

export class URLSearchParams {
  #pairs: Pairs = [];
  #onChange: ((query: string) => void) | undefined;

  constructor(init: unknown = undefined) {
    if (init === undefined) return;
    if (!isObject(init)) {
      const text = toUSVString(init);
      this.#pairs = parseQuery(text);
      return;
    }
    const pairs: Pairs = [];
    if (!forEachOf(init, item => addPair(pairs, item))) {
      const record: { readonly [name: string]: unknown } = init as never; // every object can be read from
      for (const key of ownKeys(record)) {
        if (getOwnPropertyDescriptor(record, key)?.enumerable !== true) continue;
        if (typeof key === 'symbol') throw new TypeErrorCtor('A symbol is not the name of a parameter');
        const name = toUSVString(key);
        const value = toUSVString(record[key]);
        let at = 0;
        while (at < pairs.length && pairs[at] !== name) at += 2;
        pairs[at] = name;
        pairs[at + 1] = value;
      }
    }
    this.#pairs = pairs;
  }

  get size(): number {
    return this.#pairs.length / 2;
  }

  append(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'URLSearchParams.append');
    const nameText = toUSVString(name);
    const valueText = toUSVString(value);
    arrayPush(this.#pairs, nameText);
    arrayPush(this.#pairs, valueText);
    this.#changed();
  }

  delete(name: unknown, value: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'URLSearchParams.delete');
    const nameText = toUSVString(name);
    const valueText = value === undefined ? undefined : toUSVString(value);
    const pairs = this.#pairs;
    for (let i = pairs.length - 2; i >= 0; i -= 2) {
      if (pairs[i] === nameText && (valueText === undefined || pairs[i + 1] === valueText)) arraySplice(pairs, i, 2);
    }
    this.#changed();
  }

  get(name: unknown): string | null {
    requireArguments(arguments.length, 1, 'URLSearchParams.get');
    const nameText = toUSVString(name);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === nameText) return pairs[i + 1] ?? null;
    return null;
  }

  getAll(name: unknown): string[] {
    requireArguments(arguments.length, 1, 'URLSearchParams.getAll');
    const nameText = toUSVString(name);
    const pairs = this.#pairs;
    const values: string[] = [];
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === nameText) arrayPush(values, pairs[i + 1] ?? '');
    return values;
  }

  has(name: unknown, value: unknown = undefined): boolean {
    requireArguments(arguments.length, 1, 'URLSearchParams.has');
    const nameText = toUSVString(name);
    const valueText = value === undefined ? undefined : toUSVString(value);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) {
      if (pairs[i] === nameText && (valueText === undefined || pairs[i + 1] === valueText)) return true;
    }
    return false;
  }

  set(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'URLSearchParams.set');
    const nameText = toUSVString(name);
    const valueText = toUSVString(value);
    const pairs = this.#pairs;
    let first = 0;
    while (first < pairs.length && pairs[first] !== nameText) first += 2;
    for (let i = pairs.length - 2; i > first; i -= 2) if (pairs[i] === nameText) arraySplice(pairs, i, 2);
    pairs[first] = nameText;
    pairs[first + 1] = valueText;
    this.#changed();
  }

  sort(): void {
    const pairs = this.#pairs;
    const sorted: (readonly [string, string])[] = [];
    for (let i = 0; i < pairs.length; i += 2) arrayPush(sorted, [pairs[i] ?? '', pairs[i + 1] ?? ''] as const);
    // Strings compare by code units, as the standard wants it, and the sort is stable.
    arraySort(sorted, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    for (let i = 0; i < sorted.length; i++) {
      const pair = sorted[i];
      if (pair === undefined) continue;
      pairs[i * 2] = pair[0];
      pairs[i * 2 + 1] = pair[1];
    }
    this.#changed();
  }

  forEach(callback: unknown, receiver: unknown = undefined): void {
    requireArguments(arguments.length, 1, 'URLSearchParams.forEach');
    if (!isCallable(callback)) throw new TypeErrorCtor('The callback of forEach is not a function');
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) invoke(callback, receiver, [pairs[i + 1], pairs[i], this]);
  }

  keys(): PairIterator {
    return new PairIterator(this.#checked(), KEYS);
  }

  values(): PairIterator {
    return new PairIterator(this.#checked(), VALUES);
  }

  entries(): PairIterator {
    return new PairIterator(this.#checked(), ENTRIES);
  }

  toString(): string {
    return serializeQuery(this.#pairs);
  }

  #checked(): this {
    void this.#pairs;
    return this;
  }

  #changed(): void {
    this.#onChange?.(serializeQuery(this.#pairs));
  }

  static {
    createQueryOf = (query, onChange) => {
      const params = new URLSearchParams();
      params.#pairs = parseQuery(query);
      params.#onChange = onChange;
      return params;
    };
    replaceQuery = (params, query) => {
      params.#pairs = parseQuery(query);
    };
    pairsOf = value => (typeof value === 'object' && value !== null && #pairs in value ? value.#pairs : undefined);
  }
}

const KEYS = 0;
const VALUES = 1;
const ENTRIES = 2;

class PairIterator {
  readonly #params: URLSearchParams;
  readonly #kind: number;
  #index = 0;

  constructor(params: URLSearchParams, kind: number) {
    this.#params = params;
    this.#kind = kind;
  }

  next(): IteratorResult<string | string[]> {
    const index = this.#index;
    const pairs = pairsOf(this.#params) ?? [];
    if (index >= pairs.length) return { value: undefined, done: true };
    this.#index = index + 2;
    const name = pairs[index] ?? '';
    const value = pairs[index + 1] ?? '';
    return { value: this.#kind === KEYS ? name : this.#kind === VALUES ? value : [name, value], done: false };
  }
}

const ArrayIteratorPrototype: object = Reflect.getPrototypeOf([][Symbol.iterator]()) ?? {};
Reflect.setPrototypeOf(PairIterator.prototype, Reflect.getPrototypeOf(ArrayIteratorPrototype));
defineInterface(PairIterator, 'URLSearchParams Iterator');
// The prototype of an iterator leads to no constructor.
Reflect.deleteProperty(PairIterator.prototype, 'constructor');

defineInterface(URLSearchParams);
defineValue(URLSearchParams.prototype, Symbol.iterator, URLSearchParams.prototype.entries);

function addPair(pairs: Pairs, item: unknown): void {
  if (!isObject(item)) throw new TypeErrorCtor('An item of the sequence is not a pair of a name and a value');
  const pair: string[] = [];
  const isIterable = forEachOf(item, part => {
    arrayPush(pair, toUSVString(part));
  });
  if (!isIterable || pair.length !== 2) {
    throw new TypeErrorCtor('An item of the sequence is not a pair of a name and a value');
  }
  arrayPush(pairs, pair[0] ?? '');
  arrayPush(pairs, pair[1] ?? '');
}

/** @see https://url.spec.whatwg.org/#concept-urlencoded-parser */
export function parseQuery(query: string): Pairs {
  const pairs: Pairs = [];
  let start = query[0] === '?' ? 1 : 0;
  while (start < query.length) {
    const found = stringIndexOf(query, '&', start);
    const end = found < 0 ? query.length : found;
    if (end > start) {
      const equals = stringIndexOf(query, '=', start);
      const nameEnd = equals < 0 || equals > end ? end : equals;
      arrayPush(pairs, decodePart(stringSlice(query, start, nameEnd)));
      arrayPush(pairs, nameEnd < end ? decodePart(stringSlice(query, nameEnd + 1, end)) : '');
    }
    start = end + 1;
  }
  return pairs;
}

const PERCENT = 0x25;
const PLUS = 0x2b;

function decodePart(part: string): string {
  let text = '';
  let copied = 0;
  let hasPercent = false;
  for (let i = 0; i < part.length; i++) {
    const c = stringCharCodeAt(part, i);
    if (c === PERCENT) {
      hasPercent = true;
    } else if (c === PLUS) {
      text += `${stringSlice(part, copied, i)} `;
      copied = i + 1;
    }
  }
  text = copied === 0 ? part : text + stringSlice(part, copied);
  if (!hasPercent) return text;
  try {
    return decodeComponent(text);
  } catch {
    // Malformed escapes stay as they are, and bytes that are not UTF-8 become U+FFFD.
    return decodeUtf8WithBom(percentDecode(encodeUtf8(text)));
  }
}

/** @see https://url.spec.whatwg.org/#concept-urlencoded-serializer */
export function serializeQuery(pairs: readonly string[]): string {
  let query = '';
  for (let i = 0; i < pairs.length; i += 2) {
    if (i > 0) query += '&';
    query += `${encodePart(pairs[i] ?? '')}=${encodePart(pairs[i + 1] ?? '')}`;
  }
  return query;
}

/** The escape of each ASCII character; undefined when it stays. */
const ESCAPES: readonly (string | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/[*\-._0-9A-Za-z]/.test(character)) return undefined;
  return character === ' ' ? '+' : `%${code < 16 ? '0' : ''}${code.toString(16).toUpperCase()}`;
});

function encodePart(part: string): string {
  let text = '';
  let copied = 0;
  for (let i = 0; i < part.length; i++) {
    const code = stringCharCodeAt(part, i);
    if (code < 128) {
      const escape = ESCAPES[code];
      if (escape === undefined) continue;
      text += stringSlice(part, copied, i) + escape;
      copied = i + 1;
      continue;
    }
    // Strings in here are well-formed, so a surrogate is the first of two.
    const units = code >= 0xd800 && code <= 0xdbff ? 2 : 1;
    text += stringSlice(part, copied, i) + encodeComponent(stringSlice(part, i, i + units));
    i += units - 1;
    copied = i + 1;
  }
  return copied === 0 ? part : text + stringSlice(part, copied);
}
