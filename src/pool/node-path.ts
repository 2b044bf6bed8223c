/** The running Node's own file. On a Linux without /proc Node does not know it, and `process.execPath` is the word that it was started with. */
import { existsSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import process from 'node:process';

export const NODE_PATH: string = nodePath(process.execPath, process.env.PATH);

/** @param word a path, or a name to look for in `folders` as a shell does */
export function nodePath(word: string, folders = ''): string {
  if (isAbsolute(word)) return word;
  if (word.includes('/')) return resolve(word);
  const found = folders
    .split(delimiter)
    .filter(isAbsolute)
    .map(folder => join(folder, word));
  return found.find(path => existsSync(path)) ?? word;
}
