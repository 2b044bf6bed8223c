/**
 * The root that a cell has behind bubblewrap: Node and its libraries, this package and its own, /proc, null and urandom, all at the paths
 * where they are outside, and nothing else. There is no folder that can be written to.
 */
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { NODE_PATH } from '../node-path.js';
import { CELL_LIBRARIES, type Library, ownFolder, packageFiles } from '../package-paths.js';
import type { LandlockRules } from './confine.js';
import { interpreterOf, librariesBy, sharedLibraries } from './shared-libraries.js';

const DEVICES = ['/dev/null', '/dev/urandom'];
const PROC = '/proc';

/** The files that a process needs, by the paths at which it opens them. */
export interface RoomFiles {
  /** Node, its loader, and a program that starts it: these may be executed. */
  readonly executables: readonly string[];
  /** Files and folders that are read alone. */
  readonly others: readonly string[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
}

/** Rejects when a file cannot be found. */
export async function roomFiles(wanted: readonly Library[] = CELL_LIBRARIES): Promise<RoomFiles> {
  const { paths, links } = packageFiles(wanted);
  const libraries = await Promise.all([sharedLibraries(NODE_PATH), librariesOfAddons(paths)]);
  const loader = interpreterOf(NODE_PATH);
  return {
    executables: [NODE_PATH, ...(loader === undefined ? [] : [loader])],
    others: [...new Set([...libraries.flat(), ...builtinsOnDisk(), ...paths])].filter(path => path !== loader),
    links,
  };
}

/** The files of a process, and of a program that starts it in the same root. Rejects when a library of the program cannot be found. */
export async function withProgram({ executables, others, links }: RoomFiles, program: string): Promise<RoomFiles> {
  const libraries = await sharedLibraries(program);
  return {
    executables: [...new Set([...executables, program])],
    others: [...new Set([...others, ...libraries])].filter(path => !executables.includes(path)),
    links,
  };
}

/** Arguments of `bwrap` that make the root. */
export function roomArguments({ executables, others, links }: RoomFiles): readonly string[] {
  const files = [...executables, ...others];
  const folders = new Set([...files, ...DEVICES, ...links.map(({ path }) => path)].flatMap(ancestorsOf));
  return [
    // bubblewrap makes folders on the way for its own user alone.
    ...[...folders].sort().flatMap(path => ['--dir', path]),
    ...files.flatMap(path => ['--ro-bind', path, path]),
    ...links.flatMap(({ path, target }) => ['--symlink', target, path]),
    ...['--proc', PROC],
    ...DEVICES.flatMap(path => ['--dev-bind', path, path]),
    // Last: from here on nothing can be made.
    ...[READ_ONLY, '/', '--chdir', ownFolder()],
  ];
}

/** Arguments of `bwrap`: what a cell shares with nothing else. */
export function bwrapNamespaces(): readonly string[] {
  return [
    ...['--unshare-net', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--hostname', 'cell'],
    // The first process inside is bubblewrap's own, of the same user as the one outside: with the application that one ends, and the inner one
    // with it, and then the kernel ends all of the namespace. A cell, being another user, could not be sent that signal.
    '--die-with-parent',
  ];
}

/** Arguments of `bwrap` that load a filter from a descriptor. */
export function filterArguments(filterFd: number | undefined): readonly string[] {
  return filterFd === undefined ? [] : ['--seccomp', String(filterFd)];
}

/** The paths that one process has besides the files of all. */
export interface OwnPaths {
  /** The folder that it may write to. */
  readonly folder?: string | undefined;
  /** Further files and folders that it may read. @default none */
  readonly reads?: readonly string[];
  /** Further files that it may read and execute. @default none */
  readonly executes?: readonly string[];
}

/** The same files for Landlock, which checks what a process opens in the root that it has. */
export function landlockRules(
  { executables, others }: RoomFiles,
  { folder, reads = [], executes = [] }: OwnPaths,
): LandlockRules {
  return {
    execute: [...executables, ...executes],
    // `self` is the process that adds the rule, which becomes the cell: of other processes nothing is opened. It is missing where /proc is hidden.
    read: [...others, ...DEVICES, ...(existsSync(`${PROC}/self`) ? [`${PROC}/self`] : []), ...reads],
    write: folder === undefined ? [] : [folder],
  };
}

/** The room with the paths of one process, where they are outside: one folder that it may write to, and others that it reads. */
export function withPaths(room: readonly string[], { folder, reads = [], executes = [] }: OwnPaths): readonly string[] {
  const shown = [...reads, ...executes];
  if (folder === undefined && shown.length === 0) return room;
  const end = room.indexOf(READ_ONLY);
  const all = folder === undefined ? shown : [folder, ...shown];
  const above = new Set(all.flatMap(ancestorsOf));
  return [
    ...room.slice(0, end),
    ...[...above].flatMap(path => ['--dir', path]),
    ...(folder === undefined ? [] : ['--dir', folder, '--bind', folder, folder]),
    ...shown.flatMap(path => ['--ro-bind', path, path]),
    ...room.slice(end),
  ];
}

const READ_ONLY = '--remount-ro';

/** The libraries that native addons in these folders need for this Node and machine. One for another C library needs files that are not there. */
async function librariesOfAddons(folders: readonly string[]): Promise<readonly string[]> {
  const interpreter = interpreterOf(NODE_PATH);
  if (interpreter === undefined) return [];
  const places = folders.flatMap(folder => [
    join(folder, 'prebuilds', `${process.platform}-${process.arch}`),
    join(folder, 'build', 'Release'),
  ]);
  const addons = places.flatMap(place =>
    existsSync(place)
      ? readdirSync(place)
          .filter(name => name.endsWith('.node'))
          .map(name => join(place, name))
      : [],
  );
  const found = await Promise.all(addons.map(addon => librariesBy(interpreter, addon).catch(() => [])));
  return found.flat();
}

/** Distributions build Node so that it reads some of its own modules from files (`node_shared_builtin_..._path`). */
function builtinsOnDisk(): readonly string[] {
  // Node's build configuration; its type lists only some of the keys.
  const variables: Readonly<Record<string, unknown>> = { ...process.config.variables };
  return Object.entries(variables).flatMap(([key, value]) =>
    /^node_shared_builtin_.*_path$/.test(key) && typeof value === 'string' && existsSync(value)
      ? [realpathSync(value)]
      : [],
  );
}

function ancestorsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === '/' || parent === path ? [] : [...ancestorsOf(parent), parent];
}
