/**
 * node:fs: the modules of the deployment below /bundle, files of the invocation below /tmp, and a few devices below /dev. All of it is in memory, so the
 * functions with callbacks and promises have done their work when they return. @see https://nodejs.org/api/fs.html
 */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { Buffer } from '../buffer/buffer.ts';
import { type AnyFunction, checkFunction } from '../errors.ts';
import { requireNode } from '../options.ts';
import { Dir, opendirSync } from './dir.ts';
import { callable, type FileFunction, fileFunctions } from './functions.ts';
import { Dirent, Stats } from './stats.ts';
import { createReadStream, createWriteStream, ReadStream, WriteStream } from './streams.ts';
import { isFailure } from './system-errors.ts';

type Call = (...args: unknown[]) => unknown;

const promisify = Symbol.for('nodejs.util.promisify.custom');

const READ_BYTES = 16_384;

/** The buffer or the text is the third argument of the callback of these. */
const WITH_DATA: readonly FileFunction[] = ['read', 'readv', 'write', 'writev'];
const DATA_NAMES: { readonly [name: string]: readonly [count: string, data: string] } = {
  read: ['bytesRead', 'buffer'],
  readv: ['bytesRead', 'buffers'],
  write: ['bytesWritten', 'buffer'],
  writev: ['bytesWritten', 'buffers'],
};

function later(callback: AnyFunction, ...results: unknown[]): void {
  queueMicrotask(() => Reflect.apply(callback, undefined, results));
}

/** The form with a callback, which is the last argument. Wrong arguments throw; what else fails goes to the callback. */
function withCallback(name: FileFunction, act: Call): Call {
  const hasData = WITH_DATA.includes(name);
  const call = (...given: unknown[]): void => {
    const last = given.pop();
    const callback = typeof last === 'function' ? last : undefined;
    checkFunction(callback, 'cb');
    const args = name === 'read' ? withBuffer(given) : given;
    let value: unknown;
    try {
      value = act(...args);
    } catch (error) {
      if (!isFailure(error)) throw error;
      later(callback, error);
      return;
    }
    if (name === 'exists') later(callback, value);
    else if (hasData) later(callback, null, value, args[1]);
    else if (value === undefined) later(callback, null);
    else later(callback, null, value);
  };
  const names = DATA_NAMES[name];
  if (names !== undefined) {
    const promised = async (...given: unknown[]): Promise<object> => {
      const args = name === 'read' ? withBuffer(given) : given;
      return { [names[0]]: act(...args), [names[1]]: args[1] };
    };
    Object.defineProperty(call, promisify, { value: promised });
  } else if (name === 'exists')
    Object.defineProperty(call, promisify, { value: async (...args: unknown[]) => act(...args) });
  return call;
}

/** (fd, options) and (fd) read into a buffer that is made here. */
function withBuffer(args: readonly unknown[]): unknown[] {
  if (ArrayBuffer.isView(args[1])) return [...args];
  const options: { readonly buffer?: unknown } = { ...(args[1] as object | undefined) }; // the spread of anything else is empty
  return [args[0], options.buffer ?? Buffer.alloc(READ_BYTES), options];
}

const fs: { [name: string]: unknown } = {
  createReadStream,
  createWriteStream,
  opendirSync,
  Dir,
  Dirent,
  ReadStream,
  WriteStream,
  FileReadStream: ReadStream,
  FileWriteStream: WriteStream,
  Stats,
};

for (const name of Object.keys(fileFunctions) as FileFunction[]) {
  const act = callable[name];
  Object.defineProperty(act, 'name', { value: `${name}Sync`, configurable: true });
  fs[`${name}Sync`] = act;
  const call = withCallback(name, act);
  Object.defineProperty(call, 'name', { value: name, configurable: true });
  fs[name] = call;
}
fs.opendir = withCallback('readdir', opendirSync);
// It also has the names that are not supported.
Object.defineProperty(fs, 'promises', {
  get: () => requireNode('fs/promises'),
  enumerable: true,
  configurable: true,
});
Object.assign(fs.realpath as object, { native: fs.realpath }); // functions above
Object.assign(fs.realpathSync as object, { native: fs.realpathSync });

export default fs;
