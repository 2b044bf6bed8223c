/**
 * The root that a cell has behind bubblewrap: Node and its libraries, this package and its own, /proc, null and urandom, all at the paths
 * where they are outside, and nothing else. There is no folder that can be written to.
 */
import { existsSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { ownFolder, packageFiles } from '../package-paths.js';
import { sharedLibraries } from './shared-libraries.js';

const DEVICES = ['/dev/null', '/dev/urandom'];
const PROC = '/proc';

/** Arguments of `bwrap` that make the root, for cells and for these programs that start them. Rejects when a file cannot be found. */
export async function roomArguments(programs: readonly string[]): Promise<readonly string[]> {
  const executables = [process.execPath, ...programs];
  const libraries = await Promise.all(executables.map(sharedLibraries));
  const { paths, links } = packageFiles();
  const files = [...new Set([...executables, ...libraries.flat(), ...builtinsOnDisk(), ...paths])];
  const folders = new Set([...files, ...DEVICES, ...links.map(({ path }) => path)].flatMap(ancestorsOf));
  return [
    // bubblewrap makes folders on the way for its own user alone.
    ...[...folders].sort().flatMap(path => ['--dir', path]),
    ...files.flatMap(path => ['--ro-bind', path, path]),
    ...links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...['--proc', PROC],
    ...DEVICES.flatMap(path => ['--dev-bind', path, path]),
    // Last: from here on nothing can be made.
    ...['--remount-ro', '/', '--chdir', ownFolder()],
  ];
}

/** Distributions build Node so that it reads some of its own modules from files (`node_shared_builtin_..._path`). */
function builtinsOnDisk(): readonly string[] {
  // Node's build configuration; its type lists only some of the keys.
  const variables: Readonly<Record<string, unknown>> = { ...process.config.variables };
  return Object.entries(variables).flatMap(([key, value]) =>
    /^node_shared_builtin_.*_path$/.test(key) && typeof value === 'string' && existsSync(value)
      ? [realpathSync(value)]
      : [],
  );
}

function ancestorsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || parent === path ? [] : [...ancestorsOf(parent), parent];
}
