/** The priority of whole processes, all of their threads, set from outside of them. */
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import process from 'node:process';
import { readText } from '../watch/process-reading.js';
import { descendantsOf } from '../watch/process-tree.js';

/** CAP_SYS_NICE of capabilities(7), which raising the priority of another user's process takes. */
const MAY_NICE = 1n << 23n;
/** A thread that is started while its process is gone through has the priority of the one that started it. */
const ROUNDS = 3;

let mayRaise: boolean | undefined;

/** Whether what was lowered can be raised again: a cell that stays slow would be worse than one that starts at full speed. */
export function canRaisePriority(): boolean {
  mayRaise ??= holdsNice();
  return mayRaise;
}

/** Nice value of this process. */
export function ownPriority(): number {
  return getPriority();
}

/** Sets the nice value of a process, of what it has started, and of all of their threads. */
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
