/** The folders of a function's static files, as `edgehost dev` watches them. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoadOptions } from '../../host/options/options.js';
import { isInside } from '../../storage/files/inside-folder.js';

/** Watches are scarce on some systems. Changes in further folders are seen when the function is loaded for another reason. */
const MAX_FOLDERS = 1000;

export class AssetWatch {
  #root: string | undefined;
  #folders: readonly string[] = [];

  /** The folder and those below it, as they were at the last look. */
  get folders(): readonly string[] {
    return this.#folders;
  }

  /** Whether one of the paths belongs to the files. */
  has(paths: Iterable<string>): boolean {
    const root = this.#root;
    if (root === undefined) return false;
    return [...paths].some(path => isInside(root, path));
  }

  /** Looks at the folders of these options, whose path is absolute. A folder that is missing has no folders below it. */
  async look({ assets }: LoadOptions): Promise<void> {
    this.#root = typeof assets === 'string' ? assets : assets?.directory;
    const folders = this.#root === undefined ? [] : [this.#root];
    for (let at = 0; at < folders.length && folders.length < MAX_FOLDERS; at++) {
      const folder = folders[at] ?? '';
      const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
      for (const entry of entries) if (entry.isDirectory()) folders.push(join(folder, entry.name));
    }
    this.#folders = folders.slice(0, MAX_FOLDERS);
  }
}
