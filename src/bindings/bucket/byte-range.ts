import type { ByteRange } from './engine.js';

export interface ResolvedRange {
  readonly offset: number;
  readonly length: number;
}

/** The bytes that the range names of an object of `size` bytes, cut at its end; undefined when there are none. */
export function resolveRange(range: ByteRange | undefined, size: number): ResolvedRange | undefined {
  if (range === undefined) return { offset: 0, length: size };
  if (range.kind === 'suffix') {
    const length = Math.min(range.suffix, size);
    return length > 0 ? { offset: size - length, length } : undefined;
  }
  const length = Math.min(range.length ?? size, size - range.offset);
  return length > 0 ? { offset: range.offset, length } : undefined;
}

/**
 * The one range of a Range header (RFC 7233 section 2.1); undefined for several, for other units, and for what is
 * malformed: the header is ignored then.
 */
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
