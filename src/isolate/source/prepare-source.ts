/**
 * Turns the code of a run into one ES module. The default export of the module is called with `{ tools, input, env }`. The code is such a module, or the
 * body of such a function, and may have types. Parsing decides which: no text is taken for code, or code for text.
 *
 * This work belongs in the isolate's thread: what a parser costs is the author's to choose. A text of 150 characters keeps every parser of TypeScript busy for
 * minutes (`x = <T>(y = ` many times), which is the thread's CPU time.
 */
import { getLineInfo, type Node, type Program } from 'acorn';
import { BoundedParser } from './bounded-parser.js';

/** Why a source is no code. */
export interface SourceError {
  readonly name: 'SyntaxError';
  readonly message: string;
  /** Both from 1, in the source as it was passed in. */
  readonly line: number;
  readonly column: number;
}

export type PreparedSource =
  | {
      readonly kind: 'prepared';
      readonly goal: 'module' | 'body';
      /** Goes before the text, in its first line. */
      readonly prefix: string;
      /** Everything in it is where the source has it. */
      readonly text: string;
      /** How to return a value; undefined unless the code ends in one that it does not return. */
      readonly hint: string | undefined;
    }
  | { readonly kind: 'failed'; readonly error: SourceError };

/** Two braces: a body may have variables of the same names. */
const BODY_PREFIX = 'export default async ({ tools, input, env }) => {{';
const BODY_SUFFIX = '\n}}';

/** @param stripTypes see strip-types.ts; called for a source that is not JavaScript */
export function prepareSource(source: string, stripTypes: (source: string) => string): PreparedSource {
  try {
    return prepared(source);
  } catch (error) {
    const mistake = mistakeOf(error);
    if (mistake.reached === Number.POSITIVE_INFINITY) return failed(source, mistake);
    // Valid JavaScript is never taken for TypeScript, where some of it has another meaning.
    return withTypes(source, stripTypes, mistake);
  }
}

function withTypes(source: string, stripTypes: (source: string) => string, asJavaScript: Mistake): PreparedSource {
  let text: string;
  try {
    text = stripTypes(source);
  } catch (error) {
    // The language in which the parser got further is probably the one that was meant. A parser may fail over what it does not expect.
    const asTypeScript = isMistake(error) ? mistakeOf(error) : asJavaScript;
    return failed(source, asTypeScript.reached > asJavaScript.reached ? asTypeScript : asJavaScript);
  }
  if (text === source) return failed(source, asJavaScript);
  try {
    return prepared(text);
  } catch (error) {
    return failed(source, mistakeOf(error));
  }
}

function prepared(source: string): PreparedSource {
  const program = BoundedParser.parse(source, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowHashBang: true,
    allowReturnOutsideFunction: true,
  });
  // Behind a prefix the first line is a comment.
  const text = source.startsWith('#!') ? `//${source.slice(2)}` : source;
  if (program.body.some(({ type }) => MODULE_ITEM.test(type))) {
    return { kind: 'prepared', goal: 'module', prefix: '', text, hint: hintOf(source, mainBody(program)) };
  }
  return {
    kind: 'prepared',
    goal: 'body',
    prefix: BODY_PREFIX,
    text: text + BODY_SUFFIX,
    hint: hintOf(source, program.body),
  };
}

const MODULE_ITEM = /^(?:Import|Export\w+)Declaration$/;

/** The statements of the function that a module exports as its default; none where that is something else. */
function mainBody({ body }: Program): readonly Node[] {
  for (const item of body) {
    if (item.type !== 'ExportDefaultDeclaration') continue;
    const { declaration } = item;
    const isFunction =
      declaration.type === 'FunctionDeclaration' ||
      declaration.type === 'FunctionExpression' ||
      declaration.type === 'ArrowFunctionExpression';
    return isFunction && declaration.body.type === 'BlockStatement' ? declaration.body.body : [];
  }
  return [];
}

function hintOf(source: string, statements: readonly Node[]): string | undefined {
  const last = statements.findLast(({ type }) => type !== 'EmptyStatement');
  if (last === undefined) return undefined;
  const { line } = getLineInfo(source, last.start);
  if (last.type === 'FunctionDeclaration' && last === statements[0]) return uncalled(line);
  if (!isExpressionStatement(last)) return undefined;
  const isFunction = /^(?:ArrowFunction|Function)Expression$/.test(last.expression.type);
  if (isFunction) return uncalled(line);
  return `Nothing was returned. The code ends in an expression, whose value is no result: write "return" before it (line ${line}).`;
}

function uncalled(line: number): string {
  return `Nothing was returned. The code is a function that nothing calls: write "export default" before it (line ${line}).`;
}

function isExpressionStatement(node: Node): node is Node & { readonly expression: Node } {
  return node.type === 'ExpressionStatement' && 'expression' in node;
}

interface Mistake {
  readonly message: string;
  readonly pos: number;
  /** How far the parser got. */
  readonly reached: number;
}

/** An error of a parser. Anything else is an error of ours, and is thrown. */
function mistakeOf(error: unknown): Mistake {
  if (!isMistake(error)) throw error;
  const { message, pos, raisedAt = pos } = error;
  return { message: message.replace(/ \(\d+:\d+\)$/, ''), pos, reached: raisedAt };
}

function isMistake(error: unknown): error is { message: string; pos: number; raisedAt?: number } {
  return typeof error === 'object' && error !== null && 'pos' in error && typeof error.pos === 'number';
}

function failed(source: string, { message, pos }: Mistake): PreparedSource {
  const { line, column } = getLineInfo(source, pos);
  return { kind: 'failed', error: { name: 'SyntaxError', message, line, column: column + 1 } };
}
