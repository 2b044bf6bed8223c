/** The resources that a process and its descendants hold, as Linux reports them to root or to their owner. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { cpuMsOf } from '../measuring/process-cpu.js';
import { residentNow } from '../measuring/process-memory.js';

export interface Holdings {
  readonly processes: number;
  readonly threads: number;
  readonly residentMb: number;
  /** Of files that they have open, files in memory among them. */
  readonly filesMb: number;
  readonly writtenMb: number;
  readonly cpuMs: number;
}

const NOTHING: Holdings = { processes: 0, threads: 0, residentMb: 0, filesMb: 0, writtenMb: 0, cpuMs: 0 };

export function holdingsOf(pid: number): Holdings {
  let sum = NOTHING;
  for (const one of treeOf(pid)) {
    try {
      sum = {
        processes: sum.processes + 1,
        threads: sum.threads + readdirSync(`/proc/${one}/task`).length,
        residentMb: sum.residentMb + residentNow(one),
        filesMb: sum.filesMb + filesMb(one),
        writtenMb: sum.writtenMb + writtenMb(one),
        cpuMs: sum.cpuMs + cpuMsOf(one),
      };
    } catch {
      // It has ended meanwhile.
    }
  }
  return sum;
}

function treeOf(pid: number): number[] {
  const below = read(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);
  return [pid, ...below.flatMap(treeOf)];
}

function filesMb(pid: number): number {
  let bytes = 0;
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    const file = statSync(`/proc/${pid}/fd/${fd}`, { throwIfNoEntry: false });
    if (file?.isFile() === true) bytes += file.size;
  }
  return bytes / 1e6;
}

function writtenMb(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0) / 1e6;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Wrappers of the sandbox, an idle cell and what it compiled take as much. */
const HARMLESS: Readonly<Omit<Holdings, 'cpuMs'>> = {
  processes: 4,
  threads: 32,
  residentMb: 160,
  filesMb: 8,
  writtenMb: 8,
};
/** Of a core: less than that an idle cell may use, too. */
const HARMLESS_CPU_SHARE = 0.2;

/** Whether a cell that was not ended holds no more than an honest one, after so many milliseconds: what it tried was refused. */
export function isHarmless(held: Holdings, tookMs: number): boolean {
  return (
    held.processes <= HARMLESS.processes &&
    held.threads <= HARMLESS.threads &&
    held.residentMb <= HARMLESS.residentMb &&
    held.filesMb <= HARMLESS.filesMb &&
    held.writtenMb <= HARMLESS.writtenMb &&
    held.cpuMs <= tookMs * HARMLESS_CPU_SHARE
  );
}
