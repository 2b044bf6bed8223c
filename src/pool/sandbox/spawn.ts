/** Starts a process behind a sandbox: a cell, or a test that tries to escape. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import process from 'node:process';
import { ownFolder } from '../package-paths.js';
import { descendantsOf } from '../watch/process-tree.js';
import { sendFilter } from './programs.js';
import type { Sandbox } from './sandbox.js';

/** Rounds in which all processes of a cell are stopped before they are ended: one that forks meanwhile is met in the next. */
const MAX_STOP_ROUNDS = 32;
/**
 * All of a cell's environment: one setting of the C library, which reads it from nowhere else, and nothing of the host's. Otherwise each thread that
 * starts beside others gets an arena of its own for allocations, and keeps what lies between those that stay: 0.65 MB an idle isolate (measured on
 * Node 20.20). With two arenas threads seldom wait for each other, since each keeps small blocks of its own.
 */
export const CELL_ENVIRONMENT = { MALLOC_ARENA_MAX: '2' } as const;
/** Longer than a wrapper takes to notice that the cell has ended. */
const LOOK_AGAIN_MS = 1000;

export interface Inmate {
  readonly child: ChildProcess;
  /** The process of the command itself, as far as the host sees it yet. */
  readonly pid: number | undefined;
  /** Ends the command, and all that it has started. */
  kill(): void;
}

/**
 * Starts a command behind the sandbox, with nothing of the host's environment, in this package's folder. `stdio` are its descriptors from 0 on; the filter of
 * system calls goes on one behind them, which bubblewrap closes before the command starts. Throws EDGE_CELL_START when there is no user left.
 */
export function spawnBehind(
  sandbox: Sandbox,
  command: readonly string[],
  stdio: readonly ('ignore' | 'pipe' | Socket)[],
): Inmate {
  const id = sandbox.ids?.take();
  let isTaken = true;
  const release = (): void => {
    if (isTaken && id !== undefined) sandbox.ids?.give(id);
    isTaken = false;
  };
  const filterFd = sandbox.filter === undefined ? undefined : stdio.length;
  const [program = '', ...args] = [...sandbox.command(id, filterFd), ...command];
  let child: ChildProcess;
  try {
    child = spawn(program, args, {
      cwd: ownFolder(),
      env: CELL_ENVIRONMENT,
      stdio: [...stdio, ...(filterFd === undefined ? [] : ['pipe' as const])],
      // A group of its own: Ctrl-C in a terminal goes to the whole group, and would end cells before the application has finished what runs.
      detached: process.platform !== 'win32',
    });
  } catch (error) {
    release();
    throw error;
  }
  child.once('exit', release);
  child.once('error', () => {
    if (child.pid === undefined) release();
  });
  // Without free descriptors for its pipes there is no process and, against the types, no stdio either.
  if (filterFd !== undefined && child.pid !== undefined) sendFilter(child.stdio[filterFd], sandbox.filter);
  return {
    child,
    get pid() {
      if (!sandbox.isWrapped || child.pid === undefined) return child.pid;
      // A command of the owner's own may start another process or become the cell.
      return descendantsOf(child.pid).at(-1) ?? (sandbox.state.mode === 'custom' ? child.pid : undefined);
    },
    kill: () => killTree(child, sandbox),
  };
}

/**
 * A wrapper waits for the cell and ends after it: it is the cell that is ended, so that nothing is left when the wrapper has exited. The wrapper
 * is stopped meanwhile, or it could start the cell between the look at its children and its own end. Until it has exited it is looked at
 * again: what was found may have been a helper of its own.
 */
function killTree(child: ChildProcess, sandbox: Sandbox): void {
  const { pid, exitCode, signalCode } = child;
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  if (sandbox.isWrapped) {
    signal(pid, 'SIGSTOP');
    const inside = descendantsOf(pid);
    for (const descendant of inside) signal(descendant, 'SIGKILL');
    if (inside.length > 0 && sandbox.state.mode !== 'custom') {
      signal(pid, 'SIGCONT');
      setTimeout(() => killTree(child, sandbox), LOOK_AGAIN_MS).unref();
      return;
    }
  } else endDescendants(pid);
  // A process that is being stopped may still be in the middle of a fork: a child that no look has found yet is in its group.
  if (process.platform !== 'win32') signal(-pid, 'SIGKILL');
  child.kill('SIGKILL');
}

/** Where no namespace ends with the cell: what it has started is stopped first, since a process that is stopped forks no more. */
function endDescendants(root: number): void {
  signal(root, 'SIGSTOP');
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_STOP_ROUNDS; round++) {
    const found = descendantsOf(root).filter(pid => !stopped.has(pid));
    if (found.length === 0) break;
    for (const pid of found) {
      stopped.add(pid);
      signal(pid, 'SIGSTOP');
    }
  }
  for (const pid of stopped) signal(pid, 'SIGKILL');
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
