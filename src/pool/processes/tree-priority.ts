/** Sets the priority of all threads of a process, and of its descendants, from outside. */

import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import process from 'node:process';
import { readText } from '../../quotas/host/system-limits.js';
import { descendantsOf } from './process-tree.js';

/** The largest nice value. */
export const LOWEST_PRIORITY = 19;
/** CAP_SYS_NICE of capabilities(7), which raising the priority of another user's process takes. */
const MAY_NICE = 1n << 23n;
/** Threads that start during one round have the old priority, so it is repeated. */
const ROUNDS = 3;

let mayRaise: boolean | undefined;

/** Whether a lowered priority can be raised again. Otherwise it is not lowered: a cell would stay slow. */
export function canRaisePriority(): boolean {
  mayRaise ??= holdsNice();
  return mayRaise;
}

/** The nice value of this process. */
export function ownPriority(): number {
  return getPriority();
}

/** Sets the nice value of all threads of a process and of its descendants. */
export function setTreePriority(pid: number, priority: number): void {
  const done = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    const threads = [pid, ...descendantsOf(pid)].flatMap(threadsOf).filter(thread => !done.has(thread));
    if (threads.length === 0) return;
    for (const thread of threads) {
      done.add(thread);
      setOne(thread, priority);
    }
  }
}

function setOne(thread: number, priority: number): void {
  try {
    setPriority(thread, priority);
  } catch {
    // It has ended, or the system does not allow it.
  }
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

function holdsNice(): boolean {
  if (process.platform !== 'linux') return false;
  const [, mask] = /^CapEff:\s*([0-9a-f]+)$/m.exec(readText('/proc/self/status') ?? '') ?? [];
  return mask !== undefined && (BigInt(`0x${mask}`) & MAY_NICE) !== 0n;
}
