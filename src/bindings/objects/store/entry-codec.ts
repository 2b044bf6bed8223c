/** The bodies of storage calls (bindings/objects/storage-wire.ts). A function has written the bodies that arrive here. */
import { isUtf8 } from 'node:buffer';
import { OBJECT_STORAGE_LIMITS, VALUE_FORM_BYTES } from '../storage-limits.js';
import { ENTRY_HEAD_BYTES, KEY_HEAD_BYTES, NO_VALUE } from '../storage-wire.js';

/** Values by key, undefined for keys to be deleted. They share the memory of the body. @throws TypeError */
export function readEntries(body: Uint8Array): Map<string, Uint8Array | undefined> {
  const bytes = bufferOf(body);
  const entries = new Map<string, Uint8Array | undefined>();
  for (let at = 0; at < bytes.length; ) {
    if (at + ENTRY_HEAD_BYTES > bytes.length) throw malformed();
    const keyLength = bytes.readUInt16LE(at);
    const valueLength = bytes.readUInt32LE(at + 2);
    const keyEnd = at + ENTRY_HEAD_BYTES + keyLength;
    const hasValue = valueLength !== NO_VALUE;
    const end = hasValue ? keyEnd + valueLength : keyEnd;
    if (end > bytes.length) throw malformed();
    if (hasValue && valueLength > OBJECT_STORAGE_LIMITS.valueBytes + VALUE_FORM_BYTES) throw malformed();
    entries.set(keyOf(bytes, keyEnd - keyLength, keyEnd), hasValue ? bytes.subarray(keyEnd, end) : undefined);
    if (entries.size > OBJECT_STORAGE_LIMITS.writeKeys) throw malformed();
    at = end;
  }
  return entries;
}

/** @throws TypeError */
export function readKeys(body: Uint8Array, most: number): string[] {
  const bytes = bufferOf(body);
  const keys: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (at + KEY_HEAD_BYTES > bytes.length || keys.length === most) throw malformed();
    const start = at + KEY_HEAD_BYTES;
    at = start + bytes.readUInt16LE(at);
    keys.push(keyOf(bytes, start, at));
  }
  return keys;
}

export function writeEntries(entries: readonly (readonly [key: string, value: Uint8Array])[]): Uint8Array {
  let total = 0;
  for (const [key, value] of entries) total += ENTRY_HEAD_BYTES + Buffer.byteLength(key) + value.byteLength;
  const bytes = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (const [key, value] of entries) {
    const keyLength = bytes.write(key, at + ENTRY_HEAD_BYTES);
    bytes.writeUInt16LE(keyLength, at);
    bytes.writeUInt32LE(value.byteLength, at + 2);
    at += ENTRY_HEAD_BYTES + keyLength;
    bytes.set(value, at);
    at += value.byteLength;
  }
  return bytes;
}

function keyOf(bytes: Buffer, start: number, end: number): string {
  if (end > bytes.length || end - start > OBJECT_STORAGE_LIMITS.keyBytes) throw malformed();
  // Others would be the same key as one that is.
  if (!isUtf8(bytes.subarray(start, end))) throw malformed();
  return bytes.toString('utf8', start, end);
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

export function malformed(): TypeError {
  return new TypeError('The call of the storage is malformed');
}
