/** Memory of processes as Linux counts it, in MB of 1,000,000 bytes. It is unavailable on other systems. */
import { readFileSync, writeFileSync } from 'node:fs';

export interface ProcessMemory {
  /** Resident. */
  readonly rss: number;
  /** Resident, with pages that several processes share divided among them. */
  readonly pss: number;
}

const KIBIBYTE_IN_MB = 1024 / 1e6;

/** Throws where /proc does not have it. */
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
