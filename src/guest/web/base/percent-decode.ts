import { typedArrayLength, typedArraySubarray } from '../../primordials.ts';

const PERCENT = 0x25;

/** Decodes in place, and answers the part that has the result. Bytes that are no escapes stay. @see https://url.spec.whatwg.org/#percent-decode */
export function percentDecode(bytes: Uint8Array): Uint8Array {
  const size = typedArrayLength(bytes);
  let length = 0;
  for (let i = 0; i < size; i++) {
    const byte = bytes[i] ?? 0;
    const high = byte === PERCENT ? hexDigit(bytes[i + 1]) : -1;
    const low = high < 0 ? -1 : hexDigit(bytes[i + 2]);
    bytes[length++] = low < 0 ? byte : high * 16 + low;
    if (low >= 0) i += 2;
  }
  return typedArraySubarray(bytes, 0, length);
}

function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
