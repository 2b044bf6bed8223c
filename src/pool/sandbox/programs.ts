/** The programs of the system that walls are made with, and how they are tried out. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import process from 'node:process';
import { guarded } from '../../quotas/guarded.js';
import { isShortage, wholeSpawn } from '../../quotas/host/whole-spawn.js';
import { CELL_ENVIRONMENT, sendFilter } from '../launcher/command.js';
import { findConfine } from './confine.js';

/** Where a program that walls are made of is looked for: not in PATH, which others may have set. */
const SYSTEM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
const NAMES = ['bwrap', 'unshare', 'setpriv', 'prlimit', 'newuidmap', 'cat'] as const;
const MAX_MESSAGE_CHARACTERS = 200;
const OUTPUT_WITHIN_MS = 5000;

/** Programs of the system, by their real paths; undefined when they are not installed. */
export type Programs = Readonly<Record<(typeof NAMES)[number], string | undefined>> & {
  /** Whether busybox stands in the place of some of them, which lack the options that walls need: they count as not installed. */
  readonly isBusybox?: boolean;
  /** The launcher of this package. */
  readonly confine?: string | undefined;
  /** Why the launcher is missing. */
  readonly confineProblem?: string | undefined;
};

/** @param folders for tests */
export function findPrograms(folders: readonly string[] = SYSTEM_FOLDERS): Programs {
  let isBusybox = false;
  const found = (name: string): string | undefined => {
    const path = folders.map(folder => join(folder, name)).find(candidate => existsSync(candidate));
    if (path === undefined) return undefined;
    const real = realpathSync(path);
    // One program for many names goes by the name that it is called by.
    if (name === 'cat') return basename(real) === name ? real : path;
    if (basename(real) !== 'busybox') return real;
    isBusybox = true;
    return undefined;
  };
  const programs = {
    bwrap: found('bwrap'),
    unshare: found('unshare'),
    setpriv: found('setpriv'),
    prlimit: found('prlimit'),
    newuidmap: found('newuidmap'),
    cat: found('cat'),
  };
  const { path: confine, problem: confineProblem } = findConfine();
  return { ...programs, isBusybox, confine, confineProblem };
}

/** Whether a command of an owner's own is there: an absolute path, or a name in PATH. */
export function isInstalled(program: string): boolean {
  if (isAbsolute(program)) return existsSync(program);
  const folders = (process.env.PATH ?? '').split(delimiter).filter(isAbsolute);
  return !program.includes('/') && folders.some(folder => existsSync(join(folder, program)));
}

/** The error message of a program, in one line. */
function firstLine(text: string): string {
  const line =
    text
      .split('\n')
      // V8 frames its last words with these.
      .map(part => part.replace(/^#+/, '').trim())
      .find(part => part !== '') ?? '';
  // A line of another program, which is shown to people: no control characters.
  return line.replace(/\p{Cc}/gu, ' ').slice(0, MAX_MESSAGE_CHARACTERS);
}

/** Rejects with the last words of a program that fails. */
export function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env: {}, timeout: OUTPUT_WITHIN_MS }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(isShortage(error) ? error : new Error(firstLine(stderr) || error.message));
    });
  });
}

export interface Attempt {
  readonly works: boolean;
  /** It was ended, because it took too long. */
  readonly isLate: boolean;
  /** The output of the program when it failed. */
  readonly message: string;
}

/** Runs a program to its end, with the environment of a cell and without input. Rejects when there is no process or descriptor left for it. */
export function attempt(
  command: readonly string[],
  options: { readonly cwd: string; readonly timeoutMs: number; readonly filter?: Buffer | undefined },
): Promise<Attempt> {
  const [program = '', ...args] = command;
  return new Promise((resolve, reject) => {
    const start = (): ChildProcess =>
      spawn(program, args, {
        stdio: ['ignore', 'ignore', 'pipe', ...(options.filter === undefined ? [] : ['pipe' as const])],
        env: CELL_ENVIRONMENT,
        cwd: options.cwd,
        timeout: options.timeoutMs,
        killSignal: 'SIGKILL',
      });
    const child = wholeSpawn(2, start);
    let message = '';
    child.stderr?.on(
      'data',
      guarded((chunk: Buffer) => {
        if (message.length < MAX_MESSAGE_CHARACTERS) message += chunk.toString();
      }),
    );
    // Without free descriptors for its pipes there is no process and, against the types, no stdio either.
    if (child.pid !== undefined) sendFilter(child.stdio[FILTER_FD_OF_ATTEMPT], options.filter);
    child.once(
      'error',
      guarded(error => {
        if (isShortage(error)) reject(error);
        else resolve({ works: false, isLate: false, message: error.message });
      }),
    );
    child.once(
      'close',
      guarded(code => resolve({ works: code === 0, isLate: child.killed, message: firstLine(message) })),
    );
  });
}

/** The descriptor after standard error. */
export const FILTER_FD_OF_ATTEMPT = 3;
