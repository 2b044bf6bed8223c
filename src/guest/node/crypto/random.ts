/** Random bytes, numbers and UUIDs. */

import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import { isArrayBuffer, isBufferSource, viewOf } from '../../web/base/buffers.ts';
import { crypto } from '../../web/crypto/crypto.ts';
import { Buffer } from '../buffer/buffer.ts';
import type { NodeBuffer } from '../buffer/node-buffer.ts';
import { checkBoolean, checkFunction, checkNumber, invalidArgType, outOfRange } from '../errors.ts';
import { later } from './signatures.ts';

const MOST = 2 ** 31 - 1;
const PIECE_BYTES = 65_536;

function fill(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) op(Op.Random, bytes.subarray(at, at + PIECE_BYTES));
}

export function randomBytes(size: unknown, callback?: unknown): unknown {
  checkNumber(size, 'size', 0, MOST);
  if (callback !== undefined) checkFunction(callback, 'callback');
  const make = (): NodeBuffer => {
    const bytes = Buffer.alloc(size);
    fill(bytes);
    return bytes;
  };
  return callback === undefined ? make() : later(make, callback);
}

function part(buffer: unknown, offset: unknown, size: unknown): Uint8Array {
  if (!isBufferSource(buffer)) throw invalidArgType('buf', ['ArrayBuffer', 'ArrayBufferView'], buffer);
  const view = viewOf(buffer);
  const unit = isArrayBuffer(buffer) ? 1 : ((buffer as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1); // a view of any kind
  const start = amount(offset ?? 0, 'offset', unit, view.byteLength);
  const length = size === undefined ? view.byteLength - start : amount(size, 'size', unit, view.byteLength);
  if (start + length > view.byteLength) throw outOfRange('size + offset', `<= ${view.byteLength}`, start + length);
  return new Uint8Array(view.buffer, view.byteOffset + start, length);
}

function amount(value: unknown, name: string, unit: number, most: number): number {
  checkNumber(value, name);
  const bytes = value * unit;
  if (Number.isNaN(bytes) || bytes > most || bytes < 0) throw outOfRange(name, `>= 0 && <= ${most}`, bytes);
  return Math.trunc(bytes);
}

export function randomFillSync(buffer: unknown, offset?: unknown, size?: unknown): unknown {
  fill(part(buffer, offset, size));
  return buffer;
}

export function randomFill(buffer: unknown, ...rest: unknown[]): void {
  const callback = rest.pop();
  checkFunction(callback, 'callback');
  const target = part(buffer, rest[0], rest[1]);
  later(() => {
    fill(target);
    return buffer;
  }, callback);
}

/** 48 bits, as Node. */
const RANGE_LIMIT = 2 ** 48 - 1;

export function randomInt(...given: unknown[]): unknown {
  const callback = typeof given.at(-1) === 'function' ? given.pop() : undefined;
  const [min, max] = given.length < 2 ? [0, given[0]] : given;
  if (!Number.isSafeInteger(min)) throw invalidArgType('min', 'a safe integer', min);
  if (!Number.isSafeInteger(max)) throw invalidArgType('max', 'a safe integer', max);
  const low = min as number; // as checked
  const high = max as number; // as checked
  if (high <= low) throw outOfRange('max', `greater than the value of "min" (${low})`, high);
  const range = high - low;
  if (range > RANGE_LIMIT) throw outOfRange(given.length < 2 ? 'max' : 'max - min', `<= ${RANGE_LIMIT}`, range);
  const make = (): number => {
    // Values at the end of 48 bits would make the first numbers of the range more likely.
    const end = RANGE_LIMIT - (RANGE_LIMIT % range);
    for (;;) {
      const bytes = Buffer.alloc(6);
      fill(bytes);
      let value = 0;
      for (const byte of bytes) value = value * 256 + byte;
      if (value < end) return low + (value % range);
    }
  };
  return callback === undefined ? make() : later(make, callback);
}

export function randomUUID(options?: unknown): string {
  if (options !== undefined) {
    if (typeof options !== 'object' || options === null) throw invalidArgType('options', 'Object', options);
    const { disableEntropyCache } = options as { disableEntropyCache?: unknown }; // read as unknown and checked
    if (disableEntropyCache !== undefined) checkBoolean(disableEntropyCache, 'options.disableEntropyCache');
  }
  return crypto.randomUUID();
}
