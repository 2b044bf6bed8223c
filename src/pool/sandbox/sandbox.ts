/**
 * The operating system's wall around a cell (rule R29): a root with nothing in it or Landlock, a filter of system calls, namespaces and a user
 * of its own, no privileges, no core dumps. Made with programs of the system and the launcher of this package, as far as the system allows it:
 * the best wall with which Node starts and finds this package. The available layers are tried out once in a process's life.
 */
import { chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { EdgeError, messageOf } from '../../quotas/errors.js';
import { isShortage } from '../../quotas/host/whole-spawn.js';
import { NODE_PATH } from '../node-path.js';
import { ownFolder } from '../package-paths.js';
import { mayMakeNamespaces } from './capabilities.js';
import { CELL_RULES } from './cell-rules.js';
import { landlockAbi } from './confine.js';
import { type Attempt, attempt, FILTER_FD_OF_ATTEMPT, findPrograms, isInstalled, type Programs } from './programs.js';
import { remediesFor } from './remedies.js';
import { type Limits, limitsFor } from './resource-limits.js';
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
import { Trial } from './trial.js';
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
  /** Whether its first processes start behind it is still to be seen; undefined when that was tried out. */
  readonly trial?: Trial | undefined;
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

let presumed: Promise<Sandbox | undefined> | undefined;

/**
 * The sandbox of this process's first cells, sooner: the cells themselves show whether they start behind it. If one does not, all walls are tried out with
 * whole processes, as {@link sandboxFor} does, and the next call has that result. A layer that {@link sandboxFor} would find is therefore never missing here.
 * Rejects as that does.
 */
export async function firstSandboxFor(option: SandboxOption): Promise<Sandbox> {
  if (process.platform !== 'linux' || (option !== 'auto' && option !== 'strict')) return sandboxFor(option);
  presumed ??= presumeQuietly();
  const sandbox = await presumed;
  if (sandbox === undefined || sandbox.trial?.hasFailed === true) return sandboxFor(option);
  const { state, ids } = sandbox;
  if (option === 'strict' && !state.separated) return sandboxFor(option);
  await ids?.reserve();
  return { ...sandbox, state: { ...state, mode: option } };
}

async function presumeQuietly(): Promise<Sandbox | undefined> {
  try {
    return await presume(findPrograms());
  } catch {
    return undefined;
  }
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
  try {
    return await probe(findPrograms(), rules);
  } catch (error) {
    // Else a layer would be missing for as long as this process lives, because it could not be tried out for a moment.
    throw isShortage(error) ? notTried(messageOf(error)) : error;
  }
}

/** For tests. */
export interface ProbeOptions {
  /** Use no more of Landlock than this ABI has. @default what the kernel has */
  readonly maxAbi?: number | undefined;
  /** How long one attempt may take. */
  readonly timeoutMs?: number;
}

/** The best sandbox that can be made of these programs, behind which a process with these rules starts. */
export async function probe(
  programs: Programs,
  rules: ProcessRules = CELL_RULES,
  options: ProbeOptions = {},
): Promise<Sandbox> {
  const search = await searchFor(programs, rules, options);
  const found = await search.first(rules.probe());
  if (found !== undefined) return search.finish(found);
  const bare = await search.bare();
  const failure = await search.failureOf(bare, rules.probe());
  // A machine on which Node does not start for a moment says nothing about the layers.
  if (failure !== undefined) throw notTried(failure);
  return search.finish(bare);
}

/**
 * The best sandbox behind which Node itself starts, in a tenth of the time: that it also finds this package is what the first process shows. Undefined when
 * Node starts behind none.
 */
export async function presume(
  programs: Programs,
  rules: ProcessRules = CELL_RULES,
  options: ProbeOptions = {},
): Promise<Sandbox | undefined> {
  const search = await searchFor(programs, rules, options);
  const found = await search.first(['--version']);
  return found && { ...search.finish(found), trial: new Trial() };
}

type Unfinished = Omit<Sandbox, 'state' | 'trial'> & { readonly layers: SandboxLayers };

async function searchFor(
  programs: Programs,
  rules: ProcessRules,
  { maxAbi = Number.POSITIVE_INFINITY, timeoutMs = PROBE_TIMEOUT_MS }: ProbeOptions,
): Promise<Search> {
  const [limits, abi] = await Promise.all([
    limitsFor(programs, rules),
    programs.confine === undefined ? 0 : landlockAbi(programs.confine),
  ]);
  const system = { isRoot: process.geteuid?.() === 0, programs, landlockAbi: Math.min(abi, maxAbi) };
  return new Search(system, rules, limits, timeoutMs);
}

/** Tries out the walls of a system, the best first. */
class Search {
  readonly #system: System;
  readonly #rules: ProcessRules;
  readonly #limits: Limits;
  readonly #timeoutMs: number;
  readonly #failures: string[] = [];
  readonly #pools = new Map<string, UserIds>();

  constructor(system: System, rules: ProcessRules, limits: Limits, timeoutMs: number) {
    this.#system = system;
    this.#rules = rules;
    this.#limits = limits;
    this.#timeoutMs = timeoutMs;
  }

  /** The best one behind which Node starts with these arguments. */
  async first(args: readonly string[]): Promise<Unfinished | undefined> {
    for await (const wall of wallsFor(this.#system, this.#failures, this.#rules)) {
      for (const filter of new Set([wall.filter, undefined])) {
        const sandbox = await this.#assemble(wall, filter);
        const failure = await this.failureOf(sandbox, args);
        if (failure === undefined) return sandbox;
        this.#failures.push(`${wall.name}${filter === undefined ? '' : ' with a filter'}: ${failure}`);
      }
    }
    return undefined;
  }

  /** No wall at all. */
  bare(): Promise<Unfinished> {
    return this.#assemble(undefined, undefined);
  }

  async #assemble(wall: Wall | undefined, filter: Buffer | undefined): Promise<Unfinished> {
    const limits = this.#limits;
    const own = new Set<string>(wall?.layers);
    const ids = wall?.ids && poolOf(wall.ids, !own.has('namespaces'), this.#pools);
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

  /** Why Node does not start there with these arguments; undefined when it does. */
  async failureOf({ command, filter, ids }: Unfinished, args: readonly string[]): Promise<string | undefined> {
    const id = ids?.take();
    const folder = this.#rules.hasFolder ? mkdtempSync(join(tmpdir(), 'edgehost-probe-')) : undefined;
    try {
      if (folder !== undefined && id !== undefined) chownSync(folder, id, id);
      const node = [NODE_PATH, ...args, ...(folder === undefined ? [] : [folder])];
      const place = { id, folder, descriptors: FILTER_FD_OF_ATTEMPT, filterFd: filter && FILTER_FD_OF_ATTEMPT };
      const tryOnce = (): Promise<Attempt> =>
        attempt([...command(place), ...node], { cwd: ownFolder(), timeoutMs: this.#timeoutMs, filter });
      const first = await tryOnce();
      // A slow disk is no reason for fewer layers: by now the programs have been read once.
      const { works, message } = first.isLate ? await tryOnce() : first;
      return works ? undefined : message || 'Node does not start behind it';
    } catch (error) {
      if (isShortage(error)) throw error;
      return messageOf(error);
    } finally {
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
      if (id !== undefined) ids?.give(id);
    }
  }

  finish({ layers, ...rest }: Unfinished): Sandbox {
    const rules = this.#rules;
    const system = this.#system;
    // Without root the host cannot give files away and read them afterwards. Another user reaches them in a root that the host makes, and not in one
    // that the user makes.
    const canHaveUser =
      rules.readsFolders !== true && (!rules.hasFolder || (system.isRoot && layers.root && mayMakeNamespaces()));
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
      missing: remediesFor(absent, this.#failures, system),
      separated: isSeparated(layers, canHaveUser),
      separation: separationOf(layers, rules.process),
    };
    return { ...rest, state };
  }
}

function notTried(why: string): EdgeError {
  return new EdgeError('EDGE_CELL_START', `Cannot start a process to try out the sandbox: ${why}`);
}

/** Walls that take numbers from the same range have one claim on it. */
function poolOf(range: IdRange, isShared: boolean, pools: Map<string, UserIds>): UserIds {
  const key = `${range.outside} ${isShared}`;
  const pool = pools.get(key) ?? new UserIds(range, isShared);
  pools.set(key, pool);
  return pool;
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
