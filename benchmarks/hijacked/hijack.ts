/** Takes cells over: from then on each that this process starts runs a program of the attacker behind the same sandbox. */
import childProcess from 'node:child_process';
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';

const CELL_MAIN = /[/\\]cell-main\.js$/;

/**
 * Replaces the main program of cells by cell.ts. There is no option for it in the package, and there should be none: the function that
 * starts processes is replaced in Node itself, for this process.
 */
export function hijackCells(): void {
  const program = programText();
  const { spawn } = childProcess;
  const hijacked = (command: string, args: readonly string[], options: object): unknown => {
    const isCell = args.some(argument => CELL_MAIN.test(argument));
    const flags = args.filter(argument => !CELL_MAIN.test(argument));
    const given = isCell ? [...flags, '--input-type=module', '--eval', program] : args;
    return Reflect.apply(spawn, childProcess, [command, given, options]);
  };
  Object.defineProperty(childProcess, 'spawn', { value: hijacked, configurable: true, writable: true });
  syncBuiltinESMExports();
}

/** A cell is started in the folder of the package's own code, and may read nothing else. */
function programText(): string {
  const text = readFileSync(fileURLToPath(new URL('./cell.js', import.meta.url)), 'utf8');
  return text.replaceAll(/(['"])\.\.\/\.\.\/src\//g, '$1./');
}
