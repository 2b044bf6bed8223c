/**
 * The uses of a JavaScript parser. This file has a bundle of its own (see lazy-parser.ts), because most scripts never need the parser, and
 * it is two thirds of the thread's code.
 */
import { type Node, parse } from 'acorn';
import { simple } from 'acorn-walk';

/** How a source is executed, which decides what it means. */
export type Goal = 'module' | 'script';

/** An import() or import.meta, by its place in the source. */
export interface ImportUse {
  readonly start: number;
  readonly end: number;
  readonly isCall: boolean;
}

/** Every import() and import.meta, for the goal that runs the source. Throws for what the parser does not know. */
export function importsIn(source: string, goal: Goal): ImportUse[] {
  const found: ImportUse[] = [];
  const add = ({ start, end }: Node, isCall: boolean): number => found.push({ start, end, isCall });
  simple(parseAs(source, goal), {
    ImportExpression(node: Node) {
      add(node, true);
    },
    MetaProperty(node: Node) {
      if (source.startsWith('import', node.start)) add(node, false);
    },
  });
  return found;
}

/** The index of the first syntax error of a module; undefined when it parses. */
export function syntaxErrorIndex(source: string): number | undefined {
  try {
    parseAs(source, 'module');
    return undefined;
  } catch (error) {
    const isTold = typeof error === 'object' && error !== null && 'pos' in error && typeof error.pos === 'number';
    return isTold ? Number(error.pos) : undefined;
  }
}

function parseAs(source: string, sourceType: Goal): Node {
  return parse(source, { ecmaVersion: 'latest', sourceType, allowHashBang: true });
}
