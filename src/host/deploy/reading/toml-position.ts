/** Finds the line of a TOML file that defines a key. The parser gives positions of syntax errors only. */
import { parse } from 'smol-toml';
import type { KeyPath } from '../../../quotas/schema/complaint.js';

/** Parsing beginnings of a file that is made to be slow ends here: the error has no line then. */
const MAX_PARSES = 200;

/** Line and column, from 1, of the statement that defines `path`; undefined when none does. `text` must parse. */
export function positionOfKey(text: string, path: KeyPath): { line: number; column: number } | undefined {
  if (!isDefined(parse(text), path)) return undefined;
  const lines = text.split(/\r?\n/);
  // Narrows to the longest beginning of the file that parses without the key: the statement that defines it comes next.
  let without = 0;
  let within = lines.length;
  let parses = 0;
  while (within - without > 1) {
    const middle = Math.floor((without + within) / 2);
    // A beginning that ends inside of a value does not parse; the next one that does decides.
    let end = middle;
    let table: unknown;
    for (; end < within; end++) {
      if (++parses > MAX_PARSES) return undefined;
      table = parsePrefix(lines, end);
      if (table !== undefined) break;
    }
    if (table !== undefined && !isDefined(table, path)) without = end;
    else within = middle;
  }
  for (const [index, line] of lines.entries()) {
    const column = line.search(/\S/);
    if (index >= without && column >= 0 && line[column] !== '#') return { line: index + 1, column: column + 1 };
  }
  return undefined;
}

function parsePrefix(lines: readonly string[], count: number): unknown {
  try {
    return parse(lines.slice(0, count).join('\n'));
  } catch {
    return undefined;
  }
}

function isDefined(table: unknown, path: KeyPath): boolean {
  let value = table;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = Reflect.get(value, key);
  }
  return true;
}
