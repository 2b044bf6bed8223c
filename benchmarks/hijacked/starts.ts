/**
 * Comes between a host and the processes of its cells, for this process: the function of Node that starts processes is replaced, and that which asks the
 * launcher for one. There is no option for it in the package, and there should be none.
 */
import childProcess, { type ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { Launcher } from '../../src/pool/launcher/launcher.js';
import type { SpawnedProcess } from '../../src/pool/sandbox/spawn.js';
import { startsCell } from './commands.js';

/** Starts another command in place of one that starts a cell. */
export type StartOther = (command: readonly string[]) => SpawnedProcess;

/** Calls `between` for each cell with its command, until what it answers is called. */
export function interceptCells(between: (command: readonly string[], start: StartOther) => SpawnedProcess): () => void {
  const { spawn } = childProcess;
  const { launch } = Launcher.prototype;
  replaceSpawn((program: string, args: readonly string[], options: object): unknown => {
    const start: StartOther = ([first, ...others]) =>
      Reflect.apply(spawn, childProcess, [first, others, options]) as unknown as ChildProcess; // as its signature says
    const command = [program, ...args];
    return startsCell(command) ? between(command, start) : start(command);
  });
  Launcher.prototype.launch = function (given, inherited) {
    const start = (command: readonly string[]) => launch.call(this, { ...given, command }, inherited);
    if (!startsCell(given.command)) return start(given.command);
    return between(given.command, start) as ReturnType<typeof start>; // which is what `start` gives
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
