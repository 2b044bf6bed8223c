/**
 * The bundler, which is an optional peer dependency. In development it runs in this process, with all of its rights, and the bundler of the function's own
 * project comes first. In production a function may belong to a customer: nothing in its folder is run, and the bundler has a process of its own
 * (process/bundle-process.ts).
 */
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import type * as Esbuild from 'esbuild';
import { FunctionError } from './function-error.js';

export type { Esbuild };

/** The value of NODE_ENV in packages that read it. */
export type BundleMode = 'development' | 'production';

export interface EsbuildFiles {
  /** The main file of the package. */
  readonly main: string;
  /** The folder of the package. */
  readonly folder: string;
  /** The program of this machine, by its real path; undefined where the package must find it. */
  readonly program: string | undefined;
}

/**
 * @param folder where it is looked for first; then beside this package
 * @param why what it is needed for, as a sentence
 * @throws FunctionError when it is not installed
 */
export function findEsbuild(folder: string, why: string): EsbuildFiles {
  for (const from of [join(folder, 'noop.js'), import.meta.url]) {
    try {
      const main = realpathSync(createRequire(from).resolve('esbuild'));
      return { main, folder: dirname(dirname(main)), program: programOf(main) };
    } catch {
      // The next place.
    }
  }
  throw new FunctionError(`${why} It is not installed here: npm install --save-dev esbuild`);
}

/** @throws FunctionError when it is not installed, or does not load */
export async function loadEsbuild(root: string, why: string): Promise<typeof Esbuild> {
  const { main } = findEsbuild(root, why);
  try {
    const loaded: { default: typeof Esbuild } = await import(pathToFileURL(main).href);
    return loaded.default;
  } catch (cause) {
    throw new FunctionError(`${why} The package "esbuild" is at ${main} and does not load: ${String(cause)}`, {
      cause,
    });
  }
}

function programOf(main: string): string | undefined {
  const name = process.platform === 'win32' ? 'esbuild.exe' : 'bin/esbuild';
  try {
    const path = createRequire(main).resolve(`@esbuild/${process.platform}-${process.arch}/${name}`);
    return existsSync(path) ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
