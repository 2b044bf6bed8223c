/** Headers. @see https://fetch.spec.whatwg.org/#headers-class */
import { getOwnPropertyDescriptor, ownKeys, reflectApply, TypeErrorCtor, uncurry } from '../../primordials.ts';
import { defineInterface, forEachOf, isCallable, isObject, requireArguments, toByteString } from '../base/idl.ts';
import { createPairIterators, defineIterator } from '../base/iterable.ts';
import {
  appendPair,
  getValue,
  type HeaderPairs,
  hasName,
  isValue,
  normalizeName,
  normalizeValue,
  type Pair,
  removeName,
  setPair,
  sortAndCombine,
} from './header-list.ts';

/** The guards of a server: only browsers have forbidden names, so a guard only decides whether the list may change. */
export type HeadersGuard = 'none' | 'immutable';

/** Marks a construction by this bundle: the second argument is then the list itself, the third the guard. */
const INTERNAL = Symbol('internal');

export let headersPairs: (headers: Headers) => HeaderPairs;
export let isHeaders: (value: unknown) => value is Headers;

/** Headers around a list that its creator continues to use. */
export function createHeaders(pairs: HeaderPairs, guard: HeadersGuard): Headers {
  return new Headers(INTERNAL, pairs, guard);
}

export class Headers {
  #pairs: HeaderPairs;
  #guard: HeadersGuard = 'none';
  /** The sorted list that iteration uses; undefined after a change. */
  #sorted: Pair[] | undefined;

