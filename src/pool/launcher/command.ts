/** Starts a command that is composed already, and ends it with all that it has started. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import process from 'node:process';
import { guarded } from '../../quotas/guarded.js';
import { wholeSpawn } from '../../quotas/host/whole-spawn.js';
import { descendantsOf } from '../processes/process-tree.js';
import type { Ending } from './messages.js';

/** Rounds in which all processes of a cell are stopped before they are ended: one that forks meanwhile is met in the next. */
const MAX_STOP_ROUNDS = 32;
/**
 * All of a cell's environment, and nothing of the host's. MALLOC_ARENA_MAX lets two arenas serve all threads. Otherwise each thread that starts beside others
 * gets an arena of its own, and keeps what lies between the blocks that stay. That costs 0.65 MB an idle isolate (measured on Node 20.20). OPENSSL_CONF names
 * an empty file: Node ends when it may not read the machine's own, which is outside of the files of a cell. TZ is what edge runtimes have: without a root of
 * its own a cell would find out the machine's time zone.
 */
export const CELL_ENVIRONMENT = { MALLOC_ARENA_MAX: '2', OPENSSL_CONF: '/dev/null', TZ: 'UTC' } as const;
/** Longer than a wrapper takes to notice that the cell has ended. */
const LOOK_AGAIN_MS = 1000;

/**
 * Starts a command with nothing of this process's environment, in this package's folder. `stdio` are its descriptors from 0 on; the filter of system calls is
 * passed one behind them, which bubblewrap closes before the command starts.
 */
export function startCommand(
  [program = '', ...args]: readonly string[],
  stdio: readonly ('ignore' | 'pipe' | Socket)[],
  filter: Buffer | undefined,
  cwd: string,
): ChildProcess {
  const all = [...stdio, ...(filter === undefined ? [] : ['pipe' as const])];
  const start = (): ChildProcess =>
    spawn(program, args, {
      cwd,
      env: CELL_ENVIRONMENT,
      stdio: all,
      // A group of its own: Ctrl-C in a terminal goes to the whole group, and would end cells before the application has finished its work.
      detached: process.platform !== 'win32',
    });
  const child = wholeSpawn(all.length, start);
  // A wrapper that is killed while it starts the command leaves a helper behind, which waits for it indefinitely and holds the descriptors.
  child.once(
    'exit',
    guarded((_code: number | null, name: NodeJS.Signals | null) => {
      if (name !== null) endGroup(child.pid);
    }),
  );
  // Without free descriptors for its pipes there is no process and, against the types, no stdio either.
  if (filter !== undefined && child.pid !== undefined) sendFilter(child.stdio[stdio.length], filter);
  return child;
}

/** A process that may have ended, as its parent knows. */
export interface Killable {
  readonly pid?: number | undefined;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
}

/**
 * A wrapper waits for the cell and ends after it: it is the cell that is ended, so that nothing is left when the wrapper has exited. The wrapper is stopped
 * meanwhile, or it could start the cell between the look at its children and its own end. Until it has exited it is looked at again: the process found first
 * may have been a helper of the wrapper.
 */
export function killTree(child: Killable, ending: Ending): void {
  const { pid, exitCode, signalCode } = child;
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  if (ending.isWrapped) {
    signal(pid, 'SIGSTOP');
    const inside = descendantsOf(pid);
    for (const descendant of inside) signal(descendant, 'SIGKILL');
    if (inside.length > 0 && !ending.isCustom) {
      signal(pid, 'SIGCONT');
      setTimeout(
        guarded(() => killTree(child, ending)),
        LOOK_AGAIN_MS,
      ).unref();
      return;
    }
  } else endDescendants(pid);
  // A process that is being stopped may still be in the middle of a fork: a child that no look has found yet is in its group.
  endGroup(pid);
  signal(pid, 'SIGKILL');
}

/** Ends the processes that it has started and that have not left its group. */
function endGroup(pid: number | undefined): void {
  if (pid !== undefined && process.platform !== 'win32') signal(-pid, 'SIGKILL');
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

/** Writes a filter program to the process at the other end of the stream, and ends the stream. */
export function sendFilter(stream: unknown, filter: Buffer | undefined): void {
  if (filter === undefined || !isWritable(stream)) return;
  // The process may end before it has read it; its exit status reports that.
  stream.on('error', () => {});
  stream.end(filter);
}

function isWritable(stream: unknown): stream is NodeJS.WritableStream {
  return typeof stream === 'object' && stream !== null && 'end' in stream && typeof stream.end === 'function';
}
