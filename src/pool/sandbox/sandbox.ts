/**
 * The operating system's wall around a cell (rule R29): a root with nothing in it or Landlock, a filter of system calls, namespaces and a user
 * of its own, no privileges, no core dumps. Made with programs of the system and the launcher of this package, as far as the system allows it:
 * the best wall with which Node starts and finds this package. The available layers are tried out once in a process's life.
 */
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { EdgeError } from '../../quotas/errors.js';
import { ownFolder } from '../package-paths.js';
import { CELL_RULES } from './cell-rules.js';
import { confineCommand, landlockAbi, resourcesOf } from './confine.js';
import { attempt, FILTER_FD_OF_ATTEMPT, findPrograms, isInstalled, type Programs } from './programs.js';
import { remediesFor } from './remedies.js';
import type { ProcessRules } from './rules.js';
import {
  isSeparated,
  LAYERS,
  NO_LAYERS,
  type SandboxLayer,
  type SandboxLayers,
  type SandboxMode,
  type SandboxState,
  separationOf,
} from './state.js';
import { type IdRange, UserIds } from './user-ids.js';
import { type ProcessStart, type System, type Wall, wallsFor } from './walls.js';

/** A mode, or a command of the owner's own that goes before each cell's command. */
export type SandboxOption = SandboxMode | { readonly command: readonly string[] };

export interface Sandbox {
  readonly state: SandboxState;
  /** Undefined when cells have no filter. */
  readonly filter: Buffer | undefined;
  /** Undefined when cells have no users of their own. */
  readonly ids: UserIds | undefined;
  /** Whether the process that is started is not the cell, but waits for it. */
  readonly isWrapped: boolean;
  /** The words before the command of a process. */
  command(start: ProcessStart): readonly string[];
}

const PROBE_TIMEOUT_MS = 10_000;

const known = new Map<string, Promise<Sandbox>>();

/**
 * The sandbox of this process's cells, or of processes with other rules. Rejects with EDGE_SANDBOX when the mode is 'strict' and accounts are not separated
 * ({@link SandboxState.separated}), or when the program of a command of the owner's own is not there.
 */
export async function sandboxFor(option: SandboxOption, rules: ProcessRules = CELL_RULES): Promise<Sandbox> {
  const key = `${rules.name} ${JSON.stringify(option)}`;
  let made = known.get(key);
  if (made === undefined) {
    made = make(option, rules);
    known.set(key, made);
    // A failed probe is repeated with the next call. No process was started in the meantime.
    made.catch(() => known.delete(key));
  }
  const sandbox = await made;
  await sandbox.ids?.reserve();
  return sandbox;
}

async function make(option: SandboxOption, rules: ProcessRules): Promise<Sandbox> {
  if (typeof option === 'object') return custom(option.command);
  if (option === 'off') return without(option, ['switched off']);
  if (option === 'strict') {
    // The same layers as with 'auto', which are there already when it was asked for.
    const sandbox = await sandboxFor('auto', rules);
    const { missing, separated } = sandbox.state;
    if (separated) return { ...sandbox, state: { ...sandbox.state, mode: 'strict' } };
    throw new EdgeError('EDGE_SANDBOX', `Cannot start ${rules.name} with sandbox: 'strict': ${missing.join('; ')}`);
  }
  if (process.platform !== 'linux') return without(option, [`unavailable on ${process.platform}`]);
  return probe(findPrograms(), rules);
}

/**
 * The best sandbox that can be made of these programs.
 *
 * @param maxAbi use no more of Landlock than this ABI has. For tests
 */
