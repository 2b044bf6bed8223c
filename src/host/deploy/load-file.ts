/** Reads a configuration file for loadFile(): its modules are bundled by esbuild where they need it and it is installed. */
import type { NamedBinding } from '../../bindings/binding.js';
import type { SandboxOption } from '../../pool/sandbox/sandbox.js';
import { describe } from '../../quotas/schema/describe.js';
import type { LoadOptions } from '../options/options.js';
import { bundlingError, FunctionError } from './bundle/function-error.js';
import { FunctionModules } from './bundle/function-modules.js';
import { readFunctionFile } from './config-file.js';
import type { FunctionFile } from './function-file.js';

export interface LoadFileOptions extends LoadOptions {
  /** The environment of a `wrangler.toml`, `.json` or `.jsonc`: one of its `env`. @default the top level of the file */
  readonly environment?: string;
}

/**
 * @throws EdgeError EDGE_CONFIG_INVALID, EDGE_SCRIPT_IMPORT, EDGE_SCRIPT_SYNTAX for what the bundler refuses, EDGE_SCRIPT_TOO_LARGE
 * @throws TypeError for an environment that is no string
 */
export async function fileToLoad(
  path: string,
  { environment }: Pick<LoadFileOptions, 'environment'>,
  rows: readonly NamedBinding[],
  sandbox: SandboxOption,
): Promise<FunctionFile> {
  if (environment !== undefined && typeof environment !== 'string')
    throw new TypeError(`Option environment of loadFile() is ${describe(environment)}, expected a string`);
  const modules = new FunctionModules('production', sandbox);
  try {
    const collect = async (files: Parameters<FunctionModules['collect']>[0]) => (await modules.collect(files)).source;
    return await readFunctionFile(path, rows, { collect, environment });
  } catch (error) {
    throw error instanceof FunctionError ? bundlingError(error) : error;
  } finally {
    await modules.dispose();
  }
}
