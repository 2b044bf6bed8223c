/** Paths: what code may give, and the entries that they lead to. */
import { URL } from '../../web/url/url.ts';
import { Buffer } from '../buffer/buffer.ts';
import { codeError, invalidArgType, invalidArgValue } from '../errors.ts';
import type { DirectoryEntry, TreeEntry } from './entries.ts';
import type { FileSpace } from './space.ts';
import { systemError } from './system-errors.ts';

const WORKING_DIRECTORY = '/bundle/';
export const MAX_PATH = 4096;
const MAX_NAME = 255;
const MAX_LINKS = 40;

/** The text of a path. */
export function toPath(value: unknown, name = 'path'): string {
  let path: string;
  if (typeof value === 'string') path = value;
  else if (value instanceof Uint8Array) path = Buffer.from(value).toString();
  else if (value instanceof URL) path = pathOfUrl(value);
  else throw invalidArgType(name, ['string', 'Buffer', 'URL'], value);
  if (path.includes('\0'))
    throw invalidArgValue(name, value, 'must be a string, Uint8Array, or URL without null bytes');
  return path;
}

function pathOfUrl(url: URL): string {
  if (url.protocol !== 'file:') {
    throw codeError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  }
  if (url.hostname !== '') {
    const message = 'File URL host must be "localhost" or empty on linux';
    throw codeError(TypeError, 'ERR_INVALID_FILE_URL_HOST', message);
  }
  if (/%2f/i.test(url.pathname)) {
    throw codeError(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  }
  return decodeURIComponent(url.pathname);
}

export interface Found {
  /** Undefined for a path that ends in a directory by its nature, as the root. */
  readonly parent: DirectoryEntry | undefined;
  /** The name in the parent. */
  readonly name: string;
  readonly entry: TreeEntry | undefined;
  /** The path without links and dots. */
  readonly real: string;
  /** The path says that it is one. */
  readonly isDirectory: boolean;
}

function partsOf(path: string): string[] {
  return path.split('/').filter(part => part !== '' && part !== '.');
}

/** Goes from the root to the last name of the path, which may be missing. `follows`: a link there is followed as well. */
export function walk(space: FileSpace, path: string, follows: boolean, syscall: string, dest?: string): Found {
  const fail = (code: Parameters<typeof systemError>[0]): never => {
    throw systemError(code, syscall, path, dest);
  };
  if (path === '') return fail('ENOENT');
  if (path.length > MAX_PATH) return fail('ENAMETOOLONG');
  const isDirectory = /\/\.?$/.test(path);
  // The next part is the last of the list.
  const rest = partsOf(path.startsWith('/') ? path : WORKING_DIRECTORY + path).reverse();
  const directories: DirectoryEntry[] = [space.root];
  const names: string[] = [];
  let links = 0;
  for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
    const directory = directories.at(-1) ?? space.root;
    if (part === '..') {
      if (directories.length > 1) directories.pop();
      names.pop();
      continue;
    }
    if (part.length > MAX_NAME) return fail('ENAMETOOLONG');
    const entry = directory.entries.get(part);
    const isLast = rest.length === 0;
    if (entry?.kind === 'link' && (!isLast || follows || isDirectory)) {
      if (++links > MAX_LINKS) return fail('ELOOP');
      if (entry.target.startsWith('/')) {
        directories.length = 1;
        names.length = 0;
      }
      rest.push(...partsOf(entry.target).reverse());
      continue;
    }
    if (isLast) {
      if (isDirectory && entry !== undefined && entry.kind !== 'directory') return fail('ENOTDIR');
      return { parent: directory, name: part, entry, real: `/${[...names, part].join('/')}`, isDirectory };
    }
    if (entry === undefined) return fail('ENOENT');
    if (entry.kind !== 'directory') return fail('ENOTDIR');
    directories.push(entry);
    names.push(part);
  }
  return { parent: undefined, name: '', entry: directories.at(-1), real: `/${names.join('/')}`, isDirectory: true };
}

/** The entry of a path. @throws ENOENT when the entry is missing */
export function find(space: FileSpace, path: string, follows: boolean, syscall: string): TreeEntry {
  const { entry } = walk(space, path, follows, syscall);
  if (entry === undefined) throw systemError('ENOENT', syscall, path);
  return entry;
}

/** The directory in which a name is added or taken away. */
export function writableParent({ parent }: Found, syscall: string, path: string, dest?: string): DirectoryEntry {
  if (parent?.isWritable !== true) throw systemError('EPERM', syscall, path, dest);
  return parent;
}
