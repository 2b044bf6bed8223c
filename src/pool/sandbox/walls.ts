/** The ways to wall a cell off, from the best to none, as commands that go before its own. The requirements of each are tried out, not guessed (sandbox.ts). */
import { execFile } from 'node:child_process';
import { messageOf, type Programs } from './programs.js';
import { roomArguments, withFolder } from './room.js';
import type { ProcessRules } from './rules.js';
import type { SandboxLayer } from './state.js';
import { type IdRange, ownRootRange, subordinateRange } from './user-ids.js';

export interface Wall {
  readonly name: string;
  readonly layers: readonly SandboxLayer[];
  /** Where its cells' users come from; undefined when they are not users of their own. */
  readonly ids: IdRange | undefined;
  /** Whether it can take a filter of system calls along. */
  readonly takesFilter: boolean;
  /** Whether the process that is started waits for the cell, which is its child. */
  readonly isWrapped: boolean;
  /** `filterFd` is the descriptor that the filter is read from, `folder` the one that the process may write to. */
  command(id: number | undefined, filterFd: number | undefined, folder?: string): readonly string[];
}

/** The beginning of the reason why cells cannot have users of their own. */
export const NO_IDS = 'no user numbers';

const NAMESPACES = ['--net', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child'];
const END_WITH_PARENT = ['--pdeathsig', 'SIGKILL'];
const NO_NEW_PRIVILEGES = ['--no-new-privs', ...END_WITH_PARENT];
/** Root and the subordinate range of the calling user, as root and users of a namespace. */
const SUBORDINATE = ['--user', '--map-root-user', '--map-auto'];
/** The capabilities that setpriv needs behind bubblewrap to become another user. It gives up all of them. */
const SETPRIV_CAPABILITIES = ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'];
const MAP_WITHIN_MS = 5000;

/**
 * Every wall that the installed programs could make, the best first; found out one after the other, since the first one mostly works. `reasons`
 * gets why a kind of wall is unavailable.
 */
export async function* wallsFor(
  isRoot: boolean,
  programs: Programs,
  reasons: string[],
  { libraries, hasFolder }: Pick<ProcessRules, 'libraries' | 'hasFolder'>,
): AsyncGenerator<Wall, void> {
  const { bwrap, unshare, setpriv, newuidmap } = programs;
  if (hasFolder) {
    // A user of its own must own the folder, which root alone can give away and still read. The user must also reach the folder, as it can in a root of its
    // own.
    const ids = isRoot ? ownRootRange() : undefined;
    const room = bwrap && setpriv && ids && (await quietly(roomArguments([setpriv], libraries), 'root', reasons));
    if (bwrap && setpriv && ids && room) yield rootRoom(bwrap, setpriv, room, ids, []);
  } else if (isRoot) {
    const ids = ownRootRange();
    if (ids === undefined) reasons.push(`${NO_IDS}: the user namespace of this process has none that are free`);
    yield* rootWalls(programs, ids, [], reasons);
    if (setpriv !== undefined && ids !== undefined) {
      const room = bwrap && (await quietly(roomArguments([]), 'root', reasons));
      if (bwrap && room) yield ownUserRoom(bwrap, setpriv, room, ids);
      yield rootUser(setpriv, ids);
    }
  } else if (unshare !== undefined && newuidmap !== undefined) {
    const ids = await quietly(subordinateIds(unshare, programs), NO_IDS, reasons);
    yield* rootWalls(programs, ids, [unshare, ...SUBORDINATE], reasons);
  }
  const room = bwrap && (await quietly(roomArguments([], libraries), 'root', reasons));
  if (bwrap && room) yield userRoom(bwrap, room);
  if (unshare !== undefined && setpriv !== undefined) yield userNamespaces(unshare, setpriv);
  if (setpriv !== undefined) yield noPrivileges(setpriv);
}

/** The walls that root can build, on the machine or in a namespace that `enter` creates: each cell gets its own user. */
async function* rootWalls(
  { bwrap, unshare, setpriv }: Programs,
  ids: IdRange | undefined,
  enter: readonly string[],
  reasons: string[],
): AsyncGenerator<Wall, void> {
  if (setpriv === undefined || ids === undefined) return;
  const room = bwrap && (await quietly(roomArguments([setpriv]), 'root', reasons));
  if (bwrap && room) yield rootRoom(bwrap, setpriv, room, ids, enter);
  if (unshare !== undefined) yield rootNamespaces(unshare, setpriv, ids, enter);
}

function rootRoom(
  bwrap: string,
  setpriv: string,
  room: readonly string[],
  ids: IdRange,
  enter: readonly string[],
): Wall {
  return {
    name: 'bwrap',
    layers: ['root', 'namespaces', 'user', 'ownUser'],
    ids,
    takesFilter: true,
    isWrapped: true,
    command: (id, filterFd, folder) => [
      ...enter,
      bwrap,
      ...bwrapNamespaces(),
      ...['--cap-drop', 'ALL', ...SETPRIV_CAPABILITIES.flatMap(name => ['--cap-add', name])],
      ...(folder === undefined ? room : withFolder(room, folder)),
      ...filterArguments(filterFd),
      '--',
      // Behind the filter and in the root of the cell: who becomes its user earlier has no right to make that root.
      ...[setpriv, ...becomeUser(id), ...NO_NEW_PRIVILEGES],
    ],
  };
}

/** Root without the right to make namespaces: each cell's user makes its own, where users may. */
function ownUserRoom(bwrap: string, setpriv: string, room: readonly string[], ids: IdRange): Wall {
  const inner = userRoom(bwrap, room);
  return {
    ...inner,
    name: 'bwrap for a user of its own',
    layers: [...inner.layers, 'ownUser'],
    ids,
    command: (id, filterFd) => [...[setpriv, ...becomeUser(id), ...NO_NEW_PRIVILEGES], ...inner.command(id, filterFd)],
  };
}

/** As an ordinary user: a user namespace in which the cell has the same number as the application. */
function userRoom(bwrap: string, room: readonly string[]): Wall {
  return {
    name: 'bwrap',
    layers: ['root', 'namespaces', 'user'],
    ids: undefined,
    takesFilter: true,
    isWrapped: true,
    command: (_id, filterFd, folder) => [
      bwrap,
      ...['--unshare-user', '--disable-userns'],
      ...bwrapNamespaces(),
      ...(folder === undefined ? room : withFolder(room, folder)),
      ...filterArguments(filterFd),
      '--',
    ],
  };
}

function rootNamespaces(unshare: string, setpriv: string, ids: IdRange, enter: readonly string[]): Wall {
  return {
    name: 'unshare',
    layers: ['namespaces', 'user', 'ownUser'],
    ids,
    takesFilter: false,
    isWrapped: true,
    // Namespaces need the rights that becoming another user takes away.
    command: id => [
      ...enter,
      // unshare ends with the application, and the cell with unshare.
      ...[setpriv, ...END_WITH_PARENT],
      ...[unshare, ...NAMESPACES],
      ...[setpriv, ...becomeUser(id), ...NO_NEW_PRIVILEGES],
    ],
  };
}

function userNamespaces(unshare: string, setpriv: string): Wall {
  return {
    name: 'unshare',
    layers: ['namespaces', 'user'],
    ids: undefined,
    takesFilter: false,
    isWrapped: true,
    command: () => [unshare, '--user', '--map-current-user', ...NAMESPACES, setpriv, ...NO_NEW_PRIVILEGES],
  };
}

/** As in a container that is root without the right to make namespaces. */
function rootUser(setpriv: string, ids: IdRange): Wall {
  return {
    name: 'setpriv',
    layers: ['user', 'ownUser'],
    ids,
    takesFilter: false,
    isWrapped: false,
    command: id => [setpriv, ...becomeUser(id), ...NO_NEW_PRIVILEGES],
  };
}

function noPrivileges(setpriv: string): Wall {
  return {
    name: 'setpriv',
    layers: ['user'],
    ids: undefined,
    takesFilter: false,
    isWrapped: false,
    command: () => [setpriv, ...NO_NEW_PRIVILEGES],
  };
}

function bwrapNamespaces(): readonly string[] {
  return [
    ...['--unshare-net', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'cell'],
    // The first process inside is bubblewrap's own, of the same user as the one outside: with the application that one ends, and the inner one
    // with it, and then the kernel ends all of the namespace. A cell, being another user, could not be sent that signal.
    '--die-with-parent',
  ];
}

function filterArguments(filterFd: number | undefined): readonly string[] {
  return filterFd === undefined ? [] : ['--seccomp', String(filterFd)];
}

function becomeUser(id: number | undefined): readonly string[] {
  return [`--reuid=${id}`, `--regid=${id}`, '--clear-groups', '--bounding-set=-all', '--inh-caps=-all'];
}

/** By the maps of a namespace that is made to see them. */
async function subordinateIds(unshare: string, { cat }: Programs): Promise<IdRange | undefined> {
  if (cat === undefined) return undefined;
  const read = (file: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const options = { env: {}, timeout: MAP_WITHIN_MS };
      execFile(unshare, [...SUBORDINATE, cat, `/proc/self/${file}`], options, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(messageOf(stderr) || error.message));
      });
    });
  const [users, groups] = await Promise.all([read('uid_map'), read('gid_map')]);
  return subordinateRange(users, groups);
}

/** A failure is added to `reasons` as the reason why a layer is missing, and does not reject. */
async function quietly<T>(work: Promise<T>, what: string, reasons: string[]): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    reasons.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
