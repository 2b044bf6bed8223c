/** The program in C that tests put in the place of a cell, compiled for a benchmark. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileC, missingCompiler } from './compile-c.js';

const SOURCE = fileURLToPath(new URL('../../../test/fixtures/hostile-cell.c', import.meta.url));

/** Its path, in a folder that any user may read, or the reason why it is missing. */
export function compileNative(folder: string): { readonly path: string } | { readonly missing: string } {
  const missing = existsSync(SOURCE) ? missingCompiler() : `there is no ${SOURCE}`;
  return missing === undefined ? { path: compileC(SOURCE, folder) } : { missing };
}
