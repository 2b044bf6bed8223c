/** Memory of processes as Linux counts it, in MB of 1,000,000 bytes. Elsewhere there are no figures. */
import { readFileSync, writeFileSync } from 'node:fs';

export interface ProcessMemory {
  /** Resident. */
  readonly rss: number;
  /** Resident, with pages that several processes share divided among them. */
  readonly pss: number;
}

const KIBIBYTE_IN_MB = 1024 / 1e6;

/** Throws where /proc does not tell. */
export function memoryOf(pid: number): ProcessMemory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  return { rss: field(text, 'Rss'), pss: field(text, 'Pss') };
}

/** The resident memory now. */
export function residentNow(pid: number): number {
  return field(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmRSS');
}

/** From here on `residentPeak` counts anew. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export function residentPeak(pid: number): number {
  return field(readFileSync(`/proc/${pid}/status`, 'latin1'), 'VmHWM');
}

function field(text: string, name: string): number {
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
  if (kibibytes === undefined) throw new Error(`The system does not tell ${name} of a process`);
  return Number(kibibytes) * KIBIBYTE_IN_MB;
}

/** How many MB each process grows at most while `work` runs, by its peak. */
export async function peakGrowth(pids: readonly number[], work: () => Promise<unknown>): Promise<number[]> {
  const before = pids.map(pid => {
    resetPeak(pid);
    return residentNow(pid);
  });
  await work();
  return pids.map((pid, at) => residentPeak(pid) - (before[at] ?? Number.NaN));
}

/** CPU milliseconds that a process and all of its threads have used. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // The name may hold spaces; fields are counted after its closing bracket. Times are in ticks of 10 ms.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
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
