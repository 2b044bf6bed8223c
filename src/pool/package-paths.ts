/** The folders that a cell must be able to read: this package and the libraries that are not bundled into its own files. */
import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A library, and the one that imports it where that is not this package. */
export interface Library {
  readonly name: string;
  readonly importedBy?: string;
}

const LIBRARIES = ['piscina'];
export const CELL_LIBRARIES: readonly Library[] = LIBRARIES.map(name => ({ name }));

const require = createRequire(import.meta.url);

/** Absolute, each with a separator at its end: the real folders, and those with links to them. */
export function readableFolders(): readonly string[] {
  const own = ownFolder();
  const folders = LIBRARIES.map(name => realpathSync(libraryFolder(name)));
  const links = LIBRARIES.flatMap(name => linksTo(name, own));
  return [own, ...folders, ...new Set(links)].map(path => (path.endsWith(sep) ? path : path + sep));
}

/** The files that a separate root directory must contain, so that a cell finds this package and its libraries by the same paths. */
export interface PackageFiles {
  /** Files and folders, by their real paths. */
  readonly paths: readonly string[];
  /** Links by which an import finds a library, with the real path that each leads to. */
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** Libraries that are not installed are left out. */
export function packageFiles(wanted: readonly Library[] = CELL_LIBRARIES): PackageFiles {
  const own = ownFolder();
  const libraries = wanted.flatMap(({ name, importedBy }) => {
    const from = importedBy === undefined ? own : realFolder(importedBy, own);
    const real = from === undefined ? undefined : realFolder(name, from);
    return real === undefined || from === undefined ? [] : [{ found: foundAt(name, from), real }];
  });
  return {
    paths: [own, ...descriptionOf(own), ...libraries.map(({ real }) => real)],
    links: libraries.flatMap(({ found, real }) =>
      found === undefined || found === real ? [] : [{ path: found, target: real }],
    ),
  };
}

/** The package.json that decides whether the files of a folder are ES modules. */
function descriptionOf(folder: string): string[] {
  for (let parent = folder; ; parent = dirname(parent)) {
    const path = join(parent, 'package.json');
    if (existsSync(path)) return [realpathSync(path)];
    if (dirname(parent) === parent) return [];
  }
}

/**
 * The folder of this package's code, in which cells are started: Node 24 and 26 let a thread read the working directory in spite of its permissions,
 * and this folder is readable anyway.
 */
export function ownFolder(): string {
  return realpathSync(fileURLToPath(new URL('../', import.meta.url)));
}

function realFolder(name: string, from: string): string | undefined {
  try {
    return realpathSync(libraryFolder(name, from));
  } catch {
    return undefined;
  }
}

function libraryFolder(name: string, from = ownFolder()): string {
  const found = foundAt(name, from);
  if (found !== undefined) return found;
  // Other package managers resolve libraries outside of any `node_modules`.
  const entry = require.resolve(name, { paths: [from] });
  const marker = `${sep}node_modules${sep}${name}${sep}`;
  const at = entry.lastIndexOf(marker);
  return at < 0 ? dirname(entry) : entry.slice(0, at + marker.length);
}

/**
 * The `node_modules` in which an import finds the library as a link, as pnpm and workspaces install packages: the permission model refuses to resolve a link
 * that it may not read. The whole folder is allowed and not the link alone. The model of Node 20 to 26 loses a path that is a prefix of another one (`acorn`
 * beside `acorn-walk`).
 */
function linksTo(name: string, from: string): string[] {
  const path = foundAt(name, from);
  if (path === undefined) return [];
  const modules = dirname(path);
  return [modules, path].some(step => lstatSync(step).isSymbolicLink()) ? [modules] : [];
}

/** Where an import of a library is resolved to before links are followed. */
function foundAt(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name);
    if (existsSync(path)) return path;
    if (dirname(folder) === folder) return undefined;
  }
}
