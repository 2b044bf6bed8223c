/** Values of functions, decoded in the application's process. Everything in them was written by a function. */
import { isObject } from '../../quotas/schema/describe.js';
import { MAX_BIGINT_DIGITS, MAX_DEPTH, MAX_NUMERIC_KEYS, MAX_OBJECTS, MAX_VALUES, TOO_MANY_PARTS } from './calls.js';

/** The byte arrays and the stream that a value refers to beside its JSON. */
export interface ValueParts {
  /** In the order in which the value has them. The value gets their memory. */
  readonly bytes: readonly Uint8Array<ArrayBuffer>[];
  readonly stream: ReadableStream<Uint8Array> | undefined;
}

/** Decodes arrays with tags of their own; undefined for a tag that it does not know. */
export type DecodeOther = (encoded: readonly unknown[]) => object | undefined;

type View = new (buffer: ArrayBuffer) => ArrayBufferView;

const VIEWS: ReadonlyMap<string, View> = new Map<string, View>(
  [
    DataView,
    Uint8Array,
    Uint8ClampedArray,
    Uint16Array,
    Uint32Array,
    Int8Array,
    Int16Array,
    Int32Array,
    BigInt64Array,
    BigUint64Array,
    Float32Array,
    Float64Array,
  ].map(view => [view.name, view]),
);

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
  ['-0', -0],
]);

export interface DecodedValue {
  readonly value: unknown;
  /** About what it takes of the heap, without the memory of `parts`: it may outlive the JSON that it was decoded from. */
  readonly heapBytes: number;
}

/** Measured on Node 20.20, empty and with their place in an array. */
const OBJECT_BYTES = 88;
const COLLECTION_BYTES = 208;
/** Of an item, a property or an entry. */
const ITEM_BYTES = 32;
const STRING_BYTES = 24;

/** @throws TypeError or RangeError for what no function of this package sends, and for a property named `__proto__` */
export function decodeValue(encoded: unknown, parts: ValueParts, other?: DecodeOther): DecodedValue {
  const decoder = new Decoder(parts, other);
  const value = decoder.value(encoded, 0);
  return { value, heapBytes: decoder.heapBytes };
}

class Decoder {
  readonly #parts: ValueParts;
  readonly #other: DecodeOther | undefined;
  /** By their numbers. */
  readonly #objects: unknown[] = [];
  #bytesRead = 0;
  #isStreamRead = false;
  #numericKeys = 0;
  #objectCount = 0;
  #valueCount = 0;
  heapBytes = 0;

  constructor(parts: ValueParts, other: DecodeOther | undefined) {
    this.#parts = parts;
    this.#other = other;
  }

