/** Bytes that function code passes: buffer sources, read by way of their internal slots. */
import {
  arrayBufferByteLength,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  isView,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayLength,
  typedArrayName,
  typedArraySet,
  Uint8ArrayCtor,
} from '../../primordials.ts';

export type BufferSource = ArrayBuffer | ArrayBufferView;

export function isArrayBuffer(value: unknown): value is ArrayBuffer {
  if (typeof value !== 'object' || value === null) return false;
  try {
    arrayBufferByteLength(value); // throws for everything that has no such slot
    return true;
  } catch {
    return false;
  }
}

export function isBufferSource(value: unknown): value is BufferSource {
  return isView(value) || isArrayBuffer(value);
}

export function isUint8Array(value: unknown): value is Uint8Array {
  return typedArrayName(value) === 'Uint8Array';
}

/** The bytes of a buffer source as they are now, in its own memory. */
export function viewOf(source: BufferSource): Uint8Array {
  if (!isView(source)) return new Uint8ArrayCtor(source);
  return typedArrayName(source) === undefined
    ? new Uint8ArrayCtor(dataViewBuffer(source), dataViewByteOffset(source), dataViewByteLength(source))
    : new Uint8ArrayCtor(typedArrayBuffer(source), typedArrayByteOffset(source), typedArrayByteLength(source));
}

/** "Get a copy of the bytes held by the buffer source". @see https://webidl.spec.whatwg.org/#dfn-get-buffer-source-copy */
export function copyOf(source: BufferSource): Uint8Array {
  const view = viewOf(source);
  const copy = new Uint8ArrayCtor(typedArrayLength(view));
  typedArraySet(copy, view);
  return copy;
}

/** The buffer of bytes that are not shared with other code; a copy when they are only a part of their buffer. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  const buffer = typedArrayBuffer(bytes);
  return arrayBufferByteLength(buffer) === typedArrayLength(bytes) ? buffer : typedArrayBuffer(copyOf(bytes));
}

export function concatBytes(chunks: readonly Uint8Array[], total: number): Uint8Array {
  if (chunks.length === 1 && chunks[0] !== undefined) return chunks[0];
  const bytes = new Uint8ArrayCtor(total);
  let offset = 0;
  for (let i = 0; i < chunks.length; i++) {
    const chunk = chunks[i];
    if (chunk === undefined) continue;
    typedArraySet(bytes, chunk, offset);
    offset += typedArrayLength(chunk);
  }
  return bytes;
}
