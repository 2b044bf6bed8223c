/** The attributes of entries: stat() and what changes them. */
import { wallNow } from '../../web/base/clock.ts';
import { checkInteger } from '../errors.ts';
import type { TreeEntry } from './entries.ts';
import { toMode, toOptions, toTime } from './options.ts';
import { find, toPath } from './paths.ts';
import { currentSpace } from './space.ts';
import { type Stats, statsOf } from './stats.ts';
import { systemError } from './system-errors.ts';

const W_OK = 2;
const X_OK = 1;

function statAt(path: unknown, options: unknown, follows: boolean): Stats | undefined {
  const given = toOptions(options);
  const text = toPath(path);
  const syscall = follows ? 'stat' : 'lstat';
  try {
    return statsOf(find(currentSpace(), text, follows, syscall), given.bigint === true);
  } catch (error) {
    const { code } = error as { code?: unknown }; // read as unknown
    if (given.throwIfNoEntry === false && (code === 'ENOENT' || code === 'ENOTDIR')) return undefined;
    throw error;
  }
}

function stat(path: unknown, options?: unknown): Stats | undefined {
  return statAt(path, options, true);
}

function lstat(path: unknown, options?: unknown): Stats | undefined {
  return statAt(path, options, false);
}

export function canWrite(entry: TreeEntry): boolean {
  if (entry.kind === 'file') return entry.module === undefined;
  return entry.kind === 'directory' ? entry.isWritable : true;
}

function access(path: unknown, mode: unknown = 0): void {
  const text = toPath(path);
  checkInteger(mode, 'mode', 0, 7);
  const entry = find(currentSpace(), text, true, 'access');
  const isRefused =
    ((mode & W_OK) !== 0 && !canWrite(entry)) ||
    ((mode & X_OK) !== 0 && entry.kind !== 'directory' && (entry.mode & 0o111) === 0);
  if (isRefused) throw systemError('EACCES', 'access', text);
}

function exists(path: unknown): boolean {
  try {
    access(path);
    return true;
  } catch {
    return false;
  }
}

function change(path: unknown, follows: boolean, syscall: string, values: object): void {
  const text = toPath(path);
  const entry = find(currentSpace(), text, follows, syscall);
  if (!canWrite(entry) || entry.kind === 'device') throw systemError('EPERM', syscall, text);
  Object.assign(entry, values, { ctimeMs: wallNow() });
}

function chmod(path: unknown, mode: unknown): void {
  change(path, true, 'chmod', { mode: toMode(mode, 'mode', 0) });
}

function owner(uid: unknown, gid: unknown): object {
  checkInteger(uid, 'uid', -1, 2 ** 32 - 1);
  checkInteger(gid, 'gid', -1, 2 ** 32 - 1);
  return { uid, gid };
}

function chown(path: unknown, uid: unknown, gid: unknown): void {
  change(path, true, 'chown', owner(uid, gid));
}

function lchown(path: unknown, uid: unknown, gid: unknown): void {
  change(path, false, 'lchown', owner(uid, gid));
}

function utimes(path: unknown, atime: unknown, mtime: unknown): void {
  change(path, true, 'utime', { atimeMs: toTime(atime), mtimeMs: toTime(mtime) });
}

function lutimes(path: unknown, atime: unknown, mtime: unknown): void {
  change(path, false, 'lutime', { atimeMs: toTime(atime), mtimeMs: toTime(mtime) });
}

export const attributeFunctions = { access, chmod, chown, exists, lchown, lstat, lutimes, stat, utimes };
