/**
 * Where code stands in what its author wrote: before import() was rewritten, and before a bundler, by the source map of the module. A map
 * is looked at when a stack is first asked for, in the function's own thread and time.
 */
import { posix } from 'node:path';
import { SourceMap } from './source-map.js';

export interface SourcePlace {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** Text that took the place of another, both in one line. Positions are those after the replacement. */
export interface Edit {
  readonly line: number;
  /** The column of the first character behind it. */
  readonly column: number;
  /** By how many characters what follows in the line has moved. */
  readonly moved: number;
}

/** The text of a deployed module; undefined for an unknown name, or a longer text. */
export type TextOf = (name: string, maxBytes: number) => string | undefined;

const ANNOTATIONS = ['//# sourceMappingURL=', '//@ sourceMappingURL='];
const INLINE = /^data:application\/json[^,]{0,100};base64,/;
/** The largest JSON of a source map. Larger ones are ignored, because reading them would take the function's own memory. */
const MAX_MAP_BYTES = 16 * 1024 * 1024;
/** The base64 text of that many bytes, and its prefix. */
const MAX_URL_LENGTH = Math.ceil(MAX_MAP_BYTES / 3) * 4 + 200;
const MAX_FILE_NAME = 512;

/** By how many characters a place has moved: by the last edit before it, if that is in its line. */
function movedAt(edits: readonly Edit[], line: number, column: number): number {
  let low = 0;
  let high = edits.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const edit = edits[middle];
    if (edit !== undefined && (edit.line < line || (edit.line === line && edit.column <= column))) low = middle + 1;
    else high = middle;
  }
  const edit = edits[low - 1];
  return edit?.line === line ? edit.moved : 0;
}

/** The source map that a text names in its last line; undefined when it names none. */
function sourceMapUrl(source: string): string | undefined {
  const start = Math.max(...ANNOTATIONS.map(annotation => source.lastIndexOf(annotation)));
  if (start < 0 || source.length - start > MAX_URL_LENGTH) return undefined;
  const url = source.slice(start + '//# sourceMappingURL='.length).trim();
  return url === '' || /\s/.test(url) ? undefined : url;
}

export class SourcePlaces {
  readonly #textOf: TextOf;
  readonly #edits = new Map<string, readonly Edit[]>();
  readonly #maps = new Map<string, SourceMap | undefined>();

  constructor(textOf: TextOf) {
    this.#textOf = textOf;
  }

  /** Remembers the replacements in a module, in the order of the text. */
  setEdits(name: string, edits: readonly Edit[]): void {
    this.#edits.set(name, edits);
  }

  /** The place that a place of the code that runs comes from: itself when nothing else is known. */
  find({ file, line, column }: SourcePlace): SourcePlace {
    return this.original({ file, line, column: column - movedAt(this.#edits.get(file) ?? [], line, column) });
  }

  /** The same for a place in a deployed text, before import() was rewritten. */
  readonly original = (deployed: SourcePlace): SourcePlace => {
    const { file, line, column } = deployed;
    const original = this.#map(file)?.find(line - 1, column - 1);
    if (original === undefined) return deployed;
    return { file: fileName(file, original.source), line: original.line + 1, column: original.column + 1 };
  };

  #map(name: string): SourceMap | undefined {
    if (this.#maps.has(name)) return this.#maps.get(name);
    const source = this.#textOf(name, Number.POSITIVE_INFINITY);
    // A function can choose a name that looks like a frame of any file, so only deployed files are cached.
    if (source === undefined) return undefined;
    // Set first, so that an invalid map is read only once and then treated as absent.
    this.#maps.set(name, undefined);
    try {
      const text = this.#mapText(name, source);
      if (text !== undefined) this.#maps.set(name, new SourceMap(text));
    } catch {
      // Its author sees the places in the deployed text.
    }
    return this.#maps.get(name);
  }

  #mapText(name: string, source: string): string | undefined {
    const url = sourceMapUrl(source);
    if (url === undefined) return undefined;
    const inline = INLINE.exec(url)?.[0];
    if (inline !== undefined) return Buffer.from(url.slice(inline.length), 'base64').toString('utf8');
    return this.#textOf(posix.join(posix.dirname(name), url), MAX_MAP_BYTES);
  }
}

/** The name of a file as in the deployment: relative to the module, and without text that looks like another frame. */
function fileName(module: string, source: string): string {
  const short = source.slice(0, MAX_FILE_NAME);
  const isAbsolute = /^(?:[a-z][a-z0-9+.-]*:\/|\/)/i.test(short);
  const name = isAbsolute ? short : posix.join(posix.dirname(module), short);
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}()]/gu, '_').slice(0, MAX_FILE_NAME);
}
