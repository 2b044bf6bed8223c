/** node:buffer. */
import { atob, btoa } from '../../web/encoding/base64.ts';
import { TextDecoder } from '../../web/encoding/encoding.ts';
import { Blob, File } from '../../web/file/blob.ts';
import { checkNumber, codeError, invalidArgType } from '../errors.ts';
import { inspect, inspectCustom } from '../util/inspect.ts';
import { byteLengthOf, decode, type Encoding, encode, encodingOf } from './encodings.ts';
import type { NodeBuffer } from './node-buffer.ts';
import { numberMethods } from './numbers.ts';
import { compareBytes, searchMethods } from './search.ts';
import { textMethods } from './texts.ts';

const MAX_LENGTH = 2 ** 32;
const MAX_STRING_LENGTH = 536870888;

export interface BufferConstructor {
  new (value: unknown, encodingOrOffset?: unknown, length?: unknown): NodeBuffer;
  (value: unknown, encodingOrOffset?: unknown, length?: unknown): NodeBuffer;
  readonly prototype: NodeBuffer;
  poolSize: number;
  from(value: unknown, encodingOrOffset?: unknown, length?: unknown): NodeBuffer;
  alloc(size: number, fill?: unknown, encoding?: unknown): NodeBuffer;
  allocUnsafe(size: number): NodeBuffer;
  allocUnsafeSlow(size: number): NodeBuffer;
  concat(list: readonly Uint8Array[], length?: number): NodeBuffer;
  isBuffer(value: unknown): value is NodeBuffer;
  isEncoding(name: unknown): boolean;
  byteLength(value: unknown, encoding?: unknown): number;
  compare(a: Uint8Array, b: Uint8Array): number;
}

class FastBuffer extends Uint8Array {}

/** The buffer over the memory of an array, which is shared. */
function over(bytes: Uint8Array): NodeBuffer {
  return new FastBuffer(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength) as unknown as NodeBuffer; // its prototype has the methods
}

function construct(value: unknown, encodingOrOffset?: unknown, length?: unknown): NodeBuffer {
  if (typeof value === 'number') {
    if (typeof encodingOrOffset === 'string') throw invalidArgType('string', 'string', value);
    return alloc(value);
  }
  return from(value, encodingOrOffset, length);
}
/** Functions of the language are callable and constructors, which TypeScript has no form for. */
export const Buffer = construct as unknown as BufferConstructor;
Object.defineProperty(Buffer, 'name', { value: 'Buffer', configurable: true });
Object.setPrototypeOf(Buffer, Uint8Array);
const proto = FastBuffer.prototype as unknown as NodeBuffer;
Object.defineProperty(Buffer, 'prototype', { value: proto, writable: false });
Object.defineProperty(proto, 'constructor', { value: Buffer, writable: true, configurable: true });
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });

function checkSize(size: unknown): asserts size is number {
  checkNumber(size, 'size', 0, MAX_LENGTH);
}

function alloc(size: number, fill?: unknown, encoding?: unknown): NodeBuffer {
  checkSize(size);
  const buffer = new FastBuffer(size) as unknown as NodeBuffer; // its prototype has the methods
  if (fill !== undefined && fill !== 0 && size > 0) buffer.fill(fill, encoding);
  return buffer;
}

function knownEncoding(name: unknown): Encoding {
  const encoding = encodingOf(name);
  if (encoding === undefined) throw codeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return encoding;
}

