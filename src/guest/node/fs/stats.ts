/** Stats and Dirent: the facts about an entry that stat() and readdir() answer. @see https://nodejs.org/api/fs.html#class-fsstats */
import type { TreeEntry } from './entries.ts';

const S_IFMT = 0o170000;
const TYPES = { file: 0o100000, directory: 0o040000, link: 0o120000, device: 0o020000 } as const;
const BLOCK_BYTES = 4096;
const SECTOR_BYTES = 512;

type Numeric = number | bigint;

class StatsBase {
  declare readonly mode: Numeric;

  isDirectory(): boolean {
    return this.#is(TYPES.directory);
  }

  isFile(): boolean {
    return this.#is(TYPES.file);
  }

  isBlockDevice(): boolean {
    return this.#is(0o060000);
  }

  isCharacterDevice(): boolean {
    return this.#is(TYPES.device);
  }

  isSymbolicLink(): boolean {
    return this.#is(TYPES.link);
  }

  isFIFO(): boolean {
    return this.#is(0o010000);
  }

  isSocket(): boolean {
    return this.#is(0o140000);
  }

  #is(type: number): boolean {
    return (Number(this.mode) & S_IFMT) === type;
  }
}

export class Stats extends StatsBase {}
export class BigIntStats extends StatsBase {}

function sizeOf(entry: TreeEntry): number {
  if (entry.kind === 'file') return entry.size;
  return entry.kind === 'link' ? entry.target.length : 0;
}

export function statsOf(entry: TreeEntry, isBig: boolean): Stats {
  const size = sizeOf(entry);
  const numbers = {
    dev: 1,
    mode: entry.mode | TYPES[entry.kind],
    nlink: entry.links,
    uid: entry.uid,
    gid: entry.gid,
    rdev: entry.kind === 'device' ? entry.ino : 0,
    blksize: BLOCK_BYTES,
    ino: entry.ino,
    size,
    blocks: Math.ceil(size / BLOCK_BYTES) * (BLOCK_BYTES / SECTOR_BYTES),
    atimeMs: entry.atimeMs,
    mtimeMs: entry.mtimeMs,
    ctimeMs: entry.ctimeMs,
    birthtimeMs: entry.birthtimeMs,
  };
  const dates = {
    atime: new Date(entry.atimeMs),
    mtime: new Date(entry.mtimeMs),
    ctime: new Date(entry.ctimeMs),
    birthtime: new Date(entry.birthtimeMs),
  };
  if (!isBig) return Object.assign(new Stats(), numbers, dates);
  const big = Object.entries(numbers).map(([name, value]) => [name, BigInt(Math.trunc(value))] as const);
  const nanoseconds = ['atime', 'mtime', 'ctime', 'birthtime'].map(
    name => [`${name}Ns`, BigInt(Math.trunc(numbers[`${name}Ms` as keyof typeof numbers])) * 1_000_000n] as const, // a name above
  );
  return Object.assign(new BigIntStats(), Object.fromEntries(big), Object.fromEntries(nanoseconds), dates);
}

export class Dirent {
  readonly name: unknown;
  readonly parentPath: string;
  readonly path: string;
  readonly #kind: TreeEntry['kind'];

  constructor(name: unknown, parentPath: string, kind: TreeEntry['kind']) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    this.#kind = kind;
  }

  isDirectory(): boolean {
    return this.#kind === 'directory';
  }

  isFile(): boolean {
    return this.#kind === 'file';
  }

  isCharacterDevice(): boolean {
    return this.#kind === 'device';
  }

  isSymbolicLink(): boolean {
    return this.#kind === 'link';
  }

  isBlockDevice(): boolean {
    return this.#isNever();
  }

  isFIFO(): boolean {
    return this.#isNever();
  }

  isSocket(): boolean {
    return this.#isNever();
  }

  #isNever(): boolean {
    return (this.#kind as string) === ''; // there are no such entries
  }
}
