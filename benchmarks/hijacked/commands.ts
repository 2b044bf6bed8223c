/** The commands that start cells, changed so that an attacker's program runs behind everything that stands before a cell. */
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

/** A program that is not a Node program, by its path, and its arguments. */
export interface NativeProgram {
  readonly path: string;
  readonly args: readonly string[];
}

/** A file or folder of the machine, and where it is in the root of a sandbox. @default where it is */
export interface BoundFile {
  readonly path: string;
  readonly inside?: string;
}

const CELL_MAIN = /[/\\]cell-main\.bundle\.cjs$/;

export function startsCell(args: readonly string[]): boolean {
  return args.some(argument => CELL_MAIN.test(argument));
}

/** The same Node with the same flags, and another text. */
export function withText(command: readonly string[], text: string): string[] {
  return [...command.filter(argument => !CELL_MAIN.test(argument)), '--input-type=module', '--eval', text];
}

/** The program in place of Node. */
export function withProgram(command: readonly string[], { path, args }: NativeProgram): string[] {
  return [...withFiles(command.slice(0, command.lastIndexOf(process.execPath)), [{ path }]), path, ...args];
}

/**
 * Files in the root of a sandbox, where the words make one, and among those that Landlock lets it open: an attacker would have brought them along in memory.
 */
export function withFiles(words: readonly string[], files: readonly BoundFile[]): string[] {
  const end = words.indexOf('--remount-ro');
  const binds = files.flatMap(({ path, inside = path }) => [
    ...foldersAbove(inside).flatMap(folder => ['--dir', folder]),
    ...['--ro-bind', path, inside],
  ]);
  const inRoom = end < 0 ? [...words] : [...words.slice(0, end), ...binds, ...words.slice(end)];
  const at = inRoom.indexOf('--landlock');
  if (at < 0) return inRoom;
  const rules = files
    .map(({ path, inside = path }) => (end < 0 ? path : inside))
    .flatMap(path => [`--exec=${path}`, `--read=${path}`]);
  return [...inRoom.slice(0, at + 1), ...rules, ...inRoom.slice(at + 1)];
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || parent === path ? [] : [...foldersAbove(parent), parent];
}

/**
 * A compiled module, with those beside it that it imports; of others the package's own code alone. A cell is started in the folder of that code, and may read
 * nothing else.
 */
export function programText(module: URL): string {
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(module)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    external: ['../src/*', '../../src/*', '../../../src/*'],
    write: false,
  });
  const text = outputFiles[0]?.text ?? '';
  return text.replaceAll(/(['"])(?:\.\.\/)+src\//g, '$1./');
}
