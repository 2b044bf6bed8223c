/**
 * Checks the arguments that a guest passes to an op (rules R17 and R18): by typeof, strings by length before any other use, integers by
 * range, bytes by brand. Nothing here runs guest code: brands and lengths come from captured getters that read internal slots.
 */
import { types } from 'node:util';

/** An op that fails this way reaches the guest as an error of the guest's own realm. */
export class OpError {
  readonly name: string;
  readonly message: string;
  readonly code: string;

  constructor(name: string, message: string, code = '') {
    this.name = name;
    this.message = message;
    this.code = code;
  }
}

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
const { apply } = Reflect;
const { isUint8Array, isArrayBuffer } = types;

function getter(prototype: object, name: string): (this: unknown) => unknown {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (get === undefined) throw new Error(`${name} has no getter`);
  return get;
}

const bufferOf = getter(TypedArrayPrototype, 'buffer');
const byteLengthOf = getter(TypedArrayPrototype, 'byteLength');
const isResizable = getter(ArrayBuffer.prototype, 'resizable');
const setBytes: (this: unknown, source: unknown, offset?: number) => void = TypedArrayPrototype.set;

export function checkedText(value: unknown, maxLength: number): string {
  if (typeof value !== 'string') throw new OpError('TypeError', 'The argument is not a string');
  if (value.length > maxLength) throw new OpError('RangeError', `The string is longer than ${maxLength} characters`);
  return value;
}

export function optionalText(value: unknown, maxLength: number): string | undefined {
  return value === undefined ? undefined : checkedText(value, maxLength);
}

export function checkedInteger(value: unknown, min: number, max: number): number {
  if (typeof value !== 'number' || !(value >= min && value <= max) || value !== Math.trunc(value)) {
    throw new OpError('RangeError', `The argument is not an integer from ${min} to ${max}`);
  }
  return withoutNegativeZero(value);
}

/** Node's native code takes -0 for no integer, and ends the process for it (`zlib.crc32('', -0)`). */
export function withoutNegativeZero(value: number): number {
  return value + 0;
}

/** The length of a guest's byte array that is safe to read or fill now; its content may change at the next turn of the guest. */
function guestLength(value: unknown): number {
  if (!isUint8Array(value)) throw new OpError('TypeError', 'The argument is not a Uint8Array');
  const buffer = apply(bufferOf, value, []);
  if (!isArrayBuffer(buffer) || apply(isResizable, buffer, []) === true) {
    throw new OpError('TypeError', 'The bytes are in a shared or resizable buffer');
  }
  return Number(apply(byteLengthOf, value, []));
}

/** A copy of the guest's bytes in memory of the host realm. */
export function copyIn(value: unknown, maxBytes: number): Uint8Array {
  const length = guestLength(value);
  if (length > maxBytes) throw new OpError('RangeError', `${length} bytes are more than the ${maxBytes} allowed`);
  const copy = Buffer.allocUnsafeSlow(length);
  apply(setBytes, copy, [value]);
  return copy;
}

/** Copies the guest's bytes to the start of `target` when it has room; answers their number either way. */
export function copyWhenItFits(target: Uint8Array, guestBytes: unknown, maxBytes: number): number {
  const length = guestByteLength(guestBytes, maxBytes);
  if (length <= target.length) apply(setBytes, target, [guestBytes]);
  return length;
}

export function guestByteLength(value: unknown, maxBytes: number): number {
  const length = guestLength(value);
  if (length > maxBytes) throw new OpError('RangeError', `${length} bytes are more than the ${maxBytes} allowed`);
  return length;
}

/** Fills the guest's array from its start; `source` must not be longer than it. */
export function copyOut(guestBytes: unknown, source: Uint8Array, offset = 0): void {
  if (offset + source.length > guestLength(guestBytes)) throw new OpError('RangeError', 'The array is too small');
  apply(setBytes, guestBytes, [source, offset]);
}

/** The buffer of a guest's byte array, for an engine function that takes nothing else of it than its memory. */
export function guestBuffer(value: unknown): ArrayBuffer {
  guestLength(value);
  return apply(bufferOf, value, []) as ArrayBuffer; // guestLength has refused everything else
}
