/** Takes cells over: those that this process starts from then on run a program of the attacker, behind the same sandbox. */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { Launcher } from '../../src/pool/launch/launcher.js';
import { type NativeProgram, programText, startsCell, withProgram, withText } from './commands.js';

/**
 * Replaces the main program of cells: by cell.ts unless another is given. Answers how to stop. There is no option for it in the package,
 * and there should be none: the function that starts processes is replaced in Node itself, for this process, and that which asks the launcher for one.
 */
export function hijackCells(native?: NativeProgram): () => void {
  const text = programText(new URL('./cell.js', import.meta.url));
  const { spawn } = childProcess;
  const { launch } = Launcher.prototype;
  const hijacked = (command: readonly string[]): readonly string[] => {
    if (!startsCell(command)) return command;
    return native === undefined ? withText(command, text) : withProgram(command, native);
  };
  replaceSpawn((command: string, args: readonly string[], options: object): unknown => {
    const [program = command, ...given] = hijacked([command, ...args]);
    return Reflect.apply(spawn, childProcess, [program, given, options]);
  });
  Launcher.prototype.launch = function (given, inherited) {
    return launch.call(this, { ...given, command: hijacked(given.command) }, inherited);
  };
  return () => {
    replaceSpawn(spawn);
    Launcher.prototype.launch = launch;
  };
}

function replaceSpawn(value: unknown): void {
  Object.defineProperty(childProcess, 'spawn', { value, configurable: true, writable: true });
  syncBuiltinESMExports();
}
