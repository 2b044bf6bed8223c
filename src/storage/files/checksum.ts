import { crc32 } from 'node:zlib';

/** The CRC-32 of the bytes, which goes on from that of the bytes before. For no bytes, Node's own would answer 0 or `before`, by where they are not. */
export function checksum(bytes: Uint8Array, before: number): number {
  return bytes.byteLength === 0 ? before : crc32(bytes, before);
}