  value(encoded: unknown, depth: number): unknown {
    this.heapBytes += ITEM_BYTES;
    if (++this.#valueCount > MAX_VALUES) throw new RangeError(TOO_MANY_PARTS);
    if (!Array.isArray(encoded)) {
      if (isObject(encoded)) throw malformed();
      if (typeof encoded === 'string') this.heapBytes += STRING_BYTES + encoded.length * 2;
      return encoded;
    }
    if (depth > MAX_DEPTH) throw malformed();
    // References to one and what stands for a primitive value as well: they are arrays that were parsed.
    if (++this.#objectCount > MAX_OBJECTS) throw new RangeError(TOO_MANY_PARTS);
    const [tag, ...rest]: unknown[] = encoded;
    const [first] = rest;
    switch (tag) {
      case 'a':
        return this.#array(rest, depth + 1);
      case 'o':
        return this.#object(rest, depth + 1);
      case 'm':
        return this.#map(rest, depth + 1);
      case 's':
        return this.#set(rest, depth + 1);
      case 'e':
        return this.#error(rest, depth + 1);
      case 'b':
        return this.#keep(this.#bytes(first));
      case 't':
        return this.#keep(this.#stream());
      case 'd':
        return this.#keep(new Date(typeof first === 'number' ? first : Number.NaN));
      case 'r':
        return this.#known(first);
      case 'u':
        return undefined;
      case 'n':
        return NUMBERS.get(first);
      case 'i':
        return this.#bigint(first);
      default: {
        const object = this.#other?.(encoded);
        if (object === undefined) throw malformed();
        return this.#keep(object);
      }
    }
  }

  #keep<T>(object: T, bytes = OBJECT_BYTES): T {
    this.#objects.push(object);
    this.heapBytes += bytes;
    return object;
  }

  /** Of a Map or a Set. */
  #key(encoded: unknown, depth: number): unknown {
    const key = this.value(encoded, depth);
    if ((typeof key === 'number' || typeof key === 'bigint') && ++this.#numericKeys > MAX_NUMERIC_KEYS)
      throw malformed();
    return key;
  }

  #known(number: unknown): unknown {
    if (typeof number !== 'number' || !(number in this.#objects)) throw malformed();
    return this.#objects[number];
  }

  #array(items: readonly unknown[], depth: number): unknown[] {
    const array: unknown[] = this.#keep([]);
    for (const item of items) array.push(this.value(item, depth));
    return array;
  }

  #object(pairs: readonly unknown[], depth: number): object {
    const object = this.#keep({});
    for (const [name, item] of pairsOf(pairs)) {
      if (typeof name !== 'string') throw malformed();
      // As an own property it would become the prototype of an object that the application copies it to.
      if (name === '__proto__') throw new TypeError('A property named "__proto__" cannot be passed to the application');
      Object.defineProperty(object, name, {
        value: this.value(item, depth),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    return object;
  }

  #map(pairs: readonly unknown[], depth: number): Map<unknown, unknown> {
    const map = this.#keep(new Map<unknown, unknown>(), COLLECTION_BYTES);
    for (const [key, item] of pairsOf(pairs)) map.set(this.#key(key, depth), this.value(item, depth));
    return map;
  }

  #set(items: readonly unknown[], depth: number): Set<unknown> {
    const set = this.#keep(new Set<unknown>(), COLLECTION_BYTES);
    for (const item of items) set.add(this.#key(item, depth));
    return set;
  }

  #error([name, message, ...rest]: readonly unknown[], depth: number): Error {
    if (typeof name !== 'string' || typeof message !== 'string') throw malformed();
    const error = this.#keep(errorWithoutStack(message));
    this.heapBytes += (STRING_BYTES + (name.length + message.length) * 2) * 2;
    Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true });
    error.stack = `${name}: ${message}`;
    if (rest.length > 0) error.cause = this.value(rest[0], depth);
    return error;
  }

  #bigint(digits: unknown): bigint {
    const bigint = bigintOf(digits);
    this.heapBytes += STRING_BYTES + String(digits).length;
    return bigint;
  }

  #bytes(kind: unknown): ArrayBuffer | ArrayBufferView {
    const bytes = this.#parts.bytes[this.#bytesRead++];
    if (bytes === undefined || typeof kind !== 'string') throw malformed();
    const { buffer } = bytes;
    if (kind === 'ArrayBuffer') return buffer;
    const view = VIEWS.get(kind);
    if (view === undefined) throw malformed();
    // A RangeError for a length that is no multiple of its elements.
    return new view(buffer);
  }

  #stream(): ReadableStream<Uint8Array> {
    const { stream } = this.#parts;
    if (stream === undefined || this.#isStreamRead) throw malformed();
    this.#isStreamRead = true;
    return stream;
  }
}

/** The stack of this process says nothing of where the error came from, and to capture it takes ten times as long as all else. */
function errorWithoutStack(message: string): Error {
  const { stackTraceLimit } = Error;
  // Not by assignment: it fails where the application has frozen it.
  const isSet = Reflect.set(Error, 'stackTraceLimit', 0);
  try {
    return new Error(message);
  } finally {
    if (isSet) Reflect.set(Error, 'stackTraceLimit', stackTraceLimit);
  }
}

function* pairsOf(items: readonly unknown[]): Generator<[unknown, unknown]> {
  if (items.length % 2 !== 0) throw malformed();
  for (let at = 0; at < items.length; at += 2) yield [items[at], items[at + 1]];
}

function bigintOf(digits: unknown): bigint {
  if (typeof digits !== 'string' || digits.length > MAX_BIGINT_DIGITS || !/^-?[0-9a-f]+$/.test(digits)) {
    throw malformed();
  }
  return digits.startsWith('-') ? -BigInt(`0x${digits.slice(1)}`) : BigInt(`0x${digits}`);
}

function malformed(): TypeError {
  return new TypeError('The arguments of the call are malformed');
}
