/**
 * Takes a text of SQL apart, by the rules of SQLite's tokenizer: SQLite itself compiles the first statement of a text and ignores the rest. Its results decide
 * how a text is run, not what it may do: that is for the authorizer.
 */

export interface Statement {
  readonly text: string;
  /** The number of values that it takes: the highest of its parameters. */
  readonly parameters: number;
  /** A parameter that is not `?` or `?NNN`. */
  readonly named: string | undefined;
  /** Its first words, in capitals: at most three. */
  readonly words: readonly string[];
  /** Where each parameter stands in the text, in this order. */
  readonly places: readonly ParameterPlace[];
}

export interface ParameterPlace {
  readonly start: number;
  readonly end: number;
  /** The number of its value, from 1. */
  readonly index: number;
}

interface Scan {
  start: number;
  end: number;
  parameters: number;
  named: string | undefined;
  words: string[];
  places: ParameterPlace[];
  /** The word before, and whether a `;` stood before the last one: how a trigger ends. */
  last: string;
  isTrigger: boolean;
}

const WORD = /[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*/y;
const DIGITS = /[0-9]+/y;
const NUMBER = /[0-9][0-9A-Za-z_.]*/y;
const MAX_WORDS = 3;

/** @throws Error when the text has U+0000, where SQLite would end it */
export function splitStatements(sql: string): Statement[] {
  const statements: Statement[] = [];
  const ended = endedStatements(sql);
  let next = ended.next();
  while (next.done !== true) {
    statements.push(next.value);
    next = ended.next();
  }
  const { last } = next.value;
  if (last.start >= 0) statements.push(statementOf(sql, last));
  return statements;
}

/**
 * The statements of a text that comes in pieces, one by one.
 *
 * @param most the most characters of one statement, with the space and comments before it
 * @throws Error when the text has U+0000, where SQLite would end it, or a longer statement
 */
export function* eachStatement(pieces: Iterable<string>, most: number): Generator<Statement> {
  let rest = '';
  for (const piece of pieces) {
    rest += piece;
    const { end } = yield* endedStatements(rest);
    rest = rest.slice(end);
    if (rest.length > most) throw new Error('statement too long: SQLITE_TOOBIG');
  }
  yield* splitStatements(rest);
}

/** The statements that a `;` ends. */
function* endedStatements(sql: string): Generator<Statement, { readonly end: number; readonly last: Scan }> {
  if (sql.includes('\0')) throw new Error('the statement has a NUL character: SQLITE_ERROR');
  let scan = begin();
  let at = 0;
  let end = 0;
  while (at < sql.length) {
    const code = sql.charCodeAt(at);
    if (code === SPACE || (code >= 9 && code <= 13)) {
      at++;
      continue;
    }
    const comment = endOfComment(sql, at);
    if (comment > at) {
      at = comment;
      continue;
    }
    if (code === SEMICOLON && !(scan.isTrigger && scan.last !== ';END')) {
      if (scan.start >= 0) yield statementOf(sql, scan);
      scan = begin();
      at++;
      end = at;
      continue;
    }
    if (scan.start < 0) scan.start = at;
    at = readToken(sql, at, code, scan);
    scan.end = at;
  }
  return { end, last: scan };
}

function statementOf(sql: string, { start, end, parameters, named, words, places }: Scan): Statement {
  const own = places.map(place => ({ ...place, start: place.start - start, end: place.end - start }));
  return { text: sql.slice(start, end), parameters, named, words, places: own };
}

/** The statement with other expressions in the place of some of its parameters. */
export function replaceParameters(
  text: string,
  places: readonly ParameterPlace[],
  expressionFor: (index: number) => string | undefined,
): string {
  let replaced = '';
  let at = 0;
  for (const { start, end, index } of places) {
    // By their numbers: what `?` alone stands for depends on those before it.
    replaced += text.slice(at, start) + (expressionFor(index) ?? `?${index}`);
    at = end;
  }
  return replaced + text.slice(at);
}

const SPACE = 32;
const SEMICOLON = 59;

function begin(): Scan {
  return { start: -1, end: 0, parameters: 0, named: undefined, words: [], places: [], last: '', isTrigger: false };
}

/** The place after a comment that begins here; the place itself without a comment. */
function endOfComment(sql: string, at: number): number {
  if (sql.startsWith('--', at)) {
    const end = sql.indexOf('\n', at);
    return end < 0 ? sql.length : end + 1;
  }
  if (!sql.startsWith('/*', at)) return at;
  const end = sql.indexOf('*/', at + 2);
  return end < 0 ? sql.length : end + 2;
}

function readToken(sql: string, at: number, code: number, scan: Scan): number {
  const character = sql[at] ?? '';
  if (character === "'" || character === '"' || character === '`')
    return afterToken(scan, endOfQuoted(sql, at, character));
  if (character === '[') {
    const end = sql.indexOf(']', at);
    return afterToken(scan, end < 0 ? sql.length : end + 1);
  }
  if (character === '?') return readParameter(sql, at, scan);
  if (character === ':' || character === '@' || character === '$' || character === '#') return readNamed(sql, at, scan);
  if (code >= 48 && code <= 57) return afterToken(scan, matchEnd(NUMBER, sql, at));
  const end = matchEnd(WORD, sql, at);
  if (end === at) {
    scan.last = character === ';' ? ';' : '';
    return at + 1;
  }
  const word = end - at > 16 ? '' : sql.slice(at, end).toUpperCase();
  if (scan.words.length < MAX_WORDS) noteWord(scan, word);
  scan.last = scan.last === ';' && word === 'END' ? ';END' : word;
  return end;
}

function afterToken(scan: Scan, end: number): number {
  // A quoted name is no keyword.
  if (scan.words.length < MAX_WORDS) scan.words.push('');
  scan.last = '';
  return end;
}

function noteWord(scan: Scan, word: string): void {
  if ((word === 'TEMP' || word === 'TEMPORARY') && scan.words.at(-1) === 'CREATE') return;
  // EXPLAIN and EXPLAIN QUERY PLAN may stand before a statement.
  if (word === 'EXPLAIN' || ((word === 'QUERY' || word === 'PLAN') && scan.last !== '' && scan.words.length === 0))
    return;
  scan.words.push(word);
  if (scan.words.length === 2 && scan.words[0] === 'CREATE' && word === 'TRIGGER') scan.isTrigger = true;
}

function readParameter(sql: string, at: number, scan: Scan): number {
  const end = matchEnd(DIGITS, sql, at + 1);
  const index = end === at + 1 ? scan.parameters + 1 : Number(sql.slice(at + 1, end));
  scan.parameters = Math.max(scan.parameters, index);
  scan.places.push({ start: at, end, index });
  return afterToken(scan, end);
}

function readNamed(sql: string, at: number, scan: Scan): number {
  const end = matchEnd(WORD, sql, at + 1);
  const numbered = end === at + 1 ? matchEnd(NUMBER, sql, at + 1) : end;
  if (numbered > at + 1) scan.named ??= sql.slice(at, Math.min(numbered, at + 64));
  return afterToken(scan, Math.max(numbered, at + 1));
}

function endOfQuoted(sql: string, at: number, quote: string): number {
  for (let end = sql.indexOf(quote, at + 1); end >= 0; end = sql.indexOf(quote, end + 2)) {
    if (sql[end + 1] !== quote) return end + 1;
  }
  return sql.length;
}

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}
