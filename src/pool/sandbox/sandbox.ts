/**
 * The operating system's wall around a cell (rule R29): a root with nothing in it, a filter of system calls, namespaces and a user of its
 * own, no privileges, no core dumps. Made with programs of the system, as far as the system allows it: the best wall with which Node starts
 * and finds this package. What there is is tried out once in a process's life.
 */
import process from 'node:process';
import { EdgeError } from '../../quotas/errors.js';
import { cellFlags } from '../cell-flags.js';
import { ownFolder } from '../package-paths.js';
import { cellFilter } from './cell-filter.js';
import { attempt, FILTER_FD_OF_ATTEMPT, findPrograms, isInstalled, type Programs } from './programs.js';
import { remediesFor } from './remedies.js';
import { LAYERS, NO_LAYERS, type SandboxLayers, type SandboxMode, type SandboxState, separationOf } from './state.js';
import { type IdRange, UserIds } from './user-ids.js';
import { type Wall, wallsFor } from './walls.js';

/** A mode, or a command of the owner's own that goes before that of each cell. */
export type SandboxOption = SandboxMode | { readonly command: readonly string[] };

export interface Sandbox {
  readonly state: SandboxState;
  /** For `bwrap --seccomp`; undefined when cells have no filter. */
  readonly filter: Buffer | undefined;
  /** Undefined when cells have no users of their own. */
  readonly ids: UserIds | undefined;
  /** Whether the process that is started is not the cell, but waits for it. */
  readonly isWrapped: boolean;
  /** What goes before the command of a cell. */
  command(id: number | undefined, filterFd: number | undefined): readonly string[];
}

const MAX_DESCRIPTORS = 512;
/** Of a cell: 32 leases, the engine's and libuv's threads, and those of isolates that are ending. */
const MAX_THREADS = 256;
/** In the units of RLIMIT_NICE 20 is a nice value of 0. */
const RAISE_TO_NORMAL = '--nice=20';
const PROBE_TIMEOUT_MS = 10_000;

const known = new Map<string, Promise<Sandbox>>();

/**
 * The sandbox of this process's cells. Rejects with EDGE_SANDBOX when the mode is 'strict' and a layer is missing, or when the program of a
 * command of the owner's own is not there.
 */
export async function sandboxFor(option: SandboxOption): Promise<Sandbox> {
  const key = JSON.stringify(option);
  let made = known.get(key);
  if (made === undefined) {
    made = make(option);
    known.set(key, made);
    // What could not be tried out now may be later; nothing was started meanwhile.
    made.catch(() => known.delete(key));
  }
  const sandbox = await made;
  await sandbox.ids?.reserve();
  return sandbox;
}

async function make(option: SandboxOption): Promise<Sandbox> {
  if (typeof option === 'object') return custom(option.command);
  if (option === 'off') return without(option, ['switched off']);
  if (option === 'strict') {
    // The same layers as with 'auto', which are there already when it was asked for.
    const sandbox = await sandboxFor('auto');
    const { missing } = sandbox.state;
    if (missing.length === 0) return { ...sandbox, state: { ...sandbox.state, mode: 'strict' } };
    throw new EdgeError('EDGE_SANDBOX', `Cannot start a cell with sandbox: 'strict': ${missing.join('; ')}`);
  }
  if (process.platform !== 'linux') return without(option, [`unavailable on ${process.platform}`]);
  return probe(findPrograms());
}

/** For tests: the best sandbox that can be made of these programs. */
export async function probe(programs: Programs): Promise<Sandbox> {
  const isRoot = process.geteuid?.() === 0;
  const limits = await limitsFor(programs);
  const failures: string[] = [];
  const pools = new Map<string, UserIds>();
  for await (const wall of wallsFor(isRoot, programs, failures)) {
    const filters = wall.takesFilter ? [cellFilter(process.arch), undefined] : [undefined];
    for (const filter of new Set(filters)) {
      const sandbox = await assemble(wall, filter, limits, pools);
      const failure = await start(sandbox);
      if (failure === undefined) return finish(sandbox, failures, { isRoot, programs });
      failures.push(`${wall.name}${filter === undefined ? '' : ' with a filter'}: ${failure}`);
    }
  }
  const bare = await assemble(undefined, undefined, limits, pools);
  const failure = await start(bare);
  // A machine that is out of processes or descriptors for a moment says nothing about the layers.
  if (failure !== undefined) {
    throw new EdgeError('EDGE_CELL_START', `Cannot start a process to try out the sandbox: ${failure}`);
  }
  return finish(bare, failures, { isRoot, programs });
}

type Unfinished = Omit<Sandbox, 'state'> & { readonly layers: SandboxLayers };

