/** The part of a file that a request asks for (RFC 9110, 14). */

export interface AssetRange {
  readonly offset: number;
  readonly length: number;
}

/**
 * One range of bytes. Several ranges, other units and malformed headers count for nothing, as the standard allows; the answer is all of the file then.
 *
 * @returns undefined for all of it, 'none' when no byte of the range is there
 */
export function rangeOf(header: string | undefined, bytes: number): AssetRange | 'none' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.replace(/[ \t]/g, '') ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    return length === 0 ? 'none' : { offset: bytes - length, length };
  }
  const offset = Number(first);
  const end = last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1);
  if (last !== '' && Number(last) < offset) return undefined;
  return offset >= bytes ? 'none' : { offset, length: end - offset + 1 };
}

/** Whether the client has the content already: one of the tags of If-None-Match is its tag, weak or not, or the header is `*`. */
export function hasTag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag);
}

/** Whether one of the tags of If-Match is the content's, or the header is `*`. A weak tag says nothing about bytes. */
export function hasStrongTag(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some(tag => tag.trim() === etag);
}
