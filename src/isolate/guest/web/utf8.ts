export { encodeUtf8 as utf8Encode } from '../utf8.ts';

import { decodeUtf8WithBom } from '../utf8.ts';
export function utf8DecodeLossy(bytes: Uint8Array, length: number = bytes.length): string {
  return decodeUtf8WithBom(bytes.subarray(0, length));
}
