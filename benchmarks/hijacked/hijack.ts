/** Takes cells over: those that this process starts from then on run a program of the attacker, behind the same sandbox. */
import childProcess from 'node:child_process';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** A program that is no Node program, by its path, and its arguments. */
export interface NativeProgram {
  readonly path: string;
  readonly args: readonly string[];
}

const CELL_MAIN = /[/\\]cell-main\.js$/;

/**
 * Replaces the main program of cells: by cell.ts unless another is given. Answers how to stop. There is no option for it in the package,
 * and there should be none: the function that starts processes is replaced in Node itself, for this process.
 */
export function hijackCells(native?: NativeProgram): () => void {
  const text = programText();
  const { spawn } = childProcess;
  const hijacked = (command: string, args: readonly string[], options: object): unknown => {
    const whole = [command, ...args];
    const isCell = args.some(argument => CELL_MAIN.test(argument));
    const [program = command, ...given] = !isCell
      ? whole
      : native === undefined
        ? withText(whole, text)
        : withNative(whole, native);
    return Reflect.apply(spawn, childProcess, [program, given, options]);
  };
  replaceSpawn(hijacked);
  return () => replaceSpawn(spawn);
}

function replaceSpawn(value: unknown): void {
  Object.defineProperty(childProcess, 'spawn', { value, configurable: true, writable: true });
  syncBuiltinESMExports();
}

/** The same Node with the same flags. */
function withText(command: readonly string[], text: string): string[] {
  return [...command.filter(argument => !CELL_MAIN.test(argument)), '--input-type=module', '--eval', text];
}

/** Behind all that comes before Node. A root of its own gets the program, too: an attacker would have brought it along in memory. */
function withNative(command: readonly string[], { path, args }: NativeProgram): string[] {
  const prefix = command.slice(0, command.lastIndexOf(process.execPath));
  const end = prefix.indexOf('--remount-ro');
  if (end >= 0)
    prefix.splice(end, 0, ...foldersAbove(path).flatMap(folder => ['--dir', folder]), '--ro-bind', path, path);
  return [...prefix, path, ...args];
}

function foldersAbove(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || parent === path ? [] : [...foldersAbove(parent), parent];
}

/** A cell is started in the folder of the package's own code, and may read nothing else. */
function programText(): string {
  const text = readFileSync(fileURLToPath(new URL('./cell.js', import.meta.url)), 'utf8');
  return text.replaceAll(/(['"])\.\.\/\.\.\/src\//g, '$1./');
}
