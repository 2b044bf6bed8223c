/** The bundler, which is an optional peer dependency: that of the function's own project, or the one beside this package. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Esbuild from 'esbuild';
import { FunctionError } from './function-error.js';

export type { Esbuild };

/**
 * @param root the function's folder
 * @param why what it is needed for, as a sentence
 * @throws FunctionError when it is not installed, or does not load
 */
export async function loadEsbuild(root: string, why: string): Promise<typeof Esbuild> {
  for (const from of [join(root, 'noop.js'), import.meta.url]) {
    let path: string;
    try {
      path = createRequire(from).resolve('esbuild');
    } catch {
      continue;
    }
    try {
      const loaded: { default: typeof Esbuild } = await import(pathToFileURL(path).href);
      return loaded.default;
    } catch (cause) {
      throw new FunctionError(`${why} The package "esbuild" is at ${path} and does not load: ${String(cause)}`, {
        cause,
      });
    }
  }
  throw new FunctionError(`${why} It is not installed here: npm install --save-dev esbuild`);
}
