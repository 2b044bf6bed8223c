/**
 * A source map, as far as places of frames need it: from a place in a generated file to the one it came from. Own code, since the reader
 * that Node has comes with its whole loader of modules, which no isolate's thread has in memory.
 * @see https://tc39.es/ecma426/
 */

export interface Original {
  readonly source: string;
  /** From 0. */
  readonly line: number;
  /** From 0. */
  readonly column: number;
}

/** Per segment: generated column, source (or -1), original line, original column. */
const FIELDS = 4;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGIT_OF = new Int8Array(128).fill(-1);
for (let digit = 0; digit < DIGITS.length; digit++) DIGIT_OF[DIGITS.charCodeAt(digit)] = digit;
const CONTINUES = 32;
/** Numbers have 32 bits. */
const MAX_SHIFT = 30;

export class SourceMap {
  readonly #sources: readonly string[];
  readonly #segments: Int32Array;
  /** Where the segments of each line begin; one more than there are lines. */
  readonly #lines: readonly number[];

  /** @throws TypeError or SyntaxError for what is no source map, or one in sections */
  constructor(json: string) {
    const map: unknown = JSON.parse(json);
    if (typeof map !== 'object' || map === null) throw new TypeError('A source map is an object');
    const { sources, mappings, sourceRoot }: { [field: string]: unknown } = { ...map };
    if (!Array.isArray(sources) || typeof mappings !== 'string')
      throw new TypeError('A source map has sources and mappings');
    const root = typeof sourceRoot === 'string' && sourceRoot !== '' ? `${sourceRoot.replace(/\/$/, '')}/` : '';
    this.#sources = sources.map((source: unknown) => (typeof source === 'string' ? root + source : ''));
    const { segments, lines } = decode(mappings);
    this.#segments = Int32Array.from(segments);
    this.#lines = lines;
  }

  /** Where the code at a place came from, both from 0; undefined when the map does not say. */
  find(line: number, column: number): Original | undefined {
    let low = this.#lines[line] ?? 0;
    const start = low;
    let high = this.#lines[line + 1] ?? start;
    // The last segment that begins at the column or before it.
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#field(middle, 0) <= column) low = middle + 1;
      else high = middle;
    }
    if (low === start) return undefined;
    const source = this.#sources[this.#field(low - 1, 1)];
    if (source === undefined || source === '') return undefined;
    return { source, line: this.#field(low - 1, 2), column: this.#field(low - 1, 3) };
  }

  #field(segment: number, field: number): number {
    return this.#segments[segment * FIELDS + field] ?? -1;
  }
}

function decode(mappings: string): { segments: number[]; lines: number[] } {
  const segments: number[] = [];
  const lines = [0];
  // Each number is told as its difference from the last one of its kind; columns begin anew in each line.
  const last = [0, 0, 0, 0, 0];
  let field = 0;
  let value = 0;
  let shift = 0;
  const endSegment = (): void => {
    if (field > 0) segments.push(last[0] ?? 0, field >= 4 ? (last[1] ?? 0) : -1, last[2] ?? 0, last[3] ?? 0);
    field = 0;
  };
  for (let at = 0; at < mappings.length; at++) {
    const code = mappings.charCodeAt(at);
    if (code === 0x2c || code === 0x3b) {
      if (shift > 0) throw new SyntaxError('A number of the mappings has no end');
      endSegment();
      if (code === 0x2c) continue;
      last[0] = 0;
      lines.push(segments.length / FIELDS);
      continue;
    }
    const digit = DIGIT_OF[code] ?? -1;
    if (digit < 0 || shift > MAX_SHIFT || field === last.length) throw new SyntaxError('The mappings are malformed');
    value |= (digit & (CONTINUES - 1)) << shift;
    shift += 5;
    if ((digit & CONTINUES) !== 0) continue;
    last[field] = (last[field] ?? 0) + ((value & 1) === 1 ? -(value >>> 1) : value >>> 1);
    field++;
    value = 0;
    shift = 0;
  }
  endSegment();
  lines.push(segments.length / FIELDS);
  return { segments, lines };
}
