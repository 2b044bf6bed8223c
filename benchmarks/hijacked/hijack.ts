/** Takes cells over: those that this process starts from then on run a program of the attacker, behind the same sandbox. */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { type NativeProgram, programText, startsCell, withProgram, withText } from './commands.js';

/**
 * Replaces the main program of cells: by cell.ts unless another is given. Answers how to stop. There is no option for it in the package,
 * and there should be none: the function that starts processes is replaced in Node itself, for this process.
 */
export function hijackCells(native?: NativeProgram): () => void {
  const text = programText(new URL('./cell.js', import.meta.url));
  const { spawn } = childProcess;
  const hijacked = (command: string, args: readonly string[], options: object): unknown => {
    const whole = [command, ...args];
    const [program = command, ...given] = !startsCell(args)
      ? whole
      : native === undefined
        ? withText(whole, text)
        : withProgram(whole, native);
    return Reflect.apply(spawn, childProcess, [program, given, options]);
  };
  replaceSpawn(hijacked);
  return () => replaceSpawn(spawn);
}

function replaceSpawn(value: unknown): void {
  Object.defineProperty(childProcess, 'spawn', { value, configurable: true, writable: true });
  syncBuiltinESMExports();
}
