/** Paths of Windows. @see https://nodejs.org/api/path.html */
import { checkString } from '../errors.ts';
import {
  extensionOf,
  formatWith,
  lastSegment,
  normalizeSegments,
  type ParsedPath,
  withoutSuffix,
  workingDirectory,
} from './segments.ts';

const SEPARATORS = /[\\/]/;
const isSeparator = (char: string | undefined): boolean => char === '/' || char === '\\';

interface Root {
  /** `C:`, or `\\server\share`. */
  readonly device: string;
  readonly end: number;
  readonly isAbsolute: boolean;
}

function skip(path: string, from: number, separators: boolean): number {
  let at = from;
  while (at < path.length && isSeparator(path[at]) === separators) at++;
  return at;
}

function rootOf(path: string): Root {
  if (isSeparator(path[0])) {
    if (isSeparator(path[1])) {
      const serverEnd = skip(path, 2, false);
      const shareStart = skip(path, serverEnd, true);
      const shareEnd = skip(path, shareStart, false);
      if (serverEnd > 2 && shareStart > serverEnd && shareEnd > shareStart) {
        const device = `\\\\${path.slice(2, serverEnd)}\\${path.slice(shareStart, shareEnd)}`;
        return { device, end: shareEnd, isAbsolute: true };
      }
    }
    return { device: '', end: 1, isAbsolute: true };
  }
  if (/^[A-Za-z]:/.test(path)) {
    const isRooted = isSeparator(path[2]);
    return { device: path.slice(0, 2), end: isRooted ? 3 : 2, isAbsolute: isRooted };
  }
  return { device: '', end: 0, isAbsolute: false };
}

function normalize(path: unknown): string {
  checkString(path, 'path');
  if (path === '') return '.';
  const { device, end, isAbsolute: isRooted } = rootOf(path);
  let tail = normalizeSegments(path.slice(end), !isRooted, '\\', SEPARATORS);
  if (tail === '' && !isRooted) tail = '.';
  if (tail !== '' && path.length > end && isSeparator(path.at(-1))) tail += '\\';
  return `${device}${isRooted ? '\\' : ''}${tail}`;
}

function resolve(...paths: unknown[]): string {
  let device = '';
  let tail = '';
  let isRooted = false;
  for (let at = paths.length - 1; at >= -1 && (!isRooted || device === ''); at--) {
    const path = at < 0 ? workingDirectory() : paths[at];
    checkString(path, `paths[${at}]`);
    if (path === '') continue;
    const root = rootOf(path);
    if (root.device !== '') {
      if (device === '') device = root.device;
      // A path on another drive says nothing.
      else if (root.device.toLowerCase() !== device.toLowerCase()) continue;
    }
    if (isRooted) continue;
    tail = `${path.slice(root.end)}\\${tail}`;
    isRooted = root.isAbsolute;
  }
  tail = normalizeSegments(tail, !isRooted, '\\', SEPARATORS);
  return `${device}${isRooted ? '\\' : ''}${tail}` || '.';
}

function join(...paths: unknown[]): string {
  for (const path of paths) checkString(path, 'path');
  const given = paths.filter((path): path is string => path !== '');
  const [first] = given;
  if (first === undefined) return '.';
  const joined = given.join('\\');
  // A server is named by the first path itself alone.
  const isServer = /^[\\/]{2}[^\\/]/.test(first);
  return normalize(isServer ? joined : joined.replace(/^[\\/]{2,}/, '\\'));
}

function relative(from: unknown, to: unknown): string {
  checkString(from, 'from');
  checkString(to, 'to');
  if (from === to) return '';
  const start = resolve(from);
  const end = resolve(to);
  if (start.toLowerCase() === end.toLowerCase()) return '';
  const source = start.split('\\').filter(Boolean);
  const target = end.split('\\').filter(Boolean);
  let common = 0;
  while (common < source.length && source[common]?.toLowerCase() === target[common]?.toLowerCase()) common++;
  if (common === 0 && rootOf(start).device.toLowerCase() !== rootOf(end).device.toLowerCase()) return end;
  return [...source.slice(common).fill('..'), ...target.slice(common)].join('\\');
}

function isAbsolute(path: unknown): boolean {
  checkString(path, 'path');
  return isSeparator(path[0]) || /^[A-Za-z]:[\\/]/.test(path);
}

function dirname(path: unknown): string {
  checkString(path, 'path');
  if (path.length === 1) return isSeparator(path) ? path : '.';
  const { end, device } = rootOf(path);
  const rootEnd = device.startsWith('\\\\') && isSeparator(path[end]) ? end + 1 : end;
  const { start } = lastSegment(path, rootEnd, isSeparator);
  if (start === rootEnd) return rootEnd === 0 ? '.' : path.slice(0, rootEnd);
  return path.slice(0, start - 1);
}

function basename(path: unknown, suffix?: unknown): string {
  checkString(path, 'path');
  const from = /^[A-Za-z]:/.test(path) ? 2 : 0;
  const { start, end } = lastSegment(path, from, isSeparator);
  return withoutSuffix(path.slice(start, end), suffix, path);
}

function extname(path: unknown): string {
  return extensionOf(basename(path));
}

function parse(path: unknown): ParsedPath {
  checkString(path, 'path');
  const { end: deviceEnd, device } = rootOf(path);
  const rootEnd = device.startsWith('\\\\') && isSeparator(path[deviceEnd]) ? deviceEnd + 1 : deviceEnd;
  const root = path.slice(0, rootEnd);
  const { start, end } = lastSegment(path, rootEnd, isSeparator);
  const base = path.slice(start, end);
  const ext = extensionOf(base);
  const folder = start > rootEnd ? path.slice(0, start - 1) : root;
  return { root, dir: folder, base, ext, name: base.slice(0, base.length - ext.length) };
}

/** The form that the system takes without a limit on its length. */
function toNamespacedPath(path: unknown): unknown {
  if (typeof path !== 'string' || path === '') return path;
  const resolved = resolve(path);
  if (/^\\\\[^?.]/.test(resolved)) return `\\\\?\\UNC\\${resolved.slice(2)}`;
  if (/^[A-Za-z]:\\/.test(resolved)) return `\\\\?\\${resolved}`;
  return path;
}

export const win32 = {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath,
  dirname,
  basename,
  extname,
  format: (parts: unknown): string => formatWith('\\', parts),
  parse,
  sep: '\\',
  delimiter: ';',
  _makeLong: toNamespacedPath,
};
