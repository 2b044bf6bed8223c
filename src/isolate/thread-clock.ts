/** CPU time of threads, by whatever this Node and this system have. */
import { closeSync, openSync, readSync } from 'node:fs';
import process from 'node:process';

/** `process.threadCpuUsage` is there from Node 23.9 on. */
const threadCpuUsage: (() => { user: number; system: number }) | undefined =
  'threadCpuUsage' in process && typeof process.threadCpuUsage === 'function'
    ? process.threadCpuUsage.bind(process)
    : undefined;

const line = Buffer.alloc(64);

/** CPU milliseconds of the calling thread; undefined where the system does not tell. */
export function threadCpuMs(): number | undefined {
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage();
    return (user + system) / 1000;
  }
  return undefined;
}

/** Reads another thread's CPU time from /proc; for the watchdog, on Linux. */
export class ThreadClock {
  readonly #fd: number | undefined;

  constructor(threadId: number) {
    try {
      this.#fd = openSync(`/proc/self/task/${threadId}/schedstat`, 'r');
    } catch {
      this.#fd = undefined;
    }
  }

  /** CPU milliseconds; undefined when the thread has ended or the system does not tell. */
  read(): number | undefined {
    if (this.#fd === undefined) return undefined;
    try {
      const length = readSync(this.#fd, line, 0, line.length, 0);
      const nanoseconds = Number.parseInt(line.toString('latin1', 0, length), 10);
      return Number.isNaN(nanoseconds) ? undefined : nanoseconds / 1e6;
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}