function from(value: unknown, encodingOrOffset?: unknown, length?: unknown): NodeBuffer {
  if (typeof value === 'string') {
    return over(encode(value, knownEncoding(typeof encodingOrOffset === 'string' ? encodingOrOffset : undefined)));
  }
  if (typeof value === 'object' && value !== null) {
    if (isAnyArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
    const primitive: unknown = value.valueOf?.();
    if (
      primitive !== null &&
      primitive !== undefined &&
      primitive !== value &&
      (typeof primitive === 'string' || typeof primitive === 'object')
    ) {
      return from(primitive, encodingOrOffset, length);
    }
    const copy = fromObject(value);
    if (copy !== undefined) return copy;
    const convert: unknown = Reflect.get(value, Symbol.toPrimitive);
    if (typeof convert === 'function') {
      const text: unknown = convert.call(value, 'string');
      if (typeof text === 'string') return from(text, encodingOrOffset);
    }
  }
  throw invalidArgType('first argument', ['string', 'Buffer', 'ArrayBuffer', 'Array', 'Array-like Object'], value);
}

const bufferLength = Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get;

function isAnyArrayBuffer(value: object): value is ArrayBuffer {
  try {
    bufferLength?.call(value);
    return true;
  } catch {
    return false;
  }
}

function fromArrayBuffer(value: ArrayBuffer, offset: unknown, length: unknown): NodeBuffer {
  let start = Number(offset ?? 0);
  if (Number.isNaN(start)) start = 0;
  const most = value.byteLength - start;
  if (most < 0) throw codeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
  let size = length === undefined ? most : Number(length);
  if (!(size > 0)) size = 0;
  if (size > most) throw codeError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
  return new FastBuffer(value, start, size) as unknown as NodeBuffer; // its prototype has the methods
}

function fromObject(value: object): NodeBuffer | undefined {
  if ('length' in value || isAnyArrayBuffer((value as { buffer?: object }).buffer ?? {})) {
    const { length } = value as { length?: unknown }; // every object can be read from
    if (typeof length !== 'number') return alloc(0);
    if (length <= 0) return alloc(0);
    const buffer = alloc(length);
    for (let at = 0; at < length; at++) buffer[at] = Number((value as ArrayLike<unknown>)[at]); // has a length
    return buffer;
  }
  const { type, data } = value as { type?: unknown; data?: unknown }; // every object can be read from
  if (type === 'Buffer' && Array.isArray(data)) return fromObject(data);
  return undefined;
}

function isBytes(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array;
}

function concat(list: readonly Uint8Array[], length?: number): NodeBuffer {
  if (!Array.isArray(list)) throw invalidArgType('list', 'Array', list);
  if (list.length === 0) return alloc(0);
  let size = 0;
  if (length === undefined) for (const item of list) size += Number(item?.length) || 0;
  else {
    checkNumber(length, 'length', 0, MAX_LENGTH);
    size = length;
  }
  const buffer = alloc(size);
  let at = 0;
  for (let index = 0; index < list.length; index++) {
    const item: unknown = list[index];
    if (!isBytes(item)) throw invalidArgType(`list[${index}]`, ['Buffer', 'Uint8Array'], item);
    const part = item.length > size - at ? item.subarray(0, size - at) : item;
    Uint8Array.prototype.set.call(buffer, part, at);
    at += part.length;
  }
  return buffer;
}

function byteLength(value: unknown, encoding?: unknown): number {
  if (typeof value === 'string') return byteLengthOf(value, encodingOf(encoding) ?? 'utf8');
  if (ArrayBuffer.isView(value) || (typeof value === 'object' && value !== null && isAnyArrayBuffer(value))) {
    return value.byteLength;
  }
  throw invalidArgType('string', ['string', 'Buffer', 'ArrayBuffer'], value);
}

function compare(a: unknown, b: unknown): number {
  if (!isBytes(a)) throw invalidArgType('buf1', ['Buffer', 'Uint8Array'], a);
  if (!isBytes(b)) throw invalidArgType('buf2', ['Buffer', 'Uint8Array'], b);
  return compareBytes(a, b);
}

function copyBytesFrom(view: unknown, offset = 0, length?: number): NodeBuffer {
  if (!ArrayBuffer.isView(view) || view instanceof DataView) throw invalidArgType('view', ['TypedArray'], view);
  const typed = view as Uint8Array; // any typed array
  const end = length === undefined ? typed.length : offset + length;
  const part = typed.subarray(offset, end);
  const copy = alloc(part.byteLength);
  copy.set(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  return copy;
}

function defineAll(target: object, members: object): void {
  for (const key of Reflect.ownKeys(members)) {
    const value: unknown = Reflect.get(members, key);
    Object.defineProperty(target, key, { value, enumerable: true, writable: true, configurable: true });
  }
}

defineAll(Buffer, {
  poolSize: 8192,
  from,
  of: (...items: number[]) => from(items),
  alloc,
  allocUnsafe: (size: number) => alloc(size),
  allocUnsafeSlow: (size: number) => alloc(size),
  isBuffer: (value: unknown) => value instanceof FastBuffer,
  isEncoding: (name: unknown) => typeof name === 'string' && name.length > 0 && encodingOf(name) !== undefined,
  byteLength,
  compare,
  concat,
  copyBytesFrom,
});

let inspectMaxBytes = 50;

defineAll(proto, {
  ...numberMethods(),
  ...textMethods(over),
  ...searchMethods(),
  [inspectCustom](this: NodeBuffer, _depth: unknown, options: object): string {
    const shown = Math.min(inspectMaxBytes, this.length);
    const rest = this.length - shown;
    let text = decode(this.subarray(0, shown), 'hex')
      .replace(/(.{2})/g, '$1 ')
      .trim();
    if (rest > 0) text += ` ... ${rest} more byte${rest > 1 ? 's' : ''}`;
    const extras = Object.keys(this).filter(key => !/^\d+$/.test(key));
    if (extras.length > 0) {
      const object = Object.fromEntries(extras.map(key => [key, Reflect.get(this, key)]));
      const inner = inspect(object, { ...options, breakLength: Infinity, compact: true });
      text += `${this.length > 0 ? ', ' : ''}${inner.slice(2, -2)}`;
    }
    return `<${this.constructor.name}${text === '' ? ' ' : ` ${text}`}>`;
  },
});
for (const [name, get] of [
  ['parent', (buffer: NodeBuffer) => buffer.buffer],
  ['offset', (buffer: NodeBuffer) => buffer.byteOffset],
] as const) {
  Object.defineProperty(proto, name, {
    get(this: NodeBuffer) {
      return this instanceof FastBuffer ? get(this) : undefined;
    },
    enumerable: true,
  });
}

function isAscii(input: unknown): boolean {
  return bytesOfInput(input).every(byte => byte < 128);
}

function isUtf8(input: unknown): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytesOfInput(input));
    return true;
  } catch {
    return false;
  }
}

