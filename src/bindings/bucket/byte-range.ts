import type { ResolvedRange } from '../stored-values/stored-content.js';
import type { ByteRange } from './engine.js';

/** The part of the range that an object of `size` bytes has; undefined when it has none. */
export function resolveRange(range: ByteRange | undefined, size: number): ResolvedRange | undefined {
  if (range === undefined) return { offset: 0, length: size };
  if (range.kind === 'suffix') {
    const length = Math.min(range.suffix, size);
    return length > 0 ? { offset: size - length, length } : undefined;
  }
  const length = Math.min(range.length ?? size, size - range.offset);
  return length > 0 ? { offset: range.offset, length } : undefined;
}

/** The range of a Range header (RFC 7233 section 2.1); undefined when the header is to be ignored: for several ranges, other units, and malformed text. */
export function parseRangeHeader(header: string): ByteRange | undefined {
  const match = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i.exec(header.trim().replace(/\s+/g, ''));
  if (match === null) return undefined;
  const [, first, last, suffix] = match;
  if (suffix !== undefined) return { kind: 'suffix', suffix: Number(suffix) };
  const offset = Number(first);
  if (last === undefined) return { kind: 'offset', offset };
  const length = Number(last) - offset + 1;
  return length > 0 ? { kind: 'offset', offset, length } : undefined;
}
