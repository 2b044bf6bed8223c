/** How much a decoder of Brotli remembers of what it has written. @see https://www.rfc-editor.org/rfc/rfc7932#section-9.1 */

/** The window of a stream that begins with the byte: 1 KiB to 16 MiB. A stream that is not valid has the least. */
export function brotliWindowBytes(first: number): number {
  return 2 ** windowBits(first);
}

/** WBITS, as the field is written: the lowest bit first. */
function windowBits(first: number): number {
  if ((first & 1) === 0) return 16;
  const high = (first >> 1) & 7;
  if (high !== 0) return 17 + high;
  const low = (first >> 4) & 7;
  if (low === 0) return 17;
  return low === 1 ? 10 : 8 + low;
}
