/** The program in C that tests put in the place of a cell, compiled for a benchmark. */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../../../test/fixtures/hostile-cell.c', import.meta.url));

/** Its path, in a folder that any user may read; or why there is none. */
export function compileNative(folder: string): { readonly path: string } | { readonly missing: string } {
  if (!existsSync(SOURCE)) return { missing: `there is no ${SOURCE}` };
  const path = join(folder, 'hostile-cell');
  const { status, stderr, error } = spawnSync('cc', ['-O1', '-o', path, SOURCE, '-lpthread'], { encoding: 'utf8' });
  if (error !== undefined) return { missing: 'the program cc is not installed' };
  if (status !== 0) throw new Error(`Cannot compile ${SOURCE}: ${stderr}`);
  chmodSync(folder, 0o755);
  return { path };
}
