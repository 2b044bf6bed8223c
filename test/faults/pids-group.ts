/** Runs a program in a control group that allows a number of processes and threads (the controller `pids`), where this process may make one. */
import { type ExecFileOptions, execFile } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Version 1, where each controller has groups of its own: those of version 2 often cannot be given the controller. */
const FOLDER = '/sys/fs/cgroup/pids';
const REMOVE_EVERY_MS = 50;

/** Why there can be no such group; undefined when there can. */
export function missingPidsGroup(): string | undefined {
  const folder = `${FOLDER}/edgehost-test-probe-${process.pid}`;
  try {
    mkdirSync(folder);
    const hasLimit = existsSync(`${folder}/pids.max`);
    rmdirSync(folder);
    return hasLimit ? undefined : 'no control groups of the controller pids';
  } catch {
    return 'no control groups of the controller pids that may be made';
  }
}

/** The shell moves itself into the group before it becomes the program. */
export async function runWithTasks(
  tasks: number,
  command: readonly string[],
  options: ExecFileOptions = {},
): Promise<string> {
  const folder = `${FOLDER}/edgehost-test-${process.pid}-${tasks}`;
  mkdirSync(folder);
  try {
    writeFileSync(`${folder}/pids.max`, String(tasks));
    const script = `echo $$ > ${folder}/cgroup.procs && exec "$@"`;
    const { stdout } = await run('sh', ['-c', script, 'sh', ...command], options);
    return String(stdout);
  } finally {
    await removeSoon(folder);
  }
}

/** What the program has started ends a moment after it. */
async function removeSoon(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      rmdirSync(folder);
      return;
    } catch {
      await new Promise(resolve => setTimeout(resolve, REMOVE_EVERY_MS));
    }
  }
}
