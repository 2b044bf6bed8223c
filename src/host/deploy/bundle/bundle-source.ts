/** The sources of load() with the option `bundle`: a folder, files, or one text, which esbuild makes into one module. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { SandboxOption } from '../../../pool/sandbox/sandbox.js';
import { EdgeError } from '../../../quotas/errors.js';
import { describe, isObject } from '../../../quotas/schema/describe.js';
import { leadsOut } from '../../../storage/files/inside-folder.js';
import type { ScriptSource } from '../deployment.js';
import type { FunctionFiles } from '../function-file.js';
import { isFile } from '../reading/file-text.js';
import { findEsbuild } from './esbuild.js';
import { bundlingError, FunctionError } from './function-error.js';
import { bundleApart } from './process/bundle-process.js';

/** A folder with the files of a function, for load() with the option `bundle`. */
export interface FolderSource {
  /** Its path, absolute or relative to the working directory. The bundler reads this folder, and packages of `node_modules` in the folders above. */
  readonly directory: string;
  /** The path of the main module in the folder. */
  readonly main: string;
}

const WHY = 'Option bundle of load() needs esbuild.';
const TEXT_NAME = 'index.ts';
const MAX_FILES = 10_000;
const MAX_BYTES = 64 * 1024 * 1024;
/** The parts of a path that stays in its folder on every system. */
const PATH = /^(?:\.\/)?(?!\.{1,2}(?:\/|$))[^/\\:\0]+(?:\/(?!\.{1,2}(?:\/|$))[^/\\:\0]+)*$/;
const MAX_PATH_CHARACTERS = 1024;

/**
 * @throws TypeError and RangeError for a wrong source, EdgeError EDGE_SCRIPT_SYNTAX, EDGE_SCRIPT_IMPORT, EDGE_BUNDLE_LIMIT, EDGE_NOT_SUPPORTED without
 *   esbuild, EDGE_OVERLOADED
 */
export async function bundledSource(source: unknown, sandbox: SandboxOption): Promise<ScriptSource> {
  if (isObject(source) && 'directory' in source) return bundleFolder(source, sandbox);
  const { main, files } = filesOf(source);
  const root = await mkdtemp(join(tmpdir(), 'edgehost-bundle-'));
  try {
    for (const [name, bytes] of files) {
      const path = join(root, name);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await writeFile(path, bytes, { mode: 0o600, flag: 'wx' });
    }
    return await bundle({ root, main: join(root, main), rules: [] }, sandbox, '');
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

async function bundleFolder(
  { directory, main }: Readonly<Record<string, unknown>>,
  sandbox: SandboxOption,
): Promise<ScriptSource> {
  if (typeof directory !== 'string' || typeof main !== 'string')
    throw new TypeError(
      `The source of load() is { directory: ${describe(directory)}, main: ${describe(main)} }, expected two paths`,
    );
  const root = resolve(directory);
  const file = resolve(root, main);
  if (await leadsOut(root, file))
    throw new TypeError(`The main module is ${describe(main)}, which is outside of ${describe(directory)}`);
  if (!(await isFile(file)))
    throw new EdgeError('EDGE_SCRIPT_IMPORT', `Cannot load the function: there is no file ${file}`);
  return bundle({ root, main: file, rules: [] }, sandbox);
}

async function bundle(files: FunctionFiles, sandbox: SandboxOption, shownRoot?: string): Promise<ScriptSource> {
  try {
    const esbuild = findEsbuild(process.cwd(), WHY);
    const options = shownRoot === undefined ? {} : { shownRoot };
    return (await bundleApart(files, esbuild, sandbox, options)).source;
  } catch (error) {
    throw error instanceof FunctionError ? bundlingError(error) : error;
  }
}

/** The files by their paths, without one that leads out of their folder. */
function filesOf(source: unknown): { readonly main: string; readonly files: ReadonlyMap<string, string | Uint8Array> } {
  if (typeof source === 'string') return { main: TEXT_NAME, files: new Map([[TEXT_NAME, source]]) };
  if (!isObject(source) || typeof source.main !== 'string' || !isObject(source.modules))
    throw new TypeError(
      `The source of load() is ${describe(source)}, expected a string, { main, modules } or { main, directory }`,
    );
  const { main, modules } = source;
  const names = Object.keys(modules);
  if (!names.includes(main))
    throw new TypeError(
      `The main module ${describe(main)} is not among the modules (${names.slice(0, 20).join(', ')})`,
    );
  if (names.length > MAX_FILES)
    throw new RangeError(`The source of load() has ${names.length} modules, at most ${MAX_FILES} can be bundled`);
  const files = new Map<string, string | Uint8Array>();
  let length = 0;
  for (const name of names) {
    if (name.length > MAX_PATH_CHARACTERS || !PATH.test(name))
      throw new TypeError(`A module is named ${describe(name)}, expected a path in its folder, such as src/index.ts`);
    const bytes = bytesOf(name, modules[name]);
    length += bytes.length;
    files.set(name.replace(/^\.\//, ''), bytes);
  }
  if (length > MAX_BYTES)
    throw new RangeError(`The modules of load() are ${length} bytes, at most ${MAX_BYTES} can be bundled`);
  return { main: main.replace(/^\.\//, ''), files };
}

function bytesOf(name: string, module: unknown): string | Uint8Array {
  const bytes = isObject(module) && !(module instanceof Uint8Array) ? module.source : module;
  if (typeof bytes === 'string' || bytes instanceof Uint8Array) return bytes;
  throw new TypeError(`Module "${name}" is ${describe(module)}, expected a string, a Uint8Array or { type, source }`);
}