function bytesOfInput(input: unknown): Uint8Array {
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer as ArrayBuffer, input.byteOffset, input.byteLength);
  if (typeof input === 'object' && input !== null && isAnyArrayBuffer(input)) return new Uint8Array(input);
  throw invalidArgType('input', ['ArrayBuffer', 'Buffer', 'TypedArray'], input);
}

function transcode(source: unknown, fromEncoding: unknown, toEncoding: unknown): NodeBuffer {
  if (!isBytes(source)) throw invalidArgType('source', ['Buffer', 'Uint8Array'], source);
  const [before, after] = [encodingOf(fromEncoding), encodingOf(toEncoding)];
  const known: readonly (Encoding | undefined)[] = ['utf8', 'utf16le', 'latin1', 'ascii'];
  if (!known.includes(before) || !known.includes(after) || before === undefined || after === undefined) {
    throw codeError(Error, 'U_ILLEGAL_ARGUMENT_ERROR', 'Unable to transcode Buffer [U_ILLEGAL_ARGUMENT_ERROR]');
  }
  const text = decode(source, before);
  if (after !== 'latin1' && after !== 'ascii') return over(encode(text, after));
  const most = after === 'ascii' ? 127 : 255;
  return from(Array.from(text, character => ((character.codePointAt(0) ?? 0) > most ? 63 : character.charCodeAt(0))));
}

const bufferModule = {
  Buffer,
  SlowBuffer: (size: number) => alloc(size),
  Blob,
  File,
  atob,
  btoa,
  constants: { MAX_LENGTH, MAX_STRING_LENGTH },
  kMaxLength: MAX_LENGTH,
  kStringMaxLength: MAX_STRING_LENGTH,
  isAscii,
  isUtf8,
  transcode,
  get INSPECT_MAX_BYTES() {
    return inspectMaxBytes;
  },
  set INSPECT_MAX_BYTES(value: unknown) {
    checkNumber(value, 'INSPECT_MAX_BYTES', 0);
    inspectMaxBytes = value;
  },
};

export default bufferModule;
