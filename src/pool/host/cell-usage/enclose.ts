/** Puts the processes of a cell into a control group of their own. */
import { descendantsOf } from '../../processes/process-tree.js';
import type { CellOptions } from '../cell.js';
import { boundsOf } from './cell-bounds.js';
import { CellCgroup, type CgroupParent } from './cgroup.js';

/**
 * Moves the processes of a cell into a control group while they start; the kernel takes 16 ms to move a process. No function code runs before the
 * cell is up, and processes that were forked by then are found: parents are moved before their children are listed, and what they fork later is
 * created inside. A shell that moves itself first would leave variables in the environment. Undefined if it could not be done.
 */
export async function enclose(
  root: number,
  cgroups: CgroupParent,
  options: CellOptions,
): Promise<CellCgroup | undefined> {
  const { memoryBytes, threads } = boundsOf(options);
  let cgroup: CellCgroup;
  try {
    cgroup = new CellCgroup(cgroups, { memoryBytes, tasks: threads });
  } catch {
    return undefined;
  }
  if (!(await cgroup.add(root))) {
    await cgroup.remove();
    return undefined;
  }
  const isInside = new Set([root]);
  for (;;) {
    const [next] = descendantsOf(root).filter(pid => !isInside.has(pid));
    if (next === undefined) return cgroup;
    isInside.add(next);
    // Moving a process that is in the group already takes no time; one that has ended cannot be moved.
    await cgroup.add(next);
  }
}
