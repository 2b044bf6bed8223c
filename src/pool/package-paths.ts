/** The folders that a cell must be able to read: this package and the libraries that are not bundled into its own files. */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const LIBRARIES = ['piscina'];

const require = createRequire(import.meta.url);

/** Absolute, each with a separator at its end: the real folders, and the links that lead to them. */
export function readableFolders(): readonly string[] {
  const own = realpathSync(fileURLToPath(new URL('../', import.meta.url)));
  const folders = [own, ...LIBRARIES.map(name => realpathSync(libraryFolder(name)))];
  const links = folders.flatMap(from => LIBRARIES.flatMap(name => linksTo(name, from)));
  return [...folders, ...new Set(links)].map(path => (path.endsWith(sep) ? path : path + sep));
}

function libraryFolder(name: string): string {
  const entry = require.resolve(name);
  const marker = `${sep}node_modules${sep}${name}${sep}`;
  const at = entry.lastIndexOf(marker);
  return at < 0 ? dirname(entry) : entry.slice(0, at + marker.length);
}

/**
 * Links on the way by which an import of a library finds it: pnpm and workspaces install packages as links. The permission model refuses to
 * resolve a link that may not be read itself.
 */
function linksTo(name: string, from: string): string[] {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    if (existsSync(path)) return [dirname(path), path].filter(step => lstatSync(step).isSymbolicLink());
    if (dirname(folder) === folder) return [];
  }
}
