/** Functions that change or read the names of a directory. */
import { wallNow } from '../../web/base/clock.ts';
import { Buffer } from '../buffer/buffer.ts';
import { codeError } from '../errors.ts';
import { type DirectoryEntry, newDirectory, newLink, type TreeEntry } from './entries.ts';
import { type FileOptions, toFlag, toMode, toOptions, toText } from './options.ts';
import { type Found, find, MAX_PATH, toPath, walk, writableParent } from './paths.ts';
import { currentSpace, type FileSpace } from './space.ts';
import { Dirent } from './stats.ts';
import { systemError } from './system-errors.ts';

const UMASK = 0o022;

export function add(
  space: FileSpace,
  found: Found,
  entry: TreeEntry,
  syscall: string,
  path: string,
  dest?: string,
): void {
  const parent = writableParent(found, syscall, path, dest);
  space.chargeName(found.name, entry, syscall, path);
  parent.entries.set(found.name, entry);
  parent.mtimeMs = wallNow();
}

function remove(space: FileSpace, found: Found, entry: TreeEntry, syscall: string, path: string): void {
  const parent = writableParent(found, syscall, path);
  parent.entries.delete(found.name);
  parent.mtimeMs = wallNow();
  if (entry.kind === 'directory') dropTree(space, entry);
  space.dropped(entry, found.name);
}

function dropTree(space: FileSpace, directory: DirectoryEntry): void {
  for (const [name, entry] of directory.entries) {
    if (entry.kind === 'directory') dropTree(space, entry);
    space.dropped(entry, name);
  }
  directory.entries.clear();
}

function mkdir(path: unknown, options?: unknown): string | undefined {
  const text = toPath(path);
  const given: FileOptions = typeof options === 'object' && options !== null ? { ...options } : { mode: options };
  const isRecursive = toFlag(given.recursive, 'options.recursive');
  const mode = toMode(given.mode, 'mode', 0o777) & ~UMASK;
  const space = currentSpace();
  if (!isRecursive) {
    const found = walk(space, text, false, 'mkdir');
    if (found.entry !== undefined) throw systemError('EEXIST', 'mkdir', text);
    add(space, found, newDirectory(mode), 'mkdir', text);
    return undefined;
  }
  let first: string | undefined;
  const parts = text.split('/');
  for (let length = 1; length <= parts.length; length++) {
    const part = parts.slice(0, length).join('/');
    if (part === '' || part.endsWith('/')) continue;
    const found = walk(space, part, true, 'mkdir');
    if (found.entry?.kind === 'directory') continue;
    if (found.entry !== undefined) throw systemError(length === parts.length ? 'EEXIST' : 'ENOTDIR', 'mkdir', text);
    add(space, found, newDirectory(mode), 'mkdir', text);
    first ??= part;
  }
  return first;
}

function mkdtemp(prefix: unknown, options?: unknown): unknown {
  const text = toPath(prefix, 'prefix');
  const { encoding } = toOptions(options);
  const letters = Array.from({ length: 6 }, () => Math.trunc(Math.random() * 36).toString(36)).join('');
  const space = currentSpace();
  const path = text + letters;
  const found = walk(space, path, false, 'mkdtemp');
  if (found.entry !== undefined) throw systemError('EEXIST', 'mkdtemp', path);
  add(space, found, newDirectory(0o700), 'mkdtemp', path);
  return named(path, encoding);
}

/** A name in the encoding that the caller asked for. */
function named(name: string, encoding: unknown): unknown {
  if (encoding === undefined || encoding === null || encoding === 'utf8') return name;
  const bytes = Buffer.from(name);
  return encoding === 'buffer' ? bytes : bytes.toString(encoding);
}

function directoryAt(space: FileSpace, path: string, syscall: string): DirectoryEntry {
  const entry = find(space, path, true, syscall);
  if (entry.kind !== 'directory') throw systemError('ENOTDIR', syscall, path);
  return entry;
}

function sorted(directory: DirectoryEntry): [name: string, entry: TreeEntry][] {
  return [...directory.entries].sort(([a], [b]) => (a < b ? -1 : 1));
}

function readdir(path: unknown, options?: unknown): unknown[] {
  const given = toOptions(options);
  const text = toPath(path);
  const isRecursive = toFlag(given.recursive, 'options.recursive');
  const top = directoryAt(currentSpace(), text, 'scandir');
  const result: unknown[] = [];
  const open: { readonly directory: DirectoryEntry; readonly prefix: string; readonly path: string }[] = [
    { directory: top, prefix: '', path: text },
  ];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    for (const [name, entry] of sorted(next.directory)) {
      const inner = `${next.prefix}${name}`;
      if (given.withFileTypes) result.push(new Dirent(named(name, given.encoding), next.path, entry.kind));
      else result.push(named(inner, given.encoding));
      if (isRecursive && entry.kind === 'directory') {
        open.push({ directory: entry, prefix: `${inner}/`, path: `${next.path}/${name}`.replaceAll('//', '/') });
      }
    }
  }
  return result;
}

