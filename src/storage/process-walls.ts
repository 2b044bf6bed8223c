/** Starts the processes that work on files of a storage: behind walls of the operating system where the host provides them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { dirname } from 'node:path';
import process from 'node:process';

/** The account that a process works for, and the only folder that it may write to. */
export interface ProcessHome {
  readonly account: string;
  /** Absolute. All processes of an account run as one user, so that several of them can have its files open. */
  readonly folder: string;
}

export interface WalledProcess {
  readonly child: ChildProcess;
  /** Whether a priority that was lowered can be raised again. */
  readonly canRaise: boolean;
  /** Sets the nice value of all of its threads. */
  setPriority(priority: number): void;
  /** Ends it, and all that it has started. */
  kill(): void;
}

export interface ProcessWalls {
  /** Rejects with EDGE_SANDBOX when the walls that are asked for cannot be had. */
  prepare(): Promise<void>;
  /**
   * Starts a program of this package, by its path, with Node's flags before it. Its files in the folder are its user's from here on.
   *
   * @throws EdgeError EDGE_CELL_START when there is no user left, and errors of the file system
   */
  start(
    flags: readonly string[],
    program: string,
    stdio: readonly ('ignore' | 'pipe')[],
    home: ProcessHome,
  ): WalledProcess;
  /** Gives a file that the host has made in the folder to the account's processes. */
  handOver(home: ProcessHome, path: string): void;
}

/** For a storage that no host has opened, as in tests: processes with the rights of this one. */
export const NO_WALLS: ProcessWalls = {
  async prepare() {},
  start(flags, program, stdio) {
    const child = spawn(process.execPath, [...flags, program], {
      stdio: [...stdio],
      env: {},
      // Nothing of the host's own folder: what it opens has an absolute path.
      cwd: dirname(program),
      windowsHide: true,
    });
    return {
      child,
      canRaise: false,
      setPriority: priority => {
        if (child.pid !== undefined) setPriority(child.pid, priority);
      },
      kill: () => child.kill('SIGKILL'),
    };
  },
  handOver() {},
};
