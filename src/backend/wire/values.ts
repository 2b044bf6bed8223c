/**
 * Values as JSON text. A value that JSON cannot carry stands in it as an object with the one key `$`: an array of its kind and its parts. Bytes are not in the
 * text: their length is, and they follow it, in the order in which they stand in the text.
 */
import { REGISTRY } from '../../bindings/registry.js';
import { asBuffer } from '../../protocol/frames/buffer-views.js';
import { objectFrom } from '../../quotas/host/chosen-names.js';
import { type BindingErrors, decodeError, encodeError } from './errors.js';

export interface EncodedValue {
  readonly text: string;
  readonly bytes: readonly Uint8Array[];
}

/** @throws TypeError for a value that has no such form: a function, a symbol, an object of a class */
export function encodeValue(value: unknown): EncodedValue {
  const bytes: Uint8Array[] = [];
  return { text: JSON.stringify(encode(value, bytes)), bytes };
}

/**
 * @param bytes those that follow the text. The value has copies.
 * @param errors the rows of the bindings whose errors the value may have. @default the bindings of the package
 * @throws TypeError for a text that `encodeValue` does not make
 */
export function decodeValue(text: string, bytes: Uint8Array, errors: BindingErrors = REGISTRY): unknown {
  // Most values have nothing that JSON cannot carry.
  const value: unknown = JSON.parse(text);
  return text.includes('"$"') ? decode(value, new ByteReader(bytes, errors)) : value;
}

function encode(value: unknown, bytes: Uint8Array[]): unknown {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) ? value : special('number', String(value));
    case 'undefined':
      return special('undefined');
    case 'bigint':
      return special('bigint', String(value));
    case 'object':
      return value === null ? null : encodeObject(value, bytes);
    default:
      throw new TypeError(`A value of type ${typeof value} cannot be sent to another process`);
  }
}

function encodeObject(value: object, bytes: Uint8Array[]): unknown {
  if (Array.isArray(value)) return value.map(item => encode(item, bytes));
  if (value instanceof Uint8Array) {
    bytes.push(value);
    return special('bytes', value.length);
  }
  if (value instanceof Date) return special('date', value.getTime());
  if (value instanceof Error) return special('error', encode(encodeError(value), bytes));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw new TypeError(`An object of class ${value.constructor.name} cannot be sent to another process`);
  }
  const copy = objectFrom(Object.entries(value).map(([key, item]) => [key, encode(item, bytes)]));
  return Object.hasOwn(copy, '$') ? special('object', Object.entries(copy)) : copy;
}

function special(kind: string, from?: unknown): unknown {
  return { $: from === undefined ? [kind] : [kind, from] };
}

function decode(value: unknown, bytes: ByteReader): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(item => decode(item, bytes));
  if ('$' in value) return decodeSpecial(value.$, bytes);
  return fromEntries(Object.entries(value), bytes);
}

function fromEntries(entries: unknown[], bytes: ByteReader): unknown {
  return objectFrom(
    entries.map((entry): [string, unknown] => {
      if (!Array.isArray(entry) || typeof entry[0] !== 'string') throw malformed();
      return [entry[0], decode(entry[1], bytes)];
    }),
  );
}

function decodeSpecial(special: unknown, bytes: ByteReader): unknown {
  if (!Array.isArray(special)) throw malformed();
  const [kind, from]: unknown[] = special;
  if (kind === 'undefined') return undefined;
  if (kind === 'number') return Number(from);
  if (kind === 'bigint' && typeof from === 'string') return BigInt(from);
  if (kind === 'date') return new Date(typeof from === 'number' ? from : Number.NaN);
  if (kind === 'bytes' && typeof from === 'number') return bytes.take(from);
  if (kind === 'error') return decodeError(decode(from, bytes), bytes.errors);
  if (kind === 'object' && Array.isArray(from)) return fromEntries(from, bytes);
  throw malformed();
}

function malformed(): TypeError {
  return new TypeError('A value that came from another process is malformed');
}

class ByteReader {
  readonly errors: BindingErrors;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array, errors: BindingErrors) {
    this.errors = errors;
    this.#bytes = asBuffer(bytes);
  }

  take(length: number): Buffer {
    const end = this.#at + length;
    if (!Number.isInteger(length) || length < 0 || end > this.#bytes.length) throw malformed();
    const taken = Buffer.from(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    return taken;
  }
}
