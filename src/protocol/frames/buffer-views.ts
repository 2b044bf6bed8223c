/** Views of buffers that are larger than they are. */

/** The view itself when it is most of the buffer that it keeps alive, else a copy. */
export function ownView(view: Buffer): Buffer {
  if (view.length * 2 >= view.buffer.byteLength) return view;
  const copy = Buffer.allocUnsafeSlow(view.length);
  copy.set(view);
  return copy;
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