export async function probe(
  programs: Programs,
  rules: ProcessRules = CELL_RULES,
  maxAbi = Number.POSITIVE_INFINITY,
): Promise<Sandbox> {
  const isRoot = process.geteuid?.() === 0;
  const [limits, abi] = await Promise.all([
    limitsFor(programs, rules),
    programs.confine === undefined ? 0 : landlockAbi(programs.confine),
  ]);
  const system = { isRoot, programs, landlockAbi: Math.min(abi, maxAbi) };
  const failures: string[] = [];
  const pools = new Map<string, UserIds>();
  for await (const wall of wallsFor(system, failures, rules)) {
    for (const filter of new Set([wall.filter, undefined])) {
      const sandbox = await assemble(wall, filter, limits, pools);
      const failure = await start(sandbox, rules);
      if (failure === undefined) return finish(sandbox, failures, system, rules);
      failures.push(`${wall.name}${filter === undefined ? '' : ' with a filter'}: ${failure}`);
    }
  }
  const bare = await assemble(undefined, undefined, limits, pools);
  const failure = await start(bare, rules);
  // A machine that is out of processes or descriptors for a moment says nothing about the layers.
  if (failure !== undefined) {
    throw new EdgeError('EDGE_CELL_START', `Cannot start a process to try out the sandbox: ${failure}`);
  }
  return finish(bare, failures, system, rules);
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
  return {
    layers: {
      root: own.has('root'),
      landlock: own.has('landlock'),
      seccomp: filter !== undefined,
      namespaces: own.has('namespaces'),
      user: own.has('user'),
      ownUser: own.has('ownUser'),
      resourceLimits: limits.areSet,
    },
    filter,
    ids,
    isWrapped: wall?.isWrapped ?? false,
    command: next => limits.command(next, ids !== undefined, wall?.command(next) ?? []),
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
async function start({ command, filter, ids }: Unfinished, rules: ProcessRules): Promise<string | undefined> {
  const id = ids?.take();
  const folder = rules.hasFolder ? mkdtempSync(join(tmpdir(), 'edgehost-probe-')) : undefined;
  try {
    if (folder !== undefined && id !== undefined) chownSync(folder, id, id);
    const node = [process.execPath, ...rules.probe(), ...(folder === undefined ? [] : [folder])];
    const place = { id, folder, descriptors: FILTER_FD_OF_ATTEMPT, filterFd: filter && FILTER_FD_OF_ATTEMPT };
    const { works, message } = await attempt([...command(place), ...node], {
      cwd: ownFolder(),
      timeoutMs: PROBE_TIMEOUT_MS,
      filter,
    });
    return works ? undefined : message || 'Node does not start behind it';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    if (id !== undefined) ids?.give(id);
  }
}

function finish(
  { layers, ...rest }: Unfinished,
  failures: readonly string[],
  system: System,
  rules: ProcessRules,
): Sandbox {
  // Without root the host cannot give files away and read them afterwards, and without a root of its own another user does not reach them.
  const canHaveUser = !rules.hasFolder || (system.isRoot && layers.root);
  const isDue = (layer: SandboxLayer): boolean => {
    if (layer === 'ownUser') return canHaveUser;
    // A second lock of the same door.
    return layer !== 'landlock' || !layers.root;
  };
  const absent = LAYERS.filter(layer => !layers[layer] && isDue(layer));
  const state: SandboxState = {
    mode: 'auto',
    ...layers,
    landlockAbi: layers.landlock ? system.landlockAbi : 0,
    missing: remediesFor(absent, failures, system),
    separated: isSeparated(layers, canHaveUser),
    separation: separationOf(layers, rules.process),
  };
  return { ...rest, state };
}

interface Limits {
  readonly areSet: boolean;
  /** The words of a wall, with limits; for a process with a user of its own with a bound of threads, which the system counts by user. */
  command(start: ProcessStart, hasOwnUser: boolean, wall: readonly string[]): readonly string[];
}

async function limitsFor(programs: Programs, rules: ProcessRules): Promise<Limits> {
  const { confine, prlimit } = programs;
  if (confine !== undefined) return limitsByLauncher(confine, rules);
  if (prlimit !== undefined) return limitsByPrlimit(prlimit, rules);
  return { areSet: false, command: (_start, _hasOwnUser, wall) => wall };
}

/** The launcher sets as much as the system permits, and is one program with the wall where that begins with it. */
function limitsByLauncher(confine: string, { limits, raised, threads }: ProcessRules): Limits {
  return {
    areSet: true,
    command: ({ descriptors, filterFd = -1 }, hasOwnUser, wall) => {
      const words = confineCommand(confine, {
        keep: Math.max(descriptors, filterFd + 1),
        limits: hasOwnUser ? { ...limits, nproc: threads } : limits,
        raised,
      });
      return wall[0] === confine ? [...words.slice(0, -1), ...wall.slice(1)] : [...words, ...wall];
    },
  };
}

/** prlimit sets all limits that it is given, or none: each group is tried out, and the ones that the system permits are used together. */
async function limitsByPrlimit(prlimit: string, { limits, raised, threads }: ProcessRules): Promise<Limits> {
  const works = async (args: readonly string[]): Promise<boolean> =>
    (await attempt([prlimit, ...args, prlimit, '--version'], { cwd: '/', timeoutMs: PROBE_TIMEOUT_MS })).works;
  const all = resourcesOf(limits);
  const option = ([name, value]: readonly [string, number]): string => `--${name}=${value}`;
  const groups = [
    all.filter(([, value]) => value === 0).map(option),
    ...[...all.filter(([, value]) => value > 0), ...resourcesOf(raised)].map(limit => [option(limit)]),
  ];
  const perUser = [`--nproc=${threads}`];
  const [areThreadsBounded = false, ...areSet] = await Promise.all([perUser, ...groups].map(works));
  const args = groups.filter((_, index) => areSet[index]).flat();
  return {
    areSet: args.length > 0,
    command: (_start, hasOwnUser, wall) =>
      args.length === 0 ? wall : [prlimit, ...args, ...(hasOwnUser && areThreadsBounded ? perUser : []), ...wall],
  };
}

function without(mode: SandboxMode, missing: readonly string[]): Sandbox {
  const state = {
    mode,
    ...NO_LAYERS,
    landlockAbi: 0,
    missing,
    separated: false,
    separation: separationOf(NO_LAYERS),
  };
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
      landlockAbi: 0,
      separated: false,
      missing: [`not known: cells start behind "${program}", the command of option sandbox`],
      separation: `What native code in the cell of one account can do to others is decided by "${program}", the command of option sandbox; the host does not know it.`,
    },
    filter: undefined,
    ids: undefined,
    isWrapped: true,
    command: () => command,
  };
}
