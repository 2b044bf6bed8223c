/** The header Range. @see https://httpwg.org/specs/rfc9110.html#field.range */

export interface ByteSpan {
  readonly offset: number;
  readonly length: number;
}

/** More ranges in one request are served as if there was none. */
const MAX_RANGES = 16;

/**
 * The parts of a body that a Range header asks for.
 *
 * @returns undefined: the header is to be ignored, because it has a syntax error, another unit, or asks for more than the body; no items: none of the
 *   ranges can be satisfied
 */
export function rangesOf(header: string, size: number): readonly ByteSpan[] | undefined {
  const [, list] = /^\s*bytes\s*=(.*)$/is.exec(header) ?? [];
  if (list === undefined) return undefined;
  const items = list
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '');
  if (items.length === 0 || items.length > MAX_RANGES) return undefined;
  const spans: ByteSpan[] = [];
  let total = 0;
  for (const item of items) {
    const [, first = '', last = ''] = /^(\d{0,15})\s*-\s*(\d{0,15})$/.exec(item) ?? [];
    if (first === '' && last === '') return undefined;
    if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
    const offset = first === '' ? Math.max(0, size - Number(last)) : Number(first);
    const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
    if (offset >= size || end <= offset) continue;
    spans.push({ offset, length: end - offset });
    total += end - offset;
  }
  // Overlapping ranges could make an answer many times as long as the body.
  return spans.length > 1 && total > size ? undefined : spans;
}
