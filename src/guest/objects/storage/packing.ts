/** The bodies of calls of the storage, in the form of bindings/objects/storage-wire.ts. */
import { ENTRY_HEAD_BYTES, KEY_HEAD_BYTES, NO_VALUE } from '../../../bindings/objects/storage-wire.ts';
import {
  arrayPush,
  mapForEach,
  typedArrayLength,
  typedArraySet,
  typedArraySubarray,
  Uint8ArrayCtor,
} from '../../primordials.ts';
import { decodeUtf8WithBom, encodeUtf8 } from '../../utf8.ts';

export type Entries = Map<string, Uint8Array | undefined>;

export function packKeys(keys: readonly string[]): Uint8Array {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = encodeUtf8(keys[i] ?? '');
    total += KEY_HEAD_BYTES + typedArrayLength(key);
    arrayPush(parts, key);
  }
  const bytes = new Uint8ArrayCtor(total);
  let at = 0;
  for (let i = 0; i < parts.length; i++) {
    const key = parts[i];
    if (key === undefined) continue;
    const length = typedArrayLength(key);
    writeNumber(bytes, at, length, KEY_HEAD_BYTES);
    typedArraySet(bytes, key, at + KEY_HEAD_BYTES);
    at += KEY_HEAD_BYTES + length;
  }
  return bytes;
}

export function packEntries(entries: Entries): Uint8Array {
  const keys: Uint8Array[] = [];
  const values: (Uint8Array | undefined)[] = [];
  let total = 0;
  mapForEach(entries, (value, text) => {
    const key = encodeUtf8(text);
    total += ENTRY_HEAD_BYTES + typedArrayLength(key) + (value === undefined ? 0 : typedArrayLength(value));
    arrayPush(keys, key);
    arrayPush(values, value);
  });
  const bytes = new Uint8ArrayCtor(total);
  let at = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    const value = values[i];
    if (key === undefined) continue;
    const keyLength = typedArrayLength(key);
    writeNumber(bytes, at, keyLength, 2);
    writeNumber(bytes, at + 2, value === undefined ? NO_VALUE : typedArrayLength(value), 4);
    at += ENTRY_HEAD_BYTES;
    typedArraySet(bytes, key, at);
    at += keyLength;
    if (value === undefined) continue;
    typedArraySet(bytes, value, at);
    at += typedArrayLength(value);
  }
  return bytes;
}

export type Entry = readonly [key: string, value: Uint8Array];

/** Reads the entries that the host has sent. Each value has memory of its own. */
export function unpackEntries(bytes: Uint8Array): Entry[] {
  const entries: Entry[] = [];
  const { length } = { length: typedArrayLength(bytes) };
  for (let at = 0; at < length; ) {
    const keyEnd = at + ENTRY_HEAD_BYTES + readNumber(bytes, at, 2);
    const end = keyEnd + readNumber(bytes, at + 2, 4);
    const key = decodeUtf8WithBom(typedArraySubarray(bytes, at + ENTRY_HEAD_BYTES, keyEnd));
    arrayPush(entries, [key, copyOf(bytes, keyEnd, end)]);
    at = end;
  }
  return entries;
}

export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = new Uint8ArrayCtor(end - start);
  typedArraySet(copy, typedArraySubarray(bytes, start, end));
  return copy;
}

function writeNumber(bytes: Uint8Array, at: number, value: number, size: number): void {
  for (let i = 0; i < size; i++) bytes[at + i] = (value >>> (8 * i)) & 0xff;
}

function readNumber(bytes: Uint8Array, at: number, size: number): number {
  let value = 0;
  for (let i = size - 1; i >= 0; i--) value = value * 0x100 + (bytes[at + i] ?? 0);
  return value;
}
