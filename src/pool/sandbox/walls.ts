/** The ways to wall a cell off, from the best to none, as commands that go before its own. The requirements of each are tried out, not guessed (sandbox.ts). */
import process from 'node:process';
import { messageOf } from '../../quotas/errors.js';
import { isShortage } from '../../quotas/host/whole-spawn.js';
import { confineCommand } from './confine.js';
import { cellFilter, PID_IN_BWRAP, PID_MARKER } from './filter/cell-filter.js';
import { outputOf, type Programs } from './programs.js';
import {
  bwrapNamespaces,
  filterArguments,
  landlockRules,
  type OwnPaths,
  type RoomFiles,
  roomArguments,
  roomFiles,
  withPaths,
  withProgram,
} from './room.js';
import type { ProcessRules } from './rules.js';
import type { SandboxLayer } from './state.js';
import { type IdRange, ownRootRange, SUBORDINATE, subordinateIds } from './user-ids.js';

/** One process that is started. */
export interface ProcessStart extends OwnPaths {
  /** The user that it becomes, where it has one of its own. */
  readonly id: number | undefined;
  /** Its descriptors are those below this number. */
  readonly descriptors: number;
  /** The descriptor that the filter is read from, behind the others. */
  readonly filterFd: number | undefined;
}

export interface Wall {
  readonly name: string;
  /** Without the filter, which is tried out with and without it. */
  readonly layers: readonly SandboxLayer[];
  /** Where its cells' users come from; undefined when they are not users of their own. */
  readonly ids: IdRange | undefined;
  /** The filter of system calls, where it can take one along. */
  readonly filter: Buffer | undefined;
  /** Whether the process that is started waits for the cell, which is its child. */
  readonly isWrapped: boolean;
  command(start: ProcessStart): readonly string[];
}

/** The system that walls are made on. */
export interface System {
  readonly isRoot: boolean;
  readonly programs: Programs;
  /** The ABI of Landlock that the launcher may use; 0 for none. */
  readonly landlockAbi: number;
}

/** The beginning of the reason why cells cannot have users of their own. */
export const NO_IDS = 'no user numbers';

