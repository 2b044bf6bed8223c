/**
 * The uses of a JavaScript parser. This file has a bundle of its own (see lazy-parser.ts), because most scripts never need the parser, and
 * it is two thirds of the thread's code.
 */
import type { Node } from 'acorn';
import { typeScript } from './lazy-typescript.js';
import { BoundedParser } from './source/bounded-parser.js';
import { type PreparedSource, prepareSource } from './source/prepare-source.js';
import { SourceMistake } from './source/source-mistake.js';

/** The module to run for the code of a run; see prepare-source.ts. */
export function prepareRun(source: string): PreparedSource {
  return prepareSource(source, text => typeScript().stripTypes(text));
}

/** How a source is executed, which decides what it means. */
export type Goal = 'module' | 'script';

/** An import() or import.meta, by its place in the source. */
export interface FoundImport {
  readonly start: number;
  readonly end: number;
  readonly isCall: boolean;
}

/** Every import() and import.meta, in no order, for the goal that runs the source. Throws for what the parser does not know. */
export function importsIn(source: string, goal: Goal): FoundImport[] {
  const found: FoundImport[] = [];
  for (const { type, start, end } of nodesOf(parseAs(source, goal))) {
    if (type === 'ImportExpression') found.push({ start, end, isCall: true });
    if (type === 'MetaProperty' && source.startsWith('import', start)) found.push({ start, end, isCall: false });
  }
  return found;
}

/** A node and all below it, whatever their kinds. Without recursion, since a chain of calls can be as deep as its text is long. */
function* nodesOf(root: Node): Generator<Node, void> {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    yield node;
    for (const value of Object.values(node)) {
      if (Array.isArray(value)) {
        for (const item of value) if (isNode(item)) open.push(item);
      } else if (isNode(value)) open.push(value);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Tokens between two looks at the clock. */
const SLICE = 1024;

/**
 * The index of the first syntax error of a module; undefined when it parses, or when the search is late.
 *
 * @param isTooDeep the engine has found it nested too deeply, and does not say where
 */
export function syntaxErrorIndex(source: string, isLate: () => boolean, isTooDeep: boolean): number | undefined {
  let tokens = 0;
  const onToken = (): void => {
    if (++tokens % SLICE === 0 && isLate()) throw new RangeError('This takes too long');
  };
  try {
    parseAs(source, 'module', onToken);
    return undefined;
  } catch (error) {
    // The engine has seen more of the source than a parser with less stack.
    if (error instanceof SourceMistake) return isTooDeep ? error.pos : undefined;
    const isTold = typeof error === 'object' && error !== null && 'pos' in error && typeof error.pos === 'number';
    return isTold ? Number(error.pos) : undefined;
  }
}

function parseAs(source: string, sourceType: Goal, onToken?: () => void): Node {
  const goal = { ecmaVersion: 'latest', sourceType, allowHashBang: true } as const;
  return BoundedParser.parse(source, onToken === undefined ? goal : { ...goal, onToken });
}
