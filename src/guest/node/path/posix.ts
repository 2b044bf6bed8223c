/** Paths of POSIX. @see https://nodejs.org/api/path.html */
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

const SLASHES = /\//;
const isSeparator = (char: string | undefined): boolean => char === '/';

function normalize(path: unknown): string {
  checkString(path, 'path');
  if (path === '') return '.';
  const isRooted = path[0] === '/';
  const normal = normalizeSegments(path, !isRooted, '/', SLASHES);
  const isFolder = path.endsWith('/');
  if (normal === '') return isRooted ? '/' : isFolder ? './' : '.';
  return `${isRooted ? '/' : ''}${normal}${isFolder ? '/' : ''}`;
}

function resolve(...paths: unknown[]): string {
  let resolved = '';
  for (let at = paths.length - 1; at >= 0 && resolved[0] !== '/'; at--) {
    const path = paths[at];
    checkString(path, `paths[${at}]`);
    if (path !== '') resolved = `${path}/${resolved}`;
  }
  if (resolved[0] !== '/') resolved = `${workingDirectory()}/${resolved}`;
  return `/${normalizeSegments(resolved, false, '/', SLASHES)}`;
}

function join(...paths: unknown[]): string {
  for (const path of paths) checkString(path, 'path');
  return normalize(paths.filter(path => path !== '').join('/'));
}

function relative(from: unknown, to: unknown): string {
  checkString(from, 'from');
  checkString(to, 'to');
  const start = resolve(from).split('/').filter(Boolean);
  const target = resolve(to).split('/').filter(Boolean);
  let common = 0;
  while (common < start.length && start[common] === target[common]) common++;
  return [...start.slice(common).fill('..'), ...target.slice(common)].join('/');
}

function isAbsolute(path: unknown): boolean {
  checkString(path, 'path');
  return path[0] === '/';
}

function dirname(path: unknown): string {
  checkString(path, 'path');
  const { start } = lastSegment(path, 0, isSeparator);
  if (start === 0) return path[0] === '/' ? '/' : '.';
  if (start === 1) return '/';
  // Two slashes before everything are a root of their own.
  if (start === 2 && path[0] === '/') return '//';
  return path.slice(0, start - 1);
}

function basename(path: unknown, suffix?: unknown): string {
  checkString(path, 'path');
  const { start, end } = lastSegment(path, 0, isSeparator);
  return withoutSuffix(path.slice(start, end), suffix, path);
}

function extname(path: unknown): string {
  return extensionOf(basename(path));
}

function parse(path: unknown): ParsedPath {
  checkString(path, 'path');
  const isRooted = path[0] === '/';
  const { start, end } = lastSegment(path, isRooted ? 1 : 0, isSeparator);
  const base = path.slice(start, end);
  const ext = extensionOf(base);
  const folder = base === '' || start < 2 ? (isRooted ? '/' : '') : path.slice(0, start - 1);
  return { root: isRooted ? '/' : '', dir: folder, base, ext, name: base.slice(0, base.length - ext.length) };
}

const toNamespacedPath = (path: unknown): unknown => path;

export const posix = {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath,
  dirname,
  basename,
  extname,
  format: (parts: unknown): string => formatWith('/', parts),
  parse,
  sep: '/',
  delimiter: ':',
  _makeLong: toNamespacedPath,
};
