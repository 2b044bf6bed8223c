/**
 * The files of one invocation: /tmp and the open descriptors. They are gone with it. They are arrays in the memory of the isolate, which its meter counts, and
 * the bounds here keep one invocation from filling it.
 */
import { currentInvocation } from '../../events/invocation.ts';
import { type DirectoryEntry, type FileEntry, newRoot, type TreeEntry } from './entries.ts';
import { systemError } from './system-errors.ts';

/** The content of files, and the cost of entries. */
export const MAX_TMP_BYTES = 64 * 1024 * 1024;
export const MAX_DESCRIPTORS = 1024;
/** Each name costs so much beside its text. */
const ENTRY_BYTES = 512;
const MIN_ROOM = 256;

/** An open file. */
export interface Description {
  readonly entry: TreeEntry;
  readonly path: string;
  readonly flags: number;
  position: number;
  /** The content of a module, read when it was opened. */
  readonly module: Uint8Array | undefined;
}

export class FileSpace {
  readonly root: DirectoryEntry = newRoot();
  readonly #descriptors = new Map<number, Description>();
  #usedBytes = 0;

  /** @throws ENOSPC before the bytes are held */
  #charge(bytes: number, syscall: string, path?: string): void {
    if (this.#usedBytes + bytes > MAX_TMP_BYTES) throw systemError('ENOSPC', syscall, path);
    this.#usedBytes += bytes;
  }

  /** A name of an entry, for a directory of this space. */
  chargeName(name: string, entry: TreeEntry, syscall: string, path: string): void {
    this.#charge(costOf(name, entry), syscall, path);
  }

  /** The entry has lost a name. */
  dropped(entry: TreeEntry, name: string): void {
    this.#usedBytes -= costOf(name, entry);
    entry.links--;
    this.#release(entry);
  }

  /** The bytes of a file without names stay while it is open. */
  #release(entry: TreeEntry): void {
    if (entry.kind !== 'file' || entry.module !== undefined || entry.links > 0 || entry.opens > 0) return;
    this.#usedBytes -= entry.bytes.length;
    entry.bytes = new Uint8Array(0);
    entry.size = 0;
  }

  /** Makes a file longer or shorter. New bytes are zero. */
  resize(file: FileEntry, size: number, syscall: string, path?: string): void {
    const before = file.bytes;
    if (size > before.length) {
      const room = Math.max(size, Math.min(2 * before.length, before.length + MAX_TMP_BYTES / 8), MIN_ROOM);
      this.#move(file, this.#fits(room - before.length) ? room : size, syscall, path);
    } else if (size < before.length / 2) this.#move(file, size, syscall, path);
    else if (size < file.size) before.fill(0, size, file.size);
    file.size = size;
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes + bytes <= MAX_TMP_BYTES;
  }

  #move(file: FileEntry, room: number, syscall: string, path: string | undefined): void {
    const before = file.bytes;
    this.#charge(room - before.length, syscall, path);
    const bytes = new Uint8Array(room);
    bytes.set(before.subarray(0, Math.min(file.size, room)));
    file.bytes = bytes;
  }

  /** Numbers are never used again: one that another invocation has kept means nothing here. */
  open(description: Description): number {
    if (this.#descriptors.size >= MAX_DESCRIPTORS) throw systemError('EMFILE', 'open', description.path);
    const fd = nextDescriptor++;
    this.#descriptors.set(fd, description);
    description.entry.opens++;
    return fd;
  }

  descriptor(fd: number, syscall: string): Description {
    const description = this.#descriptors.get(fd);
    if (description === undefined) throw systemError('EBADF', syscall);
    return description;
  }

  close(fd: number): void {
    const { entry } = this.descriptor(fd, 'close');
    this.#descriptors.delete(fd);
    entry.opens--;
    this.#release(entry);
  }
}

function costOf(name: string, entry: TreeEntry): number {
  const targetLength = entry.kind === 'link' ? entry.target.length : 0;
  return ENTRY_BYTES + 2 * (name.length + targetLength);
}

let nextDescriptor = 3;

const spaces = new WeakMap<object, FileSpace>();
/** For code that runs before the first event. */
const outside = {};

/** The files of the invocation whose code runs now. */
export function currentSpace(): FileSpace {
  const owner: object = currentInvocation() ?? outside;
  let space = spaces.get(owner);
  if (space === undefined) {
    space = new FileSpace();
    spaces.set(owner, space);
  }
  return space;
}
