/**
 * Where code stands in what its author wrote: before import() was rewritten, and before a bundler, by the source map of the module. A map
 * is looked at when a stack is first asked for, in the function's own thread and time.
 */
import { posix } from 'node:path';
import { SourceMap } from './source-map.js';

export interface Place {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** Text that took the place of another, both in one line. Positions are those after the replacement. */
export interface Edit {
  readonly line: number;
  /** Of the first character behind it. */
  readonly column: number;
  /** By how many characters what follows in the line has moved. */
  readonly moved: number;
}

const ANNOTATION = /\/\/[#@] ?sourceMappingURL=(\S+)\s*$/;
const INLINE = /^data:application\/json[^,]*;base64,/;
/** The annotation is the last line. */
const MAX_ANNOTATION_LINE = 64 * 1024 * 1024;
const MAX_FILE_NAME = 512;

/** The source map that a text names in its last line; undefined when there is none. */
export function sourceMapUrl(source: string): string | undefined {
  const start = Math.max(source.lastIndexOf('//# sourceMappingURL='), source.lastIndexOf('//@ sourceMappingURL='));
  if (start < 0 || source.length - start > MAX_ANNOTATION_LINE) return undefined;
  return ANNOTATION.exec(source.slice(start))?.[1];
}

export class SourcePlaces {
  readonly #textOf: (name: string) => string | undefined;
  readonly #edits = new Map<string, readonly Edit[]>();
  readonly #maps = new Map<string, SourceMap | undefined>();

  /** `textOf`: the text of a deployed module, undefined when there is none of that name. */
  constructor(textOf: (name: string) => string | undefined) {
    this.#textOf = textOf;
  }

  /** Remembers what was replaced in a module; in the order of the text. */
  setEdits(name: string, edits: readonly Edit[]): void {
    this.#edits.set(name, edits);
  }

  /** The place that a place of the code that runs comes from: itself when nothing else is known. */
  find({ file, line, column }: Place): Place {
    let moved = 0;
    for (const edit of this.#edits.get(file) ?? []) if (edit.line === line && column >= edit.column) moved = edit.moved;
    const deployed = { file, line, column: column - moved };
    const original = this.#map(file)?.find(line - 1, deployed.column - 1);
    if (original === undefined) return deployed;
    return { file: fileName(file, original.source), line: original.line + 1, column: original.column + 1 };
  }

  #map(name: string): SourceMap | undefined {
    if (this.#maps.has(name)) return this.#maps.get(name);
    // A map that is none is as good as no map: set first, so that it is looked at once.
    this.#maps.set(name, undefined);
    try {
      const text = this.#mapText(name);
      if (text !== undefined) this.#maps.set(name, new SourceMap(text));
    } catch {
      // Its author sees the places in the deployed text.
    }
    return this.#maps.get(name);
  }

  #mapText(name: string): string | undefined {
    const url = sourceMapUrl(this.#textOf(name) ?? '');
    if (url === undefined) return undefined;
    if (INLINE.test(url)) return Buffer.from(url.replace(INLINE, ''), 'base64').toString('utf8');
    return this.#textOf(posix.join(posix.dirname(name), url));
  }
}

/** As the deployment names its files: relative to the module, without what would look like another frame. */
function fileName(module: string, source: string): string {
  const isAbsolute = /^(?:[a-z][a-z0-9+.-]*:|\/)/i.test(source);
  const name = isAbsolute ? source : posix.join(posix.dirname(module), source);
  return name.replace(/[\p{Cc}\p{Zl}\p{Zp}()]/gu, '_').slice(0, MAX_FILE_NAME);
}
