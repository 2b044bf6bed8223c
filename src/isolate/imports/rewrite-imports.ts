/**
 * Turns import() into a call of a guest function and import.meta into a plain object, before compilation: every answer that the engine's
 * own hook can give hands out a host object (rule R12). In any text that leaves here nothing is left that could be the keyword.
 */
import { parser } from '../lazy-parser.js';
import type { Edit } from '../stacks/source-places.js';
import { candidates, ImportUse, mayImport, metaAt } from './import-scan.js';

/** Names that the rewriting puts into a module's scope. An author's own use of them does not compile, which is as it should be. */
const DYNAMIC_IMPORT = '$edgehost_import$';
const KEYWORD = 'import';
/** In strings, templates, comments and names it means the same; the engine does not take it for the keyword. */
const NO_KEYWORD = 'im\\u0070ort';
/**
 * A comment in code. Inside of a string or a template, where nothing is to be replaced, it does not compile: each kind of quote is followed
 * by a `#` that can begin nothing.
 */
const ONLY_IN_CODE = `/*#'#"# \${#*/`;

export interface RewrittenText {
  /** Goes before the source, in its first line. */
  readonly prefix: string;
  readonly source: string;
  readonly edits: readonly Edit[];
}

export interface ModuleText {
  readonly source: string;
  readonly name: string;
  /** The specifier of the module that has the loader's functions. */
  readonly loader: string;
  /** The result of scanImports() for the source. */
  readonly uses: string | undefined;
  /** Throws when the engine refuses the source as it is: it says so sooner than a parser. */
  check?(): void;
}

interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The texts to compile in place of a module, in the order in which to try them: by the guess of a scan, then by a parser. The engine
 * decides whether the guess is right: when it sees a keyword that the scan took for text, or text that the scan took for the keyword, the
 * first text does not compile. Throws for syntax that the parser does not know.
 */
export function* rewriteImports(module: ModuleText): Generator<RewrittenText, void> {
  const { source, uses } = module;
  if (!mayImport(source)) {
    yield { prefix: '', source, edits: [] };
    return;
  }
  const guess = uses === undefined ? undefined : asGuessed(module, uses);
  if (guess !== undefined) yield guess;
  module.check?.();
  yield asParsed(module);
}

/** A classic script that a scan has found to have no import(), in a spelling that cannot have one; undefined when it did not. */
export function withoutImports(source: string, uses: string | undefined): RewrittenText | undefined {
  if (!mayImport(source)) return { prefix: '', source, edits: [] };
  if (uses === undefined || /[^t]/.test(uses)) return undefined;
  return asGuessed({ source, name: '', loader: '', uses }, uses);
}

function asGuessed({ source, name, loader }: ModuleText, uses: string): RewrittenText | undefined {
  const replacements: Replacement[] = [];
  const search = candidates();
  for (const use of uses) {
    const start = search.exec(source)?.index;
    if (start === undefined) return undefined;
    const isMeta = use === ImportUse.Meta;
    const end = isMeta ? metaAt(source, start) : start + KEYWORD.length;
    if (end === undefined) return undefined;
    const text = use === ImportUse.Text ? NO_KEYWORD : `${isMeta ? metaText(name) : callText(name)}${ONLY_IN_CODE}`;
    replacements.push({ start, end, text });
  }
  const rewritten = replace(source, replacements);
  // A text without anything that looks like import() has none, so this holds even when the guess was wrong.
  if (mayImport(rewritten)) return undefined;
  return {
    prefix: uses.includes(ImportUse.Call) ? loaderImport(loader) : '',
    source: rewritten,
    edits: movesOf(source, replacements),
  };
}

/**
 * Parses as a module, the goal that runs it, and turns the keyword of each import() into a call that answers with the loader's function for this module:
 * `import(a, b)` becomes `$edgehost_import$("name")(a, b)`. Nothing but keywords is replaced, so no edit can touch another or swallow a quote; and the result
 * is parsed again, since the code that runs must be the code that was checked.
 */
function asParsed({ source, name, loader }: ModuleText): RewrittenText {
  const call = callText(name);
  const meta = metaText(name);
  const edits: Replacement[] = [];
  for (const { start, end, isCall } of parser().importsIn(source, 'module')) {
    edits.push(isCall ? { start, end: start + KEYWORD.length, text: call } : { start, end, text: meta });
  }
  if (edits.length === 0) return { prefix: '', source, edits: [] };
  edits.sort((a, b) => a.start - b.start);
  const rewritten = replace(source, edits);
  if (parser().importsIn(rewritten, 'module').length > 0) throw new Error('import() could not be replaced');
  return { prefix: loaderImport(loader), source: rewritten, edits: movesOf(source, edits) };
}

function callText(name: string): string {
  return `${DYNAMIC_IMPORT}(${JSON.stringify(name)})`;
}

function metaText(name: string): string {
  return `({ url: ${JSON.stringify(`file:///${name}`)} })`;
}

function loaderImport(loader: string): string {
  return `import { dynamicImport as ${DYNAMIC_IMPORT} } from ${JSON.stringify(loader)};`;
}

/** `replacements` in the order of the source. */
function replace(source: string, replacements: readonly Replacement[]): string {
  let rewritten = '';
  let at = 0;
  for (const { start, end, text } of replacements) {
    rewritten += source.slice(at, start) + text;
    at = end;
  }
  return rewritten + source.slice(at);
}

/** The replacements as places of the rewritten text: none has a line break. `edits` in the order of the source. */
function movesOf(source: string, edits: readonly Replacement[]): Edit[] {
  const moves: Edit[] = [];
  let line = 1;
  let lineStart = 0;
  let moved = 0;
  const lineEnds = source.matchAll(/\r\n?|[\n\u2028\u2029]/g);
  let lineEnd = lineEnds.next().value;
  for (const { start, end, text } of edits) {
    for (; lineEnd !== undefined && lineEnd.index < end; lineEnd = lineEnds.next().value) {
      line++;
      lineStart = lineEnd.index + lineEnd[0].length;
      moved = 0;
    }
    moved += text.length - (end - start);
    moves.push({ line, column: end - lineStart + 1 + moved, moved });
  }
  return moves;
}
