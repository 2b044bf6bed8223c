/**
 * acorn's parser for sources of strangers: it refuses code whose nesting would take its recursion near the end of the stack. There the engine
 * may end the whole process, when it compiles one of the parser's regular expressions ("RegExpCompiler Allocation failed", Node 20.20).
 */
import { Parser } from 'acorn';
import { SourceMistake } from './source-mistake.js';

/**
 * The methods below that run at once, by their weights. An array in an array takes three of them, and so does a function in a function; a block in a block
 * takes one. The parser of TypeScript needs up to 1.5 MB of stack for this depth, of the 4 MB that an isolate's thread has.
 */
const MAX_DEPTH = 4000;
/** Every way in which the parser calls itself goes through one of these, with its weight. The last three are methods of the plugin for TypeScript. */
const METHODS = {
  // One for each operator of `a + b + c`, with small frames.
  parseExprOp: 1,
  parseStatement: 4,
  parseMaybeAssign: 4,
  parseMaybeUnary: 4,
  parseExprAtom: 4,
  parseBindingAtom: 4,
  tsParseType: 4,
  tsParseTypeOperatorOrHigher: 4,
  tsParseModuleOrNamespaceDeclaration: 4,
} as const;

type Method = (this: BoundParser, a: unknown, b: unknown, c: unknown, d: unknown, e: unknown, f: unknown) => unknown;

interface BoundParser extends Partial<Record<keyof typeof METHODS, Method>> {
  depth?: number;
  readonly start: number;
}

/** A plugin of acorn, after all others. */
export function bounded(Base: typeof Parser): typeof Parser {
  // A subclass of its own: nobody else's parser is changed.
  class Bounded extends Base {}
  // The methods that acorn has no types for.
  const prototype = Bounded.prototype as unknown as BoundParser;
  for (const [name, weight] of Object.entries(METHODS)) {
    const method = prototype[name as keyof typeof METHODS]; // a key of it
    if (method !== undefined) Object.defineProperty(prototype, name, { value: counted(method, weight) });
  }
  return Bounded;
}

function counted(method: Method, weight: number): Method {
  // No list of arguments: this is called for every token.
  return function (a, b, c, d, e, f) {
    const depth = (this.depth ?? 0) + weight;
    if (depth > MAX_DEPTH) throw new SourceMistake('The code is nested too deeply', this.start);
    this.depth = depth;
    try {
      return method.call(this, a, b, c, d, e, f);
    } finally {
      this.depth = depth - weight;
    }
  };
}

export const BoundedParser = bounded(Parser);