  constructor(init?: unknown, ...internal: unknown[]);
  constructor(init: unknown = undefined, pairs?: HeaderPairs, guard?: HeadersGuard) {
    if (init === INTERNAL && pairs !== undefined && guard !== undefined) {
      this.#pairs = pairs;
      this.#guard = guard;
      return;
    }
    this.#pairs = [];
    if (init !== undefined) fillHeaders(this.#pairs, init, 'Headers constructor: init');
  }

  append(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.append');
    const key = checkedName(name, 'append');
    const text = checkedValue(value, 'append');
    this.#checkMutable();
    appendPair(this.#pairs, key, text);
  }

  delete(name: unknown): void {
    requireArguments(arguments.length, 1, 'Headers.delete');
    const key = checkedName(name, 'delete');
    this.#checkMutable();
    removeName(this.#pairs, key);
  }

  get(name: unknown): string | null {
    const pairs = this.#pairs;
    requireArguments(arguments.length, 1, 'Headers.get');
    return getValue(pairs, checkedName(name, 'get'));
  }

  getSetCookie(): string[] {
    const pairs = this.#pairs;
    const cookies: string[] = [];
    for (let i = 0; i < pairs.length; i += 2) {
      if (pairs[i] === 'set-cookie') cookies[cookies.length] = pairs[i + 1] ?? '';
    }
    return cookies;
  }

  has(name: unknown): boolean {
    const pairs = this.#pairs;
    requireArguments(arguments.length, 1, 'Headers.has');
    return hasName(pairs, checkedName(name, 'has'));
  }

  set(name: unknown, value: unknown): void {
    requireArguments(arguments.length, 2, 'Headers.set');
    const key = checkedName(name, 'set');
    const text = checkedValue(value, 'set');
    this.#checkMutable();
    setPair(this.#pairs, key, text);
  }

  entries(): IterableIterator<unknown> {
    return iterate(this.#source(), 'entries');
  }

  forEach(callback: unknown, thisArg: unknown = undefined): void {
    const source = this.#source();
    requireArguments(arguments.length, 1, 'Headers.forEach');
    if (!isCallable(callback)) throw new TypeErrorCtor('Headers.forEach: the callback is not a function');
    for (let i = 0, pair = source.pairAt(0); pair !== undefined; pair = source.pairAt(++i)) {
      reflectApply(callback, thisArg, [pair[1], pair[0], this] as never); // a callback of function code takes anything
    }
  }

  keys(): IterableIterator<unknown> {
    return iterate(this.#source(), 'keys');
  }

  values(): IterableIterator<unknown> {
    return iterate(this.#source(), 'values');
  }

  #checkMutable(): void {
    if (this.#guard === 'immutable') throw new TypeErrorCtor('These headers are immutable; make a copy to change them');
    this.#sorted = undefined;
  }

  #source(): { pairAt(index: number): Pair | undefined } {
    const pairs = this.#pairs; // throws for another receiver
    let length = -1;
    return {
      pairAt: index => {
        // The list may also change by its owner, which only ever adds.
        if (this.#sorted === undefined || length !== pairs.length) this.#sorted = sortAndCombine(pairs);
        length = pairs.length;
        return this.#sorted[index];
      },
    };
  }

  static {
    headersPairs = headers => headers.#pairs;
    isHeaders = (value): value is Headers => typeof value === 'object' && value !== null && #pairs in value;
  }
}

const iterate = createPairIterators('Headers');
defineIterator(Headers, 'entries');
defineInterface(Headers, 'Headers');
const entriesMethod: unknown = getOwnPropertyDescriptor(Headers.prototype, Symbol.iterator)?.value;

function checkedName(name: unknown, method: string): string {
  const key = normalizeName(typeof name === 'string' ? name : toByteString(name, `Headers.${method}: name`));
  if (key === undefined) throw new TypeErrorCtor(`Headers.${method}: ${quote(name)} is not a header name`);
  return key;
}

function checkedValue(value: unknown, method: string): string {
  const text = normalizeValue(toByteString(value, `Headers.${method}: value`));
  if (!isValue(text)) throw new TypeErrorCtor(`Headers.${method}: ${quote(value)} is not a header value`);
  return text;
}

function quote(value: unknown): string {
  return typeof value === 'string' && value.length <= 200 ? `"${value}"` : 'the argument';
}

/** "Fill a Headers object". @see https://fetch.spec.whatwg.org/#concept-headers-fill */
export function fillHeaders(pairs: HeaderPairs, init: unknown, what: string): void {
  if (!isObject(init)) throw new TypeErrorCtor(`${what} is neither a sequence of pairs nor a record`);
  if (isHeaders(init) && isUnpatched(init)) {
    const source = headersPairs(init);
    for (let i = 0; i < source.length; i++) pairs[pairs.length] = source[i] ?? '';
    return;
  }
  // All of the argument is converted before the first pair is added, as WebIDL has it.
  const converted: string[] = [];
  const isSequence = forEachOf(init, item => readPair(converted, item, what));
  if (!isSequence) readRecord(converted, init, what);
  for (let i = 0; i < converted.length; i += 2) {
    appendPair(pairs, checkedName(converted[i], 'append'), checkedValue(converted[i + 1], 'append'));
  }
}

/** A Headers object whose iteration is our own need not be iterated. */
function isUnpatched(headers: Headers): boolean {
  return (headers as { [Symbol.iterator]?: unknown })[Symbol.iterator] === entriesMethod; // only compared
}

function readPair(converted: string[], item: unknown, what: string): void {
  if (!isObject(item)) throw new TypeErrorCtor(`${what} has an item that is not a sequence`);
  let count = 0;
  const isSequence = forEachOf(item, part => {
    count++;
    converted[converted.length] = toByteString(part, what);
  });
  if (!isSequence) throw new TypeErrorCtor(`${what} has an item that is not a sequence`);
  if (count !== 2) throw new TypeErrorCtor(`${what} has an item of ${count} parts; a header is a name and a value`);
}

/** One [[GetOwnProperty]] of the object, as WebIDL wants it. */
const isEnumerable = uncurry(Object.prototype.propertyIsEnumerable);

function readRecord(converted: string[], init: object, what: string): void {
  const keys = ownKeys(init);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (key === undefined || !isEnumerable(init, key)) continue;
    const name = toByteString(key, what);
    const value = toByteString((init as Record<string, unknown>)[name], what); // any object can be read from
    appendPair(converted, name, value);
  }
}