const NAMESPACES = ['--net', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child'];
const END_WITH_PARENT = ['--pdeathsig', 'SIGKILL'];
/** Root alone can give up the capabilities that it would gain by executing a program, and must. */
const NO_CAPABILITIES = ['--bounding-set=-all', '--inh-caps=-all'];
const NO_NEW_PRIVILEGES = ['--no-new-privs', ...END_WITH_PARENT];
/** The capabilities that a process needs behind bubblewrap to become another user. It gives up all of them. */
const USER_CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'];

/**
 * Every wall that the installed programs could make, the best first; found out one after the other, since the first one mostly works. `reasons`
 * gets why a kind of wall is unavailable.
 */
export async function* wallsFor(
  system: System,
  reasons: string[],
  rules: Pick<ProcessRules, 'libraries' | 'hasFolder' | 'readsFolders' | 'calls'>,
): AsyncGenerator<Wall, void> {
  const maker = new WallMaker(system, reasons, rules);
  const { isRoot, programs } = system;
  // Another user could not read the folders.
  const { readsFolders = false } = rules;
  /** Users of their own for processes that no root of their own contains. */
  let bare: IdRange | undefined;
  if (rules.hasFolder) {
    // A user of its own must own the folder, which root alone can give away and still read. It must also reach the folder, as it can in a root of its own.
    const ids = isRoot ? ownRootRange() : undefined;
    if (ids !== undefined) yield* maker.rootRoom(ids, []);
  } else if (isRoot && !readsFolders) {
    bare = ownRootRange();
    if (bare === undefined) reasons.push(`${NO_IDS}: the user namespace of this process has none that are free`);
    else {
      yield* maker.rootRoom(bare, []);
      yield* maker.ownUserRoom(bare);
      yield* maker.rootNamespaces(bare, []);
      yield* maker.landlocked(bare);
    }
  } else if (!readsFolders && programs.unshare !== undefined && programs.newuidmap !== undefined) {
    const ids = await quietly(subordinateIds(programs.unshare, programs), NO_IDS, reasons);
    const enter = [programs.unshare, ...SUBORDINATE];
    if (ids !== undefined) {
      yield* maker.rootRoom(ids, enter);
      yield* maker.rootNamespaces(ids, enter);
    }
  }
  yield* maker.userRoom();
  yield* maker.userNamespaces();
  yield* maker.landlocked(undefined);
  // Another user is kept from the files of accounts, which a filter alone is not.
  if (bare !== undefined) {
    yield* maker.filtered(bare);
    yield* maker.unprivileged(bare);
  }
  yield* maker.filtered(undefined);
  yield* maker.unprivileged(undefined);
}

/** Makes walls of one system for processes with the same rules. Each kind yields none where a program for it is missing. */
class WallMaker {
  readonly #programs: Programs;
  readonly #isRoot: boolean;
  readonly #abi: number;
  readonly #reasons: string[];
  readonly #rules: Pick<ProcessRules, 'libraries' | 'calls'>;
  #found: Promise<RoomFiles | undefined> | undefined;

  constructor(
    { isRoot, programs, landlockAbi }: System,
    reasons: string[],
    rules: Pick<ProcessRules, 'libraries' | 'calls'>,
  ) {
    this.#programs = programs;
    this.#isRoot = isRoot;
    this.#abi = landlockAbi;
    this.#reasons = reasons;
    this.#rules = rules;
  }

  /** A root of its own and all namespaces, made by root, on the machine or in a namespace that `enter` creates: each cell gets its own user. */
  async *rootRoom(ids: IdRange, enter: readonly string[]): AsyncGenerator<Wall, void> {
    const { bwrap } = this.#programs;
    const files = bwrap === undefined ? undefined : await this.#files();
    if (bwrap === undefined || files === undefined) return;
    // In a root of its own Landlock is a second lock, without which the root is still better than the next walls.
    for (const last of this.#abi > 0 ? [this.#confine(), this.#confine(0)] : [this.#last()]) {
      const room = last && (await this.#room(files, last));
      if (last === undefined || room === undefined) continue;
      yield {
        name: 'bwrap',
        layers: ['root', 'namespaces', 'user', 'ownUser', ...last.layers],
        ids,
        filter: this.#filterOfBwrap(last),
        isWrapped: true,
        command: start => [
          ...enter,
          bwrap,
          ...bwrapNamespaces(),
          ...['--cap-drop', 'ALL', ...USER_CAPABILITIES.flatMap(name => ['--cap-add', name])],
          ...withPaths(room, start),
          ...filterArguments(start.filterFd),
          '--',
          // Behind the filter and in the root of the cell: who becomes its user earlier has no right to make that root.
          ...last.command(start, files),
        ],
      };
    }
  }

  /** The same namespaces without a root of its own. */
  async *rootNamespaces(ids: IdRange, enter: readonly string[]): AsyncGenerator<Wall, void> {
    const { unshare, setpriv } = this.#programs;
    const last = this.#last();
    if (unshare === undefined || setpriv === undefined || last === undefined) return;
    const files = await this.#files();
    if (files === undefined) return;
    yield {
      name: 'unshare',
      layers: ['namespaces', 'user', 'ownUser', ...last.layers],
      ids,
      filter: this.#filterOfLast(last),
      isWrapped: true,
      // Namespaces need the rights that becoming another user takes away.
      command: start => [
        ...enter,
        // unshare ends with the application, and the cell with unshare.
        ...[setpriv, ...END_WITH_PARENT],
        ...[unshare, ...NAMESPACES],
        ...last.command(start, files, start.filterFd),
      ],
    };
  }

  /** Root without the right to make namespaces: each cell's user makes its own, where users may. */
  async *ownUserRoom(ids: IdRange): AsyncGenerator<Wall, void> {
    const { setpriv } = this.#programs;
    if (setpriv === undefined) return;
    for await (const inner of this.userRoom()) {
      yield {
        ...inner,
        name: 'bwrap for a user of its own',
        layers: [...inner.layers, 'ownUser'],
        ids,
        command: start => [setpriv, ...this.#withoutPrivileges(start.id), ...inner.command(start)],
      };
    }
  }

  /** For an ordinary user: a user namespace in which the cell has the same number as the application. */
  async *userRoom(): AsyncGenerator<Wall, void> {
    const { bwrap } = this.#programs;
    const files = bwrap === undefined ? undefined : await this.#files();
    if (bwrap === undefined || files === undefined) return;
    for (const last of this.#abi > 0 ? [this.#confine(), undefined] : [undefined]) {
      const room = await this.#room(files, last);
      if (room === undefined) continue;
      yield {
        name: 'bwrap',
        layers: ['root', 'namespaces', 'user', ...(last?.layers ?? [])],
        ids: undefined,
        filter: this.#filterOfBwrap(last),
        isWrapped: true,
        command: start => [
          bwrap,
          ...['--unshare-user', '--disable-userns'],
          ...bwrapNamespaces(),
          ...withPaths(room, start),
          ...filterArguments(start.filterFd),
          '--',
          ...(last?.command({ ...start, id: undefined }, files) ?? []),
        ],
      };
    }
  }

  async *userNamespaces(): AsyncGenerator<Wall, void> {
    const { unshare } = this.#programs;
    const last = this.#last();
    if (unshare === undefined || last === undefined) return;
    const files = await this.#files();
    if (files === undefined) return;
    yield {
      name: 'unshare',
      layers: ['namespaces', 'user', ...last.layers],
      ids: undefined,
      filter: this.#filterOfLast(last),
      isWrapped: true,
      command: start => [
        ...[unshare, '--user', '--map-current-user', ...NAMESPACES],
        ...last.command({ ...start, id: undefined }, files, start.filterFd),
      ],
    };
  }

  /** A process that restricts itself, as in a container without the right to make namespaces. @param ids with them, root gives each cell its own user */
  async *landlocked(ids: IdRange | undefined): AsyncGenerator<Wall, void> {
    const { confine, setpriv } = this.#programs;
    if (this.#abi > 0) yield* this.#restricted(this.#confine(), ids);
    if (confine === undefined && setpriv !== undefined)
      yield* this.#restricted(await this.#landlockSetpriv(setpriv), ids);
  }

  /** The same on a kernel without Landlock. */
  filtered(ids: IdRange | undefined): AsyncGenerator<Wall, void> {
    return this.#restricted(this.#confine(0), ids);
  }

  /** No privileges, and nothing else. */
  unprivileged(ids: IdRange | undefined): AsyncGenerator<Wall, void> {
    return this.#restricted(this.#setpriv(), ids);
  }

  /** The program stands alone before Node. */
  async *#restricted(last: Last | undefined, ids: IdRange | undefined): AsyncGenerator<Wall, void> {
    const files = last && (await this.#files());
    if (last === undefined || files === undefined) return;
    yield {
      name: last.name,
      layers: ['user', ...(ids === undefined ? [] : ['ownUser' as const]), ...last.layers],
      ids,
      filter: this.#filterOfLast(last),
      isWrapped: false,
      command: start => last.command({ ...start, id: ids === undefined ? undefined : start.id }, files, start.filterFd),
    };
  }

  /** The program that stands last before Node and gives up the remaining rights. */
  #last(): Last | undefined {
    return this.#confine() ?? this.#setpriv();
  }

  #confine(abi = this.#abi): Last | undefined {
    const { confine } = this.#programs;
    if (confine === undefined) return undefined;
    return {
      name: abi > 0 ? 'the launcher' : 'the launcher without Landlock',
      program: confine,
      layers: abi > 0 ? ['landlock'] : [],
      takesFilter: true,
      command: (start, files, filterFd) =>
        confineCommand(confine, {
          drops: true,
          user: start.id,
          landlock: abi > 0 ? { ...landlockRules(files, start), abi } : undefined,
          filterFd,
        }),
    };
  }

  #setpriv(): Last | undefined {
    const { setpriv } = this.#programs;
    if (setpriv === undefined) return undefined;
    return {
      name: 'setpriv',
      program: setpriv,
      layers: [],
      takesFilter: false,
      command: ({ id }) => [setpriv, ...this.#withoutPrivileges(id)],
    };
  }

  /**
   * util-linux 2.41 or newer, in the place of the launcher where that cannot be used. Its filter is the same for each process: none of them may send a signal,
   * to itself either.
   */
  async #landlockSetpriv(setpriv: string): Promise<Last | undefined> {
    const help = await outputOf(setpriv, ['--help']).catch(() => '');
    if (!help.includes('--landlock-rule') || !help.includes('--seccomp-filter')) return undefined;
    return {
      name: 'setpriv with Landlock',
      program: setpriv,
      layers: ['landlock'],
      takesFilter: true,
      command: (start, files, filterFd) => {
        const { execute, read, write } = landlockRules(files, start);
        // A process that is given folders lists them, too.
        const reading = start.reads === undefined ? 'read-file' : 'read-file,read-dir';
        const rule = (rights: string, path: string): string => `--landlock-rule=path-beneath:${rights}:${path}`;
        return [
          ...[setpriv, ...this.#withoutPrivileges(start.id)],
          '--landlock-access=fs',
          ...execute.map(path => rule('read-file,execute', path)),
          ...read.map(path => rule(reading, path)),
          ...write.map(path => rule('read-file,read-dir,write-file,remove-file,make-reg,truncate', path)),
          ...(filterFd === undefined ? [] : [`--seccomp-filter=/proc/self/fd/${filterFd}`]),
        ];
      },
    };
  }

  /** Options of setpriv. */
  #withoutPrivileges(id: number | undefined): readonly string[] {
    const user = id === undefined ? [] : becomeUser(id);
    return [...user, ...(this.#isRoot || id !== undefined ? NO_CAPABILITIES : []), ...NO_NEW_PRIVILEGES];
  }

  /** bubblewrap loads the filter, and knows the number that the process will have in its namespace. */
  #filterOfBwrap(last: Last | undefined): Buffer | undefined {
    return cellFilter(process.arch, this.#rules.calls, PID_IN_BWRAP, last?.layers.includes('landlock') === true);
  }

  #filterOfLast({ takesFilter }: Last): Buffer | undefined {
    return takesFilter ? cellFilter(process.arch, this.#rules.calls, PID_MARKER) : undefined;
  }

  /** The files of a process, which all walls share: its loader is asked once. */
  #files(): Promise<RoomFiles | undefined> {
    this.#found ??= quietly(roomFiles(this.#rules.libraries), 'files', this.#reasons);
    return this.#found;
  }

  /** The arguments that make a root with the files, and with the program that stands last in it. */
  async #room(files: RoomFiles, last: Last | undefined): Promise<readonly string[] | undefined> {
    if (last === undefined) return roomArguments(files);
    const all = await quietly(withProgram(files, last.program), 'root', this.#reasons);
    return all && roomArguments(all);
  }
}

interface Last {
  readonly name: string;
  readonly program: string;
  readonly layers: readonly SandboxLayer[];
  readonly takesFilter: boolean;
  /** `filterFd` when it is to load the filter. */
  command(start: ProcessStart, files: RoomFiles, filterFd?: number): readonly string[];
}

function becomeUser(id: number | undefined): readonly string[] {
  return [`--reuid=${id}`, `--regid=${id}`, '--clear-groups'];
}

/** A failure is added to `reasons` as the reason why a layer is missing, and does not reject unless it says nothing about the layer. */
async function quietly<T>(work: Promise<T>, what: string, reasons: string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isShortage(error)) throw error;
    reasons.push(`${what}: ${messageOf(error)}`);
    return undefined;
  }
}
