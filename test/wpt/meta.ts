/** What a test of the web-platform-tests says of itself. @see https://web-platform-tests.org/writing-tests/testharness.html */
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export interface TestFile {
  /** Relative to the checkout. */
  readonly path: string;
  readonly source: string;
  /** Scripts that it wants before it, by path relative to the checkout. */
  readonly scripts: readonly string[];
  /** Query strings: the test runs once for each, with that as location.search. `['']` when there are none. */
  readonly variants: readonly string[];
  readonly isLong: boolean;
}

export function readTest(checkout: string, path: string): TestFile {
  const source = readFileSync(join(checkout, path), 'utf8');
  const values = (key: string): string[] =>
    [...source.matchAll(/^\/\/\s*META:\s*(\w+)=(.*)$/gm)]
      .filter(match => match[1] === key)
      .map(match => match[2]?.trim() ?? '');
  const variants = values('variant');
  return {
    path,
    source,
    scripts: values('script').map(script => resolveScript(path, script)),
    variants: variants.length === 0 ? [''] : variants,
    isLong: values('timeout').includes('long'),
  };
}

function resolveScript(from: string, script: string): string {
  if (script === '/resources/WebIDLParser.js') return 'resources/webidl2/lib/webidl2.js';
  return script.startsWith('/') ? script.slice(1) : posix.join(dirname(from), script);
}
