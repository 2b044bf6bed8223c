/** The whole content of files. */

import { viewOf } from '../../web/base/buffers.ts';
import { Buffer } from '../buffer/buffer.ts';
import { checkFunction, checkInteger, codeError, invalidArgType } from '../errors.ts';
import { attributeFunctions } from './attributes.ts';
import { descriptorFunctions, isReadable, openPath, readInto, writeFrom } from './descriptors.ts';
import { contentOf, type TreeEntry } from './entries.ts';
import { nameFunctions } from './names.ts';
import { type FileOptions, O, toDescriptor, toFlag, toFlags, toMode, toOptions, tooLarge } from './options.ts';
import { find, toPath, walk } from './paths.ts';
import { currentSpace, type Description, type FileSpace } from './space.ts';
import { systemError } from './system-errors.ts';

const COPYFILE_EXCL = 1;

/** Calls back with the description of a path or of a descriptor; one that it opens is closed again. */
function withFile<T>(
  file: unknown,
  options: FileOptions,
  defaultFlag: string,
  use: (description: Description, space: FileSpace) => T,
): T {
  const space = currentSpace();
  if (Number.isInteger(file))
    return use(space.descriptor(toDescriptor(file), defaultFlag === 'r' ? 'read' : 'write'), space);
  const path = toPath(file);
  const flags = toFlags(options.flag ?? defaultFlag, 'options.flag');
  const fd = openPath(space, path, flags, toMode(options.mode, 'mode', 0o666));
  try {
    return use(space.descriptor(fd, 'open'), space);
  } finally {
    space.close(fd);
  }
}

function readFile(file: unknown, options?: unknown): unknown {
  const given = toOptions(options);
  const bytes = withFile(file, given, 'r', readAll);
  const { encoding } = given;
  return encoding === undefined || encoding === null || encoding === 'buffer' ? bytes : bytes.toString(encoding);
}

function readAll(description: Description): Uint8Array & { toString(encoding?: unknown): string } {
  const { entry, path, position } = description;
  if (entry.kind === 'device' && entry.name !== 'null') throw tooLarge(path);
  if (!isReadable(description)) throw systemError('EBADF', 'read');
  const size = entry.kind === 'file' ? entry.size : 0;
  const bytes = Buffer.alloc(Math.max(0, size - position));
  readInto(description, bytes, undefined);
  return bytes;
}

export function bytesOfData(data: unknown, encoding: unknown): Uint8Array {
  if (typeof data === 'string') return Buffer.from(data, encoding ?? 'utf8');
  if (!ArrayBuffer.isView(data)) throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  return viewOf(data);
}

function writeFile(file: unknown, data: unknown, options?: unknown): void {
  const given = toOptions(options);
  const bytes = bytesOfData(data, given.encoding);
  withFile(file, given, 'w', (description, space) => void writeFrom(space, description, bytes, undefined));
}

function appendFile(file: unknown, data: unknown, options?: unknown): void {
  writeFile(file, data, { flag: 'a', ...toOptions(options) });
}

function truncate(path: unknown, length: unknown = 0): void {
  checkInteger(length, 'len');
  const space = currentSpace();
  const fd = openPath(space, toPath(path), O.RDWR, 0);
  try {
    descriptorFunctions.ftruncate(fd, length);
  } finally {
    space.close(fd);
  }
}

function copyFile(from: unknown, to: unknown, mode: unknown = 0): void {
  const source = toPath(from, 'src');
  const target = toPath(to, 'dest');
  checkInteger(mode, 'mode', 0, 7);
  const space = currentSpace();
  const fail = (code: Parameters<typeof systemError>[0]): Error => systemError(code, 'copyfile', source, target);
  const { entry } = walk(space, source, true, 'copyfile', target);
  if (entry === undefined) throw fail('ENOENT');
  if (entry.kind === 'directory') throw fail('EISDIR');
  const found = walk(space, target, true, 'copyfile', target);
  if (found.entry === entry) return;
  if (found.entry !== undefined && (mode & COPYFILE_EXCL) !== 0) throw fail('EEXIST');
  if (entry.kind === 'device' && entry.name !== 'null') throw tooLarge(source);
  const bytes = entry.kind === 'file' ? contentOf(entry) : new Uint8Array(0);
  const fd = openPath(space, target, O.WRONLY | O.CREAT | O.TRUNC, entry.mode);
  try {
    writeFrom(space, space.descriptor(fd, 'copyfile'), bytes, undefined);
  } finally {
    space.close(fd);
  }
}

