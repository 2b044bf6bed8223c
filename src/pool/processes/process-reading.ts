/** Reads the usage of a process from the kernel; nothing here is reported by the process itself. */

import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { readText } from '../../quotas/host/system-limits.js';

export interface ProcessUsage {
  /** CPU time of all of its threads, including ended ones, and of the children that it has waited for. */
  readonly cpuMs: number;
  readonly threads: number;
  readonly residentBytes: number;
  /** When it was started, in ticks of the system: tells a process from a later one with the same id. */
  readonly startedTicks: number;
}

/** Whether this system is a Linux on which nothing is known of processes, because /proc is not mounted or is hidden. */
export function isProcHidden(): boolean {
  return process.platform === 'linux' && !existsSync('/proc/self/stat');
}

/** The files that a process holds open. */
export interface HeldFiles {
  readonly descriptors: number;
  /** Bytes of files on any file system: in memory (memfd, /dev/shm, a tmpfs) or on disk, deleted or not. Each is counted once. */
  readonly bytes: number;
}

const AT_PAGE_SIZE = 6;
const AT_TICKS_PER_SECOND = 17;
/** The block size of stat(2), independent of the file system. */
const BLOCK_BYTES = 512;
/** The targets of descriptors that are no files. They are most of them, and comparing names is cheaper than stat(2). */
const NO_FILE = /^(?:socket:|pipe:|anon_inode:|\/dev\/null$|\/proc\/)/;

const units = readUnits();
const line = Buffer.alloc(4096);

/**
 * A file of a process in /proc, kept open: a read takes 3 us instead of 20. Once the process is gone it fails, also when another process has the same
 * id by then.
 */
export class OpenFile {
  readonly #fd: number;
  #isClosed = false;

  /** Throws where there is no such file. */
  constructor(path: string) {
    this.#fd = openSync(path, 'r');
  }

  /** The first 4 KB of the text; undefined when the process is gone. */
  read(): string | undefined {
    if (this.#isClosed) return undefined;
    try {
      return line.toString('latin1', 0, readSync(this.#fd, line, 0, line.length, 0));
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (!this.#isClosed) closeSync(this.#fd);
    this.#isClosed = true;
  }
}

/** Parses a line of /proc/<pid>/stat (proc(5)); undefined if it is malformed. */
export function parseStat(text: string): ProcessUsage | undefined {
  // The name of the program, in parentheses, may have spaces and parentheses of its own.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  const usage = {
    cpuMs: (ticks * 1000) / units.ticksPerSecond,
    threads: field(20),
    residentBytes: field(24) * units.pageBytes,
    startedTicks: field(22),
  };
  return Object.values(usage).every(Number.isFinite) ? usage : undefined;
}

export function usageOf(pid: number | 'self'): ProcessUsage | undefined {
  const text = readLine(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** The number of open descriptors of the process; undefined if it is gone or not readable. */
export function countDescriptors(pid: number): number | undefined {
  const folder = `/proc/${pid}/fd`;
  try {
    // The size is their number from Linux 6.2 on, and 0 before.
    return statSync(folder).size || readdirSync(folder).length;
  } catch {
    return undefined;
  }
}

/**
 * The files that the process holds open; undefined if it is gone or not readable. Memory that is only reachable by a descriptor is in no resident set:
 * a process can hold gigabytes of it and look small.
 *
 * @param seen files that were counted already, by device and number
 * @param most if there are more descriptors than this, they are only counted
 */
export function heldFiles(pid: number, seen: Set<string>, most: number): HeldFiles | undefined {
  const folder = `/proc/${pid}/fd`;
  try {
    const descriptors = countDescriptors(pid);
    if (descriptors === undefined || descriptors > most) return toCount(descriptors);
    const names = readdirSync(folder);
    let bytes = 0;
    for (const name of names) bytes += fileBytes(`${folder}/${name}`, seen);
    return { descriptors: names.length, bytes };
  } catch {
    return undefined;
  }
}

function toCount(descriptors: number | undefined): HeldFiles | undefined {
  return descriptors === undefined ? undefined : { descriptors, bytes: 0 };
}

function fileBytes(path: string, seen: Set<string>): number {
  try {
    if (NO_FILE.test(readlinkSync(path))) return 0;
    const file = statSync(path);
    const id = `${file.dev}:${file.ino}`;
    if (!file.isFile() || seen.has(id)) return 0;
    seen.add(id);
    return file.blocks * BLOCK_BYTES;
  } catch {
    // It was closed after it was listed.
    return 0;
  }
}

/**
 * Memory of the process, with its proportional part of shared memory: the sum over all processes is their memory on the machine. It takes about 0.5 ms, and
 * waits while a thread of the process changes its mappings, which may itself wait for a processor: another thread reads it. Undefined if the process is gone or
 * not readable.
 */
export async function proportionalBytes(pid: number): Promise<number | undefined> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1').catch(() => '');
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(text) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** Bytes that the process has caused to be written to disks since its start; undefined if the system does not report it. */
export function writtenBytes(pid: number): number | undefined {
  const [, bytes] = /^write_bytes: (\d+)$/m.exec(readLine(`/proc/${pid}/io`) ?? '') ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}

/** The same for short texts, in a third of the time. */
export function readLine(path: string): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const length = readSync(fd, line, 0, line.length, 0);
    return length === line.length ? readText(path) : line.toString('latin1', 0, length);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * The id of the process or thread that was started last in this PID namespace (proc_loadavg(5)): it changes whenever one is started. Undefined if the
 * system does not report it.
 */
export function lastStarted(): string | undefined {
  return readLine('/proc/loadavg')?.split(' ')[4];
}

/** The units of the kernel's values, from the auxiliary vector of this process (getauxval(3)). */
function readUnits(): { readonly pageBytes: number; readonly ticksPerSecond: number } {
  const values = new Map<number, number>();
  try {
    if (process.arch !== 'arm' && process.arch !== 'ia32') {
      const vector = readFileSync('/proc/self/auxv');
      for (let at = 0; at + 16 <= vector.length; at += 16) {
        values.set(Number(vector.readBigUInt64LE(at)), Number(vector.readBigUInt64LE(at + 8)));
      }
    }
  } catch {
    // No Linux: nothing is read with these units either.
  }
  return { pageBytes: values.get(AT_PAGE_SIZE) ?? 4096, ticksPerSecond: values.get(AT_TICKS_PER_SECOND) ?? 100 };
}
