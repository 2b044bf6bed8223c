/** The processes that a process has started, and those that they have started, as the kernel lists them. */
import { readdirSync } from 'node:fs';
import { readLine } from './process-reading.js';

/**
 * Descendants of a process, parents before their children; none where the system has no /proc. Every thread has a list of its own. A
 * process whose parent has ended belongs to the first process of its namespace, so with a PID namespace of its own nothing gets out of the
 * tree; without one it does.
 *
 * @param most more are not looked for: a process that forks without end must not keep the caller busy
 */
export function descendantsOf(pid: number, most = 4096): number[] {
  const found: number[] = [];
  for (let parent: number | undefined = pid, next = 0; parent !== undefined; parent = found[next++]) {
    for (const child of childrenOf(parent)) {
      if (found.length >= most) return found;
      found.push(child);
    }
  }
  return found;
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread => childrenOfThread(pid, thread));
  } catch {
    return [];
  }
}

/** None when the thread has ended since it was listed. */
function childrenOfThread(pid: number, thread: string): number[] {
  const line = readLine(`/proc/${pid}/task/${thread}/children`)?.trim() ?? '';
  return line === '' ? [] : line.split(' ').map(Number);
}
