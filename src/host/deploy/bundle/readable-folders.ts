/**
 * Decides which files a function may make the server read. The function may be a customer's, and an import, a rule or a link may name any file of the machine.
 * Only the function's folder is readable, and packages where that folder finds them.
 */
import { realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { shownPath } from './function-error.js';

export class ReadableFolders {
  readonly #root: string;
  #folders: Promise<readonly string[]> | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  /** The error of a file that is outside. */
  outside(file: string): string {
    return `${shownPath(file)} is outside of the folder of the function, ${shownPath(this.#root)}`;
  }

  /** Why the file may not be read; undefined when it may, or is not there. */
  async refusal(file: string): Promise<string | undefined> {
    const real = await realpath(file).catch(() => undefined);
    if (real === undefined) return undefined;
    this.#folders ??= foldersFor(this.#root);
    const folders = await this.#folders;
    if (!folders.some(folder => real.startsWith(folder))) return this.outside(file);
    // A fifo would never end.
    return (await stat(real)).isFile() ? undefined : `${shownPath(file)} is no regular file`;
  }
}

/** The folder itself, and `node_modules` of those above. */
async function foldersFor(root: string): Promise<readonly string[]> {
  const real = await realpath(root);
  const folders = [join(real, sep)];
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    folders.push(join(folder, 'node_modules', sep));
    if (folder === dirname(folder)) return folders;
  }
}
