/** Lists the descendants of a process. */
import { readdirSync } from 'node:fs';
import { readLine } from './process-reading.js';

/**
 * Descendants of a process, parents before their children; none if the system has no /proc. Each thread has a list of its own children. A process whose
 * parent has ended becomes a child of the first process of its namespace: nothing leaves the tree in a PID namespace of its own, but it can without one.
 *
 * @param most how many to list: a process that keeps forking must not keep the caller busy
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

/** None if the thread has ended since it was listed. */
function childrenOfThread(pid: number, thread: string): number[] {
  const line = readLine(`/proc/${pid}/task/${thread}/children`)?.trim() ?? '';
  return line === '' ? [] : line.split(' ').map(Number);
}
