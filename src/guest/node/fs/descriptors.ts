/** Open files: reading and writing by their descriptors. */
import { Op } from '../../../isolate/ops/table.ts';
import { op } from '../../bridge.ts';
import { viewOf } from '../../web/base/buffers.ts';
import { wallNow } from '../../web/base/clock.ts';
import { Buffer } from '../buffer/buffer.ts';
import { checkInteger, checkObject, invalidArgType, outOfRange } from '../errors.ts';
import { contentOf, newFile, type TreeEntry } from './entries.ts';
import { O, toDescriptor, toFlags, toMode, toPosition, toTime } from './options.ts';
import { toPath, walk, writableParent } from './paths.ts';
import { currentSpace, type Description, type FileSpace } from './space.ts';
import { type Stats, statsOf } from './stats.ts';
import { systemError } from './system-errors.ts';

const UMASK = 0o022;
/** Random bytes that the host gives at once. */
const MAX_RANDOM = 65_536;
const ACCESS_MODE = 3;

export function isReadable({ flags }: Description): boolean {
  return (flags & ACCESS_MODE) !== O.WRONLY;
}

function isWritable({ flags }: Description): boolean {
  return (flags & ACCESS_MODE) !== O.RDONLY;
}

export function openPath(space: FileSpace, path: string, flags: number, mode: number): number {
  const isNew = (flags & O.CREAT) !== 0 && (flags & O.EXCL) !== 0;
  const found = walk(space, path, (flags & O.NOFOLLOW) === 0 && !isNew, 'open');
  let { entry } = found;
  const writes = (flags & ACCESS_MODE) !== O.RDONLY;
  if (entry === undefined) {
    if ((flags & O.CREAT) === 0) throw systemError('ENOENT', 'open', path);
    if (found.isDirectory) throw systemError('EISDIR', 'open', path);
    const parent = writableParent(found, 'open', path);
    entry = newFile(mode & ~UMASK);
    space.chargeName(found.name, entry, 'open', path);
    parent.entries.set(found.name, entry);
    parent.mtimeMs = entry.mtimeMs;
  } else if (isNew) throw systemError('EEXIST', 'open', path);
  else if (entry.kind === 'link') throw systemError('ELOOP', 'open', path);
  else if (entry.kind === 'directory' && (writes || (flags & O.CREAT) !== 0)) throw systemError('EISDIR', 'open', path);
  else if (entry.kind !== 'directory' && (flags & O.DIRECTORY) !== 0) throw systemError('ENOTDIR', 'open', path);
  else if (writes && entry.kind === 'file' && entry.module !== undefined) throw systemError('EPERM', 'open', path);
  const module = entry.kind === 'file' && entry.module !== undefined ? contentOf(entry) : undefined;
  const fd = space.open({ entry, path, flags, position: 0, module });
  if ((flags & O.TRUNC) !== 0 && writes && entry.kind === 'file') {
    space.resize(entry, 0, 'open', path);
    entry.mtimeMs = wallNow();
  }
  return fd;
}

function fillFromDevice(entry: TreeEntry, target: Uint8Array): number {
  if (entry.kind !== 'device' || entry.name === 'null') return 0;
  if (entry.name !== 'random') target.fill(0);
  else {
    for (let at = 0; at < target.length; at += MAX_RANDOM) op(Op.Random, target.subarray(at, at + MAX_RANDOM));
  }
  return target.length;
}

/** Undefined as the position: the one of the description, which moves on. */
export function readInto(description: Description, target: Uint8Array, position: number | undefined): number {
  const { entry } = description;
  if (!isReadable(description)) throw systemError('EBADF', 'read');
  if (entry.kind === 'directory') throw systemError('EISDIR', 'read');
  if (entry.kind !== 'file') return fillFromDevice(entry, target);
  const content = description.module ?? contentOf(entry);
  const from = position ?? description.position;
  const part = content.subarray(from, from + target.length);
  target.set(part);
  if (position === undefined) description.position = from + part.length;
  return part.length;
}

export function writeFrom(
  space: FileSpace,
  description: Description,
  bytes: Uint8Array,
  position: number | undefined,
): number {
  const { entry } = description;
  if (!isWritable(description)) throw systemError('EBADF', 'write');
  if (entry.kind === 'device' && entry.name === 'full' && bytes.length > 0) throw systemError('ENOSPC', 'write');
  if (entry.kind !== 'file') return bytes.length;
  const appends = (description.flags & O.APPEND) !== 0;
  const from = appends ? entry.size : (position ?? description.position);
  const end = from + bytes.length;
  if (bytes.length > 0 && end > entry.size) space.resize(entry, end, 'write');
  entry.bytes.set(bytes, bytes.length > 0 ? from : 0);
  entry.mtimeMs = wallNow();
  if (position === undefined || appends) description.position = end;
  return bytes.length;
}

function open(path: unknown, flags?: unknown, mode?: unknown): number {
  return openPath(currentSpace(), toPath(path), toFlags(flags), toMode(mode, 'mode', 0o666));
}

function close(fd: unknown): void {
  currentSpace().close(toDescriptor(fd));
}

interface Part {
  readonly bytes: Uint8Array;
  readonly position: number | undefined;
}

