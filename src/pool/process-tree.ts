/** The processes of a cell as the host sees them: whatever has been started by the process that it spawned, directly or not. */
import { readdirSync, readFileSync } from 'node:fs';

/**
 * The descendants of a process, parents before their children; none where the system does not tell (/proc, with CONFIG_PROC_CHILDREN).
 * Any thread of a process may have children.
 */
export function descendantsOf(pid: number): number[] {
  const found: number[] = [];
  const waiting = [pid];
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const child of childrenOf(parent)) {
      found.push(child);
      waiting.push(child);
    }
  }
  return found;
}

function childrenOf(pid: number): number[] {
  const children: number[] = [];
  for (const thread of quietly(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
    const text = quietly(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')) ?? '';
    children.push(...text.split(' ').filter(Boolean).map(Number));
  }
  return children;
}

/** A process may end while it is looked at. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
