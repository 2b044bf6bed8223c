/**
 * One control group (cgroup v2) for each cell, if this process may create some: the kernel then bounds, counts and ends the cell as a whole, with
 * everything that it forks. https://docs.kernel.org/admin-guide/cgroup-v2.html
 */

import { accessSync, constants, mkdirSync, readdirSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { rmdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import process from 'node:process';
import { retry } from 'abort-controller-x';
import { detached } from '../../../quotas/guarded.js';
import { readText } from '../../../quotas/host/system-limits.js';
import { isProcHidden, OpenFile, usageOf } from '../../processes/process-reading.js';

/** Where the groups of cells are made. */
export interface CgroupParent {
  readonly folder: string;
  /** Controllers that the groups of cells get. Without any there are still the CPU time, the list of processes, and an end for all of them. */
  readonly controllers: ReadonlySet<string>;
}

export interface CgroupState {
  readonly parent: CgroupParent | undefined;
  /** The reasons why some or all values are not available. */
  readonly missing: readonly string[];
}

export interface CgroupBounds {
  readonly memoryBytes: number;
  /** Processes and threads; the kernel counts both as tasks. */
  readonly tasks: number;
}

/** The folders to look in; tests use folders of their own. */
export interface CgroupPlaces {
  readonly proc: string;
  readonly isRoot: boolean;
}

/** Requested controllers. The CPU controller is not among them: with it, priorities of threads would count only within their own group. */
const WANTED = ['memory', 'pids'];
/** Half of what a group has by default, so that the application goes before any one cell. */
const CPU_WEIGHT = 50;
const NAME = /^edgehost-(\d+)-(\d+)-(\d+)-(\d+)$/;
/** About two seconds in all; usually the kernel needs a few milliseconds. */
const REMOVAL_PACE = { baseMs: 5, maxDelayMs: 100 };
const REMOVE_ATTEMPTS = 30;

const HERE: CgroupPlaces = { proc: '/proc', isRoot: process.getuid?.() === 0 };

/**
 * Looks for a group in which this process may create groups. Only processes of cells are moved: a group that has processes of its own cannot delegate
 * controllers (the rule of no internal processes), so in the application's own group the controllers are unavailable.
 */
export function findCgroupParent({ proc, isRoot }: CgroupPlaces = HERE): CgroupState {
  if (isProcHidden()) return nothing('/proc is not mounted');
  const mount = cgroupMount(readText(`${proc}/self/mountinfo`) ?? '');
  if (mount === undefined) return nothing('cgroup v2 is not mounted');
  const [, path] = /^0::(\/.*)$/m.exec(readText(`${proc}/self/cgroup`) ?? '') ?? [];
  if (path === undefined || !isBelow(path, mount.root))
    return nothing('the cgroup of this process is not in the mount');
  const own = trimSlash(`${mount.folder}/${path.slice(mount.root === '/' ? 1 : mount.root.length + 1)}`);
  const above = dirname(own);
  // A delegated group whose subgroup holds this process (DelegateSubgroup= of systemd).
  if (own !== mount.folder && mayDivideAbove(above, mount.folder, isRoot) && isWritable(above)) {
    if ((readText(`${above}/cgroup.procs`) ?? '') === '') return divide(above, []);
  }
  if (!isWritable(own)) return nothing(`${own} may not be written`);
  // Only the root group may have processes and delegate controllers at the same time; only it is without this file.
  const isRootGroup = !exists(`${own}/cgroup.events`);
  if (isRootGroup || (readText(`${own}/cgroup.procs`) ?? '') === '') return divide(own, []);
  return divide(own, ['the application is in the cgroup that it may divide, which keeps it from using controllers']);
}

function divide(folder: string, missing: readonly string[]): CgroupState {
  const available = words(`${folder}/cgroup.controllers`);
  const divided = words(`${folder}/cgroup.subtree_control`);
  for (const name of WANTED) {
    if (missing.length === 0 && available.has(name) && !divided.has(name))
      tryWrite(`${folder}/cgroup.subtree_control`, `+${name}`);
  }
  const controllers = words(`${folder}/cgroup.subtree_control`);
  const absent = missing.length > 0 ? [] : WANTED.filter(name => !controllers.has(name));
  const why = absent.map(
    name => `controller "${name}": ${available.has(name) ? 'cannot be enabled' : 'is not available'}`,
  );
  return { parent: { folder, controllers }, missing: [...missing, ...why] };
}

function nothing(why: string): CgroupState {
  return { parent: undefined, missing: [why] };
}

/** A slice of the system is not used, even if root may write to it: limits and termination of the application would not apply to cells there. */
function mayDivideAbove(above: string, mountFolder: string, isRoot: boolean): boolean {
  if (!isRoot) return true;
  return /\.(?:service|scope)$/.test(above) || (above === mountFolder && exists(`${above}/cgroup.events`));
}

/** Fields of mountinfo: id, parent, device, root, mount point, options, ..., "-", type, source, options (proc_pid_mountinfo(5)). */
function cgroupMount(text: string): { readonly root: string; readonly folder: string } | undefined {
  for (const entry of text.split('\n')) {
    const [before = '', after = ''] = entry.split(' - ');
    const [, , , root, folder] = before.split(' ');
    if (after.startsWith('cgroup2 ') && root !== undefined && folder !== undefined) return { root, folder };
  }
  return undefined;
}

/**
 * Removes the groups of hosts that have ended, with the processes left in them. The host is part of a group's name. Whether a host of another PID
 * namespace has ended is unknown, so its groups stay.
 */
export function removeLeftBehind(parent: CgroupParent): void {
  for (const name of listOf(parent.folder)) {
    const [, namespace, pid, started] = NAME.exec(name) ?? [];
    if (namespace !== pidNamespace() || pid === undefined) continue;
    if (usageOf(Number(pid))?.startedTicks === Number(started)) continue;
    tryWrite(`${parent.folder}/${name}/cgroup.kill`, '1');
    detached(removeSoon(`${parent.folder}/${name}`, REMOVE_ATTEMPTS));
  }
}

let found: CgroupState | undefined;

/** Determined once in a process; groups that earlier hosts have left are removed. */
export function cgroupsOfProcess(): CgroupState {
  if (found === undefined) {
    found = findCgroupParent();
    if (found.parent !== undefined) removeLeftBehind(found.parent);
  }
  return found;
}

let serial = 0;

/** The group of one cell. */
export class CellCgroup {
  readonly #folder: string;
  readonly #controllers: ReadonlySet<string>;
  readonly #cpu: OpenFile;

  /** Throws when the group cannot be made. */
  constructor({ folder, controllers }: CgroupParent, bounds: CgroupBounds) {
    const own = usageOf('self')?.startedTicks ?? 0;
    this.#folder = `${folder}/edgehost-${pidNamespace()}-${process.pid}-${own}-${++serial}`;
    this.#controllers = controllers;
    mkdirSync(this.#folder);
    try {
      if (controllers.has('memory')) {
        this.#write('memory.max', String(bounds.memoryBytes));
        // The file exists only if the kernel counts swap.
        tryWrite(`${this.#folder}/memory.swap.max`, '0');
        this.#write('memory.oom.group', '1');
      }
      if (controllers.has('pids')) this.#write('pids.max', String(bounds.tasks));
      if (controllers.has('cpu')) this.#write('cpu.weight', String(CPU_WEIGHT));
      this.#cpu = new OpenFile(`${this.#folder}/cpu.stat`);
    } catch (error) {
      detached(removeSoon(this.#folder, 0));
      throw error;
    }
  }

  /** Moves a process with all of its threads to the group; later children are created in it. Returns whether it was possible. */
  async add(pid: number): Promise<boolean> {
    try {
      await writeFile(`${this.#folder}/cgroup.procs`, String(pid));
      return true;
    } catch {
      return false;
    }
  }

  get processes(): number[] {
    return (readText(`${this.#folder}/cgroup.procs`) ?? '').split('\n').filter(Boolean).map(Number);
  }

  get cpuMs(): number | undefined {
    const [, microseconds] = /^usage_usec (\d+)$/m.exec(this.#cpu.read() ?? '') ?? [];
    return microseconds === undefined ? undefined : Number(microseconds) / 1000;
  }

  /** Memory of the group, including files in memory and kernel memory; undefined without the controller. */
  get memoryBytes(): number | undefined {
    if (!this.#controllers.has('memory')) return undefined;
    const text = readText(`${this.#folder}/memory.current`);
    return text === undefined ? undefined : Number(text);
  }

  /** Whether the kernel has ended it at memory.max. */
  get isEndedByMemory(): boolean {
    return /^oom(?:_group)?_kill [1-9]/m.test(readText(`${this.#folder}/memory.events`) ?? '');
  }

  /** Kills all processes in it, including those that are just being forked. Returns whether the kernel supports it (Linux 5.14 or later). */
  kill(): boolean {
    const path = `${this.#folder}/cgroup.kill`;
    return exists(path) && tryWrite(path, '1');
  }

  /** Kills the remaining processes and removes the group as soon as they have ended. */
  async remove(): Promise<void> {
    this.#cpu.close();
    // The kernel takes up to 40 ms for either, on a thread of their own.
    await writeFile(`${this.#folder}/cgroup.kill`, '1', { flag: 'r+' }).catch(() => {});
    await removeSoon(this.#folder, REMOVE_ATTEMPTS);
  }

  #write(name: string, value: string): void {
    writeFileSync(`${this.#folder}/${name}`, value);
  }
}

/** A killed process stays in its group until the kernel has released it. A group that cannot be removed in time is left to the next host. */
async function removeSoon(folder: string, maxAttempts: number): Promise<void> {
  const remove = async (): Promise<void> => {
    await rmdir(folder).catch(error => {
      if (error.code !== 'ENOENT') throw error;
    });
  };
  await retry(new AbortController().signal, remove, { ...REMOVAL_PACE, maxAttempts }).catch(() => {});
}

/** The PID namespace: process ids are unique only within it. */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  } catch {
    return '0';
  }
}

function words(path: string): Set<string> {
  return new Set((readText(path) ?? '').split(/\s+/).filter(Boolean));
}

function listOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Checks the folder, for creating groups, and its list of processes, which moving a process out of it needs too. */
function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    accessSync(`${folder}/cgroup.procs`, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function tryWrite(path: string, value: string): boolean {
  try {
    writeFileSync(path, value);
    return true;
  } catch {
    return false;
  }
}

function isBelow(path: string, root: string): boolean {
  return root === '/' || path === root || path.startsWith(`${root}/`);
}

function trimSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
