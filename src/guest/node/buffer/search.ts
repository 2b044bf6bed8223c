/** The methods of buffers that compare, search, copy and swap. */
import { codeError, invalidArgType, outOfRange } from '../errors.ts';
import { encode, encodingOf } from './encodings.ts';
import type { NodeBuffer } from './node-buffer.ts';

type Bytes = Uint8Array;
type Methods = { [name: string]: (this: never, ...args: never[]) => unknown };

export function compareBytes(a: Bytes, b: Bytes): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

/** Where `bytes` has the pattern, at a multiple of `step`; -1 for nowhere. */
export function indexIn(bytes: Bytes, pattern: Bytes, start: number, isForward: boolean, step: number): number {
  const last = bytes.length - pattern.length;
  let at = isForward ? start : Math.min(start, last);
  if (step === 2 && at % 2 === 1) at += isForward ? 1 : -1;
  for (; isForward ? at <= last : at >= 0; at += isForward ? step : -step) {
    let length = 0;
    while (length < pattern.length && bytes[at + length] === pattern[length]) length++;
    if (length === pattern.length) return at;
  }
  return -1;
}

function indexOf(bytes: Bytes, value: unknown, offset: unknown, encoding: unknown, isForward: boolean): number {
  let start: unknown = offset;
  let name = encoding;
  if (typeof start === 'string') {
    name = start;
    start = undefined;
  }
  let at = Number(start);
  if (at > 0x7fffffff) at = 0x7fffffff;
  else if (at < -0x80000000) at = -0x80000000;
  if (Number.isNaN(at)) at = isForward ? 0 : bytes.length;
  at = Math.trunc(at);
  if (at < 0) at += bytes.length;
  if (at < 0) {
    if (!isForward) return -1;
    at = 0;
  }
  if (typeof value === 'number') {
    const byte = value & 255;
    return isForward
      ? Uint8Array.prototype.indexOf.call(bytes, byte, at)
      : Uint8Array.prototype.lastIndexOf.call(bytes, byte, at);
  }
  let pattern: Bytes;
  let step = 1;
  if (typeof value === 'string') {
    const known = encodingOf(name);
    if (known === undefined) throw codeError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${name}`);
    pattern = encode(value, known);
    if (known === 'utf16le') step = 2;
  } else if (value instanceof Uint8Array) {
    pattern = value;
    if (encodingOf(name) === 'utf16le') step = 2;
  } else throw invalidArgType('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
  if (pattern.length === 0) return Math.min(at, bytes.length);
  return indexIn(bytes, pattern, at, isForward, step);
}

function swap(bytes: NodeBuffer, size: number): NodeBuffer {
  if (bytes.length % size !== 0) {
    throw codeError(RangeError, 'ERR_INVALID_BUFFER_SIZE', `Buffer size must be a multiple of ${size * 8}-bits`);
  }
  for (let at = 0; at < bytes.length; at += size) {
    Uint8Array.prototype.reverse.call(new Uint8Array(bytes.buffer, bytes.byteOffset + at, size));
  }
  return bytes;
}

function bound(value: unknown, name: string, fallback: number, most: number): number {
  if (value === undefined) return fallback;
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < 0 || value > most) throw outOfRange(name, `>= 0 && <= ${most}`, value);
  return value;
}

/** An offset of copy(): as Node converts it. */
function integerOf(value: unknown, fallback: number): number {
  if (value === undefined) return fallback;
  const number = Number(value);
  return Number.isNaN(number) ? fallback : Math.trunc(number);
}

export function searchMethods(): Methods {
  return {
    equals(this: NodeBuffer, other: unknown): boolean {
      if (!(other instanceof Uint8Array)) throw invalidArgType('otherBuffer', ['Buffer', 'Uint8Array'], other);
      return this === other || (this.length === other.length && compareBytes(this, other) === 0);
    },
    compare(this: NodeBuffer, target: unknown, ts?: unknown, te?: unknown, ss?: unknown, se?: unknown): number {
      if (!(target instanceof Uint8Array)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
      const targetStart = bound(ts, 'targetStart', 0, Number.MAX_SAFE_INTEGER);
      const targetEnd = bound(te, 'targetEnd', target.length, target.length);
      const start = bound(ss, 'sourceStart', 0, Number.MAX_SAFE_INTEGER);
      const end = bound(se, 'sourceEnd', this.length, this.length);
      if (start >= end) return targetStart >= targetEnd ? 0 : -1;
      if (targetStart >= targetEnd) return 1;
      return compareBytes(this.subarray(start, end), target.subarray(targetStart, targetEnd));
    },
    indexOf(this: NodeBuffer, value: unknown, offset?: unknown, encoding?: unknown): number {
      return indexOf(this, value, offset, encoding, true);
    },
    lastIndexOf(this: NodeBuffer, value: unknown, offset?: unknown, encoding?: unknown): number {
      return indexOf(this, value, offset, encoding, false);
    },
    includes(this: NodeBuffer, value: unknown, offset?: unknown, encoding?: unknown): boolean {
      return indexOf(this, value, offset, encoding, true) >= 0;
    },
    copy(this: NodeBuffer, target: unknown, ts?: unknown, ss?: unknown, se?: unknown): number {
      if (!(target instanceof Uint8Array)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
      const targetStart = integerOf(ts, 0);
      if (targetStart < 0) throw outOfRange('targetStart', '>= 0', targetStart);
      const start = integerOf(ss, 0);
      if (start < 0 || start > this.length) throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, start);
      let end = integerOf(se, this.length);
      if (end < 0) throw outOfRange('sourceEnd', '>= 0', end);
      if (targetStart >= target.length || start >= end) return 0;
      end = Math.min(end, this.length, start + target.length - targetStart);
      Uint8Array.prototype.set.call(target, this.subarray(start, end), targetStart);
      return end - start;
    },
    swap16(this: NodeBuffer) {
      return swap(this, 2);
    },
    swap32(this: NodeBuffer) {
      return swap(this, 4);
    },
    swap64(this: NodeBuffer) {
      return swap(this, 8);
    },
  };
}