async function assemble(
  wall: Wall | undefined,
  filter: Buffer | undefined,
  limits: Limits,
  pools: Map<string, UserIds>,
): Promise<Unfinished> {
  const own = new Set<string>(wall?.layers);
  const ids = wall?.ids === undefined ? undefined : poolOf(wall.ids, !own.has('namespaces'), pools);
  await ids?.reserve();
  const before = ids === undefined ? limits.command : limits.commandOfOwnUser;
  return {
    layers: {
      root: own.has('root'),
      seccomp: filter !== undefined,
      namespaces: own.has('namespaces'),
      user: own.has('user'),
      ownUser: own.has('ownUser'),
      resourceLimits: limits.command.length > 0,
    },
    filter,
    ids,
    isWrapped: wall?.isWrapped ?? false,
    command: (id, filterFd) => [...before, ...(wall?.command(id, filterFd) ?? [])],
  };
}

/** Walls that take numbers from the same range have one claim on it. */
function poolOf(range: IdRange, isShared: boolean, pools: Map<string, UserIds>): UserIds {
  const key = `${range.outside} ${isShared}`;
  const pool = pools.get(key) ?? new UserIds(range, isShared);
  pools.set(key, pool);
  return pool;
}

/** Why Node does not start there with this package and its libraries; undefined when it does. */
async function start({ command, filter, ids }: Unfinished): Promise<string | undefined> {
  const id = ids?.take();
  const node = [
    process.execPath,
    ...cellFlags(),
    '--input-type=module',
    '--eval',
    `import 'piscina'; import './isolate/parser.bundle.cjs'`,
  ];
  const { works, message } = await attempt([...command(id, filter && FILTER_FD_OF_ATTEMPT), ...node], {
    cwd: ownFolder(),
    timeoutMs: PROBE_TIMEOUT_MS,
    filter,
  });
  if (id !== undefined) ids?.give(id);
  return works ? undefined : message || 'Node does not start behind it';
}

function finish(
  { layers, ...rest }: Unfinished,
  failures: readonly string[],
  system: { readonly isRoot: boolean; readonly programs: Programs },
): Sandbox {
  const absent = LAYERS.filter(layer => !layers[layer]);
  const missing = remediesFor(absent, failures, system);
  return { ...rest, state: { mode: 'auto', ...layers, missing, separation: separationOf(layers) } };
}

interface Limits {
  readonly command: readonly string[];
  /** With a bound of threads, which the system counts by user. */
  readonly commandOfOwnUser: readonly string[];
}

/** As many as the system lets this process set. */
async function limitsFor({ prlimit }: Programs): Promise<Limits> {
  if (prlimit === undefined) return { command: [], commandOfOwnUser: [] };
  const works = async (args: readonly string[]): Promise<boolean> =>
    (await attempt([prlimit, ...args, prlimit, '--version'], { cwd: '/', timeoutMs: PROBE_TIMEOUT_MS })).works;
  const offered = [
    ['--core=0', '--fsize=0', '--memlock=0', '--msgqueue=0'],
    // Refused where the application itself has fewer: then the cell has no more than that.
    [`--nofile=${MAX_DESCRIPTORS}`],
    // While it still may: what the cell lowers of its threads' priority, it can raise again (thread-priority.ts).
    [RAISE_TO_NORMAL],
  ];
  const perUser = [`--nproc=${MAX_THREADS}`];
  const [areThreadsBounded = false, ...areSet] = await Promise.all([perUser, ...offered].map(works));
  const args = offered.filter((_, index) => areSet[index]).flat();
  if (args.length === 0) return { command: [], commandOfOwnUser: [] };
  return {
    command: [prlimit, ...args],
    commandOfOwnUser: [prlimit, ...args, ...(areThreadsBounded ? perUser : [])],
  };
}

function without(mode: SandboxMode, missing: readonly string[]): Sandbox {
  const state = { mode, ...NO_LAYERS, missing, separation: separationOf(NO_LAYERS) };
  return { state, filter: undefined, ids: undefined, isWrapped: false, command: () => [] };
}

function custom(command: readonly string[]): Sandbox {
  const [program = ''] = command;
  if (!isInstalled(program)) {
    throw new EdgeError(
      'EDGE_SANDBOX',
      `Cannot start a cell: the program "${program}" of option sandbox.command was not found, expected an absolute path or a name in PATH`,
    );
  }
  return {
    state: {
      mode: 'custom',
      ...NO_LAYERS,
      missing: [`not known: cells start behind "${program}", the command of option sandbox`],
      separation: `What native code in the cell of one account can do to others is decided by "${program}", the command of option sandbox; the host does not know it.`,
    },
    filter: undefined,
    ids: undefined,
    isWrapped: true,
    command: () => command,
  };
}
