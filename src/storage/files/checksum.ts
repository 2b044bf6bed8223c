import { crc32 } from 'node:zlib';

/** Continues the CRC-32 `before` with the bytes. An empty array needs care: for some of them Node answers 0, for others `before`. */
export function checksum(bytes: Uint8Array, before: number): number {
  return bytes.byteLength === 0 ? before : crc32(bytes, before);
}
