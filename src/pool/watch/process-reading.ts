/** What the kernel says of a process, read from outside of it: nothing here is the process's own word. */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync, statSync } from 'node:fs';
import process from 'node:process';

export interface ProcessFigures {
  /** Of all of its threads, those that have ended included, and of the children that it has waited for. */
  readonly cpuMs: number;
  readonly threads: number;
  readonly residentBytes: number;
  /** When it was started, in the system's ticks: a number that is used again belongs to a process with another start. */
  readonly startedTicks: number;
}

/** What a process holds open. */
export interface HeldFiles {
  readonly descriptors: number;
  /** Of files, on whatever file system: in memory (memfd, /dev/shm, a tmpfs) or on disk, deleted or not. Each is counted once. */
  readonly bytes: number;
}

const AT_PAGE_SIZE = 6;
const AT_TICKS_PER_SECOND = 17;
/** Blocks of stat(2), whatever the file system's own are. */
const BLOCK_BYTES = 512;
/** What descriptors lead to that are no files; they are most of them, and telling by name is cheaper than asking for each. */
const NO_FILE = /^(?:socket:|pipe:|anon_inode:|\/dev\/null$|\/proc\/)/;

const units = readUnits();
const line = Buffer.alloc(4096);

/**
 * The line of a process in /proc, kept open: one reading takes 3 us instead of 20, and once the process is gone it fails, also when the
 * number belongs to another by then.
 */
export class OpenFile {
  readonly #fd: number;
  #isClosed = false;

  /** Throws where there is no such file. */
  constructor(path: string) {
    this.#fd = openSync(path, 'r');
  }

  /** The first 4 KB of the text; undefined when what it tells of is gone. */
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

/** Reads a line of /proc/<pid>/stat (proc(5)); undefined for what is none. */
export function parseStat(text: string): ProcessFigures | undefined {
  // The name of the program, in parentheses, may have spaces and parentheses of its own.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ticks = field(14) + field(15) + field(16) + field(17);
  const figures = {
    cpuMs: (ticks * 1000) / units.ticksPerSecond,
    threads: field(20),
    residentBytes: field(24) * units.pageBytes,
    startedTicks: field(22),
  };
  return Object.values(figures).every(Number.isFinite) ? figures : undefined;
}

export function figuresOf(pid: number | 'self'): ProcessFigures | undefined {
  const text = readLine(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(text);
}

/** How many descriptors the process has open; undefined when it is gone or may not be looked at. */
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
 * What the process holds open; undefined when it is gone or may not be looked at. Memory that is only reachable by a descriptor is in no
 * resident set: a process can hold gigabytes of it and look small.
 *
 * @param seen files that were counted already, by device and number
 * @param most with more descriptors than this they are counted and not looked at
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
    // It was closed since it was listed.
    return 0;
  }
}

/**
 * Memory of the process, of which it has a part of what it shares with others: those of all processes add up to what the machine has lost. Takes some
 * 0.5 ms. Undefined when it is gone or may not be looked at.
 */
export function proportionalBytes(pid: number): number | undefined {
  const [, kilobytes] = /^Pss:\s+(\d+) kB$/m.exec(readLine(`/proc/${pid}/smaps_rollup`) ?? '') ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** Bytes that the process has caused to be written to disks, in all its life; undefined where the system does not tell. */
export function writtenBytes(pid: number): number | undefined {
  const [, bytes] = /^write_bytes: (\d+)$/m.exec(readLine(`/proc/${pid}/io`) ?? '') ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}

/** A text of the kernel; undefined where it is not, or no more. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}

/** The same for texts that are short as a rule, in a third of the time. */
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
 * Changes whenever a process or a thread is started anywhere in this process's namespace: the number that was given last (proc_loadavg(5)).
 * Undefined where the system does not tell.
 */
export function lastStarted(): string | undefined {
  return readLine('/proc/loadavg')?.split(' ')[4];
}

/** The units of the kernel's figures, from what it has told this process at its start (getauxval(3)). */
function readUnits(): { readonly pageBytes: number; readonly ticksPerSecond: number } {
  const told = new Map<number, number>();
  try {
    if (process.arch !== 'arm' && process.arch !== 'ia32') {
      const vector = readFileSync('/proc/self/auxv');
      for (let at = 0; at + 16 <= vector.length; at += 16) {
        told.set(Number(vector.readBigUInt64LE(at)), Number(vector.readBigUInt64LE(at + 8)));
      }
    }
  } catch {
    // No Linux: nothing is read with these units either.
  }
  return { pageBytes: told.get(AT_PAGE_SIZE) ?? 4096, ticksPerSecond: told.get(AT_TICKS_PER_SECOND) ?? 100 };
}
