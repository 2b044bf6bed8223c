/** CPU time of processes as Linux counts it. It is unavailable on other systems. */
import { readdirSync, readFileSync } from 'node:fs';

/** CPU milliseconds that a process and all of its threads have used. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name may hold spaces; fields are counted after its closing bracket. Times are in ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** CPU milliseconds of each thread of a process that runs now, to the microsecond. */
export function threadClocks(pid: number): Map<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map(thread => {
      const [nanoseconds] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ');
      return [thread, Number(nanoseconds) / 1e6];
    }),
  );
}

/** CPU milliseconds of a process' main thread, and milliseconds that it was ready to run and had no core. */
export function mainThreadClock(pid: number): { readonly usedMs: number; readonly waitedMs: number } {
  const [used, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ');
  return { usedMs: Number(used) / 1e6, waitedMs: Number(waited) / 1e6 };
}

/** The sum of the clocks of all threads. Only for a process whose threads stay: what an ended one has used is not in it. */
export function exactCpuMsOf(pid: number): number {
  return [...threadClocks(pid).values()].reduce((sum, ms) => sum + ms, 0);
}

/** Waits until a process has done next to nothing for a while: threads have started, garbage is collected. */
export async function settle(pid: number, quietMs = 200): Promise<void> {
  const until = Date.now() + 10_000;
  for (let last = cpuMsOf(pid); Date.now() < until; ) {
    await new Promise(resolve => setTimeout(resolve, quietMs));
    const now = cpuMsOf(pid);
    if (now - last <= 10) return;
    last = now;
  }
}

/** CPU time that some processes use for work that is counted. Unlike a rate it hardly depends on what else the machine does. */
export class CpuBill {
  readonly #pids: readonly number[];
  readonly samples: number[] = [];

  constructor(pids: readonly number[]) {
    this.#pids = pids;
  }

  /** Runs `work`, which answers how many times a second something was done, for so many seconds; bills microseconds for each. */
  async around(work: () => Promise<number>): Promise<number> {
    const cpuBefore = this.#cpuMs();
    const started = performance.now();
    const perSecond = await work();
    const times = (perSecond * (performance.now() - started)) / 1000;
    this.samples.push(((this.#cpuMs() - cpuBefore) * 1000) / times);
    return perSecond;
  }

  #cpuMs(): number {
    return this.#pids.reduce((sum, pid) => sum + cpuMsOf(pid), 0);
  }
}
