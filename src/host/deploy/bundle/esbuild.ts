/**
 * The bundler, which is an optional peer dependency. It runs in this process, with all of its rights: in development the bundler of the function's own project
 * comes first; in production a function may belong to a customer, and nothing in its folder is run.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import type * as Esbuild from 'esbuild';
import { FunctionError } from './function-error.js';

export type { Esbuild };

/** The value of NODE_ENV in packages that read it. */
export type BundleMode = 'development' | 'production';

/**
 * @param root the function's folder
 * @param why what it is needed for, as a sentence
 * @throws FunctionError when it is not installed, or does not load
 */
export async function loadEsbuild(root: string, why: string, mode: BundleMode): Promise<typeof Esbuild> {
  for (const from of [join(mode === 'development' ? root : process.cwd(), 'noop.js'), import.meta.url]) {
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
