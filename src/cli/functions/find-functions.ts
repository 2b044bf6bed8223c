/** Finds the functions that a path means: a script, a configuration file, a folder with one of them, or a folder of such folders and scripts. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { FunctionError, shownPath } from '../../host/deploy/bundle/function-error.js';
import { CONFIG_NAME, configurationIn, isWranglerFile } from '../../host/deploy/wrangler/find-file.js';

/** Where a function is. */
export interface FunctionPlace {
  /** `config`: a file such as edgehost.toml. `script`: the main module, without a configuration. */
  readonly kind: 'config' | 'script';
  /** Absolute. */
  readonly file: string;
  /** A name for messages, and for a script the name of the function. */
  readonly name: string;
}

export interface FoundFunctions {
  readonly places: readonly FunctionPlace[];
  /** Whether the path is a folder of functions: more of them can appear later. */
  readonly isFolder: boolean;
  /** Folders in which functions can appear and disappear. */
  readonly folders: readonly string[];
}

/** The first ending for which a file exists is taken, in this order. */
const SCRIPT_ENDINGS = ['.ts', '.tsx', '.mts', '.js', '.jsx', '.mjs'];
/** Names of files that stand beside functions and are not functions themselves. */
const NO_FUNCTION = /^[._]|\.d\.[cm]?ts$|\.(?:test|spec|config)\.[^.]+$/;

/** @throws FunctionError when the path leads to no function */
export async function findFunctions(path: string): Promise<FoundFunctions> {
  const root = resolve(path);
  const info = await stat(root).catch(() => undefined);
  if (info === undefined) throw new FunctionError(`There is no file or folder ${shownPath(root)}`);
  if (!info.isDirectory()) return { places: [placeOfFile(root)], isFolder: false, folders: [] };
  const own = await placeInFolder(root);
  if (own !== undefined) return { places: [own], isFolder: false, folders: [root] };
  const { places, folders } = await placesBelow(root);
  if (places.length === 0) {
    throw new FunctionError(
      `There is no function in ${shownPath(root)}: a function is a folder with ${CONFIG_NAME}, wrangler.json, wrangler.jsonc or wrangler.toml, or with index${SCRIPT_ENDINGS.join(', index')}, or a script; edgehost init writes one`,
    );
  }
  return { places, isFolder: true, folders };
}

async function placesBelow(root: string): Promise<Pick<FoundFunctions, 'places' | 'folders'>> {
  const places: FunctionPlace[] = [];
  const folders = [root];
  const entries = await readdir(root);
  for (const name of entries.sort()) {
    if (NO_FUNCTION.test(name) || name === 'node_modules') continue;
    const path = join(root, name);
    // It may have gone meanwhile.
    const info = await stat(path).catch(() => undefined);
    if (info?.isDirectory() === true) {
      folders.push(path);
      const place = await placeInFolder(path);
      if (place !== undefined) places.push(place);
    } else if (info?.isFile() === true && SCRIPT_ENDINGS.includes(extname(name))) {
      places.push({ kind: 'script', file: path, name: nameOf(basename(name, extname(name))) });
    }
  }
  checkNames(places);
  return { places, folders };
}

function checkNames(places: readonly FunctionPlace[]): void {
  const files = new Map<string, string>();
  for (const { name, file } of places) {
    const other = files.get(name);
    if (other !== undefined)
      throw new FunctionError(`Two functions are named "${name}": ${shownPath(other)} and ${shownPath(file)}`);
    files.set(name, file);
  }
}

function placeOfFile(file: string): FunctionPlace {
  const ending = extname(file);
  if (ending === '.toml' || isWranglerFile(file))
    return { kind: 'config', file, name: nameOf(basename(dirname(file))) };
  if (SCRIPT_ENDINGS.includes(ending)) return { kind: 'script', file, name: nameOf(basename(file, ending)) };
  throw new FunctionError(
    `${shownPath(file)} is not a function: a function is a folder, a configuration file (.toml, .json, .jsonc) or a script (${SCRIPT_ENDINGS.join(', ')})`,
  );
}

async function placeInFolder(folder: string): Promise<FunctionPlace | undefined> {
  const name = nameOf(basename(folder));
  const file = await configurationIn(folder);
  if (file !== undefined) return { kind: 'config', file, name };
  const names = await readdir(folder).catch((): string[] => []);
  const ending = SCRIPT_ENDINGS.find(each => names.includes(`index${each}`));
  return ending === undefined ? undefined : { kind: 'script', file: join(folder, `index${ending}`), name };
}

/** A name that functions may have. */
export function nameOf(text: string): string {
  const name = text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 63);
  return name === '' ? 'function' : name;
}
