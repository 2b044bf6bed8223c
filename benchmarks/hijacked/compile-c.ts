/** Programs in C that take the place of cells. */
import { spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';

/** Why such a program cannot be compiled, or would not run, on this machine; undefined when it can. */
export function missingCompiler(): string | undefined {
  if (process.platform !== 'linux') return 'not Linux';
  const { error, status } = spawnSync('cc', ['-E', '-include', 'stdio.h', '-x', 'c', '/dev/null'], { stdio: 'ignore' });
  if (error !== undefined) return 'no C compiler (cc)';
  return status === 0 ? undefined : 'no headers of the C library';
}

/** Compiles a file into `folder`, which any user may read then: cells may have users of their own. Returns the path of the program. */
export function compileC(source: string, folder: string): string {
  const program = join(folder, basename(source, '.c'));
  const { status, stderr } = spawnSync('cc', ['-O1', '-o', program, source, '-lpthread'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`Cannot compile ${source}: ${stderr}`);
  chmodSync(folder, 0o755);
  return program;
}
