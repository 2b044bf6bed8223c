/** node:fs/promises. @see https://nodejs.org/api/fs.html#promises-api */
import { Buffer } from '../buffer/buffer.ts';
import { opendirSync } from './dir.ts';
import { FileHandle } from './file-handle.ts';
import { callable, type FileFunction } from './functions.ts';
import { toOptions } from './options.ts';

/** Those that take paths. */
const NAMES = [
  'access',
  'chmod',
  'chown',
  'copyFile',
  'cp',
  'lchown',
  'link',
  'lstat',
  'lutimes',
  'mkdir',
  'mkdtemp',
  'readdir',
  'readlink',
  'realpath',
  'rename',
  'rm',
  'rmdir',
  'stat',
  'symlink',
  'truncate',
  'unlink',
  'utimes',
] as const satisfies readonly FileFunction[];

type Call = (...args: unknown[]) => Promise<unknown>;

function promised(name: FileFunction): Call {
  const act = callable[name];
  const call = { [name]: async (...args: unknown[]): Promise<unknown> => act(...args) };
  return call[name] as Call; // defined above
}

/** A handle stands for its descriptor. */
function fileOf(file: unknown): unknown {
  return file instanceof FileHandle ? file.fd : file;
}

async function open(path: unknown, flags?: unknown, mode?: unknown): Promise<FileHandle> {
  return new FileHandle(Number(callable.open(path, flags, mode)));
}

async function opendir(path: unknown, options?: unknown): Promise<unknown> {
  return opendirSync(path, options);
}

async function readFile(file: unknown, options?: unknown): Promise<unknown> {
  return callable.readFile(fileOf(file), options);
}

async function writeFile(file: unknown, data: unknown, options?: unknown): Promise<void> {
  if (!isPieces(data)) {
    callable.writeFile(fileOf(file), data, options);
    return;
  }
  const given = toOptions(options);
  const target = fileOf(file);
  const fd = typeof target === 'number' ? target : callable.open(target, given.flag ?? 'w', given.mode);
  try {
    for await (const piece of data) {
      callable.write(fd, typeof piece === 'string' ? Buffer.from(piece, given.encoding ?? 'utf8') : piece);
    }
  } finally {
    if (fd !== target) callable.close(fd);
  }
}

/** Streams, and whatever else code can go through. */
function isPieces(data: unknown): data is AsyncIterable<unknown> | Iterable<unknown> {
  if (typeof data !== 'object' || data === null || ArrayBuffer.isView(data)) return false;
  return Symbol.asyncIterator in data || Symbol.iterator in data;
}

async function appendFile(file: unknown, data: unknown, options?: unknown): Promise<void> {
  callable.appendFile(fileOf(file), data, options);
}

const promises: { [name: string]: unknown } = { appendFile, open, opendir, readFile, writeFile };
for (const name of NAMES) promises[name] = promised(name);

export default promises;
