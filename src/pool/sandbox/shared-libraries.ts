/** The files besides itself that an executable needs to start: its loader, and the libraries that the loader finds. */
import { execFile } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { normalize } from 'node:path';
import { isShortage } from '../../quotas/host/whole-spawn.js';

const LOADER_CACHE = '/etc/ld.so.cache';
const LIST_WITHIN_MS = 5000;
const PT_INTERP = 3;
const MAX_INTERPRETER_BYTES = 4096;
const MAX_PROGRAM_HEADERS = 128;
/** Bytes of the header of a 64-bit ELF file, and of one of its program headers at least. */
const ELF_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;

/**
 * By the paths at which the loader opens them, its own first. The loader itself is asked, as `ldd` does: it knows search paths, caches and the machine's
 * variants. The list is empty for an executable that needs no library. Rejects when it is not a 64-bit little-endian ELF file, or when a library is missing.
 */
export async function sharedLibraries(executable: string): Promise<readonly string[]> {
  const interpreter = interpreterOf(executable);
  return interpreter === undefined ? [] : librariesBy(interpreter, executable);
}

/** As {@link sharedLibraries}, for an addon that an executable with this loader loads. */
export async function librariesBy(interpreter: string, executable: string): Promise<readonly string[]> {
  // Without the cache if possible: it lists every library of the machine.
  for (const [flags, cache] of [
    [['--inhibit-cache', '--list'], []],
    [['--list'], [LOADER_CACHE]],
  ] as const) {
    const libraries = parseList(await list(interpreter, [...flags, executable]));
    // A loader that knows no cache (musl) knows no flag against it.
    if (libraries !== undefined) {
      return [interpreter, ...libraries, ...(interpreter.includes('musl') ? [] : cache)];
    }
  }
  throw new Error(`Cannot find the libraries of ${executable}: its loader ${interpreter} does not list them`);
}

/** The loader that an executable names; undefined when it needs none. Throws when it is not a 64-bit little-endian ELF file. */
export function interpreterOf(executable: string): string | undefined {
  const file = openSync(executable, 'r');
  try {
    const header = readAt(file, 0, ELF_HEADER_BYTES);
    if (header.toString('latin1', 0, 4) !== '\x7fELF' || header[4] !== 2 || header[5] !== 1) {
      throw new Error(`Cannot find the libraries of ${executable}: it is not a 64-bit little-endian ELF file`);
    }
    const offset = Number(header.readBigUInt64LE(32));
    const size = header.readUInt16LE(54);
    const count = Math.min(header.readUInt16LE(56), MAX_PROGRAM_HEADERS);
    for (let index = 0; index < count; index++) {
      const entry = readAt(file, offset + index * size, PROGRAM_HEADER_BYTES);
      if (entry.readUInt32LE(0) !== PT_INTERP) continue;
      const length = Math.min(Number(entry.readBigUInt64LE(32)), MAX_INTERPRETER_BYTES);
      return readAt(file, Number(entry.readBigUInt64LE(8)), length)
        .toString('utf8')
        .replace(/\0.*$/s, '');
    }
    return undefined;
  } finally {
    closeSync(file);
  }
}

function readAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(file, bytes, 0, length, position);
  return bytes;
}

function list(interpreter: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(interpreter, args, { env: {}, timeout: LIST_WITHIN_MS }, (error, stdout) => {
      if (isShortage(error)) reject(error);
      else resolve(error === null ? stdout : '');
    });
  });
}

/** Lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f...)`; undefined when one was not found. */
function parseList(text: string): readonly string[] | undefined {
  if (text === '' || /not found/.test(text)) return undefined;
  return [...text.matchAll(/=> (\/.*) \(0x[0-9a-f]+\)$/gm)].map(([, path = '']) => normalize(path));
}
