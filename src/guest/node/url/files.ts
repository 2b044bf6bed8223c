/** File URLs and paths. */
import { URL } from '../../web/url/url.ts';
import { checkString, codeError, invalidArgType } from '../errors.ts';
import { posix } from '../path/posix.ts';
import { win32 } from '../path/win32.ts';

interface PathOptions {
  readonly windows?: boolean;
}

function notAbsolute(kind: string): TypeError {
  return codeError(TypeError, 'ERR_INVALID_FILE_URL_PATH', `File URL path ${kind}`);
}

export function fileURLToPath(from: unknown, options?: PathOptions): string {
  const url = typeof from === 'string' ? new URL(from) : from;
  if (typeof url !== 'object' || url === null || !('href' in url) || !('protocol' in url)) {
    throw invalidArgType('path', ['string', 'URL'], from);
  }
  const { protocol, hostname, pathname } = url as URL; // as Node, which asks for no more
  if (protocol !== 'file:') throw codeError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  if (options?.windows === true) return windowsPath(hostname, pathname);
  if (hostname !== '') {
    const message = 'File URL host must be "localhost" or empty on linux';
    throw codeError(TypeError, 'ERR_INVALID_FILE_URL_HOST', message);
  }
  if (/%2f/i.test(pathname)) throw notAbsolute('must not include encoded / characters');
  return decodeURIComponent(pathname);
}

function windowsPath(hostname: string, pathname: string): string {
  if (/%2f|%5c/i.test(pathname)) throw notAbsolute('must not include encoded \\ or / characters');
  const path = decodeURIComponent(pathname.replaceAll('/', '\\'));
  if (hostname !== '') return `\\\\${hostname}${path}`;
  if (!/^\\[A-Za-z]:/.test(path)) throw notAbsolute('must be absolute');
  return path.slice(1);
}

/** A URL reads these characters as syntax, and takes others as they are. */
const ESCAPED: { readonly [char: string]: string } = {
  '%': '%25',
  '\\': '%5C',
  '\n': '%0A',
  '\r': '%0D',
  '\t': '%09',
  '?': '%3F',
  '#': '%23',
};

export function pathToFileURL(path: unknown, options?: PathOptions): URL {
  checkString(path, 'path');
  const isWindows = options?.windows === true;
  if (isWindows && path.startsWith('\\\\')) {
    const [, , server, ...rest] = path.split('\\');
    const url = new URL('file:///');
    url.pathname = escaped(rest.join('/'), true);
    url.hostname = server ?? '';
    return url;
  }
  const resolve = isWindows ? win32.resolve : posix.resolve;
  let resolved = resolve(path);
  const isFolder = path.endsWith('/') || (isWindows && path.endsWith('\\'));
  if (isFolder && !resolved.endsWith(isWindows ? '\\' : '/')) resolved += '/';
  return new URL(`file://${isWindows ? '/' : ''}${escaped(resolved, isWindows)}`);
}

function escaped(path: string, isWindows: boolean): string {
  const slashes = isWindows ? path.replaceAll('\\', '/') : path;
  return slashes.replace(/[%\\\n\r\t?#]/g, char => ESCAPED[char] ?? char);
}
