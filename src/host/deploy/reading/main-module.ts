/** The source of the main module that a configuration file names, once its path was checked. */
import type { EdgeError } from '../../../quotas/errors.js';
import { leadsOut } from '../../../storage/files/inside-folder.js';
import { collectModules } from '../collect-modules.js';
import type { ScriptSource } from '../deployment.js';
import type { FunctionFiles, ReadingOptions } from '../function-file.js';
import { isFile } from './file-text.js';

export interface MainModule {
  readonly files: FunctionFiles;
  /** The path that is written in the file. */
  readonly written: string;
  readonly collect: ReadingOptions['collect'];
  /** An error at its place in the file. */
  readonly error: (message: string) => EdgeError;
}

/** @throws EdgeError EDGE_CONFIG_INVALID for a file that is missing or outside of the folder, and the errors of `collect` */
export async function mainModule({ files, written, collect, error }: MainModule): Promise<ScriptSource> {
  const { root, main, rules, additional } = files;
  if (!(await isFile(main))) throw error(`main is "${written}", and there is no such file`);
  if (collect === undefined && /\.[cm]?tsx?$/.test(main)) {
    throw error(
      `main is "${written}", and TypeScript is compiled before it is loaded: by edgehost dev and edgehost serve, or by esbuild in your build`,
    );
  }
  if (await leadsOut(root, main)) throw error(`main is "${written}", which is outside of the folder of the file`);
  return collect?.(files) ?? collectModules(root, main, rules, additional);
}
