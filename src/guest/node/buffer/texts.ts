/** The methods of buffers that read and write text, and those that fill. */
import { checkInteger, codeError, invalidArgType, invalidArgValue, outOfRange } from '../errors.ts';
import { decode, type Encoding, encode, encodingOf } from './encodings.ts';
import type { NodeBuffer } from './node-buffer.ts';

type Bytes = Uint8Array;
type Methods = { [name: string]: (this: never, ...args: never[]) => unknown };

function known(name: unknown): Encoding {
  const encoding = encodingOf(name);
  if (encoding === undefined) throw codeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
  return encoding;
}

/** The text holds as many whole characters as there is room for. */
function write(bytes: Bytes, text: string, offset: number, length: number, encoding: Encoding): number {
  let data = encode(text, encoding);
  if (data.length > length) {
    let end = length;
    if (encoding === 'utf8') while (end > 0 && ((data[end] ?? 0) & 0xc0) === 0x80) end--;
    else if (encoding === 'utf16le') end -= end % 2;
    data = data.subarray(0, end);
  }
  Uint8Array.prototype.set.call(bytes, data, offset);
  return data.length;
}

function clamp(value: unknown, fallback: number, most: number): number {
  if (value === undefined) return fallback;
  const number = Math.trunc(Number(value)) || 0;
  return Math.min(Math.max(number, 0), most);
}

export function textMethods(over: (bytes: Bytes) => NodeBuffer): Methods {
  const own = {
    toString(this: NodeBuffer, encoding?: unknown, start?: unknown, end?: unknown): string {
      const from = clamp(start, 0, this.length);
      const to = clamp(end, this.length, this.length);
      if (to <= from) return '';
      return decode(this.subarray(from, to), known(encoding));
    },
    write(this: NodeBuffer, text: unknown, offset?: unknown, length?: unknown, encoding?: unknown): number {
      if (typeof text !== 'string') throw invalidArgType('argument', 'string', text);
      if (offset === undefined) return write(this, text, 0, this.length, 'utf8');
      if (typeof offset === 'string') return write(this, text, 0, this.length, known(offset));
      checkInteger(offset, 'offset', 0, this.length);
      const most = this.length - offset;
      if (length === undefined) return write(this, text, offset, most, known(encoding));
      if (typeof length === 'string') return write(this, text, offset, most, known(length));
      checkInteger(length, 'length', 0, this.length);
      return write(this, text, offset, Math.min(length, most), known(encoding));
    },
    fill(this: NodeBuffer, value: unknown, offset?: unknown, end?: unknown, encoding?: unknown): NodeBuffer {
      return fill(this, value, offset, end, encoding);
    },
    toJSON(this: NodeBuffer): object {
      return { type: 'Buffer', data: Array.from(this) };
    },
    slice(this: NodeBuffer, start?: number, end?: number): NodeBuffer {
      return this.subarray(start, end);
    },
    subarray(this: NodeBuffer, start?: number, end?: number): NodeBuffer {
      return over(
        Uint8Array.prototype.subarray.call(new Uint8Array(this.buffer, this.byteOffset, this.byteLength), start, end),
      );
    },
  };
  const methods: Methods = Object.assign(Object.create(null), own, { toLocaleString: own.toString });
  for (const [name, encoding] of [
    ['utf8', 'utf8'],
    ['latin1', 'latin1'],
    ['ascii', 'ascii'],
    ['ucs2', 'utf16le'],
    ['hex', 'hex'],
    ['base64', 'base64'],
    ['base64url', 'base64url'],
  ] as const) {
    methods[`${name}Slice`] = function (this: NodeBuffer, start = 0, end = this.length): string {
      return decode(this.subarray(start, end), encoding);
    } as Methods[string];
    methods[`${name}Write`] = function (this: NodeBuffer, text: string, offset = 0, length?: number): number {
      const most = this.length - offset;
      return write(this, text, offset, Math.min(length ?? most, most), encoding);
    } as Methods[string];
  }
  return methods;
}

function fill(bytes: NodeBuffer, value: unknown, offset: unknown, end: unknown, encoding: unknown): NodeBuffer {
  let start = offset;
  let stop = end;
  let name = encoding;
  if (typeof value === 'string') {
    if (typeof start === 'string') {
      name = start;
      start = undefined;
      stop = undefined;
    } else if (typeof stop === 'string') {
      name = stop;
      stop = undefined;
    }
    if (name !== undefined && typeof name !== 'string') throw invalidArgType('encoding', 'string', name);
  }
  if (start === undefined) start = 0;
  else if (typeof start !== 'number') throw invalidArgType('offset', 'number', start);
  else if (!(start >= 0 && start <= bytes.length)) throw outOfRange('offset', `>= 0 && <= ${bytes.length}`, start);
  if (stop === undefined) stop = bytes.length;
  else if (typeof stop !== 'number') throw invalidArgType('end', 'number', stop);
  else if (!(stop >= 0 && stop <= bytes.length)) throw outOfRange('end', `>= 0 && <= ${bytes.length}`, stop);
  const [from, to] = [Math.trunc(Number(start)), Math.trunc(Number(stop))];
  if (from >= to) return bytes;
  if (typeof value === 'string' || value instanceof Uint8Array) {
    const pattern = typeof value === 'string' ? encode(value, known(name)) : value;
    if (pattern.length === 0) {
      if (typeof value === 'string' && value.length === 0) {
        Uint8Array.prototype.fill.call(bytes, 0, from, to);
        return bytes;
      }
      throw invalidArgValue('value', value);
    }
    for (let at = from; at < to; at++) bytes[at] = pattern[(at - from) % pattern.length] ?? 0;
    return bytes;
  }
  Uint8Array.prototype.fill.call(bytes, Number(value) & 255, from, to);
  return bytes;
}
