/**
 * Finds out how a source uses each text that looks like import() or import.meta, in one pass over its characters: fast enough for the host
 * to do it once a version. The result is a guess, since only a parser can distinguish the several meanings of slashes and braces:
 * rewrite-imports.ts turns it into a text that compiles only where the guess was right, and that has no import() in any case.
 */

/** How the text at one place is used. */
export enum ImportUse {
  /** The keyword of import(). */
  Call = 'c',
  /** The keyword of import.meta. */
  Meta = 'm',
  /** No keyword: a part of a string, a template, a comment, a name. */
  Text = 't',
}

/**
 * Candidates for the keyword of an import() or import.meta. The keyword cannot be written with escapes; only white space (as JavaScript's `\s`) or a comment
 * may stand between it and its `(` or `.`. A comment begins with `/`, or in a classic script with `<` or `-`.
 */
const CANDIDATE = 'import\\s*[(./<-]';
const LOOKS_LIKE_IMPORT = new RegExp(CANDIDATE);

/** Whether there can be an import() or import.meta in the text, which most scripts do not have. */
export function mayImport(source: string): boolean {
  return LOOKS_LIKE_IMPORT.test(source);
}

/** The places at which {@link mayImport} sees something, in their order. A new one for each text: it keeps its place. */
export function candidates(): RegExp {
  return new RegExp(CANDIDATE, 'g');
}

/** More of them than the bundles of a deployment have; a text with more is parsed. */
export const MAX_USES = 50_000;
/** Characters between two pauses: one to three milliseconds. */
const SLICE = 256 * 1024;
const META = /import\s*\.\s*meta\b/y;

/** After these a slash begins a regular expression, and a backtick a template without a tag. */
const OPERATOR_WORDS: ReadonlySet<string> = new Set(
  'await case default delete do else extends in instanceof new return throw typeof void yield'.split(' '),
);
/** The parentheses after these words are followed by a statement. */
const CONDITION_WORDS: ReadonlySet<string> = new Set(['for', 'if', 'while', 'with']);
/** The braces after these words are a block. */
const BLOCK_WORDS: ReadonlySet<string> = new Set(['do', 'else']);

/** The meaning of a bracket once it is closed. */
enum Closes {
  /** A value: the next slash divides. */
  Value = 0,
  /** A statement or its head: the next slash begins a regular expression. */
  Statement = 1,
  /** The text of a template, and of one with a tag. */
  Template = 2,
  TaggedTemplate = 3,
}

const TAB = 9;
const LINE_FEED = 10;
const SPACE = 32;
const DOUBLE_QUOTE = 34;
const HASH = 35;
const DOLLAR = 36;
const SINGLE_QUOTE = 39;
const OPEN_PARENTHESIS = 40;
const CLOSE_PARENTHESIS = 41;
const STAR = 42;
const PLUS = 43;
const MINUS = 45;
const DOT = 46;
const SLASH = 47;
const SEMICOLON = 59;
const EQUALS = 61;
const GREATER = 62;
const OPEN_BRACKET = 91;
const BACKSLASH = 92;
const CLOSE_BRACKET = 93;
const BACKTICK = 96;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Characters of names and numbers, escapes in names included. */
const IS_WORD = Uint8Array.from({ length: 128 }, (_, code) => (/[\w$\\]/.test(String.fromCharCode(code)) ? 1 : 0));

function isWord(code: number): boolean {
  return code > 127 || IS_WORD[code] === 1;
}

/**
 * Yields again and again, so that the caller can do something else; then returns an {@link ImportUse} for each candidate, or undefined when
 * only a parser can decide, or when another spelling of the text would be visible: in regular expressions and tagged templates.
 *
 * @param maxUses the most that are kept, a letter each
 */
