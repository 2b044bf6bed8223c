/** Values of functions, decoded in the application's process. Everything in them was written by a function. */
import { isSparseIndex, makeSparse, setOwn } from '../../quotas/host/chosen-names.js';
import { heapBytesOfValue } from './value-bytes.js';
import { MAX_BIGINT_DIGITS } from './wire.js';

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

/** Decodes all of it at once: for values that are small. @throws as {@link ValueDecoder} does */
export function decodeValue(encoded: unknown, parts: ValueParts, other?: DecodeOther): unknown {
  heapBytesOfValue(encoded);
  const decoder = new ValueDecoder(encoded, parts, other);
  decoder.run(Number.POSITIVE_INFINITY);
  return decoder.value;
}

/** An object that is being filled from the array that stands for it. */
interface Filling {
  readonly list: readonly unknown[];
  /** The next item. */
  at: number;
  /** Takes the item, and others behind it that belong to it. */
  readonly next: (item: unknown, filling: Filling) => void;
}

/** How often the clock is looked at. */
const STEPS = 64;

/**
 * Decodes a value in steps, without recursion, so that it can stop between any two of them. An object is put where it belongs before it is filled. The value's
 * parts were counted before, by `heapBytesOfValue`.
 */
export class ValueDecoder {
  readonly #parts: ValueParts;
  readonly #other: DecodeOther | undefined;
  /** By their numbers. */
  readonly #objects: unknown[] = [];
  /** The innermost is the last. */
  readonly #open: Filling[] = [];
  #bytesRead = 0;
  #isStreamRead = false;
  /** Not to be used before it is whole. */
  readonly value: unknown;

  /** @throws TypeError or RangeError for what no function of this package sends, and for a property named `__proto__`; `run` does so, too */
  constructor(encoded: unknown, parts: ValueParts, other?: DecodeOther) {
    this.#parts = parts;
    this.#other = other;
    this.value = this.#begin(encoded);
  }

  /** Runs until the value is whole, or until about the time `untilMs` of `performance.now()`. @returns whether it is whole */
  run(untilMs: number): boolean {
    for (let step = 1; ; step++) {
      const filling = this.#open.at(-1);
      if (filling === undefined) return true;
      if (filling.at >= filling.list.length) this.#open.pop();
      else filling.next(filling.list[filling.at++], filling);
      if (step % STEPS === 0 && performance.now() >= untilMs) return false;
    }
  }

  /** A primitive value, or an object that is filled by the next steps. */
  #begin(encoded: unknown): unknown {
    if (typeof encoded !== 'object' || encoded === null) return encoded;
    if (!Array.isArray(encoded)) throw malformed();
    const list: readonly unknown[] = encoded;
    const first = list[1];
    switch (list[0]) {
      case 'a':
        return this.#array(list);
      case 'o':
        return this.#object(list);
      case 'm':
        return this.#map(list);
      case 's':
        return this.#set(list);
      case 'e':
        return this.#error(list);
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
        return bigintOf(first);
      default: {
        const object = this.#other?.(list);
        if (object === undefined) throw malformed();
        return this.#keep(object);
      }
    }
  }

  #keep<T>(object: T): T {
    this.#objects.push(object);
    return object;
  }

  /** Keeps an object that the next steps fill. */
  #fill<T>(object: T, list: readonly unknown[], next: Filling['next']): T {
    if (list.length > 1) this.#open.push({ list, at: 1, next });
    return this.#keep(object);
  }

  #known(number: unknown): unknown {
    if (typeof number !== 'number' || !(number in this.#objects)) throw malformed();
    return this.#objects[number];
  }

  #array(list: readonly unknown[]): unknown[] {
    // A copy has exactly the needed length; one that grows item by item is up to half as long again, and 17 items at least.
    const array = list.slice(1);
    return this.#fill(array, list, (item, filling) => {
      if (typeof item === 'object' && item !== null) array[filling.at - 2] = this.#begin(item);
    });
  }

  #object(list: readonly unknown[]): object {
    checkPairs(list);
    const object: Record<string, unknown> = {};
    const count = (list.length - 1) / 2;
    let isSparse = false;
    return this.#fill(object, list, (name, filling) => {
      if (typeof name !== 'string') throw malformed();
      // As an own property it would become the prototype of an object that the application copies it to.
      if (name === '__proto__') throw new TypeError('A property named "__proto__" cannot be passed to the application');
      if (!isSparse && isSparseIndex(name, count)) {
        isSparse = true;
        makeSparse(object);
      }
      setOwn(object, name, this.#begin(filling.list[filling.at++]));
    });
  }

  #map(list: readonly unknown[]): Map<unknown, unknown> {
    checkPairs(list);
    const map = new Map<unknown, unknown>();
    let key: unknown;
    return this.#fill(map, list, (item, { at }) => {
      // A key may be an object, which is filled before the value is begun.
      if (at % 2 === 0) key = this.#begin(item);
      else map.set(key, this.#begin(item));
    });
  }

  #set(list: readonly unknown[]): Set<unknown> {
    const set = new Set<unknown>();
    return this.#fill(set, list, item => {
      set.add(this.#begin(item));
    });
  }

  #error(list: readonly unknown[]): Error {
    const [, name, message] = list;
    if (typeof name !== 'string' || typeof message !== 'string') throw malformed();
    const error = errorWithoutStack(message);
    Object.defineProperty(error, 'name', { value: name, writable: true, configurable: true });
    error.stack = `${name}: ${message}`;
    return this.#fill(error, list.slice(2), item => {
      error.cause = this.#begin(item);
    });
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

function checkPairs(list: readonly unknown[]): void {
  if (list.length % 2 !== 1) throw malformed();
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
