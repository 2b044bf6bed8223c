/** Starts a process behind a sandbox: a cell, or a test that tries to escape. */
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { guarded } from '../../quotas/guarded.js';
import { killTree, startCommand } from '../launcher/command.js';
import type { Launcher } from '../launcher/launcher.js';
import type { Ending } from '../launcher/messages.js';
import { ownFolder } from '../package-paths.js';
import { descendantsOf } from '../processes/process-tree.js';
import { setTreePriority } from '../processes/tree-priority.js';
import type { OwnPaths } from './room.js';
import type { Sandbox } from './sandbox.js';

/** The process that was started: the command, or a program that waits for it. Started here or by the launcher. */
export interface SpawnedProcess {
  readonly pid?: number | undefined;
  /** Undefined when it could not be started. */
  readonly stdio: readonly unknown[] | undefined;
  readonly stderr: Readable | null;
  readonly exitCode: number | null;
  readonly signalCode: NodeJS.Signals | null;
  once(event: 'exit', listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
  once(event: 'error', listener: (error: Error) => void): unknown;
}

export interface Inmate<Child extends SpawnedProcess = SpawnedProcess> {
  readonly child: Child;
  /** Until then `child` has neither id nor descriptors. Rejects never: `child` emits 'error' or 'exit'. Undefined when it has them, or has failed. */
  readonly opened: Promise<void> | undefined;
  /** The process of the command itself, as far as the host sees it yet. */
  readonly pid: number | undefined;
  /** Sets the nice value of all of its threads. */
  setPriority(priority: number): void;
  /** Ends the command, and all that it has started. */
  kill(): void;
}

/** Where a process belongs that is not alone in it. */
export interface ProcessPlace extends OwnPaths {
  /** Its user, which its owner takes and releases. */
  readonly id: number | undefined;
}

/**
 * Starts a command behind the sandbox, with nothing of the host's environment, in this package's folder. `stdio` are its descriptors from 0 on. Throws
 * EDGE_CELL_START when there is no user left.
 */
export function spawnBehind(
  sandbox: Sandbox,
  command: readonly string[],
  stdio: readonly ('ignore' | 'pipe' | Socket)[],
  place?: ProcessPlace,
): Inmate<ChildProcess> {
  const { whole, release } = compose(sandbox, command, stdio.length, place);
  let child: ChildProcess;
  try {
    child = startCommand(whole, stdio, sandbox.filter, ownFolder());
  } catch (error) {
    release();
    throw error;
  }
  child.once('exit', release);
  child.once(
    'error',
    guarded(() => {
      if (child.pid === undefined) release();
    }),
  );
  const ending = endingOf(sandbox);
  return {
    child,
    opened: undefined,
    get pid() {
      return pidOf(child, ending);
    },
    setPriority(priority) {
      const { pid } = child;
      if (pid !== undefined && child.exitCode === null && child.signalCode === null) setTreePriority(pid, priority);
    },
    kill: () => killTree(child, ending),
  };
}

/**
 * Has a command started by the launcher, or starts it here without one. Sockets among its descriptors are the last of them, and are not the caller's any more.
 */
export function launchBehind(
  launcher: Launcher | undefined,
  sandbox: Sandbox,
  command: readonly string[],
  stdio: readonly ('ignore' | 'pipe' | Socket)[],
): Inmate {
  const inherited = stdio.filter(each => each instanceof Socket);
  let isTaken = false;
  try {
    if (launcher?.isUp !== true) {
      launcher?.isWanted();
      return spawnBehind(sandbox, command, stdio);
    }
    const { whole, release } = compose(sandbox, command, stdio.length);
    const ending = endingOf(sandbox);
    const pipes = stdio.filter((each): each is 'ignore' | 'pipe' => !(each instanceof Socket));
    isTaken = true;
    const child = launcher.launch({ command: whole, stdio: pipes, filter: sandbox.filter, ...ending }, inherited);
    child.once('exit', release);
    child.once('error', release);
    return {
      child,
      opened: child.opened,
      get pid() {
        return pidOf(child, ending);
      },
      setPriority: priority => child.setPriority(priority),
      kill: () => child.kill(),
    };
  } finally {
    // A process has its own by now.
    if (!isTaken) for (const socket of inherited) socket.destroy();
  }
}

/** The command behind the sandbox. Until `release` it has a user of its own if any is free, or the user of its place. */
function compose(
  sandbox: Sandbox,
  command: readonly string[],
  descriptors: number,
  place?: ProcessPlace,
): { readonly whole: readonly string[]; readonly release: () => void } {
  const filterFd = sandbox.filter && descriptors;
  if (place !== undefined) {
    return { whole: [...sandbox.command({ ...place, descriptors, filterFd }), ...command], release: () => {} };
  }
  const id = sandbox.ids?.take();
  let isTaken = true;
  const release = guarded((): void => {
    if (isTaken && id !== undefined) sandbox.ids?.give(id);
    isTaken = false;
  });
  return { whole: [...sandbox.command({ id, descriptors, filterFd }), ...command], release };
}

function endingOf({ isWrapped, state }: Sandbox): Ending {
  return { isWrapped, isCustom: state.mode === 'custom' };
}

function pidOf({ pid }: SpawnedProcess, { isWrapped, isCustom }: Ending): number | undefined {
  if (!isWrapped || pid === undefined) return pid;
  // A command of the owner's own may start another process or become the cell.
  return descendantsOf(pid).at(-1) ?? (isCustom ? pid : undefined);
}