export function* scanImports(source: string, maxUses = MAX_USES): Generator<undefined, string | undefined> {
  const search = candidates();
  const { length } = source;
  /** The index of the next candidate; `length` without one. */
  let candidate = search.exec(source)?.index ?? length;
  let uses = '';
  const open: Closes[] = [];
  let at = 0;
  let pauseAt = SLICE;
  /** The last token: its last character, its text if it is a word, and otherwise whether it ends a value. */
  let last = SEMICOLON;
  let wordStart = -1;
  let wordEnd = 0;
  let isAfterDot = false;
  let isValue = false;
  const lastWord = (): string => (wordStart < 0 || isAfterDot ? '' : source.slice(wordStart, wordEnd));
  const endsValue = (): boolean => (wordStart < 0 ? isValue : !OPERATOR_WORDS.has(lastWord()));

  while (candidate < length && at < length) {
    if (at >= pauseAt) {
      pauseAt = at + SLICE;
      yield undefined;
    }
    const code = source.charCodeAt(at);
    if (code === SPACE || (code >= TAB && code <= 13)) {
      at++;
      continue;
    }
    const start = at;
    let use: ImportUse | undefined = ImportUse.Text;
    if (isWord(code)) {
      isAfterDot = last === DOT || last === HASH;
      do at++;
      while (isWord(source.charCodeAt(at)));
      if (candidate === start && at === start + 'import'.length && !isAfterDot) use = useOf(source, start, search);
      wordStart = start;
      wordEnd = at;
      last = 0;
    } else if (isComment(source, at)) {
      // The token before a comment decides how the text after it is read.
      at = source.charCodeAt(at + 1) === STAR ? endOfComment(source, at) : endOfLine(source, at);
    } else {
      let isValueNow = false;
      switch (code) {
        case DOUBLE_QUOTE:
        case SINGLE_QUOTE:
          at = endOfString(source, at, code);
          isValueNow = true;
          break;
        case SLASH:
          if (endsValue()) at++;
          else {
            at = endOfExpression(source, at);
            use = undefined;
            isValueNow = true;
          }
          break;
        case BACKTICK: {
          const isTagged = endsValue();
          at = endOfTemplate(source, at + 1);
          if (isTagged) use = undefined;
          if (source.charCodeAt(at - 1) === BACKTICK) isValueNow = true;
          else open.push(isTagged ? Closes.TaggedTemplate : Closes.Template);
          break;
        }
        case OPEN_PARENTHESIS:
          at++;
          open.push(CONDITION_WORDS.has(lastWord()) ? Closes.Statement : Closes.Value);
          break;
        case OPEN_BRACE: {
          at++;
          const isBlock = endsValue() || isStatementStart(last) || BLOCK_WORDS.has(lastWord());
          open.push(isBlock ? Closes.Statement : Closes.Value);
          break;
        }
        case CLOSE_BRACE:
        case CLOSE_PARENTHESIS: {
          const closes = open.pop();
          at++;
          isValueNow = closes !== Closes.Statement;
          if (closes !== Closes.Template && closes !== Closes.TaggedTemplate) break;
          at = endOfTemplate(source, at);
          if (closes === Closes.TaggedTemplate) use = undefined;
          if (source.charCodeAt(at - 1) !== BACKTICK) {
            open.push(closes);
            isValueNow = false;
          }
          break;
        }
        case CLOSE_BRACKET:
          at++;
          isValueNow = true;
          break;
        case DOT:
          at += source.startsWith('...', at) ? 3 : 1;
          // A number may end with one.
          isValueNow = at === start + 1;
          break;
        case PLUS:
        case MINUS:
          // Behind a value `++` leaves a value.
          isValueNow = source.charCodeAt(at + 1) === code && endsValue();
          at += source.charCodeAt(at + 1) === code ? 2 : 1;
          break;
        case EQUALS:
          at += source.charCodeAt(at + 1) === GREATER ? 2 : 1;
          break;
        default:
          at++;
      }
      last = at === start + 3 ? 0 : source.charCodeAt(at - 1);
      wordStart = -1;
      isValue = isValueNow;
    }
    for (; candidate < at; candidate = search.exec(source)?.index ?? length) {
      if (use === undefined || uses.length === maxUses) return undefined;
      uses += use;
    }
  }
  return candidate < length ? undefined : uses;
}

/** The use of the keyword itself. Comments after it and the proposals for import phases are left to the parser. */
function useOf(source: string, start: number, search: RegExp): ImportUse | undefined {
  const next = source.charCodeAt(search.lastIndex - 1);
  if (next === OPEN_PARENTHESIS) return ImportUse.Call;
  return next === DOT && metaAt(source, start) !== undefined ? ImportUse.Meta : undefined;
}

/** Where the import.meta that begins here ends; undefined when it is no import.meta. */
export function metaAt(source: string, start: number): number | undefined {
  META.lastIndex = start;
  return META.test(source) ? META.lastIndex : undefined;
}

/** After the arrow of a function, a statement or another brace, a brace begins a block. */
function isStatementStart(last: number): boolean {
  return (
    last === GREATER || last === SEMICOLON || last === OPEN_BRACE || last === CLOSE_BRACE || last === CLOSE_PARENTHESIS
  );
}

/** The first line may be for a shell. */
function isComment(source: string, at: number): boolean {
  const next = source.charCodeAt(at + 1);
  if (source.charCodeAt(at) === SLASH) return next === SLASH || next === STAR;
  return at === 0 && source.startsWith('#!');
}

function endOfLine(source: string, start: number): number {
  const end = source.indexOf('\n', start);
  return end < 0 ? source.length : end;
}

function endOfComment(source: string, start: number): number {
  const end = source.indexOf('*/', start + 2);
  return end < 0 ? source.length : end + 2;
}

function endOfString(source: string, start: number, quote: number): number {
  for (let at = start + 1; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === quote || code === LINE_FEED) return at + 1;
  }
  return source.length;
}

/** Behind the flags. */
function endOfExpression(source: string, start: number): number {
  let isClass = false;
  for (let at = start + 1; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === OPEN_BRACKET) isClass = true;
    else if (code === CLOSE_BRACKET) isClass = false;
    else if (code === LINE_FEED) return at;
    else if (code === SLASH && !isClass) {
      do at++;
      while (isWord(source.charCodeAt(at)));
      return at;
    }
  }
  return source.length;
}

/** Behind the backtick that ends it, or behind the `${` of a part that is code. */
function endOfTemplate(source: string, start: number): number {
  for (let at = start; at < source.length; at++) {
    const code = source.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === BACKTICK) return at + 1;
    else if (code === DOLLAR && source.charCodeAt(at + 1) === OPEN_BRACE) return at + 2;
  }
  return source.length;
}
