/** `BufferSource`: bytes that function code passes, as a view on the same memory. @see https://webidl.spec.whatwg.org/#BufferSource */
import {
  arrayBufferByteLength,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  isView,
  TypeErrorCtor,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayName,
  typedArraySet,
  Uint8ArrayCtor,
} from '../primordials.ts';
import { isObject } from './idl.ts';

/** The bytes of an ArrayBuffer, typed array or DataView, not copied. Of a detached buffer there are none. */
export function bytesOf(value: unknown, what: string): Uint8Array {
  const bytes = tryBytesOf(value);
  if (bytes === undefined) throw new TypeErrorCtor(`${what} is not an ArrayBuffer or a view on one`);
  return bytes;
}

/** The same, undefined for what is no BufferSource. */
export function tryBytesOf(value: unknown): Uint8Array | undefined {
  if (isView(value)) {
    const name = typedArrayName(value);
    if (name === 'Uint8Array') return value as Uint8Array; // its internal slot says so
    return name === undefined
      ? new Uint8ArrayCtor(dataViewBuffer(value), dataViewByteOffset(value), dataViewByteLength(value))
      : new Uint8ArrayCtor(typedArrayBuffer(value), typedArrayByteOffset(value), typedArrayByteLength(value));
  }
  if (!isObject(value)) return undefined;
  try {
    arrayBufferByteLength(value);
  } catch {
    return undefined;
  }
  return viewOf(value as ArrayBuffer); // the getter of an internal slot has answered
}

function viewOf(buffer: ArrayBuffer): Uint8Array {
  try {
    return new Uint8ArrayCtor(buffer);
  } catch {
    return new Uint8ArrayCtor(0); // detached
  }
}

/** A copy of the bytes, in a buffer of its own. */
export function copyOf(value: unknown, what: string): Uint8Array {
  const bytes = bytesOf(value, what);
  const copy = new Uint8ArrayCtor(typedArrayByteLength(bytes));
  typedArraySet(copy, bytes);
  return copy;
}
