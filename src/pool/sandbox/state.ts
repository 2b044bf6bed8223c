/** The state of the sandbox of a host's cells: the active layers, the missing ones with remedies, and the consequences. */
import process from 'node:process';

/** 'custom' is a command of the owner's own. */
export type SandboxMode = 'auto' | 'strict' | 'off';

export type SandboxLayer = 'root' | 'landlock' | 'seccomp' | 'namespaces' | 'user' | 'ownUser' | 'resourceLimits';

/** Which layers a cell has besides its own process and Node's permission model. */
export interface SandboxState {
  readonly mode: SandboxMode | 'custom';
  /** A file system of its own, with Node and this package's code in it and nothing else. */
  readonly root: boolean;
  /** The kernel refuses to open any file but Node, this package and the process's own (Landlock, Linux 5.13 or newer). */
  readonly landlock: boolean;
  /** The ABI of Landlock in use: 1 to 7, or newer; 0 without that layer. */
  readonly landlockAbi: number;
  /** A filter of system calls: those that cells need, and no others. */
  readonly seccomp: boolean;
  /** Namespaces of its own for network, IPC and processes. */
  readonly namespaces: boolean;
  /** No privileges, and no way to gain any. */
  readonly user: boolean;
  /** A user that nothing else on the machine has: neither the application nor another cell. */
  readonly ownUser: boolean;
  /** No core dumps, few descriptors, no files to write and no memory to lock. */
  readonly resourceLimits: boolean;
  /** Which layers are missing, why, and what to install or allow for each. */
  readonly missing: readonly string[];
  /**
   * Whether accounts are separated even from the native code of a compromised cell: `seccomp`, `user`, `ownUser` and `resourceLimits`, and `root` or
   * `landlock`. `sandbox: 'strict'` demands it. For engines of SQL `ownUser` counts where they can have one.
   */
  readonly separated: boolean;
  /** One sentence: what native code in the compromised cell of one account can do to others. */
  readonly separation: string;
}

export const LAYERS: readonly SandboxLayer[] = [
  'root',
  'landlock',
  'seccomp',
  'namespaces',
  'user',
  'ownUser',
  'resourceLimits',
];

export type SandboxLayers = Readonly<Record<SandboxLayer, boolean>>;

export const NO_LAYERS: SandboxLayers = {
  root: false,
  landlock: false,
  seccomp: false,
  namespaces: false,
  user: false,
  ownUser: false,
  resourceLimits: false,
};

/** @param what "the cell", or another kind of process */
function takenOver(what: string): string {
  return `Native code that takes over ${what} of one account`;
}

/** `needsOwnUser`: false for processes that cannot have a user of their own. */
export function isSeparated(layers: SandboxLayers, needsOwnUser = true): boolean {
  return (
    (layers.root || layers.landlock) &&
    layers.seccomp &&
    layers.user &&
    layers.resourceLimits &&
    (layers.ownUser || !needsOwnUser)
  );
}

/** @param what "the cell", or another kind of process */
export function separationOf(layers: SandboxLayers, what = 'the cell'): string {
  const subject = takenOver(what);
  const can = [filesOf(layers), networkOf(layers), processesOf(layers)].filter(each => each !== undefined);
  if (can.length === 0 && !layers.ownUser) {
    return layers.root && layers.namespaces
      ? `${subject} finds no file, network or process but its own; it is the same user of the kernel as the application, so that one mistake in the kernel's namespaces is enough.`
      : `${subject} opens no file, socket or process but its own, though it can tell which files and processes there are; it is the same user of the kernel as the application, so that one mistake in Landlock or the filter is enough.`;
  }
  if (!layers.seccomp) can.push('attack the kernel by all of its system calls');
  if (can.length === 0) {
    const alone = subject.replace('N', 'n');
    return layers.root && layers.namespaces
      ? `Accounts are separated: ${alone} finds no file, network, process or user but its own, and no system call that cells do not need.`
      : `Accounts are separated: ${alone} opens no file, socket or process but its own, and has no system call that cells do not need; it can tell which files and processes there are.`;
  }
  const last = can.pop() ?? '';
  return `${subject} can ${can.length === 0 ? last : `${can.join('; ')}; and ${last}`}.`;
}

function filesOf({ root, landlock, seccomp, ownUser }: SandboxLayers): string | undefined {
  if (root || landlock) return undefined;
  // The filter refuses to open files for writing, and all sockets.
  if (seccomp) {
    return ownUser
      ? 'read and execute the files that all users of the machine may'
      : 'read and execute every file that the application can, the data of all accounts among them';
  }
  return ownUser
    ? 'read and make files, and connect to unix sockets, wherever all users of the machine may'
    : 'read and change every file that the application can, the data of all accounts among them';
}

function networkOf({ namespaces, seccomp }: SandboxLayers): string | undefined {
  return namespaces || seccomp ? undefined : 'reach the network and the ports of this machine';
}

function processesOf({ namespaces, landlock, seccomp, ownUser }: SandboxLayers): string | undefined {
  if (namespaces) return undefined;
  if (seccomp) {
    // By a file of /proc, which Landlock does not open, and another user may not.
    return landlock || ownUser ? undefined : 'read the memory of other cells and of the application';
  }
  if (ownUser) return 'see which processes run, but neither read the memory of other cells nor end them';
  return landlock
    ? 'end other cells and the application'
    : 'read the memory of other cells and of the application, and end them';
}

/**
 * The text of the `warning` event for an incomplete sandbox: the consequence, and the one thing that would improve it most. Undefined when there is nothing to
 * warn about: accounts are separated, the owner has chosen otherwise, or the system has no such layers.
 *
 * @param of "cells"
 */
export function sandboxWarning({ mode, separated, separation, missing }: SandboxState, of: string): string | undefined {
  if (mode !== 'auto' || separated || process.platform !== 'linux') return undefined;
  const [first = '', ...others] = missing;
  const more = others.length === 0 ? '' : ` (${others.length} more in host.health())`;
  return `The sandbox of ${of} does not separate accounts. ${separation} Missing: ${first}${more}`;
}
