/** The state of the sandbox of a host's cells: the active layers, the missing ones with remedies, and the consequences. */

/** 'custom' is a command of the owner's own. */
export type SandboxMode = 'auto' | 'strict' | 'off';

export type SandboxLayer = 'root' | 'seccomp' | 'namespaces' | 'user' | 'ownUser' | 'resourceLimits';

/** Which layers a cell has besides its own process and Node's permission model. */
export interface SandboxState {
  readonly mode: SandboxMode | 'custom';
  /** A file system of its own, with Node and this package's code in it and nothing else. */
  readonly root: boolean;
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
  /** One sentence: what native code that has taken over the cell of one account can do to others. */
  readonly separation: string;
}

export const LAYERS: readonly SandboxLayer[] = ['root', 'seccomp', 'namespaces', 'user', 'ownUser', 'resourceLimits'];

export type SandboxLayers = Readonly<Record<SandboxLayer, boolean>>;

export const NO_LAYERS: SandboxLayers = {
  root: false,
  seccomp: false,
  namespaces: false,
  user: false,
  ownUser: false,
  resourceLimits: false,
};

/** @param process "the cell", or another kind of process */
function takenOver(process: string): string {
  return `Native code that takes over ${process} of one account`;
}

/** `isRoot`: the application runs as root, and so does a cell without a user of its own when it is given none. */
export function separationOf(layers: SandboxLayers, process = 'the cell'): string {
  const subject = takenOver(process);
  const can: string[] = [];
  if (!layers.root) {
    can.push(
      layers.ownUser
        ? 'read and make files, and connect to unix sockets, wherever all users of the machine may'
        : 'read and change every file that the application can, the data of all accounts among them',
    );
  }
  if (!layers.namespaces) {
    can.push('reach the network and the ports of this machine');
    can.push(
      layers.ownUser
        ? 'see which processes run, but neither read the memory of other cells nor end them'
        : 'read the memory of other cells and of the application, and end them',
    );
  }
  if (can.length === 0 && !layers.ownUser) {
    return `${subject} finds no file, network or process but its own; it is the same user of the kernel as the application, so that one mistake in the kernel's namespaces is enough.`;
  }
  if (!layers.seccomp) can.push('attack the kernel by all of its system calls');
  if (can.length === 0) {
    return `Accounts are separated: ${subject.replace('N', 'n')} finds no file, network, process or user but its own, and no system call that cells do not need.`;
  }
  const last = can.pop() ?? '';
  return `${subject} can ${can.length === 0 ? last : `${can.join('; ')}; and ${last}`}.`;
}