interface Copy {
  readonly isRecursive: boolean;
  readonly isForced: boolean;
  readonly failsIfExists: boolean;
  readonly followsLinks: boolean;
  readonly keepsTimes: boolean;
  filter(from: string, to: string): unknown;
}

function cp(from: unknown, to: unknown, options?: unknown): void {
  const given = toOptions(options);
  const source = toPath(from, 'src');
  const target = toPath(to, 'dest');
  const { filter = () => true } = given;
  checkFunction(filter, 'options.filter');
  const copy: Copy = {
    isRecursive: toFlag(given.recursive, 'options.recursive'),
    isForced: toFlag(given.force ?? true, 'options.force'),
    failsIfExists: toFlag(given.errorOnExist, 'options.errorOnExist'),
    followsLinks: toFlag(given.dereference, 'options.dereference'),
    keepsTimes: toFlag(given.preserveTimestamps, 'options.preserveTimestamps'),
    filter: filter as Copy['filter'], // checked as far as it can be
  };
  const space = currentSpace();
  const real = `${walk(space, source, true, 'cp').real}/`;
  if (`${walk(space, target, true, 'cp').real}/`.startsWith(real)) {
    throw copyError('ERR_FS_CP_EINVAL', `cannot copy ${source} to a subdirectory of self ${target}`, target);
  }
  copyEntry(source, target, find(space, source, copy.followsLinks, 'cp'), copy);
}

function copyError(code: string, message: string, path: string): Error {
  return Object.assign(codeError(Error, code, `Invalid src or dest: cp returned ${message}`), { syscall: 'cp', path });
}

function copyEntry(from: string, to: string, entry: TreeEntry, copy: Copy): void {
  if (!copy.filter(from, to)) return;
  const space = currentSpace();
  const existing = walk(space, to, false, 'cp').entry;
  if (entry.kind === 'directory') {
    if (!copy.isRecursive) {
      throw copyError('ERR_FS_EISDIR', `EISDIR (Recursive option not enabled, cannot copy a directory: ${from})`, from);
    }
    if (existing !== undefined && existing.kind !== 'directory') {
      throw copyError(
        'ERR_FS_CP_DIR_TO_NON_DIR',
        `EISDIR (cannot overwrite non-directory ${to} with directory ${from})`,
        to,
      );
    }
    nameFunctions.mkdir(to, { recursive: true });
    for (const [name, inner] of entry.entries) {
      const path = `${from}/${name}`;
      copyEntry(path, `${to}/${name}`, copy.followsLinks ? find(space, path, true, 'cp') : inner, copy);
    }
    return;
  }
  if (existing?.kind === 'directory') {
    throw copyError(
      'ERR_FS_CP_NON_DIR_TO_DIR',
      `ENOTDIR (cannot overwrite directory ${to} with non-directory ${from})`,
      to,
    );
  }
  if (existing !== undefined && !copy.isForced) {
    if (copy.failsIfExists) throw copyError('ERR_FS_CP_EEXIST', `EEXIST (${to} already exists)`, to);
    return;
  }
  if (entry.kind === 'link') {
    if (existing !== undefined) nameFunctions.unlink(to);
    nameFunctions.symlink(entry.target, to);
    return;
  }
  copyFile(from, to);
  if (copy.keepsTimes) attributeFunctions.utimes(to, entry.atimeMs / 1000, entry.mtimeMs / 1000);
}

export const contentFunctions = { appendFile, copyFile, cp, readFile, truncate, writeFile };
