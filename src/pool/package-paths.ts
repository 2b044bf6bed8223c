/** The folders that a cell must be able to read: this package and the libraries that isolate threads load. */
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const LIBRARIES = ['piscina', 'acorn', 'acorn-walk'];

const require = createRequire(import.meta.url);

/** Absolute, without links, each with a separator at its end. */
export function readableFolders(): readonly string[] {
  const own = fileURLToPath(new URL('../', import.meta.url));
  return [own, ...LIBRARIES.map(libraryFolder)].map(folder => {
    const real = realpathSync(folder);
    return real.endsWith(sep) ? real : real + sep;
  });
}

function libraryFolder(name: string): string {
  const entry = require.resolve(name);
  const marker = `${sep}node_modules${sep}${name}${sep}`;
  const at = entry.lastIndexOf(marker);
  return at < 0 ? dirname(entry) : entry.slice(0, at + marker.length);
}
