/** `BufferSource`: bytes that function code passes, as a view on the same memory. @see https://webidl.spec.whatwg.org/#BufferSource */
import { TypeErrorCtor, typedArrayName, Uint8ArrayCtor } from '../../primordials.ts';
import { isBufferSource, viewOf } from './buffers.ts';

/** The bytes of an ArrayBuffer, typed array or DataView, not copied. Empty for a detached buffer. */
export function bytesOf(value: unknown, what: string): Uint8Array {
  if (typedArrayName(value) === 'Uint8Array') return value as Uint8Array; // its internal slot says so
  if (!isBufferSource(value)) throw new TypeErrorCtor(`${what} is not an ArrayBuffer or a view on one`);
  try {
    return viewOf(value);
  } catch {
    return new Uint8ArrayCtor(0); // detached
  }
}
