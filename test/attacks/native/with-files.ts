/** Puts files of a test into the root of a sandbox: an attacker would have brought them along in memory. */
import { dirname } from 'node:path';
import type { Sandbox } from '../../../src/pool/sandbox/sandbox.js';

/** The sandbox with these files or folders in its root, each where `inside` says, else where they are. Nothing changes without a root. */
export function withFiles(
  sandbox: Sandbox,
  files: readonly { readonly path: string; readonly inside?: string }[],
): Sandbox {
  const binds = files.flatMap(({ path, inside = path }) => [
    ...foldersAbove(inside).flatMap(folder => ['--dir', folder]),
    ...['--ro-bind', path, inside],
  ]);
  return {
    ...sandbox,
    command(id, filterFd) {
      const words = sandbox.command(id, filterFd);
      const at = words.indexOf('--remount-ro');
      return at < 0 ? words : [...words.slice(0, at), ...binds, ...words.slice(at)];
    },
  };
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || parent === path ? [] : [...foldersAbove(parent), parent];
}
