/** Values of the application, encoded for functions. */
import { Readable } from 'node:stream';
import { isAnyArrayBuffer, isDate, isMap, isNativeError, isSet } from 'node:util/types';
import { describe } from '../../quotas/schema/describe.js';
import { MAX_BIGINT_DIGITS, MAX_BYTES, MAX_DEPTH, MAX_SEQUENCES } from './wire.js';

/** The kinds of streams of bytes that the application may return. */
export type ByteStream = ReadableStream<Uint8Array> | Readable;

export interface EncodedParts {
  readonly json: unknown;
  readonly bytes: readonly Uint8Array[];
  readonly stream: ByteStream | undefined;
}

/** @throws TypeError for a value that cannot be copied, RangeError for one that is too large or nested too deeply; both name the place */
export function encodeValue(value: unknown, place: string): EncodedParts {
  const encoder = new Encoder();
  const json = encoder.value(value, place, 0);
  return { json, bytes: encoder.bytes, stream: encoder.stream };
}

class Encoder {
  readonly bytes: Uint8Array[] = [];
  stream: ByteStream | undefined;
  readonly #numbers = new Map<object, number>();
  #byteCount = 0;

  value(value: unknown, place: string, depth: number): unknown {
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'undefined':
        return ['u'];
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : ['n', Object.is(value, -0) ? '-0' : `${value}`];
      case 'bigint':
        return ['i', digitsOf(value, place)];
      case 'object':
        return value === null ? null : this.#object(value, place, depth);
      default:
        throw new TypeError(`${place} is ${describe(value)}, which cannot be passed to a function`);
    }
  }

  #object(value: object, place: string, depth: number): unknown {
    const known = this.#numbers.get(value);
    if (known !== undefined) return ['r', known];
    if (depth > MAX_DEPTH) throw new RangeError(`${place} is nested more than ${MAX_DEPTH} levels deep`);
    this.#numbers.set(value, this.#numbers.size);
    const inner = (item: unknown, name: string): unknown => this.value(item, `${place}${name}`, depth + 1);
    if (Array.isArray(value)) return ['a', ...Array.from(value, (item, index) => inner(item, `[${index}]`))];
    if (isDate(value)) return ['d', Number.isNaN(value.getTime()) ? null : value.getTime()];
    if (isMap(value))
      return ['m', ...[...value].flatMap(([key, item]) => [inner(key, ' (key)'), inner(item, ' (value)')])];
    if (isSet(value)) return ['s', ...Array.from(value, item => inner(item, ' (item)'))];
    if (isNativeError(value)) {
      const { name, message, cause } = value;
      return ['e', `${name}`, `${message}`, ...(cause === undefined ? [] : [inner(cause, '.cause')])];
    }
    if (ArrayBuffer.isView(value)) return this.#view(value, place);
    if (isAnyArrayBuffer(value)) return this.#sequence('ArrayBuffer', new Uint8Array(value), place);
    if (value instanceof ReadableStream || value instanceof Readable) return this.#streamOf(value, place);
    return ['o', ...Object.entries(value).flatMap(([key, item]) => [key, inner(item, `.${key}`)])];
  }

  #view(view: ArrayBufferView, place: string): unknown {
    const { buffer, byteOffset, byteLength } = view;
    // For a Buffer this is Uint8Array, the class that functions have.
    const kind = Object.prototype.toString.call(view).slice('[object '.length, -1);
    return this.#sequence(kind, new Uint8Array(buffer, byteOffset, byteLength), place);
  }

  #sequence(kind: string, bytes: Uint8Array, place: string): unknown {
    this.#byteCount += bytes.byteLength;
    if (this.#byteCount > MAX_BYTES || this.bytes.length >= MAX_SEQUENCES) {
      throw new RangeError(
        `${place} makes ${this.bytes.length + 1} byte sequences of ${this.#byteCount} bytes, at most ${MAX_SEQUENCES} of ${MAX_BYTES} bytes are passed: answer with a stream`,
      );
    }
    this.bytes.push(bytes);
    return ['b', kind];
  }

  #streamOf(stream: ByteStream, place: string): unknown {
    if (this.stream !== undefined) throw new TypeError(`${place} is a second stream, only one can be passed`);
    if (stream instanceof ReadableStream && stream.locked) throw new TypeError(`${place} is a stream that is locked`);
    this.stream = stream;
    return ['t'];
  }
}

function digitsOf(value: bigint, place: string): string {
  const digits = value.toString(16);
  if (digits.length <= MAX_BIGINT_DIGITS) return digits;
  throw new RangeError(
    `${place} is a BigInt of ${digits.length} hexadecimal digits, at most ${MAX_BIGINT_DIGITS} are passed`,
  );
}
