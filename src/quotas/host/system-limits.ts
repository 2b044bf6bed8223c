/**
 * The limits of the operating system for this process. These are descriptors (RLIMIT_NOFILE), and tasks, which are processes and threads, by user
 * (RLIMIT_NPROC) and by control group (pids.max). The host reads the limits once, and the usage before each start of a cell or an isolate, which takes
 * microseconds.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';

export interface SystemLimit {
  /** As the system calls it. */
  readonly name: string;
  readonly limit: number;
  /** Everything that counts to the limit, whichever process has it. Undefined when it cannot be read. */
  readonly used: () => number | undefined;
  /** How the owner of the machine raises it. */
  readonly remedy: string;
}

/** The folder to look in; tests use one of their own. */
export interface LimitPlaces {
  readonly proc: string;
  readonly uid: number;
}

const HERE: LimitPlaces = { proc: '/proc', uid: process.getuid?.() ?? 0 };
/** The links of a folder of /proc besides the ones to its subfolders. */
const OWN_LINKS = 2;
/** Each process takes some microseconds to look at. A limit above this one is not reached before others are. */
const MANY_TASKS = 32_768;
const COUNT_EVERY_MS = 250;

/**
 * The limit of descriptors of a process: the soft one, which Node raises to the hard one when it starts. Undefined without a limit, or without /proc.
 * @param pid @default this process
 */
export function descriptorLimit(pid: number | 'self' = 'self', { proc }: LimitPlaces = HERE): SystemLimit | undefined {
  const limit = softLimit(`${proc}/${pid}/limits`, 'Max open files');
  if (limit === undefined) return undefined;
  const folder = `${proc}/${pid}/fd`;
  return {
    name: pid === 'self' ? 'RLIMIT_NOFILE' : 'RLIMIT_NOFILE of the backend process',
    limit,
    used: () => countEntries(folder),
    remedy: '"ulimit -n", "LimitNOFILE=" of systemd, or "--ulimit nofile=" of docker',
  };
}

/** The limits of tasks that this process counts to, each on its own. */
export function taskLimits(places: LimitPlaces = HERE): SystemLimit[] {
  const byUser = userLimit(places);
  return [...groupLimits(places.proc), ...(byUser === undefined ? [] : [byUser])];
}

/** The kernel does not hold root to it. */
function userLimit({ proc, uid }: LimitPlaces): SystemLimit | undefined {
  const limit = softLimit(`${proc}/self/limits`, 'Max processes');
  if (uid === 0 || limit === undefined || limit > MANY_TASKS) return undefined;
  let counted = 0;
  let countedMs = Number.NEGATIVE_INFINITY;
  return {
    name: 'RLIMIT_NPROC',
    limit,
    used: () => {
      const now = performance.now();
      if (now - countedMs >= COUNT_EVERY_MS) counted = tasksOf(uid, proc);
      countedMs = now;
      return counted;
    },
    remedy: '"ulimit -u", "LimitNPROC=" of systemd, or "--ulimit nproc=" of docker',
  };
}

function groupLimits(proc: string): SystemLimit[] {
  const mounts = readText(`${proc}/self/mountinfo`) ?? '';
  const groups = readText(`${proc}/self/cgroup`) ?? '';
  const place = pidsPlace(mounts, groups);
  if (place === undefined) return [];
  const limits: SystemLimit[] = [];
  for (let folder = place.own; ; folder = dirname(folder)) {
    const limit = wholeNumber(readText(join(folder, 'pids.max')));
    if (limit !== undefined) {
      limits.push({
        name: `pids.max of ${folder}`,
        limit,
        used: () => wholeNumber(readText(join(folder, 'pids.current'))),
        remedy:
          '"TasksMax=" of systemd, "--pids-limit" of docker, "pids_limit" of compose, or podPidsLimit of Kubernetes',
      });
    }
    if (folder === place.mount || folder === dirname(folder)) return limits;
  }
}

/**
 * Where the controller `pids` has the group of this process: in a hierarchy of version 1, or in the one of version 2. Fields of mountinfo: id, parent,
 * device, root, mount point, options, ..., "-", type, source, options (proc_pid_mountinfo(5)).
 */
function pidsPlace(mounts: string, groups: string): { readonly mount: string; readonly own: string } | undefined {
  const versionOne = groups.split('\n').find(line => line.split(':')[1]?.split(',').includes('pids') === true);
  const line = versionOne ?? groups.split('\n').find(each => each.startsWith('0::'));
  const path = line?.split(':').slice(2).join(':');
  if (path === undefined) return undefined;
  for (const entry of mounts.split('\n')) {
    const [before = '', after = ''] = entry.split(' - ');
    const [, , , root, mount] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    const isIt =
      versionOne === undefined ? type === 'cgroup2' : type === 'cgroup' && options.split(',').includes('pids');
    if (!isIt || root === undefined || mount === undefined) continue;
    // In a container the path may belong to the machine, of which the mount shows a part, or lie outside of it.
    if (root === '/') return { mount, own: path.includes('..') ? mount : join(mount, path) };
    const isInside = path === root || path.startsWith(`${root}/`);
    return { mount, own: isInside ? join(mount, path.slice(root.length)) : mount };
  }
  return undefined;
}

/** The threads of all processes of a user, by the links of their folders `task`. */
function tasksOf(uid: number, proc: string): number {
  let tasks = 0;
  for (const name of readdirSync(proc)) {
    if (!/^\d/.test(name)) continue;
    try {
      const task = statSync(`${proc}/${name}/task`);
      if (task.uid === uid) tasks += task.nlink - OWN_LINKS;
    } catch {
      // It has ended.
    }
  }
  return tasks;
}

/** Since Linux 6.2 the size of the folder is the number of descriptors; before, it is 0. */
function countEntries(folder: string): number | undefined {
  try {
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return undefined;
  }
}

/** The text of a file of the kernel; undefined if it does not exist (any more). */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

/** Undefined for "unlimited". */
function softLimit(file: string, name: string): number | undefined {
  const line = (readText(file) ?? '').split('\n').find(each => each.startsWith(name));
  return wholeNumber(line?.slice(name.length).trim().split(/\s+/)[0]);
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+\s*$/.test(text) ? Number.parseInt(text, 10) : undefined;
}
