/** Why layers of the sandbox are missing, and what to install or allow for each. */
import process from 'node:process';
import type { SandboxLayer } from './state.js';
import { NO_IDS, type System } from './walls.js';

const CONTAINER =
  'in a container, docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined';
const USER_NAMESPACES =
  'allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)';

/** One line for the layers that miss the same. `failures` are what programs said that were tried out, the best wall first. */
export function remediesFor(
  absent: readonly SandboxLayer[],
  failures: readonly string[],
  system: Pick<System, 'isRoot' | 'programs' | 'landlockAbi'>,
): string[] {
  const lines = new Map<string, SandboxLayer[]>();
  for (const layer of absent) {
    const remedy = remedyFor(layer, failures, system);
    lines.set(remedy, [...(lines.get(remedy) ?? []), layer]);
  }
  return [...lines].map(([remedy, layers]) => `${layers.join(', ')}: ${remedy}`);
}

function remedyFor(
  layer: SandboxLayer,
  failures: readonly string[],
  { isRoot, programs, landlockAbi }: Pick<System, 'isRoot' | 'programs' | 'landlockAbi'>,
): string {
  const {
    bwrap,
    unshare,
    setpriv,
    prlimit,
    newuidmap,
    isBusybox,
    confine,
    confineProblem = 'there is no launcher',
  } = programs;
  const utilLinux =
    isBusybox === true ? 'util-linux: apk add util-linux, its counterpart in busybox is not sufficient' : 'util-linux';
  const refused = [
    failures.length === 0 ? 'the system does not allow it' : `the system does not allow it (${failures[0]})`,
    isRoot
      ? `give the right to make namespaces (CAP_SYS_ADMIN and CAP_NET_ADMIN), or ${USER_NAMESPACES}`
      : USER_NAMESPACES,
    CONTAINER,
  ].join('; ');
  switch (layer) {
    case 'root':
      return bwrap === undefined ? 'bubblewrap is not installed (package bubblewrap)' : refused;
    case 'landlock':
      if (confine === undefined) return confineProblem;
      return landlockAbi > 0
        ? `Node does not start behind it (${failures.at(-1) ?? 'for an unknown reason'})`
        : 'the kernel has no Landlock (Linux 5.13 or newer, with "landlock" in its parameter lsm=), or a profile of the container refuses it (Docker 20.10.18 or newer allows it)';
    case 'seccomp':
      if (process.arch !== 'x64' && process.arch !== 'arm64') return `there is no filter for ${process.arch}`;
      if (confine === undefined && bwrap === undefined)
        return `${confineProblem}, and bubblewrap is not installed (package bubblewrap)`;
      return refused;
    case 'namespaces':
      if (bwrap !== undefined || (unshare !== undefined && setpriv !== undefined)) return refused;
      return `neither bubblewrap nor unshare and setpriv are installed (packages bubblewrap and ${utilLinux})`;
    case 'user':
      return setpriv === undefined && bwrap === undefined && confine === undefined
        ? `setpriv is not installed (package ${utilLinux})`
        : refused;
    case 'ownUser':
      if (setpriv === undefined && confine === undefined) return `setpriv is not installed (package ${utilLinux})`;
      if (isRoot) {
        const why = reasonOf(failures) ?? failures.at(-1);
        return `the system does not allow it${why === undefined ? '' : ` (${why})`}; give the rights to become another user (CAP_SETUID, CAP_SETGID), and other users the right to read this package`;
      }
      if (newuidmap === undefined || unshare === undefined) {
        return `newuidmap or unshare is not installed (a range for this user in /etc/subuid and /etc/subgid, and packages uidmap and ${utilLinux})`;
      }
      return `no range of users for cells (${reasonOf(failures) ?? failures[0] ?? 'none mapped'}); give this user one in /etc/subuid and /etc/subgid, and other users the right to read this package`;
    case 'resourceLimits':
      return prlimit === undefined
        ? `${confineProblem}, and prlimit is not installed (package ${utilLinux})`
        : 'the system does not allow it';
  }
}

/** Why there is no range of users. */
function reasonOf(failures: readonly string[]): string | undefined {
  return failures.find(text => text.startsWith(NO_IDS));
}