/** The part of a view that is read or written: by an offset and a length, or by options. */
function partOf(view: unknown, given: unknown, length: unknown, position: unknown): Part {
  if (!ArrayBuffer.isView(view)) throw invalidArgType('buffer', ['Buffer', 'TypedArray', 'DataView'], view);
  const bytes = viewOf(view);
  let offset = given;
  let size = length;
  let at = position;
  if (typeof given === 'object' && given !== null) {
    ({ offset, length: size, position: at } = given as { offset?: unknown; length?: unknown; position?: unknown }); // checked below
  }
  const start = offset ?? 0;
  checkInteger(start, 'offset', 0);
  if (start > bytes.length) throw outOfRange('offset', `<= ${bytes.length}`, start);
  const count = size ?? bytes.length - start;
  checkInteger(count, 'length');
  if (count < 0) throw outOfRange('length', '>= 0', count);
  if (count > bytes.length - start) throw outOfRange('length', `<= ${bytes.length - start}`, count);
  return { bytes: bytes.subarray(start, start + count), position: toPosition(at) };
}

/** The bytes alone, of which callers also want the buffer. */
function read(fd: unknown, buffer: unknown, offset?: unknown, length?: unknown, position?: unknown): number {
  const space = currentSpace();
  const number = toDescriptor(fd);
  const part = partOf(buffer, offset, length, position);
  return readInto(space.descriptor(number, 'read'), part.bytes, part.position);
}

function write(fd: unknown, data: unknown, offset?: unknown, length?: unknown, position?: unknown): number {
  const space = currentSpace();
  const number = toDescriptor(fd);
  if (typeof data === 'string') {
    // (fd, text, position, encoding)
    const text = Buffer.from(data, length);
    return writeFrom(space, space.descriptor(number, 'write'), text, toPosition(offset));
  }
  const part = partOf(data, offset, length, position);
  return writeFrom(space, space.descriptor(number, 'write'), part.bytes, part.position);
}

function eachView(buffers: unknown): readonly Uint8Array[] {
  if (!Array.isArray(buffers) || !buffers.every(ArrayBuffer.isView)) {
    throw invalidArgType('buffers', 'ArrayBufferView[]', buffers);
  }
  return buffers.map(view => viewOf(view as Uint8Array)); // checked above
}

function readv(fd: unknown, buffers: unknown, position?: unknown): number {
  const description = currentSpace().descriptor(toDescriptor(fd), 'read');
  let at = toPosition(position);
  let total = 0;
  for (const view of eachView(buffers)) {
    const count = readInto(description, view, at);
    total += count;
    if (at !== undefined) at += count;
    if (count < view.length) break;
  }
  return total;
}

function writev(fd: unknown, buffers: unknown, position?: unknown): number {
  const space = currentSpace();
  const description = space.descriptor(toDescriptor(fd), 'write');
  let at = toPosition(position);
  let total = 0;
  for (const view of eachView(buffers)) {
    const count = writeFrom(space, description, view, at);
    total += count;
    if (at !== undefined) at += count;
  }
  return total;
}

function fstat(fd: unknown, options?: unknown): Stats {
  if (options !== undefined) checkObject(options, 'options');
  const { entry } = currentSpace().descriptor(toDescriptor(fd), 'fstat');
  return statsOf(entry, (options as { bigint?: unknown } | undefined)?.bigint === true); // read as unknown
}

function ftruncate(fd: unknown, length: unknown = 0): void {
  const space = currentSpace();
  const number = toDescriptor(fd);
  checkInteger(length, 'len');
  const description = space.descriptor(number, 'ftruncate');
  if (!isWritable(description) || description.entry.kind !== 'file') throw systemError('EINVAL', 'ftruncate');
  space.resize(description.entry, Math.max(0, length), 'ftruncate');
  description.entry.mtimeMs = wallNow();
}

/** Nothing is kept anywhere else, so all is written at once. */
function fsync(fd: unknown): void {
  currentSpace().descriptor(toDescriptor(fd), 'fsync');
}

function fdatasync(fd: unknown): void {
  currentSpace().descriptor(toDescriptor(fd), 'fdatasync');
}

function changeable(fd: unknown, syscall: string): TreeEntry {
  const { entry, path } = currentSpace().descriptor(toDescriptor(fd), syscall);
  if (entry.kind === 'device' || (entry.kind === 'file' && entry.module !== undefined)) {
    throw systemError('EPERM', syscall, path);
  }
  if (entry.kind === 'directory' && !entry.isWritable) throw systemError('EPERM', syscall, path);
  return entry;
}

function futimes(fd: unknown, atime: unknown, mtime: unknown): void {
  const times = { atimeMs: toTime(atime), mtimeMs: toTime(mtime) };
  Object.assign(changeable(fd, 'futime'), times);
}

function fchmod(fd: unknown, mode: unknown): void {
  const permissions = toMode(mode, 'mode', 0);
  changeable(fd, 'fchmod').mode = permissions;
}

function fchown(fd: unknown, uid: unknown, gid: unknown): void {
  checkInteger(uid, 'uid', -1, 2 ** 32 - 1);
  checkInteger(gid, 'gid', -1, 2 ** 32 - 1);
  Object.assign(changeable(fd, 'fchown'), { uid, gid });
}

export const descriptorFunctions = {
  close,
  fchmod,
  fchown,
  fdatasync,
  fstat,
  fsync,
  ftruncate,
  futimes,
  open,
  read,
  readv,
  write,
  writev,
};
