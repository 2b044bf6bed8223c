/** The values that a statement is run with, as they travel. */
import type { WireParameter } from '../wire.js';

// Captured before function code runs, because it may replace them.
const { isArray } = Array;
const { isView } = ArrayBuffer;
const ErrorCtor = Error;
const Uint8ArrayCtor = Uint8Array;
const ArrayBufferCtor = ArrayBuffer;
const toText = String;
const { min } = Math;
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** The digits of this many bytes are joined at once. */
const CHUNK = 4096;

/** @throws Error D1_TYPE_ERROR */
export function wireValues(values: readonly unknown[]): WireParameter[] {
  const wire: WireParameter[] = [];
  for (let at = 0; at < values.length; at++) wire[at] = wireValue(values[at]);
  return wire;
}

function wireValue(value: unknown): WireParameter {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      // As in JSON.
      return value - value === 0 ? value : null;
    case 'boolean':
      return value ? 1 : 0;
    case 'object':
      if (value === null) return null;
      if (isView(value)) return { h: hexOf(new Uint8ArrayCtor(value.buffer, value.byteOffset, value.byteLength)) };
      if (value instanceof ArrayBufferCtor) return { h: hexOf(new Uint8ArrayCtor(value)) };
      if (isBytes(value)) return { h: hexOf(value) };
      throw unsupported(value);
    default:
      throw unsupported(value);
  }
}

function isBytes(value: object): value is readonly number[] {
  if (!isArray(value)) return false;
  for (let at = 0; at < value.length; at++) if (typeof value[at] !== 'number') return false;
  return true;
}

function hexOf(bytes: ArrayLike<number>): string {
  let all = '';
  for (let start = 0; start < bytes.length; start += CHUNK) {
    let chunk = '';
    const end = min(start + CHUNK, bytes.length);
    for (let at = start; at < end; at++) chunk += HEX[(bytes[at] ?? 0) & 0xff] ?? '00';
    all += chunk;
  }
  return all;
}

function unsupported(value: unknown): Error {
  const text = `Type '${typeof value}' not supported for value '${textOf(value)}'`;
  return new ErrorCtor(`D1_TYPE_ERROR: ${text}`, { cause: new ErrorCtor(text) });
}

function textOf(value: unknown): string {
  try {
    return toText(value);
  } catch {
    return typeof value;
  }
}
