/** The command line of a cell (rules R23 and R24), by what the running Node understands. */
import process from 'node:process';
import { readableFolders } from '../package-paths.js';

const [major = 20] = process.versions.node.split('.').map(Number);

/** Node 20's name for the permission model, until it became stable. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

/** node:sqlite ignores the permission model and opens any file. A thread with flags of its own does not inherit the process's. */
const NO_SQLITE = '--no-experimental-sqlite';

/** Releases of Node that stack-formatter.ts was tested with. In others its internals might stay open. */
const KNOWN_INTERNALS: ReadonlySet<number> = new Set([20, 22, 24, 26]);

/** The flags of every thread with a guest realm, in a cell or in the host process. The flags of the process do not reach a thread. */
export const REALM_FLAGS: readonly string[] = [
  '--experimental-vm-modules',
  '--no-warnings',
  // Node reads an asynchronous id from each rejected promise. Function code can provide a wrong one, on which Node aborts by default.
  '--no-force-async-hooks-checks',
  // Lets a function of another realm format the stacks of errors. The thread closes it again before it does anything else.
  ...(KNOWN_INTERNALS.has(major) ? ['--expose-internals'] : []),
];

function fsRead(paths: readonly string[]): string[] {
  return paths.map(path => `--allow-fs-read=${path}`);
}

/** Flags of the cell's process. V8's own flags reach its threads from here. */
export function cellFlags(): string[] {
  return [
    '--disallow-code-generation-from-strings',
    '--disable-proto=delete',
    '--no-addons',
    '--no-warnings',
    '--no-deprecation',
    // Otherwise the first idle collection drops the code that a spare compiled while warming up: 0.4 MB an isolate, and half of a cold start.
    '--no-flush-bytecode',
    // The cache of compiled scripts holds the realms that they were compiled for: realms of finished runs would stay until a collection of last resort.
    '--no-compilation-cache',
    ...(major >= 24 ? ['--disable-sigusr1', NO_SQLITE] : []),
    PERMISSION,
    '--allow-worker',
    ...fsRead(readableFolders()),
  ];
}

/** Flags of an isolate thread in a cell. Threads do not inherit the permission model, so it is set here again. */
export function isolateFlags(): string[] {
  return [
    PERMISSION,
    ...fsRead([...readableFolders(), '/proc/thread-self/schedstat', '/proc/thread-self/stat']),
    ...(major >= 24 ? [NO_SQLITE] : []),
    ...REALM_FLAGS,
  ];
}
