/** The parts that the paths of POSIX and of Windows have in common. */
import { checkObject, checkString, invalidArgType } from '../errors.ts';
import { requireNode } from '../options.ts';
import { isUnsupported } from '../unsupported.ts';

export interface ParsedPath {
  root: string;
  dir: string;
  base: string;
  ext: string;
  name: string;
}

/** The folder of the deployment, which is the working directory of `process`. */
const BUNDLE = '/bundle';

export function workingDirectory(): string {
  const { cwd } = requireNode('process') as { readonly cwd?: () => string }; // any object can be read from
  return cwd === undefined || isUnsupported(cwd) ? BUNDLE : cwd();
}

/** Resolves `.` and `..`; the separators at both ends go. */
export function normalizeSegments(path: string, isAboveAllowed: boolean, separator: string, pattern: RegExp): string {
  const kept: string[] = [];
  for (const segment of path.split(pattern)) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') kept.push(segment);
    else if (kept.length > 0 && kept.at(-1) !== '..') kept.pop();
    else if (isAboveAllowed) kept.push('..');
  }
  return kept.join(separator);
}

/** Where the last segment stands, without separators behind it. */
export function lastSegment(
  path: string,
  from: number,
  isSeparator: (char: string | undefined) => boolean,
): { readonly start: number; readonly end: number } {
  let end = path.length;
  while (end > from && isSeparator(path[end - 1])) end--;
  let start = end;
  while (start > from && !isSeparator(path[start - 1])) start--;
  return { start, end };
}

export function withoutSuffix(base: string, suffix: unknown, path: string): string {
  if (suffix === undefined) return base;
  checkString(suffix, 'suffix');
  if (suffix === '' || !base.endsWith(suffix)) return base;
  if (suffix === path) return '';
  return base === suffix ? base : base.slice(0, -suffix.length);
}

export function extensionOf(base: string): string {
  const at = base.lastIndexOf('.');
  return at <= 0 || base === '..' ? '' : base.slice(at);
}

export function formatWith(separator: string, parts: unknown): string {
  if (parts === null || parts === undefined) throw invalidArgType('pathObject', 'Object', parts);
  checkObject(parts, 'pathObject');
  const { root, dir, base, name, ext } = parts as Partial<ParsedPath>; // any object can be read from
  const folder = dir || root;
  const dotted = ext ? `${ext[0] === '.' ? '' : '.'}${ext}` : '';
  const file = base || `${name || ''}${dotted}`;
  if (!folder) return file;
  return folder === root ? `${folder}${file}` : `${folder}${separator}${file}`;
}
