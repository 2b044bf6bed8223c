/** Directories that are read entry by entry. @see https://nodejs.org/api/fs.html#class-fsdir */
import { queueMicrotask } from '../../web/scheduling/microtask.ts';
import { checkFunction, codeError } from '../errors.ts';
import { callable } from './functions.ts';
import { toOptions } from './options.ts';
import { toPath } from './paths.ts';

type Done<T> = (error: unknown, value?: T) => void;

export class Dir {
  readonly path: string;
  /** Undefined when it is closed. */
  #entries: unknown[] | undefined;

  constructor(path: string, entries: unknown[]) {
    this.path = path;
    this.#entries = entries;
  }

  readSync(): unknown {
    return this.#open().shift() ?? null;
  }

  read(callback?: Done<unknown>): Promise<unknown> | undefined {
    return answer(() => this.readSync(), callback);
  }

  closeSync(): void {
    this.#open();
    this.#entries = undefined;
  }

  close(callback?: Done<void>): Promise<void> | undefined {
    return answer(() => this.closeSync(), callback);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown> {
    try {
      for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
    } finally {
      this.#entries = undefined;
    }
  }

  entries(): AsyncGenerator<unknown> {
    return this[Symbol.asyncIterator]();
  }

  #open(): unknown[] {
    if (this.#entries === undefined) throw codeError(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');
    return this.#entries;
  }
}

function answer<T>(act: () => T, callback: Done<T> | undefined): Promise<T> | undefined {
  if (callback === undefined) return new Promise(resolve => resolve(act()));
  checkFunction(callback, 'callback');
  const value = act();
  queueMicrotask(() => callback(null, value));
  return undefined;
}

export function opendirSync(path: unknown, options?: unknown): Dir {
  const given = toOptions(options);
  const text = toPath(path);
  try {
    return new Dir(text, callable.readdir(text, { ...given, withFileTypes: true }) as unknown[]); // as readdir() answers
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) error.message = error.message.replace('scandir', 'opendir');
    throw error;
  }
}
