/** CPU time of threads, by the best clock that this version of Node and this system have. */
import { openSync, readFileSync, readSync } from 'node:fs';
import process from 'node:process';

/** There from Node 23.9 on; for systems without /proc. */
const threadCpuUsage: (() => { user: number; system: number }) | undefined =
  'threadCpuUsage' in process && typeof process.threadCpuUsage === 'function'
    ? process.threadCpuUsage.bind(process)
    : undefined;

const cpuUsage = process.cpuUsage.bind(process);

const line = Buffer.alloc(64);

/** The calling thread's own line in /proc, opened before guest code runs: from then on only the descriptor is needed. */
const ownSchedstat = openQuietly('/proc/thread-self/schedstat');

/** The descriptor by which other threads of the process read this one's clock; 0 when it cannot be read. It is closed with the thread. */
export function ownClockDescriptor(): number {
  return ownSchedstat ?? 0;
}

/** The system's number of the calling thread; 0 where the system does not provide it. */
export function ownThreadId(): number {
  try {
    return Number.parseInt(readFileSync('/proc/thread-self/stat', 'latin1'), 10) || 0;
  } catch {
    return 0;
  }
}

/** CPU milliseconds of the calling thread; undefined where the system does not provide them. */
export function threadCpuMs(): number | undefined {
  if (ownSchedstat === undefined) {
    if (threadCpuUsage === undefined) return undefined;
    const { user, system } = threadCpuUsage();
    return (user + system) / 1000;
  }
  // On Linux the value in /proc, as in threadCpuUsage(), is updated at scheduler ticks and lags by up to 4 ms: a short invocation seemed to cost nothing.
  // getrusage(2) of the process makes the kernel update the calling thread's value now (thread_group_cputime in kernel/sched/cputime.c). The reading after it
  // is exact to microseconds.
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

/** CPU milliseconds from the first number of a schedstat line, which is in nanoseconds. */
function readSchedstat(fd: number): number | undefined {
  try {
    const length = readSync(fd, line, 0, line.length, 0);
    const nanoseconds = Number.parseInt(line.toString('latin1', 0, length), 10);
    return Number.isNaN(nanoseconds) ? undefined : nanoseconds / 1e6;
  } catch {
    return undefined;
  }
}

/**
 * CPU milliseconds of the thread whose clock this descriptor is, for the watchdog; undefined when the thread has ended or the system does
 * not provide it. The thread itself has opened it, since a cell's main thread may not read /proc, which leads to every file.
 */
export function clockMs(descriptor: number): number | undefined {
  return descriptor > 0 ? readSchedstat(descriptor) : undefined;
}