function rmdir(path: unknown, options?: unknown): void {
  const text = toPath(path);
  const isRecursive = toFlag(toOptions(options).recursive, 'options.recursive');
  const space = currentSpace();
  const found = walk(space, text, false, 'rmdir');
  const { entry } = found;
  if (entry === undefined) throw systemError('ENOENT', 'rmdir', text);
  if (entry.kind !== 'directory') throw systemError('ENOTDIR', 'rmdir', text);
  writableParent(found, 'rmdir', text);
  if (entry.entries.size > 0 && !isRecursive) throw systemError('ENOTEMPTY', 'rmdir', text);
  remove(space, found, entry, 'rmdir', text);
}

function rm(path: unknown, options?: unknown): void {
  const text = toPath(path);
  const given = toOptions(options);
  const isForced = toFlag(given.force, 'options.force');
  const isRecursive = toFlag(given.recursive, 'options.recursive');
  const space = currentSpace();
  let found: Found;
  try {
    found = walk(space, text, false, 'rm');
    if (found.entry === undefined) throw systemError('ENOENT', 'rm', text);
  } catch (error) {
    if (isForced && (error as { code?: unknown }).code === 'ENOENT') return; // read as unknown
    throw error;
  }
  const { entry } = found;
  if (entry.kind === 'directory' && !isRecursive) {
    const message = `Path is a directory: rm returned EISDIR (is a directory) ${text}`;
    throw Object.assign(codeError(Error, 'ERR_FS_EISDIR', message), { syscall: 'rm', errno: 21, path: text });
  }
  remove(space, found, entry, 'rm', text);
}

function unlink(path: unknown): void {
  const text = toPath(path);
  const space = currentSpace();
  const found = walk(space, text, false, 'unlink');
  if (found.entry === undefined) throw systemError('ENOENT', 'unlink', text);
  writableParent(found, 'unlink', text);
  if (found.entry.kind === 'directory') throw systemError('EISDIR', 'unlink', text);
  remove(space, found, found.entry, 'unlink', text);
}

function contains(directory: DirectoryEntry, entry: TreeEntry): boolean {
  if (directory === entry) return true;
  for (const inner of directory.entries.values()) if (inner.kind === 'directory' && contains(inner, entry)) return true;
  return false;
}

function rename(from: unknown, to: unknown): void {
  const source = toPath(from, 'oldPath');
  const target = toPath(to, 'newPath');
  const space = currentSpace();
  const fail = (code: Parameters<typeof systemError>[0]): Error => systemError(code, 'rename', source, target);
  const found = walk(space, source, false, 'rename', target);
  const { entry } = found;
  if (entry === undefined) throw fail('ENOENT');
  const place = walk(space, target, false, 'rename', target);
  const parent = writableParent(found, 'rename', source, target);
  const into = writableParent(place, 'rename', source, target);
  if (place.entry === entry) return;
  if (entry.kind === 'directory' && contains(entry, into)) throw fail('EINVAL');
  if (place.entry !== undefined) {
    if (place.entry.kind === 'directory' && entry.kind !== 'directory') throw fail('EISDIR');
    if (place.entry.kind !== 'directory' && entry.kind === 'directory') throw fail('ENOTDIR');
    if (place.entry.kind === 'directory' && place.entry.entries.size > 0) throw fail('ENOTEMPTY');
  }
  // Before anything is lost.
  space.chargeName(place.name, entry, 'rename', source);
  if (place.entry !== undefined) remove(space, place, place.entry, 'rename', target);
  into.entries.set(place.name, entry);
  entry.links++;
  parent.entries.delete(found.name);
  space.dropped(entry, found.name);
}

function link(existing: unknown, path: unknown): void {
  const source = toPath(existing, 'existingPath');
  const target = toPath(path, 'newPath');
  const space = currentSpace();
  const { entry } = walk(space, source, false, 'link', target);
  if (entry === undefined) throw systemError('ENOENT', 'link', source, target);
  const found = walk(space, target, false, 'link', target);
  if (found.entry !== undefined) throw systemError('EEXIST', 'link', source, target);
  // A file of the bundle belongs to all invocations.
  if (entry.kind !== 'file' || entry.module !== undefined) throw systemError('EPERM', 'link', source, target);
  add(space, found, entry, 'link', source, target);
  entry.links++;
}

function symlink(target: unknown, path: unknown, type?: unknown): void {
  if (type !== undefined && type !== null) toText(type, 'type');
  const goal = toPath(target, 'target');
  const text = toPath(path);
  if (goal === '') throw systemError('ENOENT', 'symlink', goal, text);
  if (goal.length > MAX_PATH) throw systemError('ENAMETOOLONG', 'symlink', goal, text);
  const space = currentSpace();
  const found = walk(space, text, false, 'symlink');
  if (found.entry !== undefined) throw systemError('EEXIST', 'symlink', goal, text);
  add(space, found, newLink(goal), 'symlink', goal, text);
}

function readlink(path: unknown, options?: unknown): unknown {
  const { encoding } = toOptions(options);
  const text = toPath(path);
  const entry = find(currentSpace(), text, false, 'readlink');
  if (entry.kind !== 'link') throw systemError('EINVAL', 'readlink', text);
  return named(entry.target, encoding);
}

function realpath(path: unknown, options?: unknown): unknown {
  const { encoding } = toOptions(options);
  const text = toPath(path);
  const { entry, real } = walk(currentSpace(), text, true, 'lstat');
  if (entry === undefined) throw systemError('ENOENT', 'lstat', text);
  return named(real, encoding);
}

export const nameFunctions = {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  realpath,
  rename,
  rm,
  rmdir,
  symlink,
  unlink,
};
