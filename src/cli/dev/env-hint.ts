/** Says what `env` has, when a function has failed where it uses a name that `env` does not have. */
import { readFileSync } from 'node:fs';
import { sep } from 'node:path';
import type { InvocationEvent } from '../../host/events.js';

const FIRST_FRAME = /^\s*at .*?([^\s()]+):(\d+):\d+\)?$/m;
const USE_OF_ENV = /\benv\s*(?:\?\.|\.)\s*([\w$]+)/g;

/**
 * @param names that `env` has
 * @param files of the function, absolute: stacks name those relative to its folder
 */
export function hintAboutEnv(
  { stack }: Pick<NonNullable<InvocationEvent['error']>, 'stack'>,
  names: readonly string[],
  files: Iterable<string>,
): string | undefined {
  if (!stack.startsWith('TypeError: ')) return undefined;
  const [, name = '', line = ''] = FIRST_FRAME.exec(stack) ?? [];
  const file = [...files].find(each => each.endsWith(sep + name.split('/').join(sep)));
  if (file === undefined) return undefined;
  const missing = missingNames(lineOf(file, Number(line)), names);
  if (missing.length === 0) return undefined;
  return `env has ${names.length === 0 ? 'nothing' : names.join(', ')}; no ${missing.join(', ')}`;
}

function missingNames(text: string, names: readonly string[]): readonly string[] {
  const used = [...text.matchAll(USE_OF_ENV)].map(([, name = '']) => name);
  return [...new Set(used)].filter(name => !names.includes(name));
}

/** A file that has gone meanwhile has no lines. */
function lineOf(file: string, line: number): string {
  try {
    return readFileSync(file, 'utf8').split('\n')[line - 1] ?? '';
  } catch {
    return '';
  }
}
