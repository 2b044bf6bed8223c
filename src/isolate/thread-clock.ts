/** CPU time of threads, by whatever this Node and this system have. */
import { closeSync, openSync, readSync } from 'node:fs';
import process from 'node:process';

/** `process.threadCpuUsage` is there from Node 23.9 on. */
const threadCpuUsage: (() => { user: number; system: number }) | undefined =
  'threadCpuUsage' in process && typeof process.threadCpuUsage === 'function'
    ? process.threadCpuUsage.bind(process)
    : undefined;

const cpuUsage = process.cpuUsage.bind(process);

const line = Buffer.alloc(64);

/** The calling thread's own line in /proc, opened before guest code runs: from then on only the descriptor is needed. */
const ownSchedstat = threadCpuUsage === undefined ? openQuietly('/proc/thread-self/schedstat') : undefined;

/** CPU milliseconds of the calling thread; undefined where the system does not tell. */
export function threadCpuMs(): number | undefined {
  if (threadCpuUsage !== undefined) {
    const { user, system } = threadCpuUsage();
    return (user + system) / 1000;
  }
  if (ownSchedstat === undefined) return undefined;
  // The figure in /proc is brought up to date at scheduler ticks and lags by up to 4 ms. getrusage(2) makes the kernel bring that of the
  // calling thread up to date now (thread_group_cputime in kernel/sched/cputime.c), so the reading after it is exact to microseconds.
  cpuUsage();
  return readSchedstat(ownSchedstat);
}

function openQuietly(path: string): number | undefined {
  try {
    return openSync(path, 'r');
  } catch {
    return undefined;
  }
}

/** CPU milliseconds by the first figure of a schedstat line, which is in nanoseconds. */
function readSchedstat(fd: number): number | undefined {
  try {
    const length = readSync(fd, line, 0, line.length, 0);
    const nanoseconds = Number.parseInt(line.toString('latin1', 0, length), 10);
    return Number.isNaN(nanoseconds) ? undefined : nanoseconds / 1e6;
  } catch {
    return undefined;
  }
}

/** Reads another thread's CPU time from /proc; for the watchdog, on Linux. */
export class ThreadClock {
  readonly #fd: number | undefined;

  constructor(threadId: number) {
    this.#fd = openQuietly(`/proc/self/task/${threadId}/schedstat`);
  }

  /** CPU milliseconds; undefined when the thread has ended or the system does not tell. */
  read(): number | undefined {
    return this.#fd === undefined ? undefined : readSchedstat(this.#fd);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}
